"""The formula lab and its page: keys, mouse, what is drawn, and how fast."""

import math
import re
from dataclasses import replace
from itertools import pairwise

import pytest
from textual.pilot import Pilot

from specviz.cli.commands.app import measured
from specviz.core.rule import rule_of
from specviz.lab.model import LabPoint, Mean, SliderValues, TestedPosition, values_origin
from specviz.render.glyphs import ASCII, UNICODE
from specviz.render.k_axis import k_grid, scale, y_axis
from specviz.ui.charts.curve_plot import CurvePlot
from specviz.ui.lab.app import LabApp
from specviz.ui.lab.keys import LAB_KEYS, PAGE_KEYS
from specviz.ui.lab.length_bars import bars
from specviz.ui.lab.lossless_screen import LosslessScreen
from specviz.ui.lab.mass_panel import STAGES
from specviz.ui.lab.screen import LabScreen
from specviz.ui.lab.slider import Slider
from tests.builders import make_drafted
from tests.ui.conftest import Script, hit, make_app, on_main, ready, until

POINT = LabPoint(
    k=4,
    alpha=0.728,
    alpha_ci=(0.635, 0.805),
    c=5.4,
    tokens_per_round=3.03,
    half_width=0.13,
    histogram={1: 10, 2: 5, 3: 5, 4: 5, 5: 12},
    drafts={4: 37},
    formula_at_tested=2.92,
    at_k=Mean(3.03, 0.25),
    positions=(
        TestedPosition(1, 0, make_drafted(" is")),
        TestedPosition(1, 1, make_drafted("[/x]\x1b[31m", q=0.3, p=0.1, overlap=0.4)),
    ),
    at=1,
)
MIXED = replace(POINT, drafts={0: 5, 2: 2, 4: 30}, formula_at_tested=2.52, at_k=Mean(3.3, 0.4))
SIZES = [(80, 24), (120, 40)]


def screen(app: LabApp) -> LabScreen:
    top = app.screen
    assert isinstance(top, LabScreen)
    return top


def page(app: LabApp) -> LosslessScreen:
    top = app.screen
    assert isinstance(top, LosslessScreen)
    return top


def drawn(pilot: Pilot[None]) -> str:
    return "\n".join(strip.text for strip in pilot.app.screen._compositor.render_strips())


@pytest.mark.parametrize("size", SIZES)
async def test_it_starts_from_the_run(size: tuple[int, int]) -> None:
    app = LabApp(POINT)
    async with app.run_test(size=size) as pilot:
        await pilot.pause()
        assert screen(app).choice == SliderValues(0.728, 4, 5.4)
        shown = drawn(pilot)
        for words in (
            "tested .728 [.635 .805]",
            "measured 5.4",
            "E[N] over K   2.92 at K 4",
            "best K 3: 1.70×",
            "× of 37 rounds",
            "measured 3.03 ± 0.13 at K 4",
            "formula 2.92 at tested α (-0.11)",
            "3.68×",
            ".272",
        ):
            assert words in shown, words
        assert re.search(r"\(1 ?− ?\.728\^5\)/\(1 ?− ?\.728\) ?= ?2\.92", shown)
        assert "2.92·5.4/(5.4 + 4) = 1.68×" in shown


@pytest.mark.parametrize("size", SIZES)
async def test_without_a_run_there_is_something_to_play_with(size: tuple[int, int]) -> None:
    app = LabApp(None)
    async with app.run_test(size=size) as pilot:
        await pilot.pause()
        assert screen(app).choice == SliderValues(0.8, 4, 10.0)
        shown = drawn(pilot)
        assert "best K 6: 2.47×" in shown
        assert "measured" not in shown
        assert "no run: values to play with" in shown


