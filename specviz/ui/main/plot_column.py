"""The plots next to the text: created after the first frame, drawn a few times a second at most."""

import asyncio
import time
from typing import TYPE_CHECKING

from textual.app import ComposeResult
from textual.containers import Container, Vertical

from specviz.ui.charts.positions import PositionsPanel
from specviz.ui.run.timeline import Timeline
from specviz.ui.shared.shell import later

if TYPE_CHECKING:
    from specviz.ui.charts.run_charts import AlphaPlot, TokensPlot

EVERY = 0.15
"""Minimum seconds between two drawings."""
FLOODED = 0.3
"""The same while rounds arrive fast: with every other paint of the screen, in the same frame."""
SELDOM = 0.6
"""The same while a long recording is read."""


class PlotColumn(Vertical):
    """α, tokens/round and acceptance by position, as of the round shown."""

    def __init__(self, timeline: Timeline, *, ascii: bool, id: str) -> None:
        super().__init__(id=id)
        self._timeline = timeline
        self._ascii = ascii
        self._next = 0.0
        self._timer: asyncio.TimerHandle | None = None
        self._plots: tuple[AlphaPlot, TokensPlot] | None = None
        self._charts = Container(id="charts")
        self._positions = PositionsPanel(id="positions", ascii=ascii)

    def compose(self) -> ComposeResult:
        yield self._charts
        yield self._positions

    async def fill(self) -> None:
        """Add the plots; they are imported on another thread so that keys keep working."""
        alpha, tokens = await asyncio.to_thread(_plot_classes)
        if self.is_attached:
            self._plots = alpha(id="alpha", ascii=self._ascii), tokens(id="tokens", ascii=self._ascii)
            await self._charts.mount(*self._plots)
            self._draw()

    def update(self, *, is_fast: bool = False) -> None:
        """Something changed: draw now, or as soon as it is time again. ``flooded``: this is soon called again, too."""
        if self._timer is not None:
            return
        wait = self._next - time.monotonic()
        if wait <= 0:
            self._draw(FLOODED if is_fast else EVERY)
        elif not is_fast or self._timeline.expected_rounds is not None:
            self._timer = later(self, wait, self._draw)

    def _draw(self, rest: float = EVERY) -> None:
        self._timer = None
        if not self.is_on_screen:
            return
        self._next = time.monotonic() + (rest if self._timeline.expected_rounds is None else SELDOM)
        rates = self._timeline.rates
        self._positions.show(rates)
        self._positions.styles.height = 1 + max(1, self._timeline.max_k) + self._positions.gutter.height
        if self._plots is not None:
            series = self._timeline.series
            for plot in self._plots:
                plot.show(series, rates, shown=self._timeline.shown)

    @property
    def is_on_screen(self) -> bool:
        return self.is_attached and all(node.display for node in self.ancestors_with_self if hasattr(node, "display"))


def _plot_classes() -> "tuple[type[AlphaPlot], type[TokensPlot]]":
    from specviz.ui.charts.run_charts import AlphaPlot, TokensPlot

    return AlphaPlot, TokensPlot
