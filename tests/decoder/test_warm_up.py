"""When the models are timed: before the first round, or behind it where their steps are long."""

from collections.abc import Callable
from statistics import median
from typing import Any

import pytest

from specviz.core.events import Calibration, Event, Header, Notice, Progress, Ready, Round, Settings, Timing
from specviz.core.options import RunRequest
from specviz.decoder.drafters.model import ModelDrafter
from specviz.decoder.rounds import warm_up
from specviz.decoder.rounds.warm_up import StepTimes
from tests.builders import known, make_round
from tests.decoder.models import Shelf, text_of
from tests.decoder.run_helpers import Opened, Played, opened, play, setting

PROMPT = text_of([3, 5, 7])


LONG_STEPS: dict[str, Any] = {"slow_step_bytes": 0}
"""Every model counts as one with long steps."""


def pair(shelf: Shelf, **options: Any) -> Opened:
    return opened(shelf.random(1, layers=2), shelf.noisy(1, 0.3), calibrate=2, **options)


def words(events: list[Event]) -> list[str]:
    return [event.stage if isinstance(event, Progress) else type(event).__name__ for event in events]


def test_long_steps_are_timed_behind_the_first_round(shelf: Shelf) -> None:
    run = play(pair(shelf, **LONG_STEPS), PROMPT)
    assert words(run.events[:7]) == ["Header", "warm-up", "Ready", "Round", "calibrating", "Calibration", "Round"]
    calibration = run.only(Calibration)
    assert calibration.at_length == 3 + len(run.rounds[0].emitted)
    assert calibration.target_step_ms > 0 and calibration.draft_step_ms > 0
    assert run.stats.whole().c == calibration.target_step_ms / calibration.draft_step_ms


def test_short_steps_are_timed_before_it(shelf: Shelf) -> None:
    run = play(pair(shelf), PROMPT)
    assert words(run.events[:6]) == ["Header", "warm-up", "calibrating", "Calibration", "Ready", "Round"]
    assert run.only(Calibration).at_length == 3


@pytest.mark.parametrize("drafter", ["model", "ngram", "layers"])
def test_timing_behind_the_first_round_changes_nothing(shelf: Shelf, drafter: str) -> None:
    source, settings = pair(shelf, **LONG_STEPS), setting(drafter=drafter)
    late = play(source, PROMPT, settings, seed=3)
    assert (late.only(Calibration).draft_step_ms is None) == (drafter == "ngram")
    assert late.decisions() == play(pair(shelf), PROMPT, settings, seed=3).decisions()


def test_a_run_of_one_round_is_timed_before_its_end(shelf: Shelf) -> None:
    run = play(pair(shelf, **LONG_STEPS, max_new_tokens=1), PROMPT)
    assert words(run.events[2:]) == ["Ready", "Round", "calibrating", "Calibration", "End"]


def test_a_full_context_leaves_nothing_to_time(shelf: Shelf) -> None:
    target = shelf.random(1, context=32)
    run = play(opened(target, calibrate=2, **LONG_STEPS), text_of(range(31)), setting(8, 0.0))
    assert words(run.events[2:4]) == ["Ready", "Round"]
    assert run.end.reason == "context" and Calibration not in map(type, run.events)


@pytest.mark.parametrize("long_steps", [{}, LONG_STEPS])
def test_each_drafter_is_timed_once_it_drafts(shelf: Shelf, long_steps: dict[str, Any]) -> None:
    source, turns = pair(shelf, **long_steps), ["model", "model", "layers", "layers"]

    def played() -> Played:
        names = iter(turns)
        return play(source, PROMPT, lambda: setting(drafter=next(names, "ngram")), first=setting(drafter="model"))

    run = played()
    calibrations = [event for event in run.events if isinstance(event, Calibration)]
    assert [(each.drafter, each.from_round) for each in calibrations] == [("model", 1), ("layers", 3), ("ngram", 5)]
    assert [each.draft_step_ms is None for each in calibrations] == [False, False, True]
    assert run.decisions() == played().decisions()


def test_steps_are_timed_again_when_rounds_take_longer(shelf: Shelf) -> None:
    run = pair(shelf).pair.decoder(
        [3, 5, 7], 0, pair(shelf).source.options, {"model": ModelDrafter(pair(shelf).pair.draft)}
    )
    run.prefill("model")
    steps = StepTimes(run, 2, 4, lambda: False)
    (first,) = (event for event in steps.calibration("model") if isinstance(event, Calibration))
    slow = Timing(4e4, 9e3, 1.0, 0.0, 5e4)
    events = list(steps.with_calibrations(iter([make_round(n, verdicts="aaaa", timing=slow) for n in range(1, 10)])))
    assert words(events)[:8] == [*["Round"] * 4, "Notice", "calibrating", "Calibration", "Round"]
    assert words(events).count("Calibration") == 1  # what remains is the rounds' own
    again = events[6]
    assert isinstance(again, Calibration) and again.from_round == 1 and again.drafter == first.drafter == "model"
    (notice,) = (event for event in events if isinstance(event, Notice))
    assert notice.message.startswith("Drafting now takes")


@pytest.mark.parametrize("steps", range(17))
def test_timing_ends_as_soon_as_the_run_is_stopped(shelf: Shelf, steps: int) -> None:
    source, asked = pair(shelf), 0

    def stopped() -> bool:
        nonlocal asked
        asked += 1
        return asked > steps

    for model in source.pair.models:
        model.prefill([3, 5])
    drafter = ModelDrafter(source.pair.draft)
    calibration = warm_up.calibrate(source.pair.target, drafter, [3, 5, 7], 2, stopped)
    assert (calibration is None) == (steps < 2 + 2 + 4 * 2)
    assert calibration is None or [each.ids for each in calibration.verify_times] == [2, 4, 8, 16]
    assert [model.length for model in source.pair.models] == [2, 2]


@pytest.mark.parametrize(
    "kinds", [[Header], [Header, Progress, Ready, Round], [Header, Progress, Ready, Round, Progress]]
)
def test_it_can_be_left_at_any_place(shelf: Shelf, kinds: list[type[Event]]) -> None:
    source = pair(shelf, **LONG_STEPS)
    whole = play(source, PROMPT).decisions()
    ask: Callable[[], Settings] = setting
    events = source.source.run(RunRequest(PROMPT, 0, setting()), ask, lambda: False)
    assert [type(next(events)) for _ in kinds] == kinds
    events.close()  # type: ignore[attr-defined]
    assert play(source, PROMPT).decisions() == whole


def test_the_stages_of_a_round_are_all_of_its_time(shelf: Shelf) -> None:
    """The transfer to the host belongs to a stage too: what is left is a few microseconds."""
    run = play(pair(shelf, max_new_tokens=60), PROMPT)
    stages = [(r.timing.draft_ms, r.timing.verify_ms, r.timing.decide_ms, r.timing.inspect_ms) for r in run.rounds]
    left = [known(r.timing.total_ms) - sum(map(known, each)) for r, each in zip(run.rounds, stages, strict=True)]
    assert min(left) >= -1e-6
    assert median(left) < 0.1  # ms
