"""What the inspector says about one token, in lines of cells: numbers worked out by hand."""

import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specviz.core.events import Candidate, Drafted, Prompt, Raw, Round, Settings, Top
from specviz.core.safe_text import width
from specviz.render.accept_line import AcceptTest, number_bar, number_line
from specviz.render.cells import Line, beside, padded, wrapped
from specviz.render.glyphs import ASCII, UNICODE, Glyphs
from specviz.render.numbers import signed
from specviz.render.phases import RowStage, without_correction
from specviz.render.token_report import inspector_title
from specviz.render.top_lists import MarkedToken, TopList, draw_lists
from specviz.ui.inspector.layout import prompt_lines, report_lines
from tests.builders import id_of, make_drafted, make_emitted, make_round, make_token, make_top
from tests.core.test_safe_text import NASTY, assert_safe

WIDE = 66, 30
NARROW = 76, 12


def text_of(line: Line) -> str:
    return "".join(text for text, _ in line)


def shown(
    round: Round,
    row: int,
    size: tuple[int, int] = WIDE,
    glyphs: Glyphs = UNICODE,
    special: Sequence[int] = (),
    known: RowStage = "decided",
) -> list[str]:
    return [text_of(line).rstrip() for line in report_lines(round, row, *size, glyphs, frozenset(special), known)]


def entries(line: str) -> list[str]:
    """What stands on a line between gaps of two cells and more."""
    return re.split(r" {2,}", line.strip())


def value(lines: Sequence[str], name: str) -> str:
    """The number under ``name``, which must be there once."""
    (found,) = [line for line in map(entries, lines) if name in line[:-1] and line[line.index(name) + 1][-1].isdigit()]
    return found[found.index(name) + 1]


def ten(prefix: str, first: float) -> Top:
    """Ten tokens, each with nine tenths of the probability of the one before."""
    return tuple(
        Candidate(1000 + i, f" {prefix}{i}".encode(), prob) for i, prob in enumerate(first * 0.9**i for i in range(10))
    )


def example() -> Round:
    """The round drawn in the design; its rejected token ranks 37th in p."""
    rejected = make_drafted(
        " a", "rejected", q=0.22, p=0.031, u=0.77, overlap=0.38, match=0.05, p_top=ten("p", 0.2), q_top=ten("q", 0.3)
    )
    drafted = [
        make_drafted(" is", q=0.412, p=0.53, u=0.31, overlap=0.82),
        make_drafted(" Mr.", q=0.301, p=0.27, u=0.22, overlap=0.77),
        replace(rejected, rank_p=37, rank_q=12, draft_u=0.644),
        make_drafted("nd", "untested", q=0.51, p=0.466, u=0.1, overlap=0.88),
    ]
    return make_round(37, 90, drafted=drafted, last=" Frog")


def test_a_rejection_with_all_its_numbers() -> None:
    lines = shown(example(), 2)
    assert lines[0] == "✗ ␣a  rejected"
    assert lines[1] == f"id {id_of(' a')} · 2 bytes 20 61"
    assert "␣a rejected: u .77 ≥ min(1, .031/.220) = .14" in lines
    assert "↳ ␣Frog drawn from max(0, p − q) with probability .41" in lines
    assert value(lines, "p/q") == ".141"
    assert value(lines, "accept prob") == ".141"
    assert value(lines, "u − accept") == "+.629"
    assert value(lines, "u") == ".770"
    assert value(lines, "draft u") == ".644"
    assert value(lines, "overlap") == ".380"
    assert value(lines, "TV") == ".620"
    assert value(lines, "match") == ".050"
    assert (value(lines, "rank p"), value(lines, "rank q")) == ("37", "12")
    assert (value(lines, "entropy p"), value(lines, "entropy q")) == ("1.700", "1.900")


def test_a_token_below_ten_has_a_row_of_its_own_in_each_list() -> None:
    lines = shown(example(), 2, (90, 40))
    below = next(line for line in lines if "rank 37" in line)
    words = re.sub(f"[{UNICODE.eighths}]+", " ", below)
    assert re.sub(" +", " ", words).strip() == "✗ rank 37 .031 ✗ rank 12 .220 ✗ not listed .000"
    above = lines[lines.index(below) - 1]
    assert "␣p9" in above and "␣q9" in above


