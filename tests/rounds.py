"""Rounds written as strings: ``a`` accepted, ``r`` rejected, ``u`` untested, ``i`` ignored, nothing: a plain round."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Literal

from specviz.core.events import (
    Calibration,
    Drafted,
    Emitted,
    Header,
    Origin,
    PlainReason,
    Prompt,
    Round,
    Settings,
    Timing,
    Verdict,
)
from specviz.stats.run_stats import RunStats

VERDICTS: dict[str, Verdict] = {"a": "accepted", "r": "rejected", "u": "untested", "i": "ignored"}
BASE = Settings()
TIMING = Timing(draft_ms=4.0, verify_ms=10.0, decide_ms=1.0, inspect_ms=0.5, total_ms=16.0)


def drafted(verdict: Verdict, overlap: float = 0.75, match: float = 0.5) -> Drafted:
    return Drafted(
        id=7,
        bytes=b"x",
        q=0.5,
        p=0.5,
        draft_u=0.5,
        u=0.5,
        accept_prob=1.0,
        overlap=overlap,
        match=match,
        entropy_p=1.0,
        entropy_q=1.0,
        rank_p=1,
        rank_q=1,
        verdict=verdict,
        p_top=(),
        q_top=(),
        residual_top=(),
    )


def emitted(origin: Origin = "bonus", data: bytes = b"y", token_id: int = 8) -> Emitted:
    return Emitted(
        id=token_id, bytes=data, origin=origin, p=0.5, q=None, residual=None, rank_p=1, entropy_p=1.0, p_top=()
    )


def make_round(
    verdicts: str,
    index: int = 1,
    *,
    settings: Settings = BASE,
    cut: bool | None = None,
    overlaps: Sequence[float] | None = None,
    matches: Sequence[float] | None = None,
    timing: Timing = TIMING,
    plain_reason: PlainReason = "k_zero",
) -> Round:
    """``cut`` None: where something is ignored."""
    k, accepted = len(verdicts), verdicts.count("a")
    cut = "i" in verdicts if cut is None else cut
    last: Literal["resampled", "bonus", "plain"] = "resampled" if "r" in verdicts else "bonus" if k else "plain"
    origins: list[Origin] = ["accepted"] * accepted
    if not cut:
        origins.append(last)
    return Round(
        index=index,
        start=100 + index,
        k=k,
        settings=settings,
        drafted=tuple(
            drafted(VERDICTS[v], o, m)
            for v, o, m in zip(verdicts, overlaps or [0.75] * k, matches or [0.5] * k, strict=True)
        ),
        emitted=tuple(emitted(origin) for origin in origins),
        n_accepted=accepted,
        tested=accepted + verdicts.count("r"),
        last_u=0.5,
        plain_reason=None if k else plain_reason,
        redraws=0,
        timing=timing,
        stop="end_of_text" if cut else None,
    )


def accepting(n: int, k: int) -> str:
    """The verdicts of a round that drafted k tokens and accepted n of them."""
    return "a" * k if n == k else "a" * n + "r" + "u" * (k - n - 1)


def header(stop: Sequence[str] = ()) -> Header:
    return Header(
        created="2025-01-01T00:00:00Z",
        specviz="0",
        config={"stop": list(stop), "k": 4},
        vocab_size=64,
        end_ids=(0,),
        prompt=Prompt("", ()),
    )


def fold(rounds: Iterable[str | Round], calibration: Calibration | None = None) -> RunStats:
    stats = RunStats()
    if calibration:
        stats.add(calibration)
    for index, item in enumerate(rounds, start=1):
        stats.add(make_round(item, index) if isinstance(item, str) else replace(item, index=index))
    return stats


def segmented() -> RunStats:
    """Rounds 1-2 at K 4, 3 at K 2, 4-5 hot at K 2, 6 hot at K 3."""
    hot = replace(BASE, k=2, temperature=1.5)
    return fold(
        [
            "aaaa",
            "ruuu",
            make_round("aa", settings=replace(BASE, k=2)),
            make_round("ru", settings=hot),
            make_round("ar", settings=hot),
            make_round("aaa", settings=replace(hot, k=3)),
        ],
        Calibration(10.0, 2.0, 4),
    )
