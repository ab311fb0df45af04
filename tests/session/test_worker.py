"""The worker thread: permits, pace, changes, restarts and leaving, with a source that needs no model."""

import queue
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

import pytest

from specviz.core.errors import SpecvizError
from specviz.core.events import (
    Calibration,
    End,
    Event,
    Failed,
    Header,
    Notice,
    Progress,
    Prompt,
    Ready,
    Round,
    Settings,
    Timing,
)
from specviz.core.options import RunRequest
from specviz.core.source import LIVE, Emit
from specviz.session.worker import Session
from tests.builders import make_round

PATIENCE = 60.0
REQUEST = RunRequest("once", 0, Settings())
HEADER = Header("now", "0", {}, 4, (), Prompt("once", ()))


def made(index: int, settings: Settings, stop: bool) -> Round:
    timing = Timing(0, 1, 0, 0, 1)
    return make_round(index, index, "", settings=settings, timing=timing, stop="max_new_tokens" if stop else None)


@dataclass
class Script:
    """A source of ``length`` rounds. ``before`` is called with the index of a round to be made, 0 for opening."""

    length: int = 5
    before: Callable[[int], None] = lambda _: None
    asked: list[Settings] = field(default_factory=list)
    closed: int = 0
    capabilities = LIVE

    def open(self, emit: Emit) -> None:
        emit(Progress("target", 1, 2, "tensors"))
        self.before(0)
        emit(Notice("opened"))

    def run(
        self, request: RunRequest, settings: Callable[[], Settings], stopped: Callable[[], bool]
    ) -> Iterator[Event]:
        try:
            yield replace(HEADER, prompt=Prompt(request.prompt, ()))
            yield Progress("warm-up")
            yield Calibration(2.0, 1.0, 1)
            yield Ready()
            for index in range(1, self.length + 1):
                self.asked.append(settings())
                self.before(index)
                if stopped():
                    return
                yield made(index, self.asked[-1], index == self.length)
            yield End("max_new_tokens")
        finally:
            self.closed += 1


class Seen:
    """What a session delivered, in order."""

    def __init__(self) -> None:
        self.queue: queue.Queue[tuple[int, Event]] = queue.Queue()
        self.all: list[tuple[int, Event]] = []

    def __call__(self, run_id: int, event: Event) -> None:
        assert threading.current_thread().name == "specviz-session"
        self.queue.put((run_id, event))

    def next(self, run_id: int) -> Event:
        """The next event, which must be of that run."""
        got, event = self.queue.get(timeout=PATIENCE)
        self.all.append((got, event))
        assert got == run_id, event
        return event

    def until(self, run_id: int, kind: type[Event]) -> list[Event]:
        """Events up to and with one of ``kind`` of that run; those of others are passed over."""
        events: list[Event] = []
        while not events or not isinstance(events[-1], kind):
            got, event = self.queue.get(timeout=PATIENCE)
            self.all.append((got, event))
            if got == run_id:
                events.append(event)
        return events

    def nothing(self) -> bool:
        """Whether the worker, given time, delivers nothing."""
        try:
            self.all.append(self.queue.get(timeout=0.05))
        except queue.Empty:
            return True
        return False


@pytest.fixture
def seen() -> Seen:
    return Seen()


def started(source: Script, seen: Seen, should_pause: Callable[[Event], bool] = lambda event: False) -> Session:
    session = Session(source, seen, should_pause)
    session.start()
    assert [type(seen.next(0)) for _ in range(2)] == [Progress, Notice]
    return session


def names(events: list[Event]) -> list[str]:
    return [type(event).__name__ for event in events]


OPENING = ["Header", "Progress", "Calibration", "Ready"]


def test_a_run_goes_through_by_itself(seen: Seen) -> None:
    session = started(Script(3), seen)
    run = session.begin(REQUEST)
    assert session.running
    assert names(seen.until(run, End)) == [*OPENING, "Round", "Round", "Round", "End"]
    session.close()
    assert not session.running


def test_what_comes_before_the_rounds_comes_while_paused(seen: Seen) -> None:
    session = started(Script(3), seen)
    run = session.begin(REQUEST, paused=True)
    assert names(seen.until(run, Ready)) == OPENING
    assert seen.nothing()
    assert not session.running
    session.close()


