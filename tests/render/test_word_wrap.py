"""Wrapping and the story: what is on the lines, before any widget draws them."""

from hypothesis import given
from hypothesis import strategies as st

from specviz.core.events import Prompt
from specviz.core.safe_text import width as cells
from specviz.render.glyphs import UNICODE
from specviz.render.phases import WAITING, Reveal, phases
from specviz.render.transcript import Transcript
from specviz.render.transcript_layout import TranscriptView
from specviz.render.word_wrap import Flow, Span, nearest
from tests.builders import make_drafted, make_emitted, make_header, make_round, make_run, make_token

LIKE = Span("", 0, "accepted", 1, 0)
TEXT = st.text(st.sampled_from("ab c 漢é👨\n"), max_size=12)


def shown(flow: Flow) -> list[str]:
    return ["".join(span.text for span in line) for line in (*flow.lines, flow.open)]


def text_of(story: TranscriptView) -> list[str]:
    return ["".join(span.text for span in story.line(y)) for y in range(story.count)]


def story(*rounds: object, prompt: str = "Once", width: int = 60, special: tuple[int, ...] = ()) -> TranscriptView:
    made = TranscriptView(Transcript(make_header(prompt).prompt, frozenset(special)), UNICODE, width)
    for round in rounds:
        made.transcript.append(round)  # type: ignore[arg-type]
    return made


def test_lines_break_at_spaces_and_long_words_anywhere() -> None:
    flow = Flow(10)
    flow.add("one two three abcdefghijklmnop", LIKE)
    assert shown(flow) == ["one two ", "three abcd", "efghijklmn", "op"]


def test_a_word_made_of_tokens_moves_as_one() -> None:
    flow = Flow(10)
    for token in ("one", " lau", "gh", "ing"):
        flow.add(token, LIKE._replace(row=len(token)))
    assert shown(flow) == ["one ", "laughing"]


def test_wide_cells_are_never_split() -> None:
    flow = Flow(5)
    flow.add("漢字漢字", LIKE)
    assert shown(flow) == ["漢字", "漢字"]
    narrow = Flow(1)
    narrow.add("a漢b", LIKE)
    assert shown(narrow) == ["a", "?", "b"]


def test_one_space_gives_way_to_a_break_and_other_spaces_stay() -> None:
    flow = Flow(4)
    flow.add("abcd e", LIKE)
    assert shown(flow) == ["abcd", "e"]
    blanks = Flow(4)
    blanks.add(" " * 10, LIKE)
    assert shown(blanks) == ["    ", "    "]


def test_a_mark_stays_with_its_word() -> None:
    flow = Flow(8)
    flow.add("one two", LIKE)
    flow.add_mark("↳", LIKE, breakable=True)
    flow.add("three", LIKE)
    assert shown(flow) == ["one two", "↳three"]


@given(st.lists(TEXT, max_size=12), st.integers(1, 12))
def test_no_line_is_too_long_and_no_character_is_lost(texts: list[str], width: int) -> None:
    flow = Flow(width)
    for row, text in enumerate(texts):
        flow.add(text, LIKE._replace(row=row))
    lines = (*flow.lines, flow.open)
    assert all(sum(span.width for span in line) <= width for line in lines)
    assert all(span.width == cells(span.text) for line in lines for span in line)
    if width > 1:
        ink = "".join("".join(texts).split())
        assert "".join("".join(shown(flow)).split()) == ink


@given(st.lists(TEXT, min_size=1, max_size=8), st.integers(2, 12), st.integers(0, 7))
def test_writing_on_from_a_place_gives_the_same_lines(texts: list[str], width: int, at: int) -> None:
    whole, first = Flow(width), Flow(width)
    for text in texts[:at]:
        first.add(text, LIKE)
    second = Flow(width, first.state())
    for text in texts[at:]:
        second.add(text, LIKE)
    for text in texts:
        whole.add(text, LIKE)
    assert [*shown(first)[:-1], *shown(second)] == shown(whole)


def test_the_nearest_token_ignores_the_prompt() -> None:
    line = (Span("Once", 4, "prompt", 0, 0), Span(" upon", 5, "accepted", 1, 0), Span("+a", 2, "bonus", 1, 1))
    assert nearest(line, 0) == (1, 0)
    assert nearest(line, 9) == (1, 1)
    assert nearest(line, 50) == (1, 1)
    assert nearest(line[:1], 2) is None


