"""Speedups by the times a run measured: by hand, and beside the model where verification is flat."""

from dataclasses import replace
from typing import Any

import pytest

from specviz.core.events import Calibration, Round, Settings, Timing, VerifyTime
from specviz.maths import formulas
from specviz.stats.rates import Rates
from specviz.stats.run_stats import RunStats
from tests.rounds import accepting, fold, round_of

ALPHA_08 = [accepting(n, 4) for n, count in {0: 125, 1: 100, 2: 80, 3: 64, 4: 256}.items() for _ in range(count)]
"""Rounds that follow alpha .8 exactly."""


def timed(verdicts: str, draft_ms: float, verify_ms: float, decide_ms: float = 0.0, **changes: Any) -> Round:
    timing = Timing(draft_ms, verify_ms, decide_ms, 0.5, draft_ms + verify_ms + decide_ms + 0.5)
    return round_of(verdicts, timing=timing, **changes)


def calibration(target_ms: float, draft_ms: float | None, *verify_times: tuple[int, float]) -> Calibration:
    return Calibration(target_ms, draft_ms, 8, tuple(VerifyTime(ids, ms) for ids, ms in verify_times))


def run(rounds: list[Round], *calibrations: Calibration) -> RunStats:
    stats = RunStats()
    for event in calibrations:
        stats.add(event)
    for index, round_ in enumerate(rounds, start=1):
        stats.add(replace(round_, index=index))
    return stats


def test_flat_verification_gives_the_models_speedups() -> None:
    rates = run([timed(v, 4.0, 10.0) for v in ALPHA_08], calibration(10.0, 1.0, (16, 10.0))).segment_rates()
    cost = rates.at_measured_cost
    assert cost is not None
    assert cost.curve == pytest.approx([formulas.speedup(0.8, k, 10.0) for k in range(33)])
    assert cost.best_k == rates.best_k
    assert cost.best == pytest.approx(formulas.best_k(0.8, 10.0)[1])
    assert cost.curve[cost.k] == pytest.approx(rates.speedup_measured_cost) == pytest.approx(rates.speedup_model)
    assert cost.break_even_alpha == pytest.approx(rates.break_even_alpha)
    assert cost.sentence == ""
    low, high = rates.alpha_tested_ci or (0.0, 0.0)
    assert cost.low[0] == cost.high[0] == 1.0
    assert formulas.speedup(low, 6, 10.0) == pytest.approx(cost.low[6], abs=0.02)
    assert formulas.speedup(high, 6, 10.0) == pytest.approx(cost.high[6], abs=0.02)


def test_dear_verification_moves_the_best_k_and_is_said() -> None:
    """Verifying 5 ids takes 2.9 steps: the model's best K is 6 at 2.47, by measured cost it is below."""
    calibrated = calibration(10.0, 1.0, (2, 14.0), (4, 24.0), (8, 44.0), (16, 84.0))
    rates = run([timed(v, 4.0, 29.0) for v in ALPHA_08], calibrated).segment_rates()
    cost = rates.at_measured_cost
    assert cost is not None
    assert rates.best_k == 6
    assert cost.best_k == 1
    assert cost.curve[4] == pytest.approx(3.3616 * 10 / 33)
    assert cost.curve[1] == pytest.approx(1.8 * 10 / (1 + 14 * 29 / 29))
    assert cost.sentence == "Verifying 5 tokens costs 2.9 target steps; the model assumes 1."
    assert cost.best_interval[0] < cost.best < cost.best_interval[1]


def test_few_rounds_leave_the_calibrated_times() -> None:
    calibrated = calibration(10.0, 2.0, (2, 12.0), (8, 36.0))
    few = run([timed("aaaa", 40.0, 99.0, 1.0) for _ in range(4)], calibrated).segment_rates().at_measured_cost
    assert few is not None
    assert few.costs.draft_ms == 2.0
    assert few.costs.verify(5) == 24.0
    many = run([timed("aaaa", 40.0, 99.0, 1.0) for _ in range(9)], calibrated).segment_rates().at_measured_cost
    assert many is not None
    assert (many.costs.draft_ms, many.costs.verify(5), many.costs.decide_ms) == (10.0, 99.0, 1.0)
    assert many.costs.verify(8) == pytest.approx(36 * 99 / 24)