def test_a_step_is_exactly_one_round(seen: Seen) -> None:
    source = Script(4)
    session = started(source, seen)
    run = session.begin(REQUEST, paused=True)
    seen.until(run, Ready)
    for index in (1, 2):
        session.step()
        (event,) = seen.until(run, Round)
        assert isinstance(event, Round)
        assert event.index == index
        assert seen.nothing()
        assert len(source.asked) == index, "the next round is not even begun"
    session.step()
    session.step()
    assert names(seen.until(run, End)) == ["Round", "Round", "End"], "the end needs no permit"
    session.close()


@dataclass
class TimedLate(Script):
    """Calibrates behind its first round, for as long as the gate ``timing`` is shut."""

    timing: threading.Event = field(default_factory=threading.Event)

    def run(
        self, request: RunRequest, settings: Callable[[], Settings], stopped: Callable[[], bool]
    ) -> Iterator[Event]:
        for event in super().run(request, settings, stopped):
            if not isinstance(event, Calibration):
                yield event
            if isinstance(event, Round) and event.index == 1:
                yield Progress("calibrating")
                assert_set(self.timing)
                yield Calibration(2.0, 1.0, 2)


def test_what_comes_between_two_rounds_takes_no_step_away(seen: Seen) -> None:
    source = TimedLate(4)
    source.timing.set()
    session = started(source, seen)
    run = session.begin(REQUEST, paused=True)
    assert names(seen.until(run, Ready)) == ["Header", "Progress", "Ready"]
    for expected in (["Round"], ["Progress", "Calibration", "Round"], ["Round"]):
        session.step()
        assert names(seen.until(run, Round)) == expected
        assert seen.nothing()
    session.close()


@pytest.mark.parametrize("stepped", [True, False])
def test_a_text_of_one_round_ends_behind_its_timing_without_another_step(seen: Seen, stepped: bool) -> None:
    source = TimedLate(1)
    source.timing.set()
    session = started(source, seen)
    session.pace = 3600.0
    run = session.begin(REQUEST, paused=stepped)
    if stepped:
        session.step()
    assert names(seen.until(run, End))[3:] == ["Round", "Progress", "Calibration", "End"]
    session.close()


def test_a_pause_as_timing_begins_waits_for_it(seen: Seen) -> None:
    source = TimedLate(4)

    def pause(event: Event) -> bool:
        if event == Progress("calibrating"):
            session.pause()
        return False

    session = started(source, seen, pause)
    run = session.begin(REQUEST)
    seen.until(run, Round)
    source.timing.set()
    assert names(seen.until(run, Calibration)) == ["Progress", "Calibration"]
    assert seen.nothing()
    session.close()


@pytest.mark.parametrize("stepped", [True, False])
def test_a_pause_between_two_rounds_keeps_the_second_back(seen: Seen, stepped: bool) -> None:
    source = TimedLate(4)
    session = started(source, seen)
    run = session.begin(REQUEST, paused=stepped)
    if stepped:
        session.step()
        session.step()
    assert names(seen.until(run, Round)[-1:]) == ["Round"]
    assert names(seen.until(run, Progress)) == ["Progress"]
    session.pause()
    source.timing.set()
    assert names(seen.until(run, Calibration)) == ["Calibration"]
    assert seen.nothing()
    session.step()
    assert names(seen.until(run, Round)) == ["Round"]
    session.resume()
    assert names(seen.until(run, End)) == ["Round", "Round", "End"]
    session.close()


def test_a_step_before_loading_is_over_is_kept(seen: Seen) -> None:
    gate = threading.Event()
    session = Session(Script(4, before=lambda index: None if index else assert_set(gate)), seen)
    session.start()
    run = session.begin(REQUEST, paused=True)
    session.step()
    gate.set()
    seen.until(run, Round)
    assert seen.nothing()
    session.close()


def assert_set(gate: threading.Event) -> None:
    assert gate.wait(PATIENCE)


def test_pause_lets_the_round_in_hand_finish_and_resume_goes_on(seen: Seen) -> None:
    in_hand, gate = threading.Event(), threading.Event()

    def before(index: int) -> None:
        if index == 2:
            in_hand.set()
            assert_set(gate)

    session = started(Script(4, before), seen)
    run = session.begin(REQUEST)
    assert_set(in_hand)
    session.pause()
    assert not session.running
    gate.set()
    events = [*seen.until(run, Round), *seen.until(run, Round)]
    assert names(events) == [*OPENING, "Round", "Round"]
    assert seen.nothing()
    session.resume()
    assert session.running
    assert names(seen.until(run, End)) == ["Round", "Round", "End"]
    session.close()


