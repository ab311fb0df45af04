"""The exact rule on scripted vectors: its identities to the last digits, its frequencies by chi-square."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.typing import ArrayLike, NDArray
from scipy import stats as scipy_stats

from specviz.maths import rules

P = [0.1, 0.2, 0.3, 0.4]
Q = [0.4, 0.3, 0.2, 0.1]
Probs = NDArray[np.float64]


@st.composite
def pairs(draw: st.DrawFn) -> tuple[Probs, Probs]:
    size = draw(st.integers(2, 8))
    weights = hnp.arrays(np.float64, size, elements=st.sampled_from([0.0, 1e-12, 0.05, 0.3, 1.0, 2.5]))
    p, q = (draw(weights.filter(lambda w: w.sum() > 0)) for _ in range(2))
    return p / p.sum(), q / q.sum()


def play(p: ArrayLike, q: ArrayLike, k: int, rounds: int, seed: int) -> list[tuple[rules.Decision, list[int]]]:
    """Rounds with the same p and q at every place: the decision and the emitted ids of each."""
    uniforms = np.random.default_rng(seed).random((rounds, 2 * k + 1))
    target, draft = np.tile(p, (k + 1, 1)), np.tile(q, (k, 1))
    played = []
    for u in uniforms:
        drafted = [rules.inverse_cdf(q, x) for x in u[:k]]
        decision = rules.decide_exact(target, draft, drafted, u[k : 2 * k], u[-1])
        played.append((decision, [*drafted[: decision.n_accepted], decision.last_id]))
    return played


def chi_square_p(ids: list[int], expected: ArrayLike) -> float:
    """p-value of the ids' counts; an id whose chance is 0 must not occur at all."""
    chances = np.asarray(expected, dtype=float)
    counts = np.bincount(ids, minlength=len(chances))
    assert not counts[chances == 0].any()
    kept = chances > 0
    if kept.sum() == 1:
        return 1.0
    return float(scipy_stats.chisquare(counts[kept], chances[kept] / chances[kept].sum() * counts.sum()).pvalue)


# -- the pieces


def test_values_of_a_small_pair() -> None:
    assert rules.overlap(P, Q) == pytest.approx(0.6)
    assert rules.match(P, Q) == pytest.approx(0.2)
    assert [rules.accept_prob(P, Q, i) for i in range(4)] == pytest.approx([0.25, 2 / 3, 1, 1])
    left, fell_back = rules.residual(P, Q)
    assert left == pytest.approx([0, 0, 0.25, 0.75])
    assert not fell_back


def test_residual_is_no_softmax() -> None:
    left, fell_back = rules.residual([0.5, 0.3, 0.2], [0.2, 0.5, 0.3])
    assert left.tolist() == [1.0, 0.0, 0.0]
    assert not fell_back
    for last_u in (0.0, 0.5, 0.999999):
        decision = rules.decide_exact([[0.5, 0.3, 0.2], [1.0, 0.0, 0.0]], [[0.2, 0.5, 0.3]], [1], [0.61], last_u)
        assert (decision.n_accepted, decision.last_id, decision.last_origin) == (0, 0, "resampled")


def test_residual_of_equal_distributions_is_p_itself() -> None:
    left, fell_back = rules.residual(P, P)
    assert left.tolist() == P
    assert fell_back
    left[0] = 9.0
    assert P[0] == 0.1, "a copy"
    # p a rounding below q everywhere, and a u that still rejects
    low = np.array([0.5, 0.5])
    high = np.nextafter(low, 1.0)
    decision = rules.decide_exact([low, low], [high], [0], [math.nextafter(1.0, 0.0)], 0.7)
    assert (decision.n_accepted, decision.fell_back, decision.last_id) == (0, True, 1)


def test_accept_prob_where_a_side_is_zero() -> None:
    assert rules.accept_prob([0.0, 1.0], [0.5, 0.5], 0) == 0.0
    assert rules.accept_prob([0.5, 0.5], [0.0, 1.0], 0) == 1.0
    assert rules.accept_prob([0.0, 1.0], [0.0, 1.0], 0) == 0.0
    assert rules.accept_prob([1.0], [5e-324], 0) == 1.0


