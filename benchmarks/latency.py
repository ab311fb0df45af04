"""Short waits that a user notices: what a key, a round or a usage error costs.

    python -m benchmarks.latency [--repeats 5]

Medians of the repeats. "process" rows are wall-clock times of fresh processes; the others are CPU times in this one.
"""

import asyncio
import subprocess
import sys
import time
from collections.abc import Callable
from statistics import median

from benchmarks.options import parser
from specviz import bundled
from specviz.breakpoints.monitor import BreakpointMonitor, parse_breakpoint
from specviz.lab.model import LabPoint
from specviz.render.glyphs import UNICODE
from specviz.trace.jsonl import read
from specviz.ui.inspector.layout import report_lines
from specviz.ui.lab.app import LabApp
from specviz.ui.lab.screen import LabScreen

ROUNDS = read(bundled.trace("bundled:demo")).rounds
PROCESSES = {
    "usage error": (["run", "--k", "x"], 2),
    "specviz --help": (["--help"], 0),
    "stats bundled:demo": (["stats", "bundled:demo"], 0),
    "a million toy rounds": (["simulate", "--rounds", "1000000", "--vocab", "1000", "--k", "8"], 0),
}


def process_s(args: list[str], code: int) -> float:
    begun = time.perf_counter()
    done = subprocess.run([sys.executable, "-m", "specviz", *args], capture_output=True, check=False)
    assert done.returncode == code, done.stderr.decode()
    return time.perf_counter() - begun


def cpu_ms(work: Callable[[], int]) -> float:
    """CPU time of one of the pieces that ``work`` counts."""
    begun = time.process_time()
    pieces = work()
    return 1e3 * (time.process_time() - begun) / pieces


def inspect() -> int:
    """Lays out the inspector for every token of twenty rounds."""
    for round in ROUNDS[:20]:
        for row in range(len(round.rows)):
            report_lines(round, row, 86, 40, UNICODE)
    return sum(len(round.rows) for round in ROUNDS[:20])


def watch(*conditions: str) -> int:
    monitor = BreakpointMonitor(map(parse_breakpoint, conditions))
    for round in ROUNDS:
        monitor.add(round)
    return len(ROUNDS)


async def slider_ms(steps: int = 60) -> float:
    """CPU time of one step of a slider in the lab, drawn."""
    app = LabApp(LabPoint(k=4, alpha=0.728, c=5.4))
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press("home")
        screen = app.screen
        assert isinstance(screen, LabScreen)
        begun = time.process_time()
        for _ in range(steps):
            screen.action_move(1)
            screen._compositor.render_strips()
        return 1e3 * (time.process_time() - begun) / steps


def main() -> None:
    repeats = range(parser(__doc__, repeats=5).parse_args().repeats)
    for name, (args, code) in PROCESSES.items():
        print(f"process: {name:<28}{median(process_s(args, code) for _ in repeats):>9.2f} s")
    rows: dict[str, Callable[[], float]] = {
        "inspector, a token laid out": lambda: cpu_ms(inspect),
        "a round without breakpoints": lambda: cpu_ms(watch),
        "a round, three breakpoints": lambda: cpu_ms(lambda: watch("N<=1", "overlap<.3", "text~frog")),
        "a step of a slider in the lab": lambda: asyncio.run(slider_ms()),
    }
    for name, measured in rows.items():
        print(f"{name:<37}{median(measured() for _ in repeats):>9.3f} ms")


if __name__ == "__main__":
    main()
