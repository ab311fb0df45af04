"""The chips of a round, without an app: signs, bars, places, what a phase shows and what it does not yet."""

from dataclasses import replace
from itertools import product
from typing import get_args

import pytest

from specviz.core.events import End, PlainReason, Round, Settings
from specviz.core.options import MAX_K
from specviz.core.safe_text import width
from specviz.render.glyphs import ASCII, UNICODE
from specviz.render.phases import Reveal, phases
from specviz.stats.run_stats import RunStats
from specviz.ui.present.captions import Caption, at_the_end, caption, caption_fields, figure_fields, pair, title_fields
from specviz.ui.present.chip_grid import CHIP_FORMS, ChipGrid, grid
from specviz.ui.present.chips import AnimationFrame, chip_legend, chips
from specviz.ui.run.status_line import spaced
from tests.builders import make_calibration, make_drafted, make_round
from tests.core.test_safe_text import NASTY, assert_safe

REJECTED = make_round(
    3,
    20,
    drafted=[
        make_drafted(" ab", q=0.4, p=0.5, u=0.31),
        make_drafted(" cd", "rejected", q=0.4, p=0.1, u=0.75),
        make_drafted(" ef", "untested"),
    ],
    last=" gh",
)
BONUS = make_round(1, 8, "✓✓✓", [" ab", " cd", " ef"], " gh")
MEDIUM = ChipGrid(CHIP_FORMS[2], 4, 1, 12)
BIG = ChipGrid(CHIP_FORMS[1], 4, 1, 16)
SMALL = ChipGrid(CHIP_FORMS[4], 4, 1, 10)


def texts(moment: AnimationFrame, at: ChipGrid = MEDIUM, *, ascii: bool = False) -> list[str]:
    drawn = ["".join(text for text, _ in line) for line in chips(moment, at, ASCII if ascii else UNICODE)]
    assert all(width(line) in (0, at.width) for line in drawn)
    assert len(drawn) == at.height
    return drawn


def slots(line: str, at: ChipGrid = MEDIUM) -> list[str]:
    """What each place holds on a line."""
    step = at.cells + at.form.gap
    return [line[i * step : i * step + at.cells].strip() for i in range(at.columns)]


def test_a_whole_round_by_hand() -> None:
    """Chance 1 of .5/.4 and .25 of .1/.4 over 12 cells; u .31 in cell 3, u .75 in cell 9."""
    assert texts(AnimationFrame(REJECTED, None)) == [
        "┏━━━━━━━━━━┓  ┏╍╍╍╍╍╍╍╍╍╍┓  ┌┄┄┄┄┄┄┄┄┄┄┐              ",
        "┃   ␣ab    ┃  ╏   ␣cd    ╏  ┊   ␣ef    ┊              ",
        "┗━━━━━━━━━━┛  ┗╍╍╍╍╍╍╍╍╍╍┛  └┄┄┄┄┄┄┄┄┄┄┘              ",
        "███│████████  ███░░░░░░│░░                            ",
        "     ✓             ✗             ·                    ",
        "              ╔══════════╗                            ",
        "              ║ ↳ ␣gh    ║                            ".replace("║ ↳ ␣gh    ║", "║  ↳ ␣gh   ║"),
        "              ╚══════════╝                            ",
    ]


def test_the_same_in_ascii() -> None:
    drawn = texts(AnimationFrame(REJECTED, None), ascii=True)
    assert all(line.isascii() for line in drawn)
    assert slots(drawn[0]) == ["+==========+", "x----------x", ".          .", ""]
    assert slots(drawn[3]) == ["###|########", "###......|..", "", ""]
    assert slots(drawn[4]) == ["v", "x", ".", ""]
    assert "> _gh" in drawn[6]


def test_a_bonus_takes_the_next_place_of_the_row_with_its_sign() -> None:
    drawn = texts(AnimationFrame(BONUS, None))
    assert slots(drawn[0])[3] == "╔══════════╗"
    assert "␣gh" in slots(drawn[1])[3]
    assert slots(drawn[4]) == ["✓", "✓", "✓", "+"]
    assert not "".join(drawn[5:]).strip(), "nothing is replaced"


