"""A list of any length that is drawn line by line."""

from abc import abstractmethod

from rich.style import Style
from textual import events
from textual.geometry import Region, Size
from textual.scroll_view import ScrollView
from textual.strip import Strip

from specviz.ui.widgets.cell_widget import CellWidget, strip_of

DrawnLine = tuple[list[tuple[str, Style]], Style]
"""The pieces of a line, and their background."""


class LineList(CellWidget, ScrollView, can_focus=False):
    """A head and lines below it, one of them chosen; only what can be seen is drawn, and again where it changed.
    Subclasses say how many lines there are and draw them; they call ``choose`` when they show others."""

    DEFAULT_CSS = """
    LineList {
        height: 1fr; overflow-x: hidden; overflow-y: auto; scrollbar-size-vertical: 1; scrollbar-gutter: stable;
    }
    """

    def __init__(self, *, ascii: bool = False) -> None:
        super().__init__(ascii=ascii)
        self._chosen = 0
        self._drawn: dict[int, DrawnLine] = {}

    @property
    @abstractmethod
    def row_count(self) -> int: ...

    @abstractmethod
    def draw_head(self, width: int) -> DrawnLine: ...

    @abstractmethod
    def draw_row(self, index: int, width: int) -> DrawnLine: ...

    def clicked(self, index: int) -> None:
        """A line was clicked."""

    @property
    def cursor_row(self) -> int:
        """The line that is chosen."""
        return self._chosen

    @property
    def page(self) -> int:
        """Lines that can be seen at a time."""
        return max(1, self.scrollable_content_region.height - 1)

    def move(self, lines: int) -> None:
        self.choose(self._chosen + lines)

    def choose(self, index: int, *, top: int | None = None) -> None:
        """Select the nearest existing line and bring it into view; ``top``: the line to show first. To be called, too,
        when the lines have become others."""
        self._chosen = max(0, min(index, self.row_count - 1))
        self.virtual_size = Size(self.scrollable_content_region.width, self.row_count + 1)
        before = round(self.scroll_target_y)
        wanted = before if top is None else max(0, top)
        wanted = max(min(wanted, self._chosen), self._chosen - self.page + 1)
        if wanted != before:
            self.scroll_to(y=wanted, animate=False, immediate=True, force=True)
        self._look()

    def _look(self) -> None:
        """Redraw visible lines that have changed."""
        for y, drawn in list(self._drawn.items()):
            if self._draw(y) != drawn:
                del self._drawn[y]
                self.refresh(Region(0, y, self.size.width, 1))

    def on_resize(self) -> None:
        self.choose(self._chosen)

    def on_click(self, event: events.Click) -> None:
        offset = event.get_content_offset(self)
        index = offset.y - 1 + self.scroll_offset.y if offset else -1
        if offset and offset.y > 0 and 0 <= index < self.row_count:
            self.clicked(index)

    def _draw(self, y: int) -> DrawnLine:
        width, index = self.scrollable_content_region.width, y - 1 + self.scroll_offset.y
        if y == 0:
            return self.draw_head(width)
        return self.draw_row(index, width) if index < self.row_count else ([], Style.null())

    def render_line(self, y: int) -> Strip:
        parts, tint = self._drawn[y] = self._draw(y)
        return strip_of(parts, self.scrollable_content_region.width, self.rich_style + tint)
