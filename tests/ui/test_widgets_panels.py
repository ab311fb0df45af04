"""The panels under Pilot: what they draw, keep in view and report."""

import pytest
from textual.pilot import Pilot

from specviz.core.events import End, Settings
from specviz.render.cells import accept_bar, bar, fit
from specviz.render.glyphs import ASCII, UNICODE
from specviz.ui.charts.positions import PositionsPanel
from specviz.ui.main.legend import Legend
from specviz.ui.main.round_panel import RoundPanel
from specviz.ui.main.round_rows import Columns
from specviz.ui.main.round_strip import RoundStrip, level, window
from specviz.ui.main.text_panel import TextPanel
from tests.builders import known, make_drafted, make_emitted, make_header, make_round, make_run
from tests.render.test_explanations import GREEDY, RAW, example
from tests.ui.gallery import Gallery, in_gallery, inside, lines_of


def test_the_mark_of_a_test_bar_is_inside_exactly_when_accepted() -> None:
    for cells in (1, 8, 14):
        for chance in (0.0, 0.01, 0.14, 0.5, 0.999, 1.0):
            for u in (0.0, 0.009, 0.139, 0.14, 0.49, 0.5, 0.999):
                filled, mark = accept_bar(chance, u, cells)
                assert (mark < filled) == (u < chance)
                assert 0 <= mark < cells and 0 <= filled <= cells


def test_bars_count_in_eighths() -> None:
    assert bar(0.5, 4, UNICODE.eighths) == "██  "
    assert bar(0.78, 10, UNICODE.eighths) == "███████▊  "
    assert bar(0.0, 3, ASCII.eighths) == "   "
    assert bar(1.0, 3, ASCII.eighths) == "###"
    assert fit("漢字漢字", 5) == "漢字…"
    assert fit("ab", 5, right=True) == "   ab"


@pytest.mark.parametrize("max_k", [1, 32])
def test_columns_fit_any_width_and_go_in_order(max_k: int) -> None:
    for width in range(1, 130):
        columns = Columns.fitting(width, max_k)
        if columns.overlap:
            assert columns.ratio
        if columns.ratio:
            assert columns.bar and columns.q and columns.p
        used = 6 + columns.index + columns.token + columns.numbers
        used += sum(cells + 2 for cells in (columns.overlap, columns.bar) if cells) + columns.test + 1
        if width >= 28:
            assert used <= width
        if width >= 72:
            assert columns.overlap and columns.bar >= 12 and columns.token >= 9


def test_the_round_of_the_design_at_its_width() -> None:
    async def scenario(app: Gallery, pilot: Pilot[None]) -> None:
        panel = app.query_one(RoundPanel)
        panel.show(example(), max_k=4)
        await pilot.pause()
        lines = inside(panel)
        assert lines[:8] == [
            "   i   token          q     p   p/q  overlap  ██ accept │ u",
            "   1 ✓ ␣is         .412  .530  1.29      .82  ████│█████████ .31 < 1",
            "   2 ✓ ␣Mr.        .301  .270   .90      .77  ███│█████████░ .22 < .90",
            " > 3 ✗ ␣a          .220  .031   .14      .38  ██░░░░░░░░│░░░ .77 ≥ .14",
            "   4 · nd          .510  .466   .91      .88  untested",
            "     ↳ ␣Frog          –  .290                 replaces 3, residual .41",
            " ␣a rejected: u .77 ≥ min(1, .031/.220) = .14",
            " ↳ ␣Frog drawn from max(0, p − q) with probability .41",
        ]
        assert lines[-1] == " draft 4 × 0.95 ms · verify 7.1 ms · decide 0.4 ms"
        assert "Round 37 · K 4 · 2 of 3 tested accepted · 3 tokens" in lines_of(panel)[0]

    in_gallery(scenario)


