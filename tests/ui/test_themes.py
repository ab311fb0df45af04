"""Themes from files: what is wrong with one is told by line and key, and they are chosen by looking at them."""

import os
from pathlib import Path

import pytest

from specviz.theming import loader
from specviz.theming.theme_file import PLOTS, TOKENS, BadTheme, ThemeFile, read_theme
from specviz.theming.toml_lines import ThemeProblem, key_lines, parse
from specviz.ui.app import SpecvizApp
from specviz.ui.dialogs.theme import ThemeScreen
from tests.ui.conftest import hit, make_app, on_main, ready

GOOD = (loader.shipped_folder() / "dark.toml").read_text("utf-8")
LINES = GOOD.split("\n")
THREE_ERRORS = (
    GOOD.replace('name = "dark"', 'name = "mine"')
    .replace('success = "#6ccf9c"', 'success = "greenish"')
    .replace("bonus =", "bonuss =")
    .replace('band = "#3d5874"', "band = #3d5874")
)


def line(start: str) -> int:
    """Where the default theme has the line that begins so."""
    (number,) = (number for number, text in enumerate(LINES, 1) if text.startswith(start))
    return number


def put(name: str, text: str) -> Path:
    folder = loader.user_folder()
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    path.write_text(text, "utf-8")
    return path


def renamed(name: str, *changes: tuple[str, str]) -> str:
    text = GOOD.replace('name = "dark"', f'name = "{name}"')
    for before, after in changes:
        assert before in text
        text = text.replace(before, after)
    return text


def problems(tmp_path: Path, text: str) -> tuple[ThemeProblem, ...]:
    path = tmp_path / "mine.toml"
    path.write_text(text, "utf-8")
    bad = read_theme(path)
    assert isinstance(bad, BadTheme)
    assert str(path) in str(bad)
    return bad.problems


NO_COLOR_OF_RGB = 'is not a colour such as "#56b4e9"'


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (('"#6ccf9c"', '"greenish"'), ThemeProblem(line("success"), "colors.success", f"'greenish' {NO_COLOR_OF_RGB}")),
        (('"#6ccf9c"', "3"), ThemeProblem(line("success"), "colors.success", f"3 {NO_COLOR_OF_RGB}")),
        (
            ('"#6ccf9c"', '"#6ccf9c80"'),
            ThemeProblem(line("success"), "colors.success", f"'#6ccf9c80' {NO_COLOR_OF_RGB}"),
        ),
        (
            ('"#6ccf9c"', '"ansi_green"'),
            ThemeProblem(
                line("success"),
                "colors.success",
                "'ansi_green' is one of the terminal's colours: those need ansi = true",
            ),
        ),
        (('success = "#6ccf9c"\n', ""), ThemeProblem(line("[colors]"), "colors.success", "missing")),
        (("success =", "succes ="), ThemeProblem(line("success"), "colors.succes", "unknown key; success is missing")),
        (
            ("success =", "success.a ="),
            ThemeProblem(line("[colors]"), "colors.success", f"{{'a': '#6ccf9c'}} {NO_COLOR_OF_RGB}"),
        ),
        (("dark = true", 'dark = "yes"'), ThemeProblem(line("dark"), "dark", "'yes' is not true or false")),
        (("dark = true", "dark = true\nansi = 1"), ThemeProblem(line("dark") + 1, "ansi", "1 is not true or false")),
        (("dark = true", "dark = true\nfont = 3"), ThemeProblem(line("dark") + 1, "font", "unknown key")),
        (("[plots]", "[plot]"), ThemeProblem(line("[plots]"), "plot", "unknown key; plots is missing")),
        (('name = "dark"\n', ""), ThemeProblem(1, "name", "missing")),
        (
            ('name = "dark"', 'name = "da[/]rk"'),
            ThemeProblem(line("name"), "name", "'da[/]rk' is not a name of letters, digits, - and _"),
        ),
        (('"#6ccf9c"', "green"), ThemeProblem(line("success"), "colors.success", "not TOML: Invalid value")),
        (
            ("success =", 'error = "#ffffff"\nsuccess ='),
            ThemeProblem(line("success"), "colors.error", "not TOML: Cannot overwrite a value"),
        ),
        (
            ("[tokens]", "[tokens"),
            ThemeProblem(line("[tokens]"), "", "not TOML: Expected ']' at the end of a table declaration"),
        ),
    ],
)
def test_what_is_wrong_is_said_once_by_line_and_key(
    tmp_path: Path, change: tuple[str, str], problem: ThemeProblem
) -> None:
    assert change[0] in GOOD
    assert problems(tmp_path, GOOD.replace(*change, 1)) == (problem,)


@pytest.mark.parametrize(
    ("color", "wrong"),
    [
        ("rgb(300,0,0)", "300 is not from 0 to 255"),
        ("rgb(0, -1, 0)", "-1 is not from 0 to 255"),
        ("rgba(0,0,0,1.5)", "1.5 is not from 0 to 1"),
        ("hsl(400,50%,50%)", "400 is not from 0 to 360"),
        ("hsl(10,50%,150%)", "150% is not from 0 to 100"),
    ],
)
def test_a_colour_out_of_range_is_refused(tmp_path: Path, color: str, wrong: str) -> None:
    said = ThemeProblem(line("success"), "colors.success", f"'{color}': {wrong}")
    assert problems(tmp_path, GOOD.replace('"#6ccf9c"', f'"{color}"', 1)) == (said,)


