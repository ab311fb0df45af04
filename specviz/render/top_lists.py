"""The most probable tokens of several distributions side by side, as bars on one scale."""

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

from specviz.core.events import Candidate, Top
from specviz.core.safe_text import clip, visible, width
from specviz.render.cells import Line, bar, beside, fit, padded
from specviz.render.glyphs import Glyphs
from specviz.render.numbers import NONE, prob
from specviz.render.phases import mark_of

GAP = 2
MAX_ROWS = 10
_MIN_NUMBER = 4
_MARK = 2
_MIN_NAME, _MAX_NAME = 4, 16
_MIN_BAR = 2
_MIN_LIST, _MAX_LIST = 15, 44
"""Cells of a list."""


@dataclass(frozen=True, slots=True)
class MarkedToken:
    """A token to be found in a list, whatever its rank there. ``prob``, ``rank``: None where not known."""

    id: int | None
    kind: str
    prob: float | None
    rank: int | None = None


@dataclass(frozen=True, slots=True)
class TopList:
    """One distribution: its ten most probable tokens, most probable first, and tokens to mark."""

    title: str
    top: Top
    marked: tuple[MarkedToken, ...] = ()
    note: str = ""

    @property
    def largest(self) -> float:
        return max((*(c.prob for c in self.top), *(m.prob or 0.0 for m in self.marked)), default=0.0)

    @property
    def widest(self) -> int:
        """Cells of the widest number."""
        values = (*(c.prob for c in self.top), *(m.prob for m in self.marked if m.prob is not None))
        return max((width(prob(value)) for value in values), default=0)

    def mark(self, token_id: int) -> MarkedToken | None:
        return next((mark for mark in self.marked if mark.id == token_id), None)

    def beyond(self, rows: int) -> list[MarkedToken]:
        """The marked tokens that are not among the first ``rows``."""
        first = {c.id for c in self.top[:rows]}
        seen: dict[int | None, MarkedToken] = {}
        for mark in self.marked:
            if mark.id not in first and mark.prob is not None:
                seen.setdefault(mark.id, mark)
        return list(seen.values())