def test_a_plain_round_and_a_cut_one() -> None:
    assert slots(texts(AnimationFrame(make_round(1, 8, "", [], " gh"), None))[4]) == ["=", "", "", ""]
    cut = texts(AnimationFrame(make_round(1, 8, "✓–", [" ab", " cd"]), None))
    assert slots(cut[4]) == ["✓", "–", "", ""]
    assert not "".join(cut[5:]).strip()


@pytest.mark.parametrize(
    "at", [BIG, MEDIUM, ChipGrid(CHIP_FORMS[3], 4, 1, 12), SMALL, ChipGrid(CHIP_FORMS[5], 4, 1, 10)]
)
@pytest.mark.parametrize("ascii", [False, True])
def test_every_form_tells_every_verdict_in_every_phase(at: ChipGrid, ascii: bool) -> None:
    for round in (REJECTED, BONUS, make_round(1, 8, "", []), make_round(1, 8, "✓–", [" ab", " cd"])):
        seen = [texts(AnimationFrame(round, reveal), at, ascii=ascii) for reveal in phases(round)]
        assert len({tuple(drawn) for drawn in seen}) == len(seen), "each phase shows something new"


def test_nothing_of_a_later_phase_is_shown() -> None:
    drafting = "\n".join(texts(AnimationFrame(REJECTED, Reveal(2, False, 0, False))))
    assert "ab" in drafting and "cd" in drafting
    assert not any(sign in drafting for sign in ("ef", "gh", "█", "✓", "✗", "·", "┃"))
    scored = "\n".join(texts(AnimationFrame(REJECTED, Reveal(3, True, 0, False))))
    assert "█" in scored
    assert not any(sign in scored for sign in ("│█", "gh", "✓", "✗", "·", "┄"))
    one = "\n".join(texts(AnimationFrame(REJECTED, Reveal(3, True, 1, False))))
    assert "✓" in one
    assert not any(sign in one for sign in ("gh", "✗", "·", "┄"))
    two = "\n".join(texts(AnimationFrame(REJECTED, Reveal(3, True, 2, False))))
    assert "✗" in two and "·" in two and "gh" not in two


def test_the_pass_sweeps_from_left_to_right() -> None:
    reveal = Reveal(3, True, 0, False)
    bars = [slots(texts(AnimationFrame(REJECTED, reveal, progress))[3]) for progress in (0.0, 0.3, 0.6, 0.8, 1.0)]
    assert [sum(map(bool, bar)) for bar in bars] == [0, 1, 2, 3, 3]
    assert all(bar[i] or not any(bar[i:]) for bar in bars for i in range(4)), "from the left"


def test_u_falls_before_the_verdict_stands() -> None:
    reveal = Reveal(3, True, 2, False)
    row_under_test, stands = (texts(AnimationFrame(REJECTED, reveal, progress)) for progress in (0.2, 0.7))
    assert slots(row_under_test[3])[1] == slots(stands[3])[1] == "███░░░░░░│░░"
    assert slots(row_under_test[4]) == ["✓", "", "", ""]
    assert slots(stands[4]) == ["✓", "✗", "·", ""]


def test_the_last_token_comes_in_from_above_and_its_rows_are_reserved() -> None:
    drops = [texts(AnimationFrame(REJECTED, None, progress))[5:] for progress in (0.0, 0.3, 0.6, 1.0)]
    assert [sum(bool(line.strip()) for line in drop) for drop in drops] == [0, 1, 2, 3]
    assert "╚" in drops[1][0], "its lower edge first"


def test_large_signs_are_three_lines_high_and_u_stands_over_its_bar() -> None:
    drawn = texts(AnimationFrame(REJECTED, None), BIG)
    form = BIG.form
    bar = drawn[form.box + form.bar - 1]
    assert drawn[form.box + form.bar - 2].index("u") == bar.index("│")
    cross = [slots(line, BIG)[1] for line in drawn[form.box + form.bar + 1 : form.box + form.bar + 4]]
    assert cross == ["▝▙ ▟▘", "█", "▗▛ ▜▖"]


