"""A bordered panel drawn from lines of styled pieces."""

from abc import abstractmethod
from typing import ClassVar

from rich.style import Style
from textual.strip import Strip

from specviz.render.cells import Part
from specviz.render.glyphs import glyphs
from specviz.ui.widgets.bordered import Bordered
from specviz.ui.widgets.kept import Kept
from specviz.ui.widgets.strips import strip_of


class Drawn(Bordered, Kept):
    """Subclasses give ``lines`` for a size and call ``redraw`` when they show something else.

    A part's style is the component class ``<PREFIX>--<name>``; "text" is the panel's own.
    """

    ALLOW_SELECT = False
    PREFIX: ClassVar[str]

    def __init__(self, *, id: str | None = None, classes: str | None = None, ascii: bool = False) -> None:
        super().__init__(id=id, classes=classes)
        self._glyphs = glyphs(ascii)
        self.set_class(ascii, "-ascii")

    @abstractmethod
    def lines(self, width: int, height: int) -> list[list[Part]]:
        """What stands in ``width`` x ``height`` cells."""

    def drawn(self, width: int, height: int) -> list[Strip]:
        """``lines`` in the styles of the theme, each exactly ``width`` cells."""
        base = self.rich_style
        return [
            strip_of([(text, self._style(name)) for text, name in parts], width, base)
            for parts in self.lines(width, height)
        ]

    def _style(self, name: str) -> Style:
        return Style.null() if name == "text" else self.painted(f"{self.PREFIX}--{name}")
