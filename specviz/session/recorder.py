"""A run written to a file as it happens, and the folder of the user's last runs."""

import contextlib
import os
import re
import secrets
import stat
import tempfile
import threading
from datetime import UTC, datetime
from pathlib import Path
from typing import BinaryIO, Self, cast

from platformdirs import user_state_path

from specviz.core.errors import SpecvizError
from specviz.core.events import End, Event, Failed, Header, Round, StopReason
from specviz.core.safe_text import visible_path
from specviz.stats.run_stats import RunStats
from specviz.trace.codec import encode
from specviz.trace.round_store import RoundFile

IN_MEMORY = 2**26
"""Bytes of an unrecorded run kept in memory before a temporary file is used."""
KEPT = 20
"""Traces in the folder of the user's runs."""
_NAME = re.compile(r"run-\d{8}-\d{6}-\d{6}-[0-9a-f]{6}\.jsonl")


class Recorder:
    """Writes the events of one run to ``path``, readable by its owner only.

    Each line is flushed as its event is added. The header begins the file, End or Failed completes it; if it is closed
    without either, the run was ended by the user. A file without a header is removed. A file system error ends the
    recording, not the run, and is kept in ``problem``. Events may arrive on another thread than the one that closes.
    ``lines`` gives access to the rounds, from the header on, even after the end.

    Raises SpecvizError if the file cannot be created, or exists and ``overwrite`` is false. An old file is kept until
    the header of the new run arrives.
    """

    def __init__(self, path: str | Path, *, overwrite: bool = False) -> None:
        self.path = Path(path)
        self.problem: str | None = None
        self.lines: RoundFile | None = None
        self._size = 0
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
                case Header() if self._begun:
                    self._finish()
                case Failed(message):
                    self._finish(End("error", message))
                case End():
                    self._finish(event)
                case _ if self._begun or isinstance(event, Header):
                    self._stop = event.stop if isinstance(event, Round) else self._stop
                    self._record(event)

    def close(self) -> None:
        """End the recording; closing twice does nothing."""
        with self._lock:
            self._finish()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _record(self, event: Event) -> None:
        self._stats.add(event)
        line = encode(event, self._stats.summary() if isinstance(event, End) else None)
        if line is None:
            return
        data = line.encode() + b"\n"
        try:
            if not self._begun:
                self._begin()
            self._file.write(data)
            self._file.flush()
        except OSError as error:
            self._release()
            name = visible_path(self.path)
            self.problem = f"{name} cannot be written ({error.strerror}): this run is no longer recorded."
            return
        if isinstance(event, Round) and self.lines is not None:
            self.lines.add(self._size)
        self._size += len(data)

    def _begin(self) -> None:
        self._file.truncate(0)
        self._begun = True
        with contextlib.suppress(OSError):
            self.lines = RoundFile(self.path.open("rb"), self.path)

    def _finish(self, end: End | None = None) -> None:
        """Without an End, the run was ended by the user, unless its last round had ended the text."""
        if self._begun and not self._file.closed:
            self._record(end or End(self._stop or "user"))
        self._release()

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
            raise SpecvizError(f"{visible_path(path)} is not a regular file: choose another one to record to.")
        if not overwrite:
            raise SpecvizError(f"{visible_path(path)} exists: choose another file, or overwrite it with --force.")
        descriptor = os.open(path, flags)
        with contextlib.suppress(OSError):
            path.chmod(0o600)
        return False, descriptor
    except FileNotFoundError:
        raise SpecvizError(f"{visible_path(path)}: the folder does not exist: create it first.") from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise SpecvizError(
            f"{visible_path(path)} cannot be written ({reason}): choose another file to record to."
        ) from None


def runs_folder() -> Path:
    return user_state_path("specviz", appauthor=False) / "runs"


def recorded_runs() -> list[Path]:
    """The recorded runs, latest first."""
    with contextlib.suppress(OSError):
        return sorted((path for path in runs_folder().iterdir() if _NAME.fullmatch(path.name)), reverse=True)
    return []


def new_run_path() -> Path:
    """A new path for the next run, named by the time in UTC; the oldest runs beyond the limit are deleted. Raises
    SpecvizError if the folder cannot be created."""
    folder = runs_folder()
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        folder.chmod(0o700)
    except OSError as error:
        raise SpecvizError(
            f"{visible_path(folder)} cannot be used to store runs ({error.strerror}): use --no-record to run without "
            "recording."
        ) from None
    for old in recorded_runs()[KEPT - 1 :]:
        with contextlib.suppress(OSError):
            old.unlink()
    return folder / f"run-{datetime.now(UTC):%Y%m%d-%H%M%S-%f}-{secrets.token_hex(3)}.jsonl"
