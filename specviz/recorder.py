"""A run written to a file as it happens."""

import contextlib
import os
import stat
import threading
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Self

from specviz.errors import SpecvizError
from specviz.events import End, Event, Failed, Header, Round, StopReason
from specviz.stats import RunStats
from specviz.tokens import visible
from specviz.trace import dump


class Recorder:
    """Takes the events of one run and keeps them in ``path``, readable by its owner only.

    A line is flushed as soon as its event is added. The header begins the file, the end or a failure closes it;
    closed without either, the run was ended by the user. A file without a header is not left behind. An error of the
    file system ends the recording, not the run: it is told once, to ``on_problem``, and stays in ``problem``.
    Events may come from another thread than the one that closes.

    Raises SpecvizError where the file cannot be made, or exists and ``overwrite`` is false; an old file is kept until
    the header of the new run is there.
    """

    def __init__(
        self, path: str | Path, *, overwrite: bool = False, on_problem: Callable[[str], None] | None = None
    ) -> None:
        self.path = Path(path)
        self.problem: str | None = None
        self._on_problem = on_problem
        self._stats = RunStats()
        self._new, descriptor = _open(self.path, overwrite)
        self._file = os.fdopen(descriptor, "wb")
        self._begun = False
        self._stop: StopReason | None = None
        self._turn = threading.Lock()

    def add(self, event: Event) -> None:
        """Record the event if a trace holds such events and the run is not over."""
        with self._turn:
            if self._file.closed:
                return
            match event:
                case Header() if not self._begun:
                    self._begin(event)
                case Header():
                    self._finish(self._broken_off())
                case Failed(message):
                    self._finish(End("error", message))
                case End():
                    self._finish(event)
                case _ if self._begun:
                    self._stop = event.stop if isinstance(event, Round) else self._stop
                    self._record(event)

    def close(self) -> None:
        """End the recording. Does nothing on a closed one."""
        with self._turn:
            self._finish(self._broken_off())

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def _broken_off(self) -> End:
        """How a run without an End ended: by the user, unless its last round had ended the text."""
        return End(self._stop or "user")

    def _begin(self, header: Header) -> None:
        try:
            self._file.truncate(0)
        except OSError as error:
            self._give_up(error)
            return
        self._begun = True
        self._record(header)

    def _record(self, event: Event) -> None:
        self._stats.add(event)
        line = dump(event, self._stats.summary() if isinstance(event, End) else None)
        if line is None:
            return
        try:
            self._file.write(line.encode() + b"\n")
            self._file.flush()
        except OSError as error:
            self._give_up(error)

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
        raise SpecvizError(f"{_shown(path)}: there is no folder to record to: make it first.") from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise SpecvizError(f"{_shown(path)} cannot be written ({reason}): choose another file to record to.") from None


def _shown(path: Path) -> str:
    return visible(str(path).encode("utf-8", "surrogateescape"))