def test_narrow_panels_keep_the_numbers_of_the_test_and_of_the_last_token() -> None:
    async def scenario(app: Gallery, pilot: Pilot[None]) -> None:
        panel = app.query_one(RoundPanel)
        panel.show(example(), max_k=4)
        for width, header in ((80, "p p/q overlap ██"), (60, "p p/q ██"), (52, "p ██"), (44, "p")):
            panel.styles.width = width
            await pilot.pause()
            lines = inside(panel)
            assert " ".join(lines[0].split()).startswith(f"i token q {header}")
            assert lines[3].endswith(".77 ≥ .14")
            assert lines[5].endswith("residual .41") or width < 52
            assert max(map(len, lines)) <= width - 2

    in_gallery(scenario)


def test_rows_stand_still_while_k_varies() -> None:
    async def scenario(app: Gallery, pilot: Pilot[None]) -> None:
        panel = app.query_one(RoundPanel)
        places = []
        for verdicts in ("✓✓✗···", "✗", "", "✓✓✓"):
            panel.show(make_round(verdicts=verdicts, settings=Settings(k=6)), max_k=6)
            await pilot.pause()
            lines = inside(panel)
            places.append(next(y for y, line in enumerate(lines[1:]) if line.lstrip(" >")[:1] in ("↳", "+", "=")))
            assert lines[-1].startswith((" draft", " no draft"))
        assert places == [6, 6, 6, 6]

    in_gallery(scenario)


def test_a_long_round_scrolls_to_the_chosen_row() -> None:
    async def scenario(app: Gallery, pilot: Pilot[None]) -> None:
        panel = app.query_one(RoundPanel)
        panel.styles.height = 12
        await pilot.pause()
        long = make_round(verdicts="✓" * 20 + "✗" + "·" * 11)
        for row in (0, 31, 32, 5, 20):
            panel.show(long, row=row, max_k=32)
            await pilot.pause()
            lines = inside(panel)
            assert [line for line in lines if line.startswith(" >")], row
            assert lines[0].split()[:2] == ["i", "token"]
            assert lines[-1].startswith(" draft 32")

    in_gallery(scenario)


def test_greedy_rows_show_raw_numbers_and_no_ratio() -> None:
    async def scenario(app: Gallery, pilot: Pilot[None]) -> None:
        panel = app.query_one(RoundPanel)
        drafted = [
            make_drafted(" is", q=1.0, p=1.0, u=0.9, raw=RAW),
            make_drafted(" a", "rejected", q=1.0, p=0.0, u=0.0, raw=RAW),
        ]
        emitted = [make_emitted(" is", "accepted"), make_emitted(" b", "resampled", p=1.0, residual=1.0)]
        panel.show(make_round(drafted=drafted, emitted=emitted, settings=GREEDY), max_k=4)
        await pilot.pause()
        text = "\n".join(lines_of(panel))
        assert "greedy" in lines_of(panel)[0]
        assert "raw q raw p" in text
        assert "p/q" not in text
        assert ".220  .031" in text

    in_gallery(scenario)


def test_ignored_and_cut_rounds_are_told_in_words() -> None:
    async def scenario(app: Gallery, pilot: Pilot[None]) -> None:
        panel = app.query_one(RoundPanel)
        panel.show(make_round(verdicts="✓––"), max_k=3, end=End("end_of_text", "<|end|>"))
        await pilot.pause()
        lines = lines_of(panel)
        assert sum("ignored" in line for line in lines) == 2
        assert any("no further token" in line for line in lines)
        assert "end of text: <|end|>" in lines[-1]

    in_gallery(scenario)


