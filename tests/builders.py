"""Rounds and headers for the tests: written by hand (`make_round`) or sampled (`make_run`)."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from specviz.core.events import (
    Calibration,
    Candidate,
    Drafted,
    Emitted,
    Header,
    Origin,
    PlainReason,
    Prompt,
    Raw,
    Round,
    Settings,
    StopReason,
    Timing,
    Token,
    Top,
    Verdict,
)

Text = str | bytes
T = TypeVar("T")

VERDICTS: Mapping[str, Verdict] = {
    **dict.fromkeys("✓a", "accepted"),
    **dict.fromkeys("✗r", "rejected"),
    **dict.fromkeys("·u", "untested"),
    **dict.fromkeys("–i", "ignored"),
}
"""A verdict is written as its mark or as its initial."""
TIMING = Timing(draft_ms=3.8, verify_ms=7.1, decide_ms=0.4, inspect_ms=0.6, total_ms=11.9)
WORDS = (  # noqa: SIM905
    " the| a| little| girl| frog| river| and| who| lived| near| old| mill| by|,| every| morning| she| walked| down"
    "| to| water| look| for| her| brother|.| The| was| cold| stones| were| white| back|\n| said| wind| only| laugh"
    "|ed| sat| under| willow| wait| after| while| big| came| out| of| reeds| his| name| is| Mr|s|ing|ly| not| but"
).split("|")


def known(value: T | None) -> T:
    """A measurement that the test's rounds have."""
    assert value is not None
    return value


def data_of(text: Text) -> bytes:
    return text if isinstance(text, bytes) else text.encode("utf-8", "surrogatepass")


def id_of(text: Text) -> int:
    """A stable id for a text, equal for equal bytes."""
    return crc32(data_of(text)) % 50_000


def make_token(text: Text = " the", token_id: int | None = None) -> Token:
    return Token(id_of(text) if token_id is None else token_id, data_of(text))


def make_top(text: Text, prob: float, *others: tuple[Text, float]) -> Top:
    """A top list, most probable first, none with probability 0; six digits, as in a trace."""
    entries = [Candidate(id_of(t), data_of(t), float(f"{w:.6g}")) for t, w in ((text, prob), *others) if w > 0]
    return tuple(sorted(entries, key=lambda c: (-c.prob, c.id)))


def make_drafted(
    text: Text = " the",
    verdict: Verdict = "accepted",
    *,
    q: float = 0.4,
    p: float = 0.5,
    u: float = 0.31,
    draft_u: float = 0.5,
    accept_prob: float | str | None = "exact",
    overlap: float = 0.8,
    match: float = 0.3,
    token_id: int | None = None,
    raw: Raw | None = None,
    target_sample: int | None = None,
    p_top: Top | None = None,
    q_top: Top | None = None,
    residual_top: Top | None = None,
) -> Drafted:
    """A drafted token; ``accept_prob`` "exact" means min(1, p/q)."""
    chance = min(1.0, p / q) if isinstance(accept_prob, str) else accept_prob
    return Drafted(
        id=id_of(text) if token_id is None else token_id,
        bytes=data_of(text),
        q=q,
        p=p,
        draft_u=draft_u,
        u=u,
        accept_prob=chance,
        overlap=overlap,
        match=match,
        entropy_p=1.7,
        entropy_q=1.9,
        rank_p=1 if p >= 0.3 else 4,
        rank_q=1 if q >= 0.3 else 2,
        verdict=verdict,
        p_top=make_top(text, p, (" river", (1 - p) / 2)) if p_top is None else p_top,
        q_top=make_top(text, q, (" river", (1 - q) / 3)) if q_top is None else q_top,
        residual_top=make_top(" river", 0.6, (" mill", 0.4)) if residual_top is None else residual_top,
        raw=raw,
        target_sample=target_sample,
    )


def make_emitted(
    text: Text = " Frog",
    origin: Origin = "resampled",
    *,
    p: float = 0.29,
    q: float | None = None,
    residual: float | None = None,
    token_id: int | None = None,
    raw: Raw | None = None,
) -> Emitted:
    return Emitted(
        id=id_of(text) if token_id is None else token_id,
        bytes=data_of(text),
        origin=origin,
        p=p,
        q=q,
        residual=residual,
        rank_p=1,
        entropy_p=1.7,
        p_top=make_top(text, p, (" river", (1 - p) / 2)),
        raw=raw,
    )


