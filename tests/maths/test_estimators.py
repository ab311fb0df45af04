"""Intervals against another library and against their own definition."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats as scipy_stats

from specviz.maths.estimators import (
    StandardError,
    agreement,
    batch_means_error,
    block_starts,
    contradicts,
    interval,
    wilson,
)


@given(st.integers(1, 2000).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_wilson_is_scipys(counts: tuple[int, int]) -> None:
    reference = scipy_stats.binomtest(*counts).proportion_ci(0.95, method="wilson")
    assert wilson(*counts) == pytest.approx((reference.low, reference.high), abs=1e-12)


def test_wilson_at_the_edges() -> None:
    assert wilson(0, 0) is None
    none, every = wilson(0, 5), wilson(5, 5)
    assert none is not None and every is not None
    assert none[0] == 0.0 and every[1] == 1.0
    assert none[1] == pytest.approx(1 - every[0])


@given(st.integers(1, 3000))
def test_blocks_are_consecutive_and_of_equal_length(rounds: int) -> None:
    starts = block_starts(rounds).tolist()
    assert len(starts) == math.isqrt(rounds)
    assert starts[0] == 0
    sizes = {b - a for a, b in zip(starts, [*starts[1:], rounds], strict=True)}
    assert min(sizes) >= 1 and max(sizes) - min(sizes) <= 1


def test_batch_means_with_equal_weights_are_the_sample_variance_of_the_block_means() -> None:
    values = np.random.default_rng(1).random(100)
    blocks = values.reshape(10, 10).mean(axis=1)
    error = batch_means_error(values, np.ones(100, dtype=np.int64))
    assert error is not None and error.dof == 9
    assert error.se == pytest.approx(blocks.std(ddof=1) / math.sqrt(10))


def test_batch_means_by_hand() -> None:
    """16 rounds in four blocks: means .5 (4 values), 1 (2), none, 0 (2); overall .5."""
    sums = np.array([0.5, 0.5, 0.5, 0.5, 1, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0], dtype=float)
    weights = np.array([1, 1, 1, 1, 1, 0, 1, 0, 0, 0, 0, 0, 0, 2, 0, 0])
    variance = 3 / 2 * (2 * 0.25 + 2 * 0.25) / 8
    error = batch_means_error(sums, weights)
    assert error is not None and error.dof == 2
    assert error.se == pytest.approx(math.sqrt(variance / 3))


def test_batch_means_need_sixteen_rounds_and_two_blocks() -> None:
    ones = np.ones(16, dtype=np.int64)
    assert batch_means_error(np.ones(15), ones[:15]) is None
    assert batch_means_error(np.ones(16), ones) == (0.0, 3)
    assert batch_means_error(np.zeros(16), 0 * ones) is None
    one_block = np.where(np.arange(16) < 4, 1, 0)
    assert batch_means_error(one_block * 0.5, one_block) is None


def test_batch_means_cover_a_mean_that_drifts_in_runs() -> None:
    """Where neighbours resemble each other the interval covers about as often as it says, a naive one does not."""
    rng = np.random.default_rng(2)
    runs, rounds, covered, naive_covered = 300, 400, 0, 0
    for _ in range(runs):
        noise = rng.normal(0, 0.1, rounds)
        drift = np.zeros(rounds)
        for i in range(1, rounds):
            drift[i] = 0.7 * drift[i - 1] + noise[i]
        values = 0.5 + drift
        error = batch_means_error(values, np.ones(rounds, dtype=np.int64))
        assert error is not None
        covered += abs(values.mean() - 0.5) < error.half_width
        naive_covered += abs(values.mean() - 0.5) < 1.96 * values.std() / math.sqrt(rounds)
    assert covered / runs > 0.85 > 0.75 > naive_covered / runs


def test_few_blocks_widen_the_interval_by_students_t() -> None:
    """t of 3 degrees of freedom is 3.182, of 9 it is 2.262, of very many 1.960."""
    assert [round(StandardError(1.0, dof).half_width, 3) for dof in (1, 3, 9, 10**6)] == [12.706, 3.182, 2.262, 1.96]


def test_an_interval_of_four_blocks_covers_as_often_as_it_says() -> None:
    rng = np.random.default_rng(3)
    ones = np.ones(16, dtype=np.int64)
    errors = [(values.mean(), batch_means_error(values, ones)) for values in rng.normal(0, 1, (4000, 16))]
    covered = sum(abs(mean) < error.half_width for mean, error in errors if error)
    assert 0.94 < covered / 4000 < 0.96
    assert sum(abs(mean) < 1.96 * error.se for mean, error in errors if error) / 4000 < 0.88


def test_interval_is_clipped() -> None:
    error = StandardError(0.1, 3)
    assert interval(0.5, error) == pytest.approx((0.1818, 0.8182), abs=1e-4)
    assert interval(0.95, error) == pytest.approx((0.6318, 1.0), abs=1e-4)
    assert interval(0.05, error) == pytest.approx((0.0, 0.3682), abs=1e-4)
    assert interval(None, error) is interval(0.5, None) is None


def test_agreement_has_a_guard() -> None:
    assert agreement(3, 2.0, 0.25) == 2.0
    assert agreement(3, 3.0, 0.000999) is None
    assert agreement(0, 0.0, 0.0) is None


def test_certain_chances_are_contradicted_by_any_other_outcome() -> None:
    assert not contradicts(76, 76.0, 0.0)
    assert contradicts(76, 0.0, 0.0)
    assert contradicts(75, 76.0, 0.0)
    assert not contradicts(0, 1e-9, 1e-9)
    assert not contradicts(8, 4.0, 1.0), "z is 4, not beyond"
    assert contradicts(81, 40.0, 100.0)
