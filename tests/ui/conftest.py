"""A scripted source and an app around it: the whole screen, and no model."""

import asyncio
import inspect
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import pytest
from textual._styles_cache import StylesCache
from textual.pilot import Pilot

from specviz.core.events import End, Event, Header, Progress, Ready, Round, Settings
from specviz.core.options import RunRequest
from specviz.core.source import LIVE, Capabilities, Emit
from specviz.ui.app import SpecvizApp
from specviz.ui.run.playback import Playback
from specviz.ui.shared.app_options import AppOptions
from tests.builders import make_calibration, make_header, make_round

PATTERN = ("✓✓✗·", "✓✓✓✓", "✗···", "✓✗··", "✓✓✓✗")
DEADLINE = 60.0


def scripted_round(index: int, settings: Settings) -> Round:
    marks = (PATTERN[index % len(PATTERN)] * 9)[: settings.k]
    if "✗" in marks:
        marks = marks[: marks.index("✗") + 1].ljust(settings.k, "·")
    return make_round(index, verdicts=marks, settings=settings)


@dataclass
class Script:
    """A source that plays what it is told. ``sampled`` counts the rounds made, ``requests`` the runs asked for.

    ``gate`` cleared: rounds wait for it. ``loading`` cleared: opening waits for it. ``fail_at``: the round in which
    ``error`` is raised. ``work(stopped)`` is called in the place of a forward.
    """

    n_rounds: int = 20
    header: Header = field(default_factory=make_header)
    opening: tuple[Event, ...] = (Progress("import"), Progress("draft", 1, 4, "tensors"))
    fail_at: int | None = None
    error: Exception = field(default_factory=lambda: RuntimeError("boom [/] \x1b[31m"))
    open_error: Exception | None = None
    end: End = field(default_factory=lambda: End("max_new_tokens"))
    make: Callable[[int, Settings], Round] = scripted_round
    work: Callable[[Callable[[], bool]], None] = lambda stopped: None
    gate: threading.Event = field(default_factory=threading.Event)
    loading: threading.Event = field(default_factory=threading.Event)
    loaded: bool = False
    capabilities: Capabilities = LIVE
    sampled: int = 0
    requests: list[RunRequest] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.gate.set()
        self.loading.set()

    def open(self, emit: Emit) -> None:
        for event in self.opening:
            emit(event)
        self.loading.wait(60)
        self.loaded = True
        if self.open_error is not None:
            raise self.open_error

    def run(
        self, request: RunRequest, settings: Callable[[], Settings], stopped: Callable[[], bool]
    ) -> Iterator[Event]:
        self.requests.append(request)
        prompt = make_header(request.prompt).prompt
        start = len(prompt.tokens)
        yield replace(self.header, prompt=prompt)
        yield make_calibration()
        yield Ready()
        for index in range(1, self.n_rounds + 1):
            if index == self.fail_at:
                raise self.error
            self.work(stopped)
            self.gate.wait(60)
            if stopped():
                return
            self.sampled += 1
            made = replace(self.make(index, settings()), start=start)
            start += len(made.emitted)
            yield made
        yield self.end


PROMPTS = (("tale", "Once upon a time there was"), ("code", "class Config:\n    def"), ("verse", "ROMEO:\n"))


def options(**changes: Any) -> AppOptions:
    base = AppOptions(
        request=RunRequest(PROMPTS[0][1], 0, Settings()),
        prompts=PROMPTS,
        pace=0.0,
        paused=True,
        draft="bundled:draft",
        target="bundled:target",
    )
    return replace(base, **changes)


def make_app(script: Script | None = None, **changes: Any) -> SpecvizApp:
    return SpecvizApp(script or Script(), options(**changes))


def mode(playback: Playback) -> str:
    return playback.mode


def on_main(app: SpecvizApp) -> bool:
    """Whether no panel is over the main screen."""
    return len(app.screen_stack) == 1


async def until(pilot: Pilot[None], reached: Callable[[], object], what: str = "") -> None:
    """Let the app work until something is so; no longer than the deadline."""
    deadline = time.monotonic() + DEADLINE
    while not reached():
        assert time.monotonic() < deadline, f"never reached: {what or reached}"
        await asyncio.sleep(0.002)


async def hit(pilot: Pilot[None], *keys: str) -> None:
    """Press keys and let the app answer. Quicker than ``pilot.press``, which waits after each; not for typing text."""
    for key in keys:
        pilot.app.simulate_key(key)
    await pilot.pause()


async def ready(pilot: Pilot[None], app: SpecvizApp) -> None:
    await until(pilot, lambda: app.timeline.ready and not len(app.queue), "ready")
    await pilot.pause()


async def sampled(pilot: Pilot[None], app: SpecvizApp, rounds: int) -> None:
    """Step until there are so many rounds."""

    def reached(index: int) -> bool:
        return app.timeline.total >= index

    for index in range(app.timeline.total + 1, rounds + 1):
        app.simulate_key("n")
        await until(pilot, partial(reached, index))
    await pilot.pause()


Stop = tuple[int, tuple[str, ...]]
"""A round at which a run paused, and the breakpoints it named."""


async def stops(app: SpecvizApp, size: tuple[int, int] = (120, 40)) -> list[Stop]:
    """Run on by space until the end is shown: where breakpoints paused the run."""
    seen: list[Stop] = []

    def over() -> bool:
        return app.timeline.over and app.timeline.at_end

    def paused_behind(index: int) -> bool:
        return mode(app.playback) == "paused" and (app.timeline.shown > index or over())

    async with app.run_test(size=size) as pilot:
        await ready(pilot, app)
        while not over():
            before = app.timeline.shown
            await hit(pilot, "space")
            await until(pilot, partial(paused_behind, before))
            if app.timeline.shown > before and (said := app.playback.monitor.hit(app.timeline.shown)):
                seen.append((app.timeline.shown, said))
    return seen


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Run a test that is a coroutine function in an event loop of its own."""
    if not inspect.iscoroutinefunction(pyfuncitem.obj):
        return None
    arguments = {name: pyfuncitem.funcargs[name] for name in pyfuncitem._fixtureinfo.argnames}
    asyncio.run(pyfuncitem.obj(**arguments))
    StylesCache.get_inner_outer.cache_clear()  # it holds on to all lines of the widgets of an app that has ended
    return True