def test_without_a_chance_there_is_no_bar() -> None:
    """Rules that decide in another way have no accept_prob."""
    round = make_round(1, 8, drafted=[make_drafted(" ab", accept_prob=None)], last=" gh")
    drawn = texts(AnimationFrame(round, None), ChipGrid(CHIP_FORMS[2], 2, 1, 12))
    assert not drawn[3].strip()
    assert "✓" in drawn[4]


@pytest.mark.parametrize("at", [BIG, MEDIUM])
def test_a_greedy_round_has_no_bar_and_no_u(at: ChipGrid) -> None:
    """Its accept_prob is 0 or 1 and its u decides nothing."""
    round = replace(REJECTED, settings=Settings(k=3, temperature=0.0))
    for reveal in phases(round):
        for progress in (0.2, 1.0):
            drawn = texts(AnimationFrame(round, reveal, progress), at)
            assert not "".join(drawn[at.form.box : at.form.box + at.form.bar]).strip()
    assert "✓" in "".join(texts(AnimationFrame(round, None)))


def test_hostile_tokens_fill_their_cells_and_no_more() -> None:
    for data in NASTY:
        round = make_round(1, 8, "✓✗·", [data] * 3, data)
        for at in (BIG, MEDIUM, SMALL, ChipGrid(CHIP_FORMS[5], 2, 2, 9)):
            for ascii in (False, True):
                for line in texts(AnimationFrame(round, None), at, ascii=ascii):
                    assert_safe(line)


@pytest.mark.parametrize("cells", [54, 72, 108, 152])
@pytest.mark.parametrize("height", [8, 12, 20, 26])
def test_every_k_finds_room(cells: int, height: int) -> None:
    before = grid(1, cells, height)
    for k in range(MAX_K + 1):
        made = grid(k + 1, cells, height)
        assert made.columns * made.rows >= k + 1
        assert made.width <= cells
        assert made.height <= height
        assert made.cells >= made.form.least
        assert CHIP_FORMS.index(made.form) >= CHIP_FORMS.index(before.form), "more tokens, smaller chips"
        before = made


def test_the_usual_run_has_large_chips_at_the_usual_sizes() -> None:
    assert [CHIP_FORMS.index(grid(5, cells, height).form) for cells, height in ((72, 12), (108, 20), (152, 26))] == [
        2,
        0,
        0,
    ]


def test_the_legend_names_each_sign() -> None:
    for at in (BIG, MEDIUM, ChipGrid(CHIP_FORMS[3], 5, 1, 12), SMALL):
        told = "\n".join("".join(text for text, _ in line) for line in chip_legend(at, UNICODE))
        assert all(word in told for word in ("accepte", "rejecte", "unteste", "bonus", "↳ replaced"))
    assert len(chip_legend(ChipGrid(CHIP_FORMS[2], 2, 1, 12), UNICODE)) == CHIP_FORMS[2].height


# -- words and numbers


def said(round: Round, reveal: Reveal | None) -> tuple[str, str]:
    return caption(round, reveal)[:2]


def test_a_sentence_a_phase() -> None:
    assert [said(REJECTED, reveal) for reveal in phases(REJECTED)] == [
        ("The draft proposes", "1 of 3"),
        ("The draft proposes", "2 of 3"),
        ("The draft proposes", "3 of 3"),
        ("The target reads all 3 in one pass", "each is kept with probability min(1, p/q)"),
        ("Accepted", "u .31 is below 1"),
        ("Rejected", "u .75 is not below .25"),
        ("Replaced: drawn from max(0, p − q)", "2 tokens from one pass"),
    ]
    assert said(BONUS, None) == ("All 3 were accepted, so one more is free", "4 tokens from one pass")
    assert said(make_round(1, 8, "✓", [" a"]), None) == (
        "It was accepted, so one more is free",
        "2 tokens from one pass",
    )
    plain = make_round(1, 8, "", [])
    assert [said(plain, reveal) for reveal in phases(plain)] == [
        ("No draft: the target alone", "K is 0"),
        ("Sampled by the target", "1 token from one pass"),
    ]
    assert said(make_round(1, 8, "✓–", [" a", " b"]), None) == ("The text ends inside the draft", "end of text")
    assert at_the_end(End("stop_string", "\x1b[2J"))[:2] == ("End", "stop string: ␛[2J")


