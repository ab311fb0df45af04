"""`specviz stats`: the numbers of recorded runs, side by side."""

import json
import sys
from collections.abc import Sequence
from pathlib import Path

from rich.box import ASCII, SIMPLE
from rich.console import Console
from rich.table import Table
from rich.text import Text

from specviz.core.safe_text import safe_terminal_text
from specviz.render.console import plain_words, say, show, speaks_unicode
from specviz.stats.report_rows import ROWS
from specviz.stats.run_stats import RunStats
from specviz.trace.jsonl import records
from specviz.trace.replay import shown_name, trace_path


def recorded_stats(name: str) -> tuple[RunStats, bool]:
    """The numbers of a trace, read to its end, and whether its last record is incomplete. Raises SpecvizError."""
    stats, incomplete = RunStats(), False
    for _, event in records(trace_path(name), shown_name(name), bare=True):
        if event is None:
            incomplete = True
        else:
            stats.add(event)
    return stats, incomplete


def stats(names: Sequence[str], as_json: bool) -> int:
    """Print a table with a column a trace, or a JSON object a line a trace."""
    runs = []
    for name in names:
        run, incomplete = recorded_stats(name)
        if incomplete:
            say(f"note: the last record of {safe_terminal_text(name)} is incomplete and was left out")
        runs.append(run)
    if as_json:
        for run in runs:
            show(json.dumps(run.summary(), allow_nan=False))
        return 0
    table = Table(box=SIMPLE if speaks_unicode(sys.stdout) else ASCII, show_edge=False, pad_edge=False)
    table.add_column("")
    for name in names:
        table.add_column(Text(safe_terminal_text(Path(name).name)), justify="right", overflow="fold")
    chances = " / ".join(dict.fromkeys(run.whole().chance_name for run in runs))
    for label, cell in ROWS:
        label = label.replace("overlap", chances)
        table.add_row(plain_words(label, sys.stdout), *(Text(plain_words(cell(run), sys.stdout)) for run in runs))
    Console(file=sys.stdout, no_color=True, highlight=False).print(table)
    if any(len(run.summary()["segments"]) > 1 for run in runs):
        show("Settings changed during a run: its numbers pool all segments.")
    return 0
