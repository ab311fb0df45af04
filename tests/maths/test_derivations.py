"""Derivations: their checks hold for every possible input, and can fail."""

import json
import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from specviz.maths.derivations import Check, derivations


@settings(deadline=None, max_examples=60)
@given(st.floats(0, 1), st.integers(0, 40), st.floats(0.05, 1e6) | st.just(math.inf))
def test_every_check_holds(alpha: float, k: int, c: float) -> None:
    for derived in derivations(alpha, k, c):
        assert derived.checks
        for check in derived.checks:
            assert check.holds, check


def test_what_is_derived() -> None:
    titles = [derived.title for derived in derivations(0.8, 4, 10.0)]
    assert len(titles) == len(set(titles)) == 5
    told = [derived.as_json() for derived in derivations(0.8, 4, 10.0)]
    assert json.loads(json.dumps(told, allow_nan=False)) == told
    tokens = derivations(0.8, 4, 10.0)[1]
    assert tokens.checks[2].left == pytest.approx(3.3616)
    assert tokens.checks[2].right == pytest.approx((1 - 0.8**5) / 0.2)


def test_a_check_tells_two_numbers_apart() -> None:
    assert Check("x", 1.0, 1.0 + 1e-12).holds
    assert not Check("x", 1.0, 1.0 + 1e-6).holds
    assert "FAILS" in str(Check("x", 1.0, 2.0))


def test_a_wrong_formula_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("specviz.maths.formulas.tokens_distribution", lambda alpha, k: [0.5, 0.6])
    assert not all(check.holds for derived in derivations(0.8, 4, 10.0) for check in derived.checks)


@pytest.mark.parametrize("c", [10.0, math.inf])
def test_the_speedup_is_checked_on_a_way_of_its_own(monkeypatch: pytest.MonkeyPatch, c: float) -> None:
    monkeypatch.setattr("specviz.maths.formulas.expected_tokens", lambda alpha, k: 2.0)
    assert not derivations(0.8, 4, c)[2].checks[0].holds


def test_impossible_numbers_are_refused() -> None:
    with pytest.raises(ValueError, match="alpha"):
        derivations(1.5, 4, 10.0)
