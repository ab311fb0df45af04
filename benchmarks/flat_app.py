"""What a round costs the app after many rounds, over what it costs after few.

    python -m benchmarks.flat_app [--rounds 500 5000] [--over 200]

Rounds of bundled:demo reach a live app of 120x40 one by one; each is recorded, processed and painted, with its plots.
CPU time of each stage around the two numbers of rounds, by two apps interleaved in one process; medians.
Ratios are of stages that take a hundredth of it all or more.
"""

import asyncio
import gc
import sys
import tempfile
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import AsyncExitStack
from dataclasses import replace
from functools import reduce
from itertools import cycle
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.options import parser
from specviz import bundled
from specviz.cli.commands.app import SWITCH_INTERVAL
from specviz.cli.shared.loading import COLLECT
from specviz.core.events import Event, Ready, Settings
from specviz.core.options import RunRequest
from specviz.core.source import LIVE
from specviz.session.recorder import Recorder
from specviz.trace.jsonl import read
from specviz.ui.app import SpecvizApp
from specviz.ui.metrics.draft_list import Order
from specviz.ui.metrics.screen import MetricsScreen
from specviz.ui.shared.app_options import AppOptions

WARM_UP = 10
STAGES = {
    ("app.playback.monitor", "add"): "breakpoints",
    ("_recorder", "add"): "recorder",
    ("app.queue", "deliver"): "queue",
    ("app.playback", "accept"): "taken in",
    ("app.main", "take_run"): "text appended",
    ("app.main.text", "show"): "text shown",
    ("app.main.round", "show"): "round shown",
    ("app.main.strip", "show"): "strip shown",
    ("app.main.plots", "_draw"): "plots given",
    ("app.main", "_update_lines"): "status lines",
    ("app.main", "update"): "update, all",
    ("", ""): "all of it",
}
"""What is called where on the way of a round to the screen. The recorder is called by the queue, the others but the
first by the two updates; what is left of it all is painting."""
TABS: dict[str, tuple[int, Order | None]] = {
    "tab acceptance": (0, None),
    "tab tokens/round": (1, None),
    "tab speed": (2, None),
    "tab tokens by p/q": (3, "ratio"),
    "tab tokens by loss": (3, "lost"),
    "tab tokens by overlap": (3, "overlap"),
    "tab tokens by id": (3, "ids"),
}
"""Tabs of the metrics screen, with the order of the table. An open tab is updated twice a second, an expensive one less
often. Figures include painting what changed."""


def line(name: str, near: float, far: float) -> str:
    return f"{name:24}{near:>10.3f}{far:>12.3f}{far / near:>9.2f}"


