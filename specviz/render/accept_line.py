"""An accept test on the line from 0 to 1: filled where the token is accepted, a mark at u."""

from dataclasses import dataclass

from specviz.core.safe_text import clip
from specviz.render.cells import Line, accept_bar
from specviz.render.glyphs import Glyphs
from specviz.render.numbers import compact_prob, distinguishing_digits

_ENDS = 4
"""Cells of "0 " and " 1"."""
_MIN_BAR = 8
_NO_U = " " * len("u .00")


@dataclass(frozen=True, slots=True)
class AcceptTest:
    """Accepted iff ``u`` < ``chance``. ``held`` False: the test did not take place or does not
    count. None: not known yet; the chance is known before u."""

    chance: float | None
    u: float | None
    kind: str
    held: bool = True

    @property
    def words(self) -> tuple[str, str]:
        """The threshold, and u where it is known, with the fewest digits that distinguish them."""
        if self.chance is None:
            return "", ""
        u, limit = ("", compact_prob(self.chance)) if self.u is None else distinguishing_digits(self.u, self.chance)
        return f"{'accepted' if self.held else 'would be accepted'} below {limit}", f"u {u}" if u else ""

    def marks(self, cells: int) -> tuple[int, int | None]:
        """Cells that are filled, and the one u is in."""
        if self.chance is None or self.u is None:
            return round((self.chance or 0.0) * cells), None
        return accept_bar(self.chance, self.u, cells)


def number_line(test: AcceptTest, cells: int, glyphs: Glyphs) -> list[Line]:
    """Three lines: the threshold above its position, the line from 0 to 1, u below its position."""
    length = max(1, cells - _ENDS)
    filled, mark = test.marks(length)
    threshold, u = test.words
    indent: Line = [("  ", "text")]
    edge = max(0, min(length - 1, filled if mark is not None and filled <= mark else filled - 1))
    return [
        indent + _flag(threshold, glyphs.rule, edge, length, glyphs) if threshold else [],
        [("0 ", "head"), *_bar(test, filled, mark, length, glyphs), (" 1", "head")],
        [] if mark is None else indent + _flag(u, glyphs.test, mark, length, glyphs),
    ]


def number_bar(test: AcceptTest, cells: int, glyphs: Glyphs) -> Line:
    """The same on one line, its two numbers on either side."""
    threshold, u = test.words
    before, after = f"{threshold} " if threshold else "", f" {u or _NO_U}"
    length = cells - len(before) - len(after)
    if length < _MIN_BAR:
        before, after, length = "", "", max(1, cells)
    return [(before, "head"), *_bar(test, *test.marks(length), length, glyphs), (after, "head")]


def _bar(test: AcceptTest, filled: int, mark: int | None, length: int, glyphs: Glyphs) -> Line:
    line: Line = []
    for start, end in [(0, length)] if mark is None else [(0, mark), (mark + 1, length)]:
        if start:
            line.append((glyphs.test, "strong"))
        inside = max(0, min(end, filled) - start)
        line.append((glyphs.full * inside, f"mark:{test.kind}" if test.held else "bar"))
        line.append((glyphs.rest * (end - start - inside), "faint"))
    return [part for part in line if part[0]]


def _flag(text: str, pole: str, at: int, length: int, glyphs: Glyphs) -> Line:
    """``text`` beside a pole at cell ``at``, on the side that has room."""
    size = len(text) + 1
    if at + 1 + size <= length:
        return [(" " * at, "text"), (pole, "faint"), (f" {text}", "text")]
    if size <= at:
        return [(" " * (at - size), "text"), (f"{text} ", "text"), (pole, "faint")]
    return [(clip(text, length, ascii=glyphs.ascii), "text")]