def test_what_replaced_a_rejected_token_is_marked_in_p_and_in_the_residual() -> None:
    residual = (Candidate(id_of(" Frog"), b" Frog", 0.41), Candidate(5, b" mill", 0.2))
    round_ = example()
    drafted = replace(round_.drafted[2], residual_top=residual)
    round_ = replace(round_, drafted=(*round_.drafted[:2], drafted, round_.drafted[3]))
    row = next(line for line in shown(round_, 2, (90, 40)) if "↳ ␣Frog" in line and ".410" in line)
    assert row.index("↳") > 50
    assert any("↳ rank 1 " in line and ".290" in line for line in shown(round_, 2, (90, 40)))


def test_the_residual_of_a_token_is_worked_out_where_the_list_ends_before_it() -> None:
    drafted = make_drafted(" x", p=0.05, q=0.03, overlap=0.8, residual_top=ten("r", 0.12), p_top=ten("p", 0.2))
    lines = shown(make_round(drafted=[drafted]), 0)
    row = next(line for line in lines if "below top ten" in line or ">10" in line)
    assert ".100" in row
    compact_prob = replace(drafted, residual_top=ten("r", 0.12)[:9])
    assert not any(">10" in line for line in shown(make_round(drafted=[compact_prob]), 0))


def test_a_residual_that_is_p_says_so() -> None:
    drafted = make_drafted(" a", "rejected", q=0.5, p=0.49, u=0.99, p_top=ten("p", 0.2), residual_top=ten("p", 0.2))
    drafted = replace(drafted, detail={"residual_is_p": True}, rank_p=11)
    emitted = [make_emitted(" b", "resampled", p=0.02, residual=None)]
    lines = shown(make_round(drafted=[drafted], emitted=emitted), 0, (90, 40))
    assert any("residual is p" in line for line in lines)
    assert sum(line.count("rank 11 ") for line in lines) == 2
    assert any(line.startswith("residual is p itself") for line in lines)
    assert not any("yes" in line for line in lines)


def test_an_untested_token_is_shown_as_what_would_have_been() -> None:
    lines = shown(example(), 3)
    assert "nd untested: the rejection at 3 dropped it before its test" in lines
    assert "would have been accepted: u .10 < .91, on the dropped prefix" in lines
    assert any("would be accepted below .91" in line for line in lines)
    assert not any(" accepted below" in line.replace("be accepted", "") for line in lines)
    refused = replace(example().drafted[3], u=0.95)
    lines = shown(replace(example(), drafted=(*example().drafted[:3], refused)), 3)
    assert "would have been rejected: u .95 ≥ .91, on the dropped prefix" in lines


def test_an_ignored_token_says_why_and_what_would_have_been() -> None:
    lines = shown(make_round(verdicts="✓–", tokens=[" a", " b"], stop="stop_string"), 1)
    assert "␣b ignored: the text ended before it (stop string), so its test" in lines
    assert "would have been accepted: u .31 < 1, had the text continued" in lines


def test_a_cut_round_has_no_last_token_to_look_at() -> None:
    lines = shown(make_round(verdicts="✓–"), 2)
    assert lines[0] == "no further token"
    assert any("the text ended inside the draft" in line for line in lines)


def test_bonus_and_plain_have_p_only() -> None:
    for round_, word in ((make_round(verdicts="✓✓"), "bonus"), (make_round(verdicts=""), "plain")):
        lines = shown(round_, round_.k)
        assert lines[0].endswith(f"␣Frog  {word}")
        assert any(line.strip() == "p target" for line in lines)
        text = "\n".join(lines)
        assert not any(word in text for word in ("q draft", "residual", "accept prob", "overlap", "accepted below"))
        assert value(lines, "p") == ".290"
        assert value(lines, "u of its draw") == ".600"


def test_a_resampled_token_has_p_and_residual_and_what_it_replaced() -> None:
    lines = shown(example(), 4)
    assert lines[0] == "↳ ␣Frog  resampled"
    assert "in place of ␣a; p alone gave it .29" in lines
    assert any("p target" in line and "residual" in line and "q draft" not in line for line in lines)
    assert value(lines, "TV") == ".620"
    assert any("✗ rank 37" in line and "✗ not listed" in line for line in lines)
    assert (value(lines, "p"), value(lines, "residual")) == (".290", ".410")