def test_pause_drops_permits_that_were_not_used(seen: Seen) -> None:
    in_hand, gate = threading.Event(), threading.Event()

    def before(index: int) -> None:
        if index == 1:
            in_hand.set()
            assert_set(gate)

    session = started(Script(5, before), seen)
    run = session.begin(REQUEST, paused=True)
    for _ in range(3):
        session.step()
    assert_set(in_hand)
    session.pause()
    gate.set()
    seen.until(run, Round)
    assert seen.nothing()
    session.close()


def test_a_change_lands_with_the_next_round(seen: Seen) -> None:
    in_hand, gate = threading.Event(), threading.Event()

    def before(index: int) -> None:
        if index == 2:
            in_hand.set()
            assert_set(gate)

    source = Script(4, before)
    session = started(source, seen)
    run = session.begin(REQUEST)
    assert_set(in_hand)
    session.change(Settings(k=7, temperature=0.5))
    gate.set()
    seen.until(run, End)
    assert source.asked == [Settings(), Settings(), Settings(k=7, temperature=0.5), Settings(k=7, temperature=0.5)]
    again = session.begin(REQUEST)
    seen.until(again, End)
    assert source.asked[4] == Settings(), "a new run has the settings of its request"
    session.close()


def test_the_pace_enters_no_time(seen: Seen) -> None:
    session = started(Script(3), seen)
    session.pace = 0.15
    run = session.begin(REQUEST)
    rounds = [event for event in seen.until(run, End) if isinstance(event, Round)]
    assert [round_.timing.total_ms for round_ in rounds] == [1, 1, 1]
    session.close()


def test_a_slow_pace_can_be_stepped_through_changed_and_left(seen: Seen) -> None:
    session = started(Script(6), seen)
    session.pace = 3600.0
    run = session.begin(REQUEST)
    assert names(seen.until(run, Round)) == [*OPENING, "Round"], "the first round waits for nothing"
    assert seen.nothing()
    session.step()
    seen.until(run, Round)
    assert seen.nothing()
    session.pace = 0.0
    assert names(seen.until(run, End)) == ["Round"] * 4 + ["End"]
    session.pace = 3600.0
    again = session.begin(REQUEST)
    seen.until(again, Round)
    session.close()
    assert not session_thread_alive()


def test_begin_supersedes_the_run_before(seen: Seen) -> None:
    in_hand, gate = threading.Event(), threading.Event()

    def before(index: int) -> None:
        if index == 2 and not gate.is_set():
            in_hand.set()
            assert_set(gate)

    source = Script(4, before)
    session = started(source, seen)
    first = session.begin(REQUEST)
    assert_set(in_hand)
    second = session.begin(replace(REQUEST, prompt="twice"))
    assert second != first
    gate.set()
    events = seen.until(second, End)
    assert names(events) == [*OPENING, "Round", "Round", "Round", "Round", "End"]
    assert isinstance(events[0], Header)
    assert events[0].prompt.text == "twice"
    of_first = [event for run, event in seen.all if run == first]
    assert names(of_first) == [*OPENING, "Round"], "what was in hand was dropped"
    assert source.closed == 2
    session.close()


def test_only_the_last_of_many_requests_runs(seen: Seen) -> None:
    gate = threading.Event()
    session = Session(Script(2, before=lambda index: None if index else assert_set(gate)), seen)
    session.start()
    runs = [session.begin(replace(REQUEST, prompt=str(n))) for n in range(5)]
    gate.set()
    seen.until(runs[-1], End)
    assert {run for run, _ in seen.all} == {0, runs[-1]}
    session.close()


@pytest.mark.parametrize("place", [0, 3])
def test_close_while_the_source_is_blocked(seen: Seen, place: int) -> None:
    in_hand, gate = threading.Event(), threading.Event()

    def before(index: int) -> None:
        if index == place:
            in_hand.set()
            gate.wait(PATIENCE)

    session = Session(Script(5, before), seen)
    session.start()
    session.begin(REQUEST)
    assert_set(in_hand)
    session.close(timeout=0.2)
    assert session_thread_alive(), "it did not wait for the source"
    while not seen.queue.empty():
        seen.queue.get()
    gate.set()
    session.close()
    assert not session_thread_alive()
    assert seen.queue.empty(), "nothing is delivered behind a close"


