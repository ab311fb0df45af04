"""The numbers of `bench --baseline`, from runs written by hand."""

import json
from collections import Counter

import pytest

from specviz.bench.baseline import (
    Comparison,
    ComparisonResult,
    Throughput,
    baseline_rows,
    plan_comparisons,
    summarise_baseline,
)
from specviz.cli.commands.bench.baseline import TITLES, baseline_notes, baseline_table

CONFIG = {"device": "cpu", "versions": {"transformers": "5.24.0"}}


def result(
    repeat: int, k: int, ours_ms: float, theirs_ms: float, *, same: int = 8, bare: bool = True
) -> ComparisonResult:
    """8 tokens each; two rounds of half of our time, whose forwards are 4/5 of that."""
    return ComparisonResult(
        Comparison(repeat, 0, k, ours_first=True),
        Throughput(8, ours_ms, 3_000_000),
        Throughput(8, theirs_ms, 5_000_000 + repeat),
        same,
        8,
        (ours_ms / 2,) * 2,
        (ours_ms * 0.4,) * 2 if bare else (),
    )


def test_a_row_is_the_median_of_the_repeats() -> None:
    (one, two) = baseline_rows([result(r, k, 20 + r, 30) for k in (4, 2) for r in range(3)])
    assert (one.k, two.k) == (2, 4)
    assert one.tokens_per_s is not None and one.tokens_per_s.median == pytest.approx(8000 / 21)
    assert one.baseline_tokens_per_s is not None and one.baseline_tokens_per_s.median == pytest.approx(8000 / 30)
    assert one.ratio is not None
    assert (one.ratio.q1, one.ratio.median, one.ratio.q3) == pytest.approx(
        ((30 / 21 + 30 / 22) / 2, 30 / 21, (30 / 20 + 30 / 21) / 2)
    )
    assert one.round_ms is not None and one.round_ms.median == pytest.approx(10.5)
    assert one.forwards_ms is not None and one.forwards_ms.median == pytest.approx(8.4)
    assert one.outside is not None and one.outside.median == pytest.approx(0.2)
    assert (one.peak, one.baseline_peak, one.same_text) == (3_000_000, 5_000_002, True)


def test_prompts_of_a_repeat_count_by_their_tokens() -> None:
    comparison = Comparison(0, 0, 1, ours_first=True)
    long = ComparisonResult(comparison, Throughput(30, 100, None), Throughput(30, 60, None), 30, 30, (), ())
    short = ComparisonResult(comparison, Throughput(10, 100, None), Throughput(10, 100, None), 10, 10, (), ())
    (row,) = baseline_rows([long, short])
    assert row.tokens_per_s is not None and row.tokens_per_s.median == pytest.approx(200)
    assert row.ratio is not None and row.ratio.median == pytest.approx(160 / 200)
    assert (row.round_ms, row.forwards_ms, row.outside, row.peak) == (None, None, None, None)


def test_what_is_not_known_is_none_and_a_dash() -> None:
    rows = baseline_rows([result(0, 4, 20, 30, bare=False), result(0, 8, 0, 0)])
    assert rows[0].forwards_ms is None and rows[0].outside is None
    assert rows[1].tokens_per_s is None and rows[1].ratio is None
    cells = baseline_table(rows)
    assert all(len(row) == len(TITLES) for row in cells)
    assert cells[0][0] == "K 4" and cells[0][5] == "–"
    said = json.loads(json.dumps(summarise_baseline(rows, "hf", "5.24.0"), allow_nan=False))
    assert (said["engine"], said["version"], said["k"][1]["ratio"]) == ("hf", "5.24.0", None)


def test_texts_that_part_are_said() -> None:
    rows = baseline_rows([result(0, 4, 20, 30), result(0, 8, 20, 30, same=5)])
    assert [row.same_text for row in rows] == [True, False]
    assert "(K 8)" in baseline_notes(rows, CONFIG, greedy=True)[1]
    assert baseline_notes(rows[:1], CONFIG, greedy=True)[1] == "Both engines gave the same texts."
    assert (
        "3.0 MB by specviz, 5.0 MB by transformers (the whole process)" in baseline_notes(rows, CONFIG, greedy=True)[2]
    )
    assert "sampled" in baseline_notes(rows, CONFIG, greedy=False)[1]


def test_duels_take_turns() -> None:
    plan = plan_comparisons(range(10, 15), (1, 4), 4, seed=3)
    assert plan == plan_comparisons(range(10, 15), (1, 4), 4, seed=3)
    assert Counter((d.repeat, d.prompt, d.k) for d in plan) == Counter(
        (r, p, k) for r in range(4) for p in range(10, 15) for k in (1, 4)
    )
    assert Counter(d.ours_first for d in plan) == {True: 20, False: 20}
    assert [d.prompt for d in plan if d.repeat == 0] != [d.prompt for d in plan if d.repeat == 1]
