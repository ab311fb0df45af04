"""Tables and charts on stdout.

Columns that do not fit side by side continue in a further table below; no cell is cut or folded.
"""

import shutil
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence

from rich.box import ASCII, SIMPLE
from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

from specviz.render.chart import Grid, Layer
from specviz.render.console import colours, plain_words, show, speaks_unicode
from specviz.render.glyphs import Glyphs

CHART_ROWS = 14
_WIDEST = 100
Cells = Sequence[str]


def print_table(titles: Cells, rows: Sequence[Cells], *, heads: int = 0, left: Sequence[int] = ()) -> None:
    """``rows`` under ``titles``, as wide as stdout is.

    Where that is too narrow, the table is printed as several below each other, each of which begins with the first
    ``heads`` columns. Columns stand to the right but those of ``left``.
    """
    told = [[plain_words(cell, sys.stdout) for cell in row] for row in (titles, *rows)]
    widths = [max(map(cell_len, column)) for column in zip(*told, strict=True)]
    gap = 2 if sum(widths) + 2 * (len(widths) - 1) <= room() else 1
    for number, columns in enumerate(stacks(widths, room(), heads, gap)):
        if number:
            show()
        table = Table(
            box=SIMPLE if speaks_unicode(sys.stdout) else ASCII,
            show_edge=False,
            pad_edge=False,
            padding=(0, gap - 1, 0, 0),
        )
        for place in columns:
            table.add_column(told[0][place], justify="left" if place in left else "right", no_wrap=True)
        for row in told[1:]:
            table.add_row(*(row[place] for place in columns))
        needed = sum(widths[place] for place in columns) + gap * (len(columns) - 1)
        Console(file=sys.stdout, width=max(needed, room()), no_color=True, highlight=False).print(table)


def room() -> int:
    """Cells of a line on stdout."""
    return Console(file=sys.stdout).width


def stacks(widths: Sequence[int], room: int, heads: int, gap: int) -> list[list[int]]:
    """The columns of each table: the heads, and as many of the others as fit, at least one."""
    first = list(range(heads))
    found: list[list[int]] = []
    columns = first
    for place in range(heads, len(widths)):
        wider = [*columns, place]
        if len(columns) > heads and sum(widths[i] for i in wider) + gap * (len(wider) - 1) > room:
            found.append(columns)
            wider = [*first, place]
        columns = wider
    return [*found, columns]


def columns_beside(y_ticks: Iterable[str]) -> int:
    """How many columns the terminal leaves a chart with such labels."""
    return max(20, min(_WIDEST, shutil.get_terminal_size().columns) - 3 - max(map(len, y_ticks)))


def print_chart(
    grid: Grid,
    layers: Sequence[Layer],
    y_ticks: Mapping[str, float],
    k_ticks: Mapping[str, int],
    signs: Glyphs,
    style: Callable[[str], str],
    key: Iterable[tuple[str, str, str]],
) -> None:
    """The chart, and below it ``key``: (sign, name of its style, what it says). ``style``: rich's style by its name."""
    from specviz.render.chart_painter import paint

    painter = Console(file=sys.stdout, no_color=not colours(sys.stdout), highlight=False)
    for line in paint(grid, layers, y_ticks, signs, k_ticks):
        painter.print(Text.assemble(*((text, style(name)) for text, name in line)), soft_wrap=True)
    for sign, name, told in key:
        painter.print(Text.assemble((f"  {sign}  ", style(name)), plain_words(told, sys.stdout)), soft_wrap=True)
