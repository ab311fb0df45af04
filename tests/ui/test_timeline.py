"""Timeline and transport without a screen: what is shown, and that nothing is sampled twice."""

import pytest

from specviz.core.events import End, Event, Failed, Header, Progress, Ready, Round, Settings
from specviz.core.options import RunRequest
from specviz.core.source import LIVE, RECORDED
from specviz.session.worker import Session
from specviz.ui.run.playback import Playback, with_temperature_step
from specviz.ui.run.timeline import Timeline
from tests.builders import make_calibration, make_header, make_round, make_run
from tests.ui.conftest import mode


class Recorded(Session):
    """A session that notes what is asked of it and runs nothing."""

    def __init__(self) -> None:
        self.calls: list[str] = []
        self.stopped_at = None
        self._running = True
        self._runs = 0
        self._speed = 0.0

    def begin(self, request: RunRequest, *, paused: bool = False) -> int:
        self.calls.append("begin paused" if paused else "begin")
        self._runs += 1
        return self._runs

    def resume(self) -> None:
        self.calls.append("resume")

    def pause(self) -> None:
        self.calls.append("pause")

    def step(self) -> None:
        self.calls.append("step")

    def change(self, settings: Settings) -> None:
        self.calls.append(f"change k={settings.k} T={settings.temperature} q={settings.draft_temperature}")

    @property
    def pace(self) -> float:
        return self._speed

    @pace.setter
    def pace(self, seconds: float) -> None:
        self._speed = seconds


def feed(made: Playback, *events: Event) -> None:
    for event in events:
        made.accept(made.run_id, event)


def playback(rounds: list[Round] | None = None, *, live: bool = True, paused: bool = True) -> tuple[Playback, Recorded]:
    session = Recorded()
    made = Playback(
        session,
        Timeline(follow=live),
        RunRequest("a", 7, Settings()),
        capabilities=LIVE if live else RECORDED,
        pace=0.25,
    )
    made.begin(made.request, paused=paused)
    session.calls.clear()
    feed(made, make_header(), Ready(), *(rounds or []))
    return made, session


def test_a_new_round_is_followed_at_the_end_and_not_when_looking_back() -> None:
    made, _ = playback(make_run(3))
    assert made.timeline.shown == 3
    made.seek(1)
    made.accept(made.run_id, make_run(4)[3])
    assert (made.timeline.shown, made.timeline.total) == (1, 4)


@pytest.mark.parametrize("over", [make_calibration(), End("user"), Failed("gone")])
def test_timing_lasts_until_there_is_a_calibration_or_nothing_can_come(over: Event) -> None:
    made, _ = playback()
    assert not made.timeline.timing
    feed(made, make_run(1)[0], Progress("calibrating"))
    assert made.timeline.timing
    feed(made, over)
    assert not made.timeline.timing


def test_a_phase_asked_for_while_models_are_timed_is_that_of_a_round_still_to_be_made() -> None:
    made, session = playback(make_run(1), paused=False)
    feed(made, Progress("calibrating"))
    made.step_phase(1)
    assert session.calls == ["pause", "step"]
    feed(made, make_calibration(), make_run(2)[1])
    assert made.timeline.shown == 2 and made.timeline.reveal is not None


def test_looking_back_pauses_a_run_first() -> None:
    for by_token in (False, True):
        made, session = playback(make_run(3), paused=False)
        assert mode(made) == "running"
        if by_token:
            made.move(-1)
        else:
            made.seek(2)
        assert session.calls == ["pause"]
        assert mode(made) == "paused"


def test_forward_shows_what_is_recorded_and_samples_only_at_the_end() -> None:
    made, session = playback(make_run(3))
    made.seek(1)
    made.next_round()
    made.next_round()
    assert made.timeline.shown == 3
    assert session.calls == []
    made.next_round()
    assert session.calls == ["step"]


def test_space_behind_the_end_plays_up_to_it_then_samples() -> None:
    made, session = playback(make_run(3))
    made.seek(1)
    made.toggle()
    assert mode(made) == "playing"
    assert made.play_on()
    assert session.calls == []
    assert not made.play_on()
    assert made.timeline.shown == 3
    assert session.calls == ["resume"]
    assert mode(made) == "running"


def test_a_recorded_run_plays_to_its_end_and_stops() -> None:
    made, session = playback(make_run(3), live=False, paused=False)
    made.accept(made.run_id, End("end_of_text"))
    assert made.timeline.shown == 0
    while made.play_on():
        pass
    assert made.timeline.shown == 3
    assert mode(made) == "paused"
    assert session.calls == []
    assert not made.can_toggle
    assert not made.can_step
    assert session.pace == 0


def test_a_recorded_run_opens_on_the_round_asked_for() -> None:
    session = Recorded()
    made = Playback(session, Timeline(follow=False), RunRequest("a", 0, Settings()), capabilities=RECORDED)
    made.begin(made.request, at=2)
    feed(made, make_header(), Ready(), *make_run(3), End("max_new_tokens"))
    assert (made.timeline.shown, mode(made)) == (2, "paused")


