"""Medians and top-n lists over a range that grows: a query reads only what the previous one has not read."""

from bisect import bisect_left, insort
from collections.abc import Callable, Mapping
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

RESORT_ABOVE = 256
"""If a range grows or shrinks by more rounds than this, it is sorted again instead of updated."""

Group = TypeVar("Group", int, str)
Values = NDArray[np.float64]
Indices = NDArray[np.int64]


class IncrementalMedians(Generic[Group]):
    """The medians of groups of numbers over a range of rounds."""

    def __init__(self, values: Callable[[int, int], Mapping[Group, Values]]) -> None:
        """``values``: (first, last) -> the numbers of those rounds (1-based, inclusive), by group."""
        self._values: Callable[[int, int], Mapping[Group, Values]] = values
        self._first, self._last = 1, 0
        self._sorted: dict[Group, list[float]] = {}

    def query(self, first: int, last: int, at_least: int = 1) -> dict[Group, float]:
        """The median of each group in rounds ``first`` to ``last`` that has at least ``at_least`` numbers there."""
        last = max(last, first - 1)
        if first != self._first or abs(last - self._last) > RESORT_ABOVE:
            self._sorted = {group: np.sort(values).tolist() for group, values in self._values(first, last).items()}
        else:
            for group, added in self._values(self._last + 1, last).items():
                kept = self._sorted.setdefault(group, [])
                for value in added.tolist():
                    insort(kept, value)
            for group, removed in self._values(last + 1, self._last).items():
                kept = self._sorted[group]
                for value in removed.tolist():
                    del kept[bisect_left(kept, value)]
        self._first, self._last = first, last
        return {group: _median(values) for group, values in self._sorted.items() if len(values) >= at_least}


def _median(values: list[float]) -> float:
    half = len(values) // 2
    return values[half] if len(values) % 2 else (values[half - 1] + values[half]) / 2


class IncrementalTopN:
    """The indices of the ``limit`` lowest values of a range of rows, ties in row order."""

    def __init__(self, values: Callable[[int, int], Values], limit: int) -> None:
        """``values``: (begin, end) -> the values of the rows from ``begin`` up to, not including, ``end``; NaN is
        excluded."""
        self._read = values
        self._limit = limit
        self._begin = self._end = 0
        self._indices: Indices = np.zeros(0, np.int64)
        self._values: Values = np.zeros(0)

    def query(self, begin: int, end: int) -> Indices:
        """Over the rows ``begin`` to ``end``; all of them are read unless they extend the previous range."""
        if begin != self._begin or end < self._end:
            self._begin = self._end = begin
            self._indices, self._values = self._indices[:0], self._values[:0]
        added = self._read(self._end, end)
        chosen = lowest(added, self._limit)
        if len(chosen):
            values = np.concatenate([self._values, added[chosen]])
            order = lowest(values, self._limit)
            self._indices = np.concatenate([self._indices, chosen + self._end])[order]
            self._values = values[order]
        self._end = end
        return self._indices


def lowest(values: Values, limit: int) -> Indices:
    """The indices of the ``limit`` lowest of ``values``, lowest first, ties in order; NaN is excluded."""
    known = np.flatnonzero(~np.isnan(values))
    if len(known) > limit:
        largest = np.partition(values[known], limit - 1)[limit - 1]
        known = known[values[known] <= largest]
    return known[np.argsort(values[known], kind="stable")][:limit]
