"""What the screen costs: tokens/s of the app at full speed over tokens/s of `specviz run`, same seed and threads.

    python benchmarks/ui_overhead.py [--repeats 5] [--tokens 256] [--columns 120] [--lines 40]

The app runs in a pseudo-terminal that answers like a modern one, so that its frames can be counted. Both sides'
tokens/s come from their traces (sum of emitted tokens over sum of round times); pairs are interleaved.
"""

import argparse
import fcntl
import json
import os
import pty
import select
import struct
import subprocess
import sys
import tempfile
import termios
import time
from pathlib import Path
from statistics import median

FRAME = b"\x1b[?2026h"
"""Begins a synchronised update: one frame."""


def run_plain(trace: Path, options: list[str]) -> None:
    command = [sys.executable, "-m", "specviz", "run", "--record", str(trace), *options]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


def run_app(trace: Path, options: list[str], columns: int, lines: int) -> tuple[float, float, float]:
    """Run the app to the end of its text; (seconds to first paint, to first round, frames a second while it ran)."""
    begun = time.monotonic()
    pid, terminal = pty.fork()
    if pid == 0:
        os.environ["TERM"] = "xterm-256color"
        os.execv(sys.executable, [sys.executable, "-m", "specviz", "--pace", "0", "--record", str(trace), *options])
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))
    frames: list[float] = []
    painted = first_round = ended = None
    quitting = False
    while True:
        ready, _, _ = select.select([terminal], [], [], 0.02)
        now = time.monotonic()
        if ready:
            try:
                data = os.read(terminal, 1 << 16)
            except OSError:
                break
            if not data:
                break
            if b"\x1b[?2026$p" in data:
                os.write(terminal, b"\x1b[?2026;2$y")
            if painted is None and b"specviz" in data:
                painted = now
            frames += [now] * data.count(FRAME)
        lines_written = trace.read_bytes().count(b"\n") if trace.exists() and not quitting else 0
        if first_round is None and lines_written > 2:
            first_round = now
        if (
            not quitting
            and lines_written
            and b'"type": "end"' in trace.read_bytes()[-1_000_000:].replace(b'":"', b'": "')
        ):
            ended, quitting = now, True
            os.write(terminal, b"q")
    os.waitpid(pid, 0)
    if painted is None or first_round is None or ended is None:
        raise SystemExit("the app ended before its text did")
    shown = [at for at in frames if first_round <= at <= ended]
    return painted - begun, first_round - begun, len(shown) / (ended - first_round)


def tokens_per_s(trace: Path) -> float:
    end = json.loads(trace.read_text().splitlines()[-1])
    return float(end["summary"]["timing"]["tokens_per_s"])


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--repeats", type=int, default=5)
    arguments.add_argument("--tokens", type=int, default=256)
    arguments.add_argument("--columns", type=int, default=120)
    arguments.add_argument("--lines", type=int, default=40)
    arguments.add_argument("--seed", type=int, default=7)
    given = arguments.parse_args()
    options = ["--seed", str(given.seed), "--max-new-tokens", str(given.tokens)]
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
    ratio = median(app / run for run, app, *_ in rows)
    print(f"median ratio {ratio:.3f}, first paint {median(r[2] for r in rows):.2f} s, ", end="")
    print(f"first round {median(r[3] for r in rows):.2f} s, {median(r[4] for r in rows):.1f} frames/s")


if __name__ == "__main__":
    main()
