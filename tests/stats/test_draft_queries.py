"""Drafted tokens as rows and what rejections cost, by hand."""

from dataclasses import replace
from typing import Any

import pytest

from specviz.core.events import Drafted, Round
from specviz.stats.draft_queries import DraftedRow, RejectedId, overlap_histogram
from specviz.stats.draft_table import expected_tokens_lost
from specviz.trace.jsonl import read
from tests.recordings import SMALL
from tests.rounds import BASE, round_of
from tests.stats.drafted_rows import drafted_rows, rejected_ids


def with_tokens(round_: Round, *changes: dict[str, Any]) -> Round:
    drafted: list[Drafted] = [replace(d, **c) for d, c in zip(round_.drafted, changes, strict=True)]
    return replace(round_, drafted=tuple(drafted))


def chances(verdicts: str, *accept: float | None, rule: str = "exact", p: float = 0.5) -> Round:
    round_ = round_of(verdicts, settings=replace(BASE, rule=rule))
    return with_tokens(round_, *({"accept_prob": a, "p": p} for a in accept))


# -- tokens lost


@pytest.mark.parametrize(
    ("round_", "lost"),
    [
        (chances("ruuu", 0.1, 0.5, 0.5, 1.0), 1 + 0.5 + 0.25 + 0.25),
        (chances("aruu", 1.0, 0.1, 0.5, 0.25), 1 + 0.5 + 0.125),
        (chances("aaar", 1.0, 1.0, 1.0, 0.1), 1.0),
        (chances("ruuu", 0.1, 1.0, 1.0, 1.0), 4.0),
        (chances("ruuu", 0.1, 0.0, 1.0, 1.0), 1.0),
        (chances("aaaa", 1.0, 1.0, 1.0, 1.0), None),
        (chances("aaii", 1.0, 1.0, 1.0, 1.0), None),
        (round_of(""), None),
    ],
)
def test_tokens_lost_by_a_rejection(round_: Round, lost: float | None) -> None:
    assert expected_tokens_lost(round_) == (lost if lost is None else pytest.approx(lost))


def test_what_was_lost_is_what_an_accepted_token_would_have_brought() -> None:
    """The definition itself: E[N | token i accepted] - i, over all ways the tests behind it may go."""
    behind = (0.3, 0.6, 0.9)
    ways = [(0.7, 0), (0.3 * 0.4, 1), (0.3 * 0.6 * 0.1, 2), (0.3 * 0.6 * 0.9, 3)]
    assert sum(chance for chance, _ in ways) == pytest.approx(1)
    gained = sum(chance * (2 + more) for chance, more in ways)  # the token itself, what follows, the last one
    assert expected_tokens_lost(chances("ruuu", 0.1, *behind)) == pytest.approx(gained - 1)


def test_under_equality_a_token_is_accepted_with_the_probability_the_target_gives_it() -> None:
    assert expected_tokens_lost(chances("ruu", None, None, None, rule="equality", p=0.25)) == 1 + 0.25 + 0.0625


def test_where_the_rule_gives_no_chance_nothing_can_be_said() -> None:
    assert expected_tokens_lost(chances("ru", None, None, rule="typical")) is None
    assert expected_tokens_lost(chances("ar", None, None, rule="typical")) == 1.0
    assert expected_tokens_lost(chances("ruu", 0.0, 1.0, 0.0, rule="typical")) == 2.0


# -- rows


def test_a_row_for_every_drafted_token() -> None:
    rounds = [round_of("", 1), chances("aru", 1.0, 0.25, 0.5), round_of("aiii", 3)]
    rows = drafted_rows([rounds[0], replace(rounds[1], index=2), rounds[2]])
    assert [(row.round, row.row, row.verdict, row.lost) for row in rows] == [
        (2, 0, "accepted", None),
        (2, 1, "rejected", 1.5),
        (2, 2, "untested", None),
        (3, 0, "accepted", None),
        (3, 1, "ignored", None),
        (3, 2, "ignored", None),
        (3, 3, "ignored", None),
    ]


def test_a_row_holds_the_numbers_of_its_test() -> None:
    token = {"id": 5, "bytes": b"\xe6", "p": 0.1, "q": 0.4, "u": 0.3, "accept_prob": 0.25, "overlap": 0.6}
    assert drafted_rows([with_tokens(round_of("r", 7), token)]) == [
        DraftedRow(7, 0, 5, b"\xe6", "rejected", 0.1, 0.4, 0.25, 0.6, 0.3, 0.25, 1.0)
    ]


def test_a_ratio_needs_a_q() -> None:
    (row,) = drafted_rows([with_tokens(round_of("a"), {"p": 0.5, "q": 0.0})])
    assert row.ratio is None


def test_nothing_drafted_no_rows() -> None:
    assert drafted_rows([]) == drafted_rows([round_of("")]) == []
    assert rejected_ids([round_of("aaaa")]) == []


# -- ids


def test_the_ids_rejected_most_often_come_first_then_the_dearest() -> None:
    def drafting(verdicts: str, *ids: int) -> Round:
        return with_tokens(round_of(verdicts), *({"id": i, "bytes": bytes([i]), "accept_prob": 0.5} for i in ids))

    rounds = [
        drafting("ar", 1, 2),
        drafting("ar", 1, 2),
        drafting("ruu", 4, 2, 1),
        drafting("ru", 3, 3),
        drafting("ar", 4, 6),
        drafting("r", 5),
        drafting("aii", 1, 2, 4),
    ]
    assert rejected_ids(rounds) == [
        RejectedId(2, b"\x02", drafted=4, tested=2, rejected=2, lost=2.0),
        RejectedId(4, b"\x04", drafted=3, tested=2, rejected=1, lost=1.75),
        RejectedId(3, b"\x03", drafted=2, tested=1, rejected=1, lost=1.5),
        RejectedId(5, b"\x05", drafted=1, tested=1, rejected=1, lost=1.0),
        RejectedId(6, b"\x06", drafted=1, tested=1, rejected=1, lost=1.0),
    ]


def test_a_rejection_of_unknown_cost_is_counted_all_the_same() -> None:
    (found,) = rejected_ids([chances("ru", None, None, rule="typical")])
    assert (found.rejected, found.lost) == (1, 0.0)


# -- overlaps


def test_overlaps_of_tested_positions() -> None:
    rounds = [
        round_of("aru", overlaps=[0.0, 0.099, 0.5]),  # the last is untested
        round_of("aai", overlaps=[0.1, 0.6, 0.5]),  # the last is ignored
        round_of("aa", overlaps=[0.999, 1.0]),
        round_of("a", overlaps=[1.0004]),  # a sum that was rounded
        round_of(""),
    ]
    assert overlap_histogram(rounds) == (2, 1, 0, 0, 0, 0, 1, 0, 0, 3)
    assert overlap_histogram([]) == (0,) * 10


def test_the_small_trace() -> None:
    rounds = read(SMALL).rounds
    assert [expected_tokens_lost(r) for r in rounds] == [None, 1.5, None, 1.75, 1.0, None]
    assert rejected_ids(rounds) == [
        RejectedId(1, b" a", drafted=5, tested=4, rejected=2, lost=2.75),
        RejectedId(2, b" cat", drafted=7, tested=4, rejected=1, lost=1.5),
    ]
    assert overlap_histogram(rounds) == (0, 0, 1, 0, 0, 0, 4, 0, 4, 2)
    worst = min(drafted_rows(rounds), key=lambda row: row.ratio or 0)
    assert (worst.round, worst.row, worst.ratio, worst.lost) == (4, 0, 0.125, 1.75)
