"""A recorded run as a source: the same events, without a model."""

from collections.abc import Callable, Iterator
from pathlib import Path

from specviz import bundled
from specviz.config import RunRequest
from specviz.events import End, Event, Notice, Ready, Settings
from specviz.source import Emit
from specviz.tokens import visible
from specviz.trace import Trace, read


class TraceSource:
    """Implements Source on a trace: a path, or ``bundled:demo`` for the one that comes with specviz.

    The numbers of the recording's own summary are not passed on: whoever shows the run counts its rounds.
    """

    def __init__(self, path: str | Path) -> None:
        self.name = str(path)
        self._trace: Trace | None = None

    def open(self, emit: Emit) -> None:
        """Read and check the whole recording, once. Raises SpecvizError where it is none."""
        self._trace = self._trace or read_trace(self.name)
        if self._trace.incomplete:
            name = visible(self.name.encode("utf-8", "surrogateescape"))
            emit(Notice(f"The last record of {name} is incomplete and was left out; everything before it is here."))

    @property
    def rounds(self) -> int:
        """How many rounds the opened recording has."""
        return len(self._trace.rounds) if self._trace else 0

    def run(
        self, request: RunRequest, settings: Callable[[], Settings], stopped: Callable[[], bool]
    ) -> Iterator[Event]:
        """The recorded run, whatever was asked for."""
        if self._trace is None:
            raise RuntimeError("open() comes before run()")
        for event in _events(self._trace):
            if stopped():
                return
            yield event


def read_trace(name: str) -> Trace:
    """The trace of that path or bundled name. Raises SpecvizError."""
    if name.startswith(bundled.PREFIX):
        return read(bundled.trace(name), name)
    return read(Path(name))


def _events(trace: Trace) -> Iterator[Event]:
    yield trace.header
    if trace.calibration:
        yield trace.calibration
    yield Ready()
    yield from trace.rounds
    yield trace.end or End("user", "the recording stops here")
