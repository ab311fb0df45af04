"""Rejections, the least overlap and queries, over rounds written by hand."""

from dataclasses import replace

import pytest

from specviz.breakpoints.monitor import parse_breakpoint
from specviz.core.events import Round, Settings
from specviz.stats.draft_queries import adjacent_rejection, next_lowest_overlap
from specviz.ui.run.jumps import NOWHERE, Hit, WorstFirst, hits, parse_query
from tests.builders import known, make_drafted, make_round, make_run

ROUNDS = [
    make_round(1, verdicts="✓✗·", tokens=[" a", " Mr", " x"], last=" the"),
    make_round(2, verdicts="✓✓", tokens=[" big", " frog"], last="s"),
    make_round(3, verdicts="", last=" sat"),
    make_round(4, verdicts="✗·", tokens=[" on", " The"], last=" in"),
    make_round(5, verdicts="✓✓✓✗", tokens=[" a", " b", " c", " d"], last=" e"),
]
REJECTIONS = [(1, 1), (4, 0), (5, 3)]


def found(query: str, rounds: list[Round] = ROUNDS, end_ids: tuple[int, ...] = ()) -> list[tuple[int, int]]:
    return [hit.round_row for hit in hits(rounds, parse_query(query), end_ids)]


def notes(query: str, rounds: list[Round]) -> list[str]:
    return [hit.note for hit in hits(rounds, parse_query(query))]


# -- rejections


def test_the_next_rejection_from_anywhere() -> None:
    places = [NOWHERE, *((index, row) for index, round in enumerate(ROUNDS, 1) for row in range(round.k + 1))]
    for place in places:
        assert adjacent_rejection(ROUNDS, place, 1) == next((r for r in REJECTIONS if r > place), None), place
        before = [r for r in REJECTIONS if r < place]
        assert adjacent_rejection(ROUNDS, place, -1) == (before[-1] if before else None), place


def test_rejections_one_after_the_other_and_back() -> None:
    place, walked = NOWHERE, []
    while there := adjacent_rejection(ROUNDS, place, 1):
        walked.append(place := there)
    assert walked == REJECTIONS
    assert adjacent_rejection(ROUNDS, place, -1) == (4, 0)
    assert adjacent_rejection([], (0, 0), 1) is None
    assert adjacent_rejection([], (0, 0), -1) is None
    assert adjacent_rejection(ROUNDS[1:3], (0, 0), 1) is None


# -- overlap


def overlapping(*rounds: list[float]) -> list[Round]:
    """Rounds whose drafts are all accepted, with these overlaps."""
    return [
        make_round(index, drafted=[make_drafted(overlap=overlap) for overlap in overlaps])
        for index, overlaps in enumerate(rounds, start=1)
    ]


def test_overlaps_from_the_worst_on_and_round_again() -> None:
    rounds = overlapping([0.5, 0.2], [], [0.2, 0.9, 0.1])
    ranked = [(3, 2), (1, 1), (3, 0), (1, 0), (3, 1)]
    assert next_lowest_overlap(rounds, NOWHERE) == ranked[0]
    for place, after in zip(ranked, [*ranked[1:], ranked[0]], strict=True):
        assert next_lowest_overlap(rounds, place) == after, place
    assert next_lowest_overlap(rounds, (3, 3)) == ranked[0], "the bonus token was not tested"


def test_only_what_was_tested_is_ranked() -> None:
    low = replace(make_drafted(verdict="untested"), overlap=0.01)
    rounds = [make_round(1, drafted=[make_drafted(verdict="rejected", overlap=0.4), low])]
    assert next_lowest_overlap(rounds, NOWHERE) == next_lowest_overlap(rounds, (1, 0)) == (1, 0)
    assert next_lowest_overlap([make_round(1, verdicts="")], NOWHERE) is None
    assert next_lowest_overlap([], NOWHERE) is None


def test_the_walk_begins_anew_once_the_cursor_was_elsewhere() -> None:
    rounds = overlapping([0.5, 0.2], [0.3, 0.1])
    walk = WorstFirst()
    assert walk.next(rounds, 1, 0) == (2, 1), "from a tested position, yet the worst first"
    assert walk.next(rounds, 2, 1) == (1, 1)
    assert walk.next(rounds, 1, 1) == (2, 0)
    assert walk.next(rounds, 1, 1) == (2, 1), "the cursor was moved"
    assert walk.next([], 2, 1) is None


# -- queries


def test_without_a_query_all_rejections() -> None:
    assert found("") == REJECTIONS
    (first, *_) = hits(ROUNDS, "")
    rejected = ROUNDS[0].drafted[1]
    assert first == Hit(1, 1, b" Mr", "rejected", "u .77 ≥ .14, overlap .38", True, rejected.q, rejected.p)


