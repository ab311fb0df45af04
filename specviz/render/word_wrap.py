"""Wrapping a growing text of tokens into lines of cells, a token at a time.

Lines above the open one are final: adding text never changes them, so a position in the text is
remembered by the number of final lines and the open line (`FlowState`), and writing can continue from there.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from rich.cells import split_graphemes

from specviz.core.safe_text import width as cells

_RUNS = re.compile(r" +|[^ ]+")


class Span(NamedTuple):
    """The cells of one token on one line. ``kind`` is a verdict, an origin or "prompt"; ``role`` distinguishes text,
    marks, dropped drafts and special tokens. ``round`` is 0 for the prompt; ``row`` counts the drafted tokens of the
    round, k standing for its last token."""

    text: str
    width: int
    kind: str
    round: int
    row: int
    role: str = "text"


SpanLine = tuple[Span, ...]


@dataclass(frozen=True, slots=True)
class FlowState:
    """A position between two tokens: the number of final ``lines`` above, the open line, and where it may break."""

    lines: int
    open: SpanLine
    column: int
    break_at: int


class Flow:
    """Lines of at most ``width`` cells, broken at spaces where possible and never inside a wide cell."""

    def __init__(self, width: int, start: FlowState | None = None) -> None:
        self.width = max(1, width)
        self.lines: list[SpanLine] = []
        self._base = start.lines if start else 0
        self._open: list[Span] = list(start.open) if start else []
        self._column = start.column if start else 0
        self._break_at = start.break_at if start else 0

    @property
    def open(self) -> SpanLine:
        return tuple(self._open)

    def state(self) -> FlowState:
        """The current position: `Flow(width, state)` continues from it, with only the following ``lines``."""
        return FlowState(self._base + len(self.lines), tuple(self._open), self._column, self._break_at)

    def add(self, text: str, like: Span, *, newline_sign: str = "") -> None:
        """Append ``text``, styled like ``like``; newlines break the line, after ``newline_sign`` if it fits."""
        for i, part in enumerate(text.split("\n")):
            if i:
                self._hang(newline_sign, like)
                self.newline()
            for run in _RUNS.findall(part):
                if run[0] == " ":
                    self._spaces(len(run), like)
                else:
                    for piece, size, loose in _pieces(run):
                        self._piece(piece, size, like, loose)

    def add_mark(self, mark: str, like: Span, *, breakable: bool) -> None:
        """Append a mark, which stays with the text after it; ``breakable``: the line may break before it."""
        if breakable:
            self._break_at = len(self._open)
        self._piece(mark, cells(mark), like, False)

    def newline(self) -> None:
        self.lines.append(tuple(self._open))
        self._open, self._column, self._break_at = [], 0, 0

    def _hang(self, sign: str, like: Span) -> None:
        if sign and self._column + cells(sign) <= self.width:
            self._put(sign, cells(sign), like)

    def _put(self, text: str, size: int, like: Span) -> None:
        last = self._open[-1] if self._open else None
        if last and len(self._open) > self._break_at and last[2:] == like[2:]:
            self._open[-1] = Span(last.text + text, last.width + size, *last[2:])
        else:
            self._open.append(Span(text, size, *like[2:]))
        self._column += size

    def _spaces(self, count: int, like: Span) -> None:
        while count:
            room = self.width - self._column
            if not room:
                count -= 1
                if count:
                    self.newline()
                    continue
            fitting = min(room, count)
            if fitting:
                self._put(" " * fitting, fitting, like)
            count -= fitting
        self._break_at = len(self._open)

    def _piece(self, text: str, size: int, like: Span, loose: bool) -> None:
        if loose:
            self._break_at = len(self._open)
        if self._column + size > self.width:
            self._wrap(size)
        if self._column + size > self.width:
            self._hard(text, like)
        else:
            self._put(text, size, like)
        if loose:
            self._break_at = len(self._open)

    def _wrap(self, size: int) -> None:
        """Begin a line with the word in progress, if that makes room for ``size`` more cells."""
        word = self._open[self._break_at :]
        taken = sum(span.width for span in word)
        if self._column > taken and taken + size <= self.width:
            self.lines.append(tuple(self._open[: self._break_at]))
            self._open, self._column, self._break_at = word, taken, 0

    def _hard(self, text: str, like: Span) -> None:
        for start, end, size in split_graphemes(text)[0]:
            grapheme = text[start:end]
            if size > self.width:
                grapheme, size = "?", 1
            if self._column + size > self.width:
                self.newline()
            self._put(grapheme, size, like)


def _pieces(run: str) -> Iterator[tuple[str, int, bool]]:
    """A run without spaces as (text, cells, whether a line may break on either side of it)."""
    if run.isascii():
        yield run, len(run), False
        return
    narrow, size = "", 0
    for start, end, each in split_graphemes(run)[0]:
        if each > 1:
            if narrow:
                yield narrow, size, False
                narrow, size = "", 0
            yield run[start:end], each, True
        else:
            narrow += run[start:end]
            size += each
    if narrow:
        yield narrow, size, False


def nearest(line: Sequence[Span], column: int) -> tuple[int, int] | None:
    """The (round, row) of the generated token on ``line`` nearest to ``column``; None where there is none."""
    best: tuple[int, tuple[int, int]] | None = None
    x = 0
    for span in line:
        if span.round and span.width:
            distance = max(x - column, column - (x + span.width - 1), 0)
            if best is None or distance < best[0]:
                best = distance, (span.round, span.row)
        x += span.width
    return best[1] if best else None
