"""When steps are timed again: rounds whose draft or verify step no longer agrees with the calibration."""

import pytest

from specviz.core.events import Calibration, Timing, VerifyTime
from specviz.decoder.rounds.drift import Drift
from tests.builders import make_round

WINDOW = 8
CALIBRATION = Calibration(10.0, 2.0, 8, (VerifyTime(2, 12.0), VerifyTime(4, 16.0), VerifyTime(8, 24.0)))


def play(drift: Drift, draft_ms: float, verify_ms: float, rounds: int = WINDOW, first: int = 1) -> None:
    for index in range(first, first + rounds):
        timing = Timing(4 * draft_ms, verify_ms, 1.0, 0.0, 99.0)
        drift.add_round(make_round(index, verdicts="aaaa", timing=timing))


def drift(draft_ms: float, verify_ms: float, rounds: int = WINDOW) -> Drift:
    made = Drift(WINDOW)
    made.add_calibration(CALIBRATION)
    play(made, draft_ms, verify_ms, rounds)
    return made


def since(drift: Drift) -> int | None:
    found = drift.found()
    return found and found[0]


@pytest.mark.parametrize(("draft_ms", "verify_ms"), [(2.0, 18.0), (2.6, 18.0), (2.0, 23.9), (1.6, 13.6)])
def test_steps_within_a_third_are_as_calibrated(draft_ms: float, verify_ms: float) -> None:
    assert drift(draft_ms, verify_ms).found() is None


@pytest.mark.parametrize(
    ("draft_ms", "verify_ms", "words"),
    [
        (2.0, 27.0, "Verifying now takes 1.5 times"),
        (4.0, 18.0, "Drafting now takes 2 times"),
        (2.0, 9.0, "Verifying now takes 0.5 times"),
    ],
)
def test_a_step_that_differs_by_more_is_reported(draft_ms: float, verify_ms: float, words: str) -> None:
    found = drift(draft_ms, verify_ms)
    assert (reported := found.found()) is not None
    assert reported[0] == 1 and reported[1].startswith(words)


def test_a_few_slow_rounds_are_not_drift() -> None:
    assert drift(2.0, 60.0, WINDOW - 1).found() is None
    found = drift(2.0, 18.0)
    play(found, 2.0, 60.0, 3, WINDOW + 1)
    assert found.found() is None


def test_what_remains_after_steps_were_timed_again_is_the_rounds_own() -> None:
    found = drift(3.0, 18.0)
    assert since(found) == 1
    found.add_calibration(CALIBRATION)
    play(found, 3.0, 18.0, 3 * WINDOW, 9)
    assert found.found() is None
    play(found, 3.0, 36.0, WINDOW, 40)
    assert since(found) == 40


def test_a_calibration_during_a_busy_moment_is_replaced() -> None:
    found = drift(2.0, 36.0)
    found.add_calibration(Calibration(20.0, 4.0, 8, (VerifyTime(2, 24.0), VerifyTime(8, 48.0))))
    play(found, 2.0, 18.0, 2 * WINDOW, 9)
    assert found.found() is not None


def test_nothing_is_compared_without_a_calibration_or_times() -> None:
    nothing = Drift(WINDOW)
    play(nothing, 9.0, 99.0)
    assert nothing.found() is None
    found = drift(2.0, 18.0, 0)
    for index in range(20):
        found.add_round(make_round(index + 1, verdicts=""))
        found.add_round(make_round(index + 1, verdicts="aaaa", timing=Timing()))
    assert found.found() is None


def test_short_steps_that_always_take_longer_in_a_round_are_not_drift() -> None:
    """The median of a round's draft step lies just over or under 0.3 ms more than alone."""
    calibration = Calibration(10.0, 0.7, 8, CALIBRATION.verify_times)
    found = Drift(WINDOW)
    found.add_calibration(calibration)
    play(found, 1.05, 18.0)
    found.add_calibration(calibration)
    play(found, 1.05, 18.0, 3 * WINDOW, 9)
    assert found.found() is None
    play(found, 0.95, 18.0, WINDOW, 40)
    assert found.found() is None