async def test_keys_move_the_sliders_and_everything_follows() -> None:
    app = LabApp(POINT)
    async with app.run_test(size=(120, 40)) as pilot:
        await hit(pilot, "right")
        assert screen(app).choice.alpha == 0.73
        await hit(pilot, "left", "left")
        assert screen(app).choice.alpha == 0.71
        assert "(1 − .710^5)/(1 − .710) = 2.83" in drawn(pilot)
        await hit(pilot, "down", "right", "right")
        assert screen(app).choice.k == 6
        assert "P(N = i)   K 6" in drawn(pilot)
        assert "measured 3.03 ± 0.13 at K 4" in drawn(pilot), "what was measured stays"
        await hit(pilot, "plus", "plus", "minus")
        assert screen(app).choice.k == 7
        await hit(pilot, "tab", "end")
        assert screen(app).choice.c == math.inf
        await hit(pilot, "pagedown")
        assert screen(app).choice.c < 1000
        await hit(pilot, "shift+tab", "home")
        assert screen(app).choice.k == 0
        await hit(pilot, "up", "up", "pageup")
        assert screen(app).selected == "c"
        await hit(pilot, "r")
        assert screen(app).choice == SliderValues(0.728, 4, 5.4)


async def test_extreme_choices_are_drawn() -> None:
    app = LabApp(POINT)
    async with app.run_test(size=(80, 24)) as pilot:
        for alpha in ("home", "end"):
            for k in ("home", "end"):
                for c in ("home", "end"):
                    await hit(pilot, alpha, "down", k, "down", c, "down")
                    assert "nan" not in drawn(pilot).lower()
        assert "K ≥ 32: 33.00×" in drawn(pilot)


async def test_the_mouse_slides() -> None:
    app = LabApp(POINT)
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.pause()
        slider = app.screen.query_one("#lab-k", Slider)
        track = slider._track(slider.content_size.width)
        left = 1 + 8 + 5 + 1
        await pilot.mouse_down(slider, offset=(left, 0))
        await pilot.pause()
        assert (screen(app).choice.k, screen(app).selected) == (0, "k")
        await pilot.hover(slider, offset=(left + track - 1, 0))
        await pilot.pause()
        assert screen(app).choice.k == 32
        await pilot.mouse_up(slider, offset=(left + track - 1, 0))
        await pilot.hover(slider, offset=(left, 0))
        await pilot.pause()
        assert screen(app).choice.k == 32, "nothing is dragged any more"
        slider.on_mouse_scroll_down()
        await pilot.pause()
        assert screen(app).choice.k == 31
        await pilot.click("#lab-keys", offset=(app.screen.query_one("#lab-keys").size.width - 1, 0))
        await pilot.click("#lab-keys", offset=(1, 0))
        assert screen(app).selected == "alpha"


async def test_the_measured_point_is_on_both_curves() -> None:
    app = LabApp(POINT)
    async with app.run_test(size=(120, 40)) as pilot:
        await hit(pilot, "down", "home")
        for plot in app.screen.query(CurvePlot):
            text = "\n".join(plot.render_line(y).text for y in range(plot.content_size.height - 1))
            assert "×" in text, "the point"
            assert re.search(r"(?m)^.{5,}│", text), "and its interval"


@pytest.mark.parametrize("size", SIZES)
async def test_every_step_of_a_slider_is_drawn(size: tuple[int, int]) -> None:
    app = LabApp(POINT)
    async with app.run_test(size=size) as pilot:
        await hit(pilot, "home")
        seen = set()
        for _ in range(20):
            screen(app).action_move(1)
            seen.add(drawn(pilot))
        assert len(seen) == 20, "each step is another picture"


async def test_fifty_presses_at_once_all_count() -> None:
    app = LabApp(POINT)
    async with app.run_test(size=(120, 40)) as pilot:
        await hit(pilot, "home", *["right"] * 50)
        assert screen(app).choice.alpha == 0.5
        assert "(1 − .500^5)/(1 − .500) = 1.94" in drawn(pilot)


async def test_leaving() -> None:
    app = LabApp(POINT)
    async with app.run_test(size=(80, 24)) as pilot:
        await hit(pilot, "escape")
        assert app.is_running, "escape never closes the app"
        await hit(pilot, "w", "q")
        assert screen(app).is_current
        await hit(pilot, "w", "escape")
        assert screen(app).is_current
        await hit(pilot, "q")
    assert app.return_code == 0


