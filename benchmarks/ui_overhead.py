"""What the screen costs: tokens/s of the app at full speed over tokens/s of `specviz run`, same seed and threads.

    python -m benchmarks.ui_overhead [--repeats 5] [--tokens 256] [--columns 120] [--lines 40] [--keys 60]
                                     [--draft MODEL --target MODEL]

The app runs in a pseudo-terminal that answers like a modern one, so that its frames can be counted. Both sides'
tokens/s come from their traces (sum of emitted tokens over sum of round times); pairs are interleaved. Then the app
runs once more while `-` and `+` are pressed alternately: how long until the new K is on the terminal.
"""

import fcntl
import json
import os
import pty
import re
import select
import struct
import subprocess
import sys
import tempfile
import termios
import time
from pathlib import Path
from statistics import median

from benchmarks.options import parser

FRAME = b"\x1b[?2026h"
"""Begins a synchronised update: one frame."""
STYLING = re.compile(rb"\x1b\[[0-9;?]*[a-zA-Z]")


def run_plain(trace: Path, options: list[str]) -> None:
    command = [sys.executable, "-m", "specviz", "run", "--record", str(trace), *options]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


class Terminal:
    """The app in a pseudo-terminal, recording to ``trace``."""

    def __init__(self, trace: Path, options: list[str], columns: int, lines: int) -> None:
        self._trace = trace
        self.begun = time.monotonic()
        self.frames: list[float] = []
        self.pid, self._file = pty.fork()
        if self.pid == 0:
            os.environ["TERM"] = "xterm-256color"
            os.execv(sys.executable, [sys.executable, "-m", "specviz", "--pace", "0", "--record", str(trace), *options])
        fcntl.ioctl(self._file, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))

    def read(self, seconds: float) -> bytes | None:
        """What came within so many seconds; None: it is over."""
        ready, _, _ = select.select([self._file], [], [], seconds)
        if not ready:
            return b""
        try:
            data = os.read(self._file, 1 << 16)
        except OSError:
            return None
        if b"\x1b[?2026$p" in data:
            self.write(b"\x1b[?2026;2$y")
        self.frames += [time.monotonic()] * data.count(FRAME)
        return data or None

    def write(self, data: bytes) -> None:
        os.write(self._file, data)

    @property
    def rounds_begun(self) -> bool:
        return self._trace.exists() and b'"type": "round"' in self._trace.read_bytes().replace(b'":"', b'": "')

    @property
    def ended(self) -> bool:
        """Whether the text is: its end is recorded."""
        if not self._trace.exists():
            return False
        with self._trace.open("rb") as file:
            file.seek(max(0, self._trace.stat().st_size - 1_000_000))
            return b'"type": "end"' in file.read().replace(b'":"', b'": "')


def run_app(trace: Path, options: list[str], columns: int, lines: int) -> tuple[float, float, float]:
    """Run the app to the end of its text; (seconds to first paint, to first round, frames a second while it ran)."""
    terminal = Terminal(trace, options, columns, lines)
    painted = first_round = ended = None
    while (data := terminal.read(0.02)) is not None:
        now = time.monotonic()
        if painted is None and b"specviz" in data:
            painted = now
        if first_round is None and terminal.rounds_begun:
            first_round = now
        if ended is None and terminal.ended:
            ended = now
            terminal.write(b"q")
    os.waitpid(terminal.pid, 0)
    if painted is None or first_round is None or ended is None:
        raise SystemExit("the app ended before its text did")
    shown = [at for at in terminal.frames if first_round <= at <= ended]
    return painted - terminal.begun, first_round - terminal.begun, len(shown) / (ended - first_round)


def key_times(trace: Path, options: list[str], columns: int, lines: int, presses: int) -> list[float]:
    """Milliseconds from a key that changes K to its being painted, again and again while rounds are made."""
    terminal = Terminal(trace, options, columns, lines)
    while not terminal.rounds_begun:
        if terminal.read(0.02) is None:
            raise SystemExit("the app ended before its text did")
    times: list[float] = []
    while len(times) < presses and not terminal.ended:
        key, k = ("-", 3) if len(times) % 2 == 0 else ("+", 4)
        expected = f"→{k}", f"K {k}"  # from the next round on; already
        rest = time.monotonic() + 0.1
        while time.monotonic() < rest:
            terminal.read(0.01)
        pressed, seen = time.monotonic(), b""
        terminal.write(key.encode())
        while not any(words.encode() in STYLING.sub(b"", seen) for words in expected):
            data = terminal.read(0.01)
            if data is None or time.monotonic() - pressed > 5:
                raise SystemExit(f"the new K, {k}, was not painted")
            seen += data
        times.append((time.monotonic() - pressed) * 1e3)
    terminal.write(b"q")
    while terminal.read(0.1) is not None:
        pass
    os.waitpid(terminal.pid, 0)
    return times


def tokens_per_s(trace: Path) -> float:
    end = json.loads(trace.read_text().splitlines()[-1])
    return float(end["summary"]["timing"]["tokens_per_s"])


def main() -> None:
    arguments = parser(__doc__, repeats=5, tokens=256, columns=120, lines=40)
    arguments.add_argument("--seed", type=int, default=7)
    arguments.add_argument("--keys", type=int, default=60)
    arguments.add_argument("--draft")
    arguments.add_argument("--target")
    given = arguments.parse_args()
    options = ["--seed", str(given.seed)]
    if given.draft and given.target:
        options += ["--draft", given.draft, "--target", given.target]
    many, options = [*options, "--max-new-tokens", "900"], [*options, "--max-new-tokens", str(given.tokens)]
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for n in range(given.repeats):
            plain, shown = Path(folder, f"run-{n}.jsonl"), Path(folder, f"app-{n}.jsonl")
            run_plain(plain, options)
            painted, first_round, frames = run_app(shown, options, given.columns, given.lines)
            rows.append((tokens_per_s(plain), tokens_per_s(shown), painted, first_round, frames))
            run, app, *_ = rows[-1]
            print(
                f"run {run:6.1f} tokens/s   app {app:6.1f}   ratio {app / run:.3f}   "
                f"first paint {painted:.2f} s   first round {first_round:.2f} s   {frames:.1f} frames/s",
                flush=True,
            )
        keys = sorted(key_times(Path(folder, "keys.jsonl"), many, given.columns, given.lines, given.keys))
    ratio = median(app / run for run, app, *_ in rows)
    print(f"median ratio {ratio:.3f}, first paint {median(r[2] for r in rows):.2f} s, ", end="")
    print(f"first round {median(r[3] for r in rows):.2f} s, {median(r[4] for r in rows):.1f} frames/s")
    print(f"key to its picture: {median(keys):.0f} ms, p95 {keys[int(0.95 * len(keys))]:.0f} ms ({len(keys)} keys)")


if __name__ == "__main__":
    main()
