"""Medians over a range of rounds that moves on: only what comes in or goes out is looked at."""

from bisect import bisect_left, insort
from collections.abc import Callable, Mapping
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

FAR = 256
"""Rounds between two ranges from which on the new one is sorted anew."""

Group = TypeVar("Group", int, str)


class MovingMedians(Generic[Group]):
    """The medians of groups of numbers over the rounds that were asked for last."""

    def __init__(self, values: Callable[[int, int], Mapping[Group, NDArray[np.float64]]]) -> None:
        """``values``: (first, last) -> the numbers of those rounds (1-based, inclusive), by group."""
        self._values: Callable[[int, int], Mapping[Group, NDArray[np.float64]]] = values
        self._first, self._last = 1, 0
        self._sorted: dict[Group, list[float]] = {}

    def over(self, first: int, last: int) -> dict[Group, float]:
        """Of the rounds ``first`` to ``last``; a group without a number there is left out."""
        last = max(last, first - 1)
        if first != self._first or abs(last - self._last) > FAR:
            self._sorted = {group: np.sort(values).tolist() for group, values in self._values(first, last).items()}
        else:
            for group, come in self._values(self._last + 1, last).items():
                kept = self._sorted.setdefault(group, [])
                for value in come.tolist():
                    insort(kept, value)
            for group, gone in self._values(last + 1, self._last).items():
                kept = self._sorted[group]
                for value in gone.tolist():
                    del kept[bisect_left(kept, value)]
        self._first, self._last = first, last
        return {group: _middle(values) for group, values in self._sorted.items() if values}


def _middle(values: list[float]) -> float:
    half = len(values) // 2
    return values[half] if len(values) % 2 else (values[half - 1] + values[half]) / 2
