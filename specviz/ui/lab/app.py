"""The formula lab as a separate app."""

import contextlib
from typing import Any, ClassVar

from textual.binding import BindingType
from textual.screen import Screen

from specviz.lab.model import LabPoint
from specviz.ui.lab.screen import LabScreen
from specviz.ui.shared.keys import app_bindings
from specviz.ui.terminal_guard import quit_on_signals
from specviz.ui.themed_app import Themed


class LabApp(Themed):
    """``theme`` None: the default one. ``return_code`` is the exit code after ``run()``."""

    TITLE = "specviz lab"
    ENABLE_COMMAND_PALETTE = False
    BINDINGS: ClassVar[list[BindingType]] = app_bindings()

    def __init__(self, point: LabPoint | None, *, theme: str | None = None, ascii: bool = False) -> None:
        self.point = point
        self._ascii = ascii
        self._signals = contextlib.ExitStack()
        super().__init__()
        self.use_theme(theme)

    def get_default_screen(self) -> Screen[Any]:
        return LabScreen(self.point, ascii=self._ascii)

    def on_mount(self) -> None:
        self._signals.enter_context(quit_on_signals(self.quit))
        self.tell_bad_themes()

    def on_unmount(self) -> None:
        self._signals.close()

    def quit(self, code: int | None = None) -> None:
        self.exit(return_code=code or 0)

    def action_leave(self) -> None:
        self.quit()

    def action_interrupt(self) -> None:
        self.quit(130)
