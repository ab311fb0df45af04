"""What screens ask of the app that shows them."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from textual.message_pump import MessagePump

from specviz.theming.loader import Themes


class Shell(Protocol):
    """The app, as far as its screens know it."""

    @property
    def trace_path(self) -> Path | None:
        """The file this run is recorded in or read from."""

    def start(self) -> None:
        """Begin the first run, once the first frame is on screen."""

    def quit(self, code: int | None = None) -> None: ...

    def present(self) -> None:
        """Open the presentation over the main screen."""

    def action_export(self) -> None:
        """Ask where to save a picture of the screen."""

    def notify_literal(self, message: str) -> None:
        """Show the answer to a key, without markup."""

    def read_themes(self) -> Themes: ...

    def tell_bad_themes(self) -> None: ...

    def begin_paint(self) -> None:
        """Let the worker wait while the screen is painted."""

    def end_paint(self) -> None:
        """The screen shows every event taken from the queue."""


def later(pump: MessagePump, delay: float, act: Callable[[], object]) -> asyncio.TimerHandle:
    """Let ``pump`` call ``act`` in ``delay`` seconds, unless the handle is cancelled or ``pump`` has been removed.
    Textual's own timers are not reliable here: one that is due before it starts waiting never fires. That happens with
    delays of microseconds, and with longer ones on a busy machine."""

    def in_turn() -> None:
        if pump.is_attached and pump.is_running:
            act()

    return asyncio.get_running_loop().call_later(delay, pump.call_next, in_turn)