async def test_the_page_steps_bar_by_bar() -> None:
    app = LabApp(replace(POINT, positions=()))
    async with app.run_test(size=(80, 24)) as pilot:
        await hit(pilot, "w")
        rows = len(page(app).rows)
        assert rows == 6
        assert page(app).last_step == STAGES + rows - 1
        first = drawn(pilot)
        assert "a toy pair" in first and ".700" not in first
        await hit(pilot, "full_stop")
        assert "Together .700: the accept probability" in drawn(pilot)
        await hit(pilot, "full_stop")
        assert "A rejection has probability .300" in drawn(pilot)
        await hit(pilot, "full_stop")
        assert ".200 + .200 = .400 = p" in drawn(pilot)
        await hit(pilot, "right")
        assert ".250 + .000 = .250 = p" in drawn(pilot)
        await hit(pilot, "comma")
        assert ".200 + .200 = .400 = p" in drawn(pilot)
        await hit(pilot, *["full_stop"] * 20)
        assert "Every bar is p again" in drawn(pilot)
        assert re.search(r"sum +1\.00 +1\.00 +\.700 +\.300 +1\.00", drawn(pilot))
        await hit(pilot, *["comma"] * 30)
        assert page(app).step == 0


async def test_the_page_shows_positions_of_the_run() -> None:
    app = LabApp(POINT)
    async with app.run_test(size=(120, 40)) as pilot:
        await hit(pilot, "w")
        shown = drawn(pilot)
        assert "round 1, draft 2   tested position 2 of 2" in shown
        assert "\x1b" not in shown and "[/x]" in shown
        await hit(pilot, "n")
        assert page(app).place == 1
        await hit(pilot, "p", "p")
        assert page(app).place == 0
        assert re.search(r"> ␣is +\.500 +\.400", drawn(pilot))


async def test_a_rule_that_does_not_keep_p_gets_the_toy_pair() -> None:
    app = LabApp(replace(POINT, rule=rule_of("typical")))
    async with app.run_test(size=(120, 40)) as pilot:
        await hit(pilot, "w")
        assert "the rule typical does not keep p" in drawn(pilot)
        assert "toy pair" in drawn(pilot)


@pytest.mark.parametrize("theme", ["dark", "light"])
@pytest.mark.parametrize("point", [None, POINT])
async def test_ascii_is_ascii(theme: str, point: LabPoint | None) -> None:
    app = LabApp(point, theme=theme, ascii=True)
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        assert drawn(pilot).isascii(), [c for c in drawn(pilot) if not c.isascii()]
        await hit(pilot, "w")
        for _ in range(12):
            assert drawn(pilot).isascii(), [c for c in drawn(pilot) if not c.isascii()]
            await hit(pilot, "full_stop")


async def test_any_size_is_drawn() -> None:
    app = LabApp(POINT)
    async with app.run_test(size=(120, 40)) as pilot:
        for size in ((20, 5), (1, 1), (60, 20), (300, 90), (80, 24)):
            await pilot.resize_terminal(*size)
            await pilot.pause()
        await hit(pilot, "w")
        for size in ((20, 5), (1, 1), (40, 12), (120, 40)):
            await pilot.resize_terminal(*size)
            await pilot.pause()
        assert "p = accepted + resampled" in drawn(pilot)


async def test_l_opens_the_lab_on_the_round_shown() -> None:
    app = make_app(Script())
    async with app.run_test(size=(120, 40)) as pilot:
        await ready(pilot, app)
        await hit(pilot, "n", "n", "n")
        await until(pilot, lambda: app.timeline.total >= 3)
        await hit(pilot, "l")
        lab = app.screen
        assert isinstance(lab, LabScreen)
        assert lab.point is not None and lab.point.alpha == app.timeline.rates.alpha_tested
        assert lab.choice.k == app.timeline.settings.k if app.timeline.settings else False
        await hit(pilot, "w", "escape", "escape")
        assert on_main(app)


