"""What a chart holds before it is drawn: series sampled to a grid of cells, pure and without a plotting library.

Lines live on the fine grid of 2 x 4 dots a cell (braille), marks on whole cells. Rounds run along x from 1.
"""

import math
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

DOTS_X, DOTS_Y = 2, 4
AXIS_ROWS = 2
"""Rows of the x axis: its line and its labels."""

RoundValues = Sequence[float | None]
Dots = list[tuple[int, int]]


@dataclass(frozen=True, slots=True)
class Layer:
    """Points drawn with one marker and one style; later layers cover earlier ones. ``fine``: the points are dots of the
    fine grid, else whole cells."""

    style: str
    marker: str
    points: Dots
    fine: bool = False


@dataclass(frozen=True, slots=True)
class Grid:
    """A canvas of ``columns`` x ``rows`` cells over rounds 1..``rounds`` and values ``low``..``high``."""

    columns: int
    rows: int
    rounds: int
    low: float
    high: float

    def level(self, value: float, rows: int) -> int:
        """The row of ``rows``, counted from below, nearest to a value; values outside are clamped."""
        share = (value - self.low) / (self.high - self.low)
        return math.floor(0.5 + (rows - 1) * min(1.0, max(0.0, share)))

    def column(self, round: float, columns: int) -> int:
        """The column of ``columns`` nearest to a round."""
        return math.floor(0.5 + (columns - 1) * (round - 1) / max(1, self.rounds - 1))

    def line(self, values: RoundValues, breaks: Collection[int]) -> Dots:
        """A connected line of dots through the values, interrupted where they are undefined or a segment begins."""
        dots: Dots = []
        previous: int | None = None
        for x, value, begins in self._samples(values, breaks, self.columns * DOTS_X):
            if value is None:
                previous = None
                continue
            y = self.level(value, self.rows * DOTS_Y)
            dots.append((x, y))
            if previous is not None and not begins:
                step = 1 if y > previous else -1
                dots.extend((x, between) for between in range(previous + step, y, step))
            previous = y
        return dots

    def marks(self, values: RoundValues, breaks: Collection[int], columns: Iterable[int]) -> Dots:
        """A cell at the value in each of ``columns``."""
        wanted = set(columns)
        samples = self._samples(values, breaks, self.columns)
        return [(x, self.level(value, self.rows)) for x, value, _ in samples if x in wanted and value is not None]

    def blobs(self, values: RoundValues, breaks: Collection[int], columns: Iterable[int]) -> Dots:
        """Four dots at the value in each of ``columns``: a marker as precise as a line."""
        wanted = set(columns)
        dots: Dots = []
        for x, value, _ in self._samples(values, breaks, self.columns):
            if x in wanted and value is not None:
                y = self.level(value, self.rows * DOTS_Y)
                y -= y % DOTS_Y == DOTS_Y - 1
                dots += [(x * DOTS_X + i, y + j) for i in range(DOTS_X) for j in (0, 1)]
        return dots

    def band(self, low: RoundValues, high: RoundValues, breaks: Collection[int]) -> Dots:
        """All cells between two series."""
        both = zip(self._samples(low, breaks, self.columns), self._samples(high, breaks, self.columns), strict=True)
        return [
            (x, y)
            for (x, a, _), (_, b, _) in both
            if a is not None and b is not None
            for y in range(self.level(a, self.rows), self.level(b, self.rows) + 1)
        ]

    def uprights(self, rounds: Iterable[int]) -> Dots:
        """Full-height lines at the beginning of rounds."""
        return [(self.column(r, self.columns), y) for r in rounds if r <= self.rounds for y in range(self.rows)]

    def _samples(
        self, values: RoundValues, breaks: Collection[int], columns: int
    ) -> Iterator[tuple[int, float | None, bool]]:
        """(column, value, whether something began since the column before), between rounds by interpolation."""
        seen = 0
        scale = max(1, self.rounds - 1) / max(1, columns - 1)
        for x in range(columns):
            at = x * scale
            index = int(at)
            if index >= len(values) or (at > len(values) - 1 + 1e-9):
                return
            here = defined(values[index])
            after = defined(values[index + 1]) if index + 1 < len(values) else None
            share = at - index
            if index + 2 in breaks or here is None or after is None:
                index, here = (index, here) if share < 0.5 or index + 1 >= len(values) else (index + 1, after)
            else:
                here += (after - here) * share
            begins = any(seen < start - 1 <= index for start in breaks)
            seen = index
            yield x, here, begins


def dashed(layer: Layer, *, above: Layer) -> Layer:
    """``layer`` in dashes two cells long, one where it would cover ``above``."""

    def cells(layer: Layer) -> Dots:
        return [(x // DOTS_X, y // DOTS_Y) if layer.fine else (x, y) for x, y in layer.points]

    covered = set(cells(above))
    kept = [
        point
        for point, cell in zip(layer.points, cells(layer), strict=True)
        if cell[0] % 4 < (1 if cell in covered else 2)
    ]
    return replace(layer, points=kept)


def defined(value: float | None) -> float | None:
    """The value where it is a finite number."""
    return value if value is not None and math.isfinite(value) else None


def round_ticks(rounds: int, cells: int) -> list[int]:
    """Round numbers to write under a chart: the last one first, then round ones with room between them."""
    steps = (figure * 10**power for power in range(10) for figure in (1, 2, 5))
    step = next(step for step in steps if rounds / step <= max(1, cells // 8))
    return [rounds, *(r for r in (1, *range(step, rounds, step)) if rounds - r >= step / 2)]
