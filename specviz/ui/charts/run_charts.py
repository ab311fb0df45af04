"""The two charts of a run. Importing this module imports plotext, so do it late."""

from itertools import count

from specviz.render.cells import Line
from specviz.render.chart import Grid, Layer, dashed
from specviz.render.chart_painter import paint
from specviz.render.numbers import fixed, prob
from specviz.stats.run_stats import LiveRates
from specviz.ui.charts.round_chart import RoundsPlot, any_defined


class AlphaPlot(RoundsPlot, panel=True):
    """Running acceptance: α tested with its 95 % band, α overlap; the y axis is always 0 to 1."""

    PLACEHOLDER = "no draft tested yet"
    DEFAULT_CSS = """
    AlphaPlot { height: 1fr; }
    AlphaPlot > .plot--axis { color: $secondary; }
    AlphaPlot > .plot--tested { color: $plot-tested; text-style: bold; }
    AlphaPlot > .plot--band { color: $plot-band; }
    AlphaPlot > .plot--overlap { color: $plot-overlap; }
    AlphaPlot > .plot--segment { color: $secondary; }
    """

    def _title(self, rates: LiveRates) -> tuple[str, int]:
        none = self._glyphs.none
        tested, overlap = prob(rates.alpha_tested, none=none), prob(rates.alpha_overlap, none=none)
        return f"{self._glyphs.alpha}  tested {tested}   {rates.overlap_name} {overlap}", rates.first

    def _key(self) -> Line:
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

    def _chart(self, columns: int, rows: int) -> list[Line]:
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


class TokensPlot(RoundsPlot, panel=True):
    """Running tokens/round against the formula at both alphas; the y axis is always 1 to K+1."""

    PLACEHOLDER = "no round yet"
    DEFAULT_CSS = """
    TokensPlot { height: 1fr; }
    TokensPlot > .plot--axis { color: $secondary; }
    TokensPlot > .plot--measured { color: $plot-measured; text-style: bold; }
    TokensPlot > .plot--formula { color: $plot-formula; }
    TokensPlot > .plot--formula-2 { color: $plot-formula-2; }
    TokensPlot > .plot--segment { color: $secondary; }
    TokensPlot > .plot--limit { color: $border; }
    """

    def _title(self, rates: LiveRates) -> tuple[str, int]:
        none = self._glyphs.none
        formulas = f"{fixed(rates.formula_at_tested, 2, none)}|{fixed(rates.formula_at_overlap, 2, none)}"
        measured = fixed(rates.tokens_per_round, 2, none)
        return f"tokens/round {measured}  formula {formulas}", rates.tokens_per_round_first

    def _key(self) -> Line:
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

    def _chart(self, columns: int, rows: int) -> list[Line]:
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


def _named(line: Line, name: str = " K+1 ") -> Line:
    """Write the name of the limit at the end of its line, if that is free."""
    text, style = line[-1]
    return (
        [*line[:-1], (text[: -len(name)], style), (name, "axis")]
        if style == "limit" and len(text) > len(name)
        else line
    )