@dataclass(frozen=True, slots=True)
class ListColumn:
    """Draws the rows of a list in ``cells`` cells: mark, token, a probability of ``number`` cells, bar. ``scale`` is
    the probability of a full bar."""

    cells: int
    number: int
    scale: float
    glyphs: Glyphs
    special_ids: Collection[int] = field(default=frozenset())

    @property
    def bar(self) -> int:
        """Cells of the bar; 0: no room."""
        rest = self.cells - _MARK - 1 - self.number - 1
        cells = max(rest * 2 // 5, rest - _MAX_NAME)
        return cells if cells >= _MIN_BAR else 0

    @property
    def name(self) -> int:
        return max(1, self.cells - _MARK - 1 - self.number - (self.bar + 1 if self.bar else 0))

    def head(self, shown: TopList) -> Line:
        note: Line = [(f" {shown.note}", "faint")] if shown.note else []
        return [(" " * _MARK, "text"), (shown.title, "head"), *note]

    def rows(self, shown: TopList) -> list[Line]:
        return [self._row(shown, *entry) for entry in zip(shown.top, self._names(shown.top), strict=True)]

    def beyond(self, shown: TopList, rows: int) -> list[Line]:
        """A row for every marked token that is not among the first ``rows``: its rank replaces its name."""
        lines = []
        for mark in shown.beyond(rows):
            forms = places(shown, mark, self.glyphs.none)
            place = next((form for form in forms if width(form) <= self.name), forms[-1])
            lines.append(self._line(mark.kind, place, mark.prob or 0.0, "head"))
        return lines

    def _row(self, shown: TopList, candidate: Candidate, name: str) -> Line:
        mark = shown.mark(candidate.id)
        value = candidate.prob if mark is None or mark.prob is None else mark.prob
        special = candidate.id in self.special_ids
        style = "special" if special else mark.kind if mark else "text"
        return self._line(mark.kind if mark else None, name, value, style)

    def _line(self, kind: str | None, name: str, value: float, style: str) -> Line:
        mark = f"mark:{kind}" if kind else "text"
        name = clip(name, self.name, ascii=self.glyphs.ascii)
        number = fit(prob(value), self.number, right=True, ascii=self.glyphs.ascii)
        line: Line = [
            (fit(mark_of(kind, self.glyphs) if kind else "", _MARK), mark),
            (name, style),
            (" " * (self.name - width(name) + 1), "text"),
            (number, "text"),
        ]
        if self.bar:
            line.append((f" {bar(value / self.scale, self.bar, self.glyphs.eighths)}", mark if kind else "bar"))
        return line

    def _names(self, top: Top) -> list[str]:
        """The tokens' printed forms; where two would look alike, with their ids."""
        ascii = self.glyphs.ascii
        names = [clip(visible(c.bytes, ascii=ascii), self.name, ascii=ascii) for c in top]
        count = Counter(names)
        return [name if count[name] == 1 else self._with_id(c) for name, c in zip(names, top, strict=True)]

    def _with_id(self, candidate: Candidate) -> str:
        tag, ascii = f"#{candidate.id}", self.glyphs.ascii
        room = self.name - len(tag) - 1
        return f"{clip(visible(candidate.bytes, ascii=ascii), room, ascii=ascii)} {tag}" if room > 0 else tag


def draw_lists(
    lists: Sequence[TopList],
    cells: int,
    glyphs: Glyphs,
    *,
    rows: int = MAX_ROWS,
    reserved: int = 1,
    special_ids: Collection[int] = frozenset(),
) -> list[Line]:
    """``lists`` in ``cells`` cells, side by side where they fit, the others below. Of each the first ``rows`` tokens,
    then ``reserved`` lines or more for marked tokens of a lower rank, then the rest."""
    if not lists:
        return []
    scale = max(shown.largest for shown in lists) or 1.0
    abreast = max(1, min(len(lists), (cells + GAP) // (_MIN_LIST + GAP)))
    size = max(1, min(_MAX_LIST, (cells - GAP * (abreast - 1)) // abreast))
    number = max(_MIN_NUMBER, *(shown.widest for shown in lists))
    column = ListColumn(size, number, scale, glyphs, special_ids)
    lines: list[Line] = []
    for start in range(0, len(lists), abreast):
        block = lists[start : start + abreast]
        if start:
            lines.append([])
        lines += _abreast(block, column, rows, max(reserved, *(len(shown.beyond(rows)) for shown in block)))
    return lines


def _abreast(lists: Sequence[TopList], column: ListColumn, rows: int, reserved: int) -> list[Line]:
    columns: list[list[Line]] = []
    deepest = max(len(shown.top) for shown in lists)
    for shown in lists:
        drawn = column.rows(shown)
        first, below = drawn[:rows], column.beyond(shown, rows)
        first += [[] for _ in range(rows - len(first))]
        lines = [column.head(shown), *first, *below, *([] for _ in range(reserved - len(below)))]
        if deepest > rows:
            lines += [[("  and then", "faint")] if drawn[rows:] else [], *drawn[rows:]]
        columns.append([padded(line, column.cells, ascii=column.glyphs.ascii) for line in lines])
    return beside(columns, [column.cells] * len(columns), GAP)


def places(shown: TopList, mark: MarkedToken, none: str = NONE) -> tuple[str, ...]:
    """The rank of a token outside the list, longest form first; ``none`` while the list is hidden."""
    if not mark.prob:
        return "not listed", "absent", "none"
    listed = next((rank for rank, c in enumerate(shown.top, start=1) if c.id == mark.id), None)
    if rank := mark.rank or listed:
        return f"rank {rank}", f"{rank}."
    return ("below top ten", ">10") if shown.top else (f"rank {none}", none)
