"""Keeps the output of libraries off the screen, and quits the app cleanly on signals."""

import asyncio
import contextlib
import logging
import os
import signal
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Self, TextIO

TAIL_BYTES = 64_000
SIGNALS = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))


class TerminalGuard:
    """Redirects file descriptor 2, warnings and logging to a file; the app draws on a copy of the terminal. Textual
    draws on ``sys.__stderr__``, which is bound to that copy first. On exit everything is restored, so that a traceback
    printed later is visible. ``path`` None: a temporary file, removed on exit."""

    def __init__(self, path: Path | None = None) -> None:
        self._path = path
        self._undo = contextlib.ExitStack()
        self._log: TextIO | None = None

    def __enter__(self) -> Self:
        with contextlib.ExitStack() as undo:
            log = undo.enter_context(self._open())
            terminal = undo.enter_context(os.fdopen(os.dup(2), "w", encoding="utf-8", errors="replace"))
            undo.callback(setattr, sys, "__stderr__", sys.__stderr__)
            sys.__stderr__ = terminal  # type: ignore[misc]
            undo.callback(os.dup2, terminal.fileno(), 2)
            undo.callback(_flush, sys.stderr)
            _flush(sys.stderr)
            os.dup2(log.fileno(), 2)
            self._collect_logging(log, undo)
            self._log = log
            self._undo = undo.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._log = None
        self._undo.close()

    def tail(self, lines: int) -> Sequence[str]:
        """The last lines written so far; empty outside the guard."""
        if self._log is None:
            return ()
        self._log.flush()
        descriptor = self._log.fileno()
        size = os.fstat(descriptor).st_size
        data = os.pread(descriptor, TAIL_BYTES, max(0, size - TAIL_BYTES))
        return data.decode("utf-8", "replace").splitlines()[-lines:]

    def _open(self) -> TextIO:
        if self._path is None:
            return tempfile.TemporaryFile("a+", encoding="utf-8", errors="backslashreplace", prefix="specviz-")
        self._path.parent.mkdir(parents=True, exist_ok=True)
        return self._path.open("a+", encoding="utf-8", errors="backslashreplace")

    @staticmethod
    def _collect_logging(log: TextIO, undo: contextlib.ExitStack) -> None:
        handler = logging.StreamHandler(log)
        handler.setFormatter(logging.Formatter("%(levelname)s %(name)s: %(message)s"))
        handler.setLevel(logging.WARNING)
        root = logging.getLogger()
        root.addHandler(handler)
        undo.callback(root.removeHandler, handler)
        logging.captureWarnings(True)
        undo.callback(logging.captureWarnings, False)


def _flush(stream: TextIO | None) -> None:
    if stream is not None:
        with contextlib.suppress(OSError, ValueError):
            stream.flush()


@contextlib.contextmanager
def quit_on_signals(quit_app: Callable[[int], None]) -> Iterator[None]:
    """While the running event loop lasts, a terminating signal calls ``quit_app(128 + its number)``. Where handlers
    cannot be installed (outside the main thread, on Windows), signals keep their default effect."""
    loop = asyncio.get_running_loop()
    installed = []
    for number in SIGNALS:
        with contextlib.suppress(NotImplementedError, RuntimeError, ValueError):
            loop.add_signal_handler(number, quit_app, 128 + number)
            installed.append(number)
    try:
        yield
    finally:
        for number in installed:
            loop.remove_signal_handler(number)
