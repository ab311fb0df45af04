"""A program in a pseudo-terminal: what it wrote, what the screen shows, and what it left of the terminal."""

import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Self

import pyte

DEADLINE = 60.0
PROJECT = Path(__file__).parents[2]


class Terminal:
    """Runs ``python arguments`` on a terminal of its own; a context manager that leaves no process behind."""

    def __init__(
        self, arguments: Sequence[str], *, columns: int = 80, lines: int = 24, env: Mapping[str, str] | None = None
    ) -> None:
        self.output = b""
        self.screen = pyte.Screen(columns, lines)
        self._stream = pyte.ByteStream(self.screen)
        self.master, self.slave = pty.openpty()
        fcntl.ioctl(self.slave, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))
        self.settings_before = termios.tcgetattr(self.slave)
        self.process = subprocess.Popen(
            [sys.executable, *arguments],
            stdin=self.slave,
            stdout=self.slave,
            stderr=self.slave,
            cwd=PROJECT,
            env={**os.environ, "TERM": "xterm-256color", "COLORTERM": "truecolor", **(env or {})},
            start_new_session=True,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        for descriptor in (self.master, self.slave):
            if descriptor >= 0:
                os.close(descriptor)

    def send(self, keys: str) -> None:
        os.write(self.master, keys.encode())

    def signal(self, number: signal.Signals) -> None:
        self.process.send_signal(number)

    def read(self, seconds: float = 0.05) -> None:
        ready, _, _ = select.select([self.master], [], [], seconds)
        if ready:
            data = os.read(self.master, 1 << 16)
            self.output += data
            self._stream.feed(_without_queries(data))

    def until(self, reached: Callable[[], object], what: str) -> None:
        deadline = time.monotonic() + DEADLINE
        while not reached():
            assert time.monotonic() < deadline, f"never reached: {what}\n" + self.shown
            self.read()

    def until_shown(self, text: str) -> None:
        self.until(lambda: text in self.shown, text)

    def ended(self) -> int:
        """Wait for the end of the process; its exit code."""
        self.until(lambda: self.process.poll() is not None, "end of the process")
        while select.select([self.master], [], [], 0.05)[0]:
            self.read()
        return self.process.returncode

    @property
    def shown(self) -> str:
        return "\n".join(self.screen.display)

    @property
    def settings(self) -> list[Any]:
        return termios.tcgetattr(self.slave)

    def modes(self) -> dict[int, bool]:
        """The private modes that were switched, by number, as they are now."""
        modes: dict[int, bool] = {}
        for numbers, state in re.findall(rb"\x1b\[\?([\d;]+)([hl])", self.output):
            modes |= {int(number): state == b"h" for number in numbers.split(b";")}
        return modes


def _without_queries(data: bytes) -> bytes:
    """Sequences that pyte takes for text: keyboard protocol and version queries."""
    return re.sub(rb"\x1b\[[<>=][\d;]*[a-zA-Z]|\x1b\[\?[\d;]*\$p", b"", data)
