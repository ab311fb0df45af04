"""`specviz theory`: the formulas as tables, as a plot, as JSON, and derived."""

import json
import sys
from collections.abc import Sequence

import click
from rich.box import ASCII, SIMPLE
from rich.console import Console
from rich.table import Table

from specviz.cli.console import plain_words, show, speaks_unicode
from specviz.theory_table import Row, in_words, rows, thumb_notes

MOST_ROWS = 10_000
MOST_NUMBERS = 1_000_000
_NOTES = 6
_PER_LINE = 9
"""Columns of P(N = i) that stand beside each other in 80 cells."""


def theory(
    alphas: Sequence[float], ks: Sequence[int], costs: Sequence[float], *, as_json: bool, plot: bool, derive: bool
) -> int:
    """Print what was asked for; 3 where a derivation's own check fails."""
    if derive:
        from specviz.cli.derive import derive as print_derivations

        return print_derivations(alphas[0], ks[0], costs[0], as_json)
    pairs = len(alphas) * len(costs)
    if pairs * len(ks) > MOST_ROWS or pairs * sum(k + 1 for k in ks) > MOST_NUMBERS:
        raise click.UsageError(
            f"--alpha, --k and --c combine to {pairs * len(ks)} rows and {pairs * sum(k + 1 for k in ks)} chances; "
            f"{MOST_ROWS} and {MOST_NUMBERS} are the most. Shorten a list."
        )
    table, notes = rows(alphas, ks, costs), thumb_notes(alphas, costs)
    if as_json:
        show(json.dumps({"rows": [row.as_json() for row in table], "notes": notes}, allow_nan=False))
        return 0
    if plot:
        from specviz.cli.theory_plot import plot as draw

        draw(alphas, costs)
    else:
        _print_formulas(table)
        _print_distributions(table)
    _print_notes(notes)
    return 0


def _print_formulas(table: Sequence[Row]) -> None:
    grid = _grid("α", "K", "c", "E[N]", "speedup", "best K", "at best", "break-even α", "ceiling", "operations")
    for row in table:
        grid.add_row(
            f"{row.alpha:g}",
            str(row.k),
            f"{row.c:g}",
            f"{row.expected_tokens:.3f}",
            f"{row.speedup:.2f}{'!' if row.speedup < 1 else ' '}",
            plain_words(in_words(row.best_k), sys.stdout),
            f"{row.best_speedup:.2f}",
            "–" if row.break_even_alpha is None else f"{row.break_even_alpha:.3f}",
            f"{row.ceiling:.2f}",
            f"{row.operations_factor:.2f}",
        )
    _print(grid)
    if any(row.speedup < 1 for row in table):
        show("! slower than the target alone.")
    show("c = T_p/T_q (the paper's c is the inverse). speedup = E[N] c / (c + K).")
    show("operations: the target's, as a multiple of decoding alone; the draft's own are left out.")


def _print_distributions(table: Sequence[Row]) -> None:
    """P(N = i), a row for each (α, K), in lines of a few columns."""
    known: dict[tuple[float, int], Row] = {(row.alpha, row.k): row for row in table}
    widest = min(_PER_LINE, max(row.k + 1 for row in known.values()))
    grid = _grid("α", "K", "i", "P(N=i)", *(f"i+{n}" for n in range(1, widest)))
    for row in known.values():
        for first in range(0, row.k + 1, widest):
            cells = [f"{chance:.3f}" for chance in row.distribution[first : first + widest]]
            head = (f"{row.alpha:g}", str(row.k)) if first == 0 else ("", "")
            grid.add_row(*head, str(first + 1), *cells)
    show()
    _print(grid)


def _print_notes(notes: Sequence[str]) -> None:
    if notes:
        show()
    for note in notes[:_NOTES]:
        show(f"Rule of thumb: {note}")
    if len(notes) > _NOTES:
        show(f"… and at {len(notes) - _NOTES} more pairs of α and c.")


def _grid(*titles: str) -> Table:
    table = Table(
        box=SIMPLE if speaks_unicode(sys.stdout) else ASCII, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0)
    )
    for title in titles:
        table.add_column(plain_words(title, sys.stdout), justify="right", no_wrap=len(titles) > 10, overflow="fold")
    return table


def _print(table: Table) -> None:
    Console(file=sys.stdout, no_color=True, highlight=False).print(table)
