"""`specviz stats`: the numbers of recorded runs side by side."""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path

from specviz.cli.shared.terminal_output import stdout_console, stdout_table, stdout_text
from specviz.core.safe_text import safe_terminal_text
from specviz.render.console import say, show
from specviz.render.numbers import NONE, exact
from specviz.stats.numbers_table import numbers_in
from specviz.stats.run_stats import RunStats
from specviz.trace.jsonl import records
from specviz.trace.replay import shown_name, trace_path

_SETTINGS = {
    "draft": "draft",
    "target": "target",
    "drafter": "drafter",
    "rule": "rule",
    "K": "k",
    "temperature": "temperature",
    "seed": "seed",
}


def recorded_stats(name: str) -> tuple[RunStats, bool]:
    """The numbers of a trace, and whether its last record is incomplete. Raises SpecvizError for an invalid trace."""
    stats, incomplete = RunStats(), False
    for _, event in records(trace_path(name), shown_name(name), compact=True):
        if event is None:
            incomplete = True
        else:
            stats.add(event)
    return stats, incomplete


def stats(names: Sequence[str], as_json: bool) -> int:
    """Print a table with one column per trace, or one JSON object per line and trace."""
    runs = []
    for name in names:
        run, incomplete = recorded_stats(name)
        if incomplete:
            say(f"note: the last record of {safe_terminal_text(name)} is incomplete and was ignored")
        runs.append(run)
    if as_json:
        for run in runs:
            show(json.dumps(run.summary(), allow_nan=False))
        return 0
    table = stdout_table()
    table.add_column("")
    for name in names:
        table.add_column(stdout_text(safe_terminal_text(Path(name).name)), justify="right", overflow="fold")
    for cells in _rows(runs):
        table.add_row(*map(stdout_text, cells))
    stdout_console().print(table)
    if any(len(run.summary()["segments"]) > 1 for run in runs):
        show("Settings changed during a run: its numbers pool all segments.")
    return 0


def _rows(runs: Sequence[RunStats]) -> Iterator[list[str]]:
    """A label and one cell per run."""
    for label, key in _SETTINGS.items():
        config = [run.header.config if run.header else {} for run in runs]
        yield [label, *(safe_terminal_text(str(each.get(key, NONE))) for each in config)]
    yield ["ended", *(run.end.reason.replace("_", " ") if run.end else "not ended" for run in runs)]
    rates = [run.whole() for run in runs]
    chances = " / ".join(dict.fromkeys(each.overlap_name for each in rates))
    for number in numbers_in("stats"):
        yield [number.title(chances), *(exact(number, each) for each in rates)]
        if spread := number.spread:
            yield [f"  {spread.label}", *(exact(spread, each) for each in rates)]
