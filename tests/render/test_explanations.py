"""Numbers and sentences of the round panel, word by word."""

import dataclasses

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specviz.core.events import Candidate, End, Raw, Round, Settings, Timing
from specviz.render.explanations import default_row, end_text, explain, timing, title
from specviz.render.glyphs import ASCII, SIGNS, UNICODE
from specviz.render.numbers import compact_prob, distinguishing_digits, milliseconds, pluralised, prob, ratio
from tests.builders import data_of, id_of, known, make_drafted, make_emitted, make_round

GREEDY = Settings(k=1, temperature=0.0)
RAW = Raw(p=0.031, q=0.22, overlap=0.4, entropy_p=1.0, entropy_q=1.0, p_top=(), q_top=())


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.412, ".412"),
        (0.4, ".400"),
        (0.0004, "4e-4"),
        (0.0009, "9e-4"),
        (0.00099, "<.001"),
        (0.001, ".001"),
        (3.2e-12, "3e-12"),
        (0.001, ".001"),
        (0.9996, ">.999"),
        (0.0, ".000"),
        (1.0, "1.00"),
        (None, "–"),
    ],
)
def test_probabilities_have_fixed_digits_and_honest_ends(value: float | None, text: str) -> None:
    assert prob(value) == text


@pytest.mark.parametrize(
    ("p", "q", "text"),
    [
        (0.53, 0.412, "1.29"),
        (0.031, 0.22, ".14"),
        (0.0001, 0.9, "<.01"),
        (0.9989, 1.0, ">.99"),
        (0.5, 0.5, "1.00"),
        (0.5, 0.04, "12.5"),
        (0.9, 0.001, ">99"),
        (0.0, 0.5, ".00"),
        (0.5, 0.0, "–"),
    ],
)
def test_ratios_take_at_most_four_cells(p: float, q: float, text: str) -> None:
    assert ratio(p, q) == text
    assert len(ratio(p, q)) <= 4


def test_two_numbers_are_written_with_the_digits_that_tell_them_apart() -> None:
    assert distinguishing_digits(0.77, 0.14) == (".77", ".14")
    assert distinguishing_digits(0.31, 1.0) == (".31", "1")
    assert distinguishing_digits(0.3142, 0.3138) == (".3142", ".3138")
    assert distinguishing_digits(0.25, 0.25) == (".25", ".25")


@given(st.floats(0, 1), st.floats(0, 1))
def test_telling_apart_keeps_the_order(a: float, b: float) -> None:
    if a < b:
        low, high = (float(text.strip("<>")) for text in distinguishing_digits(a, b))
        assert low <= high


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.95, "0.95 ms"), (0.4, "0.4 ms"), (7.1, "7.1 ms"), (132.4, "132 ms"), (0.001, "<0.01 ms"), (0.0, "0.0 ms")],
)
def test_times(value: float, text: str) -> None:
    assert milliseconds(value) == text


def test_counts_and_short_numbers() -> None:
    assert (pluralised(1, "token"), pluralised(3, "tokens"[:-1])) == ("1 token", "3 tokens")
    assert (compact_prob(0.0), compact_prob(1.0), compact_prob(0.415)) == ("0", "1", ".41")


def example() -> Round:
    """The round drawn in the design."""
    drafted = [
        make_drafted(" is", q=0.412, p=0.53, u=0.31, overlap=0.82),
        make_drafted(" Mr.", q=0.301, p=0.27, u=0.22, overlap=0.77),
        make_drafted(" a", "rejected", q=0.22, p=0.031, u=0.77, overlap=0.38),
        make_drafted("nd", "untested", q=0.51, p=0.466, u=0.1, overlap=0.88),
    ]
    return make_round(37, 90, drafted=drafted, last=" Frog")


def test_a_rejection_is_explained_with_its_numbers() -> None:
    assert explain(example(), 2) == (
        "␣a rejected: u .77 ≥ min(1, .031/.220) = .14\n↳ ␣Frog drawn from max(0, p − q) with probability .41"
    )


def test_an_acceptance_says_whether_chance_played() -> None:
    assert explain(example(), 0) == ("␣is accepted: u .31 < min(1, .530/.412) = 1\np ≥ q here: always accepted")
    assert explain(example(), 1) == (
        "␣Mr. accepted: u .22 < min(1, .270/.301) = .90\np < q here: accepted with probability .90, and u fell below it"
    )


def test_an_untested_token_was_never_judged() -> None:
    assert explain(example(), 3) == (
        "nd untested: the rejection at 3 dropped it before its test\nscored on the dropped prefix: p .466, q .510"
    )


def test_the_last_token_says_where_it_came_from() -> None:
    assert explain(example(), 4) == (
        "↳ ␣Frog drawn from max(0, p − q) with probability .41\nin place of ␣a; p alone gave it .29"
    )
    assert (
        explain(make_round(verdicts="✓✓"), 2)
        == "+ ␣Frog bonus: all 2 drafts were accepted\ndrawn from p with probability .29"
    )
    assert (
        explain(make_round(verdicts="✓"), 1)
        == "+ ␣Frog bonus: the one draft was accepted\ndrawn from p with probability .29"
    )
    assert explain(make_round(verdicts=""), 0) == "= ␣Frog plain: K is 0\ndrawn from p with probability .29"
    assert explain(make_round(verdicts="", plain_reason="no_match"), 0) == (
        "= ␣Frog plain: no n-gram matches\ndrawn from p with probability .29"
    )


