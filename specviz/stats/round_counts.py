"""What one round contributes to the rates."""

import math
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from specviz.core.events import Drafted, Round
from specviz.core.rule import Rule, rule_of


class Tally(NamedTuple):
    """Counts, sums and times of a round.

    ``uncut``: it counts for tokens/round. ``chanced``: its tested positions whose rule has an accept chance o;
    ``hits``: the accepted ones among them; ``chance`` and ``variance``: their sums of o and of o (1 - o).
    ``match``: the sum of p q over all tested positions. ``no_chance`` and ``no_match``: the tested positions where such
    a number exists but was not measured; ``untimed``: 1 where a time was not. Times are NaN where they were not.
    """

    k: int
    accepted: int
    rejected: int
    untested: int
    ignored: int
    emitted: int
    uncut: bool
    chanced: int
    hits: int
    chance: float
    variance: float
    match: float
    draft_ms: float
    verify_ms: float
    decide_ms: float
    inspect_ms: float
    total_ms: float
    no_chance: int
    no_match: int
    untimed: int


TALLY_DTYPE = np.dtype([(name, np.dtype(kind)) for name, kind in Tally.__annotations__.items()])
TIMES = ("draft_ms", "verify_ms", "decide_ms", "inspect_ms", "total_ms")
Tallies = NDArray[np.void]
"""A structured array of ``TALLY_DTYPE``, one entry a round."""


def inconsistency(event: Round) -> str | None:
    """What is wrong with a round's counts, as a sentence; None where they add up.

    drafted = accepted + rejected + untested + ignored = K_r, the accepted ones first; A of them entered the text,
    with one more token unless the round was cut.
    """
    verdicts = [drafted.verdict for drafted in event.drafted]
    accepted, rejected = verdicts.count("accepted"), verdicts.count("rejected")
    if event.k != len(verdicts):
        return f"round {event.index} says it drafted {event.k} tokens and lists {len(verdicts)}"
    if event.n_accepted != accepted or verdicts[:accepted] != ["accepted"] * accepted:
        return f"round {event.index} says its first {event.n_accepted} tokens were accepted, the verdicts say otherwise"
    if event.tested != accepted + rejected:
        return f"round {event.index} says {event.tested} tokens were tested, the verdicts say {accepted + rejected}"
    if not event.n_accepted <= len(event.emitted) <= event.n_accepted + 1:
        return f"round {event.index} accepted {event.n_accepted} tokens and emitted {len(event.emitted)}"
    return None


def tally(event: Round) -> Tally:
    """Count one round. Raises ValueError where its counts do not add up."""
    if problem := inconsistency(event):
        raise ValueError(problem)
    rule = rule_of(event.settings.rule)
    tested = event.tested_tokens
    chances = [chance for d in tested if (chance := rule.position_accept_prob(d)) is not None]
    matches = [d.match for d in tested if d.match is not None]
    timing = event.timing
    times = (timing.draft_ms, timing.verify_ms, timing.decide_ms, timing.inspect_ms, timing.total_ms)
    measured = len(chances) == event.tested
    return Tally(
        k=event.k,
        accepted=event.n_accepted,
        rejected=event.n_rejected,
        untested=event.count("untested"),
        ignored=event.count("ignored"),
        emitted=event.n_emitted,
        uncut=not event.cut,
        chanced=len(chances),
        hits=event.n_accepted if measured else _hits(tested, rule),
        chance=sum(chances),
        variance=sum(o * (1.0 - o) for o in chances),
        match=sum(matches),
        draft_ms=_or_nan(timing.draft_ms),
        verify_ms=_or_nan(timing.verify_ms),
        decide_ms=_or_nan(timing.decide_ms),
        inspect_ms=_or_nan(timing.inspect_ms),
        total_ms=_or_nan(timing.total_ms),
        no_chance=0 if measured or not rule.overlap_is_accept_prob else event.tested - len(chances),
        no_match=event.tested - len(matches),
        untimed=int(None in times),
    )


def _hits(tested: Iterable[Drafted], rule: Rule) -> int:
    return sum(d.verdict == "accepted" for d in tested if rule.position_accept_prob(d) is not None)


def tallied(rounds: Iterable[Round]) -> Tallies:
    """An entry a round. Raises ValueError as ``tally`` does."""
    return np.array([tally(round) for round in rounds], TALLY_DTYPE)


def _or_nan(value: float | None) -> float:
    return math.nan if value is None else value
