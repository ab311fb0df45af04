"""A long text in pages, each laid out when it is first shown.

A page begins on a new line, so its layout depends on nothing before it; page breaks are chosen so that few lines end
early. The number of lines of a page without a layout is estimated from its length.
"""

from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import accumulate

from specviz.render.word_wrap import Flow, FlowState, SpanLine

PAGE_TOKENS = 2048
"""Tokens after which a page may end; after twice as many it must."""
CACHED_PAGES = 6
"""Pages of a width that are kept laid out."""
_LOST = 1.05
"""Ratio of cells in wrapped lines to cells of text, because lines break at words."""


@dataclass(slots=True)
class TextPage:
    """Consecutive rounds from ``first`` (0-based): their number, tokens, cells and line breaks."""

    first: int
    rounds: int = 0
    tokens: int = 0
    cells: int = 0
    breaks: int = 0

    def lines(self, width: int) -> int:
        """About how many lines it takes."""
        return max(1, self.breaks + round(self.cells * _LOST / width))


@dataclass(slots=True)
class PageLines:
    """The lines of a page so far; ``places[i]``: where its round i begins, the last one: where the next would."""

    flow: Flow
    places: list[FlowState]

    @property
    def lines(self) -> int:
        return len(self.flow.lines) + bool(self.flow.open)

    def line(self, y: int) -> SpanLine:
        lines = self.flow.lines
        return lines[y] if y < len(lines) else self.flow.open if y == len(lines) else ()


LayPage = Callable[[TextPage, PageLines], None]
"""Append to a page the rounds that are not laid out yet."""


@dataclass(slots=True)
class PageLayout:
    """The pages in lines of at most ``width`` cells."""

    width: int
    pages: list[TextPage]
    lay: LayPage
    _known: dict[int, int] = field(default_factory=dict)
    _laid: OrderedDict[int, PageLines] = field(default_factory=OrderedDict)
    _bases: list[int] = field(default_factory=list)

    def page(self, number: int) -> PageLines:
        """A page with all of its rounds laid out."""
        laid = self._laid.get(number)
        if laid is None:
            laid = self._laid[number] = PageLines(Flow(self.width), [])
            if len(self._laid) > CACHED_PAGES:
                self._laid.popitem(last=False)
        self._laid.move_to_end(number)
        if len(laid.places) <= self.pages[number].rounds:
            self.lay(self.pages[number], laid)
        return laid

    def measure_pages(self, first: int, last: int) -> bool:
        """Lay out complete pages to measure their lines; returns whether any estimate was wrong."""
        changed = False
        for number in range(max(0, first), min(last, len(self.pages) - 2) + 1):
            if number not in self._known:
                self._known[number] = lines = self.page(number).lines
                changed |= lines != self.pages[number].lines(self.width)
        if changed:
            self._bases.clear()
        return changed

    def base(self, number: int) -> int:
        """The first line of a page."""
        if len(self._bases) != len(self.pages):
            closed = range(len(self.pages) - 1)
            counts = (self._known.get(n) or self.pages[n].lines(self.width) for n in closed)
            self._bases = list(accumulate(counts, initial=0))
        return self._bases[number]

    def at(self, y: int) -> int:
        """The page that line ``y`` is on."""
        self.base(0)
        return max(0, bisect_right(self._bases, y) - 1)