def greedy_round(verdict: str = "rejected") -> Round:
    """C08: raw q .4 and .35, raw p .45 and .5; the target's first choice is the second token."""
    raw = Raw(0.45, 0.4, 0.8, 0.86, 1.08, make_top(" b", 0.5, (" a", 0.45)), make_top(" a", 0.4, (" b", 0.35)))
    accepted = verdict == "accepted"
    drafted = make_drafted(
        " a",
        verdict,  # type: ignore[arg-type]
        q=1.0,
        p=float(accepted),
        accept_prob=float(accepted),
        u=0.2,
        overlap=float(accepted),
        match=float(accepted),
        raw=raw,
        p_top=make_top(" a" if accepted else " b", 1.0),
        q_top=make_top(" a", 1.0),
        residual_top=() if accepted else make_top(" b", 1.0),
    )
    emitted = [make_emitted(" b", "resampled", p=1.0, residual=1.0, raw=replace(raw, p=0.5, q=0.35))]
    return make_round(drafted=[drafted], emitted=emitted, settings=Settings(k=1, temperature=0.0))


@pytest.mark.parametrize("size", [WIDE, NARROW])
def test_greedy_names_the_raw_probabilities_and_no_test(size: tuple[int, int]) -> None:
    lines = shown(greedy_round(), 0, size)
    text = "\n".join(lines)
    assert "␣a rejected: greedy, and the target's first choice is ␣b" in lines
    assert "raw p .450, raw q .400 (at temperature 1, no top-k or top-p)" in lines
    assert "raw p target" in text and "raw q draft" in text
    assert not any(wrong in text for wrong in ("p/q", "1.12", "1.13", "accept prob", "margin", "accepted below", "u ."))
    assert any("↳ ␣b" in line and ".500" in line for line in lines)
    assert any("✗ ␣a" in line and ".450" in line for line in lines)
    assert any(["p", ".000", ".450"] in (line.split()[:3], line.split()[-3:]) for line in lines)


def test_greedy_without_raw_probabilities_falls_back_to_what_there_is() -> None:
    round_ = greedy_round()
    bare = replace(round_, drafted=(replace(round_.drafted[0], raw=None),))
    lines = shown(bare, 0)
    assert any("p target one token" in line and "q draft one token" in line for line in lines)


def test_a_greedy_token_that_was_not_tested_would_have_gone_the_same_way() -> None:
    first = greedy_round()
    untested = replace(first.drafted[0], verdict="untested")
    round_ = replace(first, drafted=(first.drafted[0], untested), k=2)
    assert "would have been rejected: greedy, and the target's first choice is" in shown(round_, 1)
    good = replace(greedy_round("accepted").drafted[0], verdict="untested")
    lines = shown(replace(round_, drafted=(first.drafted[0], good)), 1, (100, 40))
    assert "would have been accepted: greedy, and it is the target's first choice, on the dropped prefix" in lines


def equality_round(sample: str, verdict: str) -> Round:
    first = make_drafted(" z", "rejected", accept_prob=None, target_sample=id_of(" river"))
    drafted = make_drafted(" a", verdict, accept_prob=None, u=0.31, target_sample=id_of(sample))  # type: ignore[arg-type]
    both = [first, drafted] if verdict == "untested" else [drafted]
    return make_round(drafted=both, settings=Settings(k=len(both), rule="equality"))


def test_the_equality_rule_compares_two_draws() -> None:
    lines = shown(equality_round(" river", "rejected"), 0)
    assert "␣a rejected: the target's own draw at u .31 was ␣river" in lines
    assert f"draft  drew  ␣a      id {id_of(' a')}" in lines
    assert f"target drew  ␣river  id {id_of(' river')}" in lines
    text = "\n".join(lines)
    assert "accepted below" not in text and "residual" not in text and "accept prob" not in text
    assert value(lines, "match") == ".300"


def test_the_equality_rule_on_an_untested_token() -> None:
    lines = shown(equality_round(" river", "untested"), 1, (90, 40))
    assert "would have been rejected: the target's own draw at u .31 was ␣river, on the dropped prefix" in lines
    lines = shown(equality_round(" a", "untested"), 1, (100, 40))
    assert "would have been accepted: the target's own draw at u .31 was the same token, on the dropped prefix" in lines


def test_a_rule_without_chance_shows_no_line() -> None:
    drafted = make_drafted(" a", "rejected", accept_prob=None)
    text = "\n".join(shown(make_round(drafted=[drafted], settings=Settings(k=1, rule="typical")), 0))
    assert "rejected by the rule typical" in text
    assert "accepted below" not in text


