"""`specviz stats`: the numbers of recorded runs, side by side."""

import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from rich.box import ASCII, SIMPLE
from rich.console import Console
from rich.table import Table
from rich.text import Text

from specviz.core.safe_text import safe_terminal_text
from specviz.render.console import plain_words, say, show, speaks_unicode
from specviz.stats.rates import Rates
from specviz.stats.run_stats import RunStats
from specviz.trace.jsonl import Trace, records
from specviz.trace.replay import shown_name, trace_path


def fold(trace: Trace) -> RunStats:
    stats = RunStats()
    for event in (trace.header, trace.calibration, *trace.rounds, trace.end):
        if event is not None:
            stats.add(event)
    return stats


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


def _number(pick: Callable[[Rates], Any], form: str) -> Callable[[RunStats], str]:
    def cell(run: RunStats) -> str:
        value = pick(run.whole())
        return "–" if value is None else format(value, form)

    return cell


def _interval(pick: Callable[[Rates], tuple[float, float] | None]) -> Callable[[RunStats], str]:
    def cell(run: RunStats) -> str:
        ends = pick(run.whole())
        return "–" if ends is None else f"{ends[0]:.3f} … {ends[1]:.3f}"

    return cell


def _config(key: str) -> Callable[[RunStats], str]:
    return lambda run: safe_terminal_text(str((run.header.config if run.header else {}).get(key, "–")))


def _reason(run: RunStats) -> str:
    return run.end.reason.replace("_", " ") if run.end else "not ended"


ROWS: list[tuple[str, Callable[[RunStats], str]]] = [
    ("draft", _config("draft")),
    ("target", _config("target")),
    ("drafter", _config("drafter")),
    ("rule", _config("rule")),
    ("K", _config("k")),
    ("temperature", _config("temperature")),
    ("seed", _config("seed")),
    ("ended", _reason),
    ("tokens", _number(lambda r: r.tokens, "d")),
    ("rounds", _number(lambda r: r.rounds, "d")),
    ("plain rounds", _number(lambda r: r.plain_rounds, "d")),
    ("drafted", _number(lambda r: r.drafted, "d")),
    ("accepted", _number(lambda r: r.accepted, "d")),
    ("rejected", _number(lambda r: r.rejected, "d")),
    ("untested", _number(lambda r: r.untested, "d")),
    ("ignored", _number(lambda r: r.ignored, "d")),
    ("α tested", _number(lambda r: r.alpha_tested, ".3f")),
    ("  95 %, if tests were independent", _interval(lambda r: r.alpha_tested_ci)),
    ("α overlap", _number(lambda r: r.alpha_overlap, ".3f")),
    ("  95 %, batch means", _interval(lambda r: r.alpha_overlap_ci)),
    ("z (agreement)", _number(lambda r: r.agreement_z, "+.2f")),
    ("mean match", _number(lambda r: r.mean_match, ".3f")),
    ("accepted/drafted", _number(lambda r: r.accepted_over_drafted, ".3f")),
    ("tokens/round", _number(lambda r: r.tokens_per_round, ".3f")),
    ("  standard error", _number(lambda r: r.tokens_per_round_se, ".3f")),
    ("formula at α tested", _number(lambda r: r.formula_at_tested, ".3f")),
    ("formula at α overlap", _number(lambda r: r.formula_at_overlap, ".3f")),
    ("tokens/s", _number(lambda r: r.tokens_per_s, ".1f")),
    ("draft ms", _number(lambda r: r.draft_ms, ".3f")),
    ("verify ms", _number(lambda r: r.verify_ms, ".3f")),
    ("decide ms", _number(lambda r: r.decide_ms, ".3f")),
    ("inspect ms", _number(lambda r: r.inspect_ms, ".3f")),
    ("T_p ms", _number(lambda r: r.target_step_ms, ".3f")),
    ("T_q ms", _number(lambda r: r.draft_step_ms, ".3f")),
    ("c = T_p/T_q", _number(lambda r: r.c, ".2f")),
    ("speedup, model", _number(lambda r: r.speedup_model, ".2f")),
    ("speedup, measured cost", _number(lambda r: r.speedup_measured_cost, ".2f")),
    ("best K", _number(lambda r: r.best_k, "d")),
    ("break-even α", _number(lambda r: r.break_even_alpha, ".3f")),
    ("ceiling", _number(lambda r: r.ceiling, ".2f")),
]
