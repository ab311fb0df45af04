"""Work done beside other work: in a thread of its own, its events and its error kept until somebody waits for it."""

import queue
import threading
from collections.abc import Callable
from types import TracebackType
from typing import Generic, Self, TypeVar

from specviz.core.events import Event
from specviz.core.source import Emit

Result = TypeVar("Result")
PATIENCE_S = 5.0
"""Longest wait for dropped work to notice."""


class Cancelled(BaseException):
    """Nobody wants the work any more. No Exception, so that what handles those does not take it for a failure."""


class BackgroundTask(Generic[Result]):
    """Work that may ``start`` before somebody waits for it.

    Leaving the ``with`` block drops it where nobody did: its next event raises Cancelled in it, and that is waited for,
    so that no thread is left inside a library.
    """

    def __init__(self, work: Callable[[Emit], Result]) -> None:
        self._work = work
        self._events: queue.SimpleQueue[Event | None] = queue.SimpleQueue()
        self._outcome: Result | Exception | None = None
        self._cancelled = False
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        self._thread = threading.Thread(target=self._run, name="specviz-beside", daemon=True)
        self._thread.start()

    def wait(self, emit: Emit) -> Result:
        """What the work returns or raises; ``emit`` is given its events in the calling thread, in which all of it is
        done if it has not begun."""
        if self._thread is None:
            return self._work(emit)
        while (event := self._events.get()) is not None:
            emit(event)
        if isinstance(self._outcome, Exception):
            raise self._outcome
        return self._outcome  # type: ignore[return-value]

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._cancelled = True
        if self._thread is not None:
            self._thread.join(PATIENCE_S)

    def _run(self) -> None:
        try:
            self._outcome = self._work(self._tell)
        except Cancelled:
            pass
        except Exception as error:
            self._outcome = error
        finally:
            self._events.put(None)

    def _tell(self, event: Event) -> None:
        if self._cancelled:
            raise Cancelled
        self._events.put(event)
