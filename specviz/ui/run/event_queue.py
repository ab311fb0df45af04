"""The way from the worker thread to the screen: recorded first, then queued, then one wake-up for many."""

import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from pathlib import Path

from specviz.core.errors import SpecvizError
from specviz.core.events import End, Event, Failed, Header, Notice
from specviz.trace.round_store import RoundLines
from specviz.ui.shared.app_options import Recording

MAX_QUEUED = 256
"""Events a source may be ahead of the screen; beyond that it waits, so that a pause is a pause."""
POLL_S = 0.005
MAX_PAINT_WAIT_S = 0.05
FRAME_WAIT_S = 0.015
"""Most seconds the worker waits between two rounds while the screen is painted: too short to cool a processor down."""
FIRST_PAINT_WAIT_S = 0.5
"""Most seconds the worker waits for the screen of a new run."""


class EventQueue:
    """Receives what the session delivers.

    ``deliver`` runs on the worker thread: it records the event, queues it and calls ``wake``, which must be cheap,
    thread-safe and may merge. ``drain`` runs on the screen's thread. Nothing is queued that was not recorded first.
    """

    def __init__(self, record: Callable[[], Recording | None], wake: Callable[[], object]) -> None:
        self._record = record
        self._wake = wake
        self._queue: deque[tuple[int, Event]] = deque()
        self._lock = threading.Lock()
        self._run_id = 0
        self._recording: Recording | None = None
        self._latest: Recording | None = None
        self._closed = False
        self.path: Path | None = None
        self._first_paint_done = threading.Event()
        self._paint_done = threading.Event()
        self._paint_done.set()
        self.paint_at: float | None = None
        """From when on the screen is painted behind the next event; None: it does not paint by rounds."""

    def end_paint(self) -> None:
        """The screen shows what was drained so far."""
        self._first_paint_done.set()
        self._paint_done.set()

    def begin_paint(self) -> None:
        """The screen is about to paint and should have the interpreter for itself, for ``HELD`` seconds at most."""
        self._paint_done.clear()

    def deliver(self, run_id: int, event: Event) -> None:
        if isinstance(event, Header):
            self._first_paint_done.clear()
        with self._lock:
            if self._closed:
                return
            trouble = self._keep(run_id, event)
            come = [(0, trouble), (run_id, event)] if trouble else [(run_id, event)]
            self._queue.extend(come)
        due = self.paint_at is not None and time.monotonic() >= self.paint_at
        if due:  # between two rounds there is nothing that painting could hold up
            self._paint_done.clear()
        if due or len(self._queue) <= len(come):  # else the screen has been woken and is still to look
            self._wake()
        if isinstance(event, Header):  # behind it models are timed: not while the screen of the run is being laid out
            self._first_paint_done.wait(FIRST_PAINT_WAIT_S)
        self._paint_done.wait(FRAME_WAIT_S if due else MAX_PAINT_WAIT_S)
        while len(self._queue) >= MAX_QUEUED and not self._closed:
            time.sleep(POLL_S)

    def drain(self, limit: int) -> Iterator[tuple[int, Event]]:
        """At most ``limit`` events in the order they came."""
        for _ in range(limit):
            try:
                yield self._queue.popleft()
            except IndexError:
                return

    def __len__(self) -> int:
        return len(self._queue)

    def close(self) -> None:
        """Take nothing more and finish the recording."""
        self.end_paint()
        with self._lock:
            self._closed = True
            try:
                self._finish()
            except OSError:
                self.path = None

    @property
    def lines(self) -> RoundLines | None:
        """The way back to the rounds of the latest run, once its header has come."""
        return self._latest.lines if self._latest is not None else None

    def _keep(self, run_id: int, event: Event) -> Notice | None:
        try:
            if run_id != self._run_id:
                self._finish()
                self._run_id = run_id
                self._recording = self._latest = self._record()
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
