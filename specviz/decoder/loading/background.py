"""A background task: work in a thread whose events and error are kept until someone waits for them."""

import queue
import threading
from collections.abc import Callable
from typing import Generic, Self, TypeVar

from specviz.core.events import Event
from specviz.core.source import Emit

Result = TypeVar("Result")
JOIN_TIMEOUT_S = 5.0
"""Longest wait for cancelled work to stop."""


class Cancelled(BaseException):
    """The work is not needed any more. Not an Exception, so that error handlers do not take it for a failure."""


class BackgroundTask(Generic[Result]):
    """Work that may ``start`` before someone waits for it. Leaving the ``with`` block cancels the work: its next event
    raises Cancelled inside it. The block waits for that, so that no thread is left inside a library."""

    def __init__(self, work: Callable[[Emit], Result]) -> None:
        self._work = work
        self._events: queue.SimpleQueue[Event | None] = queue.SimpleQueue()
        self._outcome: Result | Exception | None = None
        self._cancelled = False
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        self._thread = threading.Thread(target=self._run, name="specviz-background", daemon=True)
        self._thread.start()

    def wait(self, emit: Emit) -> Result:
        """Return or raise what the work does; ``emit`` receives its events in the calling thread. Work that has not
        been started is done in the calling thread."""
        if self._thread is None:
            return self._work(emit)
        while (event := self._events.get()) is not None:
            emit(event)
        if isinstance(self._outcome, Exception):
            raise self._outcome
        return self._outcome  # type: ignore[return-value]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._cancelled = True
        if self._thread is not None:
            self._thread.join(JOIN_TIMEOUT_S)

    def _run(self) -> None:
        try:
            self._outcome = self._work(self._queue_event)
        except Cancelled:
            pass
        except Exception as error:
            self._outcome = error
        finally:
            self._events.put(None)

    def _queue_event(self, event: Event) -> None:
        if self._cancelled:
            raise Cancelled
        self._events.put(event)
