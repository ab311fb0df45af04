"""Sums and counts of any range of rounds against adding them up."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from specviz.core.events import Settings
from specviz.maths.estimators import block_starts
from specviz.stats.cumulative import STRIDE, CumulativeCounts
from specviz.stats.round_counts import RoundCounts, count_round
from specviz.stats.run_stats import RunStats
from specviz.stats.series import ArrayPrefix, SeriesBuilder
from tests.rounds import accepting, fold, round_of

LENGTHS = (*range(0, 5), 9)
ROUNDS = [
    replace(
        round_of(accepting((i * 7) % (k + 1), k), settings=Settings(k=k), cut=(i % 11 == 3 and k > 0) or None),
        index=i + 1,
    )
    for i in range(200)
    for k in (LENGTHS[(i // 30) % len(LENGTHS)],)
]
RANGES = [(1, 0), (1, 1), (1, 200), (64, 64), (65, 128), (63, 130), (150, 149), (100, 200), (2, 66)]


@pytest.fixture(scope="module")
def table() -> CumulativeCounts:
    made = CumulativeCounts()
    for each in ROUNDS:
        made.add(count_round(each))
    return made


def test_the_table_holds_the_counts_of_every_round(table: CumulativeCounts) -> None:
    assert len(table) == 200 > 3 * STRIDE
    assert [RoundCounts(*row) for row in table.rows.tolist()] == [count_round(each) for each in ROUNDS]


@pytest.mark.parametrize(("first", "last"), RANGES)
def test_totals_are_sums(table: CumulativeCounts, first: int, last: int) -> None:
    part, rows = table.between(first, last), table.rows[first - 1 : last]
    assert part.rounds == len(rows) == last - first + 1
    for name in (
        "k",
        "accepted",
        "rejected",
        "untested",
        "ignored",
        "emitted",
        "n_with_accept_prob",
        "n_accepted_with_prob",
        "uncut",
    ):
        assert part.count(name) == rows[name].sum(), name
    assert part.count("plain") == (rows["k"] == 0).sum()
    assert part.count("uncut_emitted") == rows["emitted"][rows["uncut"]].sum()
    assert part.total("accept_prob_sum") == pytest.approx(rows["accept_prob_sum"].sum(), abs=1e-9)
    spent = (rows["draft_ms"] + rows["verify_ms"] + rows["decide_ms"])[rows["uncut"]].sum()
    assert part.total("spent_ms") == pytest.approx(spent, abs=1e-9)


@pytest.mark.parametrize(("first", "last"), RANGES)
def test_first_positions_are_counted_by_how_the_round_before_ended(
    table: CumulativeCounts, first: int, last: int
) -> None:
    part = table.between(first, last)
    behind: dict[str, list[str]] = {"after_rejection": [], "after_full_accept": []}
    for before, after in pairwise(ROUNDS):
        if first <= after.index <= last and before.k and after.tested:
            if before.tested > before.n_accepted:
                behind["after_rejection"].append(after.drafted[0].verdict)
            elif not before.cut:
                behind["after_full_accept"].append(after.drafted[0].verdict)
    assert part.count("after_rejection") == len(behind["after_rejection"])
    assert part.count("after_full_accept") == len(behind["after_full_accept"])
    assert part.count("after_rejection_accepted") == behind["after_rejection"].count("accepted")
    assert part.count("after_full_accept_accepted") == behind["after_full_accept"].count("accepted")


@pytest.mark.parametrize(("first", "last"), RANGES)
def test_lengths_are_counted(table: CumulativeCounts, first: int, last: int) -> None:
    rows = table.rows[first - 1 : last]
    counted = table.between(first, last).lengths()
    uncut = rows[rows["uncut"]]
    for name, values in {
        "k": rows["k"],
        "accepted": rows["accepted"],
        "tested": rows["accepted"] + rows["rejected"],
        "kept": rows["k"] - rows["ignored"],
        "uncut_k": uncut["k"],
        "uncut_accepted": uncut["accepted"],
    }.items():
        assert np.trim_zeros(counted[name], "b").tolist() == np.trim_zeros(np.bincount(values), "b").tolist(), name


def test_blocks_are_those_of_batch_means(table: CumulativeCounts) -> None:
    rows = table.rows[20:121]
    assert table.between(21, 121).blocks("accept_prob_sum") == pytest.approx(
        np.add.reduceat(rows["accept_prob_sum"], block_starts(101))
    )


def test_a_share_stays_a_share_behind_any_sums() -> None:
    """Running sums round: behind thirds, a segment whose overlaps are all 1 must not come out above 1."""
    thirds = [replace(round_of("aa", overlaps=[1 / 3] * 2), index=i) for i in range(1, 400)]
    ones = [
        replace(round_of("aa", overlaps=[1.0] * 2, settings=Settings(temperature=0.5)), index=i)
        for i in range(400, 440)
    ]
    stats = fold([*thirds, *ones])
    assert stats.segment_rates().first == 400
    assert (
        stats.segment_rates().alpha_overlap == pytest.approx(1.0) and (stats.segment_rates().alpha_overlap or 0) <= 1.0
    )


def test_live_rates_are_the_rates_without_medians() -> None:
    stats = fold(ROUNDS)
    for last in (0, 1, 31, 200):
        live, whole = stats.segment_rates_fast(last), stats.segment_rates(last)
        for name in live.__dataclass_fields__:
            assert getattr(live, name) == getattr(whole, name), name


def test_a_run_keeps_an_object_a_token_and_not_one_a_place() -> None:
    stats: RunStats = fold(ROUNDS)
    assert stats.summary()["ids"] == [token.id for each in ROUNDS for token in each.emitted]
    assert len(stats._tokens) == len({(token.id, token.bytes) for each in ROUNDS for token in each.emitted})


def test_series_are_prefixes_that_share_their_values() -> None:
    made = SeriesBuilder()
    for each in ROUNDS[:6]:
        made.add(count_round(each), new_segment=False, new_tokens_segment=False)
    whole, part = made.series(6), made.series(4)
    assert isinstance(part.alpha_tested, ArrayPrefix)
    assert list(part.alpha_tested) == list(whole.alpha_tested)[:4] == whole.alpha_tested[:4]
    assert whole.alpha_tested[0] is None, "nothing was tested yet"
    assert part != whole and part == made.series(4) and whole.alpha_tested[4:] == list(whole.alpha_tested)[4:]
    assert (part.n, part.longest) == ([1, 1, 1, 1], 1)
    with pytest.raises(IndexError):
        part.n[4]