def test_a_cut_round_has_no_further_token() -> None:
    cut = make_round(verdicts="✓–")
    assert default_row(cut) == 0
    assert explain(cut, 1) == (
        f"{'␣' + known(cut.drafted[1].bytes).decode().strip()} ignored: the text ended before it (end of text), "
        "so its test does not count"
    )
    assert explain(cut, 2) == "no further token: the text ended inside the draft (end of text)"


def test_greedy_names_the_raw_probabilities_and_no_ratio() -> None:
    top = (Candidate(id_of(" Frog"), data_of(" Frog"), 1.0),)
    rejected = make_drafted(" a", "rejected", q=1.0, p=0.0, accept_prob=0.0, raw=RAW, p_top=top)
    text = explain(make_round(drafted=[rejected], settings=GREEDY), 0)
    assert text == (
        "␣a rejected: greedy, and the target's first choice is ␣Frog\n"
        "raw p .031, raw q .220 (at temperature 1, no top-k or top-p)"
    )
    accepted = make_drafted(" a", q=1.0, p=1.0, raw=RAW)
    text = explain(make_round(drafted=[accepted], settings=GREEDY), 0)
    assert text.startswith("␣a accepted: greedy, and it is the target's first choice\nraw p .031")


def test_a_residual_that_fell_back_to_p_is_said_so() -> None:
    drafted = make_drafted(" a", "rejected", q=0.5, p=0.49, u=0.99)
    drafted = dataclasses.replace(drafted, detail={"residual_is_p": True})
    emitted = [make_emitted(" b", "resampled", p=0.49, residual=0.49)]
    text = explain(make_round(drafted=[drafted], emitted=emitted), 0)
    assert text.endswith("\n↳ ␣b drawn from p itself, with probability .49: p never exceeds q")


def test_the_equality_rule_names_what_the_target_drew() -> None:
    drafted = make_drafted(" a", "rejected", accept_prob=None, target_sample=id_of(" river"))
    text = explain(make_round(drafted=[drafted], settings=Settings(k=1, rule="equality")), 0)
    assert text == "␣a rejected: the target's own draw at u .31 was ␣river"
    emitted = [make_emitted(" river", "resampled", p=0.49, residual=None)]
    round_ = make_round(drafted=[drafted], emitted=emitted, settings=Settings(k=1, rule="equality"))
    round_ = dataclasses.replace(round_, last_u=0.31)
    assert explain(round_, 1) == "↳ ␣river in place of ␣a\nthe target's own draw at u .31, with probability .49"


def test_titles() -> None:
    assert title(example()) == "Round 37 · K 4 · 2 of 3 tested accepted · 3 tokens"
    assert title(make_round(5, verdicts="")) == "Round 5 · plain: K is 0 · 1 token"
    assert title(make_round(6, verdicts="✓✓", settings=Settings(k=4))) == (
        "Round 6 · K 2 of 4 · 2 of 2 tested accepted · 3 tokens"
    )
    assert title(make_round(7, verdicts="✓–")) == "Round 7 · K 2 · 1 of 1 tested accepted · 1 token · end of text"


def test_the_timing_line() -> None:
    assert timing(example()) == "draft 4 × 0.95 ms · verify 7.1 ms · decide 0.4 ms"
    plain = dataclasses.replace(make_round(verdicts=""), timing=Timing(0, 7.1, 0.4, 0, 7.5))
    assert timing(plain) == "no draft · verify 7.1 ms · decide 0.4 ms"


def test_an_ending_shows_model_text_as_visible_cells() -> None:
    assert end_text(End("stop_string", "[/x]\x1b[2J")) == "stop string: [/x]␛[2J"
    assert end_text(End("user")) == "stopped"


def test_the_default_row_is_the_rejected_one() -> None:
    assert default_row(example()) == 2
    assert default_row(make_round(verdicts="✓✓")) == 2
    assert default_row(make_round(verdicts="")) == 0


def test_ascii_sentences_hold_nothing_else() -> None:
    for row in range(5):
        assert explain(example(), row, ASCII).isascii()
    assert title(example(), ASCII).isascii()
    assert timing(example(), ASCII).isascii()


def test_every_kind_has_its_own_sign_and_attribute_or_is_dim() -> None:
    for repertoire in (UNICODE, ASCII):
        marks = [repertoire.mark(sign.kind) for sign in SIGNS if sign.kind != "prompt"]
        assert len(set(marks)) == len(marks) == 7
        assert all(len(mark) == 1 for mark in marks)
    attributes = {sign.kind: sign.attribute for sign in SIGNS}
    told = [attributes[kind] for kind in ("accepted", "rejected", "resampled", "bonus", "untested", "plain")]
    assert len(set(told)) == len(told)


def test_a_last_token_that_fits_no_draft_is_still_explained() -> None:
    round_ = make_round(verdicts="✓✓")
    odd = dataclasses.replace(round_, emitted=(*round_.emitted[:-1], make_emitted(" b", "resampled", p=0.4)))
    assert explain(odd, odd.k).startswith("↳ ␣b in place of 0 drafts")
