"""Every rule in closed form: which keep the distribution for all p and q, and which break it."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats as scipy_stats

from specviz.maths import rules
from specviz.maths.rule_variants import VARIANTS
from tests.maths.test_rules import Probs, pairs

P = np.array([0.1, 0.2, 0.3, 0.4])
Q = np.array([0.4, 0.3, 0.2, 0.1])


def emitted(name: str, p: Probs, q: Probs) -> Probs:
    rule = VARIANTS[name]
    return rule.accepted_mass(p, q) + rule.replaced_mass(p, q)


def test_the_rules_by_name() -> None:
    assert list(VARIANTS) == ["exact", "equality", "greedy", "typical", "first-free", "wrong-q", "residual-p"]
    assert [name for name, rule in VARIANTS.items() if rule.lossless] == ["exact", "equality"]
    assert [name for name, rule in VARIANTS.items() if rule.n_untested] == ["first-free"]


@settings(deadline=None)
@given(pairs())
def test_lossless_in_theory(pair: tuple[Probs, Probs]) -> None:
    p, q = pair
    for name in ("exact", "equality"):
        assert emitted(name, p, q) == pytest.approx(p, abs=1e-12)
    assert VARIANTS["exact"].accepted_mass(p, q).sum() == pytest.approx(rules.overlap(p, q), abs=1e-12)
    assert VARIANTS["equality"].accepted_mass(p, q).sum() == pytest.approx(rules.match(p, q), abs=1e-12)


@settings(deadline=None)
@given(pairs())
def test_every_rule_emits_exactly_one_token(pair: tuple[Probs, Probs]) -> None:
    p, q = pair
    for name, rule in VARIANTS.items():
        assert emitted(name, p, q).sum() == pytest.approx(1.0), name
        assert ((rule.accept_probs(p, q) >= 0) & (rule.accept_probs(p, q) <= 1)).all(), name
        assert rule.bonus(p).sum() == pytest.approx(1.0)


def test_what_the_others_emit_by_hand() -> None:
    assert emitted("greedy", P, Q).tolist() == [0, 0, 0, 1]
    # threshold min(.09, .3 exp(-1.28)) = .083: all four pass, so the draft's own distribution comes out
    assert emitted("typical", P, Q) == pytest.approx(Q)
    assert emitted("residual-p", P, Q) == pytest.approx(np.minimum(P, Q) + 0.4 * P)
    flatter = np.sqrt(Q) / np.sqrt(Q).sum()
    chances = np.minimum(1, P / flatter)
    left = np.maximum(0, P - flatter) / np.maximum(0, P - flatter).sum()
    wrong = Q * chances + (1 - (Q * chances).sum()) * left
    assert emitted("wrong-q", P, Q) == pytest.approx(wrong)
    assert np.abs(wrong - P).sum() / 2 > 0.03


def test_typical_drops_what_is_improbable() -> None:
    p, q = np.array([0.95, 0.05]), np.array([0.5, 0.5])
    assert VARIANTS["typical"].accept_probs(p, q).tolist() == [1.0, 0.0]
    assert emitted("typical", p, q) == pytest.approx([0.5 + 0.5 * 0.95, 0.5 * 0.05])


def test_tempered() -> None:
    assert rules.tempered([0.64, 0.04, 0.32], 2.0) == pytest.approx(np.array([0.8, 0.2, math.sqrt(0.32)]) / 1.5656854)
    assert rules.tempered(P, 1.0) == pytest.approx(P)
    assert rules.tempered([0.5, 0.0, 0.5], 0.25).tolist() == [0.5, 0.0, 0.5]
    assert rules.tempered([1e-300, 2e-300], 0.5) == pytest.approx([0.2, 0.8])


def test_draws_are_inverse_cdf_for_arrays() -> None:
    uniforms = np.random.default_rng(5).random(200)
    assert rules.draws(P, uniforms).tolist() == [rules.inverse_cdf(P, u) for u in uniforms]
    assert rules.draws([0.0, 1.0, 0.0], np.array([0.0, 0.999999])).tolist() == [1, 1]
    with pytest.raises(ValueError, match="no id has a probability"):
        rules.draws([0.0], uniforms)


@settings(deadline=None)
@given(pairs(), st.integers(0, 3), st.integers(0, 2**32))
def test_accepts_and_replaces_decide_a_round_as_the_exact_rule(pair: tuple[Probs, Probs], k: int, seed: int) -> None:
    """One round position by position with the vectorised rules, against the decision of the whole round."""
    p, q = pair
    uniforms = np.random.default_rng(seed).random((k, 2))
    last_u = float(np.random.default_rng(seed + 1).random())
    drafted = rules.draws(q, uniforms[:, 0]) if k else np.empty(0, dtype=np.int64)
    targets, tests = np.tile(p, (k + 1, 1)), uniforms[:, 1]
    decisions = {
        "exact": rules.decide_exact(targets, np.tile(q, (k, 1)), drafted, tests, last_u),
        "equality": rules.decide_equality(targets, drafted, tests, last_u),
    }
    for name, whole in decisions.items():
        rule, ids = VARIANTS[name], []
        for i in range(k):
            u = uniforms[i : i + 1, 1]
            if not rule.accepts(p, q, drafted[i : i + 1], u)[0]:
                ids.append(int(rule.replaces(p, q, u, np.array([last_u]))[0]))
                break
            ids.append(int(drafted[i]))
        else:
            ids.append(rules.inverse_cdf(rule.bonus(p), last_u))
        assert [*drafted[: whole.n_accepted].tolist(), whole.last_id] == ids, name


def test_equality_keeps_the_distribution_in_frequencies() -> None:
    uniforms = np.random.default_rng(11).random((8000, 3))
    target = np.tile(P, (2, 1))
    ids = []
    for u in uniforms:
        drafted = rules.inverse_cdf(Q, u[0])
        decision = rules.decide_equality(target, [drafted], [u[1]], u[2])
        ids += [*([drafted] * decision.n_accepted), decision.last_id]
    counts = np.bincount(ids, minlength=4)
    assert scipy_stats.chisquare(counts, P * len(ids)).pvalue > 1e-4
