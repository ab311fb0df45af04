"""The metrics screen by its keys: tabs, orders, the way to a round, following a run."""

import pytest
from textual.binding import Binding
from textual.pilot import Pilot
from textual.strip import Strip

from specviz.stats.draft_table import DraftTable
from specviz.stats.run_stats import RunStats
from specviz.ui.main.keys import KEYS
from specviz.ui.metrics.scope import Scope, scope_of
from specviz.ui.metrics.screen import MetricsScreen
from specviz.ui.metrics.tokens_tab import TokenTable
from specviz.ui.run.timeline import Timeline
from specviz.ui.widgets.line_list import LineList
from tests.builders import make_drafted, make_round, make_run
from tests.core.test_safe_text import NASTY, assert_safe
from tests.ui.conftest import hit, until
from tests.ui.metrics import Host, calibrated, fields, in_metrics, small, timeline_of

SIZES = [(80, 24), (120, 40), (200, 50), (60, 20), (30, 8), (1, 1)]
TO_TOKENS = ("left",)
"""From the first tab."""


def tab(app: Host) -> str:
    """The tab in brackets."""
    line = app.said("#metrics-tabs")[0]
    return line[line.index("[") + 1 : line.index("]")]


def test_keys_go_through_the_tabs() -> None:
    async def scenario(app: Host, pilot: Pilot[None]) -> None:
        assert app.said("#metrics-tabs")[0].split("  ") == ["[Acceptance]", "Tokens per round", " Speed", " Tokens"]
        seen = []
        for key in ("right", "tab", "right", "tab", "left", "shift+tab"):
            await hit(pilot, key)
            seen.append(tab(app))
        assert seen == ["Tokens per round", "Speed", "Tokens", "Acceptance", "Tokens", "Speed"]
        assert app.said("#metrics-page")[0].strip().startswith("Median times of a round")
        assert app.said("#metrics-keys")[0].split() == ["←/→", "tab", "↑/↓", "scroll", "q", "back"]
        await pilot.press("right")
        keys = "←/→ tab  s order  ↑/↓ row  enter go to its round  q back"
        assert app.said("#metrics-keys")[0].strip() == keys


def test_no_key_means_something_else_here() -> None:
    """The one key table holds on every screen: what it names is not taken for a tab or an order."""
    own = {key for binding in MetricsScreen.BINDINGS if isinstance(binding, Binding) for key in binding.key.split(",")}
    named = {key for rows in KEYS.values() for row in rows for key in row.keys}
    assert own & named == {"q", "escape", "m", "left", "right", "x"}

    async def scenario(app: Host, pilot: Pilot[None]) -> None:
        await hit(pilot, *"rtcoiapTGS")
        assert tab(app) == "Acceptance"
        await hit(pilot, *TO_TOKENS)
        await until(pilot, lambda: app.table.row_count == 11)
        await hit(pilot, *"rtcoiap")
        assert (tab(app), app.table.position, app.table.row_count) == ("Tokens", (4, 0), 11)

    in_metrics(small(), scenario)

    in_metrics(small(), scenario)


def test_the_mouse_takes_a_tab_and_an_order() -> None:
    async def scenario(app: Host, pilot: Pilot[None]) -> None:
        at = app.said("#metrics-tabs")[0].index("Tokens", 30)
        await pilot.click("#metrics-tabs", offset=(at, 0))
        assert tab(app) == "Tokens"
        await pilot.click("#orders", offset=(app.said("#orders")[0].index("most costly"), 0))
        assert app.table.row_count == 3

    in_metrics(small(), scenario)


@pytest.mark.parametrize("key", ["q", "escape", "m"])
def test_back_brings_no_place(key: str) -> None:
    async def scenario(app: Host, pilot: Pilot[None]) -> None:
        await pilot.press(key)
        assert app.results == [None]
        assert app.screen is not app.metrics

    in_metrics(small(), scenario)


def test_orders_and_the_way_to_the_round() -> None:
    async def scenario(app: Host, pilot: Pilot[None]) -> None:
        await pilot.press(*TO_TOKENS)
        await pilot.pause()
        assert app.table.row_count == 11
        assert app.table.position == (4, 0)
        taken = []
        for _ in range(5):
            await pilot.press("s")
            line = app.said("#orders")[0]
            taken.append(line[line.index("[") + 1 : line.index("]")])
        assert taken == ["most costly", "lowest overlap", "rejected ids", "lowest p/q", "most costly"]
        await pilot.press("down")
        assert (app.table.row_count, app.table.position) == (3, (2, 1))
        assert app.said(".note")[0].strip().startswith("all 3 rejections")
        await pilot.press("enter")
        assert app.results == [(2, 1)]

    in_metrics(small(), scenario)


def test_an_id_leads_to_its_dearest_rejection() -> None:
    async def scenario(app: Host, pilot: Pilot[None]) -> None:
        await pilot.press(*TO_TOKENS, "s", "s", "s", "down", "enter")
        assert app.results == [(2, 1)]

    in_metrics(small(), scenario)