def session_thread_alive() -> bool:
    return any(thread.name == "specviz-session" for thread in threading.enumerate())


def test_closing_ends_the_iterator(seen: Seen) -> None:
    source = Script(5)
    session = started(source, seen)
    run = session.begin(REQUEST, paused=True)
    seen.until(run, Ready)
    session.close()
    assert source.closed == 1
    session.close()
    session.begin(REQUEST)
    assert seen.nothing()


def failing(error: Exception, at: int) -> Callable[[int], None]:
    def before(index: int) -> None:
        if index == at:
            raise error

    return before


def test_c73_an_error_becomes_an_event_behind_the_rounds_before_it(seen: Seen) -> None:
    session = started(Script(5, failing(RuntimeError("boom [/] \x1b[31m"), 3)), seen)
    run = session.begin(REQUEST)
    events = seen.until(run, Failed)
    assert names(events) == [*OPENING, "Round", "Round", "Failed"]
    failed = events[-1]
    assert isinstance(failed, Failed)
    assert (failed.message, failed.exit_code) == ("RuntimeError: boom [/] \x1b[31m", 1)
    assert "Traceback" in failed.detail
    again = session.begin(REQUEST)
    assert names(seen.until(again, Failed))[-1] == "Failed", "the worker lives on"
    session.close()


def test_an_error_in_plain_words_keeps_them_and_its_exit_code(seen: Seen) -> None:
    session = started(Script(5, failing(SpecvizError("The prompt is too long."), 1)), seen)
    run = session.begin(REQUEST)
    failed = seen.until(run, Failed)[-1]
    assert isinstance(failed, Failed)
    assert (failed.message, failed.exit_code) == ("The prompt is too long.", 2)
    session.close()


def test_an_error_while_opening_is_delivered_as_run_0(seen: Seen) -> None:
    session = Session(Script(5, failing(SpecvizError("No such model."), 0)), seen)
    session.start()
    assert isinstance(seen.next(0), Progress)
    failed = seen.next(0)
    assert isinstance(failed, Failed)
    assert (failed.message, failed.exit_code) == ("No such model.", 2)
    session.begin(REQUEST)
    session.close()
    assert seen.nothing()


def test_c72_many_events_and_an_early_close_fifty_times() -> None:
    for _ in range(50):
        enough = threading.Event()
        count = 0

        def deliver(run_id: int, event: Event, enough: threading.Event = enough) -> None:
            nonlocal count
            count += 1
            if count == 20:
                enough.set()

        session = Session(Script(10_000), deliver)
        session.begin(REQUEST)
        session.start()
        assert enough.wait(PATIENCE)
        session.close()
        assert not session_thread_alive()
        after = count
        time.sleep(0)
        assert count == after < 10_000


def test_every_call_returns_at_once_while_the_source_is_busy(seen: Seen) -> None:
    in_hand, gate, released = threading.Event(), threading.Event(), threading.Event()

    def before(index: int) -> None:
        if index == 1:
            in_hand.set()
            gate.wait(PATIENCE)
            released.set()

    session = started(Script(3, before), seen)
    session.begin(REQUEST)
    assert_set(in_hand)
    session.pause()
    session.step()
    session.resume()
    session.change(Settings(k=1))
    session.pace = 0.0
    session.begin(REQUEST, paused=True)
    assert not released.is_set()
    gate.set()
    session.close()


def at(*indices: int) -> Callable[[Event], bool]:
    """Halts at these rounds, and would at all that is no round."""

    def should_pause(event: Event) -> bool:
        assert threading.current_thread().name == "specviz-session"
        return not isinstance(event, Round) or event.index in indices

    return should_pause


def test_a_run_halts_behind_the_round_that_says_so(seen: Seen) -> None:
    source = Script(5)
    session = started(source, seen, at(2, 4))
    run = session.begin(REQUEST)
    assert names([*seen.until(run, Round), *seen.until(run, Round)]) == [*OPENING, "Round", "Round"]
    assert not session.running, "as soon as the round is seen"
    assert seen.nothing()
    assert len(source.asked) == 2, "the next round is not even begun"
    session.resume()
    assert names([*seen.until(run, Round), *seen.until(run, Round)]) == ["Round", "Round"]
    assert seen.nothing()
    session.step()
    assert names(seen.until(run, End)) == ["Round", "End"], "the end behind a last round without a halt needs no permit"
    session.close()


