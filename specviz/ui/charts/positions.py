"""Acceptance by draft position: given that it was tested, and of all rounds."""

from textual.geometry import Size
from textual.scroll_view import ScrollView

from specviz.render.cells import Line, Part, bar, fit
from specviz.render.glyphs import Glyphs
from specviz.render.numbers import prob
from specviz.stats.run_stats import LiveRates, PositionRate
from specviz.ui.widgets.cell_widget import CellWidget

_PROB = 4
_MIN_BAR, _MAX_BAR = 3, 16


def lines_of(rates: LiveRates, rows: int, width: int, glyphs: Glyphs) -> list[Line]:
    """Header and ``rows`` rows in named styles; narrow widths drop the bars first."""
    counts = max([3, *(len(_counts(r.reached, r.drafted)) for r in rates.per_position)])
    index = len(str(max(1, rows)))
    column = 1 + _PROB + 1 + counts
    spare = width - index - 2 * column - 3
    bars = min(_MAX_BAR, spare // 2) - 1
    if bars < _MIN_BAR:
        bars = min(_MAX_BAR, spare) - 1
        first, second = (bars if bars >= _MIN_BAR else 0), 0
    else:
        first = second = bars
    size = [column + (cells + 1 if cells else 0) for cells in (first, second)]
    lines: list[Line] = [
        [("i".rjust(index) + " " + fit(" if tested", size[0], ascii=glyphs.ascii) + "   of all rounds", "head")]
    ]
    known = {rate.position: rate for rate in rates.per_position}
    for position in range(1, rows + 1):
        rate = known.get(position, PositionRate(position, None, None, 0, 0, 0, 0))
        parts: list[Part] = [(str(position).rjust(index) + " ", "head")]
        parts += _half(rate.conditional, rate.accepted, rate.tested, first, counts, "tested", glyphs)
        parts.append(("  ", "text"))
        parts += _half(rate.unconditional, rate.reached, rate.drafted, second, counts, "all", glyphs)
        lines.append(parts)
    return lines


def _half(value: float | None, part: int, whole: int, bars: int, counts: int, style: str, glyphs: Glyphs) -> list[Part]:
    shown = [(" " + prob(value, 2, glyphs.none).rjust(_PROB), "text")]
    if bars:
        shown.append((" " + bar(value or 0.0, bars, glyphs.eighths), style))
    return [*shown, (" " + _counts(part, whole).rjust(counts), "head")]


def _counts(part: int, whole: int) -> str:
    return f"{part}/{whole}"


class PositionsPanel(CellWidget, ScrollView, can_focus=False, panel=True):
    """A row a draft position, as many as the largest K seen."""

    PREFIX = "positions"
    DEFAULT_CSS = """
    PositionsPanel { height: 1fr; overflow-x: hidden; scrollbar-size-vertical: 1; }
    PositionsPanel > .positions--head { color: $secondary; }
    PositionsPanel > .positions--tested { color: $plot-tested; }
    PositionsPanel > .positions--all { color: $plot-overlap; }
    """

    def __init__(self, *, id: str | None = None, classes: str | None = None, ascii: bool = False) -> None:
        super().__init__(id=id, classes=classes, ascii=ascii)
        self._rates: LiveRates | None = None
        self._depth = 0
        self.set_titles("acceptance by position")

    def show(self, rates: LiveRates) -> None:
        if self._rates is not None and rates.per_position == self._rates.per_position:
            return
        self._rates = rates
        depth = max(self._depth, len(rates.per_position))
        if depth != self._depth:
            self._depth = depth
            self.virtual_size = Size(0, depth + 1)
        self.redraw()

    def lines(self, width: int, height: int) -> list[Line]:
        if self._rates is None or not self._depth:
            return [[("no draft tested yet", "head")]]
        return lines_of(self._rates, self._depth, width, self._glyphs)
