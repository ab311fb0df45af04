"""How the app takes long recordings: first screen, reading, keys meanwhile, memory, and each stage by number of rounds.

    python -m benchmarks.trace_scale [--rounds 500 5000 100000] [--columns 120] [--lines 40] [--repeats 1]

Recordings repeat the rounds of bundled:demo (K = 4), each after the previous one. Each is shown in a new process,
without a terminal; times are seconds since that process was started. Keys are pressed all the while the recording is
read, the clock stops when the screen is painted again. Stages are medians of the CPU time of one update after the last
round.
"""

import argparse
import asyncio
import gc
import json
import subprocess
import sys
import tempfile
import time
from collections import deque
from collections.abc import Callable
from itertools import cycle, islice
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.options import parser
from specviz import bundled

ROUND = b'{"type": "round", "index": '


def make(path: Path, rounds: int) -> None:
    """A recording of so many rounds."""
    lines = bundled.trace("bundled:demo").read_bytes().splitlines()
    bodies = [{**json.loads(line), "stop": None} for line in lines if line.startswith(ROUND)]
    start = bodies[0]["start"]
    tails = [(json.dumps(dict(list(body.items())[3:])).encode()[1:], len(body["emitted"])) for body in bodies]
    with path.open("wb") as file:
        file.writelines(
            line + b"\n" for line in lines if b'"type": "header"' in line or b'"type": "calibration"' in line
        )
        for index, (tail, tokens) in enumerate(islice(cycle(tails), rounds), start=1):
            file.write(b'%s%d, "start": %d, %s\n' % (ROUND, index, start, tail))
            start += tokens
        file.write(lines[-1] + b"\n")


def memory(name: str) -> float:
    """VmRSS or VmHWM (the peak) of this process in MB; 0 where the system does not tell."""
    try:
        status = Path("/proc/self/status").read_text().splitlines()
    except OSError:
        return 0.0
    return next(int(line.split()[1]) / 1024 for line in status if line.startswith(name))


def cpu_ms(work: Callable[[int], object], repeats: int = 40) -> float:
    spent = []
    for turn in range(repeats):
        begun = time.process_time()
        work(turn)
        spent.append(1e3 * (time.process_time() - begun))
    return median(spent)


