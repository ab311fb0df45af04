"""`specviz bench --baseline hf`: the same by transformers, in turns."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import click

from specviz.bench_baseline import BaselineRow, Duel, Fought
from specviz.bench_report import Spread
from specviz.cli.bench_table import DASH, stacked
from specviz.config import MAX_SEED, RunOptions
from specviz.sizes import bytes_in_words

if TYPE_CHECKING:
    from specviz.decoder.bench import Bench

ENGINES = ("hf",)
TITLES = (
    "",
    "specviz\ntokens/s",
    "transformers\ntokens/s",
    "\nratio",
    "round\nms",
    "forwards\nms",
    "share\noutside",
    "specviz\npeak",
    "transformers\npeak",
)


def refuse_unfair(options: RunOptions, drafters: Sequence[str]) -> None:
    """Raise click.UsageError for what assisted generation of transformers does otherwise or not at all."""
    settings = options.settings
    asked = {
        "--drafter": list(drafters) != ["model"],
        "--rule": settings.rule != "exact",
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
    source: "Bench", options: RunOptions, plan: Sequence[Duel], fought: list[Fought], step: Callable[[], None]
) -> None:
    """Run every duel of the plan into ``fought``."""
    from specviz.decoder.baseline import fight

    for duel in plan:
        seed = (options.seed + duel.repeat) % (MAX_SEED + 1)
        fought.append(fight(source, duel, options.prompts[duel.prompt][1], seed, options.settings))
        step()


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
    columns += [[_bytes(row.peak) for row in rows], [_bytes(row.baseline_peak) for row in rows]]
    return [list(cells) for cells in zip(*columns, strict=True)]


def baseline_notes(rows: Sequence[BaselineRow], config: dict[str, Any], *, greedy: bool) -> list[str]:
    """What was compared, and whether it is the same text."""
    version = config["versions"]["transformers"]
    if not greedy:
        text = "The texts are drawn, so they are not the same."
    elif all(row.same_text for row in rows):
        text = "Every text is the same on both sides."
    else:
        parting = ", ".join(f"K {row.k}" for row in rows if not row.same_text)
        text = f"Not every text is the same on both sides ({parting}): where two tokens score alike, rounding decides."
    return [
        f"Against assisted generation of transformers {version}: K in every round, no confidence threshold, in turns; "
        "tokens behind the first round over the time behind it, everything included.",
        text,
        "forwards: those of the same rounds again, with nothing around them; share outside: what is left of a round.",
    ]


def _bytes(peak: int | None) -> str:
    return DASH if peak is None else bytes_in_words(peak)
