"""Runs for tests of what is counted: rounds written as the initials of their verdicts, "aaru", at a fixed K."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from specviz.core.events import Calibration, Header, Prompt, Round, Settings, Timing
from specviz.stats.run_stats import RunStats
from tests.builders import make_round

BASE = Settings()
TIMING = Timing(draft_ms=4.0, verify_ms=10.0, decide_ms=1.0, inspect_ms=0.5, total_ms=16.0)


def round_of(
    verdicts: str,
    index: int = 1,
    *,
    overlaps: Sequence[float] | None = None,
    matches: Sequence[float] | None = None,
    settings: Settings = BASE,
    timing: Timing = TIMING,
    **changes: Any,
) -> Round:
    """``make_round`` at K = 4, with an overlap of 0.75 and a match of 0.5 at every position."""
    k = len(verdicts)
    return make_round(
        index,
        100 + index,
        verdicts,
        overlaps=overlaps or [0.75] * k,
        matches=matches or [0.5] * k,
        settings=settings,
        timing=timing,
        **changes,
    )


def accepting(n: int, k: int) -> str:
    """The verdicts of a round that drafted k tokens and accepted n of them."""
    return "a" * k if n == k else "a" * n + "r" + "u" * (k - n - 1)


def header(stop: Sequence[str] = ()) -> Header:
    return Header(
        created="2025-01-01T00:00:00Z",
        specviz="0",
        config={"stop": list(stop), "k": 4},
        vocab_size=64,
        end_ids=(0,),
        prompt=Prompt("", ()),
    )


def fold(rounds: Iterable[str | Round], calibration: Calibration | None = None) -> RunStats:
    stats = RunStats()
    if calibration:
        stats.add(calibration)
    for index, item in enumerate(rounds, start=1):
        stats.add(round_of(item, index) if isinstance(item, str) else replace(item, index=index))
    return stats


def segmented() -> RunStats:
    """Rounds 1-2 at K 4, 3 at K 2, 4-5 hot at K 2, 6 hot at K 3."""
    hot = replace(BASE, k=2, temperature=1.5)
    return fold(
        [
            "aaaa",
            "ruuu",
            round_of("aa", settings=replace(BASE, k=2)),
            round_of("ru", settings=hot),
            round_of("ar", settings=hot),
            round_of("aaa", settings=replace(hot, k=3)),
        ],
        Calibration(10.0, 2.0, 4),
    )
