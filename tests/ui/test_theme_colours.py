"""The shipped themes: every text can be read on its ground, in the files and on the screens, and verdicts are told
apart."""

import re
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path

import pytest
from rich.color import Color as RichColor
from rich.color import ColorSystem
from rich.style import Style
from textual.color import Color
from textual.constants import DIM_FACTOR
from textual.geometry import Region
from textual.pilot import Pilot

import specviz.ui
from specviz.render.glyphs import SIGNS
from specviz.theming import loader
from specviz.theming.theme_file import ThemeFile
from specviz.ui.app import SpecvizApp
from specviz.ui.dialogs.theme import ThemeScreen
from tests.ui.colours import SIGHT, apart, contrast
from tests.ui.conftest import Script, hit, make_app, on_main, ready, sampled, until

SHIPPED = loader.load_themes().named
IN_RGB = [name for name, theme in SHIPPED.items() if not theme.ansi]
GROUNDS = ("background", "surface", "panel")
VERDICTS = ("accepted", "rejected", "resampled", "bonus")
DIM = ("token-untested", "token-ignored", "token-prompt", "foreground")
"""Colours that text is drawn dim in: foreground for keys that cannot work now."""
TEXT = re.compile(r"[^\W_]|[✓✗↳·–]")
"""What is read, as against lines and bars; some signs of ASCII are both."""


def needed(name: str) -> float:
    return 7.0 if name.startswith("high-contrast") else 4.5


def texts(theme: ThemeFile) -> dict[str, Color]:
    colors = {name: getattr(theme, name) for name in ("foreground", "primary", "secondary", "accent")}
    colors |= {name: getattr(theme, name) for name in ("warning", "error", "success")}
    own = ("token-", "plot-")
    colors |= {name: value for name, value in theme.variables.items() if name.startswith(own) and name != "plot-band"}
    return {name: Color.parse(value) for name, value in colors.items()}


def test_what_is_shipped() -> None:
    assert list(SHIPPED) == [
        "dark",
        "colour-blind-dark",
        "colour-blind-light",
        "high-contrast",
        "high-contrast-light",
        "light",
        "monochrome",
        "terminal",
    ]
    assert [name for name, theme in SHIPPED.items() if theme.ansi] == ["terminal"]
    assert [name for name, theme in SHIPPED.items() if not theme.dark] == [name for name in SHIPPED if "light" in name]


@pytest.mark.parametrize("name", IN_RGB)
def test_every_text_is_readable_on_every_ground(name: str) -> None:
    theme = SHIPPED[name]
    low = []
    for ground_name in GROUNDS:
        ground = Color.parse(getattr(theme, ground_name))
        pairs = texts(theme)
        pairs |= {f"dim {text}": ground.blend(pairs[text], DIM_FACTOR) for text in DIM}
        for text, color in pairs.items():
            if (ratio := contrast(color.rgb, ground.rgb)) < needed(name):
                low.append(f"{text} on {ground_name}: {ratio:.2f}")
    # A text field that has the focus is lifted off its panel.
    field = Color.parse(str(theme.panel)).tint(Color.parse(str(theme.foreground)).with_alpha(0.12))
    for text in ("foreground", "secondary"):
        if (ratio := contrast(texts(theme)[text].rgb, field.rgb)) < needed(name):
            low.append(f"{text} in a field: {ratio:.2f}")
    assert low == []


@pytest.mark.parametrize("name", [name for name in IN_RGB if name != "monochrome"])
def test_sixteen_colours_keep_the_verdicts_apart_and_off_the_ground(name: str) -> None:
    def sixteen(color: str) -> int | None:
        return RichColor.parse(color).downgrade(ColorSystem.STANDARD).number

    theme = SHIPPED[name]
    colors = {kind: sixteen(theme.variables[f"token-{kind}"]) for kind in (*VERDICTS, "plain", "prompt")}
    assert len({colors[kind] for kind in VERDICTS}) == len(VERDICTS), colors
    assert sixteen(str(theme.background)) not in {*colors.values(), sixteen(str(theme.foreground))}


@pytest.mark.parametrize("sight", SIGHT)
@pytest.mark.parametrize("name", ["colour-blind-dark", "colour-blind-light"])
def test_the_colour_blind_themes_keep_verdicts_far_apart_for_every_sight(name: str, sight: str) -> None:
    colors = {kind: Color.parse(SHIPPED[name].variables[f"token-{kind}"]) for kind in (*VERDICTS, "plain")}
    near = {pair: apart(colors[pair[0]], colors[pair[1]], sight) for pair in combinations(colors, 2)}
    assert min(near.values()) >= 15, near


def test_the_distances_are_the_textbook_ones() -> None:
    black, white, red, green = map(Color.parse, ("#000000", "#ffffff", "#ff0000", "#00ff00"))
    assert contrast(black.rgb, white.rgb) == pytest.approx(21)
    assert contrast(Color.parse("#767676").rgb, white.rgb) == pytest.approx(4.54, abs=0.005)
    assert apart(black, white, "all cones") == pytest.approx(100, abs=0.01)
    assert apart(red, green, "all cones") == pytest.approx(170.6, abs=0.1)
    assert apart(Color.parse("#b04000"), Color.parse("#606000"), "protanopia") < 15


