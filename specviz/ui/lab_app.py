"""The formula lab as an app of its own."""

import contextlib
from typing import Any, ClassVar

from textual.app import App
from textual.binding import BindingType
from textual.screen import Screen

from specviz.lab import LabPoint
from specviz.ui import themes
from specviz.ui.keys import app_bindings
from specviz.ui.literal import literal
from specviz.ui.screens.lab import LabScreen
from specviz.ui.terminal_guard import signals_leave


class LabApp(App[None]):
    """``theme`` None: the default one. ``return_code`` is the exit code after ``run()``."""

    TITLE = "specviz lab"
    ENABLE_COMMAND_PALETTE = False
    BINDINGS: ClassVar[list[BindingType]] = app_bindings()

    def __init__(self, point: LabPoint | None, *, theme: str | None = None, ascii: bool = False) -> None:
        self.point = point
        self._ascii = ascii
        self._signals = contextlib.ExitStack()
        super().__init__()
        loaded, self.bad_themes = themes.load_themes()
        for each in loaded.values():
            self.register_theme(each)
        wanted = theme or themes.DEFAULT
        self.unknown_theme = None if wanted in loaded else wanted
        self.theme = wanted if wanted in loaded else themes.DEFAULT

    def get_theme_variable_defaults(self) -> dict[str, str]:
        return dict(themes.variable_defaults())

    def get_default_screen(self) -> Screen[Any]:
        return LabScreen(self.point, ascii=self._ascii)

    def on_mount(self) -> None:
        self._signals.enter_context(signals_leave(self.leave))
        for bad in self.bad_themes:
            self.notify(literal(f"Theme left out: {bad}"), severity="error", markup=False)
        if self.unknown_theme is not None:
            told = literal(f'No theme "{self.unknown_theme}": using "{self.theme}".')
            self.notify(told, severity="error", markup=False)

    def on_unmount(self) -> None:
        self._signals.close()

    def leave(self, code: int | None = None) -> None:
        self.exit(return_code=code or 0)

    def action_leave(self) -> None:
        self.leave()

    def action_interrupt(self) -> None:
        self.leave(130)