def test_raw_values_stand_beside_the_processed_ones() -> None:
    """C03: q = [.4 .3 .2 .1] and p its reverse, both cut to two tokens: q 4/7, p 3/7, accept 3/4."""
    raw = Raw(0.3, 0.4, 0.6, 1.28, 1.281, make_top(" x", 0.4), make_top(" a", 0.4, (" x", 0.3)))
    drafted = make_drafted(" a", q=4 / 7, p=3 / 7, u=0.5, overlap=6 / 7, raw=raw)
    lines = shown(make_round(drafted=[drafted], settings=Settings(k=1, top_k=2)), 0)
    facts = next(line for line in lines if line.split()[:1] == ["p"] and len(line.split()) == 9)
    assert facts.split() == ["p", ".429", ".300", "q", ".571", ".400", "overlap", ".857", ".600"]
    assert next(line for line in lines if "TV" in line).split()[-3:] == ["TV", ".143", ".400"]
    assert value(lines, "accept") == ".750"
    assert any("raw p target" in line and "raw q draft" in line for line in lines)
    assert "raw: at temperature 1, no top-k or top-p; entropies in nats" in lines


@pytest.mark.parametrize(("glyphs", "dash"), [(UNICODE, "–"), (ASCII, "-")])
def test_a_token_that_p_does_not_have_has_no_rank(glyphs: Glyphs, dash: str) -> None:
    drafted = replace(make_drafted(" a", "rejected", p=0.0, u=0.5), rank_p=6)
    (line,) = [line for line in shown(make_round(drafted=[drafted]), 0, glyphs=glyphs) if "rank p" in line]
    assert entries(line)[:4] == ["rank p", dash, "rank q", "1"]


def test_the_raw_list_of_a_distribution_that_is_not_changed_has_its_ranks() -> None:
    """Only the draft is greedy: p raw is p, and the 16th token there is the 16th here."""
    raw = Raw(0.031, 0.4, 0.6, 1.28, 1.281, ten("p", 0.2), ten("q", 0.3))
    drafted = make_drafted(" a", "rejected", q=1.0, p=0.031, u=0.5, raw=raw, p_top=ten("p", 0.2))
    drafted = replace(drafted, rank_p=16)
    came = replace(make_emitted(" z", p=0.03, raw=raw), rank_p=17)
    settings = Settings(k=1, temperature=1.0, draft_temperature=0.0)
    lines = shown(make_round(drafted=[drafted], emitted=[came], settings=settings), 0, (120, 60))
    assert sum(line.count("rank 16") for line in lines) == sum(line.count("rank 17") for line in lines) == 2
    raw_part = lines[next(y for y, line in enumerate(lines) if "raw p target" in line) :]
    assert sum("below top ten" in line for line in raw_part) == 1, "q raw is not q"
    cut = replace(settings, top_k=20)
    lines = shown(make_round(drafted=[drafted], emitted=[came], settings=cut), 0, (120, 60))
    assert sum(line.count("rank 16") for line in lines) == 1


def test_q_of_an_ngram_is_one_token() -> None:
    """C47: the draft proposed its token with certainty; p gives it .3."""
    drafted = make_drafted(" a", "rejected", q=1.0, p=0.3, u=0.6, q_top=make_top(" a", 1.0))
    drafted = replace(drafted, detail={"matched": 3, "at": [7, 9], "score": 0.25, "kind": "prompt [/b]"})
    lines = shown(make_round(drafted=[drafted]), 0, (90, 40))
    assert any("q draft one token" in line for line in lines)
    assert value(lines, "accept prob") == ".300"
    assert "matched: 3 · at: [7, 9] · score: 0.25 · kind: prompt [/b]" in lines


# -- phase by phase


def drafted_once() -> Drafted:
    raw = Raw(0.3, 0.4, 0.6, 1.28, 1.281, ten("p", 0.2), ten("q", 0.3))
    return replace(make_drafted(" a", p=0.2, q=0.4, p_top=ten("p", 0.2), q_top=ten("q", 0.3), raw=raw), rank_p=12)