def test_sums_above_one_by_rounding_stay_chances() -> None:
    rounded_up = np.full(7, np.float32(1 / 7) * np.float32(1.000001), dtype=np.float32)
    assert rounded_up.astype(float).sum() > 1.0
    assert rules.overlap(rounded_up, rounded_up) == 1.0
    assert rules.match([1.0000001], [1.0]) == 1.0


def test_inverse_cdf_never_hits_probability_zero() -> None:
    probs = [0.0, 0.25, 0.0, 0.75, 0.0, 0.0]
    assert [rules.inverse_cdf(probs, u) for u in (0.0, 0.2499999, 0.25, 0.999)] == [1, 1, 3, 3]
    assert rules.inverse_cdf(probs, math.nextafter(1.0, 0.0)) == 3
    assert rules.inverse_cdf(probs, 1.0) == 3, "clamped to the last id that can be drawn"
    assert rules.inverse_cdf([2.0, 6.0], 0.3) == 1, "u times the CDF's last value"
    with pytest.raises(ValueError, match="no id has a probability"):
        rules.inverse_cdf([0.0, 0.0], 0.5)
    for u in (-0.1, 1.1, math.nan):
        with pytest.raises(ValueError, match="u must lie in"):
            rules.inverse_cdf(probs, u)


def test_inverse_cdf_keeps_the_tail_that_float32_loses() -> None:
    size = 150_000
    probs = np.full(size, 0.5 / (size - 1), dtype=np.float32)
    probs[0] = 0.5
    cdf = np.cumsum(probs.astype(np.float64))
    for u in (0.6, 0.9, 0.99999):
        drawn = rules.inverse_cdf(probs, u)
        assert cdf[drawn - 1] <= u * cdf[-1] < cdf[drawn]
    single = np.cumsum(probs, dtype=np.float32)
    assert int(np.searchsorted(single, np.float32(0.9) * single[-1], side="right")) != rules.inverse_cdf(probs, 0.9)


@given(pairs(), st.floats(0, 1, exclude_max=True))
def test_inverse_cdf_inverts(pair: tuple[Probs, Probs], u: float) -> None:
    probs = pair[0]
    drawn = rules.inverse_cdf(probs, u)
    assert probs[drawn] > 0
    assert probs[:drawn].sum() <= u + 1e-12
    assert probs[: drawn + 1].sum() >= u - 1e-12


@given(pairs())
def test_the_emitted_token_is_distributed_as_the_target(pair: tuple[Probs, Probs]) -> None:
    """q(x) accept(x) summed over drafts, plus what the residual adds, is p: losslessness in closed form."""
    p, q = pair
    accept = np.array([rules.accept_prob(p, q, x) for x in range(len(p))])
    left, fell_back = rules.residual(p, q)
    rejected = float((q * (1 - accept)).sum())
    assert q * accept + rejected * left == pytest.approx(p, abs=1e-12)
    assert float((q * accept).sum()) == pytest.approx(rules.overlap(p, q), abs=1e-12)
    assert rules.overlap(p, q) == pytest.approx(1 - np.abs(p - q).sum() / 2, abs=1e-12)
    assert rules.match(p, q) <= rules.overlap(p, q) + 1e-12
    assert fell_back == (not (p > q).any())
    assert left.sum() == pytest.approx(1.0)


# -- a round


def test_accepts_below_and_not_at_the_chance() -> None:
    target, draft = [[0.5, 0.5], [0.25, 0.75]], [[0.8, 0.2]]
    chance = rules.accept_prob(target[0], draft[0], 0)
    assert chance == 0.625
    just_below = rules.decide_exact(target, draft, [0], [math.nextafter(chance, 0)], 0.3)
    assert (just_below.n_accepted, just_below.last_id, just_below.last_origin) == (1, 1, "bonus")
    assert just_below.residual is None
    at = rules.decide_exact(target, draft, [0], [chance], 0.3)
    assert (at.n_accepted, at.last_id, at.last_origin) == (0, 1, "resampled")
    assert at.residual is not None and at.residual.tolist() == [0.0, 1.0]


