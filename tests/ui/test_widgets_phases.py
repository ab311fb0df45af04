"""The text and the round panel in each phase of a round: what is on the screen, and what is not yet."""

from dataclasses import replace

import pytest
from textual.pilot import Pilot

from specviz import bundled
from specviz.core.events import End, Round, Settings, Verdict
from specviz.render.glyphs import UNICODE
from specviz.render.phases import WAITING, Reveal, RowStage, focus_row, headline, phases
from specviz.trace.jsonl import read
from specviz.ui.main.round_panel import RoundPanel
from specviz.ui.main.round_rows import Columns, RoundTable
from specviz.ui.main.text_panel import TextPanel
from tests.builders import id_of, make_drafted, make_header, make_round, make_run, make_top
from tests.core.test_safe_text import assert_safe
from tests.render.test_explanations import GREEDY, RAW, example
from tests.ui.gallery import Gallery, in_gallery, inside, lines_of

KINDS = {
    "rejection": make_round(1, verdicts="✓✗·", tokens=[" ab", " cd", " ef"], last=" gh"),
    "rejected at once": make_round(1, verdicts="✗··", tokens=[" ab", " cd", " ef"], last=" gh"),
    "bonus": make_round(1, verdicts="✓✓", tokens=[" ab", " cd"], last=" gh"),
    "plain": make_round(1, verdicts="", last=" gh"),
    "cut": make_round(1, verdicts="✓–", tokens=[" ab", " cd"]),
    "greedy": make_round(
        1,
        drafted=[
            make_drafted(" ab", q=1.0, p=1.0, raw=RAW),
            make_drafted(" cd", "rejected", q=1.0, p=0.0, u=0.0, raw=RAW, p_top=make_top(" gh", 1.0)),
            make_drafted(" ef", "untested", q=1.0, p=0.0, raw=RAW),
        ],
        last=" gh",
        settings=GREEDY,
    ),
    "equality": make_round(
        1,
        drafted=[
            make_drafted(" ab", accept_prob=0.5),
            make_drafted(" cd", "rejected", accept_prob=0.1, target_sample=id_of(" gh"), p_top=make_top(" gh", 0.9)),
        ],
        last=" gh",
        settings=Settings(k=2, rule="equality"),
    ),
}


def other_future(round: Round, reveal: Reveal) -> Round:
    """A round that is the same as far as ``reveal`` and as different as can be from there on."""
    known = reveal.decided
    rejected = known == round.tested > round.n_accepted
    verdicts: list[Verdict] = [drafted.verdict for drafted in round.drafted]
    if not rejected:
        rest = round.k - known
        kept: list[Verdict] = ["accepted"] * rest
        rejected_now: list[Verdict] = ["rejected"]
        dropped: list[Verdict] = ["untested"] * rest
        verdicts[known:] = kept if "rejected" in verdicts[known : known + 1] else (rejected_now + dropped)[:rest]
    drafted = []
    for row, (token, verdict) in enumerate(zip(round.drafted, verdicts, strict=True)):
        if row >= reveal.drafted:
            token = replace(token, id=9, bytes=b" zz", q=0.9, draft_u=0.99, rank_q=7)
        if not reveal.verified:
            raw = token.raw and replace(token.raw, p=0.77, overlap=0.66)
            token = replace(token, p=0.77, accept_prob=0.66, overlap=0.55, rank_p=9, entropy_p=9.0, raw=raw)
        if row >= known:
            token = replace(token, u=0.88, target_sample=9)
        if row >= known or verdict == "rejected":
            top = make_top(" qq", 0.5)
            raw = token.raw and replace(token.raw, p_top=top)
            token = replace(token, p_top=top, residual_top=top, target_sample=9, raw=raw)
        drafted.append(replace(token, verdict=verdict))
    timing = replace(round.timing, decide_ms=77.0, total_ms=177.0)
    return make_round(
        round.index,
        round.start,
        drafted=drafted,
        last=" qq",
        settings=round.settings,
        timing=timing if reveal.verified else replace(timing, verify_ms=66.0),
        plain_reason=round.plain_reason,
        last_u=0.123,
        stop="max_new_tokens",
    )


def cells(app: Gallery, round: Round, row: int | None, reveal: Reveal | None, end: End | None = None) -> list[object]:
    """Every cell of text and round panel with its style, and their titles."""
    text, panel = app.query_one(TextPanel), app.query_one(RoundPanel)
    text.show(round.index, row, reveal)
    panel.show(round, row=row, max_k=4, end=end, reveal=reveal)
    drawn = [list(widget.render_line(y)) for widget in (text, panel) for y in range(widget.content_size.height)]
    return [*drawn, *((str(widget.border_title), str(widget.border_subtitle)) for widget in (text, panel))]


