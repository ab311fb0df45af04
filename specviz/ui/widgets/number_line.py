"""An accept test on the line from 0 to 1: filled where the token is accepted, a mark at u."""

from dataclasses import dataclass

from specviz.tokens import clip
from specviz.ui.glyphs import Glyphs
from specviz.ui.widgets.drawing import Line, accept_bar
from specviz.ui.widgets.numbers import told_apart

_ENDS = 4
"""Cells of "0 " and " 1"."""
_LEAST_BAR = 8


@dataclass(frozen=True, slots=True)
class AcceptTest:
    """Accepted iff ``u`` < ``chance``. ``held`` False: the test was never held, or does not count."""

    chance: float
    u: float
    kind: str
    held: bool = True


def number_line(test: AcceptTest, cells: int, glyphs: Glyphs) -> list[Line]:
    """Three lines: the threshold above its place, the line from 0 to 1, u below its place."""
    length = max(1, cells - _ENDS)
    filled, mark = accept_bar(test.chance, test.u, length)
    u, limit = told_apart(test.u, test.chance)
    indent: Line = [("  ", "text")]
    edge = max(0, min(length - 1, filled if filled <= mark else filled - 1))
    verb = "accepted" if test.held else "would be accepted"
    return [
        indent + _flag(f"{verb} below {limit}", glyphs.rule, edge, length, glyphs),
        [("0 ", "head"), *_bar(test, filled, mark, length, glyphs), (" 1", "head")],
        indent + _flag(f"u {u}", glyphs.test, mark, length, glyphs),
    ]


def number_bar(test: AcceptTest, cells: int, glyphs: Glyphs) -> Line:
    """The same on one line, its two numbers on either side."""
    u, limit = told_apart(test.u, test.chance)
    before, behind = f"{'accepted' if test.held else 'would be accepted'} below {limit} ", f" u {u}"
    length = cells - len(before) - len(behind)
    if length < _LEAST_BAR:
        before, behind, length = "", "", max(1, cells)
    return [(before, "head"), *_bar(test, *accept_bar(test.chance, test.u, length), length, glyphs), (behind, "head")]


def _bar(test: AcceptTest, filled: int, mark: int, length: int, glyphs: Glyphs) -> Line:
    line: Line = []
    for start, end in ((0, mark), (mark + 1, length)):
        inside = max(0, min(end, filled) - start)
        line.append((glyphs.full * inside, f"mark:{test.kind}" if test.held else "bar"))
        line.append((glyphs.rest * (end - start - inside), "faint"))
        if start == 0:
            line.append((glyphs.test, "strong"))
    return [part for part in line if part[0]]


def _flag(text: str, pole: str, at: int, length: int, glyphs: Glyphs) -> Line:
    """``text`` beside a pole that stands at cell ``at``, on the side where there is room."""
    size = len(text) + 1
    if at + 1 + size <= length:
        return [(" " * at, "text"), (pole, "faint"), (f" {text}", "text")]
    if size <= at:
        return [(" " * (at - size), "text"), (f"{text} ", "text"), (pole, "faint")]
    return [(clip(text, length, ascii=glyphs.ascii), "text")]
