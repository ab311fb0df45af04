"""A bordered panel drawn as a whole, and only when what it shows, its size or the theme has changed."""

from typing import ClassVar

from rich.style import Style
from textual.strip import Strip

from specviz.ui.glyphs import glyphs
from specviz.ui.widgets.bordered import Bordered
from specviz.ui.widgets.drawing import Part
from specviz.ui.widgets.strips import strip_of


class Drawn(Bordered):
    """Subclasses give ``lines`` for a size and call ``redraw`` when they show something else.

    A part's style is the component class ``<PREFIX>--<name>``; "text" is the panel's own.
    """

    ALLOW_SELECT = False
    PREFIX: ClassVar[str]

    def __init__(self, *, id: str | None = None, ascii: bool = False) -> None:
        super().__init__(id=id)
        self._glyphs = glyphs(ascii)
        self._strips: list[Strip] | None = None
        self._drawn_size = (0, 0)
        self.set_class(ascii, "-ascii")

    def lines(self, width: int, height: int) -> list[list[Part]]:
        raise NotImplementedError

    def redraw(self) -> None:
        self._strips = None
        self.refresh()

    def notify_style_update(self) -> None:
        super().notify_style_update()
        self._strips = None

    def render_line(self, y: int) -> Strip:
        width, height = size = self.content_size.width, self.content_size.height
        if self._strips is None or self._drawn_size != size:
            base = self.rich_style
            self._strips = [
                strip_of([(text, self._style(name)) for text, name in parts], width, base)
                for parts in self.lines(width, height)
            ]
            self._drawn_size = size
        return self._strips[y] if y < len(self._strips) else Strip.blank(width, self.rich_style)

    def _style(self, name: str) -> Style:
        return Style.null() if name == "text" else self.painted(f"{self.PREFIX}--{name}")
