"""Recorded runs as a source: the same events, without a model."""

import re
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from specviz import bundled
from specviz.core.events import Calibration, End, Event, Header, Notice, Progress, Ready, Round, Settings
from specviz.core.options import RunRequest
from specviz.core.safe_text import visible_path
from specviz.core.source import RECORDED, Emit
from specviz.trace.jsonl import Record, Trace, read, records
from specviz.trace.round_store import RoundFile

AT_ONCE = 2**24
"""Bytes of a recording that are read and checked before anything of it is shown: some tenths of a second."""
TAIL = 2**20
"""Bytes at the end of a long recording in which its last round is looked for."""
_LAST_INDEX = re.compile(rb'\{"type": ?"round", ?"index": ?([0-9]{1,15}),')


class TraceSource:
    """Implements Source on one or more traces: paths, or ``bundled:demo`` for the bundled one. The summary in a
    recording is not passed on: its rounds are counted again. Nothing is cached: every run reads its file again.
    ``compact``: rounds come without their top lists, raw distributions and details, and ``lines`` reads the whole ones
    back; it belongs to the latest run."""

    def __init__(self, *paths: str | Path, compact: bool = False, whole_up_to: int = AT_ONCE) -> None:
        self.capabilities = RECORDED
        self.names = tuple(map(str, paths))
        self.lines: RoundFile | None = None
        self._bare = compact
        self._whole_up_to = whole_up_to
        self._recorded: tuple[_Recorded, ...] = ()

    def open(self, emit: Emit) -> None:
        """Find the recordings; read and check each, or the beginning of a long one. Raises SpecvizError where one is
        none."""
        self._recorded = self._recorded or tuple(_Recorded(name, self._whole_up_to) for name in self.names)
        for recorded in self._recorded:
            if recorded.whole and recorded.incomplete:
                emit(recorded.notice())

    @property
    def rounds(self) -> int:
        """How many rounds the first opened recording has; of a long one, how many its end says it has."""
        return self._recorded[0].rounds if self._recorded else 0

    def run(
        self, request: RunRequest, settings: Callable[[], Settings], stopped: Callable[[], bool]
    ) -> Iterator[Event]:
        """The recorded run number ``request.recording``, whatever else was requested; of a long one, a Progress says
        first how many rounds it seems to have. Raises SpecvizError at a line that is none of a trace."""
        if not self._recorded:
            raise RuntimeError("open() comes before run()")
        for event in self._events(self._recorded[request.recording]):
            if stopped():
                return
            yield event

    def _events(self, recorded: "_Recorded") -> Iterator[Event]:
        ready = False
        end = End("user", "the recording stops here")
        if not recorded.whole:
            yield Progress("recording", 0, recorded.rounds or None, "rounds")
        for offset, event in recorded.records(compact=self._bare):
            if isinstance(event, Header):
                self.lines = recorded.lines()
            elif not ready and not isinstance(event, Calibration):
                ready = True
                yield Ready()
            if isinstance(event, Round) and self.lines is not None:
                self.lines.add(offset)
            if event is None and not recorded.whole:
                yield recorded.notice()
            elif isinstance(event, End):
                end = event
            elif event is not None:
                yield event
        if not ready:
            yield Ready()
        yield end


class _Recorded:
    """A recording that was found and scanned; ``whole``: to its end."""

    def __init__(self, name: str, whole_up_to: int) -> None:
        self.rounds = 0
        self.whole = self.incomplete = False
        self._name = name
        self._path = self._kept(trace_path(name))
        self._look_over(whole_up_to)

    def _look_over(self, whole_up_to: int) -> None:
        for offset, event in self.records(compact=True):
            self.rounds += isinstance(event, Round)
            self.incomplete = event is None
            if offset > whole_up_to:
                self.rounds = max(self.rounds, last_index(self._path))
                return
        self.whole = True

    def _kept(self, path: Path) -> Path:
        """The path, or that of a copy for as long as this lives where the file can be read only once."""
        if not path.is_fifo():
            return path
        self._copy = tempfile.NamedTemporaryFile(suffix=".jsonl")  # noqa: SIM115
        with path.open("rb") as pipe:
            shutil.copyfileobj(pipe, self._copy)
        self._copy.flush()
        return Path(self._copy.name)

    def records(self, *, compact: bool) -> Iterator[Record]:
        return records(self._path, shown_name(self._name), compact=compact)

    def lines(self) -> RoundFile:
        """The file to read rounds back from; their offsets are added as the run is read."""
        return RoundFile(self._path.open("rb"), self._name)

    def notice(self) -> Notice:
        name = visible_path(self._name)
        return Notice(f"The last record of {name} is incomplete and was left out; everything before it is here.")


def trace_path(name: str) -> Path:
    """The file of that path or bundled name. Raises SpecvizError."""
    return bundled.trace(name) if name.startswith(bundled.PREFIX) else Path(name)


def shown_name(name: str) -> str | None:
    """What errors call a trace instead of its path."""
    return name if name.startswith(bundled.PREFIX) else None


def last_index(path: Path) -> int:
    """The index of the last round in a file, according to its end; 0 if unknown."""
    try:
        with path.open("rb") as file:
            file.seek(max(0, path.stat().st_size - TAIL))
            return max(map(int, _LAST_INDEX.findall(file.read())), default=0)
    except OSError:
        return 0


def read_trace(name: str, *, compact: bool = False) -> Trace:
    """The trace of that path or bundled name; ``compact``: without top lists, raw distributions and details. Raises
    SpecvizError."""
    return read(trace_path(name), shown_name(name), compact=compact)