def line_of(stats: RunStats, cells: int) -> str:
    return "".join(text for text, _ in spaced(figure_fields(stats.segment_rates(), cells), cells))


def test_the_numbers_keep_their_cells_and_the_speed_comes_with_the_timing() -> None:
    stats = RunStats()
    empty = line_of(stats, 108)
    assert empty.split() == ["α", "tested", "–", "tokens/round", "–", "formula", "–"]
    stats.add(make_calibration())
    timed = line_of(stats, 108)
    assert "speedup, model" in timed
    for round in (make_round(1, 8, "✓✓✗·"), make_round(2, 11, "✓✓✓✓")):
        stats.add(round)
        now = line_of(stats, 108)
        for name in ("α tested", "tokens/round", "formula", "speedup, model"):
            assert now.index(name) == timed.index(name)
    assert "α tested  .857" in now and "tokens/round  4.00" in now
    assert width(line_of(stats, 72).rstrip()) <= 72
    assert line_of(stats, 72).rstrip().endswith("×")


def test_a_title_gives_way_to_the_round() -> None:
    for cells in (54, 72, 108):
        line = "".join(text for text, _ in spaced(title_fields("[/]\x1b" + "x" * 400, "round 12"), cells))
        assert line.endswith("round 12")
        assert line.startswith("[/]␛x")
        assert width(line) == cells
        assert line.endswith("xxxx…  round 12"), "and no count of what was cut"


LONG = 6 * "word "
SETTINGS = (Settings(), Settings(temperature=0.0), Settings(rule="equality"))


@pytest.mark.parametrize("cells", [54, 72])
@pytest.mark.parametrize("k", [0, 1, 4, 32])
def test_a_sentence_is_never_cut(cells: int, k: int) -> None:
    """At 60 and at 80 columns there is a whole sentence, and beside it whole words of why."""
    marks = ["✓" * k, f"{'✓' * (k - 1)}✗"] if k else [""]
    reasons: tuple[PlainReason | None, ...] = (None,) if k else get_args(PlainReason)
    for marked, base, reason in product(marks, SETTINGS, reasons):
        round = make_round(1, 8, marked, settings=replace(base, k=k), plain_reason=reason)
        for reveal in phases(round):
            told = caption(round, reveal)
            line = "".join(text for text, _ in spaced(caption_fields(told), cells))
            assert width(line) <= cells
            assert line in [told.said, *(f"{told.said}  {by}" for by in (told.by, *told.by_short))]
            assert line != told.said or not told.by or k == 32


def test_what_others_wrote_is_cut_where_the_room_ends() -> None:
    why = Caption("Stopped", 3 * LONG)
    for cells in (54, 72):
        for ascii, sign in ((False, "…"), (True, "~")):
            line = "".join(text for text, _ in spaced(caption_fields(why, ascii=ascii), cells))
            assert width(line) == cells
            assert line == f"Stopped  {3 * LONG}"[: cells - 1] + sign


def test_before_the_first_round_the_pair_is_named_whole_or_cut_without_a_count() -> None:
    told = pair("org/" + "d" * 80, "org/" + "t" * 80, "")
    assert told.said == f"org/{'d' * 25}… proposes, org/{'t' * 25}… decides"
    line = "".join(text for text, _ in spaced(caption_fields(told), 54))
    assert line == f"org/{'d' * 12}… proposes, org/{'t' * 12}… decides"
    assert pair("", "a", "").said == "a"


def test_the_numbers_have_room_at_sixty_columns() -> None:
    stats = RunStats()
    stats.add(make_calibration())
    stats.add(make_round(1, 8, "✓✓✗·"))
    line = line_of(stats, 54)
    assert width(line.rstrip()) <= 54
    assert line.rstrip().endswith("×")
    assert "formula" not in line
