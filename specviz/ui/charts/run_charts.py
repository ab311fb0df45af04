"""The two charts of a run, and the only file that knows plotext: importing it imports plotext, so do it late.

plotext lays out axes and ticks on a matrix of cells; the series are put on it here, cell by cell with the name of a
style, so that themes, NO_COLOR and 16 colours apply as everywhere else. A figure lives for one drawing: nothing is
shared.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import count
from typing import Any, ClassVar

from textual_plotext import Plot

from specviz.render.cells import Part
from specviz.render.chart import DOTS_X, DOTS_Y, Grid, Layer, round_ticks
from specviz.render.glyphs import Glyphs, panel_css
from specviz.render.numbers import fixed, prob
from specviz.stats.run_stats import LiveRates
from specviz.ui.charts.round_chart import AXIS_ROWS, RoundsPlot, any_defined

_BRAILLE = ((0x40, 0x04, 0x02, 0x01), (0x80, 0x20, 0x10, 0x08))
"""The bit of a dot in its cell, by column and by row from below."""
_ASCII_AXES = str.maketrans("┤├┼│└┘┬┴─", "+++|++++-")


def paint(
    grid: Grid,
    layers: Sequence[Layer],
    y_ticks: Mapping[str, float],
    glyphs: Glyphs,
    x_ticks: Mapping[str, int] | None = None,
) -> list[list[Part]]:
    """The chart as lines of (text, style) from the top; the style of axes is "axis".

    ``x_ticks`` names rounds of the grid; None: round numbers.
    """
    label = max(len(text) for text in y_ticks)
    if x_ticks is None:
        x_ticks = {str(r): r for r in round_ticks(grid.rounds, grid.columns)}
    rows = [list(row) for row in _frame(grid, label, tuple(y_ticks.items()), tuple(x_ticks.items()))]
    styles = [["axis"] * len(row) for row in rows]
    for layer in layers:
        for (x, y), sign in _cells(layer):
            row, column = AXIS_ROWS + y, label + 1 + x
            rows[row][column], styles[row][column] = sign, layer.style
    lines = [_runs(row, of_row) for row, of_row in zip(reversed(rows), reversed(styles), strict=True)]
    if glyphs.ascii:
        return [[(text.translate(_ASCII_AXES), style) for text, style in parts] for parts in lines]
    return lines


@lru_cache(maxsize=16)
def _frame(
    grid: Grid, label: int, y_ticks: tuple[tuple[str, float], ...], x_ticks: tuple[tuple[str, int], ...]
) -> tuple[tuple[str, ...], ...]:
    """plotext's axes and ticks around an empty canvas: rows of characters from below. Ticks are (label, place)."""
    width, height = grid.columns + label + 1, grid.rows + AXIS_ROWS
    last_x, last_y = grid.columns * DOTS_X - 1, grid.rows * DOTS_Y - 1
    plot: Any = Plot()
    plot.plotsize(width, height)
    plot._set_size(width, height)  # plotsize alone would be cut to the terminal's size
    plot.xaxes(True, False)
    plot.yaxes(True, False)
    plot.xlim(0, last_x)
    plot.ylim(0, last_y)
    plot.yticks([grid.level(value, last_y + 1) for _, value in y_ticks], [name for name, _ in y_ticks])
    plot.xticks([grid.column(r, last_x + 1) for _, r in x_ticks], [name for name, _ in x_ticks])
    plot.scatter([0], [0], marker=" ")  # without a point there are no ticks
    plot.monitor.set_size([width, height])
    plot.monitor.build_plot()
    return tuple(map(tuple, plot.monitor.matrix.marker))


def _cells(layer: Layer) -> Iterator[tuple[tuple[int, int], str]]:
    """The cells a layer draws and their signs. Plotting points ourselves costs a third of plotext's way, and the
    decoder waits for the interpreter meanwhile."""
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


def _runs(row: Sequence[str], styles: Sequence[str]) -> list[Part]:
    """A row as runs of one style; blanks take the style before them."""
    parts: list[Part] = []
    text, current = "", "axis"
    for char, style in zip(row, styles, strict=True):
        if char != " " and style != current:
            if text:
                parts.append((text, current))
            text, current = "", style
        text += char
    parts.append((text, current))
    return parts