async def test_l_without_a_round() -> None:
    app = make_app(Script())
    async with app.run_test(size=(80, 24)) as pilot:
        await ready(pilot, app)
        await hit(pilot, "l")
        assert isinstance(app.screen, LabScreen)
        assert app.screen.point is None
        await hit(pilot, "q")
        assert on_main(app)


def test_a_trace_gives_the_point() -> None:
    point = measured("bundled:demo")
    assert point is not None and point.alpha is not None
    assert 0.6 < point.alpha < 0.8
    assert point.at_k is not None and point.at_k.ci is not None and point.positions and point.at == 0
    assert point.drafts == {3: 1, 4: 97}


async def test_every_key_has_an_action() -> None:
    for keys, kind in ((LAB_KEYS, LabScreen), (PAGE_KEYS, LosslessScreen)):
        for key in keys:
            for action in (*key.actions, *(action for _, action in key.aliases)):
                assert hasattr(kind, f"action_{action.split('(')[0]}"), action


def test_scales_are_round_and_hold_the_value() -> None:
    assert [scale(x) for x in (0.7, 1.0, 1.01, 2.47, 9.0, 33.0)] == [0.8, 1.0, 1.5, 3.0, 10.0, 40.0]
    assert scale(1.0, 1.0) > 1.0
    high, ticks = y_axis(1.0, 4.0, 12)
    assert high == pytest.approx(14 / 3) and list(ticks) == ["1", "2", "3", "4"]
    assert y_axis(0.0, 1.5, 2) == (1.5, {"  0": 0.0, "1.5": 1.5})


def test_ticks_stand_on_rows_at_equal_distances() -> None:
    for rows in range(2, 30):
        for low in (0.0, 1.0):
            for least in (1.2, 1.5, 2.0, 3.0, 4.0, 6.0, 10.0, 33.0):
                high, ticks = y_axis(low, least, rows)
                grid = k_grid(20, rows, low, high)
                assert high >= least * (1 - 1e-9)
                positions = [(rows - 1) * (value - low) / (high - low) for value in ticks.values()]
                assert positions == pytest.approx([round(place) for place in positions], abs=1e-6)
                levels = [grid.level(value, rows) for value in ticks.values()]
                assert len({b - a for a, b in pairwise(levels)}) == 1, (rows, low, least)
                assert [float(label) for label in ticks] == pytest.approx(list(ticks.values()))


def test_bars_by_hand() -> None:
    lines = bars([0.5, 0.25, 0.25], None, 18, 4, UNICODE)
    assert ["".join(text for text, _ in line) for line in lines] == [
        ".500              ",
        "█████ .250  .250  ",
        "█████ ▄▄▄▄▄ ▄▄▄▄▄ ",
        "█████ █████ █████ ",
        "1     2     3       ",
    ]
    plain = bars([0.5, 0.5], [1.0, 0.0], 12, 3, ASCII)
    assert all(text.isascii() for line in plain for text, _ in line)


@pytest.mark.parametrize("size", SIZES)
async def test_short_and_plain_rounds_are_compared_with_their_own_formula(size: tuple[int, int]) -> None:
    app = LabApp(MIXED)
    async with app.run_test(size=size) as pilot:
        await pilot.pause()
        shown = drawn(pilot)
        for words in ("at mean K 3.35", "formula 2.52 at tested α (-0.51)", "5 of 37 rounds plain", "mean 3.35"):
            assert words in shown, words
        assert "P(N = i)   K ≤ 4   × of 37 rounds" in shown
        chances = screen(app)._lengths._shown[0]
        rejected = 1 - 0.728
        assert chances[0] == pytest.approx((5 + 32 * rejected) / 37), "plain rounds have one token"
        assert chances[2] == pytest.approx((2 * 0.728**2 + 30 * 0.728**2 * rejected) / 37)
        assert sum(chances) == pytest.approx(1.0)