def test_why_a_token_was_rejected_under_other_rules() -> None:
    rejected = make_round(1, verdicts="✗·")
    by_rule = [
        replace(rejected, settings=settings) for settings in (Settings(temperature=0), Settings(rule="equality"))
    ]
    assert notes("", by_rule) == ["greedy", "equality"]
    chance = replace(rejected.drafted[0], accept_prob=None)
    assert notes("", [replace(rejected, drafted=(chance,))]) == ["exact"]


def test_text_in_drafted_and_emitted_tokens_whatever_its_case() -> None:
    assert found("the") == [(1, 3), (4, 1)]
    assert found("THE") == found("the")
    assert found(" m") == found("␣m") == [(1, 1)]
    assert found("s") == [(2, 2), (3, 0)]
    assert found("frogs") == [], "of one token"
    assert [hit.kind for hit in hits(ROUNDS, "the")] == ["resampled", "untested"]
    assert [hit.note for hit in hits(ROUNDS, "the")] == ["resampled", "untested"]
    (frog,) = hits(ROUNDS, "frog")
    assert (frog.round_row, frog.bytes, frog.kind) == ((2, 1), b" frog", "accepted"), (
        "drafted and emitted, and listed once"
    )
    (last,) = [hit for hit in hits(ROUNDS, "the") if hit.kind == "resampled"]
    emitted = ROUNDS[last.round - 1].emitted[-1]
    assert (last.drafted, last.q, last.p) == (False, emitted.q, emitted.p)


def test_text_as_it_is_shown() -> None:
    rounds = [make_round(1, verdicts="✓✓", tokens=[b"\n", b"\xe6\xbc"], last="\x1b[2J")]
    assert found("⏎", rounds) == [(1, 0)]
    assert found("E6", rounds) == [(1, 1)]
    assert found("␛", rounds) == [(1, 2)]


def test_conditions_give_their_rows() -> None:
    assert found("N<=1") == [(3, 0), (4, 0)], "a round stands for itself by the row worth explaining"
    assert found("N<=2") == [(1, 1), (3, 0), (4, 0)]
    assert found("reject<=2") == [(1, 1), (4, 0)]
    assert found("overlap<.5") == REJECTIONS
    assert found("p/q<.2") == REJECTIONS
    assert found("streak>=1") == [(2, 2)]
    assert found(f"token={ROUNDS[0].drafted[0].id}") == [(1, 0), (5, 0)]
    assert found("text~^ [Tt]he") == [(1, 3), (4, 1)]
    assert found("text~frogs") == [(2, 2)], "across tokens, at the one that completes it"
    assert found("end", end_ids=(known(ROUNDS[2].emitted[0].id),)) == [(3, 0)]
    assert found("end") == []
    assert notes("overlap<.5", ROUNDS)[0] == "overlap .38 < .5"
    assert notes("N<=1", ROUNDS) == ["N 1 ≤ 1"] * 2


def test_rows_of_a_condition_are_in_order_and_exist() -> None:
    across = make_round(1, verdicts="✓✓", tokens=["ab", "c"], last="ab")
    assert found("text~ab|bc", [across]) == [(1, 0), (1, 1), (1, 2)]
    cut = make_round(2, verdicts="✓–", tokens=[" a", " b"])
    empty = make_round(3, drafted=[], emitted=[])
    assert found("N<=1", [across, cut, empty]) == [(2, 0)]


def test_an_expression_that_takes_too_long_is_a_hit_that_says_so() -> None:
    rounds = [make_round(index, verdicts="", last="a" * 200 + "b") for index in range(1, 40)]
    found_ = hits(rounds, parse_query("text~(a|aa)+$"))
    assert [hit.note for hit in found_ if "takes too long" in hit.note] == [hit.note for hit in found_]
    assert len(found_) == 1


def test_what_a_query_means() -> None:
    assert parse_query("overlap < .3") == parse_breakpoint("overlap<0.3")
    assert parse_query("end") == parse_breakpoint("end")
    for text in ("", "overlap", "the end", "n=3", " Mr."):
        assert parse_query(text) == text
    for wrong in ("overlap<", "text~(", "token=x"):
        with pytest.raises(ValueError, match=r"\.$"):
            parse_query(wrong)


def test_a_search_looks_at_thousands_of_rounds() -> None:
    rounds = make_run(100, 8, 2) * 50
    listed = hits(rounds, "the")
    assert len(listed) == 50 * len(hits(rounds[:100], "the"))
    assert all(b"the" in known(hit.bytes).lower() for hit in listed)
    assert [hit.round_row for hit in listed] == sorted(hit.round_row for hit in listed)
