"""The formulas against printed values, against their own definitions, and at the edges."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specviz.maths import formulas

alphas = st.floats(0.0, 1.0)
inner_alphas = st.floats(0.01, 0.99)
ks = st.integers(0, 32)
costs = st.floats(0.05, 1e4)


def power_sum(alpha: float, k: int) -> float:
    return math.fsum(alpha**i for i in range(k + 1))


@pytest.mark.parametrize(
    ("alpha", "k", "printed"),
    [
        (0.5, 4, "1.94"),
        (0.6, 4, "2.31"),
        (0.7, 4, "2.77"),
        (0.8, 4, "3.36"),
        (0.9, 4, "4.10"),
        (0.5, 8, "1.996"),
        (0.6, 8, "2.47"),
        (0.7, 8, "3.20"),
        (0.8, 8, "4.33"),
        (0.9, 8, "6.13"),
    ],
)
def test_expected_tokens_table(alpha: float, k: int, printed: str) -> None:
    digits = len(printed.partition(".")[2])
    assert f"{formulas.expected_tokens(alpha, k):.{digits}f}" == printed


@pytest.mark.parametrize(
    ("alpha", "c", "k", "printed"),
    [
        (0.8, 10, 4, "2.40"),
        (0.8, 10, 8, "2.40"),
        (0.9, 10, 8, "3.40"),
        (0.6, 10, 4, "1.65"),
        (0.8, 5, 4, "1.87"),
        (0.7, 8, 4, "1.85"),
        (0.7, 8, 8, "1.60"),
        (0.8, 10, 16, "1.88"),
        (0.5, 10 / 9, 4, "0.42"),
    ],
)
def test_speedup_table(alpha: float, c: float, k: int, printed: str) -> None:
    assert f"{formulas.speedup(alpha, k, c):.2f}" == printed


@pytest.mark.parametrize(
    ("alpha", "k", "operations", "speed"),
    [
        (0.6, 2, "1.53", "1.96"),
        (0.7, 3, "1.58", "2.53"),
        (0.8, 2, "1.23", "2.44"),
        (0.8, 5, "1.63", "3.69"),
        (0.9, 2, "1.11", "2.71"),
        (0.9, 10, "1.60", "6.86"),
    ],
)
def test_table_1_of_the_paper(alpha: float, k: int, operations: str, speed: str) -> None:
    assert f"{formulas.operations_factor(alpha, k):.2f}" == operations
    assert f"{formulas.speedup(alpha, k, math.inf):.2f}" == speed
    assert f"{formulas.expected_tokens(alpha, k):.2f}" == speed


def test_best_k_and_break_even_reference_values() -> None:
    k, speed = formulas.best_k(0.8, 10)
    assert (k, f"{speed:.2f}") == (6, "2.47")
    assert f"{formulas.break_even_alpha(4, 8):.3f}" == "0.336"


def test_limits_of_alpha() -> None:
    assert formulas.expected_tokens(1, 4) == 5.0
    assert formulas.expected_tokens(0, 4) == 1.0
    assert formulas.expected_tokens(0.3, 0) == 1.0
    assert formulas.expected_tokens(math.nextafter(1, 0), 32) == pytest.approx(33, abs=1e-12)
    assert formulas.expected_tokens(5e-324, 3) == 1.0
    assert formulas.tokens_distribution(1, 2) == [0.0, 0.0, 1.0]
    assert formulas.tokens_distribution(0, 2) == [1.0, 0.0, 0.0]
    assert formulas.tokens_distribution(0.4, 0) == [1.0]
    assert formulas.operations_factor(0, 4) == 5.0
    assert formulas.operations_factor(1, 4) == 1.0


def test_limits_of_c() -> None:
    assert formulas.speedup(0.8, 4, math.inf) == formulas.expected_tokens(0.8, 4)
    assert formulas.speedup(0.8, 4, 1e-300) < 1e-290
    assert formulas.speedup(0.3, 0, 0.2) == 1.0
    assert formulas.ceiling(1, math.inf) == math.inf
    assert formulas.ceiling(1, 7) == 7.0
    assert formulas.ceiling(0.9, math.inf) == pytest.approx(10)
    assert formulas.ceiling(0.9, 0.5) == 1.0
    assert formulas.ceiling(0.0, 7) == 1.0
    assert formulas.break_even_alpha(4, math.inf) == 0.0
    assert formulas.break_even_alpha(4, 1.0) == 1.0
    assert formulas.break_even_alpha(4, 0.999) is None
    assert formulas.break_even_alpha(0, 8) is None


def test_best_k_at_the_edges() -> None:
    assert formulas.best_k(0.8, 0.9) == (0, 1.0)
    assert formulas.best_k(1.0, 1.0) == (0, 1.0), "every k ties at 1: the smallest"
    assert formulas.best_k(0.5, 2.0) == (0, 1.0), "k = 0 and k = 1 tie"
    assert formulas.best_k(0.0, math.inf) == (0, 1.0)
    assert formulas.best_k(1.0, 1.5)[0] == 32
    assert formulas.best_k(1.0, math.inf) == (32, 33.0)
    assert formulas.best_k(0.3, math.inf)[0] == 32, "a free draft always pays, below the last digit too"
    assert formulas.best_k(0.99, 100, limit=5)[0] == 5
    assert formulas.best_k(0.8, 10, limit=0) == (0, 1.0)


@pytest.mark.parametrize("alpha", [-0.1, 1.0001, math.nan, math.inf])
def test_impossible_alpha(alpha: float) -> None:
    for call in (
        lambda: formulas.expected_tokens(alpha, 4),
        lambda: formulas.tokens_distribution(alpha, 4),
        lambda: formulas.speedup(alpha, 4, 2.0),
        lambda: formulas.best_k(alpha, 2.0),
        lambda: formulas.ceiling(alpha, 2.0),
        lambda: formulas.operations_factor(alpha, 4),
    ):
        with pytest.raises(ValueError, match="alpha must lie between 0 and 1"):
            call()


@pytest.mark.parametrize("k", [-1, 1.5, "4", None])
def test_impossible_k(k: int) -> None:
    for call in (
        lambda: formulas.expected_tokens(0.5, k),
        lambda: formulas.tokens_distribution(0.5, k),
        lambda: formulas.speedup(0.5, k, 2.0),
        lambda: formulas.break_even_alpha(k, 2.0),
        lambda: formulas.operations_factor(0.5, k),
        lambda: formulas.best_k(0.5, 2.0, limit=k),
    ):
        with pytest.raises(ValueError, match=r"(k|limit) must be"):
            call()


@pytest.mark.parametrize("c", [0.0, -1.0, math.nan, -math.inf])
def test_impossible_c(c: float) -> None:
    for call in (
        lambda: formulas.speedup(0.5, 4, c),
        lambda: formulas.best_k(0.5, c),
        lambda: formulas.break_even_alpha(4, c),
        lambda: formulas.ceiling(0.5, c),
    ):
        with pytest.raises(ValueError, match="c must be above 0"):
            call()


@given(alphas, ks)
def test_expected_tokens_is_the_sum_of_powers(alpha: float, k: int) -> None:
    assert formulas.expected_tokens(alpha, k) == pytest.approx(power_sum(alpha, k), rel=1e-13)


@given(alphas, ks)
def test_distribution_sums_to_one_and_has_the_mean_of_the_formula(alpha: float, k: int) -> None:
    chances = formulas.tokens_distribution(alpha, k)
    assert len(chances) == k + 1
    assert min(chances) >= 0.0
    assert math.fsum(chances) == pytest.approx(1.0, abs=1e-12)
    mean = math.fsum(n * chance for n, chance in enumerate(chances, start=1))
    assert mean == pytest.approx(formulas.expected_tokens(alpha, k), rel=1e-12)


@given(inner_alphas, st.integers(0, 16))
def test_expected_tokens_increases(alpha: float, k: int) -> None:
    now = formulas.expected_tokens(alpha, k)
    assert formulas.expected_tokens(alpha + 0.01, k) > now or k == 0
    assert formulas.expected_tokens(alpha, k + 1) >= now
    assert alpha ** (k + 1) < 1e-15 or formulas.expected_tokens(alpha, k + 1) > now


@given(alphas, ks, costs)
def test_no_speedup_above_the_ceiling(alpha: float, k: int, c: float) -> None:
    assert formulas.speedup(alpha, k, c) <= formulas.ceiling(alpha, c) * (1 + 1e-12)


@given(alphas, costs)
def test_best_k_is_the_smallest_of_the_best(alpha: float, c: float) -> None:
    k, speed = formulas.best_k(alpha, c)
    speeds = [power_sum(alpha, i) * c / (c + i) for i in range(33)]
    assert speed == pytest.approx(max(speeds), rel=1e-9)
    assert all(other < speed for other in speeds[:k])


@given(st.integers(1, 32), st.floats(1.0, 1e6))
def test_break_even_solves_its_equation(k: int, c: float) -> None:
    alpha = formulas.break_even_alpha(k, c)
    assert alpha is not None
    assert abs(power_sum(alpha, k) - (1 + k / c)) < 1e-12
    assert formulas.speedup(alpha, k, c) == pytest.approx(1.0, abs=1e-12)
    if alpha < 0.999:
        assert formulas.speedup(alpha + 1e-3, k, c) > 1.0
    if alpha > 0.001:
        assert formulas.speedup(alpha - 1e-3, k, c) < 1.0


@given(st.integers(1, 32), st.floats(0.01, 0.999))
def test_break_even_gives_back_the_alpha_it_came_from(k: int, alpha: float) -> None:
    c = k / (power_sum(alpha, k) - 1)
    assert formulas.break_even_alpha(k, c) == pytest.approx(alpha, abs=1e-9)
