"""The worker thread that runs a source: run, pause, step, change settings, restart, stop."""

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


def failure(error: Exception) -> Failed:
    """The event that reports an exception of the source."""
    detail = "".join(traceback.format_exception(error))
    if isinstance(error, SpecvizError):
        return Failed(str(error), detail, error.exit_code)
    return Failed(f"{type(error).__name__}: {error}", detail, 1)


class Session:
    """Owns a daemon thread in which a source is opened once and then runs one request at a time.

    ``deliver(run_id, event)`` is called on that thread, in order; run id 0 means opening the source. Every other method
    may be called from any thread and returns immediately. A round needs a permit: a step, or ``resume`` and ``pace``
    seconds since the previous round. Events between two rounds need none. Waiting is never part of a round's time.

    ``should_pause(event)`` is called on that thread before an event is delivered. If it is true for a round, the run
    pauses after that round; after the last round, End then waits for a permit as well.
    """

    def __init__(self, source: Source, deliver: Deliver, should_pause: ShouldPause = lambda event: False) -> None:
        self._source = source
        self._deliver = deliver
        self._should_pause = should_pause
        self._changed = threading.Condition()
        self._run_id = 0
        self._waiting: RunRequest | None = None
        self._settings = Settings()
        self.running = False
        """Whether rounds are permitted without a step."""
        self._steps = 0
        self._stepping = False  # a step was taken, and its round has not arrived yet
        self.stopped_at: int | None = None
        """The round after which ``should_pause`` stopped this run, if it did."""
        self._pace = 0.0
        self._next_round_at = 0.0
        self._closed = False
        self._thread = threading.Thread(target=self._work, name="specviz-session", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def begin(self, request: RunRequest, *, paused: bool = False) -> int:
        """Request a run, which supersedes the current one; returns its id."""
        with self._changed:
            self._run_id += 1
            self._waiting = request
            self._settings = request.settings
            self.stopped_at = None
            self.running = not paused
            self._stepping = False
            self._steps = 0
            self._next_round_at = 0.0
            self._changed.notify_all()
            return self._run_id

    def resume(self) -> None:
        with self._changed:
            self.running = True
            self._changed.notify_all()

    def pause(self) -> None:
        """Stop after the round in progress, if any; unused permits are dropped."""
        with self._changed:
            self.running = self._stepping = False
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
    def is_alive(self) -> bool:
        """Whether the thread still runs; it may for a while after ``close``."""
        return self._thread.is_alive()

    @property
    def pace(self) -> float:
        """Minimum seconds between two rounds; 0 is full speed."""
        return self._pace

    @pace.setter
    def pace(self, seconds: float) -> None:
        with self._changed:
            self._next_round_at += seconds - self._pace
            self._pace = seconds
            self._changed.notify_all()

    def close(self, timeout: float = 1.0) -> None:
        """Stop for good, after the model call in progress; wait at most ``timeout`` seconds for it."""
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
                    self.running = False

    def _next_request(self) -> tuple[int, RunRequest] | None:
        with self._changed:
            self._changed.wait_for(lambda: self._closed or self._waiting is not None)
            if self._closed or self._waiting is None:
                return None
            request, self._waiting = self._waiting, None
            return self._run_id, request

    def _play(self, run_id: int, request: RunRequest) -> None:
        events = self._source.run(request, lambda: self._settings, lambda: self._superseded(run_id))
        free = may_advance = True  # no permit is needed before the first round or after the last
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
                pauses = self._deliver_event(run_id, event)
                if isinstance(event, Ready):
                    free = may_advance = False
                elif isinstance(event, Round):
                    self._stepping = False
                    free = may_advance = event.stop is not None and not pauses
                elif isinstance(event, Calibration):
                    may_advance = free or self._stepping
                elif isinstance(event, End):
                    return

    def _send_opening(self, event: Event) -> None:
        self._deliver_event(0, event)

    def _deliver_event(self, run_id: int, event: Event) -> bool:
        """Deliver, unless ``close`` or ``begin`` has superseded the run meanwhile. True: the run pauses here."""
        if self._superseded(run_id):
            return False
        pauses = False
        if self._should_pause(event) and isinstance(event, Round):
            pauses = True
            with self._changed:
                if not self._superseded(run_id):  # before the event is seen, so that a ``resume`` in answer holds
                    self.stopped_at = event.index
                    self.pause()
        if not self._superseded(run_id):
            self._deliver(run_id, event)
        return pauses

    def _superseded(self, run_id: int) -> bool:
        return self._closed or run_id not in (0, self._run_id)

    def _may_advance(self, run_id: int) -> bool:
        """Wait for a permit and take it; False once the run is superseded."""
        with self._changed:
            while not self._superseded(run_id):
                wait = None
                if self._steps:
                    self._steps -= 1
                    self._stepping = True
                    return True
                if self.running:
                    wait = self._next_round_at - time.monotonic()
                    if wait <= 0:
                        return True
                self._changed.wait(wait)
            return False
