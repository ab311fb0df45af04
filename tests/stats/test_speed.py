"""Times and speedups, by hand."""

from dataclasses import replace

import pytest

from specviz.core.events import Calibration, Round, Timing
from specviz.maths import formulas
from specviz.stats.speed import speed_view
from specviz.trace.jsonl import read
from tests.recordings import SMALL, folded
from tests.rounds import BASE, TIMING, accepting, fold, round_of


def timed(verdicts: str, draft_ms: float, verify_ms: float = 10.0) -> Round:
    return round_of(verdicts, timing=replace(TIMING, draft_ms=draft_ms, verify_ms=verify_ms))


def test_times_by_hand() -> None:
    """Draft steps of 2, 1 and 4 ms; plain rounds have none."""
    stats = fold([timed("aaaa", 8, 30), timed("", 0, 9), timed("ar", 2, 14), timed("a", 4, 12), timed("aaaa", 8, 16)])
    view = speed_view(stats)
    assert view.draft_step_ms == 2.0  # of 2, 1, 4, 2
    assert view.verify_ms == 14.0
    assert (view.decide_ms, view.inspect_ms) == (1.0, 0.5)
    assert view.verify_times == ((1, 9.0), (2, 12.0), (3, 14.0), (5, 16.0))  # the first round's 30 left out
    assert dict(stats.verify_times()).get(5) == 16.0
    assert dict(stats.verify_times()).get(4) is None
    assert (view.target_step_ms, view.draft_step_calibrated_ms, view.c) == (None, None, None)
    assert (view.curve, view.model, view.best_k, view.best_speedup, view.measured_cost) == ((), None, None, None, None)
    assert not view.slower


def test_times_as_of_a_round_and_of_its_segment() -> None:
    hot = replace(BASE, temperature=1.5)
    stats = fold([timed("aa", 2), timed("aa", 6), replace(timed("aa", 20), settings=hot), timed("ar", 4)])
    steps = [speed_view(stats, last).draft_step_ms for last in (0, 1, 2, 3, 4)]
    assert steps == [None, 1.0, 2.0, 10.0, 2.0]
    assert stats.draft_time() == 2.0
    assert [speed_view(stats, last).k for last in (0, 1)] == [None, 4]


def test_the_curve_peaks_at_the_best_k() -> None:
    """alpha .8 at c = 10: 2.40 at K = 4 and 8, 1.88 at 16, the peak 2.47 at 6."""
    counts = {0: 125, 1: 100, 2: 80, 3: 64, 4: 256}
    rounds = [accepting(n, 4) for n, count in counts.items() for _ in range(count)]
    view = speed_view(fold(rounds, Calibration(10.0, 1.0, 8)))
    speedups = dict(view.curve)
    assert list(speedups) == list(range(33))
    assert speedups[0] == 1.0
    assert [f"{speedups[k]:.2f}" for k in (4, 6, 8, 16)] == ["2.40", "2.47", "2.40", "1.88"]
    assert (view.k, view.model) == (4, speedups[4])
    assert view.best_k == 6
    assert view.best_speedup == speedups[6] == max(speedups.values()) == formulas.best_k(0.8, 10.0)[1]
    assert view.ceiling == pytest.approx(5.0)
    assert view.break_even_alpha is not None
    assert formulas.speedup(view.break_even_alpha, 4, 10.0) == pytest.approx(1.0)


def test_c40_a_draft_as_dear_as_the_target_is_shown_as_a_slowdown() -> None:
    """Target 10 ms, draft 9 ms, alpha 1/2, K = 4: E[N] 1.9375 at a cost of 4.6 target steps."""
    cost = Timing(draft_ms=36.0, verify_ms=10.0, decide_ms=0.0, inspect_ms=5.0, total_ms=60.0)
    counts = {0: 8, 1: 4, 2: 2, 3: 1, 4: 1}
    rounds = [round_of(accepting(n, 4), timing=cost) for n, count in counts.items() for _ in range(count)]
    view = speed_view(fold(rounds, Calibration(10.0, 9.0, 8)))
    assert f"{view.model:.2f}" == f"{view.measured_cost:.2f}" == "0.42"
    assert view.slower
    assert (view.best_k, view.best_speedup) == (0, 1.0)
    assert view.ceiling == pytest.approx(10 / 9)


def test_what_was_measured_decides_whether_it_is_slower() -> None:
    """The model says 1.4, the rounds took 20 ms for each token of a 10 ms target; and the other way round, with a draft
    whose steps took less than timed."""
    slow = Timing(draft_ms=20.0, verify_ms=80.0, decide_ms=0.0, inspect_ms=0.0, total_ms=100.0)
    view = speed_view(fold([round_of("aaaa", timing=slow)] * 16, Calibration(10.0, 5.0, 8)))
    assert view.model is not None and view.model > 1
    assert (view.measured_cost, view.slower) == (0.5, True)
    quick = Timing(draft_ms=2.0, verify_ms=18.0, decide_ms=0.0, inspect_ms=0.0, total_ms=20.0)
    view = speed_view(fold([round_of("aruu", timing=quick)] * 16, Calibration(15.0, 15.0, 8)))
    assert view.model is not None and view.model < 1
    assert (view.measured_cost, view.slower) == (1.5, False)


def test_the_model_decides_where_nothing_was_measured() -> None:
    untimed = [round_of("ruuu", timing=Timing())] * 16
    view = speed_view(fold(untimed, Calibration(10.0, 20.0, 8)))
    assert view.measured_cost is None
    assert view.model == pytest.approx(0.5 / 4.5)
    assert view.slower


def test_no_verdict_under_sixteen_rounds() -> None:
    slow = Timing(draft_ms=20.0, verify_ms=80.0, decide_ms=0.0, inspect_ms=0.0, total_ms=100.0)
    views = [speed_view(fold([round_of("aaaa", timing=slow)] * n, Calibration(10.0, 5.0, 8))) for n in (15, 16)]
    assert [view.slower for view in views] == [False, True]


def test_a_run_without_drafts_has_no_measured_cost_to_compare_with_itself() -> None:
    none = replace(BASE, k=0)
    slow = Timing(draft_ms=0.0, verify_ms=12.0, decide_ms=1.0, inspect_ms=0.0, total_ms=13.0)
    view = speed_view(fold([round_of("", settings=none, timing=slow)], Calibration(10.0, 2.0, 8)))
    assert (view.k, view.measured_cost, view.slower) == (0, None, False)


def test_a_free_draft_has_no_cost_ratio_and_no_curve() -> None:
    lookup = replace(BASE, drafter="ngram")
    view = speed_view(fold([round_of("aaaa", settings=lookup)], Calibration(10.0, None, 8)))
    assert (view.c, view.curve, view.model, view.best_k) == (None, (), None, None)
    assert view.measured_cost == pytest.approx(10 * 5 / 15)


def test_the_small_trace() -> None:
    view = speed_view(folded(read(SMALL)))
    assert view.draft_step_ms == pytest.approx(2.0)
    assert (view.target_step_ms, view.draft_step_calibrated_ms, view.c) == (10.0, 2.0, 5.0)
    assert view.verify_times == ((4, 12.0),)
    assert [f"{dict(view.curve)[k]:.3f}" for k in (2, 3, 4)] == ["1.612", "1.651", "1.623"]
    assert (view.k, view.best_k, view.best_speedup) == (3, 3, view.model)
    assert view.measured_cost == pytest.approx(1.25)
    assert not view.slower
