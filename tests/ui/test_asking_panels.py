"""The panels that ask: breakpoints, find, go to a round. By keys, with hostile tokens, in ASCII and at 80x24."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from textual.app import App
from textual.pilot import Pilot
from textual.screen import Screen
from textual.widgets import Input, Static

from specviz.breakpoints.monitor import Breakpoint, parse_breakpoint
from specviz.core.events import Round
from specviz.theming.loader import load_themes, variable_defaults
from specviz.ui.dialogs.breakpoints import BreakpointsScreen, KindLine
from specviz.ui.dialogs.find import FindScreen, GoToScreen
from specviz.ui.dialogs.find_results import HitList
from specviz.ui.dialogs.help import HelpScreen
from specviz.ui.dialogs.prompt import PromptScreen
from specviz.ui.dialogs.save import SaveScreen
from specviz.ui.main.keys import KEYS
from specviz.ui.widgets.input_field import Field, Toggle
from tests.builders import known, make_round, make_run
from tests.core.test_safe_text import NASTY, assert_safe
from tests.ui.conftest import until

SMALL, LARGE = (80, 24), (120, 40)
NOT_YET = object()


class Around(App[None]):
    """The app's themes and style sheet around one panel; ``answer`` is what it gave."""

    CSS_PATH = "../../specviz/ui/specviz.tcss"

    def __init__(self) -> None:
        super().__init__()
        self.answer: Any = NOT_YET
        for theme in load_themes()[0].values():
            self.register_theme(theme)
        self.theme = "dark"

    def get_theme_variable_defaults(self) -> dict[str, str]:
        return dict(variable_defaults())

    def ask(self, panel: Screen[Any]) -> None:
        self.answer = NOT_YET
        self.push_screen(panel, lambda answer: setattr(self, "answer", answer))


@asynccontextmanager
async def asked(panel: Screen[Any], size: tuple[int, int] = SMALL) -> AsyncIterator[tuple[Around, Pilot[None]]]:
    app = Around()
    async with app.run_test(size=size) as pilot:
        app.ask(panel)
        await pilot.pause()
        yield app, pilot


def screen_lines(app: App[None]) -> list[str]:
    return [strip.text for strip in app.screen._compositor.render_strips()]


def boxed(app: App[None]) -> list[str]:
    """What stands inside the panel's border."""
    return [line.strip()[1:-1].strip() for line in screen_lines(app) if line.strip()][1:-1]


async def write(pilot: Pilot[None], text: str) -> None:
    """Type into the field that has the focus."""
    field = pilot.app.screen.focused
    assert isinstance(field, Field)
    field.value = text
    await pilot.pause()


def parsed(*texts: str) -> tuple[Breakpoint, ...]:
    return tuple(map(parse_breakpoint, texts))


# -- breakpoints


async def test_a_new_breakpoint_is_typed_and_applied() -> None:
    async with asked(BreakpointsScreen(())) as (app, pilot):
        await pilot.press("1", "down", "down", "full_stop", "3", "enter")
        assert app.answer == parsed("N<=1", "overlap<.3")


async def test_what_is_set_is_shown_and_kept_in_the_order_of_the_form() -> None:
    given = parsed("text~ Mr\\.", "end", "token=7", "N<=2", "token=464", "|z|>3", "streak>=4", "p/q<.05", "reject<=1")
    async with asked(BreakpointsScreen(given)) as (app, pilot):
        assert [line.kind for line in app.screen.query(KindLine)] == [
            *("N", "reject", "overlap", "p/q", "token", "token", "token", "text", "text", "streak", "end", "|z|")
        ]
        await pilot.press("enter")
        assert set(app.answer) == set(given)
        assert len(app.answer) == len(given)


async def test_a_cleared_line_is_off_and_a_free_one_takes_another() -> None:
    async with asked(BreakpointsScreen(parsed("N<=1", "token=7", "end"))) as (app, pilot):
        await pilot.press("backspace")
        for _ in range(5):
            await pilot.press("down")
        await pilot.press("8", "enter")
        assert app.answer == parsed("token=7", "token=8", "end")


async def test_end_is_ticked_with_space() -> None:
    async with asked(BreakpointsScreen(())) as (app, pilot):
        for _ in range(2):
            await pilot.press("up")
        assert isinstance(app.screen.focused, Toggle)
        assert "[ ]" in "".join(screen_lines(app))
        await pilot.press("space")
        assert "[x]" in "".join(screen_lines(app))
        await pilot.press("space", "space", "enter")
        assert app.answer == parsed("end")
        app.ask(BreakpointsScreen(parsed("end")))
        await pilot.pause()
        await pilot.click(Toggle)
        await pilot.press("enter")
        assert app.answer == ()