def test_nothing_is_tested_behind_a_rejection_and_every_chance_is_told() -> None:
    target = np.tile(P, (4, 1))
    decision = rules.decide_exact(target, np.tile(Q, (3, 1)), [2, 0, 3], [0.9, 0.9, 0.0], 0.1)
    assert decision.n_accepted == 1
    assert decision.accept_probs == pytest.approx((1.0, 0.25, 1.0))
    assert decision.last_id == 2


def test_a_round_without_a_draft_is_plain() -> None:
    decision = rules.decide_exact([P], np.empty((0, 4)), [], [], 0.35)
    assert (decision.n_accepted, decision.accept_probs, decision.last_id, decision.last_origin) == (0, (), 2, "plain")
    assert rules.decide_exact([P], [], [], [], 0.35).last_id == 2


@pytest.mark.parametrize(
    ("p", "q", "u"), [([P], [Q], [0.5]), ([P, P], [Q], []), ([P, P], [Q[:3]], [0.5]), ([P, P], [Q, Q], [0.5])]
)
def test_shapes_that_do_not_fit_are_refused(p: ArrayLike, q: ArrayLike, u: ArrayLike) -> None:
    with pytest.raises(ValueError, match="1 drafted tokens need p of 2 positions"):
        rules.decide_exact(p, q, [1], u, 0.5)


@pytest.mark.parametrize("k", [1, 2, 3])
def test_c02_lossless_frequencies(k: int) -> None:
    played = play(P, Q, k, rounds=8000, seed=k)
    for place in range(k + 1):
        ids = [emitted[place] for _, emitted in played if len(emitted) > place]
        assert chi_square_p(ids, P) > 1e-4
    accepted = sum(decision.n_accepted for decision, _ in played)
    tested = sum(min(decision.n_accepted + 1, k) for decision, _ in played)
    assert abs(accepted / tested - 0.6) < 3 * math.sqrt(0.24 / tested)


def test_c03_processed_draft_probabilities() -> None:
    p, q = [3 / 7, 4 / 7, 0, 0], [4 / 7, 3 / 7, 0, 0]
    assert rules.accept_prob(p, q, 0) == pytest.approx(0.75)
    assert rules.overlap(p, q) == pytest.approx(6 / 7)
    played = play(p, q, 1, rounds=10_000, seed=3)
    assert chi_square_p([emitted[0] for _, emitted in played], p) > 1e-4
    accepted = sum(decision.n_accepted for decision, _ in played)
    assert abs(accepted / len(played) - 6 / 7) < 3 * math.sqrt(6 / 49 / len(played))


def test_c20_disjoint_support_rejects_at_once() -> None:
    p, q = [0.7, 0.3, 0, 0], [0, 0, 0.4, 0.6]
    played = play(p, q, 3, rounds=5000, seed=20)
    assert all(decision.n_accepted == 0 and decision.accept_probs == (0, 0, 0) for decision, _ in played)
    assert all(decision.residual is not None and decision.residual.tolist() == p for decision, _ in played)
    assert chi_square_p([emitted[0] for _, emitted in played], p) > 1e-4
    assert rules.overlap(p, q) == 0.0


def test_c47_point_mass_draft() -> None:
    p, q = [0.5, 0.3, 0.2], [0, 1, 0]
    left, _ = rules.residual(p, q)
    assert left == pytest.approx([5 / 7, 0, 2 / 7])
    assert rules.overlap(p, q) == rules.match(p, q) == pytest.approx(0.3)
    played = play(p, q, 1, rounds=10_000, seed=47)
    assert chi_square_p([emitted[0] for _, emitted in played], p) > 1e-4
    accepted = sum(decision.n_accepted for decision, _ in played)
    assert abs(accepted / len(played) - 0.3) < 3 * math.sqrt(0.21 / len(played))


