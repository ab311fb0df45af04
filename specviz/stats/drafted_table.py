"""Every drafted token of a run as a row of numbers: small enough to keep for any number of rounds."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from specviz.core.events import Round
from specviz.stats.drafted import BINS, COUNTS, DRAFTED_DTYPE, Count, Rank, Rows, counted, ranked, row_of, tokens_lost
from specviz.stats.leading import Leading
from specviz.stats.token_counts import TokenCounts, TokenNumbers

STRIDE = 256
"""Rows between two counts that are kept."""


class DraftedTable:
    """``rows`` [n] of ``DRAFTED_DTYPE`` in the order of drafting; ``tokens`` (id, bytes) of what was drafted."""

    def __init__(self) -> None:
        self._rows: Rows = np.zeros(STRIDE, DRAFTED_DTYPE)
        self._count = 0
        self._counts = [counted(self._rows[:0])]
        self._leading: dict[tuple[Rank, int], Leading] = {}
        self._token_counts = TokenCounts(self._between)
        self.tokens: list[tuple[int, bytes]] = []
        self._places: dict[tuple[int, bytes], int] = {}

    @classmethod
    def of(cls, rounds: Iterable[Round]) -> Self:
        table = cls()
        for round in rounds:
            table.add(round)
        return table

    @property
    def rows(self) -> Rows:
        return self._rows[: self._count]

    def __len__(self) -> int:
        return self._count

    def add(self, round: Round) -> None:
        if self._count + round.k > len(self._rows):
            self._rows = np.concatenate([self._rows, np.zeros(max(len(self._rows), round.k), DRAFTED_DTYPE)])
        lost = tokens_lost(round)
        cost = math.nan if lost is None else lost
        self._rows[self._count : self._count + round.k] = [
            row_of(round, at, self._place(d.id, d.bytes), cost) for at, d in enumerate(round.drafted)
        ]
        self._count += round.k
        while self._count >= (kept := len(self._counts)) * STRIDE:
            self._counts.append(self._counts[-1] + counted(self._between((kept - 1) * STRIDE, kept * STRIDE)))

    def _place(self, id: int, data: bytes) -> int:
        token = id, data
        place = self._places.get(token)
        if place is None:
            place = self._places[token] = len(self.tokens)
            self.tokens.append(token)
        return place

    @property
    def whole(self) -> "DraftedPart":
        return DraftedPart(self, 0, self._count)

    def between(self, first: int, last: int) -> "DraftedPart":
        """What the rounds ``first`` to ``last`` (1-based, inclusive) drafted."""
        begin, end = self.rows["round"].searchsorted(np.array((first, max(first, last + 1)), np.int32)).tolist()
        return DraftedPart(self, begin, end)

    def counts_behind(self, rows: int) -> NDArray[np.int64]:
        """What is counted of the first so many rows."""
        kept = rows // STRIDE
        return self._counts[kept] + counted(self._between(kept * STRIDE, rows))

    def leading(self, rank: Rank, limit: int) -> Leading:
        """The first so many rows of an order."""
        if (rank, limit) not in self._leading:
            self._leading[rank, limit] = Leading(lambda a, b: ranked(self._between(a, b), rank), limit)
        return self._leading[rank, limit]

    def token_numbers(self, begin: int, end: int) -> TokenNumbers:
        """Of every token, the numbers of these rows; they stand until the next call."""
        return self._token_counts.over(begin, end, len(self.tokens))

    def _between(self, begin: int, end: int) -> Rows:
        return self._rows[begin:end]


@dataclass(frozen=True, slots=True, eq=False)
class DraftedPart:
    """The rows ``begin`` to ``end`` (0-based, exclusive) of a table."""

    table: DraftedTable
    begin: int
    end: int

    @property
    def rows(self) -> Rows:
        return self.table.rows[self.begin : self.end]

    def __len__(self) -> int:
        return self.end - self.begin

    def count(self, name: Count) -> int:
        return int(self._counts[COUNTS[name]])

    @property
    def histogram(self) -> tuple[int, ...]:
        """Tested tokens by their chance, in BINS."""
        return tuple(self._counts[:BINS].tolist())

    @property
    def _counts(self) -> NDArray[np.int64]:
        return self.table.counts_behind(self.end) - self.table.counts_behind(self.begin)

    def first(self, rank: Rank, limit: int) -> NDArray[np.int64]:
        """The places in the table of the first so many rows of an order; equals stand as they were drafted."""
        return self.table.leading(rank, limit).over(self.begin, self.end)

    def token_numbers(self) -> TokenNumbers:
        """Of every token of the table; they stand until another part is asked."""
        return self.table.token_numbers(self.begin, self.end)
