"""Recorded runs as a source: the same events, without a model."""

from collections.abc import Callable, Iterator
from pathlib import Path

from specviz import bundled
from specviz.config import RunRequest
from specviz.events import End, Event, Notice, Ready, Settings
from specviz.source import Emit
from specviz.tokens import visible
from specviz.trace import Trace, read


class TraceSource:
    """Implements Source on one or more traces: paths, or ``bundled:demo`` for the one that comes with specviz.

    The numbers of a recording's own summary are not passed on: whoever shows the run counts its rounds.
    """

    def __init__(self, *paths: str | Path) -> None:
        self.names = tuple(map(str, paths))
        self._traces: tuple[Trace, ...] = ()

    def open(self, emit: Emit) -> None:
        """Read and check all recordings whole, once. Raises SpecvizError where one is none."""
        self._traces = self._traces or tuple(map(read_trace, self.names))
        for name, trace in zip(self.names, self._traces, strict=True):
            if trace.incomplete:
                shown = visible(name.encode("utf-8", "surrogateescape"))
                emit(
                    Notice(f"The last record of {shown} is incomplete and was left out; everything before it is here.")
                )

    def run(
        self, request: RunRequest, settings: Callable[[], Settings], stopped: Callable[[], bool]
    ) -> Iterator[Event]:
        """The recorded run number ``request.recording``, whatever else was asked for."""
        if not self._traces:
            raise RuntimeError("open() comes before run()")
        for event in _events(self._traces[request.recording]):
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
