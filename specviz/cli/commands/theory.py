"""`specviz theory`: the formulas as tables, as a plot, as JSON, and their derivations."""

import json
import sys
from collections.abc import Sequence

import click

from specviz.cli.shared.terminal_output import CHART_ROWS, columns_beside, print_chart, print_table, room
from specviz.core.options import MAX_K
from specviz.maths import formulas
from specviz.maths.derivations import derivations
from specviz.maths.formula_table import Row, best_k_label, rows, thumb_notes
from specviz.render.chart import Layer
from specviz.render.console import show, speaks_unicode
from specviz.render.glyphs import glyphs
from specviz.render.k_axis import curve, k_grid, k_ticks, level_line, scale, sign, y_axis

MAX_ROWS = 10_000
MAX_PROBABILITIES = 1_000_000
_NOTES = 6
_MAX_PER_LINE = 9
"""Most columns of P(N = i) side by side."""
LETTERS = "abcdefghi"
MAX_CHARTS = 4
STYLES = ("cyan", "magenta", "yellow", "green", "blue", "red", "bright_cyan", "bright_magenta", "bright_yellow")


def theory(
    alphas: Sequence[float], ks: Sequence[int], costs: Sequence[float], *, as_json: bool, plot: bool, derive: bool
) -> int:
    """Print the output that was requested; return 3 if a derivation fails its check."""
    if derive:
        return _print_derivations(alphas[0], ks[0], costs[0], as_json)
    pairs = len(alphas) * len(costs)
    if pairs * len(ks) > MAX_ROWS or pairs * sum(k + 1 for k in ks) > MAX_PROBABILITIES:
        raise click.UsageError(
            f"--alpha, --k and --c give {pairs * len(ks)} rows and {pairs * sum(k + 1 for k in ks)} probabilities; "
            f"the limits are {MAX_ROWS} and {MAX_PROBABILITIES}. Shorten a list."
        )
    table, notes = rows(alphas, ks, costs), thumb_notes(alphas, costs)
    if as_json:
        show(json.dumps({"rows": [row.as_json() for row in table], "notes": notes}, allow_nan=False))
        return 0
    if plot:
        _plot(alphas, costs)
    else:
        _print_formulas(table)
        _print_distributions(table)
    _print_notes(notes)
    return 0


def _print_formulas(table: Sequence[Row]) -> None:
    titles = ("α", "K", "c", "E[N]", "speedup", "best K", "at best", "break-even α", "ceiling", "operations")
    lines = [
        (
            f"{row.alpha:g}",
            str(row.k),
            f"{row.c:g}",
            f"{row.expected_tokens:.3f}",
            f"{row.speedup:.2f}{'!' if row.speedup < 1 else ' '}",
            best_k_label(row.best_k),
            f"{row.best_speedup:.2f}",
            "–" if row.break_even_alpha is None else f"{row.break_even_alpha:.3f}",
            f"{row.ceiling:.2f}",
            f"{row.operations_factor:.2f}",
        )
        for row in table
    ]
    print_table(titles, lines, heads=3)
    if any(row.speedup < 1 for row in table):
        show("! slower than the target alone.")
    show("c = T_p/T_q (the paper's c is the inverse). speedup = E[N] c / (c + K).")
    show("operations: the target's, relative to decoding without a draft; the draft's operations are not counted.")


def _print_distributions(table: Sequence[Row]) -> None:
    """P(N = i) for each (α, K), wrapped to the width of stdout."""
    known: dict[tuple[float, int], Row] = {(row.alpha, row.k): row for row in table}
    longest = max(row.k + 1 for row in known.values())
    head_cells = max(len(f"{row.alpha:g}") for row in known.values()) + 2 * len(str(longest))
    fitting = (room() - head_cells - len("P(N=i)") - 6) // 7 + 1
    widest = max(1, min(_MAX_PER_LINE, longest, fitting))
    lines: list[tuple[str, ...]] = []
    for row in known.values():
        for first in range(0, row.k + 1, widest):
            cells = [f"{chance:.3f}" for chance in row.distribution[first : first + widest]]
            head = (f"{row.alpha:g}", str(row.k)) if first == 0 else ("", "")
            lines.append((*head, str(first + 1), *cells, *[""] * (widest - len(cells))))
    show()
    print_table(("α", "K", "i", "P(N=i)", *(f"i+{n}" for n in range(1, widest))), lines, heads=3)


def _print_notes(notes: Sequence[str]) -> None:
    if notes:
        show()
    for note in notes[:_NOTES]:
        show(f"Rule of thumb: {note}")
    if len(notes) > _NOTES:
        show(f"… and for {len(notes) - _NOTES} more pairs of α and c.")


def _plot(alphas: Sequence[float], costs: Sequence[float]) -> None:
    """One chart per c. A letter marks the best K of each curve."""
    if len(alphas) > len(LETTERS) or len(costs) > MAX_CHARTS:
        raise click.UsageError(
            f"--plot draws at most {len(LETTERS)} values of --alpha and {MAX_CHARTS} of --c. Shorten a list."
        )
    for index, c in enumerate(costs):
        if index:
            show()
        _chart(alphas, c)


def _chart(alphas: Sequence[float], c: float) -> None:
    signs = glyphs(not speaks_unicode(sys.stdout))
    curves = [[formulas.speedup(alpha, k, c) for k in range(MAX_K + 1)] for alpha in alphas]
    best = [formulas.best_k(alpha, c, MAX_K) for alpha in alphas]
    high, ticks = y_axis(0.0, scale(max(1.2, *(max(values) for values in curves))), CHART_ROWS)
    columns = columns_beside(ticks)
    grid = k_grid(columns, CHART_ROWS, 0.0, high)
    layers: list[Layer] = [level_line(grid, "axis", 1.0, signs.dash)]
    for name, values in zip(LETTERS, curves, strict=False):
        layers.append(curve(grid, name, values, signs, ascii_marker="."))
    layers += [sign(grid, name, name, k, speed) for name, (k, speed) in zip(LETTERS, best, strict=False)]
    show(f"speedup over K, c = {c:g} (below 1 the target alone is faster; a letter marks the best K)")
    key = [
        (name, name, f"α = {alpha:g}: best K {best_k_label(k)}, {speed:.2f}×")
        for name, alpha, (k, speed) in zip(LETTERS, alphas, best, strict=False)
    ]
    print_chart(grid, layers, ticks, k_ticks(columns), signs, _style, key)


def _style(name: str) -> str:
    return STYLES[LETTERS.index(name)] if name in LETTERS else "dim"


def _print_derivations(alpha: float, k: int, c: float, as_json: bool) -> int:
    """Print every derivation with its checks; return 0 if all hold, else 3."""
    derived = derivations(alpha, k, c)
    holds = all(check.holds for one in derived for check in one.checks)
    if as_json:
        show(json.dumps({"derivations": [one.as_json() for one in derived], "holds": holds}, allow_nan=False))
        return 0 if holds else 3
    for number, one in enumerate(derived, 1):
        show(f"{number}. {one.title}\n")
        for line in one.text.splitlines():
            show(f"   {line}".rstrip())
        show()
        for check in one.checks:
            show(f"   check: {check}")
        show()
    return 0 if holds else 3