def test_all_that_is_wrong_with_a_file_is_said_in_its_order(tmp_path: Path) -> None:
    assert problems(tmp_path, THREE_ERRORS) == (
        ThemeProblem(line("success"), "colors.success", f"'greenish' {NO_COLOR_OF_RGB}"),
        ThemeProblem(line("bonus"), "tokens.bonuss", "unknown key; bonus is missing"),
        ThemeProblem(line("band"), "plots.band", "not TOML: Invalid value"),
    )


def test_problems_in_words() -> None:
    assert str(ThemeProblem(3, "colors.error", "missing")) == "line 3, colors.error: missing"
    assert str(ThemeProblem(3, "", "not TOML")) == "line 3: not TOML"
    assert str(ThemeProblem(None, "", "not a file")) == "not a file"


@pytest.mark.parametrize(
    ("content", "wrong"),
    [
        (b"name = ", "line 1, name: not TOML: Invalid value"),
        (b"\xff\xfe", "not UTF-8 (byte 0)"),
        (b"", "line 1, name: missing"),
        (b"x = " + b"[" * 5000, "nested"),
        (b"x = " + b"1" * 5000, "not TOML: Exceeds the limit"),
        (b"# " + b"x" * 70_000, "larger than 64 KiB"),
        (b"a = \n" * 50, "line 20"),
        (b'x = """\n\n', "line 3: not TOML: Unterminated string"),
    ],
    ids=["value", "utf-8", "empty", "nested", "digits", "large", "many", "open"],
)
def test_no_file_is_too_broken_to_be_told_of(tmp_path: Path, content: bytes, wrong: str) -> None:
    path = tmp_path / "broken.toml"
    path.write_bytes(content)
    bad = read_theme(path)
    assert isinstance(bad, BadTheme)
    assert bad.name == "broken.toml"
    assert wrong in str(bad)
    assert len(str(bad)) < 2000


def test_what_is_no_file_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.toml")
    (tmp_path / "folder.toml").mkdir()
    (tmp_path / "nowhere.toml").symlink_to(tmp_path / "gone")
    for path in sorted(tmp_path.iterdir()):
        bad = read_theme(path)
        assert isinstance(bad, BadTheme)
        assert [str(problem) for problem in bad.problems] == ["not a file"]


def test_lines_of_keys() -> None:
    text = 'a = 1\n[ b ]\n"c d" = """\n[x]\ny = 1\n"""\n\n[b.e]\n# [f]\n  g.h = 2\ni = { j = 3 }'
    assert key_lines(text) == {"a": 1, "b": 2, "b.c d": 3, "b.e": 8, "b.e.g.h": 10, "b.e.i": 11}


def test_the_lines_that_are_no_toml_are_left_out_of_the_rest() -> None:
    data, wrong = parse("a = 1\nb = x\nc = 2\nd = 'y")
    assert data == {"a": 1, "c": 2}
    assert [(problem.line, problem.key) for problem in wrong] == [(2, "b"), (4, "d")]


