"""Simulated rounds: the promises of the defaults, closed forms by hand, and what must not depend on anything else."""

import math

import numpy as np
import pytest

from specviz.maths.formulas import expected_tokens, tokens_distribution
from specviz.maths.rule_variants import VARIANTS
from specviz.maths.rules import overlap
from specviz.maths.simulation import simulate
from specviz.maths.simulation_report import at_temperatures, simulated
from specviz.maths.toy_distributions import ToyPair, normalised, toy_pair

DEFAULT = toy_pair("zipf", "uniform", 100, 0.5)
BROKEN = ("first-free", "wrong-q", "residual-p")
P, Q = normalised([0.1, 0.2, 0.3, 0.4]), normalised([0.4, 0.3, 0.2, 0.1])


@pytest.mark.parametrize("seed", range(4))
def test_the_defaults_keep_what_is_promised(seed: int) -> None:
    run = simulated(DEFAULT, VARIANTS["exact"], k=4, rounds=10_000, seed=seed)
    out = run.outcome
    assert out.alpha_overlap is not None and out.alpha_distance is not None and out.alpha_tested is not None
    assert out.alpha_overlap == pytest.approx(out.alpha_distance, abs=1e-12)
    assert out.alpha_overlap == pytest.approx(overlap(DEFAULT.p, DEFAULT.q))
    error = math.sqrt(out.alpha_overlap * (1 - out.alpha_overlap) / out.tested)
    assert abs(out.alpha_tested - out.alpha_overlap) < 3 * error
    assert run.formula_off is not None and abs(run.formula_off) < 3
    assert out.formula == pytest.approx(expected_tokens(out.alpha_overlap, 4))


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("name", VARIANTS)
def test_the_distribution_is_kept_or_broken(name: str, seed: int) -> None:
    fit = simulated(DEFAULT, VARIANTS[name], k=4, rounds=10_000, seed=seed).fit
    assert fit.p_value is not None
    if VARIANTS[name].lossless:
        assert fit.p_value > 1e-3
    else:
        assert fit.p_value < 1e-6


@pytest.mark.parametrize("name", VARIANTS)
@pytest.mark.parametrize("varying", [False, True])
def test_closed_forms_meet_the_counts(name: str, varying: bool) -> None:
    pair = ToyPair(P, Q, 0.4)
    run = simulated(pair, VARIANTS[name], k=3, rounds=40_000, seed=1, varying=varying)
    out = run.outcome
    assert out.tokens_per_round_se is not None
    assert abs(out.tokens_per_round - out.mean_tokens) <= 4 * out.tokens_per_round_se + 1e-9
    assert out.emitted / out.tokens == pytest.approx(out.distribution, abs=0.01)
    assert out.z is None or abs(out.z) < 4
    assert run.exact_distance == pytest.approx(0.0, abs=1e-12) or not VARIANTS[name].lossless


def test_counts_add_up() -> None:
    out = simulate(DEFAULT, VARIANTS["exact"], k=4, rounds=5000, seed=3)
    assert out.lengths.sum() == 5000
    assert out.lengths[0] == 0
    assert out.tokens == (out.lengths * np.arange(6)).sum() == out.accepted + 5000
    assert out.tested == out.accepted + out.lengths[1:5].sum()
    spread = np.repeat(np.arange(6), out.lengths)
    assert out.tokens_per_round_se == pytest.approx(spread.std(ddof=1) / math.sqrt(5000))


def test_lengths_follow_the_distribution() -> None:
    out = simulate(DEFAULT, VARIANTS["exact"], k=4, rounds=50_000, seed=0)
    expected = np.array(tokens_distribution(overlap(DEFAULT.p, DEFAULT.q), 4)) * 50_000
    assert float(((out.lengths[1:] - expected) ** 2 / expected).sum()) < 18.5, "chi-square, 4 degrees, p = .001"