def make_round(
    index: int = 1,
    start: int = 0,
    verdicts: str = "✓✓✗·",
    tokens: Sequence[Text] | None = None,
    last: Text = " Frog",
    *,
    drafted: Sequence[Drafted] | None = None,
    emitted: Sequence[Emitted] | None = None,
    overlaps: Sequence[float] | None = None,
    matches: Sequence[float] | None = None,
    settings: Settings | None = None,
    timing: Timing = TIMING,
    plain_reason: PlainReason | None = None,
    stop: StopReason | None = None,
    cut: bool | None = None,
    last_u: float = 0.6,
) -> Round:
    """A round with these verdicts; its last token follows from them.

    A rejection gives a resampled token, full acceptance a bonus, no draft a plain token. A ``cut`` round (by default
    one with an ignored token) emits its accepted tokens only, and ``stop`` defaults to end_of_text.
    ``drafted`` and ``emitted`` replace the generated tokens; ``settings.k`` defaults to the number drafted.
    """
    if drafted is None:
        texts = tokens or [f" {WORDS[(index + i) % 40].strip() or 'x'}" for i in range(len(verdicts))]
        drafted = [_drafted_for(text, VERDICTS[mark]) for text, mark in zip(texts, verdicts, strict=True)]
    if overlaps is not None:
        drafted = [replace(d, overlap=overlap) for d, overlap in zip(drafted, overlaps, strict=True)]
    if matches is not None:
        drafted = [replace(d, match=match) for d, match in zip(drafted, matches, strict=True)]
    accepted = [d for d in drafted if d.verdict == "accepted"]
    rejected = sum(d.verdict == "rejected" for d in drafted)
    if cut is None:
        cut = any(d.verdict == "ignored" for d in drafted)
    if emitted is None:
        kept = [make_emitted(known(d.bytes), "accepted", p=known(d.p), q=d.q, token_id=d.id) for d in accepted]
        origin: Origin = "resampled" if rejected else "bonus" if drafted else "plain"
        final = make_emitted(last, origin, q=0.02 if rejected else None, residual=0.41 if rejected else None)
        emitted = kept if cut else [*kept, final]
    return Round(
        index=index,
        start=start,
        k=len(drafted),
        settings=settings or Settings(k=len(drafted)),
        drafted=tuple(drafted),
        emitted=tuple(emitted),
        n_accepted=len(accepted),
        tested=len(accepted) + rejected,
        last_u=last_u,
        plain_reason=None if drafted else plain_reason or "k_zero",
        redraws=0,
        timing=timing,
        stop=stop or ("end_of_text" if cut else None),
    )


def _drafted_for(text: Text, verdict: Verdict) -> Drafted:
    if verdict == "rejected":
        return make_drafted(text, verdict, q=0.22, p=0.031, u=0.77, overlap=0.38)
    return make_drafted(text, verdict, q=0.412, p=0.53, u=0.31, overlap=0.82)


def make_header(
    prompt: str = "Once upon a time there was",
    *,
    config: Mapping[str, Any] | None = None,
    special_ids: Sequence[int] = (),
    end_ids: Sequence[int] = (0,),
) -> Header:
    """A header whose prompt is split into words with their leading spaces."""
    words = [part if i == 0 else f" {part}" for i, part in enumerate(prompt.split(" "))] if prompt else []
    defaults: dict[str, Any] = {
        "draft": "bundled:draft",
        "target": "bundled:target",
        "device": "cpu",
        "dtype": "float32",
        "threads": 1,
        "seed": 0,
        "k": 4,
        "temperature": 1.0,
        "rule": "exact",
        "special_ids": list(special_ids),
        "notes": [],
    }
    return Header(
        created="2026-01-01T00:00:00Z",
        specviz="0.1.0",
        config={**defaults, **(config or {})},
        vocab_size=50_000,
        end_ids=tuple(end_ids),
        prompt=Prompt(prompt, tuple(make_token(w) for w in words)),
    )


def make_calibration() -> Calibration:
    return Calibration(target_step_ms=5.1, draft_step_ms=0.95, at_length=24)


def make_run(n_rounds: int = 30, k: int = 4, seed: int = 0, *, agreement: float = 0.75) -> list[Round]:
    """Rounds sampled by the exact rule over a toy language: every number is consistent with every other.

    p of the next word depends on the word before; q is ``agreement``·p + (1 - ``agreement``)·noise.
    """
    random = np.random.default_rng(seed)
    size = len(WORDS)
    target = random.dirichlet(np.full(size, 0.08), size)
    draft = agreement * target + (1 - agreement) * random.dirichlet(np.full(size, 0.3), size)
    rounds: list[Round] = []
    start, word = len(make_header().prompt.tokens), 0
    for index in range(1, n_rounds + 1):
        made, word = _sampled_round(index, start, word, k, target, draft, random)
        rounds.append(made)
        start += len(made.emitted)
    return rounds