def end_text(verdict: str, settings: Settings, **changes: object) -> Round:
    """A round of two drafts, the second of them with this verdict and what follows from it."""
    u = 0.499 if verdict == "accepted" else 0.501
    target = id_of(" a" if verdict == "accepted" else " b")
    residual = ten("r", 0.15) if verdict == "rejected" else ten("s", 0.11)
    second = replace(drafted_once(), verdict=verdict, u=u, residual_top=residual)  # type: ignore[arg-type]
    if settings.rule == "equality":
        second = replace(second, target_sample=target, accept_prob=None)
    second = replace(second, **changes)  # type: ignore[arg-type]
    last = " Frog" if verdict == "rejected" else " toad"
    return make_round(5, drafted=[make_drafted(" the"), second], last=last, settings=settings)


RULES = (Settings(k=2), Settings(k=2, temperature=0.0), Settings(k=2, top_k=20), Settings(k=2, rule="equality"))
OF_TARGET = {
    "p": 0.4,
    "accept_prob": 1.0,
    "overlap": 0.31,
    "match": 0.01,
    "entropy_p": 2.5,
    "rank_p": 3,
    "p_top": ten("other", 0.4),
    "raw": Raw(0.5, 0.4, 0.1, 2.22, 1.281, ten("others", 0.5), ten("q", 0.3)),
}


@pytest.mark.parametrize("settings", RULES)
@pytest.mark.parametrize("size", [WIDE, NARROW, (120, 60)])
def test_before_its_verdict_nothing_tells_u_or_verdict_or_correction(settings: Settings, size: tuple[int, int]) -> None:
    accepted, rejected = (end_text(verdict, settings) for verdict in ("accepted", "rejected"))
    for known in ("drafted", "scored"):
        lines = report_lines(accepted, 1, *size, UNICODE, known=known)
        assert lines == report_lines(rejected, 1, *size, UNICODE, known=known)
    assert report_lines(accepted, 1, *size, UNICODE) != report_lines(rejected, 1, *size, UNICODE)


@pytest.mark.parametrize("settings", RULES)
@pytest.mark.parametrize("size", [WIDE, NARROW, (120, 60)])
def test_before_the_target_has_scored_it_nothing_tells_p(settings: Settings, size: tuple[int, int]) -> None:
    one = end_text("accepted", settings)
    other = end_text(
        "rejected", settings, **OF_TARGET if settings.rule != "equality" else OF_TARGET | {"accept_prob": None}
    )
    assert report_lines(one, 1, *size, UNICODE, known="drafted") == report_lines(
        other, 1, *size, UNICODE, known="drafted"
    )
    assert report_lines(one, 1, *size, UNICODE, known="scored") != report_lines(
        other, 1, *size, UNICODE, known="scored"
    )


def test_what_is_drafted_has_its_q_and_empty_places_for_the_rest() -> None:
    lines = shown(example(), 2, (90, 34), known="drafted")
    assert lines[:4] == ["? ␣a  waiting", f"id {id_of(' a')} · 2 bytes 20 61", "", "waits for the target"]
    assert any(line.split() == ["p", "target", "q", "draft", "residual"] for line in lines)
    assert any("␣q0" in line for line in lines) and any("? rank 12" in line for line in lines)
    assert (value(lines, "q"), value(lines, "rank q"), value(lines, "draft u")) == (".220", "12", ".644")
    text = "\n".join(lines)
    for name in ("rank p", "entropy p", "overlap", "TV", "match", "accept prob", "u − accept"):
        assert name in text
    assert not any(told in text for told in ("␣p0", "river", ".031", ".77", ".141", "rejected", "Frog", "below"))


def test_what_is_scored_has_p_and_a_threshold_without_u() -> None:
    lines = shown(example(), 2, (90, 34), known="scored")
    assert "waits for its test" in lines
    assert any("┊ accepted below .14" in line for line in lines)
    assert any("␣p9" in line and "␣q9" in line for line in lines) and any("? rank 37" in line for line in lines)
    assert (value(lines, "p"), value(lines, "p/q"), value(lines, "accept prob")) == (".031", ".141", ".141")
    assert (value(lines, "overlap"), value(lines, "TV"), value(lines, "match")) == (".380", ".620", ".050")
    text = "\n".join(lines)
    assert not any(told in text for told in ("river", ".77", ".629", "│", "rejected", "Frog"))


