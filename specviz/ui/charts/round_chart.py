"""A chart over rounds as a widget: when it draws, how it is sampled, what it says when it cannot."""

from abc import abstractmethod
from collections.abc import Sequence
from typing import ClassVar

from specviz.render.cells import Line
from specviz.render.chart import AXIS_ROWS, DOTS_X, DOTS_Y, Grid, Layer, defined
from specviz.stats.run_stats import LiveRates, Series
from specviz.ui.widgets.cell_widget import CellWidget

MIN_ROUNDS = 10
"""Rounds the x axis has room for from the start."""
_POINT_EVERY = 4
_MIN_CANVAS = (4, 2)
_MIN_ROWS_FOR_KEY = 7


class RoundsPlot(CellWidget):
    """A chart over rounds. Subclasses define the drawing, the numbers in the title and the placeholder."""

    PREFIX = "plot"
    PLACEHOLDER: ClassVar[str]

    def __init__(self, *, id: str | None = None, classes: str | None = None, ascii: bool = False) -> None:
        super().__init__(id=id, classes=classes, ascii=ascii)
        self._series: Series | None = None
        self._rates: LiveRates | None = None
        self._shown = 0

    def show(self, series: Series, rates: LiveRates, *, shown: int) -> None:
        """Show the values up to round ``shown``; the title names the numbers of ``rates``."""
        title, first = self._title(rates)
        self.set_titles(title, f"since round {first}" if first > 1 else "")
        if shown == self._shown and series == self._series and self._depth(rates) == self._depth(self._rates):
            self._rates = rates
            return
        self._series, self._rates, self._shown = series, rates, shown
        self.redraw()

    def lines(self, width: int, height: int) -> list[Line]:
        key = self._key() if height >= _MIN_ROWS_FOR_KEY else []
        columns, rows = width - self._label_width() - 1, height - AXIS_ROWS - bool(key)
        if not self._drawable():
            return [[(self.PLACEHOLDER, "axis")]]
        if columns < _MIN_CANVAS[0] or rows < _MIN_CANVAS[1]:
            return [[(self._small(), "axis")]]
        return [*self._chart(columns, rows), *([key] if key else [])]

    def _upto(self, values: Sequence[float | None]) -> Sequence[float | None]:
        return values[: self._shown]

    def _rounds(self) -> int:
        return max(MIN_ROUNDS, self._shown)

    @property
    def _chance_name(self) -> str:
        return self._rates.overlap_name if self._rates else "overlap"

    def _depth(self, rates: LiveRates | None) -> int:
        return len(rates.per_position) if rates else 0

    def _line(
        self, grid: Grid, style: str, values: Sequence[float | None], starts: Sequence[int], *, ascii: str
    ) -> Layer:
        """A line of braille dots; in ASCII of whole cells."""
        dots = grid.line(self._upto(values), starts)
        if self._glyphs.ascii:
            return Layer(style, ascii, sorted({(x // DOTS_X, y // DOTS_Y) for x, y in dots}))
        return Layer(style, "braille", dots, fine=True)

    def _points(self, grid: Grid, style: str, values: Sequence[float | None], starts: Sequence[int]) -> Layer:
        """A marker every few columns, so that a line below it stays visible."""
        columns = range(_POINT_EVERY - 1, grid.columns, _POINT_EVERY)
        if self._glyphs.ascii:
            return Layer(style, self._glyphs.point, grid.marks(self._upto(values), starts, columns))
        return Layer(style, "braille", grid.blobs(self._upto(values), starts, columns), fine=True)

    @abstractmethod
    def _title(self, rates: LiveRates) -> tuple[str, int]:
        """The numbers, and the first round they count."""

    @abstractmethod
    def _key(self) -> Line: ...

    @abstractmethod
    def _label_width(self) -> int: ...

    @abstractmethod
    def _drawable(self) -> bool: ...

    @abstractmethod
    def _small(self) -> str: ...

    @abstractmethod
    def _chart(self, columns: int, rows: int) -> list[Line]: ...


def any_defined(values: Sequence[float | None]) -> bool:
    return any(defined(value) is not None for value in values)