def test_the_text_of_a_round_shows_its_ghosts_before_the_correction() -> None:
    told = story(make_round(verdicts="✓✗·", tokens=[" is", " a", "nd"], last=" Frog"), prompt="He")
    told.show_round(1, None)
    assert text_of(told) == ["He is✗a·nd↳Frog"]
    roles = [(span.text, span.kind, span.role, span.row) for span in told.line(0) if span.round and span.text.strip()]
    assert roles == [
        ("is", "accepted", "text", 0),
        ("✗", "rejected", "ghost-mark", 1),
        ("a", "rejected", "ghost", 1),
        ("·", "untested", "ghost-mark", 2),
        ("nd", "untested", "ghost", 2),
        ("↳", "resampled", "mark", 3),
        ("Frog", "resampled", "text", 3),
    ]


def test_ghosts_are_gone_one_round_later_and_marks_are_the_round_boundaries() -> None:
    rounds = make_run(12, 4, 1)
    told = story(*rounds, width=400)
    told.show_round(12, None)
    marks = [span.round for y in range(told.count) for span in told.line(y) if span.role == "mark"]
    assert marks == list(range(1, 13))
    assert all(span.round == 12 for y in range(told.count) for span in told.line(y) if span.role == "ghost")


def test_looking_back_is_the_text_of_that_round_and_forward_again_restores_it() -> None:
    rounds = make_run(40, 4, 2)
    told = story(*rounds, width=30)
    told.show_round(40, None)
    latest = text_of(told)
    for index in (17, 0, 40):
        told.show_round(index, None)
        alone = story(*rounds[:index], width=30)
        alone.show_round(index, None)
        assert text_of(told) == text_of(alone)
    assert text_of(told) == latest


def test_a_width_come_back_to_is_laid_out_as_if_it_had_never_changed() -> None:
    rounds = make_run(30, 4, 3)
    told = story(*rounds[:10], width=40)
    for width, upto in ((24, 15), (40, 20), (31, 25), (40, 30), (24, 30)):
        told.wrap(width)
        for round in rounds[len(told.transcript.round_texts) : upto]:
            told.transcript.append(round)
        told.show_round(upto, None)
        fresh = story(*rounds[:upto], width=width)
        fresh.show_round(upto, None)
        assert text_of(told) == text_of(fresh), (width, upto)


def test_lines_above_the_reported_change_stay_the_same() -> None:
    rounds = make_run(30, 4, 5)
    told = story(*rounds, width=30)
    before: list[str] = []
    for index in range(31):
        first = told.show_round(index, None)
        now = text_of(told)
        assert now[:first] == before[:first]
        before = now


def test_rewrapping_keeps_the_text() -> None:
    rounds = make_run(30, 4, 5)
    told = story(*rounds, width=30)
    told.wrap(50)
    told.show_round(30, None)
    fresh = story(*rounds, width=50)
    fresh.show_round(30, None)
    assert text_of(told) == text_of(fresh)


def test_a_newline_breaks_in_the_text_and_is_a_sign_in_a_ghost() -> None:
    told = story(
        make_round(verdicts="✓✗", tokens=["a\n", "\n"], last="\n"), make_round(2, verdicts="", last="b"), prompt=""
    )
    told.show_round(1, None)
    assert text_of(told) == ["a⏎", "✗⏎↳⏎"]
    told.show_round(2, None)
    assert text_of(told) == ["a", "↳", "=b"]


def test_a_character_split_over_tokens_appears_once_complete() -> None:
    han = "漢".encode()
    told = story(
        make_round(1, verdicts="✓✗", tokens=[b" " + han[:1], "x"], last=han[1:]),
        make_round(2, verdicts="", last=" end"),
        prompt="a",
    )
    told.show_round(1, None)
    assert text_of(told) == ["a ✗x↳漢"]
    told.show_round(2, None)
    assert text_of(told) == ["a ↳漢=end"]


def test_a_cut_tail_gives_one_replacement_sign_at_the_very_end_only() -> None:
    told = story(make_round(1, verdicts="", last="😀".encode()[:2]), prompt="a")
    told.show_round(1, None)
    assert text_of(told) == ["a="]
    told.transcript.finish()
    told.show_round(1, None)
    assert text_of(told) == ["a=\ufffd"]


def test_a_token_without_cells_shows_its_bytes_under_the_cursor() -> None:
    told = story(make_round(1, verdicts="✓", tokens=["漢".encode()[:1]], last="漢".encode()[1:]), prompt="a")
    told.show_round(1, 0)
    assert text_of(told) == ["a⟨E6⟩+漢"]


def test_special_tokens_are_told_from_text() -> None:
    token = make_token("<|end|>", 7)
    emitted = [make_emitted("<|end|>", "plain", token_id=7)]
    made = TranscriptView(Transcript(Prompt("", (make_token("", 1), token)), frozenset({1, 7})), UNICODE, 60)
    made.transcript.append(make_round(1, drafted=[], emitted=emitted))
    made.show_round(1, None)
    assert text_of(made) == ["[1]<|end|>=<|end|>"]
    assert [span.role for span in made.line(0)] == ["special", "special", "mark", "special"]


