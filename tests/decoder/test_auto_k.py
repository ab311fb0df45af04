"""--k auto: the K it chooses from acceptance and times, from past rounds only."""

from dataclasses import replace

import pytest

from specviz.core.events import Calibration, Settings, Timing, VerifyTime
from specviz.decoder.rounds.auto_k import PROBE_EVERY, AutoK
from tests.builders import make_round

FLAT = Calibration(10.0, 1.0, 8, (VerifyTime(2, 10.0), VerifyTime(16, 10.0)))
STEEP = Calibration(10.0, 1.0, 8, (VerifyTime(2, 15.0), VerifyTime(16, 120.0)))


def fed(calibration: Calibration | None, verdicts: str, rounds: int = 60) -> AutoK:
    auto = AutoK(4)
    if calibration is not None:
        auto.add(calibration)
    for index in range(1, rounds + 1):
        auto.add(make_round(index, verdicts=verdicts, timing=Timing()))
    return auto


def test_the_first_k_holds_until_steps_are_timed() -> None:
    assert fed(None, "aaaa").next_k() == 4
    assert fed(Calibration(10.0, None, 8, FLAT.verify_times), "aaaa").next_k() == 4
    assert fed(Calibration(10.0, 1.0, 8), "aaaa").next_k() == 4


@pytest.mark.parametrize(
    ("calibration", "verdicts", "smallest", "largest"),
    [(FLAT, "aaaa", 25, 32), (FLAT, "aaru", 4, 8), (FLAT, "ruuu", 0, 0), (STEEP, "aaaa", 1, 2), (STEEP, "aaru", 0, 1)],
)
def test_it_follows_acceptance_and_cost(calibration: Calibration, verdicts: str, smallest: int, largest: int) -> None:
    assert smallest <= fed(calibration, verdicts).next_k() <= largest


def test_the_times_of_rounds_replace_the_calibrated_ones() -> None:
    auto = fed(FLAT, "aaru")
    before = auto.next_k()
    for index in range(20):
        auto.add(make_round(61 + index, verdicts="aaru", timing=Timing(4.0, 40.0, 0.1, 0.0, 44.1)))
    assert auto.next_k() < before


def test_recent_rounds_count_most() -> None:
    auto = fed(FLAT, "ruuu")
    for index in range(40):
        auto.add(make_round(61 + index, verdicts="aaaa", timing=Timing()))
    assert auto.next_k() >= 8


def test_without_drafts_one_token_is_drafted_now_and_then() -> None:
    auto = fed(FLAT, "ruuu")
    for index in range(PROBE_EVERY - 1):
        auto.add(make_round(61 + index, verdicts="", settings=Settings(k=0), timing=Timing()))
        assert auto.next_k() == 0
    auto.add(make_round(80, verdicts="", settings=Settings(k=0), timing=Timing()))
    assert auto.next_k() == 1


def test_only_settings_that_ask_for_it_get_it() -> None:
    auto = fed(FLAT, "aaaa")
    fixed = Settings(k=3)
    assert auto.settings(fixed) is fixed
    chosen = auto.settings(replace(fixed, k_auto=True))
    assert chosen.k == auto.next_k()
    assert chosen.k_auto
