"""`specviz bench --baseline hf`: the same by transformers, in turns."""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from specviz.bench.baseline import BaselineRow, Comparison, ComparisonResult
from specviz.bench.samples import Spread
from specviz.cli.commands.bench.tables import DASH, print_table, stacked
from specviz.core.drafters import DEFAULT_DRAFTER
from specviz.core.options import GREEDY_AT_OR_BELOW, MAX_SEED, RunOptions
from specviz.core.rule import EXACT
from specviz.core.units import bytes_in_words

if TYPE_CHECKING:
    from specviz.decoder.measuring.runner import Bench

ENGINES = ("hf",)
TITLES = ("", "specviz\ntokens/s", "assisted\ntokens/s", "\nratio", "round\nms", "forwards\nms", "share\noutside")


def refuse_unfair(options: RunOptions, drafters: Sequence[str]) -> None:
    """Raise click.UsageError for what assisted generation of transformers does otherwise or not at all."""
    settings = options.settings
    asked = {
        "--drafter": list(drafters) != [DEFAULT_DRAFTER],
        "--rule": settings.rule != EXACT.name,
        "--draft-temperature": settings.draft_temperature != settings.temperature,
        "--top-k": settings.top_k is not None,
        "--top-p": settings.top_p is not None,
        "--stop": bool(options.stop),
        "--min-new-tokens": options.min_new_tokens > 0,
    }
    if names := [name for name, is_asked in asked.items() if is_asked]:
        raise click.UsageError(
            f"--baseline compares draft models under the exact rule, without cuts: leave {', '.join(names)} away."
        )


def measure_baseline(
    source: "Bench",
    options: RunOptions,
    plan: Sequence[Comparison],
    results: list[ComparisonResult],
    step: Callable[[], None],
) -> None:
    """Run every comparison of the plan into ``results``; the first once before, as a warm-up."""
    from specviz.decoder.measuring.assisted import compare_once

    runs = source.source

    def fought_out(comparison: Comparison) -> ComparisonResult:
        seed = (options.seed + comparison.repeat) % (MAX_SEED + 1)
        return compare_once(runs, comparison, options.prompts[comparison.prompt][1], seed, options.settings)

    fought_out(plan[0])
    for comparison in plan:
        results.append(fought_out(comparison))
        step()


def print_baseline(rows: Sequence[BaselineRow], config: Mapping[str, Any]) -> None:
    """The table on stdout, and what it is."""
    print_table(
        TITLES, baseline_table(rows), baseline_notes(rows, config, greedy=config["temperature"] <= GREEDY_AT_OR_BELOW)
    )


def baseline_table(rows: Sequence[BaselineRow]) -> list[list[str]]:
    """A row a K, the cells under TITLES."""
    figures: list[tuple[Callable[[BaselineRow], Spread | None], bool]] = [
        (lambda row: row.tokens_per_s, False),
        (lambda row: row.baseline_tokens_per_s, False),
        (lambda row: row.ratio, False),
        (lambda row: row.round_ms, False),
        (lambda row: row.forwards_ms, False),
        (lambda row: row.outside, True),
    ]
    columns = [[f"K {row.k}" for row in rows]]
    columns += [stacked([pick(row) for row in rows], is_rate=rate) for pick, rate in figures]
    return [list(cells) for cells in zip(*columns, strict=True)]


def baseline_notes(rows: Sequence[BaselineRow], config: Mapping[str, Any], *, greedy: bool) -> list[str]:
    """What was compared, and whether it is the same text."""
    version = config["versions"]["transformers"]
    if not greedy:
        text = "The texts are drawn, so they are not the same."
    elif all(row.same_text for row in rows):
        text = "Every text is the same on both sides."
    else:
        parting = ", ".join(f"K {row.k}" for row in rows if not row.same_text)
        text = f"Not every text is the same on both sides ({parting}): where two tokens score alike, rounding decides."
    alone = " (specviz compiled, transformers not)" if config.get("compiled") else ""
    return [
        f"Against assisted generation of transformers {version}{alone}: K in every round, no confidence threshold, in "
        "turns; tokens behind the first round over the time behind it, everything included.",
        text,
        f"Most memory: {_most(rows, lambda row: row.peak)} by specviz, {_most(rows, lambda row: row.baseline_peak)} by "
        f"transformers ({'tensors on the GPU' if str(config['device']).startswith('cuda') else 'the whole process'}).",
        "forwards: those of the same rounds again, with nothing around them; share outside: what is left of a round.",
    ]


def _most(rows: Sequence[BaselineRow], pick: Callable[[BaselineRow], int | None]) -> str:
    peaks = [peak for row in rows if (peak := pick(row)) is not None]
    return bytes_in_words(max(peaks)) if peaks else DASH