def _sampled_round(
    index: int,
    start: int,
    word: int,
    k: int,
    target: NDArray[np.float64],
    draft: NDArray[np.float64],
    random: np.random.Generator,
) -> tuple[Round, int]:
    drafted: list[Drafted] = []
    emitted: list[Emitted] = []
    context, rejected_at = word, None
    for _ in range(k):
        p, q = target[context], draft[context]
        x, u = _draw(q, random)[0], random.random()
        chance = min(1.0, p[x] / q[x])
        verdict: Verdict = "untested" if rejected_at is not None else "accepted" if u < chance else "rejected"
        drafted.append(_toy_drafted(x, p, q, u, chance, verdict))
        if verdict == "accepted":
            emitted.append(_toy_emitted(x, "accepted", p, q))
            word = x
        elif verdict == "rejected":
            rejected_at = context
        context = x
    p, q = target[word], draft[word]
    residual = np.maximum(p - q, 0) / np.maximum(p - q, 0).sum() if rejected_at is not None else None
    last, last_u = _draw(p if residual is None else residual, random)
    origin: Origin = "resampled" if residual is not None else "bonus" if k else "plain"
    emitted.append(_toy_emitted(last, origin, p, None if residual is None else q, residual))
    timing = Timing(0.95 * k, 6.5 + random.random(), 0.4, 0.5, 7.9 + 0.95 * k)
    made = make_round(
        index, start, drafted=drafted, emitted=emitted, settings=Settings(k=k), timing=timing, last_u=last_u
    )
    return made, last


def _draw(probs: NDArray[np.float64], random: np.random.Generator) -> tuple[int, float]:
    u = float(random.random())
    cdf = probs.cumsum()
    return int(np.searchsorted(cdf, u * cdf[-1], side="right")), u


def _toy_top(probs: NDArray[np.float64]) -> Top:
    order = np.argsort(-probs, kind="stable")[:10]
    return tuple(Candidate(int(i), WORDS[i].encode(), float(probs[i])) for i in order if probs[i] > 0)


def _toy_entropy(probs: NDArray[np.float64]) -> float:
    kept = probs[probs > 0]
    return float(-(kept * np.log(kept)).sum())


def _toy_drafted(
    x: int, p: NDArray[np.float64], q: NDArray[np.float64], u: float, chance: float, verdict: Verdict
) -> Drafted:
    residual = np.maximum(p - q, 0)
    return Drafted(
        id=x,
        bytes=WORDS[x].encode(),
        q=float(q[x]),
        p=float(p[x]),
        draft_u=0.5,
        u=u,
        accept_prob=float(chance),
        overlap=float(np.minimum(p, q).sum()),
        match=float((p * q).sum()),
        entropy_p=_toy_entropy(p),
        entropy_q=_toy_entropy(q),
        rank_p=int((p > p[x]).sum()) + 1,
        rank_q=int((q > q[x]).sum()) + 1,
        verdict=verdict,
        p_top=_toy_top(p),
        q_top=_toy_top(q),
        residual_top=_toy_top(residual / residual.sum()),
    )


def _toy_emitted(
    x: int,
    origin: Origin,
    p: NDArray[np.float64],
    q: NDArray[np.float64] | None,
    residual: NDArray[np.float64] | None = None,
) -> Emitted:
    return Emitted(
        id=x,
        bytes=WORDS[x].encode(),
        origin=origin,
        p=float(p[x]),
        q=None if q is None else float(q[x]),
        residual=None if residual is None else float(residual[x]),
        rank_p=int((p > p[x]).sum()) + 1,
        entropy_p=_toy_entropy(p),
        p_top=_toy_top(p),
    )


def counted_round(
    index: int, start: int, k: int, accepted: int, *, settings: Settings, emitted: int | None = None, **known: Any
) -> Round:
    """The round of a source that reports counts alone: ``k`` tokens drafted as a chain, the first ``accepted`` of them
    accepted, ``emitted`` tokens added to the text (None: accepted + 1). Fewer than that: the text ended in the draft.
    ``known``: further fields of the round. Raises ValueError for counts that no round has."""
    emitted = accepted + 1 if emitted is None else emitted
    if not 0 <= accepted <= k or not max(1, accepted) <= emitted <= accepted + 1:
        raise ValueError(f"no round drafts {k} tokens, accepts {accepted} and emits {emitted}")
    cut = emitted == accepted
    rejected = not cut and accepted < k
    verdicts: list[Verdict] = ["ignored" if cut else "untested"] * k
    verdicts[:accepted] = ["accepted"] * accepted
    if rejected:
        verdicts[accepted] = "rejected"
    origins: list[Origin] = ["accepted"] * accepted
    if not cut:
        origins.append("resampled" if rejected else "bonus" if k else "plain")
    return Round(
        index=index,
        start=start,
        k=k,
        settings=settings,
        drafted=tuple(Drafted(verdict=verdict) for verdict in verdicts),
        emitted=tuple(Emitted(origin=origin) for origin in origins),
        n_accepted=accepted,
        tested=accepted + rejected,
        **known,
    )
