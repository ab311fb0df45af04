"""`specviz bench --plot`: the measured and predicted speedup over K as a chart in the terminal."""

import sys
from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import pairwise

from specviz.bench.report import BenchReport, Row
from specviz.bench.samples import Spread
from specviz.cli.shared.terminal_output import CHART_ROWS, columns_beside, print_chart
from specviz.render.chart import DOTS_X, Grid, Layer, dashed
from specviz.render.console import show, speaks_unicode
from specviz.render.glyphs import glyphs
from specviz.render.k_axis import curve, level_line, scale, sign, upright, y_axis

MARKERS = {"model": "m", "cost": "c", "measured": "o"}
STYLES = {"measured": "bright_cyan", "model": "yellow", "cost": "magenta"}
_CELLS_A_TICK = 4


@dataclass(frozen=True, slots=True)
class Series:
    """The measured speedup and both predictions of one drafter, by K."""

    measured: dict[int, Spread]
    model: dict[int, float]
    cost: dict[int, float]

    @property
    def largest(self) -> float:
        return max([*(spread.q3 for spread in self.measured.values()), *self.model.values(), *self.cost.values()])


def plot(report: BenchReport) -> None:
    """One chart per measured drafter."""
    for drafter in report.plan.drafters:
        rows = [row for row in report.rows if row.drafter == drafter and row.speedup]
        if rows:
            several = len(report.plan.drafters) > 1
            _chart(series_of(rows), f"{drafter}: " if several else "", report.plan.ks[-1])


def series_of(rows: Iterable[Row]) -> Series:
    every = list(rows)
    return Series(
        {row.k: row.speedup for row in every if row.speedup},
        {row.k: row.model.prediction.speedup for row in every if row.model},
        {row.k: row.measured_cost.prediction.speedup for row in every if row.measured_cost},
    )


def _chart(series: Series, name: str, most: int) -> None:
    signs = glyphs(not speaks_unicode(sys.stdout))
    high, ticks = y_axis(0.0, scale(max(1.2, series.largest)), CHART_ROWS)
    columns = columns_beside(ticks)
    grid = Grid(columns, CHART_ROWS, most + 1, 0.0, high)

    def marks(name: str, values: dict[int, float]) -> list[Layer]:
        return [sign(grid, name, MARKERS[name], k, value) for k, value in values.items()]

    model, cost = (
        _within(grid, values, curve(grid, style, between(values, most), signs, ascii_marker=marker))
        for style, values, marker in (("model", series.model, "."), ("cost", series.cost, ":"))
    )
    lines = [model, dashed(cost, above=model)]
    spreads = [upright(grid, "measured", signs.test, k, each.q1, each.q3) for k, each in series.measured.items()]
    layers = [level_line(grid, "axis", 1.0, signs.dash), *lines, *spreads]
    layers += [*marks("model", series.model), *marks("cost", series.cost)]
    layers += marks("measured", {k: each.median for k, each in series.measured.items()})
    key = [
        ("measured", any(series.measured), f"measured, {signs.test} between the quartiles"),
        ("model", any(series.model), "predicted by the model"),
        ("cost", any(series.cost), "predicted by measured cost"),
    ]
    show()
    show(f"{name}speedup over K (below 1 the target alone is faster)")
    print_chart(
        grid,
        layers,
        ticks,
        k_ticks(columns, most),
        signs,
        lambda style: STYLES.get(style, "dim"),
        [(MARKERS[style], style, text) for style, drawn, text in key if drawn],
    )


def _within(grid: Grid, values: dict[int, float], line: Layer) -> Layer:
    """``line`` clipped to the range of K in ``values``."""
    ends = [grid.column(k + 1, grid.columns) for k in values]
    across = DOTS_X if line.fine else 1
    return replace(line, points=[(x, y) for x, y in line.points if min(ends) <= x // across <= max(ends)])


def between(values: dict[int, float], most: int) -> list[float | None]:
    """A value for each K = 0, ..., ``most``, interpolated linearly; None outside the range of ``values``."""
    interpolated: list[float | None] = [None] * (most + 1)
    ks = sorted(values)
    for low, high in pairwise(ks):
        for k in range(low, high):
            share = (k - low) / (high - low)
            interpolated[k] = values[low] + (values[high] - values[low]) * share
    for k in ks[-1:]:
        interpolated[k] = values[k]
    return interpolated


def k_ticks(columns: int, most: int) -> dict[str, int]:
    """Labels and columns of K = 0, 1, 2, ... on a grid that starts at K = 0, as many as fit."""
    step = next(step for step in (1, 2, 4, 8, 16) if _CELLS_A_TICK * most <= columns * step)
    return {str(k): k + 1 for k in range(0, most + 1, step)}