async def shown(path: Path, started: float, size: tuple[int, int]) -> dict[str, float]:
    """Show a recording; what it took."""
    from specviz.cli.commands.app import SWITCH_INTERVAL
    from specviz.cli.shared.loading import COLLECT
    from specviz.core.events import Event, Round, Settings
    from specviz.core.options import RunRequest
    from specviz.trace.replay import TraceSource
    from specviz.ui.app import SpecvizApp
    from specviz.ui.charts.round_chart import RoundsPlot
    from specviz.ui.shared.app_options import AppOptions

    sys.setswitchinterval(SWITCH_INTERVAL)
    gc.set_threshold(*COLLECT)
    source = TraceSource(path, compact=True)
    source.open(lambda _: None)
    request = RunRequest("", 0, Settings())
    app = SpecvizApp(
        source, AppOptions(request, paused=True, pace=0.25, at=source.rounds, trace=path, recorded=lambda: source.lines)
    )
    timeline = app.timeline
    results: dict[str, float] = {}
    folds: deque[float] = deque(maxlen=400)
    add = timeline.add

    def timed(event: Event) -> None:
        begun = time.thread_time()
        add(event)
        if isinstance(event, Round):
            folds.append(1e6 * (time.thread_time() - begun))

    timeline.add = timed  # type: ignore[method-assign]
    async with app.run_test(size=size) as pilot:
        main = app.main
        while not timeline.total:
            await asyncio.sleep(0.002)
        await painted(main)
        results["first screen s"], results["  of it CPU s"] = time.time() - started, time.process_time()
        keys: list[float] = []
        for key in cycle(("left_parenthesis", "right_parenthesis")):
            if timeline.end is not None and timeline.shown == source.rounds:
                break
            pace, begun = app.playback.pace, time.perf_counter()
            app.simulate_key(key)
            while app.playback.pace == pace:
                await asyncio.sleep(0.0005)
            await painted(main)
            keys.append(1e3 * (time.perf_counter() - begun))
            await asyncio.sleep(0.05)
        results["all read s"], results["  of it CPU s "] = time.time() - started, time.process_time()
        results["keys"] = len(keys)
        results["key p50 ms"] = median(keys) if keys else 0.0
        results["key p95 ms"] = sorted(keys)[int(0.95 * len(keys))] if keys else 0.0
        await asyncio.sleep(0.5)
        await pilot.pause()
        results["peak MB"] = memory("VmHWM")
        results["fold us"] = median(folds)

        last = timeline.total
        plots = list(main.query(RoundsPlot))  # type: ignore[type-abstract]

        def numbers(turn: int) -> None:
            timeline.show(last - turn % 2)
            timeline.rates  # noqa: B018

        def text(turn: int) -> None:
            timeline.show(last - turn % 2)
            main.text.show(timeline.shown, timeline.row)

        def charts(turn: int) -> None:
            timeline.show(last - turn % 2)
            for plot in plots:
                plot.show(timeline.series, timeline.rates, shown=timeline.shown)
                plot.render_line(0)

        results["numbers ms"], results["text ms"], results["plots ms"] = cpu_ms(numbers), cpu_ms(text), cpu_ms(charts)
        results["strip ms"] = cpu_ms(lambda turn: main.strip.render_line(0))
        results["update ms"] = await each(pilot, lambda turn: app.simulate_key("pn"[turn % 2]))
        results["jump ms"] = await each(pilot, lambda turn: app.simulate_key("gG"[turn % 2]))
        results["rejection ms"] = await each(pilot, lambda turn: app.simulate_key("Ff"[turn % 2]))
        spent = []
        for columns in (size[0] - 20, size[0] - 10, size[0], size[0] - 15, size[0]):
            begun = time.process_time()
            await pilot.resize_terminal(columns, size[1])
            await pilot.pause()
            spent.append(1e3 * (time.process_time() - begun))
        results["width ms"] = median(spent)
        for tab, before in zip("arst", "rsta", strict=True):
            app.simulate_key("m")
            await pilot.pause()
            app.simulate_key(before)
            await pilot.pause()
            begun = time.perf_counter()
            app.simulate_key(tab)
            await pilot.pause()
            results[f"tab {tab} ms"] = 1e3 * (time.perf_counter() - begun)
            app.simulate_key("q")
            await pilot.pause()
    return results


async def painted(widget: Any) -> None:
    done = asyncio.Event()
    widget.call_after_refresh(done.set)
    await done.wait()


async def each(pilot: Any, act: Callable[[int], object], repeats: int = 21) -> float:
    """The median CPU time of an act and all that follows from it, in ms."""
    spent = []
    for turn in range(repeats):
        begun = time.process_time()
        act(turn)
        await pilot.pause()
        spent.append(1e3 * (time.process_time() - begun))
    return median(spent)


def main() -> None:
    arguments = parser(__doc__, columns=120, lines=40, repeats=1)
    arguments.add_argument("--rounds", type=int, nargs="+", default=[500, 5_000, 100_000])
    arguments.add_argument("--show", nargs=2, help=argparse.SUPPRESS)
    given = arguments.parse_args()
    size = given.columns, given.lines
    if given.show:
        path, started = given.show
        print(json.dumps(asyncio.run(shown(Path(path), float(started), size))))
        return
    columns: dict[int, dict[str, float]] = {}
    with tempfile.TemporaryDirectory() as folder:
        for rounds in given.rounds:
            path = Path(folder, f"{rounds}.jsonl")
            make(path, rounds)
            runs = []
            for _ in range(given.repeats):
                command = [sys.executable, __file__, "--columns", str(size[0]), "--lines", str(size[1])]
                done = subprocess.run(
                    [*command, "--show", str(path), str(time.time())], stdout=subprocess.PIPE, check=True
                )
                runs.append(json.loads(done.stdout))
            columns[rounds] = {"disk MB": path.stat().st_size / 1e6}
            columns[rounds] |= {name: median(run[name] for run in runs) for name in runs[0]}
            path.unlink()
    print(f"{'rounds':16}" + "".join(f"{rounds:>12,}" for rounds in columns))
    for name in next(iter(columns.values())):
        print(f"{name:16}" + "".join(f"{results[name]:12.2f}" for results in columns.values()))


if __name__ == "__main__":
    main()
