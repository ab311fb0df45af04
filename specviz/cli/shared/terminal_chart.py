"""A chart with K along x, printed on the normal screen."""

import shutil
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence

from rich.console import Console
from rich.text import Text

from specviz.render.chart import Grid, Layer
from specviz.render.console import colours, plain_words
from specviz.render.glyphs import Glyphs

ROWS = 14
_WIDEST = 100


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
