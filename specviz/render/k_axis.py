"""Charts with K = 0, ..., 32 along x: scales, ticks and layers, pure."""

import math
from collections.abc import Mapping

from specviz.core.options import MAX_K
from specviz.render.chart import DOTS_X, DOTS_Y, Grid, Layer, RoundValues
from specviz.render.glyphs import Glyphs

_STEPS = (1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0)
_FIGURES = (1.0, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0)
_GAPS = (2, 3, 4)
"""Rows from one tick to the next."""
_EVERY = {40: 4, 0: 8}
"""Ks between two ticks, by the columns there are at least."""


def k_grid(columns: int, rows: int, low: float, high: float) -> Grid:
    return Grid(columns, rows, MAX_K + 1, low, high)


def k_ticks(columns: int) -> Mapping[str, int]:
    """The ticks K = 0, 4, 8, ... of a ``k_grid``."""
    step = next(step for least, step in _EVERY.items() if columns >= least)
    return {str(k): k + 1 for k in range(0, MAX_K + 1, step)}


def scale(largest: float, low: float = 0.0) -> float:
    """The end of a y axis that begins at ``low``: a round number at or above ``largest``, so that it moves rarely."""
    power = 10.0 ** math.floor(math.log10(max(largest, low + 0.5)))
    return next(top for top in (*(power * step for step in _STEPS), power * 10) if top >= largest and top > low)


def y_axis(low: float, least: float, rows: int) -> tuple[float, dict[str, float]]:
    """The end of a y axis from ``low`` that reaches ``least``, and its ticks: labels of one width and their values. A
    tick is a round number in the middle of a row, and all are equally spaced; hence the end depends on ``rows`` (at
    least 2) and may have no tick."""
    spaces = rows - 1
    every = [gap for gap in _GAPS if gap <= spaces] or [spaces]
    high, gap, step = min(
        (low + step * spaces / gap, gap, step) for gap in every for step in [_step(least - low, spaces / gap)]
    )
    values = [low + step * i for i in range(spaces // gap + 1)]
    labels = [f"{value:.6g}" for value in values]
    width = max(map(len, labels))
    return high, {label.rjust(width): value for label, value in zip(labels, values, strict=True)}


def _step(span: float, steps: float) -> float:
    """The smallest round number that reaches ``span`` in ``steps``."""
    power = 10.0 ** math.floor(math.log10(span / steps))
    return next(power * figure for figure in (*_FIGURES, 10.0) if power * figure * steps >= span * (1 - 1e-9))


def curve(grid: Grid, style: str, values: RoundValues, glyphs: Glyphs, *, ascii_marker: str | None = None) -> Layer:
    """A line through values at K = 0, 1, ...: braille dots, in ASCII whole cells."""
    dots = grid.line(values, ())
    if not glyphs.ascii:
        return Layer(style, "braille", dots, fine=True)
    cells = sorted({(x // DOTS_X, y // DOTS_Y) for x, y in dots})
    return Layer(style, ascii_marker or glyphs.line, cells)


def level_line(grid: Grid, style: str, value: float, marker: str) -> Layer:
    """A line across the chart; nothing where the value is off the scale."""
    if not grid.low <= value <= grid.high:
        return Layer(style, marker, [])
    y = grid.level(value, grid.rows)
    return Layer(style, marker, [(x, y) for x in range(grid.columns)])


def sign(grid: Grid, style: str, marker: str, k: int, value: float, *, above: int = 0) -> Layer:
    """One cell at (k, value), or ``above`` cells higher."""
    y = min(grid.rows - 1, grid.level(value, grid.rows) + above)
    return Layer(style, marker, [(grid.column(k + 1, grid.columns), y)])


def upright(grid: Grid, style: str, marker: str, k: int, low: float, high: float) -> Layer:
    """The cells of column ``k`` between two values."""
    x = grid.column(k + 1, grid.columns)
    return Layer(style, marker, [(x, y) for y in range(grid.level(low, grid.rows), grid.level(high, grid.rows) + 1)])
