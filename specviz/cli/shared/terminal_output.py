"""Tables and charts on stdout.

Columns that do not fit side by side continue in a further table below; no cell is cut or folded.
"""

import shutil
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Self

from rich.box import ASCII, SIMPLE, Box
from rich.cells import cell_len
from rich.console import Console
from rich.padding import PaddingDimensions
from rich.progress import MofNCompleteColumn, Progress, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

from specviz.render.chart import Grid, Layer
from specviz.render.console import colours, plain_words, show, speaks_unicode
from specviz.render.glyphs import Glyphs

CHART_ROWS = 14
_WIDEST = 100
Cells = Sequence[str]


def stdout_console(width: int | None = None) -> Console:
    return Console(file=sys.stdout, width=width, no_color=not colours(sys.stdout), highlight=False)


def stdout_text(text: str) -> Text:
    """``text`` in characters that stdout can encode, without markup."""
    return Text(plain_words(text, sys.stdout))


def stdout_table(*, padding: PaddingDimensions = (0, 1), ascii_box: Box = ASCII) -> Table:
    """An empty table without an edge, drawn in ``ascii_box`` if stdout cannot encode lines."""
    box = SIMPLE if speaks_unicode(sys.stdout) else ascii_box
    return Table(box=box, show_edge=False, pad_edge=False, padding=padding)


def print_table(titles: Cells, rows: Sequence[Cells], *, heads: int = 0, left: Sequence[int] = ()) -> None:
    """Print ``rows`` under ``titles``, as wide as stdout. If stdout is too narrow, the table is split into several,
    each of which repeats the first ``heads`` columns. Columns are right-aligned except those of ``left``."""
    cells = [[plain_words(cell, sys.stdout) for cell in row] for row in (titles, *rows)]
    widths = [max(map(cell_len, column)) for column in zip(*cells, strict=True)]
    gap = 2 if sum(widths) + 2 * (len(widths) - 1) <= room() else 1
    for number, columns in enumerate(stacks(widths, room(), heads, gap)):
        if number:
            show()
        table = stdout_table(padding=(0, gap - 1, 0, 0))
        for column in columns:
            table.add_column(cells[0][column], justify="left" if column in left else "right", no_wrap=True)
        for row in cells[1:]:
            table.add_row(*(row[column] for column in columns))
        needed = sum(widths[column] for column in columns) + gap * (len(columns) - 1)
        stdout_console(max(needed, room())).print(table)


def room() -> int:
    """Width of stdout in cells."""
    return stdout_console().width


def stacks(widths: Sequence[int], room: int, heads: int, gap: int) -> list[list[int]]:
    """The columns of each table: the heads, and as many others as fit, at least one."""
    first = list(range(heads))
    tables: list[list[int]] = []
    columns = first
    for column in range(heads, len(widths)):
        wider = [*columns, column]
        if len(columns) > heads and sum(widths[i] for i in wider) + gap * (len(wider) - 1) > room:
            tables.append(columns)
            wider = [*first, column]
        columns = wider
    return [*tables, columns]


def columns_beside(y_ticks: Iterable[str]) -> int:
    """Columns left for a chart next to these labels."""
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
    """Print the chart, then ``key``: (sign, name of its style, description). ``style`` maps a name to rich's style."""
    from specviz.render.chart_painter import paint

    painter = stdout_console()
    for line in paint(grid, layers, y_ticks, signs, k_ticks):
        painter.print(Text.assemble(*((text, style(name)) for text, name in line)), soft_wrap=True)
    for sign, name, text in key:
        painter.print(Text.assemble((f"  {sign}  ", style(name)), plain_words(text, sys.stdout)), soft_wrap=True)


class ProgressBar:
    """A progress bar on stderr, shown from ``delay_s`` on if stderr is a terminal. It is drawn only by ``advance``, so
    that nothing else runs during a measurement."""

    def __init__(self, total: int, label: str, *, delay_s: float = 0.0) -> None:
        console = Console(file=sys.stderr, no_color=not colours(sys.stderr), highlight=False)
        columns = (
            *Progress.get_default_columns()[:2],
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TimeRemainingColumn(),
        )
        self._bar = Progress(*columns, console=console, auto_refresh=False, transient=True)
        self._task = self._bar.add_task(label, total=total)
        self._draws_at_s = time.monotonic() + delay_s

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar.live.is_started:
            self._bar.stop()

    def advance(self, steps: int = 1) -> None:
        self._bar.advance(self._task, steps)
        if time.monotonic() >= self._draws_at_s and sys.stderr.isatty():
            self._bar.start()
            self._bar.refresh()
