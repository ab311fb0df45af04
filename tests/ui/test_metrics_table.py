"""The orders of the drafted tokens, and the lines they become, against tests/data/README.md."""

import pytest
from rich.cells import cell_len

from specviz.render.glyphs import ASCII, UNICODE
from specviz.stats.draft_queries import next_lowest_overlap, top_rows
from specviz.stats.draft_table import DraftTable, Rank
from specviz.ui.metrics.draft_list import LIMIT, ORDERS, Order, TokenListing, drafted_listing, id_listing
from specviz.ui.run.jumps import NOWHERE
from tests.builders import make_drafted, make_round, make_run
from tests.core.test_safe_text import NASTY, assert_safe
from tests.stats.drafted_rows import drafted_rows
from tests.ui.metrics import small, texts

ROWS = DraftTable.of(small().rounds)


def listing(order: Rank, cells: int = 117) -> TokenListing:
    return drafted_listing(ROWS, order, cells, UNICODE)


def numbers(order: Rank, column: int) -> list[str]:
    return [line.split()[column] for line in texts(listing(order).lines)]


def test_lowest_ratio_of_tested_tokens_first_and_equals_as_they_were_drafted() -> None:
    assert listing("ratio").positions[:5] == [(4, 0), (2, 1), (5, 1), (5, 2), (3, 1)]
    assert numbers("ratio", 7) == [".12", *[".50"] * 3, *["1.00"] * 3, "1.50", "1.50", "4.00", "4.00"]
    words = "all 11 tested tokens without 4 that had no test"
    assert listing("ratio").words == f"{words}; lost: expected tokens a rejection cost"
    assert listing("ratio", 77).words == words, "what has no room"


def test_most_costly_rejections_first_and_nothing_else() -> None:
    assert listing("lost").positions == [(4, 0), (2, 1), (5, 2)]
    assert numbers("lost", -1) == ["1.75", "1.50", "1.00"]
    assert listing("lost").words.startswith("all 3 rejections")


def test_lowest_overlap_first() -> None:
    assert listing("overlap").positions[:3] == [(4, 0), (2, 1), (3, 2)]
    assert numbers("overlap", 8) == [".200", *[".600"] * 4, *[".800"] * 4, *["1.00"] * 2]


def test_the_lowest_are_those_that_the_walk_and_the_breakpoints_look_at() -> None:
    low = make_drafted("b", "untested", overlap=0.01, p=0.001)
    rounds = [
        make_round(1, drafted=[make_drafted("a", "rejected", overlap=0.4, p=0.2), low]),
        make_round(2, drafted=[make_drafted("c", overlap=0.3), make_drafted("d", "ignored", overlap=0.02)]),
    ]
    assert drafted_listing(rounds, "overlap", 117, UNICODE).positions == [(2, 0), (1, 0)]
    assert next_lowest_overlap(rounds, NOWHERE) == (2, 0)
    assert drafted_listing(rounds, "ratio", 117, UNICODE).positions == [(1, 0), (2, 0)]


def test_a_line_holds_the_whole_test() -> None:
    first = texts(listing("ratio").lines)[0].split()
    assert first == ["4", "1", "␣a", "✗", "rejected", ".800", ".100", ".12", ".200", ".500", ".125", "1.75"]


def test_ids_rejected_most_often_lead_to_their_dearest_rejection() -> None:
    rounds = small().rounds
    table = id_listing(rounds, 117, UNICODE)
    assert [line.split() for line in texts(table.lines)] == [
        ["1", "␣a", "2", "4", "5", "2.75"],
        ["2", "␣cat", "1", "4", "7", "1.50"],
    ]
    assert table.positions == [(4, 0), (2, 1)]
    assert table.words.startswith("all 2 rejected ids")


def test_only_the_first_rows_of_an_order_are_shown_and_it_says_so() -> None:
    run = make_run(260, 4)
    rows = [row for row in drafted_rows(run) if row.verdict in ("accepted", "rejected")]
    table = drafted_listing(run, "ratio", 117, UNICODE)
    assert len(table.lines) == len(table.positions) == LIMIT == 500
    assert table.words.startswith("the first 500 of 801 tested tokens without 239")
    ratios = sorted(row.ratio for row in rows if row.ratio is not None)
    shown = top_rows(run, "ratio", LIMIT)
    assert [row.ratio for row in shown] == ratios[:500] and shown.total == 801


def test_a_row_without_the_number_is_left_out() -> None:
    rounds = [make_round(1, drafted=[make_drafted(q=0.0, accept_prob=1.0), make_drafted(q=0.5)])]
    assert [row.row for row in top_rows(rounds, "ratio", LIMIT)] == [1]


def test_nothing_drafted_is_no_row() -> None:
    assert drafted_listing([], "ratio", 77, UNICODE).words.startswith("no tested tokens")
    assert id_listing([], 77, UNICODE).words.startswith("no rejected ids")


@pytest.mark.parametrize(
    ("cells", "order", "columns"),
    [
        (197, "ratio", "round i token verdict q p p/q overlap u accept lost"),
        (77, "ratio", "round i token q p p/q overlap u accept lost"),
        (57, "ratio", "round i token p p/q overlap lost"),
        (47, "ratio", "round i token p/q overlap lost"),
        (40, "lost", "round i token p/q lost"),
        (27, "overlap", "token p/q overlap"),
    ],
)
def test_where_there_is_little_room_columns_go_before_the_token(cells: int, order: Rank, columns: str) -> None:
    table = listing(order, cells)
    head = "".join(text for text, _ in table.head)
    assert head.split() == columns.split()
    first = texts(table.lines)[0]
    assert "✗" in first and "␣a " in first and ".12" in first
    assert cell_len(first) <= cells


@pytest.mark.parametrize(("cells", "columns"), [(57, 6), (46, 5), (40, 4), (27, 3)])
def test_ids_give_up_columns_too(cells: int, columns: int) -> None:
    table = id_listing(small().rounds, cells, UNICODE)
    assert [len(line.split()) for line in texts(table.lines)] == [columns] * 2
    assert all("␣cat"[:2] in line or "␣a" in line for line in texts(table.lines))
    assert all(cell_len(line) <= cells for line in texts(table.lines))


@pytest.mark.parametrize("cells", [57, 77, 117, 197])
@pytest.mark.parametrize("order", ORDERS)
def test_columns_stand_below_their_heads_and_fit(order: Order, cells: int) -> None:
    for glyphs in (UNICODE, ASCII):
        table = id_listing(ROWS, cells, glyphs) if order == "ids" else drafted_listing(ROWS, order, cells, glyphs)
        head = "".join(text for text, _ in table.head)
        for line in texts(table.lines):
            assert cell_len(line) == len(head) <= cells
            assert line.isascii() or not glyphs.ascii


@pytest.mark.parametrize("ascii", [False, True])
def test_hostile_tokens_are_safe_cells_that_move_nothing(ascii: bool) -> None:
    rounds = [
        make_round(i, drafted=[make_drafted(data, "rejected", q=0.4, p=0.1, u=0.9, token_id=i)])
        for i, data in enumerate(NASTY, start=1)
    ]
    glyphs = ASCII if ascii else UNICODE
    for table in (drafted_listing(rounds, "lost", 77, glyphs), id_listing(rounds, 77, glyphs)):
        assert len(table.lines) == len(NASTY)
        for line in texts(table.lines):
            assert_safe(line)
            assert cell_len(line) == len("".join(text for text, _ in table.head))
            assert line.isascii() or not ascii