def measure(few: int, many: int, over: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        seen = asyncio.run(in_turns(Path(folder), few, many, over))
    print(f"after rounds            {few:>10,}{many:>12,}{'ratio':>9}")
    whole = median(seen[few]["all of it"])
    for name in sorted(seen[few], key=[*STAGES.values(), *TABS].index):
        near, far = (median(seen[rounds][name]) for rounds in (few, many))
        print(line(f"{name} ms", near, far) if near > whole / 100 else f"{name + ' ms':24}{near:>10.3f}{far:>12.3f}")


async def in_turns(folder: Path, few: int, many: int, over: int) -> dict[int, dict[str, list[float]]]:
    """CPU milliseconds of each stage, one a round, by how many rounds there were before: two apps take turns."""
    sys.setswitchinterval(SWITCH_INTERVAL)
    gc.set_threshold(*COLLECT)
    apps = {rounds: Fed(folder / f"{rounds}.jsonl") for rounds in (few, many)}
    seen: dict[int, dict[str, list[float]]] = {rounds: defaultdict(list) for rounds in apps}
    async with AsyncExitStack() as stack:
        for rounds, fed in apps.items():
            await fed.begin(await stack.enter_async_context(fed.app.run_test(size=(120, 40))))
            stack.callback(fed.over.set)
            await fed.fill(rounds - over // 2)
        for n in range(over + WARM_UP):
            for rounds, fed in apps.items():
                for name, ms in (await fed.step()).items():
                    if n >= WARM_UP:
                        seen[rounds][name].append(ms)
        for fed in apps.values():
            await fed.open_metrics()
        for name, (tab, order) in TABS.items():
            for fed in apps.values():
                await fed.open_tab(tab, order)
            for n in range(over // 2 + WARM_UP):
                for rounds, fed in apps.items():
                    spent = await fed.look()
                    if n >= WARM_UP:
                        seen[rounds][name].append(spent)
    return seen


class Fed:
    """A live app whose rounds are supplied from outside."""

    def __init__(self, path: Path) -> None:
        over = threading.Event()

        class Waiting:
            capabilities = LIVE

            def open(self, emit: Callable[[Event], None]) -> None:
                pass

            def run(self, *_: object) -> Iterator[Event]:
                over.wait()
                yield from ()

        self.over = over
        self._trace = read(bundled.trace("bundled:demo"))
        self._rounds = cycle(replace(event, stop=None) for event in self._trace.rounds)
        self._recorder = Recorder(path)
        self._index = 0
        self._spent: dict[str, float] = defaultdict(float)
        options = AppOptions(RunRequest("", 0, Settings()), pace=0.0, record=lambda: self._recorder)
        self.app = SpecvizApp(Waiting(), options)

    async def begin(self, pilot: Any) -> None:
        self._pilot = pilot
        await pilot.pause()
        for (of, method), name in STAGES.items():
            if method:
                self._watch(reduce(getattr, of.split("."), self), method, name)
        self.app.playback.monitor.add(self._trace.header)
        events: list[Event] = [self._trace.header, *self._trace.calibrations, Ready()]
        for event in events:
            self.app.queue.deliver(self.app.playback.run_id, event)
        await pilot.pause()

    def _watch(self, owner: object, method: str, name: str) -> None:
        inner = getattr(owner, method)

        def timed(*args: Any, **given: Any) -> Any:
            begun = time.thread_time()
            try:
                return inner(*args, **given)
            finally:
                self._spent[name] += time.thread_time() - begun

        setattr(owner, method, timed)

    def _give(self) -> None:
        self._index += 1
        event = replace(next(self._rounds), index=self._index)
        self.app.playback.monitor.add(event)
        self.app.queue.deliver(self.app.playback.run_id, event)

    async def fill(self, rounds: int) -> None:
        while self._index < rounds:
            for _ in range(min(100, rounds - self._index)):
                self._give()
            while len(self.app.queue) or self.app.timeline.total < self._index:
                await asyncio.sleep(0.01)

    async def step(self) -> dict[str, float]:
        """One round more, painted with its plots: milliseconds of each stage."""
        self._spent.clear()
        self.app._next_paint = self.app.main.plots._next = 0.0
        begun = time.process_time()
        self._give()
        while "update, all" not in self._spent or self.app.timeline.shown < self._index:
            await asyncio.sleep(0)
        await self._pilot.pause()
        whole = time.process_time() - begun
        return {name: 1e3 * seconds for name, seconds in (*self._spent.items(), ("all of it", whole))}

    async def open_metrics(self) -> None:
        self.app.simulate_key("m")
        await self._pilot.pause()

    @property
    def _metrics(self) -> MetricsScreen:
        screen = self.app.screen
        assert isinstance(screen, MetricsScreen)
        return screen

    async def open_tab(self, tab: int, order: Order | None) -> None:
        screen = self._metrics
        screen.action_tab(tab)
        if order:
            screen.action_order(order)
        await self._pilot.pause()

    async def look(self) -> float:
        """Milliseconds to update the open tab after one more round, painted."""
        screen = self._metrics
        await self.fill(self._index + 1)
        await self._pilot.pause()
        screen._shown = None
        begun = time.process_time()
        screen._update()
        await asyncio.sleep(0)
        screen._on_timer_update()
        return 1e3 * (time.process_time() - begun)


def main() -> None:
    arguments = parser(__doc__)
    arguments.add_argument("--rounds", type=int, nargs=2, default=[500, 5_000])
    arguments.add_argument("--over", type=int, default=200)
    options = arguments.parse_args()
    few, many = options.rounds
    measure(few, many, options.over)


if __name__ == "__main__":
    main()
