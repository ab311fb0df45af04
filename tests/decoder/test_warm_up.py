"""When the models are timed: before the first round, or behind it where their steps are long."""

from collections.abc import Callable
from typing import Any

import pytest

from specviz.core.events import Calibration, Event, Header, Progress, Ready, Round, Settings
from specviz.core.options import RunRequest
from specviz.decoder.drafters.model import ModelDrafter
from specviz.decoder.rounds import warm_up
from tests.decoder.models import Shelf, text_of
from tests.decoder.run_helpers import Opened, opened, play, setting

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


@pytest.mark.parametrize("asked", ["model", "layers"])
def test_the_drafter_that_was_asked_for_is_timed_whatever_has_taken_over(shelf: Shelf, asked: str) -> None:
    source = pair(shelf, **LONG_STEPS)
    switched = play(source, PROMPT, lambda: setting(drafter="ngram"), first=setting(drafter=asked))
    assert switched.only(Calibration).draft_step_ms > 0
    assert switched.decisions() == play(source, PROMPT, setting(drafter="ngram")).decisions()


@pytest.mark.parametrize("steps", range(6))
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
    assert (calibration is None) == (steps < 4)
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
