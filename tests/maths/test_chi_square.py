"""Chi-square and total variation, against scipy's own test and by hand."""

import numpy as np
import pytest
from scipy import stats as scipy_stats

from specviz.maths.chi_square import chi_square, total_variation


def test_against_scipy_where_no_id_is_rare() -> None:
    counts, probs = [12, 25, 28, 35], [0.1, 0.2, 0.3, 0.4]
    fit = chi_square(counts, probs)
    assert fit is not None
    reference = scipy_stats.chisquare(counts, np.array(probs) * 100)
    assert fit.statistic == pytest.approx(reference.statistic)
    assert fit.p_value == pytest.approx(reference.pvalue)
    assert fit.dof == 3
    assert fit.total_variation == pytest.approx((0.02 + 0.05 + 0.02 + 0.05) / 2)


def test_rare_ids_share_a_bin() -> None:
    probs = [0.48, 0.48, 0.01, 0.01, 0.01, 0.01]
    fit = chi_square([90, 106, 3, 1, 0, 0], probs)  # 200 draws: the four rare ids are expected 8 times together
    assert fit is not None
    assert fit.dof == 2
    assert fit.statistic == pytest.approx(36 / 96 + 100 / 96 + 16 / 8)


def test_a_bin_still_too_small_takes_the_least_of_the_others() -> None:
    fit = chi_square([30, 68, 2], [0.3, 0.69, 0.01])
    assert fit is not None
    assert fit.dof == 1, "the id expected once joins the one expected 30 times"
    assert fit.statistic == pytest.approx(1 / 31 + 1 / 69)


def test_the_impossible_needs_no_distribution() -> None:
    fit = chi_square([5, 0, 1], [0.5, 0.5, 0.0])
    assert fit is not None
    assert (fit.statistic, fit.p_value) == (None, 0.0)


def test_edges() -> None:
    assert chi_square([0, 0], [0.5, 0.5]) is None
    alone = chi_square([7], [1.0])
    assert alone is not None
    assert (alone.dof, alone.p_value, alone.total_variation) == (0, None, 0.0)
    few = chi_square([1, 1], [0.5, 0.5])
    assert few is not None
    assert (few.dof, few.p_value) == (0, None), "two draws say nothing"
    assert total_variation([1, 0], [0, 1]) == 1.0


def test_p_values_are_uniform_and_the_noise_is_what_chance_makes() -> None:
    random = np.random.default_rng(3)
    probs = np.array([0.5, 0.3, 0.15, 0.05])
    fits = [chi_square(random.multinomial(2000, probs), probs) for _ in range(600)]
    values = [fit.p_value for fit in fits if fit]
    assert scipy_stats.kstest(values, "uniform").pvalue > 1e-3
    distances = [fit.total_variation for fit in fits if fit]
    assert fits[0] is not None
    assert np.mean(distances) == pytest.approx(fits[0].noise, rel=0.05)


@pytest.mark.parametrize(
    ("draws", "probs", "exact"),
    [
        (1, [0.5, 0.5], 0.5),
        (2, [0.5, 0.5], 0.25),
        (1, [0.001] * 1000, 0.999),
        (3, [1.0, 0.0], 0.0),
        (2, [0.75, 0.25], 0.28125),
    ],
)
def test_the_noise_is_exact_and_at_most_1(draws: int, probs: list[float], exact: float) -> None:
    """Of two draws from (3/4, 1/4), the first id has share 0, 1/2, 1 with chances 1/16, 6/16, 9/16: 9/32 on average."""
    counts = [draws, *[0] * (len(probs) - 1)]
    fit = chi_square(counts, probs)
    assert fit is not None
    assert fit.noise == pytest.approx(exact, abs=1e-9)
