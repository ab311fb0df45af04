"""Lines that are kept until something else is to be seen."""

from abc import abstractmethod

from textual.geometry import Size
from textual.strip import Strip

from specviz.ui.widgets.painted import Painted


class Kept(Painted):
    """A widget drawn as a whole, and only when what it shows, its size or the theme has changed.

    Subclasses give ``drawn`` and call ``redraw`` when they show something else.
    """

    _strips: list[Strip] | None = None
    _drawn_size = Size(0, 0)

    @abstractmethod
    def drawn(self, width: int, height: int) -> list[Strip]:
        """What stands in ``width`` x ``height`` cells; where that is scrolled, all of it."""

    def redraw(self) -> None:
        self._strips = None
        self.refresh()

    def notify_style_update(self) -> None:
        super().notify_style_update()
        self._strips = None

    def render_line(self, y: int) -> Strip:
        size = self.scrollable_content_region.size
        if self._strips is None or self._drawn_size != size:
            self._strips, self._drawn_size = self.drawn(*size), size
        y += self.scroll_offset.y
        return self._strips[y] if y < len(self._strips) else Strip.blank(size.width, self.rich_style)
