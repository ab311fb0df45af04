"""Tallies with their running sums, so that any range of rounds is summed and counted in the same time as any other."""

import math
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from specviz.maths.estimators import block_bounds
from specviz.stats.round_counts import TALLY_DTYPE, TIMES, Tallies, Tally

_DERIVED = (
    "plain",
    "uncut_emitted",
    "spent_ms",
    "uncut_untimed",
    "behind_rejection",
    "behind_rejection_accepted",
    "behind_full",
    "behind_full_accepted",
)
"""Summed besides the fields of a tally: ``plain`` rounds, those without a draft; ``uncut_emitted`` and ``spent_ms``
(draft, verify, decide) over uncut rounds, ``uncut_untimed`` how many of these lack a time.
``behind_rejection`` and ``behind_full``: rounds that tested position 1 after a round that ended in a rejection, or in a
bonus."""
Length = Literal["k", "accepted", "tested", "kept", "uncut_k", "uncut_accepted"]
"""Lengths of a round that are counted: ``kept`` = K_r - ignored, the last two of uncut rounds alone."""
_SUMS: dict[str, int] = {name: column for column, name in enumerate((*Tally._fields, *_DERIVED))}
_LENGTHS: dict[str, int] = {name: line for line, name in enumerate(get_args(Length))}
STRIDE = 64
"""Rounds between two counts that are kept."""
Counts = NDArray[np.int64]


class TallyTable:
    """A growing table, a row a round. Whole-number sums are exact below 2**53."""

    def __init__(self) -> None:
        self._count = 0
        self._rows: Tallies = np.zeros(STRIDE, TALLY_DTYPE)
        self._sums = np.zeros((STRIDE + 1, len(_SUMS)))
        self._counts: list[Counts] = [np.zeros((len(_LENGTHS), 1), np.int64)]
        self._rejected = self._full = False
        """How the last round ended."""

    def __len__(self) -> int:
        return self._count

    @property
    def rows(self) -> Tallies:
        return self._rows[: self._count]

    def add(self, tally: Tally) -> None:
        at = self._count
        if at == len(self._rows):
            self._rows = np.concatenate([self._rows, np.zeros_like(self._rows)])
            self._sums = np.concatenate([self._sums, np.zeros((at, len(_SUMS)))])
        self._rows[at] = tally
        uncut = tally.uncut
        if tally.untimed:
            unknown: dict[str, Any] = {name: 0.0 for name in TIMES if math.isnan(getattr(tally, name))}
            tally = tally._replace(**unknown)
        tested, accepted = tally.accepted + tally.rejected > 0, tally.accepted > 0
        np.add(
            self._sums[at],
            (
                *tally,
                tally.k == 0,
                tally.emitted if uncut else 0,
                tally.draft_ms + tally.verify_ms + tally.decide_ms if uncut else 0.0,
                uncut and tally.untimed,
                self._rejected and tested,
                self._rejected and accepted,
                self._full and tested,
                self._full and accepted,
            ),
            out=self._sums[at + 1],
        )
        self._rejected = tally.rejected > 0
        self._full = not self._rejected and tally.k > 0 and uncut
        self._count = at + 1
        if self._count % STRIDE == 0:
            self._counts.append(_joined(self._counts[-1], _counted(self._rows[self._count - STRIDE : self._count])))

    def between(self, first: int, last: int) -> "Part":
        """The rounds ``first`` to ``last`` (1-based, inclusive)."""
        return Part(self, first, max(last, first - 1))

    def sums_behind(self, rounds: int | Counts, name: str) -> NDArray[np.float64]:
        """The sum over the first so many rounds."""
        sums: NDArray[np.float64] = self._sums[rounds, _SUMS[name]]
        return sums

    def counts_behind(self, rounds: int) -> Counts:
        """[lengths, longest + 1]: how many of the first so many rounds have each length."""
        kept = rounds // STRIDE
        rest = self._rows[kept * STRIDE : rounds]
        return _joined(self._counts[kept], _counted(rest)) if len(rest) else self._counts[kept]


@dataclass(frozen=True, slots=True, eq=False)
class Part:
    """Consecutive rounds of a table."""

    table: TallyTable
    first: int
    last: int

    @property
    def rounds(self) -> int:
        return self.last - self.first + 1

    @property
    def rows(self) -> Tallies:
        return self.table.rows[self.first - 1 : self.last]

    def total(self, name: str) -> float:
        behind = self.table.sums_behind
        return float(behind(self.last, name) - behind(self.first - 1, name))

    def count(self, name: str) -> int:
        return int(self.total(name))

    @property
    def chance(self) -> float:
        """The total of it, added up where the rounds are few: a difference of running sums rounds."""
        return float(self.rows["chance"].sum()) if self.rounds <= STRIDE else self.total("chance")

    def blocks(self, name: str) -> NDArray[np.float64]:
        """The sums over the blocks of batch means."""
        bounds = self.first - 1 + block_bounds(self.rounds)
        return np.diff(self.table.sums_behind(bounds, name))

    def lengths(self) -> dict[str, Counts]:
        """For each ``Length``, how many rounds have length 0, 1, 2, ..."""
        behind, before = self.table.counts_behind(self.last), self.table.counts_behind(self.first - 1)
        counts = _joined(behind, -before)
        return {name: counts[line] for name, line in _LENGTHS.items()}


def _counted(rows: Tallies) -> Counts:
    k, accepted, uncut = rows["k"], rows["accepted"], rows["uncut"]
    width = int(k.max()) + 1
    lengths = (k, accepted, accepted + rows["rejected"], k - rows["ignored"], k[uncut], accepted[uncut])
    return np.array([np.bincount(values, minlength=width) for values in lengths], np.int64)


def _joined(a: Counts, b: Counts) -> Counts:
    """The sum of counts, as wide as the wider one."""
    wide, narrow = (a, b) if a.shape[1] >= b.shape[1] else (b, a)
    joined = wide.copy()
    joined[:, : narrow.shape[1]] += narrow
    return joined
