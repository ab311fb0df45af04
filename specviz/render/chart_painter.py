"""Charts as lines of cells, with axes from plotext; importing this module imports plotext, so do it late.

plotext draws axes and ticks around an empty canvas. The layers are put on it here, cell by cell with the names of their
styles, so that themes, NO_COLOR and 16 colours apply as everywhere else.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import cache, lru_cache
from typing import Any

from textual_plotext import Plot

from specviz.render.cells import Line
from specviz.render.chart import AXIS_ROWS, DOTS_X, DOTS_Y, Grid, Layer, round_ticks
from specviz.render.glyphs import Glyphs

_BRAILLE = ((0x40, 0x04, 0x02, 0x01), (0x80, 0x20, 0x10, 0x08))
"""The bit of a dot in its cell, by column and by row from below."""
_ASCII_AXES = str.maketrans("┤├┼│└┘┬┴─", "+++|++++-")


def paint(
    grid: Grid,
    layers: Sequence[Layer],
    y_ticks: Mapping[str, float],
    glyphs: Glyphs,
    x_ticks: Mapping[str, int] | None = None,
) -> list[Line]:
    """The chart as lines of (text, style) from the top; the style of the axes is "axis". ``x_ticks`` maps labels to
    rounds of the grid; None: round numbers."""
    label = max(len(text) for text in y_ticks)
    if x_ticks is None:
        x_ticks = {str(r): r for r in round_ticks(grid.rounds, grid.columns)}
    rows = _frame(grid, label, tuple(y_ticks.items()), tuple(x_ticks.items()))
    styles = [["axis"] * len(row) for row in rows]
    for layer in layers:
        for (x, y), sign in _cells(layer):
            row, column = AXIS_ROWS + y, label + 1 + x
            rows[row][column], styles[row][column] = sign, layer.style
    lines = [_runs(row, of_row) for row, of_row in zip(reversed(rows), reversed(styles), strict=True)]
    if glyphs.ascii:
        return [[(text.translate(_ASCII_AXES), style) for text, style in line] for line in lines]
    return lines


def _frame(
    grid: Grid, label: int, y_ticks: tuple[tuple[str, float], ...], x_ticks: tuple[tuple[str, int], ...]
) -> list[list[str]]:
    """plotext's axes and ticks around an empty canvas: rows of characters from below. Ticks are (label, value). The
    axes are drawn apart, each on the smallest canvas, since the x axis changes with every round."""
    levels = tuple((name, grid.level(value, grid.rows * DOTS_Y)) for name, value in y_ticks)
    columns = tuple((name, grid.column(r, grid.columns * DOTS_X)) for name, r in x_ticks)
    x_axis = _axes(grid.columns, 1, (("0" * label, 0),), columns)[:AXIS_ROWS]
    y_axis = _axes(1, grid.rows, levels, (("0", 0),))[AXIS_ROWS:]
    return [*map(list, x_axis), *([*row[: label + 1], *" " * grid.columns] for row in y_axis)]


@lru_cache(maxsize=32)
def _axes(
    columns: int, rows: int, y_ticks: tuple[tuple[str, int], ...], x_ticks: tuple[tuple[str, int], ...]
) -> tuple[str, ...]:
    """Both axes as plotext draws them, from below. Ticks are (label, dot)."""
    figure, label = _figure(), max(len(name) for name, _ in y_ticks)
    figure.plotsize(columns + label + 1, rows + AXIS_ROWS)
    figure.xlim(0, columns * DOTS_X - 1)
    figure.ylim(0, rows * DOTS_Y - 1)
    figure.yticks([dot for _, dot in y_ticks], [name for name, _ in y_ticks])
    figure.xticks([dot for _, dot in x_ticks], [name for name, _ in x_ticks])
    return tuple(reversed(Plot.uncolorize(figure.build()).splitlines()))


@cache
def _figure() -> Any:
    """The figure all frames are drawn on: a subplot, because a top-level figure is limited to the terminal's size."""
    master = Plot()
    master.subplots(1, 2)
    figure = master.subplot(1, 1)
    figure.theme("clear")
    figure.xaxes(True, False)
    figure.yaxes(True, False)
    figure.scatter([0], [0], marker=" ")  # without a point there are no ticks
    return figure


def _cells(layer: Layer) -> Iterator[tuple[tuple[int, int], str]]:
    """The cells of a layer and their signs. plotext would take three times as long, during which the decoder waits for
    the interpreter."""
    if not layer.fine:
        for point in layer.points:
            yield point, layer.marker
        return
    bits: dict[tuple[int, int], int] = {}
    for x, y in layer.points:
        cell = x // DOTS_X, y // DOTS_Y
        bits[cell] = bits.get(cell, 0) | _BRAILLE[x % DOTS_X][y % DOTS_Y]
    for cell, dots in bits.items():
        yield cell, chr(0x2800 + dots)


def _runs(row: Sequence[str], styles: Sequence[str]) -> Line:
    """A row as runs of one style; a blank takes the style before it."""
    parts: Line = []
    text, current = "", "axis"
    for char, style in zip(row, styles, strict=True):
        if char != " " and style != current:
            if text:
                parts.append((text, current))
            text, current = "", style
        text += char
    parts.append((text, current))
    return parts