async def test_tab_up_and_down_walk_through_the_fields() -> None:
    async with asked(BreakpointsScreen(())) as (app, pilot):
        kinds = []
        for key in ("tab", "down", "shift+tab", "up", "up"):
            await pilot.press(key)
            line = app.screen.focused.query_ancestor(KindLine) if app.screen.focused else None
            kinds.append(line.kind if line else None)
        assert kinds == ["reject", "overlap", "reject", "N", "|z|"]


@pytest.mark.parametrize(
    ("kind", "bad", "part"),
    [
        ("N", "0", 'N<= needs a whole number from 1, not "0".'),
        ("overlap", "2", "overlap< needs a number above 0, at most 1"),
        ("token", "x", "token= needs the id of a token"),
        ("text", "(", 'text~ cannot search for "("'),
        ("|z|", "-", "|z|> needs a number above 0"),
    ],
)
async def test_a_bad_value_is_said_and_nothing_is_lost(kind: str, bad: str, part: str) -> None:
    async with asked(BreakpointsScreen(parsed("p/q<.5"))) as (app, pilot):
        field = next(line.field for line in app.screen.query(KindLine) if line.kind == kind)
        field.focus()
        await pilot.pause()
        await write(pilot, bad)
        await pilot.press("up", "enter")
        assert app.answer is NOT_YET
        assert part in " ".join(boxed(app))
        assert app.screen.focused is field
        assert isinstance(field, Field)
        assert field.value == bad
        await write(pilot, "")
        await pilot.press("enter")
        assert app.answer == parsed("p/q<.5")


async def test_escape_changes_nothing() -> None:
    async with asked(BreakpointsScreen(parsed("N<=1"))) as (app, pilot):
        await pilot.press("9", "escape")
        assert app.answer is None
        assert len(app.screen_stack) == 1


async def test_an_expression_keeps_its_spaces() -> None:
    async with asked(BreakpointsScreen(())) as (app, pilot):
        next(line.field for line in app.screen.query(KindLine) if line.kind == "text").focus()
        await pilot.pause()
        await write(pilot, " the ")
        await pilot.press("enter")
        assert app.answer == (Breakpoint("text", " the "),)


@pytest.mark.parametrize("size", [SMALL, LARGE])
@pytest.mark.parametrize("ascii", [False, True])
async def test_the_form_fits_and_is_literal(size: tuple[int, int], ascii: bool) -> None:
    hostile = [Breakpoint("text", text) for text in ("[/x] \x1b\\[2J\u202e\t", "[bold]\x1b(")]
    async with asked(BreakpointsScreen([*parsed("N<=1", "end"), *hostile], ascii=ascii), size) as (app, pilot):
        await pilot.press("enter")
        lines = boxed(app)
        for line in screen_lines(app):
            assert_safe(line)
        text = "\n".join(lines)
        for words in ("tokens of the round", "a rejection at this position or before", "agreement of the segment"):
            assert words in text
        assert ("N <=" if ascii else "N ≤") in text
        assert "[/x] " in text
        assert f'text~ cannot search for "[bold]{"^[" if ascii else "␛"}(": missing )' in text
        assert text.isascii() or not ascii


# -- find


def listed(app: App[None]) -> list[str]:
    """The lines of the list below its head."""
    shown = app.screen.query_one(HitList)
    lines = [shown.render_line(y).text.rstrip() for y in range(shown.size.height)]
    return [line for line in lines[1:] if line]


def summary(app: App[None]) -> str:
    return str(app.screen.query_one("#found", Static).render())


async def settled(app: Around, pilot: Pilot[None], words: str) -> None:
    await until(pilot, lambda: words in summary(app), words)
    await pilot.pause()


ROUNDS = [
    make_round(1, verdicts="✓✗·", tokens=[" a", " Mr", " the"], last=" The"),
    make_round(2, verdicts="✓✓", tokens=[" big", " frog"], last="s"),
    make_round(3, verdicts="✗", tokens=[" on"], last=" in"),
    make_round(4, verdicts="", last=" theme"),
]


async def test_the_list_begins_with_all_rejections() -> None:
    async with asked(FindScreen(ROUNDS)) as (app, pilot):
        assert summary(app) == "2 rejections"
        assert listed(app) == [
            " >     1   2 ✗ ␣Mr           .220  .031  u .77 ≥ .14, overlap .38",
            "       3   1 ✗ ␣on           .220  .031  u .77 ≥ .14, overlap .38",
        ]
        await pilot.press("down", "enter")
        assert app.answer == (3, 0)


async def test_the_first_hit_from_the_cursor_on_is_chosen() -> None:
    async with asked(FindScreen(ROUNDS, at=(2, 1))) as (app, pilot):
        await pilot.press("enter")
        assert app.answer == (3, 0)
        app.ask(FindScreen(ROUNDS, at=(4, 0)))
        await pilot.pause()
        await pilot.press("enter")
        assert app.answer == (1, 1)


