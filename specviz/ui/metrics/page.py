"""A page of lines that scrolls, and the row of choices above it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from textual import events
from textual.content import Content
from textual.geometry import Size
from textual.scroll_view import ScrollView
from textual.strip import Strip
from textual.style import Style
from textual.widget import Widget

from specviz.ui.metrics.blocks import Lines, PageBody
from specviz.ui.widgets.cell_widget import CellWidget


class MetricsPage(CellWidget, ScrollView, can_focus=True):
    """Lines laid out for the current width; only those in view are painted."""

    PREFIX = "page"
    DEFAULT_CSS = """
    MetricsPage {
        width: 1fr; padding: 0 1; overflow-x: hidden; overflow-y: auto;
        scrollbar-size-vertical: 1; scrollbar-gutter: stable;
        background: $background; color: $foreground;
    }
    MetricsPage > .page--text { color: $foreground; }
    MetricsPage > .page--strong { color: $foreground; text-style: bold; }
    MetricsPage > .page--title { color: $accent; text-style: bold; }
    MetricsPage > .page--head { color: $secondary; }
    MetricsPage > .page--tested { color: $plot-tested; }
    MetricsPage > .page--all { color: $plot-overlap; }
    MetricsPage > .page--measured { color: $plot-measured; }
    MetricsPage > .page--formula { color: $plot-formula; }
    MetricsPage > .page--good { color: $success; text-style: bold; }
    MetricsPage > .page--warning { color: $warning; text-style: bold; }
    MetricsPage > .page--error { color: $error; text-style: bold; }
    MetricsPage > .page--accent { color: $accent; text-style: bold; }
    """

    def __init__(self, *, id: str, ascii: bool = False) -> None:
        super().__init__(id=id, ascii=ascii)
        self._layout: PageBody | None = None
        self._width = 0
        self._lines: Lines = []
        self._strips: dict[int, Strip] = {}

    def show(self, layout: PageBody) -> None:
        self._layout = layout
        self._lay_out()

    def on_resize(self) -> None:
        if self.scrollable_content_region.width != self._width:
            self._lay_out()

    def notify_style_update(self) -> None:
        super().notify_style_update()
        self._strips.clear()

    def _lay_out(self) -> None:
        self._width = width = self.scrollable_content_region.width
        if self._layout is None or width <= 0:
            return
        self._lines = self._layout(width, self._glyphs)
        self._strips.clear()
        self.virtual_size = Size(width, len(self._lines))
        self.refresh()

    def render_line(self, y: int) -> Strip:
        y += self.scroll_offset.y
        strip = self._strips.get(y)
        if strip is None:
            line = self._lines[y] if y < len(self._lines) else []
            strip = self._strips[y] = self.strip(line, self._width)
        return strip


@dataclass(frozen=True, slots=True)
class BarChoice:
    """An entry of a choice bar: its label and its action."""

    label: str
    action: str


class ChoiceBar(Widget):
    """A row of choices; the current one is in brackets."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {"choice--label", "choice--taken"}
    DEFAULT_CSS = """
    ChoiceBar {
        height: 1;
        .choice--label { color: $secondary; }
        .choice--taken { color: $foreground; text-style: bold; }
    }
    """

    def __init__(self, choices: Sequence[BarChoice], *, id: str) -> None:
        super().__init__(id=id)
        self._choices = choices
        self._taken = 0

    def offer(self, choices: Sequence[BarChoice]) -> None:
        """Replace the labels."""
        if choices != self._choices:
            self._choices = choices
            self.refresh()

    def show(self, taken: int) -> None:
        if taken != self._taken:
            self._taken = taken
            self.refresh()

    def render(self) -> Content:
        label, taken = (self.get_visual_style(f"choice--{name}", partial=True) for name in ("label", "taken"))
        pieces: list[Content] = []
        for index, choice in enumerate(self._choices):
            click = Style.from_meta({"action": choice.action})
            before, after = "[]" if index == self._taken else "  "
            style = (taken if index == self._taken else label) + click
            pieces.append(Content.styled(f"{before}{choice.label}{after}", style))
        return Content(" ").join(pieces)

    async def on_click(self, event: events.Click) -> None:
        if action := event.style.meta.get("action"):
            await self.run_action(f"screen.{action}")
