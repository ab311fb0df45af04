"""Themes: the shipped ones can be read by everyone, the user's are checked key by key."""

import tomllib
from itertools import combinations
from pathlib import Path

import pytest
from rich.color import Color as RichColor
from rich.color import ColorSystem
from textual.color import Color
from textual.theme import Theme

from specviz.ui import themes
from specviz.ui.app import DIMMED
from tests.ui.conftest import make_app

SHIPPED = sorted(themes.shipped_folder().glob("*.toml"))
APART = ("accepted", "rejected", "resampled", "bonus")
DIM = ("untested", "ignored", "prompt")


def contrast(a: Color, b: Color) -> float:
    """WCAG 2 contrast ratio."""

    def luminance(color: Color) -> float:
        channels = [c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in color.normalized]
        return 0.2126 * channels[0] + 0.7152 * channels[1] + 0.0722 * channels[2]

    light, dark = sorted((luminance(a), luminance(b)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def test_two_themes_are_shipped_and_load() -> None:
    loaded, failed = themes.load_themes()
    assert list(loaded) == ["dark", "light"]
    assert failed == []
    assert loaded["dark"].dark
    assert not loaded["light"].dark


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.stem)
def test_every_text_is_readable_on_every_ground(path: Path) -> None:
    data = tomllib.loads(path.read_text("utf-8"))
    grounds = {name: Color.parse(data["colors"][name]) for name in ("background", "surface", "panel")}
    texts = {name: data["colors"][name] for name in ("foreground", "primary", "secondary", "accent", "warning")}
    texts |= {name: data["colors"][name] for name in ("error", "success")}
    texts |= {f"token {name}": value for name, value in data["tokens"].items()}
    texts |= {f"plot {name}": value for name, value in data["plots"].items() if name != "band"}
    low = []
    for ground_name, ground in grounds.items():
        for name, value in texts.items():
            color = Color.parse(value)
            if name.removeprefix("token ") in DIM:
                color = ground.blend(color, DIMMED)
            if (ratio := contrast(color, ground)) < 4.5:
                low.append(f"{name} on {ground_name}: {ratio:.2f}")
    assert low == []


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.stem)
def test_sixteen_colours_keep_the_verdicts_apart_and_off_the_ground(path: Path) -> None:
    data = tomllib.loads(path.read_text("utf-8"))

    def sixteen(value: str) -> int | None:
        return RichColor.parse(value).downgrade(ColorSystem.STANDARD).number

    colors = {name: sixteen(data["tokens"][name]) for name in APART}
    assert len(set(colors.values())) == len(APART), colors
    ground = sixteen(data["colors"]["background"])
    for name in (*APART, "plain", "prompt"):
        assert sixteen(data["tokens"][name]) != ground, name
    for a, b in combinations(("foreground", "background"), 2):
        assert sixteen(data["colors"][a]) != sixteen(data["colors"][b])


GOOD = SHIPPED[0].read_text("utf-8")


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (('success = "#6ccf9c"', 'success = "greenish"'), "colors.success: 'greenish' is not a colour"),
        (('success = "#6ccf9c"', "success = 3"), "colors.success: 3 is not a colour"),
        (('success = "#6ccf9c"\n', ""), "colors.success: missing"),
        (('success = "#6ccf9c"', 'succes = "#6ccf9c"'), "colors.succes: unknown key"),
        (("dark = true", 'dark = "yes"'), "dark: true or false is needed"),
        (("dark = true", "dark = true\nfont = 3"), "font: unknown key"),
        (("[plots]", "[plot]"), "[plots]: missing"),
        (('name = "dark"', ""), "name: a text is needed"),
    ],
)
def test_what_is_wrong_is_said_by_key(tmp_path: Path, change: tuple[str, str], problem: str) -> None:
    assert change[0] in GOOD
    path = tmp_path / "mine.toml"
    path.write_text(GOOD.replace(*change, 1), "utf-8")
    bad = themes.read_theme(path)
    assert isinstance(bad, themes.BadTheme)
    assert any(problem in each for each in bad.problems), bad.problems
    assert str(path) in str(bad)


@pytest.mark.parametrize("content", [b"name = ", b"\xff\xfe", b""])
def test_a_broken_file_is_reported_not_raised(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "broken.toml"
    path.write_bytes(content)
    assert isinstance(themes.read_theme(path), themes.BadTheme)


def put(name: str, text: str) -> Path:
    folder = themes.user_folder()
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    path.write_text(text, "utf-8")
    return path


def test_users_themes_load_beside_bad_ones_and_never_shadow_the_shipped() -> None:
    put("a-broken.toml", "name = ")
    put("b-mine.toml", GOOD.replace('name = "dark"', 'name = "mine"').replace("#56b4e9", "#77ccff"))
    shadow = put("c-shadow.toml", GOOD.replace("#56b4e9", "#000000"))
    loaded, failed = themes.load_themes()
    assert list(loaded) == ["dark", "light", "mine"]
    assert loaded["mine"].variables["token-accepted"] == "#77ccff"
    assert loaded["dark"].variables["token-accepted"] == "#56b4e9"
    assert [bad.path.name for bad in failed] == ["a-broken.toml", "c-shadow.toml"]
    assert 'already a theme "dark"' in str(failed[1])
    assert failed[1].path == shadow


async def test_the_app_says_what_it_left_out_and_falls_back() -> None:
    put("broken [b].toml", "name = ")
    app = make_app(theme="no such [/] theme")
    async with app.run_test() as pilot:
        await pilot.pause()
        assert app.theme == themes.DEFAULT
        said = [notification.message for notification in app._notifications]
        assert any("broken [b].toml" in message for message in said)
        assert any('No theme "no such [/] theme"' in message for message in said)


def test_cycling_comes_round() -> None:
    assert themes.after("dark", ["dark", "light", "mine"]) == "light"
    assert themes.after("mine", ["dark", "light", "mine"]) == "dark"
    assert themes.after("gone", ["dark", "light"]) == "dark"


def test_every_variable_the_styles_use_is_defined() -> None:
    defined = set(themes.variable_defaults())
    for theme in themes.load_themes()[0].values():
        assert isinstance(theme, Theme)
        assert defined <= set(theme.variables)
    assert {f"token-{name}" for name in themes.TOKENS} | {f"plot-{name}" for name in themes.PLOTS} == defined