def test_enter_goes_nowhere_without_a_row_and_orders_wait_for_their_tab() -> None:
    async def scenario(app: Host, pilot: Pilot[None]) -> None:
        await pilot.press("enter", "s", *TO_TOKENS, "enter", "s", "s", "s", "enter")
        assert app.results == []
        assert app.screen is app.metrics

    in_metrics(timeline_of([]), scenario)


def test_rows_beyond_the_first_picture_follow() -> None:
    async def scenario(app: Host, pilot: Pilot[None]) -> None:
        await pilot.press(*TO_TOKENS)
        await until(pilot, lambda: app.table.row_count == 500)
        assert app.said(".note")[0].strip() == "the first 500 of 615 tested tokens without 185 that had no test"

    in_metrics(calibrated(make_run(200, 4)), scenario, (80, 24))


def test_the_mouse_takes_a_row_and_then_its_round() -> None:
    async def scenario(app: Host, pilot: Pilot[None]) -> None:
        await hit(pilot, *TO_TOKENS)
        await pilot.click("TokenTable", offset=(10, 0))
        await pilot.click("TokenTable", offset=(10, 30))
        assert (app.table.cursor_row, app.results) == (0, []), "neither the head nor what is below is a row"
        await pilot.click("TokenTable", offset=(10, 3))
        assert (app.table.cursor_row, app.table.position, app.results) == (2, (5, 1), [])
        await pilot.click("TokenTable", offset=(10, 3))
        assert app.results == [(5, 1)]

    in_metrics(small(), scenario)


def test_keys_walk_through_a_long_table() -> None:
    async def scenario(app: Host, pilot: Pilot[None]) -> None:
        await hit(pilot, *TO_TOKENS)
        page = app.table.size.height - 1
        for key, row in (("down", 1), ("up", 0), ("up", 0), ("pagedown", page), ("end", 499), ("down", 499)):
            await hit(pilot, key)
            assert app.table.cursor_row == row, key
            assert app.table.scroll_offset.y == max(0, row - page + 1)
        await hit(pilot, "pageup", "pageup")
        assert app.table.cursor_row == app.table.scroll_offset.y == 499 - 2 * page
        await hit(pilot, "home")
        assert app.table.cursor_row == app.table.scroll_offset.y == 0

    in_metrics(calibrated(make_run(200, 4)), scenario, (80, 24))


def test_only_lines_that_changed_are_drawn_again(monkeypatch: pytest.MonkeyPatch) -> None:
    even = [make_round(i, drafted=[make_drafted("a", p=0.5, q=0.5)] * 4) for i in range(1, 131)]
    higher = make_round(131, drafted=[make_drafted("c", p=0.6, q=0.4)])
    lower = make_round(132, drafted=[make_drafted("b", "rejected", p=0.1, q=0.8, u=0.9)])
    timeline = timeline_of(even)
    drawn: list[int] = []

    def draw(table: TokenTable, y: int) -> Strip:
        drawn.append(y)
        return LineList.render_line(table, y)

    async def scenario(app: Host, pilot: Pilot[None]) -> None:
        monkeypatch.setattr(TokenTable, "render_line", draw)
        await hit(pilot, *TO_TOKENS)
        assert drawn
        quiet = 0
        while quiet < 5:
            await pilot.pause()
            quiet = 0 if drawn else quiet + 1
            drawn.clear()
        timeline.add(higher)
        await until(pilot, lambda: "of 521 tested" in app.said(".note")[0])
        await pilot.pause()
        assert drawn == []
        await hit(pilot, "down")
        assert drawn == [1, 2], "the line that the cursor left and the one it came to"
        timeline.add(lower)
        await until(pilot, lambda: "of 522 tested" in app.said(".note")[0])
        await pilot.pause()
        assert app.table.cursor_row == 2 and app.table.position == (1, 1), "it stays on its token"
        assert app.table.scroll_offset.y == 1, "and that on its line"
        await hit(pilot, "home")
        assert "b" in app.said("TokenTable")[1].split()

    in_metrics(timeline, scenario)


def test_a_page_scrolls_and_begins_at_its_top() -> None:
    async def scenario(app: Host, pilot: Pilot[None]) -> None:
        assert app.page.max_scroll_y > 0
        await pilot.press("end")
        await until(pilot, lambda: app.page.scroll_offset.y == app.page.max_scroll_y)
        assert app.said("#metrics-page")[-1].strip().startswith(".9 – 1")
        await pilot.press("right")
        await pilot.pause()
        assert app.page.scroll_offset.y == 0

    in_metrics(small(), scenario, (80, 24))


