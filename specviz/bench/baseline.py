"""specviz compared with another engine: the same models, prompts and K, interleaved, without each run's first round."""

import random
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from specviz.bench.samples import Spread, largest, ratio, round_cost, spread


@dataclass(frozen=True, slots=True)
class Comparison:
    """One prompt at one K, decoded by both engines; ``repeat`` and ``prompt`` count from 0."""

    repeat: int
    prompt: int
    k: int
    ours_first: bool


def plan_comparisons(prompts: Sequence[int], ks: Sequence[int], repeats: int, seed: int) -> list[Comparison]:
    """All comparisons, in a new random order for each repeat; each engine goes first equally often."""
    order = random.Random(seed)
    plan = []
    for repeat in range(repeats):
        pairs = [(prompt, k) for prompt in prompts for k in ks]
        for n, (prompt, k) in enumerate(order.sample(pairs, len(pairs))):
            plan.append(Comparison(repeat, prompt, k, ours_first=(n + repeat) % 2 == 0))
    return plan


@dataclass(frozen=True, slots=True)
class Throughput:
    """``tokens`` in ``ms``, both after the first round. ``peak``: the most bytes in use, None if unknown."""

    tokens: int
    ms: float
    peak: int | None


@dataclass(frozen=True, slots=True)
class ComparisonResult:
    """``round_ms``: our uncut rounds after the first; ``forwards_ms``: their forwards timed again on their own, empty
    where that is impossible. ``same``: the length of the common prefix of both texts in tokens; ``of``: the length of
    the shorter text."""

    comparison: Comparison
    ours: Throughput
    theirs: Throughput
    same: int
    of: int
    round_ms: tuple[float, ...]
    forwards_ms: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class BaselineRow:
    """One K, over repeats. ``ratio``: our tokens/s over theirs. ``outside``: the share of our rounds that is not spent
    in forwards. Peaks are the largest of all runs. ``same_text``: whether all texts are the same."""

    k: int
    tokens_per_s: Spread | None
    baseline_tokens_per_s: Spread | None
    ratio: Spread | None
    round_ms: Spread | None
    forwards_ms: Spread | None
    outside: Spread | None
    peak: int | None
    baseline_peak: int | None
    same_text: bool


def baseline_rows(results: Iterable[ComparisonResult]) -> tuple[BaselineRow, ...]:
    """One row per K, ascending."""
    all_results = list(results)
    ks = sorted({result.comparison.k for result in all_results})
    return tuple(_row(k, [result for result in all_results if result.comparison.k == k]) for k in ks)


def summarise_baseline(rows: Iterable[BaselineRow], engine: str, version: str) -> dict[str, Any]:
    """The entry ``baseline`` of ``bench --json``: the fields of BaselineRow, peaks in bytes."""
    return {"engine": engine, "version": version, "k": [asdict(row) for row in rows]}


def _row(k: int, results: Sequence[ComparisonResult]) -> BaselineRow:
    numbers = sorted({result.comparison.repeat for result in results})
    repeats = [[result for result in results if result.comparison.repeat == number] for number in numbers]
    ours = [_tokens_per_s([result.ours for result in repeat]) for repeat in repeats]
    theirs = [_tokens_per_s([result.theirs for result in repeat]) for repeat in repeats]
    cost = round_cost(
        [[ms for result in repeat for ms in result.round_ms] for repeat in repeats],
        [[ms for result in repeat for ms in result.forwards_ms] for repeat in repeats],
    )
    return BaselineRow(
        k=k,
        tokens_per_s=spread(ours),
        baseline_tokens_per_s=spread(theirs),
        ratio=spread(map(ratio, ours, theirs)),
        round_ms=cost.round_ms,
        forwards_ms=cost.forwards_ms,
        outside=cost.outside,
        peak=largest(result.ours.peak for result in results),
        baseline_peak=largest(result.theirs.peak for result in results),
        same_text=all(result.same == result.of for result in results),
    )


def _tokens_per_s(runs: Sequence[Throughput]) -> float | None:
    return ratio(1e3 * sum(run.tokens for run in runs), sum(run.ms for run in runs))