def test_a_round_beyond_the_recorded_ones_opens_the_last() -> None:
    session = Recorded()
    made = Playback(session, Timeline(follow=False), RunRequest("a", 0, Settings()), capabilities=RECORDED)
    made.begin(made.request, at=99)
    feed(made, make_header(), Ready(), *make_run(3), End("max_new_tokens"))
    assert made.timeline.shown == 3


def test_events_of_a_superseded_run_are_dropped() -> None:
    made, _ = playback(make_run(2))
    old = made.run_id
    made.restart()
    assert not made.accept(old, make_run(3)[2])
    assert made.timeline.total == 0
    assert made.accept(made.run_id, make_header())


def test_again_keeps_the_seed_and_takes_the_settings_along() -> None:
    made, session = playback(make_run(1))
    made.change_k(3)
    made.restart()
    assert made.request == RunRequest("a", 7, Settings(k=7))
    made.restart(seed=8)
    assert made.request.seed == 8
    assert session.calls.count("begin") == 2


def test_settings_stay_within_their_bounds() -> None:
    made, session = playback()
    made.settings = Settings(k=32)
    assert not made.can_change_k(1)
    made.change_k(1)
    assert session.calls == []
    made.settings = Settings(k=0, temperature=0.0, draft_temperature=0.0)
    assert not made.can_change_k(-1)
    assert not made.can_change_temperature(-1)


def test_temperature_moves_in_tenths_down_to_zero_and_the_drafts_goes_along() -> None:
    settings = Settings(temperature=0.25, draft_temperature=0.25)
    seen = []
    for _ in range(4):
        settings = with_temperature_step(settings, -1)
        seen.append((settings.temperature, settings.draft_temperature))
    assert seen == [(0.15, 0.15), (0.05, 0.05), (0.0, 0.0), (0.0, 0.0)]
    assert with_temperature_step(settings, 1).temperature == 0.1


def test_a_draft_temperature_of_its_own_stays() -> None:
    assert with_temperature_step(Settings(temperature=1.0, draft_temperature=0.7), -1) == Settings(
        temperature=0.9, draft_temperature=0.7
    )


def test_statistics_are_as_of_the_round_shown() -> None:
    rounds = make_run(8)
    made, _ = playback(rounds)
    for shown in (1, 4, 8):
        made.seek(shown)
        tested = sum(round.tested for round in rounds[:shown])
        accepted = sum(round.n_accepted for round in rounds[:shown])
        assert made.timeline.rates.alpha_tested == accepted / tested
        assert list(made.timeline.series.rounds) == list(range(1, shown + 1))


def test_the_cursor_crosses_rounds_and_stops_at_the_ends() -> None:
    first, second = make_round(1, verdicts="✓✗"), make_round(2, verdicts="✓✓")
    made, _ = playback([first, second])
    places = []
    made.seek(1, 0)
    for _ in range(8):
        places.append((made.timeline.shown, made.timeline.row))
        made.move(1)
    assert places == [(1, 0), (1, 1), (1, 2), (2, 0), (2, 1), (2, 2), (2, 2), (2, 2)]
    for _ in range(4):
        made.move(-1)
    assert (made.timeline.shown, made.timeline.row) == (1, 1)


def test_the_row_worth_looking_at_is_the_rejection_else_the_last_token() -> None:
    timeline = Timeline()
    for round, row in (
        (make_round(1, verdicts="✓✗·"), 1),
        (make_round(2, verdicts="✓✓"), 2),
        (make_round(3, verdicts="✓–"), 0),
        (make_round(4, verdicts=""), 0),
    ):
        timeline.add(round)
        assert timeline.row == row


def test_a_cut_round_has_no_last_row() -> None:
    assert make_round(1, verdicts="✓✓–").n_rows == 3
    assert make_round(1, verdicts="✓✓✗").n_rows == 4
    assert make_round(1, verdicts="").n_rows == 1


def test_a_round_that_does_not_add_up_is_a_failure_not_a_crash() -> None:
    import dataclasses

    made, _ = playback(make_run(1))
    made.accept(made.run_id, dataclasses.replace(make_run(2)[1], tested=4, n_accepted=0))
    assert isinstance(made.timeline.failed, Failed)
    assert made.timeline.total == 1


def test_a_source_that_never_opened_cannot_begin_again() -> None:
    made, _ = playback()
    assert made.can_begin
    made.accept(0, Failed("no such model", exit_code=2))
    assert not made.can_begin
    assert made.timeline.failed is not None


def test_pace_keys_walk_from_any_pace_down_to_full_speed() -> None:
    made, session = playback()
    seen = []
    while made.can_change_pace(-1):
        made.change_pace(-1)
        seen.append(session.pace)
    assert seen == [0.1, 0.05, 0.0]
    made.change_pace(1)
    assert session.pace == 0.05


def test_the_header_of_a_new_run_replaces_the_old_one() -> None:
    made, _ = playback(make_run(2))
    made.restart()
    assert made.timeline.header is None
    header: Header = make_header("another prompt")
    made.accept(made.run_id, header)
    assert made.timeline.header is header
