"""The exact rule: what is accepted, what is resampled, and what a person is told about it."""

from collections.abc import Sequence
from itertools import pairwise
from math import sqrt
from typing import Any

import numpy as np
import pytest
import torch

from specviz.core.events import Settings
from specviz.core.rule import RULES
from specviz.decoder.drafters import model
from specviz.decoder.tensors import accept
from specviz.decoder.tensors.accept import Decide, Outcome, decide_exact, residual
from specviz.decoder.tensors.sampling import HEAD, RoundRandom, inverse_cdf, max_shifted, to_probs
from specviz.maths import rules
from specviz.maths.formulas import expected_tokens
from tests.builders import known
from tests.decoder.models import Shelf, everywhere, one_hot
from tests.decoder.one_round_sampler import Behind, Known, first_p_value, p_value, repeated
from tests.decoder.run_helpers import Played, greedy, opened, play, setting

P, Q = [0.1, 0.2, 0.3, 0.4], [0.4, 0.3, 0.2, 0.1]


def test_every_rule_of_the_registry_has_a_torch_form() -> None:
    assert list(accept.DECIDE) == list(RULES)


def scripted_run(
    shelf: Shelf, p: list[float], q: list[float], settings: Settings, *, n: int = 60, seed: int = 0
) -> Played:
    target, draft = shelf.scripted(everywhere(p, n + 8)), shelf.scripted(everywhere(q, n + 8))
    return play(opened(target, draft, max_new_tokens=n), "w0", settings, seed=seed)


def random_case(generator: np.random.Generator) -> dict[str, Any]:
    """Distributions with zeros and ties, and sometimes p = q."""
    k, vocab = int(generator.integers(0, 5)), int(generator.integers(2, 12))
    sharpness = generator.choice([0.3, 1.0, 4.0])

    def distributions(rows: int) -> torch.Tensor:
        weights = np.round(generator.random((rows, vocab)) ** sharpness, 1)
        weights[:, 0] += 0.1
        return torch.tensor(weights / weights.sum(-1, keepdims=True), dtype=torch.float32)

    p, q = distributions(k + 1), distributions(k)
    if k and generator.random() < 0.2:
        q = p[:-1].clone()
    drafted = [drawn(row, float(u)) for row, u in zip(q, generator.random(k), strict=True)]
    return {"p": p, "q": q, "drafted": drafted, "u": generator.random(k).tolist(), "last_u": float(generator.random())}


def drawn(weights: torch.Tensor, u: float) -> int:
    return int(inverse_cdf(weights, torch.tensor([u], dtype=torch.float64)))


def slots(tests: Sequence[float], last_u: float) -> torch.Tensor:
    """The uniforms of a round, those of the draft aside."""
    us = torch.zeros(2 * len(tests) + 1, dtype=torch.float64)
    us[2::2], us[0] = torch.tensor(tests, dtype=torch.float64), last_u
    return us


def decided(decide: Decide, case: dict[str, Any]) -> Outcome:
    drafted = torch.tensor(case["drafted"], dtype=torch.long)
    return decide(case["p"], case["q"] if len(drafted) else None, drafted, slots(case["u"], case["last_u"]))


def test_decide_equals_the_reference_in_thousands_of_cases() -> None:
    generator = np.random.default_rng(1)
    origins = set()
    fell_back = 0
    for _ in range(3_000):
        case = random_case(generator)
        ours = decided(decide_exact, case)
        theirs = rules.decide_exact(case["p"].numpy(), case["q"].numpy(), case["drafted"], case["u"], case["last_u"])
        n = int(ours.n_accepted)
        assert (n, int(ours.last_id)) == (theirs.n_accepted, theirs.last_id)
        assert ([] if ours.accept_probs is None else ours.accept_probs.tolist()) == [*theirs.accept_probs]
        assert (set(ours.slots), len(ours.slots)) == ({0}, len(case["drafted"]) + 1)
        assert ours.drawn_weights.min() > 0
        if theirs.residual is not None:
            weights, mass, empty = residual(case["p"][n], case["q"][n])
            of_one = weights if empty else weights / mass
            np.testing.assert_allclose(of_one.numpy(), theirs.residual, rtol=0, atol=1e-15)
            assert ours.residual is not None and ours.fell_back is not None
            assert (float(ours.residual), bool(ours.fell_back)) == (float(of_one[ours.last_id]), bool(empty))
            assert bool(empty) == theirs.fell_back
            fell_back += theirs.fell_back
        origins.add(theirs.last_origin)
    assert origins == {"resampled", "bonus", "plain"}
    weights, mass, empty = residual(torch.tensor([P, P]), torch.tensor([P, Q]))
    assert empty.tolist() == [[True], [False]]
    assert weights[0].tolist() == pytest.approx(P)
    assert (weights / mass)[1].tolist() == pytest.approx([0, 0, 0.25, 0.75], abs=1e-7)