def test_places_do_not_move_from_phase_to_phase() -> None:
    for settings in RULES:
        round_ = end_text("accepted", settings)
        views = [shown(round_, 1, (90, 40), known=known) for known in ("drafted", "scored", "decided")]
        for word in ("q draft", "rank q", "entropies in nats"):
            places = {next(y for y, line in enumerate(view) if word in line) for view in views}
            assert len(places) == 1, (settings, word)


@pytest.mark.parametrize("size", [WIDE, NARROW])
def test_a_greedy_rejection_before_its_correction_has_no_list_of_p(size: tuple[int, int]) -> None:
    held = without_correction(greedy_round())
    lines = shown(held, 0, size)
    text = "\n".join(lines)
    assert "raw p target" in text and "raw q draft" in text
    assert any("✗ rank –" in line or "✗ –" in line for line in lines), "its rank would tell the first choice"
    assert "below top ten" not in text and ">10" not in text
    assert text.count("␣b") == 1 and ".500" not in text, "of q alone"


def test_rows_that_look_alike_carry_their_ids() -> None:
    """C67: several ids of the same bytes, and lone bytes that differ."""
    same = [Candidate(200 + i, b"\xa0", 0.2 - i / 100) for i in range(3)]
    top = (*same, Candidate(9, b"\xa1", 0.1))
    lines = [
        text_of(line) for line in draw_lists([TopList("p", top, (MarkedToken(201, "accepted", 0.19),))], 40, UNICODE)
    ]
    assert [line.split()[-3:-1] for line in lines[1:2]] == [["#200", ".200"]]
    assert "✓ ⟨A0⟩ #201" in lines[2]
    assert "⟨A0⟩ #202" in lines[3]
    assert "⟨A1⟩" in lines[4] and "#9" not in lines[4]
    assert sum("✓" in line for line in lines) == 1


def test_all_bars_have_one_scale() -> None:
    lists = [TopList("p", make_top(" a", 0.5)), TopList("q", make_top(" b", 0.25)), TopList("r", make_top(" c", 0.125))]
    rows = [text_of(line) for line in draw_lists(lists, 3 * 40 + 4, UNICODE)]
    lengths = [part.count("█") for part in (rows[1][:40], rows[1][42:82], rows[1][84:])]
    assert lengths[0] == 2 * lengths[1] == 4 * lengths[2] > 0


def test_a_list_without_room_beside_another_goes_below_it() -> None:
    lists = [TopList("one", make_top(" a", 0.5)), TopList("two", make_top(" b", 0.5))]
    lines = [text_of(line).strip() for line in draw_lists(lists, 20, UNICODE, rows=2)]
    assert lines.index("one") < lines.index("two")
    beside_each_other = [text_of(line).split() for line in draw_lists(lists, 60, UNICODE, rows=2)]
    assert beside_each_other[0] == ["one", "two"]


def test_where_ten_rows_have_no_room_the_marked_tokens_come_before_the_rest() -> None:
    marked = MarkedToken(1007, "accepted", ten("p", 0.2)[7].prob, 8)
    lines = [text_of(line) for line in draw_lists([TopList("p", ten("p", 0.2), (marked,))], 40, UNICODE, rows=4)]
    names = [line.split()[0] if "rank" not in line and "✓" not in line else line.split()[:3] for line in lines]
    assert names[:7] == ["p", "␣p0", "␣p1", "␣p2", "␣p3", ["✓", "rank", "8"], "and"]
    assert any("✓ ␣p7" in line for line in lines[7:])


@given(st.floats(0, 1), st.floats(0, 1, exclude_max=True), st.integers(1, 130), st.booleans())
def test_the_mark_is_in_the_filled_part_exactly_when_the_token_is_accepted(
    chance: float, u: float, cells: int, held: bool
) -> None:
    test = AcceptTest(chance, u, "accepted", held)
    upper, line, lower = (text_of(part) for part in number_line(test, cells, UNICODE))
    inner = line[2:-2]
    mark = inner.index("│")
    assert set(inner[:mark]) <= {"█"} if u < chance else "█" not in inner[mark:]
    assert max(width(upper), width(lower)) <= max(cells, 3)
    assert width(text_of(number_bar(test, cells, UNICODE))) <= max(cells, 1)


