"""Speculation by measured cost: hand-computed rounds, and the paper's model as its special case."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specviz.core.options import MAX_K
from specviz.maths import formulas
from specviz.maths.step_costs import (
    StepCosts,
    best_k,
    break_even_alpha,
    ceiling,
    combined_verify_times,
    speedups,
    survival,
)

COSTS = StepCosts(10.0, 2.0, ((2, 12.0), (4, 20.0), (8, 40.0)), 1.0)
ALPHAS = st.floats(0.0, 1.0)


@pytest.mark.parametrize(
    ("m", "ms"), [(1, 10.0), (2, 12.0), (3, 16.0), (4, 20.0), (6, 30.0), (8, 40.0), (10, 50.0), (33, 165.0)]
)
def test_verify_time_between_and_above_the_known_block_sizes(m: int, ms: float) -> None:
    assert COSTS.verify(m) == pytest.approx(ms)


def test_verify_time_does_not_fall_above_the_largest_known_size() -> None:
    assert StepCosts(10.0, 2.0, ((2, 14.0), (4, 12.0))).verify(32) == 12.0


def test_round_time_is_draft_verify_and_decide() -> None:
    assert [COSTS.round_ms(k) for k in (0, 1, 3)] == [10.0, 2 + 12 + 1, 6 + 20 + 1]
    assert COSTS.verify_steps(4) == 2.0


def test_speedups_by_hand() -> None:
    values = speedups(survival([0.5, 0.8], 0.9), COSTS)
    assert values[:4] == pytest.approx([1.0, 1.5 * 10 / 15, 1.9 * 10 / 21, (1.9 + 0.36) * 10 / 27])
    assert len(values) == MAX_K + 1


def test_speedup_of_a_drafter_that_drafts_in_half_of_the_rounds() -> None:
    assert speedups([0.5], COSTS, 0.5)[1] == pytest.approx(1.25 * 10 / 12.5)


@given(ALPHAS, st.floats(0.2, 50.0))
def test_flat_verification_is_the_papers_model(alpha: float, c: float) -> None:
    costs = StepCosts(c, 1.0, ((2, c), (33, c)))
    values = speedups(survival([], alpha), costs)
    assert values == pytest.approx([formulas.speedup(alpha, k, c) for k in range(MAX_K + 1)])
    k = best_k(values)
    assert values[k] == pytest.approx(formulas.best_k(alpha, c)[1])
    expected, found = formulas.break_even_alpha(4, c), break_even_alpha(4, costs)
    assert (expected is None) == (found is None)
    assert found is None or found == pytest.approx(expected)


def test_break_even_pays_exactly_the_round() -> None:
    alpha = break_even_alpha(3, COSTS)
    assert alpha is not None
    assert formulas.expected_tokens(alpha, 3) == pytest.approx(2.7)
    assert break_even_alpha(0, COSTS) is None
    assert break_even_alpha(1, StepCosts(10.0, 2.0, ((2, 25.0),))) is None


@given(ALPHAS)
def test_no_draft_exceeds_the_ceiling(alpha: float) -> None:
    assert max(speedups(survival([], alpha), COSTS)) <= ceiling(COSTS) + 1e-12


def test_best_k_is_the_smallest_of_equals() -> None:
    assert best_k([1.0, 1.2, 1.2, 0.9]) == 1
    assert best_k([1.0, 0.9]) == 0


def test_measured_verify_times_replace_and_scale_the_calibrated_ones() -> None:
    calibrated = ((2, 12.0), (4, 16.0), (8, 30.0))
    assert combined_verify_times(10.0, calibrated, {}) == calibrated
    assert combined_verify_times(10.0, calibrated, {1: 99.0, 4: 24.0}) == ((2, 18.0), (4, 24.0), (8, 45.0))
    assert combined_verify_times(10.0, (), {5: 24.0}) == ((5, 24.0),)
    assert combined_verify_times(10.0, (), {1: 24.0}) == ()


def test_survival_ends_at_the_largest_k() -> None:
    chances = survival([0.5], 0.9)
    assert len(chances) == MAX_K
    assert math.isclose(chances[3], 0.5 * 0.9**3)