def dashed(layer: Layer, *, above: Layer) -> Layer:
    """``layer`` in dashes two cells long, one where it would cover ``above``."""

    def cells(layer: Layer) -> list[tuple[int, int]]:
        return [(x // DOTS_X, y // DOTS_Y) if layer.fine else (x, y) for x, y in layer.points]

    covered = set(cells(above))
    kept = [
        point
        for point, cell in zip(layer.points, cells(layer), strict=True)
        if cell[0] % 4 < (1 if cell in covered else 2)
    ]
    return replace(layer, points=kept)


class AlphaPlot(RoundsPlot):
    """Running acceptance: α tested with its 95 % band, α overlap; the y axis is always 0 to 1."""

    PLACEHOLDER = "no draft tested yet"
    COMPONENT_CLASSES: ClassVar[set[str]] = {
        "plot--axis",
        "plot--tested",
        "plot--band",
        "plot--overlap",
        "plot--segment",
    }
    DEFAULT_CSS = (
        panel_css("AlphaPlot")
        + """
    AlphaPlot { height: 1fr; }
    AlphaPlot > .plot--axis { color: $secondary; }
    AlphaPlot > .plot--tested { color: $plot-tested; text-style: bold; }
    AlphaPlot > .plot--band { color: $plot-band; }
    AlphaPlot > .plot--overlap { color: $plot-overlap; }
    AlphaPlot > .plot--segment { color: $secondary; }
    """
    )

    def _title(self, rates: LiveRates) -> tuple[str, int]:
        none = self._glyphs.none
        tested, overlap = prob(rates.alpha_tested, none=none), prob(rates.alpha_overlap, none=none)
        return f"{self._glyphs.alpha}  tested {tested}   {rates.chance_name} {overlap}", rates.first

    def _key(self) -> list[Part]:
        glyphs = self._glyphs
        return [
            (f" {glyphs.line}", "tested"),
            (" tested  ", "axis"),
            (glyphs.shade, "band"),
            (" 95 %  ", "axis"),
            (glyphs.point, "overlap"),
            (f" {self._chance_name}", "axis"),
        ]

    def _label_width(self) -> int:
        return 3

    def _drawable(self) -> bool:
        series = self._series
        return series is not None and (
            any_defined(self._upto(series.alpha_tested)) or any_defined(self._upto(series.alpha_overlap))
        )

    def _small(self) -> str:
        return prob(self._rates.alpha_tested, none=self._glyphs.none) if self._rates else ""

    def _chart(self, columns: int, rows: int) -> list[list[Part]]:
        series, glyphs = self._series, self._glyphs
        assert series is not None
        grid = Grid(columns, rows, self._rounds(), 0.0, 1.0)
        starts = [start for start in series.segment_starts if start <= self._shown]
        low, high = self._upto(series.alpha_tested_low), self._upto(series.alpha_tested_high)
        layers = [
            Layer("band", glyphs.shade, grid.band(low, high, starts)),
            Layer("segment", glyphs.rule, grid.uprights(starts)),
            self._line(grid, "tested", series.alpha_tested, starts, ascii=glyphs.line),
            self._points(grid, "overlap", series.alpha_overlap, starts),
        ]
        ticks = {"1.0": 1.0, " .5": 0.5, "0.0": 0.0} if rows >= 5 else {"1.0": 1.0, "0.0": 0.0}
        return paint(grid, layers, ticks, glyphs)


class TokensPlot(RoundsPlot):
    """Running tokens/round against the formula at both alphas; the y axis is always 1 to K+1."""

    PLACEHOLDER = "no round yet"
    COMPONENT_CLASSES: ClassVar[set[str]] = {
        "plot--axis",
        "plot--measured",
        "plot--formula",
        "plot--formula-2",
        "plot--segment",
        "plot--limit",
    }
    DEFAULT_CSS = (
        panel_css("TokensPlot")
        + """
    TokensPlot { height: 1fr; }
    TokensPlot > .plot--axis { color: $secondary; }
    TokensPlot > .plot--measured { color: $plot-measured; text-style: bold; }
    TokensPlot > .plot--formula { color: $plot-formula; }
    TokensPlot > .plot--formula-2 { color: $plot-formula-2; }
    TokensPlot > .plot--segment { color: $secondary; }
    TokensPlot > .plot--limit { color: $border; }
    """
    )

    def _title(self, rates: LiveRates) -> tuple[str, int]:
        none = self._glyphs.none
        formulas = f"{fixed(rates.formula_at_tested, 2, none)}|{fixed(rates.formula_at_overlap, 2, none)}"
        measured = fixed(rates.tokens_per_round, 2, none)
        return f"tokens/round {measured}  formula {formulas}", rates.tokens_per_round_first

    def _key(self) -> list[Part]:
        glyphs = self._glyphs
        return [
            (f" {glyphs.line}", "measured"),
            (" measured  formula: ", "axis"),
            (glyphs.dash, "formula"),
            (" tested ", "axis"),
            (glyphs.point, "formula-2"),
            (f" {self._chance_name}", "axis"),
        ]

    def _label_width(self) -> int:
        return len(str(self._high()))

    def _high(self) -> int:
        longest = self._series.longest if self._series else 1
        return max(2, longest, self._depth(self._rates) + 1)

    def _drawable(self) -> bool:
        return self._series is not None and any_defined(self._upto(self._series.tokens_per_round))

    def _small(self) -> str:
        return fixed(self._rates.tokens_per_round, 2, self._glyphs.none) if self._rates else ""

    def _chart(self, columns: int, rows: int) -> list[list[Part]]:
        series, glyphs, high = self._series, self._glyphs, self._high()
        assert series is not None
        grid = Grid(columns, rows, self._rounds(), 1.0, float(high))
        starts = [start for start in series.tokens_segment_starts if start <= self._shown]
        measured = self._line(grid, "measured", series.tokens_per_round, starts, ascii=glyphs.line)
        formula = self._line(grid, "formula", series.formula_at_tested, starts, ascii=glyphs.dash)
        layers = [
            Layer("limit", glyphs.dash, [(c, rows - 1) for c in range(columns)]),
            Layer("segment", glyphs.rule, grid.uprights(starts)),
            measured,
            dashed(formula, above=measured),
            self._points(grid, "formula-2", series.formula_at_overlap, starts),
        ]
        step = next(step for step in map((1).__lshift__, count()) if (high - 1) / step <= max(1, (rows - 1) // 2))
        label = len(str(high))
        ticks = {str(n).rjust(label): float(n) for n in range(high, 0, -step)}
        lines = paint(grid, layers, ticks, glyphs)
        return [_named(lines[0]), *lines[1:]]


def _named(line: list[Part], name: str = " K+1 ") -> list[Part]:
    """Write the name of the limit at the end of its line, where nothing else stands there."""
    text, style = line[-1]
    return (
        [*line[:-1], (text[: -len(name)], style), (name, "axis")]
        if style == "limit" and len(text) > len(name)
        else line
    )