def test_decide_falls_back_to_p_where_p_never_exceeds_q() -> None:
    p = torch.tensor([[0.5, 0.5], [0.5, 0.5]])
    q = torch.tensor([[0.5, 0.5000001]])
    decision = decide_exact(p, q, torch.tensor([1]), slots([0.9999999999], 0.7))
    assert [int(decision.n_accepted), decision.fell_back, int(decision.last_id), decision.residual] == [0, True, 1, 0.5]


def test_c02_the_emitted_tokens_are_distributed_as_p() -> None:
    outcomes = repeated(Known(P, Q, 3), 3, range(10_000))
    for place in range(3):
        ids = [o.emitted[place] for o in outcomes if len(o.emitted) > place]
        assert len(ids) > 2_000
        assert p_value(ids, torch.tensor(P)) > 1e-4
    tested = [i < o.n_accepted for o in outcomes for i in range(min(3, o.n_accepted + 1))]
    assert abs(np.mean(tested) - 0.6) < 3 * sqrt(0.6 * 0.4 / len(tested))


def test_c03_what_is_tested_is_what_was_sampled(shelf: Shelf) -> None:
    run = scripted_run(shelf, [0.3, 0.4, 0.2, 0.1], Q, setting(1, top_k=2))
    seen = {}
    for token in (drafted for round_ in run.rounds for drafted in round_.drafted):
        assert token.raw is not None
        assert token.overlap == pytest.approx(6 / 7, abs=1e-6)
        assert [c.id for c in token.q_top] == [0, 1]
        seen[token.id] = (token.q, token.accept_prob, token.raw.q)
    assert seen[0] == pytest.approx((4 / 7, 0.75, 0.4), abs=1e-6)
    assert seen[1] == pytest.approx((3 / 7, 1.0, 0.3), abs=1e-6)
    assert set(run.ids) == {0, 1}
    place = Known([3 / 7, 4 / 7, 0, 0], [4 / 7, 3 / 7, 0, 0], 1)
    outcomes = repeated(place, 1, range(5_000))
    assert first_p_value(place, outcomes) > 1e-4
    alpha = np.mean([o.n_accepted for o in outcomes])
    assert abs(alpha - 6 / 7) < 3 * sqrt(6 / 49 / len(outcomes))


def test_c04_the_residual_is_what_is_left_of_p() -> None:
    p, q = torch.tensor([[0.5, 0.3, 0.2]] * 2), torch.tensor([[0.2, 0.5, 0.3]])
    weights, mass, _ = residual(p[0], q[0])
    assert (weights / mass).tolist() == [1.0, 0.0, 0.0]
    for last_u in (0.0, 0.3, 0.999999):
        decision = decide_exact(p, q, torch.tensor([1]), slots([0.99], last_u))
        assert [int(decision.n_accepted), int(decision.last_id), decision.residual] == [0, 0, 1.0]


def test_c05_alpha_of_tested_positions_fits_the_formula() -> None:
    outcomes = repeated(Known([0.8, 0.2], [1.0, 0.0], 4), 4, range(5_000))
    accepted = np.array([o.n_accepted for o in outcomes])
    tested = np.minimum(accepted + 1, 4)
    alpha = accepted.sum() / tested.sum()
    assert abs(alpha - 0.8) < 3 * sqrt(0.16 / tested.sum())
    assert accepted.sum() / (4 * len(outcomes)) == pytest.approx(0.59, abs=0.02)
    standard_error = (accepted + 1).std() / sqrt(len(outcomes))
    assert abs((accepted + 1).mean() - expected_tokens(0.8, 4)) < 3 * standard_error
    assert expected_tokens(0.8, 4) == pytest.approx(3.3616)


def test_c05_a_scripted_run_shows_the_same_numbers(shelf: Shelf) -> None:
    run = scripted_run(shelf, [0.8, 0.2], [1.0, 0.0], setting(4), n=360)
    for token in (drafted for round_ in run.rounds for drafted in round_.drafted):
        assert (token.accept_prob, token.overlap) == pytest.approx((0.8, 0.8), abs=1e-6)
    rates = run.stats.whole()
    assert rates.alpha_tested == pytest.approx(0.8, abs=3 * 0.4 / sqrt(rates.tested))
    assert rates.formula_at_overlap == pytest.approx(np.mean([expected_tokens(0.8, r.k) for r in run.rounds]), abs=1e-4)
    assert rates.agreement_z is not None
    assert abs(rates.agreement_z) < 3.3


