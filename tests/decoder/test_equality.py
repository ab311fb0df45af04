"""The equality rule: every token is the target's own sample, and drafts are kept as long as they are the same."""

from collections import Counter
from math import sqrt
from typing import Any

import numpy as np
import pytest
import torch

from specviz.decoder.tensors.accept import decide_equality
from specviz.decoder.tensors.sampling import RoundRandom
from specviz.maths import rules
from specviz.trace.codec import encode
from specviz.trace.jsonl import load_line
from tests.decoder.models import Shelf, everywhere
from tests.decoder.one_round_sampler import Known, agreement_z, first_p_value, p_value, repeated
from tests.decoder.run_helpers import opened, play, setting
from tests.decoder.test_lossless import SETTINGS, tiny
from tests.decoder.test_rule import P, Q, decided, random_case


def test_decide_equality_equals_the_reference_in_thousands_of_cases() -> None:
    generator = np.random.default_rng(2)
    origins = set()
    for _ in range(2_000):
        case = random_case(generator)
        p, drafted, u, last_u = case["p"], case["drafted"], case["u"], case["last_u"]
        ours = decided(decide_equality, case)
        theirs = rules.decide_equality(p.numpy(), drafted, u, last_u)
        n = int(ours.n_accepted)
        assert (n, int(ours.last_id)) == (theirs.n_accepted, theirs.last_id)
        assert (ours.target_samples.tolist() if ours.target_samples is not None else []) == [*theirs.target_samples]
        assert (ours.accept_probs, ours.residual, ours.fell_back) == (None, None, None)
        assert ours.drawn_weights.min() > 0
        assert ours.slots[n] == (2 * (n + 1) if n < len(drafted) else 0)
        origins.add(theirs.last_origin)
    assert origins == {"resampled", "bonus", "plain"}


@pytest.mark.parametrize("settings", SETTINGS.values(), ids=SETTINGS.keys())
def test_the_text_is_the_targets_own(shelf: Shelf, settings: Any) -> None:
    place = tiny(shelf, settings)
    outcomes = repeated(place, 2, range(7_000), decide_equality)
    assert first_p_value(place, outcomes) > 1e-4
    (first, _), *_ = Counter(o.drafted[0] for o in outcomes if o.n_accepted).most_common(1)
    behind = [o for o in outcomes if o.n_accepted and o.drafted[0] == first]
    assert len(behind) >= 100
    assert p_value([o.emitted[1] for o in behind], place.block(behind[0].drafted)[0][1]) > 1e-4
    assert abs(agreement_z(place, outcomes, torch.mul)) < 3.3


def test_the_test_sees_the_exact_rules_rate_under_this_rule(shelf: Shelf) -> None:
    place = tiny(shelf, SETTINGS["temperature 1"])
    assert agreement_z(place, repeated(place, 2, range(4_000), decide_equality)) < -5


@pytest.mark.parametrize(("p", "q", "rate"), [([0.25] * 4, [0.25] * 4, 0.25), (P, Q, 0.2)])
def test_alpha_is_the_sum_of_p_q(p: list[float], q: list[float], rate: float) -> None:
    outcomes = repeated(Known(p, q, 4), 4, range(5_000), decide_equality)
    accepted = np.array([o.n_accepted for o in outcomes])
    tested = np.minimum(accepted + 1, 4).sum()
    assert abs(accepted.sum() / tested - rate) < 3 * sqrt(rate * (1 - rate) / tested)


def test_a_run_says_what_was_compared(shelf: Shelf) -> None:
    target, draft = shelf.scripted(everywhere(P, 260)), shelf.scripted(everywhere(Q, 260))
    run = play(opened(target, draft, max_new_tokens=240), "w0", setting(3, rule="equality"))
    for round_ in run.rounds:
        uniforms = RoundRandom(0, round_.index, round_.k)
        for i, token in enumerate(round_.drafted, 1):
            u = float(uniforms.values[2 * i])
            assert token.u == u
            assert token.target_sample == rules.inverse_cdf(np.array(P, np.float32), u)
            assert (token.accept_prob, token.residual_top) == (None, ())
            assert (token.match, token.overlap) == pytest.approx((0.2, 0.6), abs=1e-6)
        last = round_.emitted[-1]
        if last.origin == "resampled":
            rejected = round_.drafted[round_.n_accepted]
            assert (last.id, round_.last_u, last.residual) == (rejected.target_sample, rejected.u, None)
        else:
            assert round_.last_u == uniforms.values[0]
        assert load_line(str(encode(round_)).encode()).settings.rule == "equality"  # type: ignore[union-attr]
    rates = run.stats.whole()
    assert rates.alpha_overlap == pytest.approx(0.2, abs=1e-6)
    assert rates.alpha_tested == pytest.approx(0.2, abs=3 * 0.4 / sqrt(rates.tested))
    assert rates.agreement_z is not None and abs(rates.agreement_z) < 3.3


def test_a_change_of_rule_begins_a_segment_and_changes_no_greedy_token(shelf: Shelf) -> None:
    pair = opened(shelf.random(1), shelf.noisy(1, 0.05), max_new_tokens=30)
    rounds = iter(["exact", "equality"] * 30)
    run = play(pair, "w3 w5", lambda: setting(2, 0.0, rule=next(rounds)))
    assert run.ids == play(pair, "w3 w5", setting(0, 0.0)).ids
    assert len(run.stats.summary()["segments"]) == len(run.rounds)