def test_threshold_and_u_stand_at_their_places_and_are_told_apart() -> None:
    upper, line, lower = (text_of(part) for part in number_line(AcceptTest(0.5, 0.25, "accepted"), 44, UNICODE))
    assert line == "0 " + "█" * 10 + "│" + "█" * 9 + "░" * 20 + " 1"
    assert upper == " " * 21 + "┊ accepted below .50"
    assert lower == " " * 12 + "│ u .25"
    upper, _, lower = (text_of(part) for part in number_line(AcceptTest(0.3138, 0.3142, "rejected"), 44, UNICODE))
    assert "below .3138" in upper and "u .3142" in lower


def test_special_tokens_are_marked() -> None:
    round_ = example()
    lines = report_lines(round_, 2, *WIDE, UNICODE, {id_of(" a")})
    assert text_of(lines[0]).rstrip() == "✗ ␣a  rejected  special token"
    assert ("␣a", "special") in lines[0]
    tokens = (make_token("<s>", 1), make_token(" a", 7))
    first = prompt_lines(Prompt("", tokens), 60, UNICODE, {1})[0]
    assert ("<s>", "special") in first and ("␣a", "text") in first


def test_a_very_long_token_is_cut_in_the_title_and_whole_below_it() -> None:
    """C70, and the bytes are cut with their number."""
    round_ = make_round(verdicts="✓", tokens=["ab" * 128])
    lines = shown(round_, 0)
    assert lines[0].startswith("✓ abab") and lines[0].endswith("…256  accepted")
    assert "· 256 bytes 61 62 61" in lines[1] and lines[1].endswith(" …")
    assert "".join(lines[2:6]) == "ab" * 128
    assert all(width(line) <= WIDE[0] for line in lines)
    narrow = shown(round_, 0, NARROW)
    assert "".join(narrow).count("ab" * 128) == 1


def test_the_prompt_is_listed_with_its_ids() -> None:
    """C61."""
    prompt = Prompt("hi", (make_token("Once", 3812), make_token(" upon", 671), make_token("\n", 5), make_token("", 0)))
    lines = [text_of(line) for line in prompt_lines(prompt, 60, UNICODE)]
    assert [line.split() for line in lines] == [["3812", "Once", "671", "␣upon"], ["5", "⏎", "0", "∅"]]
    assert [line.index("␣upon" if i == 0 else "∅") for i, line in enumerate(lines)] == [36, 36]
    assert text_of(prompt_lines(Prompt("", ()), 60, UNICODE)[0]).strip() == "the prompt is empty"


def test_headings() -> None:
    assert inspector_title(example(), 2, UNICODE) == "Inspector · round 37 · draft 3 of 4"
    assert inspector_title(example(), 4, UNICODE) == "Inspector · round 37 · resampled at 3"
    assert inspector_title(make_round(verdicts="✓✓"), 2, UNICODE) == "Inspector · round 1 · bonus"
    assert inspector_title(make_round(verdicts=""), 0, ASCII) == "Inspector | round 1 | plain"
    assert inspector_title(make_round(verdicts="✓–"), 2, UNICODE) == "Inspector · round 1 · no further token"


def test_short_and_broad_has_lists_left_and_facts_right() -> None:
    lines = shown(example(), 2, NARROW)
    assert lines[0].startswith("✗ ␣a  rejected · id ")
    assert lines[3].startswith("accepted below .14 █") and lines[3].endswith("u .77")
    assert lines[4].split() == ["p", "target", "q", "draft", "residual", "p/q", ".141"]
    visible_part = lines[: NARROW[1]]
    assert any("✗ 37. " in line or "✗ rank 37" in line for line in visible_part)
    assert any(line.endswith(("margin    +.629", "margin   +.629")) for line in visible_part)
    assert any("␣p9" in line for line in lines[NARROW[1] :])


def rounds_of_all_kinds() -> list[tuple[Round, int]]:
    every = [(example(), row) for row in range(6)]
    every += [(greedy_round(), row) for row in range(2)]
    every += [(equality_round(" river", "untested"), row) for row in range(3)]
    every += [(make_round(verdicts=verdicts), row) for verdicts in ("", "✓", "✓–", "✗·") for row in (-1, 0, 1, 2)]
    raw = Raw(1e-30, 0.2, 0.3, 12.1, 1.0, ten("p", 1e-3), ten("漢", 0.3))
    drafted = make_drafted(" a", p=5e-324, q=1e-12, u=0.99999, raw=raw, p_top=(), q_top=(), residual_top=())
    return [*every, (make_round(drafted=[replace(drafted, rank_p=151_936)]), 0)]


