"""Sums and counts of any range of rounds against adding them up."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from specviz.core.events import Settings
from specviz.maths.estimators import block_starts
from specviz.stats.cumulative import STRIDE, TallyTable
from specviz.stats.round_counts import Tally, tally
from specviz.stats.run_stats import RunStats
from specviz.stats.series import Prefix, SeriesFold
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
def table() -> TallyTable:
    made = TallyTable()
    for each in ROUNDS:
        made.add(tally(each))
    return made


def test_the_table_holds_every_tally(table: TallyTable) -> None:
    assert len(table) == 200 > 3 * STRIDE
    assert [Tally(*row) for row in table.rows.tolist()] == [tally(each) for each in ROUNDS]


@pytest.mark.parametrize(("first", "last"), RANGES)
def test_totals_are_sums(table: TallyTable, first: int, last: int) -> None:
    part, rows = table.between(first, last), table.rows[first - 1 : last]
    assert part.rounds == len(rows) == last - first + 1
    for name in ("k", "accepted", "rejected", "untested", "ignored", "emitted", "chanced", "hits", "uncut"):
        assert part.count(name) == rows[name].sum(), name
    assert part.count("plain") == (rows["k"] == 0).sum()
    assert part.count("uncut_emitted") == rows["emitted"][rows["uncut"]].sum()
    assert part.total("chance") == pytest.approx(rows["chance"].sum(), abs=1e-9)
    spent = (rows["draft_ms"] + rows["verify_ms"] + rows["decide_ms"])[rows["uncut"]].sum()
    assert part.total("spent_ms") == pytest.approx(spent, abs=1e-9)


@pytest.mark.parametrize(("first", "last"), RANGES)
def test_first_positions_are_counted_by_how_the_round_before_ended(table: TallyTable, first: int, last: int) -> None:
    part = table.between(first, last)
    behind: dict[str, list[str]] = {"behind_rejection": [], "behind_full": []}
    for before, after in pairwise(ROUNDS):
        if first <= after.index <= last and before.k and after.tested:
            if before.tested > before.n_accepted:
                behind["behind_rejection"].append(after.drafted[0].verdict)
            elif not before.cut:
                behind["behind_full"].append(after.drafted[0].verdict)
    assert part.count("behind_rejection") == len(behind["behind_rejection"])
    assert part.count("behind_full") == len(behind["behind_full"])
    assert part.count("behind_rejection_accepted") == behind["behind_rejection"].count("accepted")
    assert part.count("behind_full_accepted") == behind["behind_full"].count("accepted")


@pytest.mark.parametrize(("first", "last"), RANGES)
def test_lengths_are_counted(table: TallyTable, first: int, last: int) -> None:
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


def test_blocks_are_those_of_batch_means(table: TallyTable) -> None:
    rows = table.rows[20:121]
    assert table.between(21, 121).blocks("chance") == pytest.approx(np.add.reduceat(rows["chance"], block_starts(101)))


def test_a_share_stays_a_share_behind_any_sums() -> None:
    """Running sums round: behind thirds, a segment whose overlaps are all 1 must not come out above 1."""
    thirds = [replace(round_of("aa", overlaps=[1 / 3] * 2), index=i) for i in range(1, 400)]
    ones = [
        replace(round_of("aa", overlaps=[1.0] * 2, settings=Settings(temperature=0.5)), index=i)
        for i in range(400, 440)
    ]
    stats = fold([*thirds, *ones])
    assert stats.on_screen().first == 400
    assert stats.on_screen().alpha_overlap == pytest.approx(1.0) and (stats.on_screen().alpha_overlap or 0) <= 1.0


def test_live_rates_are_the_rates_without_medians() -> None:
    stats = fold(ROUNDS)
    for last in (0, 1, 31, 200):
        live, whole = stats.live(last), stats.on_screen(last)
        for name in live.__dataclass_fields__:
            assert getattr(live, name) == getattr(whole, name), name


def test_a_run_keeps_an_object_a_token_and_not_one_a_place() -> None:
    stats: RunStats = fold(ROUNDS)
    assert stats.summary()["ids"] == [token.id for each in ROUNDS for token in each.emitted]
    assert len(stats._tokens) == len({(token.id, token.bytes) for each in ROUNDS for token in each.emitted})


def test_series_are_prefixes_that_share_their_values() -> None:
    made = SeriesFold()
    for each in ROUNDS[:6]:
        made.add(tally(each), new_segment=False, new_tokens_segment=False)
    whole, part = made.series(6), made.series(4)
    assert isinstance(part.alpha_tested, Prefix)
    assert list(part.alpha_tested) == list(whole.alpha_tested)[:4] == whole.alpha_tested[:4]
    assert whole.alpha_tested[0] is None, "nothing was tested yet"
    assert part != whole and part == made.series(4) and whole.alpha_tested[4:] == list(whole.alpha_tested)[4:]
    assert (part.n, part.longest) == ([1, 1, 1, 1], 1)
    with pytest.raises(IndexError):
        part.n[4]
