"""Why each token of a round was accepted, rejected or drawn, in words and numbers: pure functions of (round, row).

Row i < K is drafted token i + 1, row K the round's last token.
"""

import json
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from specviz.core.drafters import MAX_NGRAM
from specviz.core.events import Candidate, Drafted, Emitted, End, PlainReason, Raw, Round
from specviz.core.options import GREEDY_AT_OR_BELOW
from specviz.core.rule import rule_of
from specviz.core.safe_text import clip, visible
from specviz.render.glyphs import UNICODE, Glyphs
from specviz.render.numbers import compact_prob, distinguishing_digits, milliseconds, pluralised, prob, significant_prob

PLAIN_REASONS: Mapping[PlainReason, str] = {
    "k_zero": "K is 0",
    "budget": "one token is left",
    "context": "the target's context is full",
    "draft_context": "the draft's context is full",
    "no_match": "no n-gram matches",
}
END_REASONS: Mapping[str, str] = {
    "max_new_tokens": "token budget used up",
    "end_of_text": "end of text",
    "stop_string": "stop string",
    "context": "context full",
    "user": "stopped",
    "error": "error",
}
SOURCE_KEYS = ("ngram", "source", "at")
"""What an n-gram drafter records in ``Drafted.detail``."""
_TOKEN_CELLS = 24


def is_greedy(round: Round) -> bool:
    """Whether the target's distribution is one-hot in this round."""
    return round.settings.temperature <= GREEDY_AT_OR_BELOW


def sample_bytes(round: Round, drafted: Drafted) -> bytes | None:
    """The bytes of what the target itself drew, if any list of the round has them."""
    return next((token.bytes for token in _known(round, drafted) if token.id == drafted.target_sample), None)


def _known(round: Round, first: Drafted) -> Iterator[Candidate | Drafted | Emitted]:
    yield from first.p_top
    yield from round.emitted
    for drafted in round.drafted:
        yield drafted
        yield from drafted.p_top
        yield from drafted.q_top


def default_row(round: Round) -> int:
    """The row worth explaining: the rejected one, else the last token, else the last accepted one."""
    if round.cut:
        return max(0, round.n_accepted - 1)
    return round.k if round.rejected_row is None else round.rejected_row


def explain(round: Round, row: int, glyphs: Glyphs = UNICODE) -> str:
    """One or two sentences, one a line, about a row of a round."""
    if row >= round.k:
        return _last(round, glyphs)
    drafted = round.drafted[row]
    name = _name(drafted.bytes, glyphs)
    if drafted.verdict == "untested":
        return "\n".join(
            (
                f"{name} untested: the rejection at {round.n_accepted + 1} dropped it before its test",
                f"scored on the dropped prefix: p {prob(drafted.p)}, q {prob(drafted.q)}",
            )
        )
    if drafted.verdict == "ignored":
        return f"{name} ignored: the text ended before it ({_stop(round)}), so its test does not count"
    if is_greedy(round):
        return _greedy(round, drafted, name, glyphs)
    rule = rule_of(round.settings.rule)
    if rule.test == "sample":
        return _equality(round, drafted, name, glyphs)
    if drafted.test is None or rule.test != "ratio":
        return _with_correction(round, drafted, f"{name} {drafted.verdict} by the rule {rule.name}", glyphs)
    return _exact(round, drafted, *drafted.test, name, glyphs)


def counterfactual(round: Round, row: int, glyphs: Glyphs = UNICODE) -> str | None:
    """What the test of a token that was not tested, or does not count, would have said; None where that is unknown."""
    drafted = round.drafted[row]
    if drafted.verdict not in ("untested", "ignored"):
        return None
    where = "on the dropped prefix" if drafted.verdict == "untested" else "had the text continued"
    accepted, why = _would(round, drafted, glyphs)
    if accepted is None:
        return None
    return f"would have been {'accepted' if accepted else 'rejected'}{why}, {where}"


def _would(round: Round, drafted: Drafted, glyphs: Glyphs) -> tuple[bool | None, str]:
    """Whether the rule would have accepted, and why."""
    rule, test = rule_of(round.settings.rule), drafted.test
    if is_greedy(round):
        if test is None and drafted.p is None:
            return None, ""
        accepted = test[0] < test[1] if test else bool(drafted.p)
        choice = "it is the target's first choice" if accepted else _first_choice(drafted, glyphs)
        return accepted, f": greedy, and {choice}"
    if rule.test == "sample":
        if drafted.target_sample is None:
            return None, ""
        same = drafted.target_sample == drafted.id
        drew = "the same token" if same else target_draw(round, drafted, glyphs)
        return same, f": the target's own draw at u {compact_prob(drafted.u)} was {drew}"
    if test is None:
        return None, ""
    accepted = test[0] < test[1]
    if rule.test != "ratio":
        return accepted, f" by the rule {rule.name}"
    u, limit = distinguishing_digits(*test)
    return accepted, f": u {u} {'<' if accepted else glyphs.at_least} {limit}"


