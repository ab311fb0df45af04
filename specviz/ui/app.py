"""The app: it owns the session, the run on screen and the ways to quit. Screens show and ask."""

import asyncio
import contextlib
import shlex
import time
import traceback
from collections.abc import Coroutine, Iterator
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

from rich.text import Text
from textual.binding import BindingType
from textual.command import DiscoveryHit, Hit, Hits, Provider
from textual.message import Message
from textual.notifications import Notification, SeverityLevel
from textual.screen import Screen
from textual.scrollbar import ScrollBar, ScrollBarRender

from specviz.breakpoints.monitor import BreakpointMonitor
from specviz.core.events import Event
from specviz.core.safe_text import safe_terminal_text
from specviz.core.source import Source
from specviz.render.screen_text import in_ascii, literal
from specviz.session.worker import Session
from specviz.stats.run_stats import RunStats
from specviz.trace.round_store import RoundFile, RoundStore
from specviz.ui.dialogs.save import ScreenshotScreen
from specviz.ui.main.keys import SCREEN_KEYS
from specviz.ui.main.screen import MainScreen
from specviz.ui.present.screen import PresentScreen
from specviz.ui.run.event_queue import EventQueue
from specviz.ui.run.playback import Playback
from specviz.ui.run.status_line import number, rate
from specviz.ui.run.timeline import Timeline
from specviz.ui.shared.app_options import AppOptions
from specviz.ui.shared.keys import app_bindings
from specviz.ui.shared.screenshot import Picture
from specviz.ui.shared.shell import later
from specviz.ui.terminal_guard import quit_on_signals
from specviz.ui.themed_app import Themed

QUIT_WAIT_S = 0.3
"""How long a quitting app waits for a model call to end before it abandons the (daemon) thread."""
FAST_PAINT_S = 0.185
"""Minimum between two paints while rounds arrive fast: the decoder shares the interpreter with the screen."""
PAINT_S = 1 / 30
"""Minimum between two paints otherwise."""
DRAIN_BUDGET_S = 0.01
"""How long events are taken from the queue before keys get their turn."""
DRAIN_GAP_S = 0.005
"""The turn that keys then get."""
READ_AHEAD_S = 0.02
"""Time between two drains while a long recording is read."""
DRAIN_BATCH = 50
"""Events between two readings of the clock."""


class Command(NamedTuple):
    name: str
    action: str
    help: str


class KeyCommands(Provider):
    """The command palette: the enabled keys by name, and the prepared prompts."""

    def _commands(self) -> Iterator[Command]:
        assert isinstance(self.app, SpecvizApp)
        main = self.app.main
        for key in SCREEN_KEYS:
            if "{key}" not in key.action and key.is_enabled(main):
                yield Command(f"{key.label}  {key.shown}", key.action, key.tooltip)
        what = "run" if main.options.recordings else "prompt"
        for digit, name in enumerate(main.prepared[:9], start=1):
            if main.can_choose(digit):
                yield Command(f"{what} {digit}: {literal(name)}", f"prompt({digit})", "")

    async def discover(self) -> Hits:
        for command in self._commands():
            yield DiscoveryHit(Text(command.name), self._run(command), text=command.name, help=command.help)

    async def search(self, query: str) -> Hits:
        matcher = self.matcher(query)
        for command in self._commands():
            if (score := matcher.match(command.name)) > 0:
                yield Hit(score, Text(command.name), self._run(command), text=command.name, help=command.help)

    def _run(self, command: Command) -> "partial[Coroutine[Any, Any, bool]]":
        assert isinstance(self.app, SpecvizApp)
        return partial(self.app.run_action, command.action, self.app.main)


def farewell(stats: RunStats, path: Path | None, *, crash: BaseException | None = None) -> str:
    """The run in one line and the command that replays it; empty if there is neither. ``crash`` is an unexpected error
    of the app, whose traceback comes first."""
    lines = []
    if crash is not None:
        lines.append(safe_terminal_text("".join(traceback.format_exception(crash))).rstrip())
        lines.append(f"specviz stopped on an unexpected error: {literal(f'{type(crash).__name__}: {crash}')}")
    rates = stats.whole()
    if rates.rounds:
        pooled = ", over all settings" if stats.segment_rates().first > 1 else ""
        lines.append(
            f"α tested {rate(rates.alpha_tested).strip()} · tokens/round {number(rates.tokens_per_round).strip()}"
            f" · {rates.rounds} rounds, {rates.tokens} tokens{pooled}"
        )
    if path is not None:
        lines.append(f"specviz replay {literal(shlex.quote(str(path)))}")
    return "\n".join(lines)


