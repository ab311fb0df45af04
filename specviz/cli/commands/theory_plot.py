"""`specviz theory --plot`: speedup over K for each α, in the terminal."""

import sys
from collections.abc import Sequence

import click

from specviz.cli.shared.terminal_chart import ROWS, columns_beside, print_chart
from specviz.maths import formulas
from specviz.maths.formula_table import EDGE, in_words
from specviz.render.chart import Layer
from specviz.render.console import show, speaks_unicode
from specviz.render.glyphs import glyphs
from specviz.render.k_axis import curve, k_grid, k_ticks, level_line, scale, sign, y_axis

LETTERS = "abcdefghi"
MOST_CHARTS = 4
STYLES = ("cyan", "magenta", "yellow", "green", "blue", "red", "bright_cyan", "bright_magenta", "bright_yellow")


def plot(alphas: Sequence[float], costs: Sequence[float]) -> None:
    """A chart for each c. A letter marks the best K of a curve."""
    if len(alphas) > len(LETTERS) or len(costs) > MOST_CHARTS:
        raise click.UsageError(
            f"--plot draws at most {len(LETTERS)} values of --alpha and {MOST_CHARTS} of --c. Shorten a list."
        )
    for place, c in enumerate(costs):
        if place:
            show()
        _chart(alphas, c)


def _chart(alphas: Sequence[float], c: float) -> None:
    signs = glyphs(not speaks_unicode(sys.stdout))
    curves = [[formulas.speedup(alpha, k, c) for k in range(EDGE + 1)] for alpha in alphas]
    best = [formulas.best_k(alpha, c, EDGE) for alpha in alphas]
    high, ticks = y_axis(0.0, scale(max(1.2, *(max(values) for values in curves))), ROWS)
    columns = columns_beside(ticks)
    grid = k_grid(columns, ROWS, 0.0, high)
    layers: list[Layer] = [level_line(grid, "axis", 1.0, signs.dash)]
    for name, values in zip(LETTERS, curves, strict=False):
        layers.append(curve(grid, name, values, signs, ascii_marker="."))
    layers += [sign(grid, name, name, k, speed) for name, (k, speed) in zip(LETTERS, best, strict=False)]
    show(f"speedup over K, c = {c:g} (below 1 the target alone is faster; a letter marks the best K)")
    key = [
        (name, name, f"α = {alpha:g}: best K {in_words(k)}, {speed:.2f}×")
        for name, alpha, (k, speed) in zip(LETTERS, alphas, best, strict=False)
    ]
    print_chart(grid, layers, ticks, k_ticks(columns), signs, _style, key)


def _style(name: str) -> str:
    return STYLES[LETTERS.index(name)] if name in LETTERS else "dim"