def test_a_theme_may_name_the_terminals_colours_if_it_says_so(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(GOOD.replace("dark = true", "dark = true\nansi = true").replace("#10141b", "ansi_default"), "utf-8")
    theme = read_theme(path)
    assert isinstance(theme, ThemeFile)
    assert theme.ansi
    assert (theme.background, theme.foreground) == ("ansi_default", "#d6dde8")


def test_colours_are_handed_on_in_one_form(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(GOOD.replace('"#5bb8ee"', '"hsl(210,50%,50%)"').replace('"#f0e442"', '"Red"'.lower()), "utf-8")
    theme = read_theme(path)
    assert isinstance(theme, ThemeFile)
    assert theme.variables["token-accepted"] == "#407fbf"
    assert theme.variables["token-bonus"] == "#ff0000"


def test_users_themes_load_beside_bad_ones_and_never_shadow_the_shipped() -> None:
    put("a-broken.toml", "name = ")
    put("b-mine.toml", renamed("mine", ("#5bb8ee", "#77ccff")))
    shadow = put("c-shadow.toml", GOOD.replace("#5bb8ee", "#000000"))
    put("d-mine.toml", renamed("mine"))
    named, bad = loader.load_themes()
    assert next(iter(named)) == "dark"
    assert [name for name, theme in named.items() if not theme.shipped] == ["mine"]
    assert list(named)[-1] == "mine"
    assert named["mine"].variables["token-accepted"] == "#77ccff"
    assert named["dark"].variables["token-accepted"] == "#5bb8ee"
    assert [each.path.name for each in bad] == ["a-broken.toml", "c-shadow.toml", "d-mine.toml"]
    assert bad[1] == BadTheme(shadow, "dark", (ThemeProblem(line("name"), "name", "there is already a theme 'dark'"),))
    assert "there is already a theme 'mine'" in str(bad[2])


def test_the_complaint_has_an_end() -> None:
    assert loader.describe_problems([]) == ""
    many = BadTheme(Path("/x/many.toml"), "many", tuple(ThemeProblem(n, "k", "wrong") for n in range(1, 12)))
    more = BadTheme(Path("/x/more.toml"), "more", (ThemeProblem(1, "k", "wrong"),))
    assert loader.describe_problems([many, more]).split("\n") == [
        *(f"many.toml, line {n}, k: wrong" for n in (1, 2, 3)),
        "… and 9 more: specviz themes",
    ]
    assert loader.describe_problems([more]) == "more.toml, line 1, k: wrong"


def said(app: SpecvizApp) -> list[str]:
    return [notification.message for notification in app._notifications]


async def test_a_file_with_three_errors_is_one_notification_and_the_others_load() -> None:
    put("bad [b].toml", THREE_ERRORS)
    put("broken.toml", "[colors")
    put("ocean.toml", renamed("ocean"))
    app = make_app(theme="ocean")
    async with app.run_test() as pilot:
        await pilot.pause()
        assert app.theme == "ocean"
        assert said(app) == [
            f"bad [b].toml, line {line('success')}, colors.success: 'greenish' is not a colour such as \"#56b4e9\"\n"
            f"bad [b].toml, line {line('bonus')}, tokens.bonuss: unknown key; bonus is missing\n"
            f"bad [b].toml, line {line('band')}, plots.band: not TOML: Invalid value\n"
            "… and 1 more: specviz themes"
        ]


async def test_a_theme_that_is_not_there_is_said_and_the_default_used() -> None:
    app = make_app(theme="no such [/] theme")
    async with app.run_test() as pilot:
        await pilot.pause()
        assert app.theme == loader.DEFAULT
        assert said(app) == ['No theme "no such [/] theme": using "dark". `specviz themes` lists them.']


def ground(app: SpecvizApp) -> str:
    return app.main.styles.background.hex.lower()


async def test_the_theme_under_the_cursor_is_on_until_it_is_kept_or_left() -> None:
    app = make_app()
    names = list(loader.load_themes().named)
    second, third = (loader.load_themes().named[name].background for name in names[1:3])
    async with app.run_test(size=(120, 40)) as pilot:
        await ready(pilot, app)
        before = ground(app)
        await hit(pilot, "t", "down")
        assert (app.theme, ground(app)) == (names[1], second)
        await hit(pilot, "t")
        assert (app.theme, ground(app)) == (names[2], third)
        await hit(pilot, "escape")
        assert on_main(app)
        assert (app.theme, ground(app)) == ("dark", before)
        await hit(pilot, "t", "down", "enter")
        assert on_main(app)
        assert (app.theme, ground(app)) == (names[1], second)
        await hit(pilot, "t", "up", "q")
        assert (app.theme, ground(app)) == (names[1], second)
        await hit(pilot, "t", "end", "t")
        assert app.theme == "dark", "the cursor goes round"


async def test_the_list_marks_the_theme_in_use_and_the_users_own() -> None:
    put("ocean.toml", renamed("ocean"))
    put("broken.toml", "name = ")
    app = make_app(theme="light", ascii=True)
    async with app.run_test(size=(80, 24)) as pilot:
        await ready(pilot, app)
        await hit(pilot, "t")
        region = app.screen.query_one(".panel").region
        strips = app.screen._compositor.render_strips()[region.y : region.bottom]
        lines = [strip.crop(region.x, region.right).text.strip("| ") for strip in strips]
        assert ">  vx>+  light" in lines
        assert "vx>+  ocean, yours" in lines
        assert "1 file skipped: see specviz themes" in lines
        assert sum(text.startswith(">") for text in lines) == 1


async def test_files_are_read_again_when_the_list_opens() -> None:
    path = put("ocean.toml", renamed("ocean"))
    app = make_app(theme="ocean")
    async with app.run_test(size=(120, 40)) as pilot:
        await ready(pilot, app)
        assert ground(app) == "#10141b"
        put("ocean.toml", renamed("ocean", ("#10141b", "#04222b")))
        put("reef.toml", renamed("reef", ("#10141b", "#2b0422")))
        await hit(pilot, "t")
        assert (app.theme, ground(app)) == ("ocean", "#04222b")
        await hit(pilot, "down")
        assert (app.theme, ground(app)) == ("reef", "#2b0422")
        await hit(pilot, "escape")
        assert said(app) == []
        path.unlink()
        put("reef.toml", "name = ")
        await hit(pilot, "t")
        assert isinstance(app.screen, ThemeScreen)
        assert len(said(app)) == 1
        await hit(pilot, "escape")
        assert (app.theme, ground(app)) == ("ocean", "#04222b"), "what is in use stays"
        assert "reef" not in app.available_themes
        await hit(pilot, "t", "escape")
        assert len(said(app)) == 1, "nothing new, nothing said"


def test_the_defaults_are_what_textual_lacks() -> None:
    assert set(loader.variable_defaults()) == {f"token-{name}" for name in TOKENS} | {f"plot-{name}" for name in PLOTS}
