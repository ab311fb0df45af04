"""Medians and top-n lists of a range that grows, against computing them from scratch."""

from statistics import median

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from specviz.stats.incremental import RESORT_ABOVE, IncrementalMedians, IncrementalTopN, lowest

VALUES = np.random.default_rng(4).integers(0, 30, 2000).astype(float)
VALUES[::17] = np.nan


def expected_top(begin: int, end: int, limit: int) -> list[int]:
    known = [index for index in range(begin, end) if VALUES[index] == VALUES[index]]
    return sorted(known, key=lambda index: (VALUES[index], index))[:limit]


def top_n(limit: int, read: list[tuple[int, int]]) -> IncrementalTopN:
    def values(begin: int, end: int) -> NDArray[np.float64]:
        read.append((begin, end))
        return VALUES[begin:end]

    return IncrementalTopN(values, limit)


def test_lowest_by_hand() -> None:
    assert lowest(np.array([2.0, np.nan, 1.0, 2.0, 1.0, 0.5]), 4).tolist() == [5, 2, 4, 0]
    assert lowest(np.array([np.nan, 3.0]), 4).tolist() == [1]
    assert lowest(np.zeros(0), 4).tolist() == []


@pytest.mark.parametrize("limit", [1, 7, 50, 5000])
def test_top_of_any_sequence_of_ranges(limit: int) -> None:
    made = top_n(limit, [])
    ranges = [(0, 0), (0, 10), (0, 11), (0, 700), (0, 703), (0, 698), (0, 2000), (5, 9), (5, 1200), (40, 40), (0, 1)]
    for begin, end in ranges:
        assert made.query(begin, end).tolist() == expected_top(begin, end, limit), (begin, end)


def test_top_of_a_range_that_grows_reads_only_what_is_new() -> None:
    read: list[tuple[int, int]] = []
    made = top_n(20, read)
    before = made.query(100, 1000)
    kept = before.tolist()
    for end in (1000, 1004, 1005):
        made.query(100, end)
    assert read == [(100, 1000), (1000, 1000), (1000, 1004), (1004, 1005)]
    assert before.tolist() == kept, "an earlier answer must not change"


PARITY_VALUES = np.random.default_rng(3).integers(0, 40, 1000).astype(float)


def by_parity(first: int, last: int) -> dict[int, NDArray[np.float64]]:
    numbers = PARITY_VALUES[first - 1 : max(last, first - 1)]
    return {parity: numbers[numbers % 2 == parity] for parity in (0, 1)}


def expected_medians(first: int, last: int) -> dict[int, float]:
    return {parity: median(values.tolist()) for parity, values in by_parity(first, last).items() if len(values)}


def test_medians_by_hand() -> None:
    moving = IncrementalMedians(lambda first, last: {"a": np.array([4.0, 1.0, 3.0, 10.0])[first - 1 : last]})
    assert [moving.query(1, last).get("a") for last in (0, 1, 2, 3, 4, 3, 2)] == [None, 4.0, 2.5, 3.0, 3.5, 3.0, 2.5]
    assert moving.query(3, 4) == {"a": 6.5}
    assert moving.query(5, 4) == {}


@given(st.lists(st.tuples(st.sampled_from((1, 2, 500)), st.integers(0, 1000)), min_size=1, max_size=8))
def test_medians_of_any_sequence_of_ranges(walk: list[tuple[int, int]]) -> None:
    moving = IncrementalMedians(by_parity)
    for first, last in walk:
        last = max(first - 1, last)
        assert moving.query(first, last) == expected_medians(first, last)


def test_medians_of_a_range_that_grows_read_only_what_is_new() -> None:
    requested: list[tuple[int, int]] = []

    def read(first: int, last: int) -> dict[int, NDArray[np.float64]]:
        requested.append((first, last))
        return by_parity(first, last)

    moving = IncrementalMedians(read)
    moving.query(1, 900)
    for last in range(901, 950):
        requested.clear()
        assert moving.query(1, last) == expected_medians(1, last)
        assert all(first >= last for first, _ in requested)
    requested.clear()
    moving.query(1, 949 - RESORT_ABOVE - 1)
    assert requested == [(1, 949 - RESORT_ABOVE - 1)]