SIZES = [(1, 1), (2, 3), (3, 1), (7, 5), (12, 40), (20, 5), (33, 12), (59, 9), (60, 3), (76, 11), (86, 40), (120, 40)]


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("glyphs", [UNICODE, ASCII])
def test_every_line_has_the_width_asked_for(size: tuple[int, int], glyphs: Glyphs) -> None:
    stages: tuple[RowStage, ...] = ("drafted", "scored", "decided")
    for (round_, row), known in product(rounds_of_all_kinds(), stages):
        lines = report_lines(round_, row, *size, glyphs, known=known)
        assert lines
        assert {width(text_of(line)) for line in lines} == {size[0]}
        if glyphs.ascii and "漢" not in str(round_):
            assert all(text_of(line).isascii() for line in lines)


def test_in_ascii_everything_is_ascii() -> None:
    for size in (WIDE, NARROW, (30, 40)):
        for round_, row in rounds_of_all_kinds():
            text = "".join(shown(round_, row, size, ASCII))
            assert text.isascii(), text
    prompt = Prompt("", (make_token("é\n"), make_token("")))
    assert all(text_of(line).isascii() for line in prompt_lines(prompt, 30, ASCII))


def hostile(data: bytes, verdict: str) -> Drafted:
    top = (Candidate(1, data, 0.4), Candidate(2, data, 0.3), Candidate(3, data[:5], 0.1))
    drafted = make_drafted(
        data,
        verdict,  # type: ignore[arg-type]
        q=0.4,
        p=0.1,
        u=0.9,
        p_top=top,
        q_top=top,
        residual_top=top,
        raw=Raw(0.1, 0.2, 0.3, 1.0, 1.0, top, top),
    )
    return replace(drafted, detail={data.decode("latin-1"): [data.decode("utf-8", "replace")]})


@pytest.mark.parametrize("size", [WIDE, NARROW, (20, 9)])
def test_hostile_tokens_come_out_as_safe_cells(size: tuple[int, int]) -> None:
    """C64, C65, C66, C69, C70."""
    for data in [*NASTY[:40], *NASTY[-40:]]:
        drafted = [hostile(data, "rejected"), hostile(data, "untested")]
        emitted = [make_emitted(data, "resampled", residual=0.4)]
        round_ = make_round(drafted=drafted, emitted=emitted)
        for row in range(3):
            for line in shown(round_, row, size):
                assert_safe(line)
                assert width(line) <= size[0]


def test_markup_stays_literal() -> None:
    for text in ("[/", "[bold]", "\\[", "[link=x]"):
        lines = shown(make_round(verdicts="✗", tokens=[text]), 0)
        assert lines[0] == f"✗ {text}  rejected"
        assert any(line.startswith(f"{text} rejected: ") for line in lines)


def test_wrapping_and_columns_count_cells() -> None:
    assert wrapped("one two three", 7) == ["one two", "three"]
    assert wrapped("漢字漢字漢 x", 5) == ["漢字", "漢字", "漢 x"]
    assert wrapped("", 5) == []
    assert text_of(padded([("漢字漢字", "text")], 5)) == "漢字…"
    lines = beside([[[("a", "text")]], [[("b", "text")], [("c", "text")]]], [3, 2], 1)
    assert [text_of(line) for line in lines] == ["a   b ", "    c "]


@pytest.mark.parametrize(("number", "text"), [(0.629, "+.629"), (-0.34, "−.340"), (-3e-4, "−3e-4"), (0.0, ".000")])
def test_signed_differences(number: float, text: str) -> None:
    assert signed(number) == text


def test_a_round_nobody_looked_at_says_so_and_keeps_the_test() -> None:
    full = example()
    blind: dict[str, Any] = {"entropy_p": None, "rank_p": None, "p_top": (), "raw": None}
    round_ = replace(
        full,
        drafted=tuple(
            replace(d, **blind, entropy_q=None, rank_q=None, q_top=(), residual_top=()) for d in full.drafted
        ),
        emitted=tuple(replace(e, **blind) for e in full.emitted),
    )
    for row in range(round_.k + 1):
        lines = shown(round_, row)
        assert any("--no-inspect" in line for line in lines)
        assert not any("None" in line or "nan" in line.lower() for line in lines)
        assert not any("--no-inspect" in line for line in shown(full, row))