def test_first_free_by_hand() -> None:
    out = simulate(ToyPair(P, Q), VARIANTS["first-free"], k=2, rounds=1000, seed=0)
    assert out.mean_tokens == pytest.approx(1 + 1 + 0.6), "one token free, then one test at .6"
    assert out.distribution == pytest.approx((Q + P + 0.6 * P) / 2.6)
    assert out.tested == 1000


def test_varying_difficulty_puts_the_formula_above() -> None:
    run = simulated(DEFAULT, VARIANTS["exact"], k=4, rounds=10_000, varying=True)
    out = run.outcome
    assert run.formula_off is not None and run.formula_off > 4
    assert run.fit.p_value is not None and run.fit.p_value > 1e-3, "and the text is still p"
    hard = overlap(DEFAULT.p, DEFAULT.given)
    assert out.mean_tokens == pytest.approx((5 + expected_tokens(hard, 4)) / 2)


def test_the_seed_decides_and_the_chunks_do_not_lose_rounds() -> None:
    one, two, other = (simulate(DEFAULT, VARIANTS["exact"], k=2, rounds=500, seed=s) for s in (7, 7, 8))
    assert one.emitted.tolist() == two.emitted.tolist()
    assert one.emitted.tolist() != other.emitted.tolist()
    steps: list[int] = []
    small = simulate(DEFAULT, VARIANTS["exact"], k=2, rounds=500, seed=7, progress=steps.append, chunk=64)
    assert small.lengths.sum() == sum(steps) == 500
    assert max(steps) == 64


def test_edges() -> None:
    nothing = simulated(DEFAULT, VARIANTS["exact"], k=0, rounds=10)
    out = nothing.outcome
    assert (out.alpha_tested, out.alpha_overlap, out.alpha_distance, out.formula, out.z) == (None,) * 5
    assert (out.tokens_per_round, nothing.expected_lengths) == (1.0, [10.0])
    single = simulate(DEFAULT, VARIANTS["exact"], k=4, rounds=1)
    assert single.tokens_per_round_se is None
    apart = simulated(toy_pair("zipf", "disjoint", 10), VARIANTS["exact"], k=4, rounds=100)
    assert (apart.outcome.alpha_tested, apart.outcome.tokens_per_round, apart.outcome.z) == (0.0, 1.0, None)
    assert apart.formula_off is None
    same = simulate(toy_pair("zipf", "equal", 10), VARIANTS["exact"], k=4, rounds=100)
    assert (same.alpha_tested, same.tokens_per_round) == (1.0, 5.0)
    free = simulated(toy_pair("zipf", "disjoint", 10), VARIANTS["first-free"], k=1, rounds=100)
    assert free.fit.statistic is None and free.as_json()["chi_square"]["statistic"] is None


def test_a_draft_temperature_moves_acceptance_and_not_the_text() -> None:
    rows = {row.temperature: row.run for row in at_temperatures(DEFAULT, k=4, rounds=10_000)}
    alone = rows[1.0].outcome.alpha_overlap
    assert alone == pytest.approx(overlap(DEFAULT.p, DEFAULT.q))
    assert rows[0.25].outcome.alpha_overlap != pytest.approx(alone, abs=0.1)
    assert all(run.fit.p_value is not None and run.fit.p_value > 1e-3 for run in rows.values())
    assert all(run.exact_distance < 1e-12 for run in rows.values())


def test_other_draft_temperatures_take_the_rounds_asked_for_and_tell_of_them() -> None:
    told: list[int] = []
    rows = at_temperatures(DEFAULT, k=2, rounds=300, progress=told.append)
    assert [row.run.outcome.rounds for row in rows] == [300] * 6
    assert sum(told) == 1800


def test_nothing_to_test_has_no_p() -> None:
    run = simulated(toy_pair(np.array([1.0]), np.array([1.0])), VARIANTS["exact"], k=1, rounds=3)
    assert run.as_json()["chi_square"] == {"statistic": 0.0, "dof": 0, "p_value": None}
    assert "0 degrees of freedom" in run.chi_square_text and "nothing to test" in run.chi_square_text
