"""The inspector: why one token was accepted, rejected or drawn, with all its numbers."""

from collections.abc import Set

from rich.style import Style
from textual.geometry import Size
from textual.scroll_view import ScrollView
from textual.strip import Strip

from specviz.core.events import Prompt, Round
from specviz.render.cells import Line
from specviz.render.glyphs import component
from specviz.render.numbers import pluralised
from specviz.render.phases import RowStage
from specviz.render.token_report import inspector_title
from specviz.ui.inspector.layout import prompt_lines, report_lines
from specviz.ui.widgets.cell_widget import CellWidget

_UPRIGHT = Style(strike=False, underline=False, italic=False)
_BOLD = Style(bold=True)
_NAMES = ("head", "quiet", "faint", "strong", "bar", "special", "would")


class Inspector(CellWidget, ScrollView, can_focus=False, panel=True, tokens=True):
    """One token of a round; before the first round the tokens of the prompt. Long content scrolls."""

    PREFIX = "inspector"
    DEFAULT_CSS = """
    Inspector {
        height: 1fr; overflow-x: hidden; overflow-y: auto; scrollbar-gutter: stable; scrollbar-size-vertical: 1;
        padding: 0 0 0 1;
    }
    Inspector > .token--waiting { color: $secondary; }
    Inspector > .inspector--head { color: $secondary; }
    Inspector > .inspector--quiet { text-style: dim; }
    Inspector > .inspector--faint { color: $border; }
    Inspector > .inspector--strong { text-style: bold; }
    Inspector > .inspector--bar { color: $plot-band; }
    Inspector > .inspector--special { text-style: reverse; }
    Inspector > .inspector--would { text-style: italic; }
    """

    def __init__(self, *, id: str | None = None, classes: str | None = None, ascii: bool = False) -> None:
        super().__init__(id=id, classes=classes, ascii=ascii)
        self._round: Round | None = None
        self._row = 0
        self._known: RowStage = "decided"
        self._prompt: Prompt | None = None
        self._special_ids: Set[int] = frozenset()
        self._lines: list[Line] | None = None
        self.set_titles("Inspector")

    def show(
        self,
        round: Round | None,
        row: int,
        *,
        prompt: Prompt | None = None,
        special_ids: Set[int] = frozenset(),
        known: RowStage = "decided",
    ) -> None:
        """Show row ``row`` of ``round`` (K: its last token); without a round the tokens of ``prompt``. ``known``: how
        much of the row may be shown; nothing of a hidden one."""
        if known == "hidden":
            round, prompt = None, None
        prompt, row = (prompt, 0) if round is None else (None, row)
        if (row, known) == (self._row, self._known) and round is self._round and prompt is self._prompt:
            return
        if (round is None) != (self._round is None):
            self.scroll_to(y=0, animate=False, immediate=True, force=True)
        self._round, self._row, self._known = round, row, known
        self._prompt, self._special_ids = prompt, special_ids
        self.set_titles(self._heading())
        self._lay_out()

    def _heading(self) -> str:
        if self._round is not None:
            return inspector_title(self._round, self._row, self._glyphs)
        if self._prompt is None:
            return "Inspector"
        return f" {self._glyphs.dot} ".join(("Inspector", "prompt", pluralised(len(self._prompt.tokens), "token")))

    def _lay_out(self) -> None:
        region = self.scrollable_content_region
        cells, height = max(1, region.width), max(1, region.height)
        if self._round is not None:
            self._lines = report_lines(
                self._round, self._row, cells, height, self._glyphs, self._special_ids, self._known
            )
        elif self._prompt is not None:
            self._lines = prompt_lines(self._prompt, cells, self._glyphs, self._special_ids)
        else:
            self._lines = [[("nothing decided yet", "quiet")]]
        # Width 0: of a virtual size equal to the region Textual takes no notice, and an old scroll bar would stay.
        self.virtual_size = Size(0, max(height, len(self._lines)))
        self.refresh()

    def on_resize(self) -> None:
        self._lay_out()

    def render_line(self, y: int) -> Strip:
        y += self.scroll_offset.y
        line = self._lines[y] if self._lines and y < len(self._lines) else []
        return self.strip(line, self.scrollable_content_region.width)

    def style_of(self, name: str) -> Style:
        if name == "text" or name in _NAMES:
            return super().style_of(name)
        prefix, _, kind = name.rpartition(":")
        style = self.component_style(component(kind))
        return style + _UPRIGHT if prefix == "mark" else style + _BOLD if prefix == "name" else style