@pytest.mark.parametrize("kind", KINDS)
def test_a_phase_shows_nothing_that_a_later_one_decides(kind: str) -> None:
    async def scenario(app: Gallery, pilot: Pilot[None]) -> None:
        await pilot.pause()
        round_ = KINDS[kind]
        for width in (74, 52):
            app.query_one(RoundPanel).styles.width = width
            await pilot.pause()
            for step in phases(round_)[:-1]:
                other = other_future(round_, step)
                assert other != round_
                for row in (None, focus_row(round_, step), *range(round_.k + 1)):
                    drawn = []
                    for made, end in ((round_, End("max_new_tokens")), (other, End("stop_string", "x"))):
                        app.begin(make_header("Once"), [made], end)
                        drawn.append(cells(app, made, row, step, end))
                    assert drawn[0] == drawn[1], (step, row)

    in_gallery(scenario)


def test_a_row_that_waits_wears_the_style_of_no_verdict() -> None:
    table = RoundTable(Columns.fitting(72, 4), UNICODE)
    stages: tuple[RowStage, ...] = ("drafted", "scored")
    for stage in stages:
        for row in range(4):
            styles = {name for text, name in table.row(example(), row, False, stage) if text.strip()}
            assert styles <= {WAITING, f"mark:{WAITING}", "text", "quiet"}


def test_what_each_phase_of_the_design_round_adds() -> None:
    async def scenario(app: Gallery, pilot: Pilot[None]) -> None:
        made = example()
        app.begin(make_header("Once"), [made])
        panel = app.query_one(RoundPanel)
        steps = phases(made)
        first = {".412": 0, ".301": 1, "␣a": 2, "nd": 3, ".510": 3}
        first |= dict.fromkeys((".530", ".270", ".031", ".466", "1.29", ".82", ".38", "verify"), 4)
        first |= {"✓": 5, ".31 < 1": 5, ".22 < .90": 6, "✗": 7, "·": 7, ".77 ≥ .14": 7, "untested": 7}
        first |= {"↳": 8, "␣Frog": 8, ".290": 8, "residual": 8, "decide": 8}
        for number, step in enumerate(steps):
            panel.show(made, max_k=4, reveal=step)
            await pilot.pause()
            table = inside(panel)[1:6]
            for text, since in first.items():
                lines = inside(panel)[1:] if text in ("verify", "decide") else table
                assert any(text in line for line in lines) == (number >= since), (number, text)
            assert str(panel.border_title) == headline(made, step)
            marks = sum("│" in line[36:] for line in table)
            assert marks == step.decided
            bars = sum("█" in line for line in table)
            assert bars == (0 if not step.verified else 4 if number < 7 else 3)

    in_gallery(scenario)


def test_the_last_phase_draws_exactly_the_whole_round() -> None:
    async def scenario(app: Gallery, pilot: Pilot[None]) -> None:
        demo = read(bundled.trace("bundled:demo"))
        for header, rounds in ((demo.header, demo.rounds), (make_header(), tuple(make_run(20, 3, 4)))):
            app.begin(header, rounds, demo.end)
            for round_ in rounds:
                first, *_, step = phases(round_)
                row = focus_row(round_, step)
                whole = cells(app, round_, row, None, demo.end)
                assert cells(app, round_, row, first, demo.end) != whole
                assert cells(app, round_, row, step, demo.end) == whole
        for round_ in KINDS.values():
            app.begin(make_header("Once"), [round_])
            for row in (None, *range(round_.k + 1)):
                assert cells(app, round_, row, phases(round_)[-1]) == cells(app, round_, row, None)

    in_gallery(scenario)


@pytest.mark.parametrize("kind", KINDS)
def test_rows_stand_still_through_the_phases(kind: str) -> None:
    async def scenario(app: Gallery, pilot: Pilot[None]) -> None:
        panel, round_ = app.query_one(RoundPanel), KINDS[kind]
        names = ("␣ab", "␣cd", "␣ef")[: round_.k]
        for step in phases(round_):
            panel.show(round_, max_k=4, reveal=step)
            await pilot.pause()
            lines = inside(panel)
            places = [next((y for y, line in enumerate(lines[:6]) if name in line), None) for name in names]
            assert places == [row + 1 if row < step.drafted else None for row in range(round_.k)]
            assert ("␣gh" in lines[5]) == (step.last and not round_.cut)
            assert step.last or not any("␣gh" in line for line in lines)
            assert (lines[5] != "") == step.last
            assert lines[-1].startswith((" draft", " no draft")) == (step.drafted == round_.k)

    in_gallery(scenario)


