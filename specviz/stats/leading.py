"""The first of an order over a range of rows that grows: only what comes in is looked at."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Values = NDArray[np.float64]
Places = NDArray[np.int64]


class Leading:
    """The places of the ``limit`` lowest values of the rows that were asked for last; equals stand as they came."""

    def __init__(self, values: Callable[[int, int], Values], limit: int) -> None:
        """``values``: (begin, end) -> those of the rows from ``begin`` on and before ``end``; NaN has no place."""
        self._read = values
        self._limit = limit
        self._begin = self._end = 0
        self._places: Places = np.zeros(0, np.int64)
        self._values: Values = np.zeros(0)

    def over(self, begin: int, end: int) -> Places:
        """Of the rows ``begin`` to ``end``; they are all looked at where they do not go on from those before."""
        if begin != self._begin or end < self._end:
            self._begin = self._end = begin
            self._places, self._values = self._places[:0], self._values[:0]
        come = self._read(self._end, end)
        chosen = lowest(come, self._limit)
        if len(chosen):
            values = np.concatenate([self._values, come[chosen]])
            order = lowest(values, self._limit)
            self._places = np.concatenate([self._places, chosen + self._end])[order]
            self._values = values[order]
        self._end = end
        return self._places


def lowest(values: Values, limit: int) -> Places:
    """Where the ``limit`` lowest of ``values`` stand, the lowest first, equals in their order; NaN is left out."""
    known = np.flatnonzero(~np.isnan(values))
    if len(known) > limit:
        edge = np.partition(values[known], limit - 1)[limit - 1]
        known = known[values[known] <= edge]
    return known[np.argsort(values[known], kind="stable")][:limit]