@pytest.mark.parametrize("go_on", [Session.resume, Session.step])
def test_behind_a_halt_at_the_last_round_the_end_waits(seen: Seen, go_on: Callable[[Session], None]) -> None:
    session = started(Script(2), seen, at(2))
    run = session.begin(REQUEST)
    seen.until(run, Round)
    assert names(seen.until(run, Round)) == ["Round"]
    assert seen.nothing()
    go_on(session)
    assert names(seen.until(run, End)) == ["End"]
    again = session.begin(REQUEST)
    assert names(seen.until(again, Round)) == [*OPENING, "Round"], "the worker lives on"
    session.close()


def test_halts_is_asked_about_every_event_before_it_is_delivered(seen: Seen) -> None:
    order: list[str] = []

    def should_pause(event: Event) -> bool:
        order.append(f"asked {type(event).__name__}")
        return False

    def deliver(run_id: int, event: Event) -> None:
        order.append(f"given {type(event).__name__}")
        seen(run_id, event)

    session = Session(Script(1), deliver, should_pause)
    session.start()
    run = session.begin(REQUEST)
    seen.until(run, End)
    kinds = ["Progress", "Notice", *OPENING, "Round", "End"]
    assert order == [f"{what} {kind}" for kind in kinds for what in ("asked", "given")]
    session.close()


def test_a_halt_drops_permits_as_a_pause_does(seen: Seen) -> None:
    in_hand, gate = threading.Event(), threading.Event()

    def before(index: int) -> None:
        if index == 1:
            in_hand.set()
            assert_set(gate)

    session = started(Script(5, before), seen, at(1))
    run = session.begin(REQUEST, paused=True)
    for _ in range(3):
        session.step()
    assert_set(in_hand)
    gate.set()
    seen.until(run, Round)
    assert seen.nothing()
    session.close()


def test_whoever_answers_a_halt_with_resume_is_obeyed() -> None:
    over = threading.Event()
    got: list[str] = []

    def deliver(run_id: int, event: Event) -> None:
        got.append(type(event).__name__)
        if isinstance(event, Round):
            session.resume()
        if isinstance(event, End):
            over.set()

    session = Session(Script(4), deliver, at(1, 2, 3, 4))
    session.start()
    session.begin(REQUEST)
    assert over.wait(PATIENCE)
    assert got.count("Round") == 4
    session.close()


def test_a_halt_of_a_run_that_was_superseded_does_not_pause_the_next(seen: Seen) -> None:
    in_hand, gate = threading.Event(), threading.Event()

    def should_pause(event: Event) -> bool:
        if isinstance(event, Round) and not gate.is_set():
            in_hand.set()
            assert_set(gate)
            return True
        return False

    session = started(Script(2), seen, should_pause)
    first = session.begin(REQUEST)
    assert_set(in_hand)
    second = session.begin(REQUEST)
    gate.set()
    assert names(seen.until(second, End)) == [*OPENING, "Round", "Round", "End"]
    assert names([event for run, event in seen.all if run == first]) == OPENING, "nothing old behind a begin"
    session.close()


@pytest.mark.parametrize("leave", [Session.close, lambda session: session.begin(REQUEST, paused=True)])
def test_a_run_waiting_at_its_end_can_be_left(seen: Seen, leave: Callable[[Session], object]) -> None:
    source = Script(1)
    session = started(source, seen, at(1))
    run = session.begin(REQUEST)
    seen.until(run, Round)
    leave(session)
    session.close()
    assert source.closed >= 1
    assert not session_thread_alive()
    assert not any(isinstance(event, End) for _, event in [*seen.all, *seen.queue.queue])


def test_a_halt_that_fails_ends_the_run_with_its_words(seen: Seen) -> None:
    def should_pause(event: Event) -> bool:
        if isinstance(event, Round):
            raise RuntimeError("boom")
        return False

    session = started(Script(3), seen, should_pause)
    run = session.begin(REQUEST)
    assert names(seen.until(run, Failed)) == [*OPENING, "Failed"]
    session.close()
