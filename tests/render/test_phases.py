"""Phases of a round: their order, what each may tell, and the words for it."""

from dataclasses import replace
from itertools import pairwise

import pytest

from specviz.core.events import Candidate, Drafted, Raw, Round, Settings
from specviz.render.explanations import explain, timing, title
from specviz.render.glyphs import ASCII, UNICODE
from specviz.render.phases import (
    WAITING,
    Reveal,
    explain_phase,
    focus_row,
    headline,
    mark_of,
    partial_reveal,
    phases,
    row_stage,
    times_so_far,
    without_correction,
)
from tests.builders import data_of, id_of, make_drafted, make_emitted, make_round
from tests.render.test_explanations import GREEDY, RAW, example

WHOLE = ("✓✓✗·", "✗", "✗··", "✓✓✓", "✓", "", "✓––", "✓✓–")


def reveal(drafted: int, verified: bool = False, decided: int = 0, last: bool = False) -> Reveal:
    return Reveal(drafted, verified, decided, last)


def test_a_rejection_goes_draft_by_draft_then_the_pass_the_tests_and_the_correction() -> None:
    assert phases(make_round(verdicts="✓✗·")) == (
        reveal(1),
        reveal(2),
        reveal(3),
        reveal(3, True),
        reveal(3, True, 1),
        reveal(3, True, 2),
        reveal(3, True, 2, True),
    )


def test_a_full_acceptance_ends_with_its_bonus() -> None:
    assert phases(make_round(verdicts="✓✓"))[-3:] == (reveal(2, True, 1), reveal(2, True, 2), reveal(2, True, 2, True))


def test_a_plain_round_is_the_pass_and_its_token() -> None:
    assert phases(make_round(verdicts="")) == (reveal(0, True), reveal(0, True, 0, True))


def test_a_cut_round_is_whole_with_its_last_acceptance() -> None:
    assert phases(make_round(verdicts="✓✓–")) == (
        reveal(1),
        reveal(2),
        reveal(3),
        reveal(3, True),
        reveal(3, True, 1),
        reveal(3, True, 2, True),
    )


@pytest.mark.parametrize("verdicts", WHOLE)
def test_phases_never_go_back_and_only_the_last_is_whole(verdicts: str) -> None:
    steps = phases(make_round(verdicts=verdicts))
    assert [step.last for step in steps] == [False] * (len(steps) - 1) + [True]
    assert len(set(steps)) == len(steps)
    for before, after in pairwise(steps):
        assert before.drafted <= after.drafted and before.verified <= after.verified and before.decided <= after.decided
    assert partial_reveal(steps[-1]) is None and all(partial_reveal(step) is step for step in steps[:-1])


def test_the_focus_is_the_row_a_phase_is_about() -> None:
    def rows(verdicts: str) -> list[int]:
        made = make_round(verdicts=verdicts)
        return [focus_row(made, step) for step in phases(made)]

    assert rows("✓✓✗·") == [0, 1, 2, 3, 0, 0, 1, 2, 4]
    assert rows("✓✓") == [0, 1, 0, 0, 1, 2]
    assert rows("✓––") == [0, 1, 2, 0, 0]
    assert rows("") == [0, 0]
    assert focus_row(make_round(verdicts="✓✓✗·"), None) == 2


def test_how_much_of_each_row_is_known() -> None:
    made = make_round(verdicts="✓✗·")
    known = [[row_stage(made, step, row)[:2] for row in range(4)] for step in phases(made)]
    assert known == [
        ["dr", "hi", "hi", "hi"],
        ["dr", "dr", "hi", "hi"],
        ["dr", "dr", "dr", "hi"],
        ["sc", "sc", "sc", "hi"],
        ["de", "sc", "sc", "hi"],
        ["de", "de", "de", "hi"],
        ["de", "de", "de", "de"],
    ]
    assert row_stage(made, None, 3) == "decided"
    accepted = make_round(verdicts="✓✓")
    assert [row_stage(accepted, reveal(2, True, 1), row) for row in range(3)] == ["decided", "scored", "hidden"]