async def test_text_is_looked_for_as_it_is_typed() -> None:
    async with asked(FindScreen(ROUNDS)) as (app, pilot):
        await pilot.press("t", "h", "e")
        await settled(app, pilot, '3 tokens with "the"')
        assert [line.split()[:4] for line in listed(app)] == [
            [">", "1", "3", "·"],
            ["1", "↳", "␣The", ".020"],
            ["4", "=", "␣theme", "–"],
        ]
        await pilot.press("m")
        await settled(app, pilot, '1 token with "them"')
        await pilot.press("enter")
        assert app.answer == (4, 0)


async def test_enter_waits_for_no_timer() -> None:
    async with asked(FindScreen(ROUNDS)) as (app, pilot):
        app.screen.query_one(Field).value = "frog"
        await pilot.press("enter")
        assert app.answer == (2, 1)


async def test_a_condition_and_one_that_is_not_finished() -> None:
    async with asked(FindScreen(ROUNDS, end_ids=(known(ROUNDS[3].emitted[0].id),))) as (app, pilot):
        await write(pilot, "p/q<.2")
        await settled(app, pilot, '2 hits for the condition "p/q<0.2"')
        assert listed(app)[0].endswith("p/q .14 < .2")
        await write(pilot, "overlap<")
        await settled(app, pilot, 'overlap< needs a number above 0, at most 1, not "".')
        assert listed(app) == []
        await pilot.press("enter")
        assert app.answer is NOT_YET, "there is nowhere to go"
        await write(pilot, "text~(")
        await settled(app, pilot, "text~ cannot search for")
        await write(pilot, "end")
        await settled(app, pilot, '1 hit for the condition "end"')
        await pilot.press("enter")
        assert app.answer == (4, 0)


