"""The first of an order over rows that become more, against sorting all of them."""

import numpy as np
import pytest
from numpy.typing import NDArray

from specviz.stats.leading import Leading, lowest

VALUES = np.random.default_rng(4).integers(0, 30, 2000).astype(float)
VALUES[::17] = np.nan


def expected(begin: int, end: int, limit: int) -> list[int]:
    known = [place for place in range(begin, end) if VALUES[place] == VALUES[place]]
    return sorted(known, key=lambda place: (VALUES[place], place))[:limit]


def leading(limit: int, looked: list[tuple[int, int]]) -> Leading:
    def values(begin: int, end: int) -> NDArray[np.float64]:
        looked.append((begin, end))
        return VALUES[begin:end]

    return Leading(values, limit)


def test_by_hand() -> None:
    assert lowest(np.array([2.0, np.nan, 1.0, 2.0, 1.0, 0.5]), 4).tolist() == [5, 2, 4, 0]
    assert lowest(np.array([np.nan, 3.0]), 4).tolist() == [1]
    assert lowest(np.zeros(0), 4).tolist() == []


@pytest.mark.parametrize("limit", [1, 7, 50, 5000])
def test_any_range_in_any_sequence(limit: int) -> None:
    made = leading(limit, [])
    ranges = [(0, 0), (0, 10), (0, 11), (0, 700), (0, 703), (0, 698), (0, 2000), (5, 9), (5, 1200), (40, 40), (0, 1)]
    for begin, end in ranges:
        assert made.over(begin, end).tolist() == expected(begin, end, limit), (begin, end)


def test_what_is_behind_is_not_looked_at_again() -> None:
    looked: list[tuple[int, int]] = []
    made = leading(20, looked)
    before = made.over(100, 1000)
    kept = before.tolist()
    for end in (1000, 1004, 1005):
        made.over(100, end)
    assert looked == [(100, 1000), (1000, 1000), (1000, 1004), (1004, 1005)]
    assert before.tolist() == kept, "what was told stands"