def test_clicks_name_rows_tokens_and_rounds() -> None:
    async def scenario(app: Gallery, pilot: Pilot[None]) -> None:
        app.begin(
            make_header("Once upon"), [make_round(i, verdicts="✓✗", tokens=[" ab", " cd"], last=" ef") for i in (1, 2)]
        )
        app.show(2)
        await pilot.pause()
        await pilot.click("#round", offset=(10, 2))
        await pilot.click("#round", offset=(10, 4))
        await pilot.click("#round", offset=(10, 1))
        text = inside(app.query_one(TextPanel))[0]
        assert text == "Once upon ab↳ef ab✗cd↳ef"
        for column in (11, 13, 20, 2):
            await pilot.click("#text", offset=(2 + column, 1))
        await pilot.click("#strip", offset=(1, 0))
        await pilot.click("#strip", offset=(3, 0))
        await pilot.click("#strip", offset=(5, 0))
        await pilot.click("#strip", offset=(60, 0))

    app = in_gallery(scenario)
    rows = [message.row for message in app.posted if isinstance(message, RoundPanel.RowClicked)]
    tokens = [(m.round, m.row) for m in app.posted if isinstance(m, TextPanel.TokenClicked)]
    jumps = [message.round for message in app.posted if isinstance(message, RoundStrip.JumpTo)]
    assert rows == [0, 2]
    assert tokens == [(1, 0), (1, 2), (2, 1)]
    assert jumps == [0, 1, 2]


def test_the_text_follows_its_end_until_scrolled_away_and_the_cursor_calls_it_back() -> None:
    async def scenario(app: Gallery, pilot: Pilot[None]) -> None:
        rounds = make_run(120, 4, 1)
        app.begin(make_header(), rounds)
        panel = app.query_one(TextPanel)
        for index in range(1, 101):
            panel.show(index, 0)
        await pilot.pause()
        assert "".join(inside(panel)).rstrip().endswith(known(rounds[99].emitted[-1].bytes).decode().strip())
        panel.scroll_to(y=3, animate=False, immediate=True)
        await pilot.pause()
        for index in range(101, 111):
            panel.show(index, 0)
        await pilot.pause()
        assert panel.scroll_offset.y == 3
        panel.show(110, 1)
        await pilot.pause()
        assert panel.scroll_offset.y > 3
        panel.show(20, 0)
        await pilot.pause()
        assert panel.scroll_offset.y + panel.content_size.height >= 5
        panel.show(0)
        await pilot.pause()
        assert inside(panel)[0] == "Once upon a time there was"

    in_gallery(scenario)


def test_neighbours_are_the_tokens_above_and_below() -> None:
    async def scenario(app: Gallery, pilot: Pilot[None]) -> None:
        rounds = make_run(60, 4, 1)
        app.begin(make_header(), rounds)
        panel = app.query_one(TextPanel)
        panel.show(60, 0)
        seen = []
        place: tuple[int, int] | None = (60, 0)
        while place:
            seen.append(place[0])
            panel.show(*place)
            place = panel.neighbour(-1)
        assert seen == sorted(seen, reverse=True)
        assert seen[-1] <= 5
        below = panel.neighbour(1)
        assert below is None or below > (1, 0)
        panel.show(0)
        assert panel.neighbour(1) is None

    in_gallery(scenario)


def test_a_resize_rewraps_and_keeps_the_end_in_view() -> None:
    async def scenario(app: Gallery, pilot: Pilot[None]) -> None:
        rounds = make_run(80, 4, 1)
        app.begin(make_header(), rounds)
        app.show(80, 0)
        last = known(rounds[-1].emitted[-1].bytes).decode().strip()
        for size in ((80, 24), (120, 40), (60, 20)):
            await pilot.resize_terminal(*size)
            await pilot.pause()
            lines = inside(app.query_one(TextPanel))
            assert "".join(lines).rstrip().endswith(last)
            assert max(map(len, lines)) <= size[0]

    in_gallery(scenario)


def test_a_run_that_ended_says_why_below_its_last_round_only() -> None:
    async def scenario(app: Gallery, pilot: Pilot[None]) -> None:
        app.begin(make_header(), make_run(5, 4, 1), End("max_new_tokens"))
        app.show(5)
        await pilot.pause()
        assert "token budget used up" in lines_of(app.query_one(TextPanel))[-1]
        app.show(4)
        await pilot.pause()
        assert "token budget used up" not in lines_of(app.query_one(TextPanel))[-1]

    in_gallery(scenario)