def test_what_is_not_revealed_cannot_be_clicked_or_reached() -> None:
    async def scenario(app: Gallery, pilot: Pilot[None]) -> None:
        before = make_round(1, verdicts="✓✗", tokens=[" ab", " cd"], last=" ef")
        made = make_round(2, verdicts="✓✗", tokens=[" ab", " cd"], last=" ef")
        app.begin(make_header("Once upon"), [before, made])
        text, panel = app.query_one(TextPanel), app.query_one(RoundPanel)
        drafting = Reveal(1, False, 0, False)
        text.show(2, 0, drafting)
        panel.show(made, row=0, max_k=2, reveal=drafting)
        await pilot.pause()
        assert inside(text)[0] == "Once upon ab↳ef?ab"
        for column in (15, 16, 18, 20):
            await pilot.click("#text", offset=(2 + column, 1))
        for line in (2, 3, 4):
            await pilot.click("#round", offset=(10, line))
        text.show(2, 1, drafting)
        assert text.neighbour(-1) is None
        panel.show(made, row=2, max_k=2, reveal=drafting)
        await pilot.pause()
        assert inside(panel)[1].startswith(" > 1 ? ␣ab")
        assert inside(panel)[4].startswith(" ␣ab drafted")

    app = in_gallery(scenario)
    assert [(m.round, m.row) for m in app.posted if isinstance(m, TextPanel.TokenClicked)] == [(2, 0), (2, 0)]
    assert [message.row for message in app.posted if isinstance(message, RoundPanel.RowClicked)] == [0]


def test_neighbours_of_a_ghost_that_waits_are_the_tokens_above_it() -> None:
    async def scenario(app: Gallery, pilot: Pilot[None]) -> None:
        rounds = make_run(60, 4, 1)
        app.begin(make_header(), rounds)
        panel = app.query_one(TextPanel)
        for step in phases(rounds[59]):
            row = focus_row(rounds[59], step)
            panel.show(60, row, step)
            place = panel.neighbour(-1)
            assert place is not None and place < (60, 0)
            panel.show(*place)
            assert panel.neighbour(-1) is not None

    in_gallery(scenario)


def test_a_step_brings_the_text_back_into_view_and_a_resize_keeps_the_phase() -> None:
    async def scenario(app: Gallery, pilot: Pilot[None]) -> None:
        rounds = make_run(120, 4, 1)
        app.begin(make_header(), rounds, End("max_new_tokens"))
        panel, last = app.query_one(TextPanel), rounds[-1]
        panel.show(120, 0, Reveal(4, False, 0, False))
        await pilot.pause()
        panel.scroll_to(y=3, animate=False, immediate=True)
        await pilot.pause()
        panel.show(120, 0, Reveal(4, True, 0, False))
        await pilot.pause()
        assert panel.scroll_offset.y > 3
        assert str(panel.border_subtitle or "") == ""
        await pilot.resize_terminal(80, 24)
        await pilot.pause()
        assert sum(line.count("?") for line in inside(panel)) == 4
        panel.show(120, 0, phases(last)[-1])
        assert "token budget used up" in str(panel.border_subtitle)
        assert not any("?" in line for line in inside(panel))

    in_gallery(scenario)


@pytest.mark.parametrize("ascii", [False, True])
def test_phases_show_hostile_tokens_as_safe_cells(ascii: bool) -> None:
    async def scenario(app: Gallery, pilot: Pilot[None]) -> None:
        tokens = [b"\x1b[2J", "漢".encode()[:2], "[/] \u202e".encode(), "é\n".encode(), b"", b"\xff"]
        rounds = [
            make_round(1, verdicts="✓✓✗···", tokens=tokens, last=b"\x1b]0;t\x07"),
            make_round(2, verdicts="✓✓✓✓✓✓", tokens=tokens[::-1], last="漢"),
        ]
        app.begin(make_header("say"), rounds)
        text, panel = app.query_one(TextPanel), app.query_one(RoundPanel)
        for made in rounds:
            for step in phases(made):
                text.show(made.index, focus_row(made, step), step)
                panel.show(made, max_k=6, reveal=step)
                await pilot.pause()
                for line in (*lines_of(text), *lines_of(panel)):
                    assert_safe(line)
                    assert not ascii or line.isascii(), line

    in_gallery(scenario, ascii=ascii)
