"""The chips of a round on the screen."""

from rich.style import Style

from specviz.render.cells import Line
from specviz.render.glyphs import component
from specviz.ui.present.chip_grid import ChipGrid, grid
from specviz.ui.present.chips import AnimationFrame, chip_legend, chips
from specviz.ui.widgets.cell_widget import CellWidget

_UPRIGHT = Style(strike=False, underline=False, italic=False)
_BOLD = Style(bold=True)


class ChipRow(CellWidget, tokens=True):
    """Draws one frame of a round on a grid that is the same for every round."""

    PREFIX = "chip"
    DEFAULT_CSS = """
    ChipRow { height: auto; }
    ChipRow > .token--waiting { color: $foreground; }
    ChipRow > .chip--space { color: $secondary; }
    ChipRow > .chip--rest { color: $secondary; }
    ChipRow > .chip--strong { color: $foreground; text-style: bold; }
    """

    def __init__(self, *, id: str | None = None, ascii: bool = False) -> None:
        super().__init__(id=id, ascii=ascii)
        self._frame: AnimationFrame | None = None
        self._grid: ChipGrid = grid(1, 1, 1)

    def reserve(self, places: int, width: int, height: int) -> None:
        """Choose the grid for ``places`` tokens in the given cells and lines; its height becomes the widget's."""
        made = grid(places, width, height)
        if made != self._grid:
            self._grid = made
            self.styles.height = made.height
            self.redraw()

    def show(self, frame: AnimationFrame | None) -> None:
        """None: before the first round, what the chips mean."""
        if frame != self._frame:
            self._frame = frame
            self.redraw()

    def lines(self, width: int, height: int) -> list[Line]:
        if self._frame is None:
            return chip_legend(self._grid, self._glyphs)
        return chips(self._frame, self._grid, self._glyphs)

    def style_of(self, name: str) -> Style:
        part, _, kind = name.partition(":")
        if not kind:
            return super().style_of(name)
        style = self.component_style(component(kind))
        if part == "token":
            return style + _BOLD
        return style + _UPRIGHT + Style(bold=part == "mark")
