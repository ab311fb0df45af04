"""The worker thread that runs a source: run, pause, step, change, restart, stop."""

import contextlib
import threading
import time
import traceback
from collections.abc import Callable

from specviz.core.errors import SpecvizError
from specviz.core.events import Calibration, End, Event, Failed, Ready, Round, Settings
from specviz.core.options import RunRequest
from specviz.core.source import Source

Deliver = Callable[[int, Event], None]
ShouldPause = Callable[[Event], bool]


def never(event: Event) -> bool:
    """No event halts a run."""
    return False


def failure(error: Exception) -> Failed:
    """What a person is told of an exception that ended the source."""
    detail = "".join(traceback.format_exception(error))
    if isinstance(error, SpecvizError):
        return Failed(str(error), detail, error.exit_code)
    return Failed(f"{type(error).__name__}: {error}", detail, 1)


class Session:
    """Owns a daemon thread in which a source is opened once and then runs one request at a time.

    ``deliver(run_id, event)`` is called on that thread, in order; run id 0 stands for opening the source.
    Every other method may be called from any thread and returns at once. A round needs a permit: a step,
    or being resumed with ``pace`` seconds gone since the last round; what comes between two rounds needs none of its
    own. Waiting is never part of a round's time.

    ``halts(event)`` is asked on that thread before an event is delivered. True of a round: the run pauses behind it,
    and if it is the last one the end, too, waits for a permit.
    """

    def __init__(self, source: Source, deliver: Deliver, should_pause: ShouldPause = never) -> None:
        self._source = source
        self._deliver = deliver
        self._should_pause = should_pause
        self._changed = threading.Condition()
        self._run_id = 0
        self._waiting: RunRequest | None = None
        self._settings = Settings()
        self._running = False
        self._steps = 0
        self._stepping = False  # a step was taken, and its round has not come yet
        self._pace = 0.0
        self._next_round_at = 0.0
        self._closed = False
        self._thread = threading.Thread(target=self._work, name="specviz-session", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def begin(self, request: RunRequest, *, paused: bool = False) -> int:
        """Ask for a new run, which supersedes the current one; returns its id."""
        with self._changed:
            self._run_id += 1
            self._waiting = request
            self._settings = request.settings
            self._running = not paused
            self._stepping = False
            self._steps = 0
            self._next_round_at = 0.0
            self._changed.notify_all()
            return self._run_id

    def resume(self) -> None:
        with self._changed:
            self._running = True
            self._changed.notify_all()

    def pause(self) -> None:
        """Stop after the round being made, if any; permits not yet used are dropped."""
        with self._changed:
            self._running = self._stepping = False
            self._steps = 0

    def step(self) -> None:
        """Permit exactly one more round."""
        with self._changed:
            self._steps += 1
            self._changed.notify_all()

    def change(self, settings: Settings) -> None:
        """Use these settings from the next round on."""
        with self._changed:
            self._settings = settings

    @property
    def running(self) -> bool:
        return self._running

    @property
    def is_alive(self) -> bool:
        """Whether the thread lives: it may, for a while, after ``close``."""
        return self._thread.is_alive()

    @property
    def pace(self) -> float:
        """Least number of seconds between the starts of showing two rounds; 0: full speed."""
        return self._pace

    @pace.setter
    def pace(self, seconds: float) -> None:
        with self._changed:
            self._next_round_at += seconds - self._pace
            self._pace = seconds
            self._changed.notify_all()

    def close(self, timeout: float = 1.0) -> None:
        """Stop for good: after the model call in progress at the latest, waiting for it at most ``timeout`` seconds."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        if self._thread.is_alive() and self._thread is not threading.current_thread():
            self._thread.join(timeout)

    def _work(self) -> None:
        try:
            self._source.open(self._send_opening)
        except Exception as error:
            self._deliver_event(0, failure(error))
            return
        while (run := self._next_request()) is not None:
            run_id, request = run
            try:
                self._play(run_id, request)
            except Exception as error:
                self._deliver_event(run_id, failure(error))
            with self._changed:
                if run_id == self._run_id:
                    self._running = False

    def _next_request(self) -> tuple[int, RunRequest] | None:
        with self._changed:
            self._changed.wait_for(lambda: self._closed or self._waiting is not None)
            if self._closed or self._waiting is None:
                return None
            request, self._waiting = self._waiting, None
            return self._run_id, request

    def _play(self, run_id: int, request: RunRequest) -> None:
        events = self._source.run(request, lambda: self._settings, lambda: self._superseded(run_id))
        free = may_advance = True  # before the rounds, and behind the last one, nothing needs a permit
        with contextlib.closing(events):  # type: ignore[type-var]
            while not self._superseded(run_id):
                may_advance = may_advance or self._may_advance(run_id)
                if not may_advance:
                    return
                event = next(events, None)
                if event is None:
                    return
                if isinstance(event, Round):
                    self._next_round_at = time.monotonic() + self._pace
                halted = self._deliver_event(run_id, event)
                if isinstance(event, Ready):
                    free = may_advance = False
                elif isinstance(event, Round):
                    self._stepping = False
                    free = may_advance = event.stop is not None and not halted
                elif isinstance(event, Calibration):
                    may_advance = free or self._stepping
                elif isinstance(event, End):
                    return

    def _send_opening(self, event: Event) -> None:
        self._deliver_event(0, event)

    def _deliver_event(self, run_id: int, event: Event) -> bool:
        """Deliver, unless the run has been superseded meanwhile: behind ``close`` or ``begin`` nothing old comes.
        True: the run was halted at this event."""
        if not self._current(run_id):
            return False
        halted = self._should_pause(event) and isinstance(event, Round)
        if halted:
            self._halt(run_id)
        if self._current(run_id):
            self._deliver(run_id, event)
        return halted

    def _current(self, run_id: int) -> bool:
        return not self._closed and run_id in (0, self._run_id)

    def _halt(self, run_id: int) -> None:
        """Pause before the event is seen, so that whoever answers it with ``resume`` is obeyed."""
        with self._changed:
            if not self._superseded(run_id):
                self._running = self._stepping = False
                self._steps = 0

    def _superseded(self, run_id: int) -> bool:
        return self._closed or run_id != self._run_id

    def _may_advance(self, run_id: int) -> bool:
        """Wait for a permit and take it; False once the run is superseded."""
        with self._changed:
            while not self._superseded(run_id):
                wait = None
                if self._steps:
                    self._steps -= 1
                    self._stepping = True
                    return True
                if self._running:
                    wait = self._next_round_at - time.monotonic()
                    if wait <= 0:
                        return True
                self._changed.wait(wait)
            return False
