"""Numbers of any range of drafted tokens, against counting its rows; adding a round reads only the new rows."""

from collections import Counter
from dataclasses import replace
from typing import Any

import pytest

from specviz.stats import draft_table
from specviz.stats.draft_queries import DraftedRow, costliest_rejection, top_ids, top_rows
from specviz.stats.draft_table import STRIDE, Count, DraftRange, DraftTable, Rank, Rows
from tests.builders import known, make_run
from tests.stats.drafted_rows import drafted_rows, rejected_ids

RUN = [
    replace(round, drafted=tuple(replace(d, q=0.0) if known(d.id) % 7 == 3 else d for d in round.drafted))
    for round in make_run(400, 5, 2)
]
TABLE = DraftTable.of(RUN)
RANGES = [(1, 400), (1, 0), (1, 1), (51, 52), (52, 400), (103, 300), (400, 400), (1, 250), (400, 399), (1, 251)]
RANKS: tuple[Rank, ...] = ("ratio", "lost", "overlap")


def rows_of(first: int, last: int) -> list[DraftedRow]:
    return [row for row in drafted_rows(TABLE) if first <= row.round <= last]


def number(row: DraftedRow, rank: Rank) -> float | None:
    return -row.lost if rank == "lost" and row.lost is not None else getattr(row, rank)


def ordered(rows: list[DraftedRow], rank: Rank) -> list[DraftedRow]:
    tested = [row for row in rows if row.verdict in ("accepted", "rejected") and number(row, rank) is not None]
    return sorted(tested, key=lambda row: number(row, rank) or 0.0)


def test_there_are_more_rows_than_are_counted_at_once() -> None:
    assert len(TABLE) == len(TABLE.rows) == sum(round.k for round in RUN) > 5 * STRIDE
    assert str(TABLE.rows.tolist()) == str(DraftTable.of(RUN).whole.rows.tolist())


@pytest.mark.parametrize(("first", "last"), RANGES)
def test_any_range_is_counted(first: int, last: int) -> None:
    part, rows = TABLE.between(first, last), rows_of(first, last)
    assert drafted_rows(part) == rows and len(part) == len(rows)
    tested = [row for row in rows if row.verdict in ("accepted", "rejected")]
    bins = Counter(min(9, int(known(row.overlap) * 10)) for row in tested)
    assert part.histogram == tuple(bins[b] for b in range(10))
    counts: dict[Count, int] = {rank: len(ordered(rows, rank)) for rank in RANKS}
    for name, count in (counts | {"untested": len(rows) - len(tested)}).items():
        assert part.count(name) == count, name


@pytest.mark.parametrize("rank", RANKS)
@pytest.mark.parametrize("limit", [3, 500])
def test_the_top_of_any_range(rank: Rank, limit: int) -> None:
    for first, last in RANGES:
        shown, rows = top_rows(TABLE.between(first, last), rank, limit), ordered(rows_of(first, last), rank)
        assert list(shown) == shown[:] == rows[:limit], (first, last)
        assert shown.total == len(rows)
        places = [(int(TABLE.rows["round"][key]), int(TABLE.rows["row"][key])) for key in shown.keys]
        assert places == [(row.round, row.row) for row in shown]


def test_the_rejected_ids_of_any_range() -> None:
    for first, last in RANGES:
        part, rows = TABLE.between(first, last), rows_of(first, last)
        alone = [round for round in RUN if first <= round.index <= last]
        ids = top_ids(part, 4)
        assert list(ids) == rejected_ids(part)[:4] == rejected_ids(alone)[:4], (first, last)
        assert ids.total == len({(row.id, row.bytes) for row in rows if row.verdict == "rejected"})
        for key, each in zip(ids.keys, ids, strict=True):
            rejections = [row for row in rows if row.id == each.id and row.verdict == "rejected"]
            worst = max(rejections, key=lambda row: row.lost or 0.0)
            assert costliest_rejection(part, int(key)) == (worst.round, worst.row)
            assert each.rejected == len(rejections)


def test_a_ranking_stays_the_same_after_a_query_of_another_range() -> None:
    ids = top_ids(TABLE.between(1, 200))
    before = list(ids)
    top_ids(TABLE.between(1, 400))
    top_ids(TABLE.between(7, 9))
    assert list(ids) == before


def test_adding_a_round_reads_only_its_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """For rankings, ids and counts, however many rows precede it."""
    table = DraftTable.of(RUN[:390])

    def look(part: DraftRange) -> None:
        for rank in RANKS:
            top_rows(part, rank, 500)
        top_ids(part, 500)
        _ = part.histogram

    look(table.between(1, 390))
    seen: list[int] = []
    between, count_rows = DraftTable._between, draft_table.count_rows

    def measured(table: DraftTable, begin: int, end: int) -> Rows:
        rows = between(table, begin, end)
        seen.append(len(rows))
        return rows

    def count_and_record(rows: Rows) -> Any:
        seen.append(len(rows))
        return count_rows(rows)

    monkeypatch.setattr(DraftTable, "_between", measured)
    monkeypatch.setattr("specviz.stats.draft_table.count_rows", count_and_record)
    table._token_counter._rows = table._between
    for round in RUN[390:]:
        table.add(round)
        look(table.between(1, round.index))
    assert max(seen) < STRIDE and len(seen) > 50
    assert str(table.rows.tolist()) == str(TABLE.rows.tolist())