def test_c08_greedy_compares_one_hot_distributions(shelf: Shelf) -> None:
    run = scripted_run(shelf, [0.45, 0.5, 0.05], [0.4, 0.35, 0.25], setting(1, 0.0), n=20)
    for round_ in run.rounds[:-1]:
        (token,) = round_.drafted
        assert (token.id, token.p, token.q, token.accept_prob, token.verdict) == (0, 0.0, 1.0, 0.0, "rejected")
        assert token.raw is not None
        assert (token.raw.p, token.raw.q) == pytest.approx((0.45, 0.4), abs=1e-5)
    assert run.ids == [1] * 20
    assert run.stats.whole().alpha_tested == 0.0


def test_c09_equal_distributions_accept_everything(shelf: Shelf) -> None:
    run = scripted_run(shelf, [0.25] * 4, [0.25] * 4, setting(3), n=200)
    assert {(round_.n_accepted, len(round_.emitted)) for round_ in run.rounds} == {(3, 4)}
    assert len(set(run.ids)) == 4
    assert run.stats.whole().alpha_tested == 1.0


@pytest.mark.parametrize("cut", [{"top_k": 2}, {"top_p": 0.01}], ids=str)
def test_c20_disjoint_supports_reject_everything(shelf: Shelf, cut: dict[str, Any]) -> None:
    p, q = [0.45, 0.4, 0.1, 0.05], [0.05, 0.1, 0.35, 0.5]
    run = scripted_run(shelf, p, q, setting(3, **cut), n=40)
    assert set(run.ids) == ({0, 1} if "top_k" in cut else {0})
    for round_ in (round_ for round_ in run.rounds if round_.k):
        assert (round_.n_accepted, round_.tested) == (0, 1)
        for token in round_.drafted:
            assert (token.p, token.overlap, token.match, token.accept_prob) == (0, 0, 0, 0)
            assert known(token.q) > 0
            assert [c.id for c in token.residual_top] == [c.id for c in token.p_top]
            assert [c.prob for c in token.residual_top] == pytest.approx([c.prob for c in token.p_top], abs=1e-7)
        assert round_.emitted[0].residual == pytest.approx(round_.emitted[0].p, abs=1e-7)
    assert run.stats.whole().alpha_tested == 0.0
    if "top_k" in cut:
        place = Known([9 / 17, 8 / 17, 0, 0], [0, 0, 7 / 17, 10 / 17], 3)
        assert first_p_value(place, repeated(place, 3, range(3_000))) > 1e-4


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_c21_small_temperatures_end_in_greedy(shelf: Shelf, dtype: str) -> None:
    pair = opened(shelf.random(1), max_new_tokens=50, dtype=dtype)
    assert pair.pair.target.dtype == getattr(torch, dtype)
    texts = {t: play(pair, "w3 w5", setting(4, t)).ids for t in (0.1, 1e-2, 1e-4, 1e-6, 1e-8, 0.0)}
    assert texts[1e-6] == texts[1e-8] == texts[0.0]
    if dtype == "float32":
        assert texts[0.0] == greedy(shelf.random(1), [3, 5], 50)


def test_a_draft_temperature_of_its_own_keeps_the_text_exact(shelf: Shelf) -> None:
    shape: dict[str, Any] = {"seed": 32, "spread": 0.3, "vocab": 16}
    pair = opened(shelf.random(**shape), shelf.noisy(noise=0.3, **shape)).pair
    for draft_temperature in (0.0, 0.4, 2.0):
        settings = setting(2, 1.0, draft_temperature=draft_temperature)
        place = Behind(pair.target, pair.draft, [3, 5, 8], settings)
        assert first_p_value(place, repeated(place, 2, range(3_000))) > 1e-4


@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_c23_a_model_as_its_own_draft_accepts_everything(shelf: Shelf, temperature: float) -> None:
    run = play(opened(shelf.random(1), max_new_tokens=40), "w3 w5", setting(4, temperature))
    assert [len(round_.emitted) for round_ in run.rounds] == [5] * 8
    rates = run.stats.whole()
    assert (rates.alpha_tested, rates.tokens_per_round) == (1.0, 5.0)
    assert rates.formula_at_tested == 5.0


