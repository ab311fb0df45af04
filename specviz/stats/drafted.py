"""A drafted token as a row of numbers, and what can be counted of such rows."""

import math
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from specviz.core.events import Round, Verdict
from specviz.core.rule import rule_of

DRAFTED_DTYPE = np.dtype(
    [
        ("round", np.int32),
        ("row", np.int16),
        ("token", np.int32),
        ("verdict", np.int8),
        *((name, np.float64) for name in ("p", "q", "overlap", "chance", "u", "accept_prob", "lost")),
    ],
    align=True,
)
"""``round`` is 1-based, ``row`` 0-based; ``token`` a place in a list of tokens, ``verdict`` in VERDICTS. ``chance`` is
what ``Rule.overlap_of`` gives. NaN: undefined. Aligned, a column is searched without a copy."""
Rows = NDArray[np.void]
VERDICTS: tuple[Verdict, ...] = ("accepted", "rejected", "untested", "ignored")
REJECTED = 1
"""The last of the verdicts of tested tokens."""
_CODES = {verdict: code for code, verdict in enumerate(VERDICTS)}
Rank = Literal["ratio", "lost", "overlap"]
"""By lowest p/q, by highest loss, by lowest overlap (match under the equality rule)."""
BINS = 10
Count = Literal["untested", "ratio", "lost", "overlap"]
"""Rows without a test, and those that have the number of a rank."""
COUNTS: dict[Count, int] = {"untested": BINS, "ratio": BINS + 1, "lost": BINS + 2, "overlap": BINS + 3}
"""Where each stands behind the bins."""


def row_of(round: Round, at: int, token: int, lost: float) -> tuple[int | float, ...]:
    """Drafted token ``at`` of a round whose rejection cost ``lost`` tokens."""
    drafted = round.drafted[at]
    return (
        round.index,
        at,
        token,
        _CODES[drafted.verdict],
        drafted.p,
        drafted.q,
        drafted.overlap,
        rule_of(round.settings.rule).overlap_of(drafted),
        drafted.u,
        math.nan if drafted.accept_prob is None else drafted.accept_prob,
        lost if drafted.verdict == "rejected" else math.nan,
    )


def tokens_lost(round: Round) -> float | None:
    """The tokens the round's rejection cost, expected given what was drafted; None without a rejection.

    With a_j the accept chance of drafted token j itself, a rejection at i of K_r cost
    1 + sum_{j > i} prod_{m = i+1..j} a_m tokens: the rejected draft kept, what of the drafts behind it would have been,
    and the one token that follows either way. None too where the rule gives no chance behind the rejection.
    """
    if not round.n_rejected:
        return None
    rule = rule_of(round.settings.rule)
    lost = reached = 1.0
    for drafted in round.untested_tokens:
        chance = rule.token_accept_prob(drafted)
        if chance is None:
            return None
        reached *= chance
        lost += reached
    return lost


def ranked(rows: Rows, rank: Rank) -> NDArray[np.float64]:
    """What tested tokens are ordered by, the lowest first; NaN: has no place in that order."""
    if rank == "lost":
        values: NDArray[np.float64] = -rows["lost"]
    elif rank == "ratio":
        values = np.divide(rows["p"], rows["q"], out=np.full(len(rows), np.nan), where=rows["q"] != 0)
    else:
        values = rows["chance"].copy()
    values[rows["verdict"] > REJECTED] = np.nan
    return values


def counted(rows: Rows) -> NDArray[np.int64]:
    """How many tested tokens have b / BINS <= chance < (b + 1) / BINS for each bin b, 1 belonging to the last; then the
    COUNTS."""
    tested = rows["verdict"] <= REJECTED
    bins = np.minimum((rows["chance"][tested] * BINS).astype(np.int64), BINS - 1)
    with_ratio = np.count_nonzero(rows["q"][tested])
    with_loss = np.count_nonzero(~np.isnan(rows["lost"]))
    numbers = np.array((np.count_nonzero(~tested), with_ratio, with_loss, len(bins)), np.int64)
    return np.append(np.bincount(bins, minlength=BINS), numbers)