def test_positions_show_both_rates_with_their_counts() -> None:
    async def scenario(app: Gallery, pilot: Pilot[None]) -> None:
        panel = app.query_one(PositionsPanel)
        assert inside(panel)[0] == "no draft tested yet"
        rounds = [make_round(1, verdicts="✓✗"), make_round(2, verdicts="✗·"), make_round(3, verdicts="✓✓")]
        app.begin(make_header(), rounds)
        app.show(3)
        await pilot.pause()
        lines = inside(panel)
        assert lines[0].split() == ["i", "if", "tested", "of", "all", "rounds"]
        first, second = (
            line.replace("█", "").translate(str.maketrans("", "", "▏▎▍▌▋▊▉")).split() for line in lines[1:3]
        )
        assert first == ["1", ".67", "2/3", ".67", "2/3"]
        assert second == ["2", ".50", "1/2", ".33", "1/3"]
        app.show(0)
        await pilot.pause()
        assert inside(panel)[2].split() == ["2", "–", "0/0", "–", "0/0"]

    in_gallery(scenario)


def test_the_strip_brackets_the_shown_round_and_scrolls_to_it() -> None:
    async def scenario(app: Gallery, pilot: Pilot[None]) -> None:
        strip = app.query_one(RoundStrip)
        strip.show([5, 2, 5, 3, 2], 4, 5)
        assert inside(strip)[0].startswith("0 ▅▂▅[▃]▂  N of each round")
        strip.show([5, 2], 0, 5)
        assert inside(strip)[0].startswith("[0]▅▂")
        strip.show([1] * 500, 500, 5)
        line = inside(strip)[0]
        assert line.endswith("[▁]") and len(line) <= strip.content_size.width
        assert int(line.split()[0]) == 500 - line.count("▁")
        for shown in (250, 1, 499):
            strip.show([1] * (shown - 1) + [2] + [1] * (500 - shown), shown, 5)
            assert "[▂]" in inside(strip)[0]

    in_gallery(scenario)


def test_strip_signs_and_window() -> None:
    assert [level(n, 5, UNICODE) for n in (1, 5)] == ["▁", "▅"]
    assert [level(n, 33, UNICODE) for n in (1, 17, 33)] == ["▁", "▄", "█"]
    assert [level(n, 33, ASCII) for n in (1, 9, 10, 33)] == ["1", "9", "a", "x"]
    assert window(count=10, shown=10, room=20, first=0) == 0
    assert window(count=50, shown=50, room=20, first=0) == 30
    assert window(count=50, shown=40, room=20, first=30) == 30
    assert window(count=50, shown=12, room=20, first=30) == 11
    assert window(count=50, shown=0, room=20, first=30) == 0


def test_the_legend_comes_from_the_table_of_signs() -> None:
    async def scenario(app: Gallery, pilot: Pilot[None]) -> None:
        line = inside(app.query_one(Legend))[0]
        assert line == ("✓ accepted  ✗ rejected  ↳ resampled  + bonus  · untested  – ignored  = plain   (dim: prompt)")
        await pilot.resize_terminal(80, 24)
        await pilot.pause()
        assert inside(app.query_one(Legend))[0].endswith("= plain")

    in_gallery(scenario)


def test_ascii_draws_nothing_else() -> None:
    async def scenario(app: Gallery, pilot: Pilot[None]) -> None:
        app.begin(
            make_header(),
            [*make_run(30, 4, 1), make_round(31, verdicts="✓––", tokens=["é", "漢", "\n"])],
            End("user", "é"),
        )
        app.show(31)
        await pilot.pause()
        for selector in ("#text", "#round", "#alpha", "#tokens", "#positions", "#strip", "#legend"):
            for line in lines_of(app.query_one(selector)):
                assert line.isascii(), (selector, line)

    in_gallery(scenario, ascii=True)