def test_headlines() -> None:
    made = example()
    assert [headline(made, step) for step in phases(made)] == [
        "Round 37 · drafting 1 of 4",
        "Round 37 · drafting 2 of 4",
        "Round 37 · drafting 3 of 4",
        "Round 37 · drafting 4 of 4",
        "Round 37 · the target scores all 4 in one pass",
        "Round 37 · test 1 of 4: accepted",
        "Round 37 · test 2 of 4: accepted",
        "Round 37 · test 3 of 4: rejected",
        title(made),
    ]
    assert headline(make_round(5, verdicts=""), reveal(0, True)) == "Round 5 · plain: the target alone"
    assert headline(make_round(5, verdicts="✓"), reveal(1, True)) == "Round 5 · the target scores the draft in one pass"
    cut = make_round(6, verdicts="✓–")
    assert headline(cut, phases(cut)[-1]) == title(cut)
    assert headline(made, None) == title(made)


def test_a_draft_says_how_it_was_drawn_and_nothing_of_the_target() -> None:
    assert explain_phase(example(), reveal(3)) == (
        "␣a drafted: drawn from q with probability .220, at u .50\n"
        "draft 3 of 4, rank 2 in q; the target has not seen it yet"
    )
    assert explain_phase(example(), reveal(3), row=0).startswith("␣is drafted: drawn from q with probability .412")


def test_greedy_and_one_hot_drafts_are_not_called_drawn() -> None:
    drafted = make_drafted(" a", q=1.0, p=1.0, raw=RAW)
    cold = Settings(k=1, temperature=0.0, draft_temperature=0.0)
    assert explain_phase(make_round(drafted=[drafted], settings=cold), reveal(1)) == (
        "␣a drafted: greedy, the draft's first choice, raw q .220\n"
        "draft 1 of 1, rank 1 in q; the target has not seen it yet"
    )
    sure = make_round(drafted=[make_drafted(" a", q=1.0, p=0.5)])
    assert explain_phase(sure, reveal(1)).startswith("␣a drafted: q puts all its weight on it\n")


def test_the_pass_of_the_target_names_its_size_and_time() -> None:
    assert explain_phase(example(), reveal(4, True)) == (
        "one forward pass of the target over 5 tokens gave p for each, in 7.1 ms\n"
        "a draft is accepted if its u falls below min(1, p/q)"
    )
    assert explain_phase(make_round(verdicts=""), reveal(0, True)) == (
        "one forward pass of the target over one token gave p for the next, in 7.1 ms\nnothing was drafted: K is 0"
    )


@pytest.mark.parametrize(
    ("settings", "condition"),
    [
        (GREEDY, "a draft is accepted if it is the target's first choice"),
        (Settings(k=1, rule="equality"), "a draft is accepted if the target's own draw gives the same token"),
        (Settings(k=1, rule="typical"), "the rule typical decides on each"),
    ],
)
def test_each_rule_says_what_accepts(settings: Settings, condition: str) -> None:
    assert explain_phase(make_round(verdicts="✓", settings=settings), reveal(1, True)).endswith(f"\n{condition}")


def test_a_token_that_waits_shows_what_the_test_will_compare() -> None:
    assert explain_phase(example(), reveal(4, True, 1), row=2) == "␣a waits for its test: p .031, q .220"


def test_a_verdict_is_explained_without_the_correction() -> None:
    made = example()
    assert explain_phase(made, reveal(4, True, 2)) == explain(made, 1)
    assert explain_phase(made, reveal(4, True, 3)) == (
        "␣a rejected: u .77 ≥ min(1, .031/.220) = .14\ndropped untested after it: 1 draft"
    )
    assert explain_phase(make_round(verdicts="✗··"), reveal(3, True, 1)).endswith(
        "\ndropped untested after it: 2 drafts"
    )
    assert "\n" not in explain_phase(make_round(verdicts="✓✗"), reveal(2, True, 2))
    assert explain_phase(made, phases(made)[-1]) == explain(made, 4)
    cut = make_round(verdicts="✓–")
    assert explain_phase(cut, phases(cut)[-1]) == explain(cut, 0)


