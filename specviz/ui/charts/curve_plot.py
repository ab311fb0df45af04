"""A curve over K with what is chosen, what is best and what was measured on it."""

from collections.abc import Sequence
from dataclasses import dataclass

from specviz.maths.estimators import Interval
from specviz.render.cells import Line
from specviz.render.chart import AXIS_ROWS, Grid, Layer, dashed
from specviz.render.chart_painter import paint
from specviz.render.k_axis import curve, k_grid, k_ticks, level_line, scale, sign, upright, y_axis
from specviz.ui.widgets.cell_widget import CellWidget

CHOSEN, BEST = "K", "B"
_MIN_CANVAS = (8, 2)
_MIN_ROWS_FOR_KEY = 9


@dataclass(frozen=True, slots=True)
class MeasuredPoint:
    """A value at ``k``, its 95 % interval where there is one, and what it is called."""

    k: int
    value: float
    interval: Interval | None = None
    name: str = "measured"


@dataclass(frozen=True, slots=True)
class CurveView:
    """``values`` at K = 0, ..., 32 on an axis from ``low``. ``limit`` and ``even`` are levels, named in the key.
    ``model``: the same by the paper's model, empty where ``values`` are the model's."""

    title: str
    values: tuple[float, ...]
    low: float
    k: int
    best_k: int | None = None
    measured: MeasuredPoint | None = None
    limit: tuple[str, float] | None = None
    even: tuple[str, float] | None = None
    model: tuple[float, ...] = ()

    @property
    def high(self) -> float:
        """The top of the axis; a limit is included if that leaves half of the height to the curve."""
        largest = max(*self.values, *self.model)
        if self.measured:
            largest = max(largest, self.measured.value, *(self.measured.interval or ()))
        if self.limit and self.limit[1] - self.low <= 2 * (largest - self.low):
            largest = max(largest, self.limit[1])
        return scale(max(largest, self.low + 0.2), self.low)


class CurvePlot(CellWidget, panel=True):
    """Shows a view."""

    PREFIX = "curve"
    DEFAULT_CSS = """
    CurvePlot { width: 1fr; height: 1fr; }
    CurvePlot > .curve--axis { color: $secondary; }
    CurvePlot > .curve--line { color: $plot-formula; }
    CurvePlot > .curve--level { color: $secondary; }
    CurvePlot > .curve--limit { color: $plot-formula-2; }
    CurvePlot > .curve--chosen { color: $accent; text-style: bold; }
    CurvePlot > .curve--best { color: $token-bonus; text-style: bold; }
    CurvePlot > .curve--measured { color: $plot-measured; text-style: bold; }
    CurvePlot > .curve--stem { color: $border; }
    """

    _view: CurveView | None = None

    def show(self, view: CurveView) -> None:
        if view != self._view:
            self._view = view
            self.set_titles(view.title)
            self.redraw()

    def lines(self, width: int, height: int) -> list[Line]:
        view = self._view
        if view is None:
            return []
        keyed = height >= _MIN_ROWS_FOR_KEY
        rows = height - AXIS_ROWS - keyed
        if rows < _MIN_CANVAS[1]:
            return []
        high, ticks = y_axis(view.low, view.high, rows)
        columns = width - 1 - max(map(len, ticks))
        if columns < _MIN_CANVAS[0]:
            return []
        grid = k_grid(columns, rows, view.low, high)
        lines = paint(grid, self._layers(view, grid), ticks, self._glyphs, k_ticks(columns))
        return [*lines, self._key(view, width, high)] if keyed else lines

    def _layers(self, view: CurveView, grid: Grid) -> Sequence[Layer]:
        signs = self._glyphs
        layers = [upright(grid, "stem", signs.rule, view.k, grid.low, grid.high)]
        if view.even:
            layers.append(level_line(grid, "level", view.even[1], signs.dash))
        if view.limit:
            layers.append(level_line(grid, "limit", view.limit[1], self._double))
        main = curve(grid, "line", view.values, signs)
        if view.model:
            layers.append(dashed(curve(grid, "limit", view.model, signs, ascii_marker=signs.dash), above=main))
        layers.append(main)
        layers.append(sign(grid, "chosen", CHOSEN, view.k, grid.high))
        at = view.measured
        if at and at.interval:
            layers.append(upright(grid, "measured", signs.test, at.k, *at.interval))
        if view.best_k is not None:
            layers.append(sign(grid, "best", BEST, view.best_k, view.values[view.best_k], above=1))
        if at:
            layers.append(sign(grid, "measured", signs.times, at.k, at.value))
        return layers

    @property
    def _double(self) -> str:
        return "=" if self._glyphs.ascii else "═"

    def _key(self, view: CurveView, width: int, high: float) -> Line:
        """As many entries as fit whole."""
        signs = self._glyphs
        entries: list[tuple[str, str, str]] = [(CHOSEN, "chosen", "chosen")]
        if view.best_k is not None:
            entries.append((BEST, "best", "best"))
        if view.measured:
            ends = signs.test if view.measured.interval else ""
            name = view.measured.name
            entries.append((signs.times + ends, "measured", f"{name}, 95 %" if ends else name))
        if view.model:
            entries += [(signs.line, "line", "measured cost"), (signs.dash, "limit", "model")]
        for level, sign_, style in ((view.limit, self._double, "limit"), (view.even, signs.dash, "level")):
            if level and view.low <= level[1] <= high:
                entries.append((sign_, style, level[0]))
        parts: Line = []
        for marker, style, name in entries:
            width -= len(marker) + len(name) + 3
            if width < 0:
                break
            parts += [(f" {marker}", style), (f" {name} ", "axis")]
        return parts
