"""A round as a sequence of phases, and what each may show: pure functions of (round, reveal).

A phase shows a finished round as it was at one point: the drafted tokens one by one, the target's pass over all of
them, the tests one by one, the last token. Nothing of a later phase appears in an earlier one.
"""

from dataclasses import dataclass, replace
from typing import Literal

from specviz.core.events import Drafted, Round
from specviz.core.options import GREEDY_AT_OR_BELOW
from specviz.core.rule import rule_of
from specviz.core.safe_text import clip, visible
from specviz.render.explanations import PLAIN_REASONS, default_row, explain, is_greedy, ngram_source, timing, title
from specviz.render.glyphs import UNICODE, Glyphs
from specviz.render.numbers import compact_prob, milliseconds, pluralised, prob, significant_prob

RowStage = Literal["hidden", "drafted", "scored", "decided"]
"""How much of a row is known: nothing; the token and q; also p and the accept probability; also the verdict."""

WAITING = "waiting"
"""The kind of a drafted token without a verdict yet, beside those of `glyphs.SIGNS`."""
_WAITING_MARK = "?"
_TOKEN_CELLS = 24


@dataclass(frozen=True, slots=True)
class Reveal:
    """What is shown of a round: tokens drafted, whether the target scored them, tests decided, the last token."""

    drafted: int
    verified: bool
    decided: int
    last: bool


def phases(round: Round) -> tuple[Reveal, ...]:
    """From the first drafted token to the whole round. Without a draft the target's pass comes first. Where the text
    ended inside the draft, the last accepted token is the end of the round and no last token follows."""
    drafting = [Reveal(count, False, 0, False) for count in range(1, round.k + 1)]
    deciding = [Reveal(round.k, True, count, False) for count in range(round.tested + 1)]
    if round.cut:
        deciding[-1] = replace(deciding[-1], last=True)
    else:
        deciding.append(Reveal(round.k, True, round.tested, True))
    return (*drafting, *deciding)


def partial_reveal(reveal: Reveal | None) -> Reveal | None:
    """``reveal`` where it holds something back; None where the whole round is shown."""
    return None if reveal is None or reveal.last else reveal


def focus_row(round: Round, reveal: Reveal | None) -> int:
    """The row a phase is about: a drafted token, or k for the last one; the first test where the target has scored.
    None: the row of the whole round that is worth explaining."""
    if reveal is None or (reveal.last and round.cut):
        return default_row(round)
    if reveal.last:
        return round.k
    return max(0, (reveal.decided if reveal.verified else reveal.drafted) - 1)


def row_stage(round: Round, reveal: Reveal | None, row: int) -> RowStage:
    """How much of a row is known. A rejection also decides the rows after it: they stay untested."""
    if reveal is None or reveal.last:
        return "decided"
    if row >= round.k or row >= reveal.drafted:
        return "hidden"
    if not reveal.verified:
        return "drafted"
    return "decided" if row < reveal.decided or _rejected(round, reveal) else "scored"


def mark_of(kind: str, glyphs: Glyphs) -> str:
    """The sign of a verdict, of an origin, or of a token that waits for its test."""
    return _WAITING_MARK if kind == WAITING else glyphs.mark(kind)


def without_correction(round: Round) -> Round:
    """The round before its last token is known: without that token and without the replacement of a rejected one."""
    return replace(
        round,
        drafted=tuple(
            replace(d, p_top=(), residual_top=(), target_sample=None, raw=d.raw and replace(d.raw, p_top=()))
            if d.verdict == "rejected"
            else d
            for d in round.drafted
        ),
        emitted=round.emitted[: round.n_accepted],
    )


def headline(round: Round, reveal: Reveal | None, glyphs: Glyphs = UNICODE) -> str:
    """``Round 37 · drafting 2 of 4``, ``Round 37 · test 3 of 4: rejected``; the title of a whole round."""
    if reveal is None or reveal.last:
        return title(round, glyphs)
    if not reveal.verified:
        said = f"drafting {reveal.drafted} of {round.k}"
    elif reveal.decided:
        said = f"test {reveal.decided} of {round.k}: {round.drafted[reveal.decided - 1].verdict}"
    elif round.k:
        said = f"the target scores {'the draft' if round.k == 1 else f'all {round.k}'} in one pass"
    else:
        said = "plain: the target alone"
    return f"Round {round.index} {glyphs.dot} {said}"


