"""A recorded run as a source: the same events, without a model."""

import re
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from specviz import bundled
from specviz.config import RunRequest
from specviz.events import Calibration, End, Event, Header, Notice, Progress, Ready, Round, Settings
from specviz.rounds import RoundLines
from specviz.source import Emit
from specviz.tokens import visible
from specviz.trace import Trace, read, records

AT_ONCE = 2**24
"""Bytes of a recording that are read and checked before anything of it is shown: some tenths of a second."""
TAIL = 2**20
"""Bytes at the end of a long recording in which its last round is looked for."""
_LAST_INDEX = re.compile(rb'\{"type": ?"round", ?"index": ?([0-9]{1,15}),')


class TraceSource:
    """Implements Source on a trace: a path, or ``bundled:demo`` for the one that comes with specviz.

    The numbers of the recording's own summary are not passed on: whoever shows the run counts its rounds. Nothing is
    kept: every run reads the file again. ``bare``: rounds come without their top lists, raw distributions and details,
    and ``lines`` is the way back to the whole ones; it belongs to the run that began last.
    """

    def __init__(self, path: str | Path, *, bare: bool = False) -> None:
        self.name = str(path)
        self.lines: RoundLines | None = None
        self._bare = bare
        self._path: Path | None = None
        self._rounds = 0
        self._whole = self._incomplete = False

    def open(self, emit: Emit) -> None:
        """Find the recording; read and check it, or the beginning of a long one: then a Progress says how many rounds
        it seems to have. Raises SpecvizError where it is none."""
        self._path = self._path or self._kept(trace_path(self.name))
        if not self._rounds and not self._whole:
            self._look_over(self._path)
        if not self._whole:
            emit(Progress("recording", 0, self._rounds or None, "rounds"))
        elif self._incomplete:
            emit(self._notice())

    def _look_over(self, path: Path) -> None:
        for offset, event in records(path, shown_name(self.name), bare=True):
            self._rounds += isinstance(event, Round)
            self._incomplete = event is None
            if offset > AT_ONCE:
                self._rounds = max(self._rounds, last_index(path))
                return
        self._whole = True

    def _kept(self, path: Path) -> Path:
        """The path, or that of a copy for as long as this source lives where the file can be read only once."""
        if not path.is_fifo():
            return path
        self._copy = tempfile.NamedTemporaryFile(suffix=".jsonl")  # noqa: SIM115
        with path.open("rb") as pipe:
            shutil.copyfileobj(pipe, self._copy)
        self._copy.flush()
        return Path(self._copy.name)

    @property
    def rounds(self) -> int:
        """How many rounds the opened recording has; of a long one, how many its end says it has."""
        return self._rounds

    def run(
        self, request: RunRequest, settings: Callable[[], Settings], stopped: Callable[[], bool]
    ) -> Iterator[Event]:
        """The recorded run, whatever was asked for. Raises SpecvizError at a line that is none of a trace."""
        if self._path is None:
            raise RuntimeError("open() comes before run()")
        for event in self._events(self._path):
            if stopped():
                return
            yield event

    def _events(self, path: Path) -> Iterator[Event]:
        ready = False
        end = End("user", "the recording stops here")
        for offset, event in records(path, shown_name(self.name), bare=self._bare):
            if isinstance(event, Header):
                self.lines = RoundLines(path.open("rb"), self.name)
            elif not ready and not isinstance(event, Calibration):
                ready = True
                yield Ready()
            if isinstance(event, Round) and self.lines is not None:
                self.lines.add(offset)
            if event is None and not self._whole:
                yield self._notice()
            elif isinstance(event, End):
                end = event
            elif event is not None:
                yield event
        if not ready:
            yield Ready()
        yield end

    def _notice(self) -> Notice:
        name = visible(self.name.encode("utf-8", "surrogateescape"))
        return Notice(f"The last record of {name} is incomplete and was left out; everything before it is here.")


def trace_path(name: str) -> Path:
    """The file of that path or bundled name. Raises SpecvizError."""
    return bundled.trace(name) if name.startswith(bundled.PREFIX) else Path(name)


def shown_name(name: str) -> str | None:
    """What errors call a trace instead of its path."""
    return name if name.startswith(bundled.PREFIX) else None


def last_index(path: Path) -> int:
    """The index of the last round in a file, as far as its end tells; 0: it does not."""
    try:
        with path.open("rb") as file:
            file.seek(max(0, path.stat().st_size - TAIL))
            return max(map(int, _LAST_INDEX.findall(file.read())), default=0)
    except OSError:
        return 0


def read_trace(name: str, *, bare: bool = False) -> Trace:
    """The trace of that path or bundled name; ``bare``: without top lists, raw distributions and details. Raises
    SpecvizError."""
    return read(trace_path(name), shown_name(name), bare=bare)
