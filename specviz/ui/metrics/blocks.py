"""Blocks of styled lines for pages of numbers: facts with what they mean, tables, things side by side. Pure."""

import textwrap
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from specviz.core.safe_text import width
from specviz.render.cells import Part
from specviz.render.glyphs import Glyphs
from specviz.render.numbers import compact, compact_spread, prob
from specviz.render.screen_text import in_ascii
from specviz.stats.numbers_table import Block, numbers_of
from specviz.stats.rates import Rates

Line = list[Part]
Lines = list[Line]
PageBody = Callable[[int, Glyphs], Lines]
"""Lays a page out for a width in cells, in Unicode or ASCII."""

GAP = 2
_MIN_WORDS, _MAX_WORDS = 26, 76
"""Cells for the meaning of a number: with fewer it goes below the number, with more it is hard to read."""
_SIGNS = str.maketrans({"Σ": "sum", "·": "*", "−": "-", "×": "x", "≥": ">=", "≤": "<=", "τ": "tau"})


@dataclass(frozen=True, slots=True)
class FactRow:
    """A number under its name: the value, how far to trust it, and what it means in one line."""

    label: str
    value: str
    extra: str = ""
    words: str = ""
    style: str = "text"


def in_repertoire(text: str, glyphs: Glyphs) -> str:
    """Our own words in the repertoire of ``glyphs``."""
    return in_ascii(text.translate(_SIGNS)) if glyphs.ascii else text


def bounds(interval: tuple[float, float] | None) -> str:
    """``[.635 .805]``; empty without an interval."""
    return f"[{prob(interval[0])} {prob(interval[1])}]" if interval else ""


def clipped(text: str, cells: int, glyphs: Glyphs) -> str:
    """Our own words in at most ``cells`` cells."""
    return text if width(text) <= cells else text[: max(0, cells - 1)] + glyphs.ellipsis


def align_decimals(numbers: Sequence[str]) -> list[str]:
    """Numbers padded so that their decimal points align."""
    whole = [len(number.partition(".")[0]) for number in numbers]
    padded = [" " * (max(whole) - before) + number for number, before in zip(numbers, whole, strict=True)]
    longest = max(map(len, padded))
    return [number.ljust(longest) for number in padded]


def heading(text: str, glyphs: Glyphs) -> Line:
    return [(in_repertoire(text, glyphs), "title")]


def paragraph(text: str, cells: int, glyphs: Glyphs, style: str = "text") -> Lines:
    return [[(line, style)] for line in _wrapped(in_repertoire(text, glyphs), cells)]


def fact_lines(rows: Sequence[FactRow], cells: int, glyphs: Glyphs) -> Lines:
    """Facts in aligned columns; descriptions wrap in their own column, or below the number if that is too narrow."""
    if not rows:
        return []
    values = align_decimals([in_repertoire(fact.value, glyphs) for fact in rows])
    labels, extras = (
        [in_repertoire(fact.label, glyphs) for fact in rows],
        [in_repertoire(fact.extra, glyphs) for fact in rows],
    )
    label, extra = max(map(width, labels)), max(map(width, extras))
    before = label + GAP + len(values[0]) + GAP + (extra + GAP if extra else 0)
    two_columns = cells - before >= _MIN_WORDS
    indent, room = (before, min(_MAX_WORDS, cells - before)) if two_columns else (GAP, cells - GAP)
    lines: Lines = []
    for fact, name, value, trust in zip(rows, labels, values, extras, strict=True):
        head: Line = [(_padded(name, label + GAP), "text"), (value, fact.style), (" " * GAP, "text")]
        if extra:
            head.append((_padded(trust, extra + GAP), "head"))
        words = _wrapped(in_repertoire(fact.words, glyphs), room)
        if two_columns and words:
            head.append((words.pop(0), "head"))
        lines.append(head)
        lines += [[(" " * indent + line, "head")] for line in words]
    return lines


def number_facts(block: Block, rates: Rates, words: Mapping[str, str], styles: Mapping[str, str]) -> list[FactRow]:
    """The numbers of a block. ``words`` and ``styles`` replace the meaning and the style "text" of a key."""
    return [
        FactRow(
            number.short_title(rates.overlap_name),
            compact(number, rates),
            compact_spread(number, rates),
            words.get(number.key, number.meaning),
            styles.get(number.key, "text"),
        )
        for number in numbers_of(block)
    ]


def table(rows: Sequence[Sequence[Part]], right: Collection[int] = (), gap: int = GAP) -> Lines:
    """Rows of cells in columns as wide as their widest cell; those in ``right`` lean right."""
    if not rows:
        return []
    widths = [max(width(row[column][0]) for row in rows) for column in range(len(rows[0]))]
    lines: Lines = []
    for row in rows:
        line: Line = []
        for column, ((text, style), cells) in enumerate(zip(row, widths, strict=True)):
            if column:
                line.append((" " * gap, "text"))
            line.append((_padded(text, cells, right=column in right), style))
        lines.append(line)
    return lines


def two_columns(left: Lines, right: Lines, cells: int, gap: int = 4) -> Lines:
    """Two blocks side by side, the left one in ``cells`` cells."""
    lines: Lines = []
    for index in range(max(len(left), len(right))):
        line = cut(left[index], cells) if index < len(left) else []
        if index < len(right):
            line = [*line, (" " * (cells - length(line) + gap), "text"), *right[index]]
        lines.append(line)
    return lines


def stacked(*blocks: Lines) -> Lines:
    """Stacked blocks separated by blank lines; empty blocks are skipped."""
    lines: Lines = []
    for block in filter(None, blocks):
        lines += [[], *block] if lines else block
    return lines


def length(line: Iterable[Part]) -> int:
    return sum(width(text) for text, _ in line)


def cut(line: Line, cells: int) -> Line:
    """The first ``cells`` cells of a line."""
    kept: Line = []
    for text, style in line:
        if cells <= 0:
            break
        kept.append((text if width(text) <= cells else text[:cells], style))
        cells -= width(text)
    return kept


def _wrapped(text: str, cells: int) -> list[str]:
    """Lines of at most ``cells`` cells; a no-break space is one, and printed as a plain one."""
    return [line.replace("\xa0", " ") for line in textwrap.wrap(text, max(1, cells))]


def _padded(text: str, cells: int, *, right: bool = False) -> str:
    blank = " " * (cells - width(text))
    return blank + text if right else text + blank
