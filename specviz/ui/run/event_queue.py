"""The queue of events from the worker thread to the screen: record, store, queue, then one wake-up for many."""

import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from pathlib import Path

from specviz.core.errors import SpecvizError
from specviz.core.events import End, Event, Failed, Header, Notice
from specviz.trace.round_store import RoundFile, RoundStore
from specviz.ui.shared.app_options import Recording

MAX_QUEUED = 256
"""How many events the worker may be ahead of the screen. It then waits, so that a pause takes effect soon."""
POLL_S = 0.005
MAX_PAINT_WAIT_S = 0.05
FRAME_WAIT_S = 0.015
"""Maximum wait of the worker between two rounds during a paint; too short for the processor to clock down."""
FIRST_PAINT_WAIT_S = 0.5
"""Maximum wait of the worker for the first paint of a run."""


class EventQueue:
    """Receives the events that the session delivers. ``deliver`` runs on the worker thread: it records the event,
    queues it and calls ``wake``, which must be cheap and thread-safe and may merge calls. ``drain`` runs on the
    screen's thread. Every event is recorded before it is queued. ``store`` makes the store for the rounds of a run from
    the file that they are recorded in."""

    def __init__(
        self,
        record: Callable[[], Recording | None],
        wake: Callable[[], object],
        store: Callable[[RoundFile | None], RoundStore] = RoundStore,
    ) -> None:
        self._record = record
        self._wake = wake
        self._queue: deque[tuple[int, Event]] = deque()
        self._lock = threading.Lock()
        self._run_id = 0
        self._store = store
        self._recording: Recording | None = None
        self.rounds = RoundStore()
        """The rounds of the latest run, shared by everything that reads them; a new store with each Header."""
        self._closed = False
        self.path: Path | None = None
        self._first_paint_done = threading.Event()
        self._paint_done = threading.Event()
        self._paint_done.set()
        self.paint_at: float | None = None
        """Time after which the next event triggers a paint; None if paints do not follow rounds."""

    def end_paint(self) -> None:
        """The screen shows every event drained so far."""
        self._first_paint_done.set()
        self._paint_done.set()

    def begin_paint(self) -> None:
        """The screen is about to paint: the worker waits until it has, ``MAX_PAINT_WAIT_S`` at most."""
        self._paint_done.clear()

    def deliver(self, run_id: int, event: Event) -> None:
        if isinstance(event, Header):
            self._first_paint_done.clear()
        with self._lock:
            if self._closed:
                return
            read_error = self._keep(run_id, event)
            if isinstance(event, Header):
                self.rounds = self._store(self._recording.lines if self._recording else None)
            new = [(0, read_error), (run_id, event)] if read_error else [(run_id, event)]
            self._queue.extend(new)
        due = self.paint_at is not None and time.monotonic() >= self.paint_at
        if due:  # between two rounds painting delays nothing
            self._paint_done.clear()
        if due or len(self._queue) <= len(new):  # otherwise the screen has been woken already
            self._wake()
        if isinstance(event, Header):  # calibration follows; let the first layout finish first
            self._first_paint_done.wait(FIRST_PAINT_WAIT_S)
        self._paint_done.wait(FRAME_WAIT_S if due else MAX_PAINT_WAIT_S)
        while len(self._queue) >= MAX_QUEUED and not self._closed:
            time.sleep(POLL_S)

    def drain(self, limit: int) -> Iterator[tuple[int, Event]]:
        """At most ``limit`` events, in order."""
        for _ in range(limit):
            try:
                yield self._queue.popleft()
            except IndexError:
                return

    def __len__(self) -> int:
        return len(self._queue)

    def close(self) -> None:
        """Accept no further events and finish the recording."""
        self.end_paint()
        with self._lock:
            self._closed = True
            try:
                self._finish()
            except OSError:
                self.path = None

    def _keep(self, run_id: int, event: Event) -> Notice | None:
        try:
            if run_id != self._run_id:
                self._finish()
                self._run_id = run_id
                self._recording = self._record()
                if self._recording is not None:
                    self.path = self._recording.path
            if self._recording is not None:
                self._recording.add(event)
            if isinstance(event, End | Failed):
                self._finish()
        except (OSError, ValueError, SpecvizError) as error:
            self._recording = None
            return Notice(f"This run is no longer recorded: {error}", permanent=True)
        return None

    def _finish(self) -> None:
        recording, self._recording = self._recording, None
        if recording is not None:
            recording.close()