def corrected(settings: Settings, **drafted: object) -> Round:
    """A rejection whose correction, ␣Frog, is also what the test compared with."""
    top = (Candidate(id_of(" Frog"), data_of(" Frog"), 0.9),)
    token: Drafted = make_drafted(" a", "rejected", u=0.31, p_top=top, residual_top=top, **drafted)  # type: ignore[arg-type]
    return make_round(drafted=[token, make_drafted("nd", "untested")], settings=settings)


def test_greedy_and_equality_name_the_token_of_the_target_only_at_the_end() -> None:
    greedy = corrected(GREEDY, q=1.0, p=0.0, accept_prob=0.0)
    assert explain_phase(greedy, reveal(2, True, 1)).startswith(
        "␣a rejected: greedy, and the target's first choice is another token"
    )
    assert "␣Frog" in explain_phase(greedy, None)
    equality = corrected(Settings(k=2, rule="equality"), accept_prob=None, target_sample=id_of(" Frog"))
    assert explain_phase(equality, reveal(2, True, 1)).startswith(
        "␣a rejected: the target's own draw at u .31 was another"
    )
    assert "␣Frog" in explain_phase(equality, None)


def test_a_round_without_its_correction_has_no_trace_of_it() -> None:
    made = without_correction(corrected(Settings(k=2), target_sample=id_of(" Frog")))
    assert made.emitted == ()
    assert made.drafted[0].p_top == made.drafted[0].residual_top == ()
    assert made.drafted[0].target_sample is None
    assert " Frog" not in repr(made)
    bonus = make_round(verdicts="✓✓")
    assert without_correction(bonus).emitted == bonus.emitted[:2]


def test_times_come_with_what_they_measure() -> None:
    made = example()
    assert times_so_far(made, reveal(2)) == "", "the time of four drafts is not known at the second"
    assert times_so_far(made, reveal(4)) == "draft 4 × 0.95 ms"
    assert times_so_far(made, reveal(4, True, 2)) == "draft 4 × 0.95 ms · verify 7.1 ms"
    assert times_so_far(made, reveal(4, True, 3, True)) == times_so_far(made, None) == timing(made)
    assert times_so_far(made, reveal(4, True), ASCII) == "draft 4 x 0.95 ms | verify 7.1 ms"


@pytest.mark.parametrize("verdicts", WHOLE)
def test_ascii_phases_hold_nothing_else(verdicts: str) -> None:
    tokens = [" é", "漢", "\n", "x"][: len(verdicts)]
    raw = Raw(0.1, 0.2, 0.3, 1.0, 1.0, (), ())
    for settings in (Settings(), Settings(temperature=0.0, draft_temperature=0.0), Settings(rule="equality")):
        made = make_round(verdicts=verdicts, tokens=tokens, last="ü", settings=settings)
        made = replace(made, drafted=tuple(replace(d, raw=raw) for d in made.drafted))
        for step in phases(made):
            assert headline(made, step, ASCII).isascii()
            assert all(explain_phase(made, step, ASCII, row).isascii() for row in range(made.k + 1))


def test_hostile_tokens_are_named_by_visible_cells() -> None:
    made = make_round(drafted=[make_drafted(b"\x1b[2J" + b"x" * 200)], emitted=[make_emitted("a", "accepted")] * 2)
    for step in phases(made)[:-1]:
        for row in range(2):
            said = explain_phase(made, step, row=row)
            assert "\x1b" not in said and max(map(len, said.split("\n"))) < 100


def test_the_sign_of_a_waiting_token_is_no_other_sign() -> None:
    for repertoire in (UNICODE, ASCII):
        assert mark_of(WAITING, repertoire) not in repertoire.marks.values()
        assert mark_of("accepted", repertoire) == repertoire.mark("accepted")
