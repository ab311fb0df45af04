"""`specviz bench --baseline hf`: a comparison with assisted generation in transformers."""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from specviz.bench.baseline import BaselineRow, Comparison, ComparisonResult
from specviz.bench.samples import largest
from specviz.cli.commands.bench.tables import memory, memory_kind, print_lines, print_numbers, stacked
from specviz.core.drafters import DEFAULT_DRAFTER
from specviz.core.options import GREEDY_AT_OR_BELOW, MAX_SEED, RunOptions
from specviz.core.rule import EXACT

if TYPE_CHECKING:
    from specviz.decoder.measuring.runner import Bench

TITLES = ("", "specviz\ntokens/s", "assisted\ntokens/s", "\nratio", "round\nms", "forwards\nms", "share\noutside")


def refuse_unfair(options: RunOptions, drafters: Sequence[str]) -> None:
    """Raise click.UsageError for settings that assisted generation lacks or treats differently."""
    settings = options.settings
    unsupported = {
        "--drafter": list(drafters) != [DEFAULT_DRAFTER],
        "--rule": settings.rule != EXACT.name,
        "--draft-temperature": settings.draft_temperature != settings.temperature,
        "--top-k": settings.top_k is not None,
        "--top-p": settings.top_p is not None,
        "--stop": bool(options.stop),
        "--min-new-tokens": options.min_new_tokens > 0,
    }
    if names := [name for name, is_set in unsupported.items() if is_set]:
        raise click.UsageError(
            f"--baseline compares draft models under the exact rule without top-k or top-p: remove {', '.join(names)}."
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

    def compared(comparison: Comparison) -> ComparisonResult:
        seed = (options.seed + comparison.repeat) % (MAX_SEED + 1)
        return compare_once(runs, comparison, options.prompts[comparison.prompt][1], seed, options.settings)

    compared(plan[0])
    for comparison in plan:
        results.append(compared(comparison))
        step()


def print_baseline(rows: Sequence[BaselineRow], config: Mapping[str, Any]) -> None:
    """Print the table and its notes."""
    print_lines([""])
    print_numbers(TITLES, baseline_table(rows))
    print_lines(baseline_notes(rows, config, greedy=config["temperature"] <= GREEDY_AT_OR_BELOW))


def baseline_table(rows: Sequence[BaselineRow]) -> list[list[str]]:
    """One row per K, the cells under TITLES."""
    columns = [
        [f"K {row.k}" for row in rows],
        stacked([row.tokens_per_s for row in rows]),
        stacked([row.baseline_tokens_per_s for row in rows]),
        stacked([row.ratio for row in rows]),
        stacked([row.round_ms for row in rows]),
        stacked([row.forwards_ms for row in rows]),
        stacked([row.outside for row in rows], is_rate=True),
    ]
    return [list(cells) for cells in zip(*columns, strict=True)]


def baseline_notes(rows: Sequence[BaselineRow], config: Mapping[str, Any], *, greedy: bool) -> list[str]:
    """What was compared, and whether both engines gave the same text."""
    version = config["versions"]["transformers"]
    if not greedy:
        text = "The texts are sampled, so they differ."
    elif all(row.same_text for row in rows):
        text = "Both engines gave the same texts."
    else:
        differing = ", ".join(f"K {row.k}" for row in rows if not row.same_text)
        text = f"Some texts differ ({differing}): where two tokens are almost equally likely, rounding decides."
    alone = " (specviz compiled, transformers not)" if config.get("compiled") else ""
    return [
        f"Compared with assisted generation in transformers {version}{alone}: K in every round, no confidence "
        "threshold, interleaved; tokens per second after the first round, overhead included.",
        text,
        f"Peak memory: {memory(largest(row.peak for row in rows))} by specviz, "
        f"{memory(largest(row.baseline_peak for row in rows))} by transformers ({memory_kind(config)}).",
        "forwards: the forward passes of the same rounds alone; share outside: the rest of a round.",
    ]
