"""P(N = i) as upright bars, with the measured shares of rounds on them."""

from collections.abc import Sequence

from specviz.render.cells import EIGHTHS, Part
from specviz.render.glyphs import Glyphs
from specviz.render.numbers import prob
from specviz.ui.widgets.cell_widget import CellWidget

_WIDEST = 7
_LABELLED = 5
"""Cells of a bar from which on its value is written above it."""


def bars(
    values: Sequence[float], measured: Sequence[float] | None, width: int, rows: int, glyphs: Glyphs
) -> list[list[Part]]:
    """``rows`` lines of bars over a line with i = 1, 2, ...; ``measured`` (of the same length) marks shares. Those that
    do not fit are omitted."""
    cells = max(1, min(_WIDEST, width // max(1, len(values))))
    shown = values[: width // cells]
    labelled = cells >= _LABELLED and rows >= 3
    highest = max([1e-9, *shown, *(measured or ())])
    space = (rows - labelled) * EIGHTHS
    columns = [
        _column(value, None if measured is None else measured[place], highest, space, rows, cells, labelled, glyphs)
        for place, value in enumerate(shown)
    ]
    lines = [[part for column in columns for part in column[level]] for level in range(rows - 1, -1, -1)]
    lines.append([(_names(len(shown), cells), "axis")])
    return lines


def _column(
    value: float,
    measured: float | None,
    highest: float,
    space: int,
    rows: int,
    cells: int,
    labelled: bool,
    glyphs: Glyphs,
) -> list[list[Part]]:
    """One bar from the bottom up, ``space`` eighths of a cell high at ``highest``; the measured mark in its middle."""
    wide = max(1, cells - 1)
    height = round(space * value / highest)
    mark = None if measured is None else max(0, min(rows - 1, round(space * measured / highest / EIGHTHS) - 1))
    label = max(-(-height // EIGHTHS), -1 if mark is None else mark + 1)
    column: list[list[Part]] = []
    for level in range(rows):
        eighths = max(0, min(EIGHTHS, height - level * EIGHTHS))
        sign = (glyphs.full if eighths >= EIGHTHS / 2 else " ") if glyphs.ascii else glyphs.levels[eighths]
        gap = " " * (cells - wide)
        if level == mark:
            left = (wide - 1) // 2
            column.append([(sign * left, "bar"), (glyphs.times, "measured"), (sign * (wide - 1 - left) + gap, "bar")])
        elif labelled and level == label:
            column.append([(prob(value).ljust(cells)[:cells], "text")])
        else:
            column.append([(sign * wide + gap, "bar")])
    return column


def _names(count: int, cells: int) -> str:
    """i under each bar, or under every fourth where bars are narrow."""
    every = 1 if cells >= 3 else 4
    line = [" "] * (count * cells + 2)
    for i in range(1, count + 1, every):
        line[(i - 1) * cells : (i - 1) * cells + len(str(i))] = str(i)
    return "".join(line)


class LengthBars(CellWidget, panel=True):
    """The distribution of a round's tokens."""

    PREFIX = "bars"
    DEFAULT_CSS = """
    LengthBars { width: 1fr; height: 1fr; }
    LengthBars > .bars--bar { color: $plot-formula; }
    LengthBars > .bars--measured { color: $plot-measured; text-style: bold; }
    LengthBars > .bars--axis { color: $secondary; }
    """

    _shown: tuple[tuple[float, ...], tuple[float, ...] | None] = ((), None)

    def show(self, title: str, values: tuple[float, ...], measured: tuple[float, ...] | None) -> None:
        self.set_titles(title)
        if (values, measured) != self._shown:
            self._shown = values, measured
            self.redraw()

    def lines(self, width: int, height: int) -> list[list[Part]]:
        return bars(*self._shown, width, height - 1, self._glyphs) if width > 1 and height > 1 else []