def explain_phase(round: Round, reveal: Reveal | None, glyphs: Glyphs = UNICODE, row: int | None = None) -> str:
    """One or two sentences, one a line, about a row as far as it is known; by default the phase's own row."""
    about = focus_row(round, reveal)
    row = about if row is None else row
    if reveal is None or reveal.last:
        return explain(round, row, glyphs)
    known = row_stage(round, reveal, row)
    if known == "decided":
        return _decided(round, row, glyphs)
    if known == "drafted":
        return _drafted(round, row, glyphs)
    if known == "scored" and (row != about or reveal.decided):
        return _waiting(round.drafted[row], glyphs)
    return _scored(round)


def times_so_far(round: Round, reveal: Reveal | None, glyphs: Glyphs = UNICODE) -> str:
    """The line of `explanations.timing`, without the times of what has not happened yet."""
    times = timing(round, glyphs)
    if reveal is None or reveal.last:
        return times
    separator = f" {glyphs.dot} "
    return separator.join(times.split(separator)[: (reveal.drafted == round.k) + reveal.verified])


def _rejected(round: Round, reveal: Reveal) -> bool:
    return round.n_accepted < round.tested <= reveal.decided


def _drafted(round: Round, row: int, glyphs: Glyphs) -> str:
    drafted = round.drafted[row]
    name = _name(drafted, glyphs)
    rank = "" if drafted.rank_q is None else f", rank {drafted.rank_q} in q"
    unseen = f"draft {row + 1} of {round.k}{rank}; the target has not seen it yet"
    if place := ngram_source(drafted, row):
        return f"{name} drafted: {place.words}\n{unseen}"
    if round.settings.draft_temperature <= GREEDY_AT_OR_BELOW:
        raw = "" if drafted.raw is None else f", raw q {prob(drafted.raw.q, none=glyphs.none)}"
        return f"{name} drafted: greedy, the draft's first choice{raw}\n{unseen}"
    if drafted.q is None:
        return f"{name} drafted\n{unseen}"
    if drafted.q >= 1:
        return f"{name} drafted: q puts all its weight on it\n{unseen}"
    chance = f"with probability {significant_prob(drafted.q)}, at u {compact_prob(drafted.draft_u)}"
    return f"{name} drafted: drawn from q {chance}\n{unseen}"


def _scored(round: Round) -> str:
    took = "" if round.timing.verify_ms is None else f", in {milliseconds(round.timing.verify_ms)}"
    if round.k:
        return f"one forward pass of the target over {round.k + 1} tokens gave p for each{took}\n{_condition(round)}"
    why = f": {PLAIN_REASONS[round.plain_reason]}" if round.plain_reason else ""
    return f"one forward pass of the target over one token gave p for the next{took}\nnothing was drafted{why}"


def _condition(round: Round) -> str:
    if is_greedy(round):
        return "a draft is accepted if it is the target's first choice"
    rule = rule_of(round.settings.rule)
    return f"a draft is accepted if {rule.condition}" if rule.condition else f"the rule {rule.name} decides on each"


def _waiting(drafted: Drafted, glyphs: Glyphs) -> str:
    return f"{_name(drafted, glyphs)} waits for its test: p {prob(drafted.p)}, q {prob(drafted.q)}"


def _decided(round: Round, row: int, glyphs: Glyphs) -> str:
    said = explain(without_correction(round), row, glyphs)
    dropped = round.count("untested")
    if round.drafted[row].verdict != "rejected" or not dropped or "\n" in said:
        return said
    return f"{said}\ndropped untested after it: {pluralised(dropped, 'draft')}"


def _name(drafted: Drafted, glyphs: Glyphs) -> str:
    return clip(visible(drafted.bytes, ascii=glyphs.ascii), _TOKEN_CELLS, ascii=glyphs.ascii)