def _exact(round: Round, drafted: Drafted, at: float, limit: float, name: str, glyphs: Glyphs) -> str:
    u, chance = distinguishing_digits(at, limit)
    test = f"min(1, {significant_prob(drafted.p)}/{significant_prob(drafted.q)}) = {chance}"
    if drafted.verdict == "rejected":
        return _with_correction(round, drafted, f"{name} rejected: u {u} {glyphs.at_least} {test}", glyphs)
    why = (
        f"p {glyphs.at_least} q here: always accepted"
        if limit >= 1
        else f"p < q here: accepted with probability {chance}, and u fell below it"
    )
    return f"{name} accepted: u {u} < {test}\n{why}"


def _greedy(round: Round, drafted: Drafted, name: str, glyphs: Glyphs) -> str:
    raws = _raw(drafted.raw)
    if drafted.verdict == "accepted":
        return "\n".join(filter(None, (f"{name} accepted: greedy, and it is the target's first choice", raws)))
    first = f"{name} rejected: greedy, and {_first_choice(drafted, glyphs)}"
    return "\n".join(filter(None, (first, raws)))


def _first_choice(drafted: Drafted, glyphs: Glyphs) -> str:
    choice = _name(drafted.p_top[0].bytes, glyphs) if drafted.p_top else "another token"
    return f"the target's first choice is {choice}"


def _equality(round: Round, drafted: Drafted, name: str, glyphs: Glyphs) -> str:
    if drafted.verdict == "accepted":
        return f"{name} accepted: the target's own draw at u {compact_prob(drafted.u)} was the same token"
    drew = target_draw(round, drafted, glyphs)
    return f"{name} rejected: the target's own draw at u {compact_prob(drafted.u)} was {drew}"


def _with_correction(round: Round, drafted: Drafted, first: str, glyphs: Glyphs) -> str:
    last = round.correction
    if drafted.verdict != "rejected" or last is None or last.origin != "resampled":
        return first
    return f"{first}\n{_resampled(drafted, last, glyphs)}"


def _resampled(rejected: Drafted, last: Emitted, glyphs: Glyphs) -> str:
    name = f"{glyphs.mark('resampled')} {_name(last.bytes, glyphs)}"
    if last.p is None:
        return f"{name} replaces it"
    if last.residual is None or rejected.detail.get("residual_is_p"):
        return f"{name} drawn from p itself, with probability {_chance(last.p)}: p never exceeds q"
    return f"{name} drawn from max(0, p {glyphs.minus} q) with probability {_chance(last.residual)}"


def _last(round: Round, glyphs: Glyphs) -> str:
    last = round.correction
    if last is None:
        return f"no further token: the text ended inside the draft ({_stop(round)})"
    name = f"{glyphs.mark(last.origin)} {_name(last.bytes, glyphs)}"
    chance = "" if last.p is None else f" with probability {_chance(last.p)}"
    if is_greedy(round):
        return "\n".join(filter(None, (f"{name} {_why_last(round, last)}: greedy, the first choice", _raw(last.raw))))
    rejected = round.first_rejected
    if last.origin == "resampled" and rejected is not None:
        if rule_of(round.settings.rule).test == "sample":
            own = (
                f"the target's own draw at u {compact_prob(round.last_u)},{chance}"
                if chance
                else "the target's own draw"
            )
            return f"{name} in place of {_name(rejected.bytes, glyphs)}\n{own}"
        took = f"in place of {_name(rejected.bytes, glyphs)}"
        took += "" if last.p is None else f"; p alone gave it {_chance(last.p)}"
        return f"{_resampled(rejected, last, glyphs)}\n{took}"
    return f"{name} {_why_last(round, last)}\ndrawn from p{chance}"


def _chance(value: float | None) -> str:
    """Two digits, and for what is rarer than one in ten as many as show how rare."""
    return significant_prob(value) if value is not None and 0 < value < 0.1 else compact_prob(value)


def _why_last(round: Round, last: Emitted) -> str:
    if last.origin == "resampled":
        return f"in place of {pluralised(round.k - round.n_accepted, 'draft')}"
    if last.origin == "bonus":
        return "bonus: the one draft was accepted" if round.k == 1 else f"bonus: all {round.k} drafts were accepted"
    return f"plain: {PLAIN_REASONS[round.plain_reason]}" if round.plain_reason else "plain"


