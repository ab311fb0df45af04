"""The inspector as a widget: what it paints, when, and in how little room."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest
from textual import events
from textual.app import App, ComposeResult
from textual.pilot import Pilot

import specviz.bundled
from specviz.core.events import Prompt, Raw
from specviz.render.glyphs import UNICODE
from specviz.render.phases import RowStage
from specviz.theming.loader import load_themes, variable_defaults
from specviz.trace.jsonl import read
from specviz.ui.inspector.layout import report_lines
from specviz.ui.inspector.panel import Inspector
from tests.builders import known, make_drafted, make_round, make_run, make_token, make_top
from tests.ui.gallery import inside, lines_of
from tests.ui.test_widgets_hostile import MARKUP, assert_shown_safely, hostile_rounds

DEMO = Path(specviz.bundled.__file__).parent / "demo.jsonl"


class Shell(App[None]):
    def __init__(self, theme: str, *, ascii: bool) -> None:
        super().__init__()
        self._start_theme = theme
        self.inspector = Inspector(ascii=ascii)

    def get_theme_variable_defaults(self) -> dict[str, str]:
        return dict(variable_defaults())

    def compose(self) -> ComposeResult:
        yield self.inspector

    def on_mount(self) -> None:
        for theme in load_themes()[0].values():
            self.register_theme(theme)
        self.theme = self._start_theme


Scenario = Callable[[Inspector, Pilot[None]], Awaitable[None]]


def in_shell(scenario: Scenario, size: tuple[int, int] = (70, 32), theme: str = "dark", *, ascii: bool = False) -> None:
    async def run() -> None:
        app = Shell(theme, ascii=ascii)
        async with app.run_test(size=size) as pilot:
            await pilot.pause()
            await scenario(app.inspector, pilot)

    asyncio.run(run())


def test_it_shows_a_token_between_its_borders() -> None:
    async def scenario(inspector: Inspector, pilot: Pilot[None]) -> None:
        assert inside(inspector)[0] == "nothing decided yet"
        inspector.show(make_round(3, verdicts="✓✗·"), 1)
        await pilot.pause()
        lines = lines_of(inspector)
        assert "Inspector · round 3 · draft 2 of 3" in lines[0]
        assert any("rejected" in line for line in lines)

    in_shell(scenario)


def test_the_bundled_run_is_painted_without_its_border_moving() -> None:
    rounds = read(DEMO).rounds

    async def scenario(inspector: Inspector, pilot: Pilot[None]) -> None:
        for round_ in rounds[:3]:
            for row in range(round_.k + 1):
                inspector.show(round_, row)
                await pilot.pause()
                assert {strip.cell_length for strip in map(inspector.render_line, range(30))} == {66}
                assert not inspector.show_vertical_scrollbar

    in_shell(scenario)


def test_showing_the_same_token_again_paints_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scenario(inspector: Inspector, pilot: Pilot[None]) -> None:
        laid_out: list[int] = []
        monkeypatch.setattr(inspector, "refresh", lambda *a, **k: laid_out.append(1))
        round_, other = make_round(1), make_round(1)
        inspector.show(round_, 1)
        once = len(laid_out)
        inspector.show(round_, 1)
        inspector.show(round_, 1, prompt=Prompt("x", ()))
        assert once > 0 and len(laid_out) == once
        inspector.show(round_, 2)
        twice = len(laid_out)
        inspector.show(other, 2)
        assert once < twice < len(laid_out)

    in_shell(scenario)


def test_a_token_is_told_as_far_as_it_is_known() -> None:
    async def scenario(inspector: Inspector, pilot: Pilot[None]) -> None:
        round_ = make_round(3, verdicts="✓✗·")
        told: dict[RowStage, str] = {}
        stages: tuple[RowStage, ...] = ("hidden", "drafted", "scored", "decided")
        for stage in stages:
            inspector.show(round_, 1, known=stage)
            await pilot.pause()
            told[stage] = "\n".join(inside(inspector))
        assert told["hidden"].split("\n")[0] == "nothing decided yet"
        assert "waits for the target" in told["drafted"] and "accepted below" not in told["drafted"]
        assert "waits for its test" in told["scored"] and "accepted below .14" in told["scored"]
        assert "rejected" in told["decided"] and not any("rejected" in told[known] for known in stages[:3])

    in_shell(scenario)


def test_before_the_first_round_it_lists_the_prompt() -> None:
    async def scenario(inspector: Inspector, pilot: Pilot[None]) -> None:
        prompt = Prompt("hi", tuple(make_token(f" t{i}", i) for i in range(400)))
        inspector.show(None, 0, prompt=prompt, special_ids=frozenset({3}))
        await pilot.pause()
        assert "Inspector · prompt · 400 tokens" in lines_of(inspector)[0]
        assert inside(inspector)[0].split() == ["0", "␣t0", "1", "␣t1"]
        assert inspector.show_vertical_scrollbar
        special = [s for s in inspector.render_line(1) if s.style and s.style.reverse]
        assert [segment.text for segment in special] == ["␣t3"]
        inspector.show(None, 0)
        await pilot.pause()
        assert inside(inspector)[0] == "nothing decided yet"

    in_shell(scenario)


def test_the_wheel_scrolls_what_is_too_long_and_a_shorter_token_comes_back_to_its_top() -> None:
    raw = Raw(0.3, 0.4, 0.6, 1.2, 1.3, make_top(" x", 0.4), make_top(" a", 0.4))
    long = make_round(drafted=[make_drafted(" a", raw=raw)])

    async def scenario(inspector: Inspector, pilot: Pilot[None]) -> None:
        inspector.show(long, 0)
        await pilot.pause()
        first = inside(inspector)
        assert not any("raw p target" in line for line in first)
        assert inspector.show_vertical_scrollbar
        inspector.app.animation_level = "none"
        for _ in range(8):
            inspector.post_message(
                events.MouseScrollDown(inspector, 5, 5, 0, 1, 0, False, False, False, screen_x=5, screen_y=5)
            )
        await pilot.pause()
        assert any("raw p target" in line for line in inside(inspector))
        inspector.show(make_round(verdicts=""), 0)
        await pilot.pause()
        assert inside(inspector)[0] == "= ␣Frog  plain"
        assert not inspector.show_vertical_scrollbar

    in_shell(scenario, (70, 28))


def test_a_scrolled_inspector_stays_where_it_is_from_token_to_token() -> None:
    async def scenario(inspector: Inspector, pilot: Pilot[None]) -> None:
        run = make_run(4, 4, 1)
        inspector.show(run[0], 0)
        await pilot.pause()
        inspector.scroll_to(y=3, animate=False, immediate=True)
        await pilot.pause()
        inspector.show(run[1], 1)
        await pilot.pause()
        assert inspector.scroll_offset.y == 3

    in_shell(scenario, (78, 13))


@pytest.mark.parametrize("size", [(1, 1), (2, 2), (5, 3), (20, 5), (40, 12), (78, 13), (90, 42), (120, 40)])
def test_no_size_is_too_small(size: tuple[int, int]) -> None:
    async def scenario(inspector: Inspector, pilot: Pilot[None]) -> None:
        inspector.show(None, 0, prompt=Prompt("", (make_token(" a"),)))
        await pilot.pause()
        for round_ in make_run(3, 5, 1):
            for row in range(6):
                inspector.show(round_, row)
            await pilot.pause()
            lines_of(inspector)
        await pilot.resize_terminal(90, 42)
        await pilot.pause()
        assert inside(inspector)[0].strip()
        await pilot.resize_terminal(*size)
        await pilot.pause()
        lines_of(inspector)

    in_shell(scenario, size)


@pytest.mark.parametrize("ascii", [False, True])
def test_hostile_tokens_are_painted_as_safe_cells(ascii: bool) -> None:
    async def scenario(inspector: Inspector, pilot: Pilot[None]) -> None:
        for round_ in hostile_rounds()[::3]:
            for row in (0, 3, 8, round_.k):
                inspector.show(round_, row)
                assert_shown_safely(inspector)
        await pilot.pause()

    in_shell(scenario, (78, 40), ascii=ascii)


def test_markup_is_painted_literally() -> None:
    async def scenario(inspector: Inspector, pilot: Pilot[None]) -> None:
        for text in MARKUP:
            inspector.show(make_round(verdicts="✗", tokens=[text], last=text), 0)
            await pilot.pause()
            assert inside(inspector)[0] == f"✗ {text}  rejected"
            inspector.show(None, 0, prompt=Prompt(text, (make_token(text, 7),)))
            await pilot.pause()
            assert inside(inspector)[0].startswith(f"7 {text}"[:23])

    in_shell(scenario)


def test_in_ascii_mode_nothing_else_is_painted() -> None:
    async def scenario(inspector: Inspector, pilot: Pilot[None]) -> None:
        for verdicts in ("✓✗·", "✓✓", "✓–", ""):
            round_ = make_round(verdicts=verdicts)
            for row in range(round_.k + 1):
                inspector.show(round_, row)
                await pilot.pause()
                assert all(line.isascii() for line in lines_of(inspector))

    in_shell(scenario, ascii=True)


def test_verdicts_differ_without_colour(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")

    async def scenario(inspector: Inspector, pilot: Pilot[None]) -> None:
        round_ = make_round(verdicts="✓✗·", tokens=[" a", " b", " c"], last=" d")
        looks = []
        for row in range(4):
            inspector.show(round_, row)
            await pilot.pause()
            first = [segment for segment in inspector.render_line(0) if segment.text.strip()]
            name = next(segment for segment in first if segment.text.startswith("␣"))
            assert name.style is not None
            looks.append((first[0].text.strip(), name.style.strike, name.style.underline))
        assert [look[0] for look in looks] == ["✓", "✗", "·", "↳"]
        assert looks[1][1] and looks[3][2]

    in_shell(scenario)


def test_the_numbers_of_the_bundled_run_follow_from_its_trace() -> None:
    """p/q, accept probability, margin and TV of every tested token, worked out again."""
    for round_ in read(DEMO).rounds[:20]:
        for row, drafted in enumerate(round_.drafted):
            lines = ["".join(text for text, _ in line) for line in report_lines(round_, row, 84, 40, UNICODE)]
            found = {}
            for line in lines:
                words = [word for word in line.split("  ") if word.strip()]
                found.update({a.strip(): b.strip() for a, b in pairwise(words)})
            assert found["TV"] == f"{1 - known(drafted.overlap):.3f}"[1:] or known(drafted.overlap) < 0.0005
            chance = min(1.0, known(drafted.ratio))
            margin = f"{abs(known(drafted.u) - chance):.3f}"[1:]
            if abs(known(drafted.u) - chance) >= 0.001:
                assert found["u − accept"] == ("−" if known(drafted.u) < chance else "+") + margin
            assert (found["u − accept"][0] == "−") == (drafted.verdict == "accepted" or known(drafted.u) < chance)
            assert found["rank p"] == str(drafted.rank_p)


def test_a_full_prompt_and_another_theme_repaint() -> None:
    async def scenario(inspector: Inspector, pilot: Pilot[None]) -> None:
        round_ = replace(make_round(verdicts="✗"), index=9)
        inspector.show(round_, 0)
        await pilot.pause()
        dark = [segment.style for segment in inspector.render_line(0)]
        inspector.app.theme = "light"
        await pilot.pause()
        assert [segment.style for segment in inspector.render_line(0)] != dark

    in_shell(scenario)