def test_it_follows_the_run_and_costs_nothing_while_nothing_happens(monkeypatch: pytest.MonkeyPatch) -> None:
    rounds = make_run(40)
    timeline = calibrated(rounds[:20])
    computed: list[int] = []

    def counted(stats: RunStats, drafts: DraftTable, shown: int) -> Scope:
        computed.append(shown)
        return scope_of(stats, drafts, shown)

    monkeypatch.setattr("specviz.ui.metrics.screen.scope_of", counted)

    async def scenario(app: Host, pilot: Pilot[None]) -> None:
        looks = 0

        def look() -> None:
            nonlocal looks
            looks += 1

        watching = app.metrics.set_interval(0.01, look)
        await until(pilot, lambda: looks > 5)
        watching.stop()
        assert computed == [20]
        for round in rounds[20:]:
            timeline.add(round)
        await until(pilot, lambda: computed[-1] == 40)
        await pilot.pause()
        assert "all 40 rounds" in app.said("#metrics-title")[0]
        accepted, tested = sum(r.n_accepted for r in rounds), sum(r.tested for r in rounds)
        assert fields(app.said("#metrics-page"), "α tested")[3:6] == [f"{accepted}", "of", f"{tested}"]
        timeline.clear()
        await until(pilot, lambda: computed[-1] == 0)
        await pilot.pause()
        assert "no round yet" in app.said("#metrics-title")[0]

    in_metrics(timeline, scenario)


def test_the_cursor_stays_on_its_token_while_rounds_arrive() -> None:
    rounds = make_run(30)
    timeline = calibrated(rounds[:20])

    async def scenario(app: Host, pilot: Pilot[None]) -> None:
        await pilot.press(*TO_TOKENS, "down", "down", "down")
        before = app.table.position
        assert before is not None and app.table.cursor_row == 3
        for round in rounds[20:]:
            timeline.add(round)
        tested = sum(round.tested for round in rounds)
        await until(pilot, lambda: app.table.row_count == tested)
        await pilot.pause()
        assert app.table.position == before

    in_metrics(timeline, scenario)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("ascii", [False, True])
def test_every_tab_at_every_size(size: tuple[int, int], ascii: bool) -> None:
    async def scenario(app: Host, pilot: Pilot[None]) -> None:
        for key in ("right", "right", "right", "s", "s", "s"):
            await hit(pilot, key)
            assert all(line.isascii() for line in screen_lines(app)) or not ascii
        await pilot.resize_terminal(100, 30)
        await pilot.pause()
        assert app.table.row_count > 0

    in_metrics(calibrated(make_run(40, 8)), scenario, size, ascii=ascii)


def screen_lines(app: Host) -> list[str]:
    widgets = ("#metrics-title", "#metrics-tabs", "#metrics-page", "#orders", "TokenTable", ".note", "#metrics-keys")
    return [line for widget in widgets if app.metrics.query_one(widget).size for line in app.said(widget)]


def test_hostile_tokens_reach_the_screen_as_safe_cells() -> None:
    rounds = [
        make_round(i, drafted=[make_drafted(data, "rejected", q=0.4, p=0.1, u=0.9, token_id=i)])
        for i, data in enumerate(NASTY, start=1)
    ]

    async def scenario(app: Host, pilot: Pilot[None]) -> None:
        await pilot.press(*TO_TOKENS)
        for keys in ((), ("s", "s", "s")):
            await pilot.press(*keys)
            await until(pilot, lambda: app.table.row_count == min(500, len(NASTY)))
            for _ in range(len(NASTY) // 40 + 1):
                for line in app.said("TokenTable"):
                    assert_safe(line)
                await hit(pilot, "pagedown")

    in_metrics(timeline_of(rounds), scenario, (120, 50))


def test_the_first_of_two_answers_counts() -> None:
    async def scenario(app: Host, pilot: Pilot[None]) -> None:
        await hit(pilot, *TO_TOKENS)
        await hit(pilot, "enter", "enter")
        assert app.results == [(4, 0)]
        assert app.is_running and app.screen is not app.metrics

    in_metrics(small(), scenario)


def test_a_round_in_its_phases_is_not_counted() -> None:
    timeline = calibrated(make_run(12))
    timeline.show_phase(12, 1)

    async def scenario(app: Host, pilot: Pilot[None]) -> None:
        assert "rounds 1 to 11 of 12" in app.said("#metrics-title")[0]
        await hit(pilot, *TO_TOKENS)
        tested = sum(round.tested for round in timeline.rounds[:11])
        await until(pilot, lambda: app.table.row_count == tested)

    in_metrics(timeline, scenario)


def test_a_theme_recolours_the_table() -> None:
    def colors(app: Host) -> set[str]:
        strip = app.table.render_line(3)
        return {str(segment.style.color) for segment in strip if segment.style}

    async def scenario(app: Host, pilot: Pilot[None]) -> None:
        await pilot.press(*TO_TOKENS)
        await pilot.pause()
        dark = colors(app)
        app.theme = "light"
        await until(pilot, lambda: not dark & colors(app))

    in_metrics(small(), scenario)


def test_a_row_of_the_timeline_is_where_the_place_leads() -> None:
    timeline: Timeline = small()

    async def scenario(app: Host, pilot: Pilot[None]) -> None:
        await pilot.press(*TO_TOKENS, "enter")
        assert app.results == [(4, 0)]
        timeline.show(*app.results[0] or (0, 0))
        assert timeline.round is not None
        assert timeline.round.drafted[timeline.row].verdict == "rejected"

    in_metrics(timeline, scenario)