def _raw(raw: Raw | None) -> str | None:
    if raw is None:
        return None
    both = f"raw p {prob(raw.p)}" if raw.q is None else f"raw p {prob(raw.p)}, raw q {prob(raw.q)}"
    return f"{both} (at temperature 1, no top-k or top-p)"


def target_draw(round: Round, drafted: Drafted, glyphs: Glyphs = UNICODE) -> str:
    """What the target itself drew: its text where that is known, else its id."""
    if drafted.target_sample is None:
        return "another"
    known = sample_bytes(round, drafted)
    return f"token {drafted.target_sample}" if known is None else _name(known, glyphs)


def _name(data: bytes | None, glyphs: Glyphs) -> str:
    return clip(visible(data, ascii=glyphs.ascii), _TOKEN_CELLS, ascii=glyphs.ascii)


def _stop(round: Round) -> str:
    return END_REASONS[round.stop] if round.stop else "cut"


def title(round: Round, glyphs: Glyphs = UNICODE) -> str:
    """``Round 37 · K 4 · 2 of 3 tested accepted · 3 tokens``."""
    parts = [f"Round {round.index}"]
    if round.k:
        parts.append(f"K {round.k}" if round.k == round.settings.k else f"K {round.k} of {round.settings.k}")
        if is_greedy(round):
            parts.append("greedy")
        parts.append(f"{round.n_accepted} of {round.tested} tested accepted")
    else:
        parts.append(f"plain: {PLAIN_REASONS[round.plain_reason]}" if round.plain_reason else "plain")
    parts.append(pluralised(round.n_emitted, "token"))
    if round.stop:
        parts.append(END_REASONS[round.stop])
    return f" {glyphs.dot} ".join(parts)


def timing(round: Round, glyphs: Glyphs = UNICODE) -> str:
    """``draft 4 × 0.95 ms · verify 7.1 ms · decide 0.4 ms``."""
    times = round.timing
    step = times.draft_ms / round.k if round.k and times.draft_ms is not None else None
    draft = f"draft {round.k} {glyphs.times} {milliseconds(step)}" if round.k else "no draft"
    parts = draft, f"verify {milliseconds(times.verify_ms)}", f"decide {milliseconds(times.decide_ms)}"
    return f" {glyphs.dot} ".join(parts)


def end_text(end: End, glyphs: Glyphs = UNICODE) -> str:
    """Why the run ended: ``stop string: "The end"``; the detail may hold model text."""
    detail = visible(end.detail.encode("utf-8", "replace"), ascii=glyphs.ascii) if end.detail else ""
    return f"{END_REASONS[end.reason]}: {detail}" if detail else END_REASONS[end.reason]


class NgramSource(NamedTuple):
    """A drafted token copied from position ``at`` of ``source``. Its draft continues a match of the last ``n`` tokens
    of the text, which begins at ``start``."""

    n: int
    source: str
    at: int
    start: int

    @property
    def words(self) -> str:
        """``copied from position 14, 4-gram, in the text``."""
        return f"copied from position {self.at}, {self.n}-gram, in the {self.source}"


def ngram_source(drafted: Drafted, row: int) -> NgramSource | None:
    """Where drafted token ``row`` of a round was copied from; None where its drafter records no position."""
    n, source, at = map(drafted.detail.get, SOURCE_KEYS)
    if type(n) is not int or type(at) is not int or source not in ("text", "corpus"):
        return None
    if not 0 < n <= min(MAX_NGRAM, at - row):
        return None
    return NgramSource(n, source, at, at - row - n)


_INTERNAL = frozenset({"residual_is_p"})
"""Details recorded by the decoder, not by the drafter."""


def drafter_details(drafted: Drafted, row: int, glyphs: Glyphs) -> tuple[str, ...]:
    """What the drafter noted: where it copied from, in words, and whatever else as ``key: value``."""
    place = ngram_source(drafted, row)
    hidden = _INTERNAL.union(SOURCE_KEYS) if place is not None else _INTERNAL
    said = [
        f"{_safe(key.replace('_', ' '), glyphs)}: {_safe(_written(value), glyphs)}"
        for key, value in drafted.detail.items()
        if key not in hidden
    ]
    return (place.words, *said) if place else tuple(said)


def _written(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.4g}"
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


def _safe(text: str, glyphs: Glyphs) -> str:
    return visible(text.encode("utf-8", "replace"), ascii=glyphs.ascii)
