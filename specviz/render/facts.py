"""Names and numbers in columns: what is known of a position and of its test."""

from collections.abc import Sequence
from dataclasses import dataclass

from specviz.core.safe_text import width
from specviz.render.cells import Line, beside, fit

NAME, VALUE, RAW = 9, 6, 6
"""Cells of a name, of its number, of the number before processing."""
_MOST_NAME = 16


@dataclass(frozen=True, slots=True)
class Fact:
    """A number under its name; ``raw``: the same at temperature 1 without cuts; ``short``: a name for little room."""

    name: str
    value: str
    raw: str = ""
    short: str = ""


def has_raw(facts: Sequence[Fact]) -> bool:
    return any(fact.raw for fact in facts)


def column_cells(raw: bool) -> int:
    """Cells of a column that stands alone."""
    return NAME + VALUE + (RAW if raw else 0)


def draw_column(facts: Sequence[Fact], cells: int, *, raw: bool = False, ascii: bool = False) -> list[Line]:
    """One fact a line in ``cells`` cells; with ``raw`` there is room for a second number beside the first."""
    behind = VALUE + (RAW if raw else 0)
    room = max(1, min(cells - behind, _MOST_NAME))
    lines: list[Line] = []
    if has_raw(facts):
        lines.append([(" " * (room + VALUE), "text"), (f"{'raw':>{RAW}}", "head")])
    for fact in facts:
        name = fact.name if width(fact.name) <= room else fact.short or fact.name
        line: Line = [(fit(name, room, ascii=ascii), "head"), (f"{fact.value:>{VALUE}}", "text")]
        if raw:
            line.append((f"{fact.raw:>{RAW}}", "quiet"))
        lines.append(line)
    return lines


def draw_groups(
    groups: Sequence[Sequence[Fact]],
    cells: int,
    abreast: int,
    gap: int,
    *,
    raw: bool = False,
    ascii: bool = False,
) -> list[Line]:
    """Columns of facts side by side, so many ``abreast``, the others below."""
    size = max(1, (cells - gap * (abreast - 1)) // abreast)
    lines: list[Line] = []
    for start in range(0, len(groups), abreast):
        block = groups[start : start + abreast]
        columns = [draw_column(facts, size, raw=raw, ascii=ascii) for facts in block]
        lines += beside(columns, [size] * len(columns), gap, ascii=ascii)
    return lines
