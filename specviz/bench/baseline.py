"""specviz against another engine: the same models, prompts and K in turns, counted behind each run's first round."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from specviz.bench.duels import Fought, Pace
from specviz.bench.samples import Spread, round_cost, spread


@dataclass(frozen=True, slots=True)
class BaselineRow:
    """One K, over repeats. ``ratio``: our tokens/s over theirs. ``outside``: the share of our rounds that is not their
    forwards. Peaks are the largest of all runs. ``same_text``: whether every text was the same."""

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


def baseline_rows(fought: Iterable[Fought]) -> tuple[BaselineRow, ...]:
    """A row a K, ascending."""
    every = list(fought)
    return tuple(_row(k, [f for f in every if f.duel.k == k]) for k in sorted({f.duel.k for f in every}))


def summarise_baseline(rows: Iterable[BaselineRow], engine: str, version: str) -> dict[str, Any]:
    """The entry ``baseline`` of ``bench --json``: the fields of BaselineRow, peaks in bytes."""
    return {"engine": engine, "version": version, "k": [asdict(row) for row in rows]}


def _row(k: int, fought: Sequence[Fought]) -> BaselineRow:
    repeats = [[f for f in fought if f.duel.repeat == r] for r in sorted({f.duel.repeat for f in fought})]
    ours = [_rate(f.ours for f in each) for each in repeats]
    theirs = [_rate(f.theirs for f in each) for each in repeats]
    cost = round_cost(
        [list(_flat(f.round_ms for f in each)) for each in repeats],
        [list(_flat(f.forwards_ms for f in each)) for each in repeats],
    )
    return BaselineRow(
        k=k,
        tokens_per_s=spread(ours),
        baseline_tokens_per_s=spread(theirs),
        ratio=spread(a / b if a and b else None for a, b in zip(ours, theirs, strict=True)),
        round_ms=cost.round_ms,
        forwards_ms=cost.forwards_ms,
        outside=cost.outside,
        peak=_largest(f.ours.peak for f in fought),
        baseline_peak=_largest(f.theirs.peak for f in fought),
        same_text=all(f.same == f.of for f in fought),
    )


def _rate(paces: Iterable[Pace]) -> float | None:
    """Tokens a second."""
    every = list(paces)
    ms = sum(pace.ms for pace in every)
    return 1e3 * sum(pace.tokens for pace in every) / ms if ms else None


def _flat(parts: Iterable[tuple[float, ...]]) -> Iterator[float]:
    for part in parts:
        yield from part


def _largest(peaks: Iterable[int | None]) -> int | None:
    return max((peak for peak in peaks if peak is not None), default=None)
