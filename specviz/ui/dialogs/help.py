"""All keys of a screen, from its key table."""

from collections.abc import Mapping, Sequence
from typing import Any

from rich.style import Style
from rich.table import Table
from rich.text import Text
from textual.app import ComposeResult
from textual.color import Color
from textual.containers import VerticalScroll
from textual.content import Content
from textual.widgets import Static

from specviz.render.screen_text import in_ascii
from specviz.ui.dialogs.dialog import ModalDialog
from specviz.ui.shared.keys import Key


class HelpScreen(ModalDialog[None]):
    """Takes the rows by group. The arrows scroll; q and ? close it too."""

    BINDINGS = [("q,question_mark", "close", "close")]  # noqa: RUF012

    def __init__(self, keys: Mapping[str, Sequence[Key[Any]]], *, ascii: bool = False) -> None:
        super().__init__(ascii=ascii)
        self._keys = keys

    def compose(self) -> ComposeResult:
        with VerticalScroll(classes="panel") as panel:
            panel.border_title = Content("Keys")
            panel.border_subtitle = Content("esc: back")
            yield Static(self._table())

    def _table(self) -> Table:
        table = Table.grid(padding=(0, 2, 0, 0))
        for group, keys in self._keys.items():
            if table.row_count:
                table.add_row()
            table.add_row("", Text(group, self._style("accent", bold=True)))
            for key in keys:
                shown = in_ascii(key.shown) if self.ascii else key.shown
                table.add_row(Text(shown, "bold"), key.label, Text(key.tooltip, self._style("secondary")))
        return table

    def _style(self, variable: str, *, bold: bool = False) -> Style:
        return Style(color=Color.parse(self.app.theme_variables[variable]).rich_color, bold=bold)
