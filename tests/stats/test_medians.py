"""Medians of a range that moves, against the median of what is in it."""

from statistics import median

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from specviz.stats.medians import FAR, MovingMedians

VALUES = np.random.default_rng(3).integers(0, 40, 1000).astype(float)


def by_parity(first: int, last: int) -> dict[int, NDArray[np.float64]]:
    numbers = VALUES[first - 1 : max(last, first - 1)]
    return {parity: numbers[numbers % 2 == parity] for parity in (0, 1)}


def expected(first: int, last: int) -> dict[int, float]:
    return {parity: median(values.tolist()) for parity, values in by_parity(first, last).items() if len(values)}


def test_by_hand() -> None:
    moving = MovingMedians(lambda first, last: {"a": np.array([4.0, 1.0, 3.0, 10.0])[first - 1 : last]})
    assert [moving.over(1, last).get("a") for last in (0, 1, 2, 3, 4, 3, 2)] == [None, 4.0, 2.5, 3.0, 3.5, 3.0, 2.5]
    assert moving.over(3, 4) == {"a": 6.5}
    assert moving.over(5, 4) == {}


@given(st.lists(st.tuples(st.sampled_from((1, 2, 500)), st.integers(0, 1000)), min_size=1, max_size=8))
def test_any_walk_through_the_ranges(walk: list[tuple[int, int]]) -> None:
    moving = MovingMedians(by_parity)
    for first, last in walk:
        last = max(first - 1, last)
        assert moving.over(first, last) == expected(first, last)


def test_a_range_that_goes_on_asks_for_what_is_new_alone() -> None:
    asked: list[tuple[int, int]] = []

    def told(first: int, last: int) -> dict[int, NDArray[np.float64]]:
        asked.append((first, last))
        return by_parity(first, last)

    moving = MovingMedians(told)
    moving.over(1, 900)
    for last in range(901, 950):
        asked.clear()
        assert moving.over(1, last) == expected(1, last)
        assert all(first >= last for first, _ in asked)
    asked.clear()
    moving.over(1, 949 - FAR - 1)
    assert asked == [(1, 949 - FAR - 1)]
