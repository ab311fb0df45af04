"""The app: it owns the session and what came of it, and the way out. Screens only show and ask."""

import asyncio
import contextlib
import time
from pathlib import Path
from typing import Any, ClassVar

from textual.binding import BindingType
from textual.message import Message
from textual.notifications import Notification, SeverityLevel
from textual.screen import Screen
from textual.scrollbar import ScrollBar, ScrollBarRender

from specviz.breakpoints.monitor import BreakpointMonitor
from specviz.core.events import Event
from specviz.core.source import Source
from specviz.render.screen_text import in_ascii, literal
from specviz.session.worker import Session
from specviz.trace.round_store import Rounds
from specviz.ui.commands import KeyCommands
from specviz.ui.dialogs.screenshot import ExportScreen
from specviz.ui.farewell import farewell
from specviz.ui.main.screen import MainScreen
from specviz.ui.present.screen import PresentScreen
from specviz.ui.run.event_queue import EventQueue
from specviz.ui.run.playback import Playback
from specviz.ui.run.timeline import Timeline
from specviz.ui.shared.app_options import AppOptions
from specviz.ui.shared.keys import app_bindings
from specviz.ui.shared.screenshot import Picture
from specviz.ui.shared.timers import later
from specviz.ui.terminal_guard import quit_on_signals
from specviz.ui.themed_app import Themed

QUIT_WAIT_S = 0.3
"""Seconds a quitting app waits for a model call to end before it leaves the (daemon) thread behind."""
FAST_PAINT_S = 0.185
PAINT_S = 1 / 30
"""Least seconds between two paints while rounds pour in, and else: the decoder shares the interpreter with us."""
DRAIN_BUDGET_S = 0.01
DRAIN_GAP_S = 0.005
READ_AHEAD_S = 0.02
DRAIN_BATCH = 50
"""Seconds of folding events in one go, for keys in between, and between two folds while a long recording is read;
events between two looks at the clock."""


class BlockScrollBar(ScrollBarRender):
    """A scroll bar of coloured blanks, without the eighths of a cell that plain terminals lack."""

    VERTICAL_BARS: ClassVar[list[str]] = [" "] * 8
    HORIZONTAL_BARS: ClassVar[list[str]] = [" "] * 8


class Wake(Message, bubble=False):
    """Something is in the inbox. Two of them in a row are one."""

    def can_replace(self, message: Message) -> bool:
        return isinstance(message, Wake)


class SpecvizApp(Themed):
    """Shows one source. After ``run()``, ``return_code`` is the exit code and ``farewell()`` what to print."""

    TITLE = "specviz"
    CSS_PATH = "specviz.tcss"
    BINDINGS: ClassVar[list[BindingType]] = app_bindings()
    COMMANDS = {KeyCommands}  # noqa: RUF012 (Textual types it as a set)
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (100, "-wide")]  # noqa: RUF012
    VERTICAL_BREAKPOINTS = [(0, "-short"), (34, "-tall")]  # noqa: RUF012

    def __init__(self, source: Source, options: AppOptions) -> None:
        self.options = options
        self.timeline = Timeline(follow=options.live, store=self._store, ascii=options.ascii)
        self.queue = EventQueue(options.record, self._wake)
        self.session = Session(source, self.queue.deliver, self._hit_breakpoint)
        self.playback = Playback(
            self.session,
            self.timeline,
            options.request,
            live=options.live,
            pace=options.pace,
            monitor=BreakpointMonitor(options.breakpoints, self._store),
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

    # -- life

    def get_default_screen(self) -> Screen[Any]:
        self.main = MainScreen(self.playback, self.options)
        return self.main

    def on_mount(self) -> None:
        self._signals.enter_context(quit_on_signals(self.quit))
        if self.options.present:
            self.present(by_key=False)
        self.tell_bad_themes()

    def present(self, *, by_key: bool = True) -> None:
        """Put the presentation over the main screen; what is being said there waits for it."""
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
        """Ask where to save a picture of the screen as it is now."""

        def done(saved: tuple[Path, ...] | None) -> None:
            if saved:
                self.notify_literal(f"Saved to {' and '.join(map(str, saved))}")

        picture = Picture.of(self)
        self.push_screen(ExportScreen(picture, self.timeline.shown, ascii=self.options.ascii), done)

    def start(self) -> None:
        """Begin the first run; called once the first picture is on screen, for loading takes the interpreter's time."""
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
        """Quit: with the exit code of a failure if there was one, unless another is given."""
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
        """The file this run is in."""
        recordings = self.options.recordings
        recorded = recordings[self.playback.request.recording] if recordings else self.options.trace
        return self.queue.path or recorded

    def farewell(self) -> str:
        """For the normal screen, when the app has left it: what went wrong, the run in numbers, how to see it again."""
        words = farewell(self.timeline.stats, self.trace_path, crash=self._exception)
        return in_ascii(words) if self.options.ascii else words

    def notify_literal(self, message: str, *, error: bool = False) -> None:
        """The answer to a key, as literal text."""
        super().notify(literal(message), severity="error" if error else "information", markup=False)

    def notify(
        self,
        message: str,
        *,
        title: str = "",
        severity: SeverityLevel = "information",
        timeout: float | None = None,
        markup: bool = True,
    ) -> None:
        """What nobody asked for waits until the presentation is over."""
        message = in_ascii(message) if self.options.ascii else message
        if self.presentation is None:
            super().notify(message, title=title, severity=severity, timeout=timeout, markup=markup)
        else:
            seconds = self.NOTIFICATION_TIMEOUT if timeout is None else timeout
            self._held_notifications.append(Notification(message, title, severity, seconds, markup))

    # -- events

    def _wake(self) -> None:
        """On the worker thread: tell the screen there is something, unless it is gone."""
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

    def _store(self) -> Rounds:
        """Where the rounds of the latest run are kept."""
        if self.options.recorded is not None:
            return Rounds(self.options.recorded(), bare=True)
        return Rounds(self.queue.lines)

    def _hit_breakpoint(self, event: Event) -> bool:
        """On the worker thread: whether sampling stops here. A recorded run is read on; it stops where it is shown."""
        return self.playback.monitor.add(event) and self.options.live

    def _drain_delay(self, wait: float) -> float:
        """When to fold again where the next paint is ``wait`` seconds away: a recording is read on meanwhile; where
        rounds come fast, the one behind which to paint is about to come then."""
        if self.timeline.expected_rounds is not None:
            return min(wait, READ_AHEAD_S)
        return wait + READ_AHEAD_S if self.playback.is_fast else wait

    def _drain(self) -> None:
        self._drain_timer = None
        if not self.main.is_attached:  # the app is being left
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
            shown.call_after_refresh(self.queue.end_paint)
            is_fast = self.playback.is_fast
            self._next_paint = time.monotonic() + (FAST_PAINT_S if is_fast else PAINT_S)
            self.queue.paint_at = self._next_paint if is_fast and self.timeline.expected_rounds is None else None
        if len(self.queue):
            self._drain_timer = later(self, DRAIN_GAP_S, self._drain)
        elif wait > 0:
            self._drain_timer = later(self, self._drain_delay(wait), self._drain)