def test_a_drafter_that_costs_nothing_has_a_best_k_by_measured_cost() -> None:
    lookup = Settings(drafter="ngram")
    rounds = [timed(v, 0.2, 12.0, settings=lookup) for v in ("aaaa", "") * 20]
    rates = run(rounds, calibration(10.0, None, (2, 10.0), (16, 14.0))).segment_rates()
    assert rates.c is None
    assert rates.drafting_share == 0.5
    cost = rates.at_measured_cost
    assert cost is not None
    assert cost.curve[cost.k] == pytest.approx(3.0 * 10 / (0.5 * 12.2 + 0.5 * 10))


@pytest.mark.parametrize("rounds", [[], ["aaaa"]])
def test_nothing_is_invented_without_times_or_tests(rounds: list[str]) -> None:
    assert fold(rounds).segment_rates().at_measured_cost is None
    assert fold(rounds, calibration(10.0, None, (2, 12.0))).segment_rates().speedup_model is None
    plain = run([timed("", 0.0, 10.0)], calibration(10.0, 1.0, (2, 12.0)))
    assert plain.segment_rates().at_measured_cost is None


def test_a_measured_cost_above_tokens_per_round_is_not_printed() -> None:
    """A round of 6 ms cannot hold a target step of 10 ms: the times changed."""
    rates = run([timed("ruuu", 2.0, 4.0)] * 20, calibration(10.0, 1.0)).segment_rates()
    assert rates.tokens_per_round == 1.0
    assert rates.speedup_measured_cost is None
    assert rates.times_contradict
    assert not run([timed("ruuu", 2.0, 8.0)] * 20, calibration(10.0, 1.0)).segment_rates().times_contradict


def test_each_round_is_held_against_the_calibration_of_its_time() -> None:
    """Twice as slow from round 11 on, timed again there: measured cost stays."""
    first = calibration(10.0, 1.0, (2, 10.0))
    second = replace(calibration(20.0, 2.0, (2, 20.0)), from_round=11)
    rounds = [*[timed("aaaa", 4.0, 10.0)] * 10, *[timed("aaaa", 8.0, 20.0)] * 10]
    stats = run(rounds, first, second)
    assert stats.segment_rates().speedup_measured_cost == pytest.approx(5 * 10 / 14)
    assert stats.segment_rates(10).target_step_ms == 10.0
    assert stats.segment_rates().target_step_ms == 20.0
    cost = stats.segment_rates().at_measured_cost
    assert cost is not None
    assert (cost.costs.verify(5), cost.costs.draft_ms) == (20.0, 2.0)


def test_a_draft_step_of_another_drafter_does_not_count() -> None:
    timed_with = replace(calibration(10.0, 1.0, (2, 10.0)), drafter="layers")
    assert fold(["aaaa"] * 3, timed_with).segment_rates().c is None
    again = replace(calibration(10.0, 2.0, (2, 10.0)), drafter="model", from_round=2)
    assert run([round_of("aaaa")] * 3, timed_with, again).segment_rates().c == 5.0


def test_k_chosen_by_the_round_begins_no_segment() -> None:
    chosen = [round_of("a" * k, settings=Settings(k=k, k_auto=True)) for k in (4, 2, 7, 3)]
    rates = fold(chosen).segment_rates()
    assert rates.tokens_per_round_first == 1
    assert rates.drafts == {2: 1, 3: 1, 4: 1, 7: 1}
    assert rates.tokens_per_round == pytest.approx(5.0)
    fixed = fold([*chosen, round_of("aa", settings=Settings(k=2))]).segment_rates()
    assert (fixed.first, fixed.tokens_per_round_first) == (1, 5)


def test_rates_have_the_interval_of_the_best_k() -> None:
    rates: Rates = run(
        [timed(v, 4.0, 10.0) for v in ALPHA_08[::25]], calibration(10.0, 1.0, (16, 10.0))
    ).segment_rates()
    cost = rates.at_measured_cost
    assert cost is not None
    low, high = cost.best_k_interval
    assert low <= cost.best_k <= high
    assert low < high