def test_c24_tokens_behind_a_bonus_are_drafted_as_well_as_any(shelf: Shelf) -> None:
    shape: dict[str, Any] = {"seed": 1, "context": 512}
    folders = shelf.random(**shape), shelf.noisy(noise=0.02, **shape)
    pair = opened(*folders, max_new_tokens=400, inspect=False)
    alphas = {}
    behind: dict[str, list[int]] = {"bonus": [0, 0], "resampled": [0, 0]}
    for k in (1, 4):
        accepted = tested = 0
        for seed in range(3):
            rounds = play(pair, "w3 w5", setting(k), seed=seed).rounds
            accepted += sum(r.n_accepted for r in rounds)
            tested += sum(r.tested for r in rounds)
            for before, round_ in pairwise(rounds):
                count = behind[before.emitted[-1].origin]
                count[0] += round_.n_accepted
                count[1] += round_.tested
        alphas[k] = accepted / tested
    assert 0.8 < alphas[1] < 0.97
    assert abs(alphas[1] - alphas[4]) < 0.05
    rates = [accepted / tested for accepted, tested in behind.values()]
    assert abs(rates[0] - rates[1]) < 0.08


def draw_wrongly(monkeypatch: pytest.MonkeyPatch, u: float, wrong: int) -> None:
    """Let the uniform ``u`` draw the id ``wrong``."""
    for module in (model, accept):
        real = vars(module)["inverse_cdf"]

        def drawn(weights: torch.Tensor, by: torch.Tensor, real: Any = real) -> torch.Tensor:
            return torch.tensor([wrong]) if by == u else real(weights, by)

        monkeypatch.setattr(module, "inverse_cdf", drawn)


@pytest.mark.parametrize(("rule", "slot"), [("exact", 1), ("exact", 3), ("exact", 0), ("equality", 4), ("equality", 0)])
def test_c22_an_impossible_token_is_drawn_again_and_counted(
    shelf: Shelf, monkeypatch: pytest.MonkeyPatch, rule: str, slot: int
) -> None:
    p = [0.0, 0.5, 0.3, 0.2]
    folder = shelf.scripted(everywhere(p, 32))
    pair = opened(folder, max_new_tokens=9)
    settings = setting(2, top_k=3, rule=rule)
    usual = play(pair, "w1", settings)
    uniforms = RoundRandom(0, 1, 2)
    draw_wrongly(monkeypatch, uniforms.values[slot], wrong=0)
    run = play(pair, "w1", settings)
    assert 0 not in run.ids
    assert run.rounds[0].redraws == 1
    assert {round_.redraws for round_ in [*run.rounds[1:], *usual.rounds]} == {0}
    first, spare = run.rounds[0], next(uniforms.extra(slot))
    recorded = {1: first.drafted[0].draft_u, 3: first.drafted[1].draft_u, 4: first.drafted[1].u, 0: first.last_u}
    others = {0: uniforms.values[0], 1: uniforms.values[1], 3: uniforms.values[3], 4: uniforms.values[4]}
    if rule == "equality" and first.n_accepted < 2:
        del recorded[0]
    assert recorded == {at: spare if at == slot else others[at] for at in recorded}
    if rule == "exact":
        assert run.decisions()[1:] == usual.decisions()[1:]


def test_c22_a_slot_has_its_own_spare_uniforms_and_not_for_ever() -> None:
    uniforms, others = RoundRandom(0, 1, 2), RoundRandom(0, 1, 2)
    for slot in (1, 0, 1):
        uniforms.redraw(slot)
    streams = [others.extra(0), others.extra(1)]
    assert uniforms.values[0] == next(streams[0])
    assert uniforms.values[1] == [next(streams[1]) for _ in range(2)][-1]
    assert uniforms.redraws == 3
    firsts = {next(others.extra(slot)) for slot in range(65)}
    assert len(firsts) == 65, "two redraws in one round never draw the same uniform"
    with pytest.raises(RuntimeError, match="100 times"):
        for _ in range(100):
            uniforms.redraw(1)


def test_c22_nothing_impossible_comes_of_a_hundred_thousand_draws() -> None:
    generator = torch.Generator().manual_seed(0)
    probs = torch.zeros(1_000).scatter_(0, torch.randperm(1_000, generator=generator)[:10], 0.1)
    uniforms = torch.rand(100_000, generator=generator, dtype=torch.float64)
    possible = set(probs.nonzero().flatten().tolist())
    assert {drawn(probs, u) for u in (0.0, 1 - 2**-53)} < possible
    assert set(inverse_cdf(probs, uniforms).tolist()) == possible