def test_ghosts_that_are_half_a_character_show_their_bytes() -> None:
    drafted = [make_drafted("漢".encode()[:2], "rejected")]
    told = story(make_round(1, drafted=drafted, last=" b"), prompt="a")
    told.show_round(1, None)
    assert text_of(told) == ["a✗⟨E6⟩⟨BC⟩↳b"]


def test_phases_tell_the_text_token_by_token() -> None:
    made = make_round(verdicts="✓✗·", tokens=[" is", " a", "nd"], last=" Frog")
    told = story(made, prompt="He")
    seen = []
    for step in phases(made):
        told.show_round(1, None, step)
        seen.append("".join(text_of(told)))
    assert seen == ["He?is", "He?is?a", "He?is?a?nd", "He?is?a?nd", "He is?a?nd", "He is✗a·nd", "He is✗a·nd↳Frog"]


def test_phases_of_bonus_plain_and_cut_rounds() -> None:
    def texts(verdicts: str, tokens: list[str]) -> list[str]:
        made = make_round(verdicts=verdicts, tokens=tokens, last=" end")
        told = story(made, prompt="He")
        lines = []
        for step in phases(made):
            told.show_round(1, None, step)
            lines.append("".join(text_of(told)))
        return lines

    assert texts("✓", [" is"]) == ["He?is", "He?is", "He is", "He is+end"]
    assert texts("", []) == ["He", "He=end"]
    assert texts("✓–", [" is", " a"]) == ["He?is", "He?is?a", "He?is?a", "He is–a"]


def test_ghosts_that_wait_have_a_kind_of_their_own_and_can_be_found() -> None:
    made = make_round(verdicts="✓✗·", tokens=[" is", " a", "nd"], last=" Frog")
    told = story(made, prompt="He")
    told.show_round(1, None, Reveal(2, False, 0, False))
    spans = [(span.text, span.kind, span.role, span.row) for span in told.line(0) if span.round]
    assert spans == [
        ("?", WAITING, "ghost-mark", 0),
        ("is", WAITING, "ghost", 0),
        ("?", WAITING, "ghost-mark", 1),
        ("a", WAITING, "ghost", 1),
    ]
    assert told.find(1, 1) == (0, 0, 5)
    assert told.find(1, 2) is None
    assert told.find(1, 3) is None


def test_the_last_phase_is_the_whole_round_for_every_round() -> None:
    rounds = make_run(40, 4, 2)
    told = story(*rounds, width=30)
    for index, made in enumerate(rounds, start=1):
        told.show_round(index, None, phases(made)[-1])
        last = [told.line(y) for y in range(told.count)]
        told.show_round(index, None)
        assert last == [told.line(y) for y in range(told.count)]


def test_a_ghost_completes_the_character_the_text_ends_in_through_all_phases() -> None:
    han = "漢".encode()
    before = make_round(1, verdicts="", last=b" " + han[:1])
    made = make_round(2, verdicts="✓✗", tokens=[han[1:2], han[2:]], last="字")
    told = story(before, made, prompt="a")
    seen = []
    for step in phases(made):
        told.show_round(2, None, step)
        seen.append("".join(text_of(told)))
    assert seen[:2] == ["a=?⟨BC⟩", "a=?⟨BC⟩?漢"]
    assert seen[3] == "a=?漢"
    assert seen[4] == "a=✗漢"


def test_the_ghosts_of_a_split_character_read_the_same_before_and_behind_a_verdict() -> None:
    han = "漢".encode()
    made = make_round(1, verdicts="✓✗··", tokens=[b" " + han[:1], " b", han[:2], " c"], last=" end")
    told = story(made, prompt="a")
    told.show_round(1, None, Reveal(4, True, 0, False))
    assert text_of(told) == ["a??b?⟨E6⟩⟨BC⟩?c"]
    told.show_round(1, None, Reveal(4, True, 1, False))
    assert text_of(told) == ["a ?b?⟨E6⟩⟨BC⟩?c"]


def test_positions_follow_from_the_tokens_whatever_a_recording_says_of_them() -> None:
    header = make_header("Once upon a")
    transcript = Transcript(header.prompt)
    for index, marks in enumerate(("✓✓✗·", "✗···", "✓✓✓✓"), start=1):
        transcript.append(make_round(index, 7, marks))
    found = [transcript.token_at(position) for position in range(13)]
    rounds = [(1, 0), (1, 1), (1, 4), (2, 4), (3, 0), (3, 1), (3, 2), (3, 3), (3, 4)]
    assert found == [(0, 0), (0, 1), (0, 2), *rounds, None]
