"""A run written to a file as it happens."""

import contextlib
import os
import stat
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO, Self, cast

from specviz.core.errors import SpecvizError
from specviz.core.events import End, Event, Failed, Header, Round, StopReason
from specviz.core.safe_text import visible
from specviz.stats.run_stats import RunStats
from specviz.trace.codec import encode
from specviz.trace.round_store import RoundFile

IN_MEMORY = 2**26
"""Bytes of an unrecorded run kept in memory before a temporary file is used."""


class Recorder:
    """Writes the events of one run to ``path``, readable by its owner only.

    Each line is flushed as its event is added. The header begins the file, End or Failed completes it; if it is closed
    without either, the run was ended by the user. A file without a header is removed. A file system error ends the
    recording, not the run: it is reported once to ``on_problem`` and kept in ``problem``. Events may arrive on another
    thread than the one that closes. ``lines`` gives access to the rounds, from the header on, even after the end.

    Raises SpecvizError if the file cannot be created, or exists and ``overwrite`` is false. An old file is kept until
    the header of the new run arrives.
    """

    def __init__(
        self, path: str | Path, *, overwrite: bool = False, on_problem: Callable[[str], None] | None = None
    ) -> None:
        self.path = Path(path)
        self.problem: str | None = None
        self.lines: RoundFile | None = None
        self._size = 0
        self._on_problem = on_problem
        self._stats = RunStats()
        self._new, descriptor = _open(self.path, overwrite)
        self._file = os.fdopen(descriptor, "wb")
        self._begun = False
        self._stop: StopReason | None = None
        self._lock = threading.Lock()

    def add(self, event: Event) -> None:
        """Record the event if it belongs in a trace and the run is not over."""
        with self._lock:
            if self._file.closed:
                return
            match event:
                case Header() if not self._begun:
                    self._begin(event)
                case Header():
                    self._finish(self._implicit_end())
                case Failed(message):
                    self._finish(End("error", message))
                case End():
                    self._finish(event)
                case _ if self._begun:
                    self._stop = event.stop if isinstance(event, Round) else self._stop
                    self._record(event)

    def close(self) -> None:
        """End the recording; closing twice does nothing."""
        with self._lock:
            self._finish(self._implicit_end())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _implicit_end(self) -> End:
        """How a run without an End ended: by the user, unless its last round had ended the text."""
        return End(self._stop or "user")

    def _begin(self, header: Header) -> None:
        try:
            self._file.truncate(0)
        except OSError as error:
            self._give_up(error)
            return
        self._begun = True
        with contextlib.suppress(OSError):
            self.lines = RoundFile(self.path.open("rb"), self.path)
        self._record(header)

    def _record(self, event: Event) -> None:
        self._stats.add(event)
        line = encode(event, self._stats.summary() if isinstance(event, End) else None)
        if line is None:
            return
        data = line.encode() + b"\n"
        try:
            self._file.write(data)
            self._file.flush()
        except OSError as error:
            self._give_up(error)
            return
        if isinstance(event, Round) and self.lines is not None:
            self.lines.add(self._size)
        self._size += len(data)

    def _finish(self, end: End) -> None:
        if self._file.closed:
            return
        if self._begun:
            self._record(end)
        self._release()

    def _give_up(self, error: OSError) -> None:
        self._release()
        self.problem = f"{_shown(self.path)} cannot be written ({error.strerror}): this run is no longer recorded."
        if self._on_problem:
            self._on_problem(self.problem)

    def _release(self) -> None:
        with contextlib.suppress(OSError):
            self._file.close()
        if self._new and not self._begun:
            with contextlib.suppress(OSError):
                self.path.unlink()


class SpooledRounds:
    """Keeps the rounds of a run that is not recorded: in memory while few, then in an unnamed temporary file."""

    path = None

    def __init__(self, in_memory: int = IN_MEMORY) -> None:
        self._file = tempfile.SpooledTemporaryFile(max_size=in_memory)  # noqa: SIM115 (it lives as long as the rounds)
        self.lines = RoundFile(cast(BinaryIO, self._file), "The temporary file of this run")

    def add(self, event: Event) -> None:
        """Keep the event if it is a round. Raises OSError if the disk is full."""
        if isinstance(event, Round) and (line := encode(event)):
            with self.lines.lock:
                offset = self._file.seek(0, os.SEEK_END)
                self._file.write(line.encode() + b"\n")
                self._file.flush()
            self.lines.add(offset)

    def close(self) -> None:
        """The run is over; its rounds stay readable."""


def _open(path: Path, overwrite: bool) -> tuple[bool, int]:
    """(whether the file is new, a descriptor to write it) with mode 0600."""
    flags = os.O_WRONLY | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
    try:
        with contextlib.suppress(FileExistsError):
            return True, os.open(path, flags | os.O_CREAT | os.O_EXCL, 0o600)
        if not stat.S_ISREG(path.stat().st_mode):
            raise SpecvizError(f"{_shown(path)} is not a regular file: choose another one to record to.")
        if not overwrite:
            raise SpecvizError(f"{_shown(path)} exists: choose another file, or overwrite it with --force.")
        descriptor = os.open(path, flags)
        with contextlib.suppress(OSError):
            path.chmod(0o600)
        return False, descriptor
    except FileNotFoundError:
        raise SpecvizError(f"{_shown(path)}: the folder does not exist: create it first.") from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise SpecvizError(f"{_shown(path)} cannot be written ({reason}): choose another file to record to.") from None


def _shown(path: Path) -> str:
    return visible(str(path).encode("utf-8", "surrogateescape"))