async def test_a_long_list_is_walked_by_lines_and_pages() -> None:
    rounds = make_run(400, 4, 1)
    rejections = [(index, round.n_accepted) for index, round in enumerate(rounds, 1) if round.tested > round.n_accepted]
    async with asked(FindScreen(rounds)) as (app, pilot):
        assert summary(app) == f"{len(rejections)} rejections"
        found = app.screen.query_one(HitList)
        page = found.page
        assert page == len(listed(app)) > 10
        await pilot.press("up")
        assert found.chosen is not None
        assert found.chosen.round_row == rejections[0]
        await pilot.press("pagedown", "pagedown", "down")
        assert found.chosen.round_row == rejections[2 * page + 1]
        assert sum(line.startswith(" >") for line in listed(app)) == 1
        await pilot.press("pageup")
        assert found.chosen.round_row == rejections[page + 1]
        for _ in range(len(rejections) // page + 1):
            await pilot.press("pagedown")
        assert found.chosen.round_row == rejections[-1]
        assert listed(app)[-1].startswith(" >")
        await pilot.resize_terminal(120, 40)
        await pilot.pause()
        assert sum(line.startswith(" >") for line in listed(app)) == 1
        await pilot.press("enter")
        assert app.answer == rejections[-1]


async def test_a_click_goes_there() -> None:
    async with asked(FindScreen(ROUNDS)) as (app, pilot):
        await pilot.click(HitList, offset=(10, 0))
        await pilot.click(HitList, offset=(10, 9))
        assert app.answer is NOT_YET
        await pilot.click(HitList, offset=(10, 2))
        assert app.answer == (3, 0)


async def test_escape_goes_nowhere_and_letters_are_text() -> None:
    async with asked(FindScreen(ROUNDS)) as (app, pilot):
        await pilot.press("q", "f", "b")
        assert app.screen.query_one(Field).value == "qfb"
        await pilot.press("escape")
        assert app.answer is None


async def test_no_rounds_and_no_rejections() -> None:
    nothing: Sequence[Sequence[Round]] = ([], [make_round(1, verdicts="✓")])
    for rounds in nothing:
        async with asked(FindScreen(rounds)) as (app, pilot):
            assert summary(app) == "0 rejections"
            await pilot.press("down", "pageup", "enter")
            assert app.answer is NOT_YET


@pytest.mark.parametrize("size", [SMALL, LARGE, (60, 20)])
@pytest.mark.parametrize("ascii", [False, True])
async def test_hostile_tokens_are_listed_as_safe_cells(size: tuple[int, int], ascii: bool) -> None:
    rounds = [make_round(1 + i, verdicts="✗", tokens=[data], last=data) for i, data in enumerate(NASTY)]
    async with asked(FindScreen(rounds, ascii=ascii), size) as (app, pilot):
        shown = app.screen.query_one(HitList)
        for top in range(0, len(NASTY), shown.page):
            shown.choose(top + shown.page - 1)
            for y in range(shown.size.height):
                strip = shown.render_line(y)
                assert_safe(strip.text)
                assert strip.cell_length == shown.scrollable_content_region.width
                assert strip.text.isascii() or not ascii
        await write(pilot, "\x1b[2J [/x]\u202e")
        await settled(app, pilot, "0 tokens with")
        for line in screen_lines(app):
            assert_safe(line)
        await write(pilot, "[")
        await settled(app, pilot, 'tokens with "["')
        assert any("[bold]" in line for line in listed(app))


async def test_thousands_of_rounds_are_searched_without_a_wait() -> None:
    rounds = make_run(100, 8, 2) * 50
    async with asked(FindScreen(rounds), LARGE) as (app, pilot):
        await pilot.press("a")
        await pilot.press("enter")
        assert app.answer is not NOT_YET


# -- go to


async def test_a_round_by_its_number() -> None:
    async with asked(GoToScreen(61)) as (app, pilot):
        assert "1 to 61" in " ".join(boxed(app))
        await pilot.press("3", "7", "enter")
        assert app.answer == 37


@pytest.mark.parametrize("typed", ["0", "62", "", "x", "-1", "1.5", "٣", "9" * 400, "[/x]\x1b[2J"])
async def test_no_round_is_refused_in_words(typed: str) -> None:
    async with asked(GoToScreen(61)) as (app, pilot):
        await write(pilot, typed)
        await pilot.press("enter")
        assert app.answer is NOT_YET
        assert "Enter a number from 1 to 61." in " ".join(boxed(app))
        for line in screen_lines(app):
            assert_safe(line)
        await write(pilot, " 61 ")
        await pilot.press("enter")
        assert app.answer == 61


async def test_escape_stays_where_it_is() -> None:
    async with asked(GoToScreen(61, ascii=True)) as (app, pilot):
        assert all(line.isascii() for line in screen_lines(app))
        await pilot.press("3", "escape")
        assert app.answer is None


# -- one answer


async def typed(app: Around, pilot: Pilot[None], *keys: str) -> None:
    """Keys that come so fast that all are there before the first is answered."""
    for key in keys:
        app.simulate_key(key)
    await pilot.pause()


def asking(tmp_path: Path) -> dict[str, tuple[Screen[Any], tuple[str, ...], Any]]:
    """Panels, keys that answer each twice, and the answer."""
    trace = tmp_path / "run.jsonl"
    trace.write_text("{}\n")
    saved = tmp_path / "copy.jsonl"
    save = SaveScreen(trace)
    return {
        "go to": (GoToScreen(61), ("5", "enter", "enter"), 5),
        "find": (FindScreen(ROUNDS), ("enter", "enter"), (1, 1)),
        "breakpoints": (BreakpointsScreen(()), ("1", "enter", "enter"), parsed("N<=1")),
        "prompt": (PromptScreen("Once"), ("enter", "enter"), "Once"),
        "save": (save, ("enter", "enter"), saved),
        "away": (GoToScreen(61), ("escape", "escape"), None),
        "help": (HelpScreen(KEYS), ("question_mark", "question_mark"), None),
    }


@pytest.mark.parametrize("name", ["go to", "find", "breakpoints", "prompt", "save", "away", "help"])
async def test_the_second_of_two_answers_finds_nothing_to_answer(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    panel, keys, answer = asking(tmp_path)[name]
    async with asked(panel) as (app, pilot):
        if name == "save":
            app.screen.query_one(Input).value = str(answer)
        await typed(app, pilot, *keys)
        assert app.answer == answer
        assert len(app.screen_stack) == 1 and app.is_running


async def test_nothing_is_answered_below_another_screen() -> None:
    async with asked(GoToScreen(61)) as (app, pilot):
        below = app.screen
        assert isinstance(below, GoToScreen)
        app.push_screen(HelpScreen(KEYS))
        await pilot.pause()
        below.answer(5)
        await pilot.pause()
        assert app.answer is NOT_YET and isinstance(app.screen, HelpScreen)
        await pilot.press("escape", "7", "enter")
        assert app.answer == 7


# -- little room


async def test_values_have_room_at_60_columns() -> None:
    async with asked(BreakpointsScreen(parsed("overlap<.05", "text~frog|toad")), (60, 20)) as (app, pilot):
        text = "\n".join(boxed(app))
        assert "frog|toad" in text and "overlap < 0.05 " in text and "tokens of the round" in text
        fields = list(app.screen.query(Field))
        assert {field.size.width for field in fields} == {11}
        for _ in range(9):
            await pilot.press("down")
        assert app.screen.focused is not None and app.screen.focused.region.bottom < 19
