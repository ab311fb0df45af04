"""Per-round counts with cumulative sums: any range of rounds is summed in constant time."""

import math
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from specviz.maths.estimators import block_bounds
from specviz.stats.round_counts import ROUND_COUNTS_DTYPE, TIMES, RoundCounts, RoundCountsArray

_DERIVED = (
    "plain",
    "uncut_emitted",
    "spent_ms",
    "uncut_untimed",
    "after_rejection",
    "after_rejection_accepted",
    "after_full_accept",
    "after_full_accept_accepted",
)
"""Summed besides the fields of ``RoundCounts``. ``plain``: rounds without a draft. ``uncut_emitted``, ``spent_ms``
(draft, verify, decide) and ``uncut_untimed`` (rounds that lack a time) are over uncut rounds. ``after_rejection`` and
``after_full_accept``: rounds that tested position 1 after a round that ended in a rejection or in a bonus."""
Length = Literal["k", "accepted", "tested", "kept", "uncut_k", "uncut_accepted"]
"""Lengths of a round that are counted: ``kept`` = K_r - ignored; the last two over uncut rounds only."""
_SUMS: dict[str, int] = {name: column for column, name in enumerate((*RoundCounts._fields, *_DERIVED))}
_LENGTHS: dict[str, int] = {name: line for line, name in enumerate(get_args(Length))}
STRIDE = 64
"""Cumulative counts are kept every so many rounds."""
Counts = NDArray[np.int64]


class CumulativeCounts:
    """A growing table with one row per round. Integer sums are exact below 2**53."""

    def __init__(self) -> None:
        self._count = 0
        self._rows: RoundCountsArray = np.zeros(STRIDE, ROUND_COUNTS_DTYPE)
        self._sums = np.zeros((STRIDE + 1, len(_SUMS)))
        self._counts: list[Counts] = [np.zeros((len(_LENGTHS), 1), np.int64)]
        self._rejected = self._full = False
        """How the last round ended: in a rejection, or with its whole draft accepted."""

    def __len__(self) -> int:
        return self._count

    @property
    def rows(self) -> RoundCountsArray:
        return self._rows[: self._count]

    def add(self, counts: RoundCounts) -> None:
        index = self._count
        if index == len(self._rows):
            self._rows = np.concatenate([self._rows, np.zeros_like(self._rows)])
            self._sums = np.concatenate([self._sums, np.zeros((index, len(_SUMS)))])
        self._rows[index] = counts
        uncut = counts.uncut
        if counts.untimed:
            unknown: dict[str, Any] = {name: 0.0 for name in TIMES if math.isnan(getattr(counts, name))}
            counts = counts._replace(**unknown)
        tested, accepted = counts.accepted + counts.rejected > 0, counts.accepted > 0
        np.add(
            self._sums[index],
            (
                *counts,
                counts.k == 0,
                counts.emitted if uncut else 0,
                counts.draft_ms + counts.verify_ms + counts.decide_ms if uncut else 0.0,
                uncut and counts.untimed,
                self._rejected and tested,
                self._rejected and accepted,
                self._full and tested,
                self._full and accepted,
            ),
            out=self._sums[index + 1],
        )
        self._rejected = counts.rejected > 0
        self._full = not self._rejected and counts.k > 0 and uncut
        self._count = index + 1
        if self._count % STRIDE == 0:
            self._counts.append(_joined(self._counts[-1], _counted(self._rows[self._count - STRIDE : self._count])))

    def between(self, first: int, last: int) -> "RoundRange":
        """The rounds ``first`` to ``last`` (1-based, inclusive)."""
        return RoundRange(self, first, max(last, first - 1))

    def sums_before(self, rounds: int | Counts, name: str) -> NDArray[np.float64]:
        """The sum of ``name`` over the first ``rounds`` rounds."""
        sums: NDArray[np.float64] = self._sums[rounds, _SUMS[name]]
        return sums

    def counts_before(self, rounds: int) -> Counts:
        """[lengths, longest + 1]: how many of the first ``rounds`` rounds have each length."""
        kept = rounds // STRIDE
        rest = self._rows[kept * STRIDE : rounds]
        return _joined(self._counts[kept], _counted(rest)) if len(rest) else self._counts[kept]


@dataclass(frozen=True, slots=True, eq=False)
class RoundRange:
    """Consecutive rounds of a table."""

    table: CumulativeCounts
    first: int
    last: int

    @property
    def rounds(self) -> int:
        return self.last - self.first + 1

    @property
    def rows(self) -> RoundCountsArray:
        return self.table.rows[self.first - 1 : self.last]

    def total(self, name: str) -> float:
        before = self.table.sums_before
        return float(before(self.last, name) - before(self.first - 1, name))

    def count(self, name: str) -> int:
        return int(self.total(name))

    @property
    def accept_prob_sum(self) -> float:
        """Its total, summed directly over few rounds: a difference of cumulative sums has rounding errors."""
        return float(self.rows["accept_prob_sum"].sum()) if self.rounds <= STRIDE else self.total("accept_prob_sum")

    def blocks(self, name: str) -> NDArray[np.float64]:
        """The sums over the blocks of batch means."""
        bounds = self.first - 1 + block_bounds(self.rounds)
        return np.diff(self.table.sums_before(bounds, name))

    def lengths(self) -> dict[str, Counts]:
        """For each ``Length``, how many rounds have length 0, 1, 2, ..."""
        counts = _joined(self.table.counts_before(self.last), -self.table.counts_before(self.first - 1))
        return {name: counts[line] for name, line in _LENGTHS.items()}


def _counted(rows: RoundCountsArray) -> Counts:
    k, accepted, uncut = rows["k"], rows["accepted"], rows["uncut"]
    width = int(k.max()) + 1
    lengths = (k, accepted, accepted + rows["rejected"], k - rows["ignored"], k[uncut], accepted[uncut])
    return np.array([np.bincount(values, minlength=width) for values in lengths], np.int64)


def _joined(a: Counts, b: Counts) -> Counts:
    """The sum of two count arrays, as wide as the wider one."""
    wide, narrow = (a, b) if a.shape[1] >= b.shape[1] else (b, a)
    joined = wide.copy()
    joined[:, : narrow.shape[1]] += narrow
    return joined