async def test_the_measured_point_is_of_the_rounds_that_drafted_k() -> None:
    app = LabApp(MIXED)
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.pause()
        lab = screen(app)
        tokens, speed = lab._tokens._view, lab._speed._view
        assert tokens and tokens.measured and tokens.measured.value == 3.3
        assert speed and speed.measured and speed.measured.value == pytest.approx(3.3 * 5.4 / (5.4 + 4))
    app = LabApp(replace(MIXED, drafts={2: 37}, at_k=None))
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.pause()
        for plot in app.screen.query(CurvePlot):
            assert plot._view and plot._view.measured is None, "no round drafted K"
        assert "measured 3.03 ± 0.13 at mean K 2.00" in drawn(pilot)


async def test_only_the_track_answers_the_mouse() -> None:
    app = LabApp(POINT)
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.pause()
        slider = app.screen.query_one("#lab-alpha", Slider)
        track = slider._track(slider.content_size.width)
        left = 1 + 8 + 5 + 1
        for x in (1, 4, left - 1, left + track, left + track + 10):
            await pilot.click(slider, offset=(x, 0))
            await pilot.hover(slider, offset=(left + 5, 0))
            await pilot.pause()
            assert screen(app).choice.alpha == 0.728, x
        await pilot.click(slider, offset=(left, 0))
        await pilot.pause()
        assert screen(app).choice.alpha == 0.0


async def test_the_page_ends_on_the_total_and_cuts_no_sentence() -> None:
    for size in SIZES:
        app = LabApp(replace(POINT, positions=()))
        async with app.run_test(size=size) as pilot:
            await hit(pilot, "w", *["full_stop"] * 20)
            said = " ".join(line.strip("│ ") for line in drawn(pilot).splitlines())
            assert "Every bar is p again: the text is distributed as the target's, whatever q was." in said
            assert "In all: .700 accepted + .300 resampled = 1.00." in said
            assert said.index("In all") > said.index("whatever q was")
    point = measured("bundled:demo")
    app = LabApp(point)
    async with app.run_test(size=(80, 24)) as pilot:
        await hit(pilot, "w", *["full_stop"] * 30)
        assert "= 1.00." in drawn(pilot), "with as many rows as there can be"


async def test_a_small_lab_keeps_results_and_the_way_out() -> None:
    app = LabApp(POINT)
    async with app.run_test(size=(60, 20)) as pilot:
        await pilot.pause()
        shown = drawn(pilot)
        for words in ("= 2.92", "= 1.68×", "K 3: 1.70×", ".434 at K 4", "3.68×", "w why lossless", "q back"):
            assert words in shown, words
        assert "…" not in "".join(line[30:] for line in shown.splitlines()[12:])
        assert "measured 3.03 ± 0.13 " in shown and "at K" not in shown.split("measured 3.03")[1], "whole or not at all"
        await hit(pilot, "down", "home", "down", "home")
        assert re.search(r"even +none ", drawn(pilot))


def test_where_the_starting_values_come_from() -> None:
    assert values_origin(POINT) == "starts from what the run measured"
    assert values_origin(None) == "no run: values to play with"
    assert values_origin(replace(POINT, alpha=None)) == "K and c from the run; not measured, placeholder: α 0.8"
    assert values_origin(replace(POINT, c=None)) == "α and K from the run; not measured, placeholder: c 10"
    assert values_origin(LabPoint(k=4)) == "K from the run; not measured, placeholder: α 0.8, c 10"


@pytest.mark.parametrize("size", SIZES)
async def test_what_was_not_measured_is_named(size: tuple[int, int]) -> None:
    app = LabApp(LabPoint(k=4))
    async with app.run_test(size=size) as pilot:
        await pilot.pause()
        assert "K from the run; not measured, placeholder: α 0.8, c 10" in drawn(pilot)
        await hit(pilot, "w")
        assert "no token was tested up to this round: this is a toy pair" in drawn(pilot)
    app = LabApp(None)
    async with app.run_test(size=size) as pilot:
        await hit(pilot, "w")
        assert "no run: this is a toy pair of six ids" in drawn(pilot)