def test_inverse_cdf_is_exact_in_the_tail() -> None:
    probs = torch.full((150_000,), 1e-9)
    probs[0] = 1.0
    assert drawn(probs, 1 - 2**-53) == 149_999
    assert drawn(probs, 0.0) == 0
    assert drawn(torch.tensor([0.0, 0.5, 0.0, 0.5, 0.0]), 0.5) == 3
    assert drawn(torch.tensor([0.0, 0.5, 0.0, 0.5, 0.0]), 0.0) == 1


def test_process_cuts_in_the_written_order() -> None:
    logits = max_shifted(torch.tensor([0.5, 0.25, 0.15, 0.1]).log())[0]
    assert to_probs(logits, 1.0, None, None).tolist() == pytest.approx([0.5, 0.25, 0.15, 0.1])
    assert to_probs(logits, 0.5, None, None).tolist() == pytest.approx(
        [0.25 / 0.345, 0.0625 / 0.345, 0.0225 / 0.345, 0.01 / 0.345]
    )
    assert to_probs(logits, 1.0, 2, None).tolist() == pytest.approx([2 / 3, 1 / 3, 0, 0])
    assert to_probs(logits, 1.0, None, 0.5).tolist() == pytest.approx([1, 0, 0, 0])
    assert to_probs(logits, 1.0, None, 0.51).tolist() == pytest.approx([2 / 3, 1 / 3, 0, 0])
    assert to_probs(logits, 1.0, 2, 0.6).tolist() == pytest.approx([1, 0, 0, 0]), "top-p counts what top-k left"
    assert to_probs(logits, 0.5, None, 0.7).tolist() == pytest.approx([1, 0, 0, 0]), "top-p counts after temperature"
    assert to_probs(logits, 1.0, 9, 1.0).tolist() == pytest.approx([0.5, 0.25, 0.15, 0.1])


def test_process_keeps_ties_at_a_cut_and_takes_the_lowest_id_when_greedy() -> None:
    logits = max_shifted(torch.tensor([0.2, 0.3, 0.3, 0.2]).log())[0]
    assert to_probs(logits, 1.0, 1, None).tolist() == pytest.approx([0, 0.5, 0.5, 0])
    assert to_probs(logits, 1.0, 3, None).tolist() == pytest.approx([0.2, 0.3, 0.3, 0.2])
    assert to_probs(logits, 1.0, None, 0.1).tolist() == pytest.approx([0, 0.5, 0.5, 0])
    assert to_probs(logits, 0.0, None, None).tolist() == [0, 1, 0, 0]


def test_process_takes_half_precision_logits_to_float32() -> None:
    probs = to_probs(max_shifted(torch.randn(3, 50_000).bfloat16())[0], 0.7, None, 0.9)
    assert probs.dtype == torch.float32
    assert probs.sum(-1).tolist() == pytest.approx([1, 1, 1], abs=1e-5)


@pytest.mark.parametrize(("spread", "parts"), [(6.0, "head"), (1.0, "part"), (0.05, "all")])
def test_top_p_of_the_largest_is_top_p_of_all(monkeypatch: pytest.MonkeyPatch, spread: float, parts: str) -> None:
    sizes = [0]
    real = torch.Tensor.sort

    def sort(self: torch.Tensor, *args: Any, **kwargs: Any) -> Any:
        sizes.append(self.shape[-1])
        return real(self, *args, **kwargs)

    monkeypatch.setattr(torch.Tensor, "sort", sort)
    logits, _ = max_shifted(torch.randn(3, 4 * HEAD, generator=torch.Generator().manual_seed(1)) * spread)
    probs = to_probs(logits, 1.0, None, None)
    cut = to_probs(logits, 1.0, None, 0.8)
    assert {"head": 0, "part": HEAD, "all": 4 * HEAD - 1}[parts] <= max(sizes) <= 4 * HEAD * (parts != "head")
    assert parts != "part" or max(sizes) < 4 * HEAD
    for row, left in zip(probs.double(), cut, strict=True):
        order = row.argsort(descending=True)
        kept = order[: int((row[order].cumsum(0) < 0.8).sum()) + 1]
        assert set(left.nonzero().flatten().tolist()) == set(kept.tolist())
        assert left[kept].tolist() == pytest.approx((row[kept] / row[kept].sum()).tolist(), abs=1e-7)


def test_a_one_hot_target_behind_a_flat_draft(shelf: Shelf) -> None:
    target, draft = shelf.scripted(one_hot([1, 2, 3] * 12, 4)), shelf.scripted(everywhere([0.25] * 4, 36))
    run = play(opened(target, draft, max_new_tokens=30), "w0", setting(3))
    assert run.ids == [1, 2, 3] * 10