class BlockScrollBar(ScrollBarRender):
    """A scroll bar of coloured blanks, without the eighths of a cell that plain terminals lack."""

    VERTICAL_BARS: ClassVar[list[str]] = [" "] * 8
    HORIZONTAL_BARS: ClassVar[list[str]] = [" "] * 8


class Wake(Message, bubble=False):
    """An event is in the queue. Two in a row are merged."""

    def can_replace(self, message: Message) -> bool:
        return isinstance(message, Wake)


class SpecvizApp(Themed):
    """Shows one source. After ``run()``, ``return_code`` is the exit code and ``farewell()`` the text to print."""

    TITLE = "specviz"
    CSS_PATH = "specviz.tcss"
    BINDINGS: ClassVar[list[BindingType]] = app_bindings()
    COMMANDS = {KeyCommands}  # noqa: RUF012 (Textual types it as a set)
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (100, "-wide")]  # noqa: RUF012
    VERTICAL_BREAKPOINTS = [(0, "-short"), (34, "-tall")]  # noqa: RUF012

    def __init__(self, source: Source, options: AppOptions) -> None:
        self.options = options
        self.capabilities = source.capabilities
        self.timeline = Timeline(
            follow=self.capabilities.can_step, store=lambda: self.queue.rounds, ascii=options.ascii
        )
        self.queue = EventQueue(options.record, self._wake, self._store)
        self.session = Session(source, self.queue.deliver, self._hit_breakpoint)
        self.playback = Playback(
            self.session,
            self.timeline,
            options.request,
            capabilities=self.capabilities,
            pace=options.pace,
            monitor=BreakpointMonitor(options.breakpoints, lambda: self.queue.rounds),
            loop=options.loop,
        )
        self.presentation: PresentScreen | None = None
        self._held_notifications: list[Notification] = []
        self._started = False
        self._next_paint = 0.0
        self._drain_timer: asyncio.TimerHandle | None = None
        self._signals = contextlib.ExitStack()
        super().__init__()
        ScrollBar.renderer = BlockScrollBar if options.ascii else ScrollBarRender
        self.use_theme(options.theme)

    # -- lifecycle

    def get_default_screen(self) -> Screen[Any]:
        self.main = MainScreen(self.playback, self.options)
        return self.main

    def on_mount(self) -> None:
        self._signals.enter_context(quit_on_signals(self.quit))
        if self.options.present:
            self.present(by_key=False)
        self.tell_bad_themes()

    def present(self, *, by_key: bool = True) -> None:
        """Open the presentation over the main screen; notifications there are held until it closes."""
        self._held_notifications += self._notifications
        self.clear_notifications()
        self.presentation = PresentScreen(self.playback, self.options, opened_by_key=by_key)
        self.push_screen(self.presentation, self._presented)

    def _presented(self, _answer: None) -> None:
        self.presentation = None
        held, self._held_notifications = self._held_notifications, []
        for each in held:
            self.notify(
                each.message, title=each.title, severity=each.severity, timeout=each.timeout, markup=each.markup
            )
        self.main.update()

    def action_export(self) -> None:
        def done(saved: tuple[Path, ...] | None) -> None:
            if saved:
                self.notify_literal(f"Saved to {' and '.join(map(str, saved))}")

        picture = Picture.of(self)
        self.push_screen(ScreenshotScreen(picture, self.timeline.shown, ascii=self.options.ascii), done)

    def start(self) -> None:
        """Begin the first run. Called after the first frame, because loading keeps the interpreter busy."""
        if not self._started:
            self._started = True
            self.session.start()
            paused = self.options.paused or self.options.present
            self.playback.begin(self.options.request, paused=paused, at=self.options.at)

    def on_unmount(self) -> None:
        self._signals.close()
        self.queue.close()
        if self._started:
            self.session.close(timeout=QUIT_WAIT_S)

    def quit(self, code: int | None = None) -> None:
        """Quit with ``code``, by default that of a failure, if any."""
        failed = self.timeline.failed
        self.exit(return_code=code if code is not None else failed.exit_code if failed else 0)

    def action_leave(self) -> None:
        self.quit()

    def action_interrupt(self) -> None:
        self.quit(130)

    async def action_quit(self) -> None:
        self.quit()

    @property
    def trace_path(self) -> Path | None:
        recordings = self.options.recordings
        recorded = recordings[self.playback.request.recording] if recordings else self.options.trace
        return self.queue.path or recorded

    def farewell(self) -> str:
        """The text for the normal screen after the app has quit: the error, the run in numbers, how to replay it."""
        text = farewell(self.timeline.stats, self.trace_path, crash=self._exception)
        return in_ascii(text) if self.options.ascii else text

    def notify_literal(self, message: str) -> None:
        super().notify(literal(message), markup=False)

    def notify(
        self,
        message: str,
        *,
        title: str = "",
        severity: SeverityLevel = "information",
        timeout: float | None = None,
        markup: bool = True,
    ) -> None:
        """Notifications that no key caused are held until the presentation closes."""
        message = in_ascii(message) if self.options.ascii else message
        if self.presentation is None:
            super().notify(message, title=title, severity=severity, timeout=timeout, markup=markup)
        else:
            seconds = self.NOTIFICATION_TIMEOUT if timeout is None else timeout
            self._held_notifications.append(Notification(message, title, severity, seconds, markup))

    # -- events

    def begin_paint(self) -> None:
        self.queue.begin_paint()

    def end_paint(self) -> None:
        self.queue.end_paint()

    def _wake(self) -> None:
        """On the worker thread: wake the screen, unless it has closed."""
        with contextlib.suppress(RuntimeError):
            self.post_message(Wake())

    def on_wake(self) -> None:
        wait = self._next_paint - time.monotonic()
        if self._drain_timer is not None and wait <= 0:
            self._drain_timer.cancel()
            self._drain_timer = None
        if self._drain_timer is None:
            if wait > 0:
                self._drain_timer = later(self, self._drain_delay(wait), self._drain)
            else:
                self._drain()

    def _store(self, lines: RoundFile | None) -> RoundStore:
        """A store for the rounds of a run that is recorded in ``lines``, or read from a recording."""
        if self.options.recorded is not None:
            return RoundStore(self.options.recorded(), compact=True)
        return RoundStore(lines)

    def _hit_breakpoint(self, event: Event) -> bool:
        """On the worker thread: whether sampling stops after this event. What cannot step is read on."""
        return self.playback.monitor.add(event) and self.capabilities.can_step

    def _drain_delay(self, wait: float) -> float:
        """When to drain next if the next paint is ``wait`` seconds away. A recording is read on meanwhile; if rounds
        arrive fast, the drain waits for the round after which to paint."""
        if self.timeline.expected_rounds is not None:
            return min(wait, READ_AHEAD_S)
        return wait + READ_AHEAD_S if self.playback.is_fast else wait

    def _drain(self) -> None:
        self._drain_timer = None
        if not self.main.is_attached:  # the app is quitting
            return
        until = time.monotonic() + DRAIN_BUDGET_S
        while len(self.queue) and time.monotonic() < until:
            for run_id, event in self.queue.drain(DRAIN_BATCH):
                self.playback.accept(run_id, event)
        wait = self._next_paint - time.monotonic()
        if wait <= 0:
            self.playback.catch_up()
            self.main.take_run()
            shown = self.presentation or self.main
            shown.update()
            shown.call_after_refresh(self.end_paint)
            is_fast = self.playback.is_fast
            self._next_paint = time.monotonic() + (FAST_PAINT_S if is_fast else PAINT_S)
            self.queue.paint_at = self._next_paint if is_fast and self.timeline.expected_rounds is None else None
        if len(self.queue):
            self._drain_timer = later(self, DRAIN_GAP_S, self._drain)
        elif wait > 0:
            self._drain_timer = later(self, self._drain_delay(wait), self._drain)