# -- the equality rule


def play_equality(p: ArrayLike, q: ArrayLike, k: int, rounds: int, seed: int) -> list[tuple[rules.Decision, list[int]]]:
    uniforms = np.random.default_rng(seed).random((rounds, 2 * k + 1))
    target = np.tile(p, (k + 1, 1))
    played = []
    for u in uniforms:
        drafted = [rules.inverse_cdf(q, x) for x in u[:k]]
        decision = rules.decide_equality(target, drafted, u[k : 2 * k], u[-1])
        played.append((decision, [*drafted[: decision.n_accepted], decision.last_id]))
    return played


def test_equality_keeps_the_targets_own_samples() -> None:
    target = np.tile(P, (4, 1))  # cumulative: .1 .3 .6 1
    decision = rules.decide_equality(target, [1, 2, 3], [0.15, 0.65, 0.05], 0.95)
    assert decision.target_samples == (1, 3, 0)
    assert (decision.n_accepted, decision.last_id, decision.last_origin) == (1, 3, "resampled")
    assert (decision.accept_probs, decision.residual, decision.fell_back) == ((), None, False)
    kept = rules.decide_equality(target, [1, 3, 0], [0.15, 0.65, 0.05], 0.95)
    assert (kept.n_accepted, kept.last_id, kept.last_origin) == (3, 3, "bonus")
    plain = rules.decide_equality([P], [], [], 0.35)
    assert (plain.n_accepted, plain.last_id, plain.last_origin, plain.target_samples) == (0, 2, "plain", ())


@pytest.mark.parametrize(("p", "u"), [([P], [0.5]), ([P, P], [])])
def test_equality_refuses_shapes_that_do_not_fit(p: ArrayLike, u: ArrayLike) -> None:
    with pytest.raises(ValueError, match="1 drafted tokens need p of 2 positions, and 1 uniforms"):
        rules.decide_equality(p, [1], u, 0.5)


@pytest.mark.parametrize(("p", "q", "rate"), [([0.25] * 4, [0.25] * 4, 0.25), (P, Q, 0.2)])
def test_equality_accepts_at_the_rate_of_match_and_keeps_the_text_exact(
    p: list[float], q: list[float], rate: float
) -> None:
    assert rules.match(p, q) == pytest.approx(rate)
    played = play_equality(p, q, 2, rounds=12_000, seed=5)
    for place in range(3):
        assert chi_square_p([emitted[place] for _, emitted in played if len(emitted) > place], p) > 1e-4
    accepted = sum(decision.n_accepted for decision, _ in played)
    tested = sum(min(decision.n_accepted + 1, 2) for decision, _ in played)
    assert abs(accepted / tested - rate) < 3 * math.sqrt(rate * (1 - rate) / tested)


def test_equality_is_the_exact_rule_where_the_target_is_greedy() -> None:
    target, draft = [[0, 1, 0], [0, 1, 0]], [[0.4, 0.6, 0]]
    for drafted in ([0], [1]):
        exact = rules.decide_exact(target, draft, drafted, [0.3], 0.5)
        equal = rules.decide_equality(target, drafted, [0.3], 0.5)
        assert (exact.n_accepted, exact.last_id, exact.last_origin) == (
            equal.n_accepted,
            equal.last_id,
            equal.last_origin,
        )


def test_c08_and_c09_one_hot_and_equal_distributions() -> None:
    greedy = rules.decide_exact([[0, 1, 0], [0, 1, 0]], [[1, 0, 0]], [0], [0.0], 0.5)
    assert (greedy.n_accepted, greedy.last_id) == (0, 1), "u = 0 does not accept a chance of 0"
    uniform = play([0.25] * 4, [0.25] * 4, 3, rounds=500, seed=9)
    assert all(decision.n_accepted == 3 and len(emitted) == 4 for decision, emitted in uniform)