def test_the_theme_of_the_terminals_colours_uses_no_other_and_none_twice_where_it_matters() -> None:
    theme = SHIPPED["terminal"]
    colors = texts(theme)
    assert all(color.ansi is not None for color in colors.values())
    grounds = {Color.parse(getattr(theme, ground)).ansi for ground in GROUNDS}
    # The default text colour is never the default ground; any other colour would be the same as both.
    assert grounds == {-1}
    assert len({colors[f"token-{kind}"].ansi for kind in (*VERDICTS, "plain")}) == 5
    assert len({colors[f"plot-{series}"].ansi for series in ("measured", "formula", "formula-2")}) == 3
    # Black, white and their bright kinds are the ground of one terminal or another.
    assert {color.ansi for color in colors.values()} & {0, 7, 8, 15} == set()


def styled(app: SpecvizApp, region: Region) -> Iterator[tuple[str, Style]]:
    """What is on screen inside ``region``, with NO_COLOR and dim applied as for the terminal."""
    for strip in app.screen._compositor.render_strips()[region.y : region.bottom]:
        for segment in strip.crop(region.x, region.right):
            if segment.style is not None:
                yield segment.text, segment.style


def unreadable(app: SpecvizApp, region: Region, ratio: float) -> set[str]:
    low = set()
    for text, style in styled(app, region):
        if TEXT.search(text):
            assert style.color is not None and style.bgcolor is not None, text
            if app.current_theme.ansi:
                same = style.color == style.bgcolor and not style.color.is_default
                found = 0.0 if same else 21.0
            else:
                assert not style.dim, text
                found = contrast(style.color.get_truecolor(), style.bgcolor.get_truecolor())
            if found < ratio:
                low.add(f"{text!r} {style.color.name} on {style.bgcolor.name}: {found:.2f}")
    return low


async def check_all_themes(app: SpecvizApp, pilot: Pilot[None]) -> None:
    """Put on one after the other, every shipped theme leaves all text on screen readable."""
    for name in SHIPPED:
        app.theme = name
        await pilot.pause()
        ground = Color.parse(str(SHIPPED[name].background)).rich_color
        assert ground in {style.bgcolor for _, style in styled(app, app.screen.region)}
        assert unreadable(app, app.screen.region, needed(name)) == set(), name


@pytest.mark.parametrize("ascii", [False, True])
async def test_all_text_on_the_main_screen(ascii: bool) -> None:
    app = make_app(Script(n_rounds=12), paused=False, ascii=ascii)
    async with app.run_test(size=(120, 40), notifications=True) as pilot:
        await ready(pilot, app)
        await until(pilot, lambda: app.timeline.end is not None)
        await hit(pilot, "p", "p", "left")
        app.notify_literal("All is well.")
        app.notify("All is not.", severity="error", markup=False)
        await check_all_themes(app, pilot)


@pytest.mark.parametrize("name", SHIPPED)
async def test_all_text_on_panels(name: str) -> None:
    app = make_app(theme=name)
    async with app.run_test(size=(80, 24)) as pilot:
        await ready(pilot, app)
        await sampled(pilot, app, 2)
        for key in ("question_mark", "e", "ctrl+p", "slash", "colon", "b"):
            await hit(pilot, key)
            (panel,) = app.screen.query(".panel, #--container")
            assert unreadable(app, panel.region, needed(name)) == set(), key
            await hit(pilot, "escape")
            assert on_main(app)


@pytest.mark.parametrize("name", SHIPPED)
async def test_what_is_behind_the_list_of_themes_keeps_its_colours(name: str) -> None:
    app = make_app(theme=name)
    async with app.run_test(size=(120, 40)) as pilot:
        await ready(pilot, app)
        await hit(pilot, "n", "t")
        assert isinstance(app.screen, ThemeScreen)
        panel = app.screen.query_one(".panel").region
        assert panel.width < 40
        assert unreadable(app, Region(0, 0, panel.x, 40), needed(name)) == set()
        # The signs beside the names stand on the grounds of their own themes.
        assert unreadable(app, panel, 4.5) == set()


async def test_all_text_of_a_run_that_failed() -> None:
    app = make_app(Script(n_rounds=4, fail_at=3), paused=False)
    async with app.run_test(size=(120, 40)) as pilot:
        await until(pilot, lambda: app.timeline.failed is not None)
        await check_all_themes(app, pilot)


@pytest.mark.parametrize("name", SHIPPED)
async def test_the_legend_needs_no_colour(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    app = make_app(theme=name)
    async with app.run_test(size=(120, 40)) as pilot:
        await ready(pilot, app)
        region = app.main.query_one("#legend").region
        assert unreadable(app, region, 4.5) == set()
        assert unreadable(app, app.screen.region, 4.5) == set()
        for _, style in styled(app, app.screen.region):
            for color in filter(None, (style.color, style.bgcolor)):
                assert color.is_default if app.current_theme.ansi else len(set(color.get_truecolor())) == 1, color
        line = "".join(text for text, _ in styled(app, region))
        assert all(f"{sign.unicode} {sign.kind}" in line for sign in SIGNS if sign.kind != "prompt")


def test_every_variable_the_styles_use_is_defined_by_every_theme() -> None:
    folder = Path(specviz.ui.__path__[0])
    styles = [path.read_text("utf-8") for kind in ("*.py", "*.tcss") for path in folder.rglob(kind)]
    used = {name for style in styles for name in re.findall(r"\$([a-z][a-z0-9-]*[a-z0-9])(?![{a-z-])", style)}
    assert {"token-bonus", "plot-band", "accent", "border"} <= used
    for theme in SHIPPED.values():
        fixed = theme.variables | {name: value for name, value in vars(theme).items() if isinstance(value, str)}
        assert used - set(fixed) == set(), theme.name
