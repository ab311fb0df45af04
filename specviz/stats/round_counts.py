"""What one round contributes to the rates."""

import math
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from specviz.core.events import Drafted, Round
from specviz.core.invariants import inconsistency
from specviz.core.rule import Rule, rule_of


class RoundCounts(NamedTuple):
    """Counts, sums and times of a round. Times that were not measured are NaN. ``uncut``: it counts for tokens/round.
    ``n_with_accept_prob``: tested positions with an exact accept probability o; ``n_accepted_with_prob``: the accepted
    ones among them; ``accept_prob_sum``, ``accept_prob_variance``: sums of o and of o (1 - o). ``match``: the sum of p
    q over all tested positions. ``n_without_accept_prob``, ``n_without_match``: tested positions where the number
    exists but was not measured; ``untimed``: 1 if any time was not measured."""

    k: int
    accepted: int
    rejected: int
    untested: int
    ignored: int
    emitted: int
    uncut: bool
    n_with_accept_prob: int
    n_accepted_with_prob: int
    accept_prob_sum: float
    accept_prob_variance: float
    match: float
    draft_ms: float
    verify_ms: float
    decide_ms: float
    inspect_ms: float
    total_ms: float
    n_without_accept_prob: int
    n_without_match: int
    untimed: int


ROUND_COUNTS_DTYPE = np.dtype([(name, np.dtype(kind)) for name, kind in RoundCounts.__annotations__.items()])
TIMES = ("draft_ms", "verify_ms", "decide_ms", "inspect_ms", "total_ms")
RoundCountsArray = NDArray[np.void]
"""A structured array of ``ROUND_COUNTS_DTYPE``, one entry per round."""


def count_round(event: Round) -> RoundCounts:
    """Count one round. Raises ValueError if its counts do not add up (see ``inconsistency``)."""
    if problem := inconsistency(event):
        raise ValueError(problem)
    rule = rule_of(event.settings.rule)
    tested = event.tested_tokens
    accept_probs = [o for d in tested if (o := rule.position_accept_prob(d)) is not None]
    matches = [d.match for d in tested if d.match is not None]
    timing = event.timing
    times = (timing.draft_ms, timing.verify_ms, timing.decide_ms, timing.inspect_ms, timing.total_ms)
    measured = len(accept_probs) == event.tested
    return RoundCounts(
        k=event.k,
        accepted=event.n_accepted,
        rejected=event.n_rejected,
        untested=event.count("untested"),
        ignored=event.count("ignored"),
        emitted=event.n_emitted,
        uncut=not event.cut,
        n_with_accept_prob=len(accept_probs),
        n_accepted_with_prob=event.n_accepted if measured else _accepted_with_prob(tested, rule),
        accept_prob_sum=sum(accept_probs),
        accept_prob_variance=sum([o * (1.0 - o) for o in accept_probs]),
        match=sum(matches),
        draft_ms=_or_nan(timing.draft_ms),
        verify_ms=_or_nan(timing.verify_ms),
        decide_ms=_or_nan(timing.decide_ms),
        inspect_ms=_or_nan(timing.inspect_ms),
        total_ms=_or_nan(timing.total_ms),
        n_without_accept_prob=0 if measured or not rule.overlap_is_accept_prob else event.tested - len(accept_probs),
        n_without_match=event.tested - len(matches),
        untimed=int(None in times),
    )


def _accepted_with_prob(tested: Iterable[Drafted], rule: Rule) -> int:
    return sum(d.verdict == "accepted" for d in tested if rule.position_accept_prob(d) is not None)


def count_rounds(rounds: Iterable[Round]) -> RoundCountsArray:
    """One entry per round. Raises ValueError as ``count_round`` does."""
    return np.array([count_round(round) for round in rounds], ROUND_COUNTS_DTYPE)


def _or_nan(value: float | None) -> float:
    return math.nan if value is None else value
