"""A picture of the screen: where it goes, and what is in it."""

import re
from pathlib import Path
from xml.etree import ElementTree

import pytest
from rich.segment import Segment
from rich.style import Style
from rich.terminal_theme import SVG_EXPORT_THEME
from textual.pilot import Pilot
from textual.widgets import Input

from specviz.ui.app import SpecvizApp
from specviz.ui.dialogs.save import SUFFIXES, ScreenshotScreen, both, free_path
from specviz.ui.shared.screenshot import CELL_WIDTH, Picture, svg, text
from tests.builders import make_header, make_round
from tests.core.test_safe_text import NASTY, assert_safe
from tests.ui.conftest import Script, hit, make_app, on_main, ready, sampled, until

SIZE = (120, 40)
TEXT = "{http://www.w3.org/2000/svg}text"
MARKUP = "<script>alert(1)</script>&amp;]]><!--"


def picture_of(*segments: Segment) -> tuple[str, list[ElementTree.Element]]:
    drawn = svg([segments], 20, SVG_EXPORT_THEME)
    return drawn, list(ElementTree.fromstring(drawn).iter(TEXT))


def rule_of(drawn: str, element: ElementTree.Element) -> str:
    found = re.search(rf"\.{element.attrib['class']} {{ (.*?) }}", drawn)
    assert found
    return found[1]


def test_colours_and_attributes_are_those_of_the_screen() -> None:
    drawn, (one,) = picture_of(Segment("saw", Style.parse("bold italic strike underline #e69f00 on #10141b")))
    assert one.text == "saw"
    assert rule_of(drawn, one) == (
        "fill: #e69f00; font-weight: bold; font-style: italic; text-decoration: underline line-through"
    )
    assert '<rect x="0" y="0" width="30" height="20" fill="#10141b"/>' in drawn
    drawn, (one,) = picture_of(Segment("x", Style.parse("reverse #112233 on #445566")))
    assert rule_of(drawn, one) == "fill: #445566"
    assert 'fill="#112233"/>' in drawn
    drawn, (one,) = picture_of(Segment("x", Style.parse("dim #ffffff on #000000")))
    assert rule_of(drawn, one) == "fill: #999999", "four tenths of the background"


def test_every_character_stands_on_its_cell() -> None:
    _, pieces = picture_of(Segment("ab 漢字✓"), Segment("🏳️‍🌈z"))
    placed = [(p.text, float(p.attrib["x"]) / CELL_WIDTH, float(p.attrib["textLength"]) / CELL_WIDTH) for p in pieces]
    assert placed == [("ab", 0, 2), ("漢", 3, 2), ("字", 5, 2), ("✓", 7, 1), ("🏳️‍🌈", 8, 2), ("z", 10, 1)]


def test_blanks_are_drawn_only_where_a_line_runs_through_them() -> None:
    assert not picture_of(Segment("    "))[1]
    assert [p.text for p in picture_of(Segment("a  b", Style(underline=True)))[1]] == ["a  b"]


def test_text_is_the_screen_without_trailing_blanks() -> None:
    assert text([[Segment("a "), Segment("b  ")], [Segment("   ")], [Segment(" c")], []]) == "a b\n\n c\n"


def test_markup_is_text_and_nothing_comes_from_elsewhere() -> None:
    drawn, pieces = picture_of(Segment(MARKUP))
    assert pieces[0].text == MARKUP
    assert "<script" not in drawn
    assert re.findall(r"https?://[^\"]+", drawn) == ["http://www.w3.org/2000/svg"]


async def opened(pilot: Pilot[None], app: SpecvizApp) -> ScreenshotScreen:
    await hit(pilot, "x")
    assert isinstance(app.screen, ScreenshotScreen)
    return app.screen


@pytest.mark.parametrize("way", [(), ("z",), ("m",)])
async def test_x_saves_what_is_on_screen_beside_each_other_and_says_where(
    way: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    app = make_app()
    async with app.run_test(size=SIZE) as pilot:
        await ready(pilot, app)
        await sampled(pilot, app, 2)
        await hit(pilot, *way)
        below = app.screen
        shown = [strip.text.rstrip() for strip in below._compositor.render_strips()]
        screen = await opened(pilot, app)
        assert screen.query_one(Input).value == str(tmp_path / "specviz-round-2.svg")
        await hit(pilot, "enter")
        await until(pilot, lambda: app.screen is below)
        assert (tmp_path / "specviz-round-2.txt").read_text("utf-8").splitlines() == "\n".join(shown).rstrip().split(
            "\n"
        )
        drawn = ElementTree.fromstring((tmp_path / "specviz-round-2.svg").read_text("utf-8"))
        written = "".join(element.text or "" for element in drawn.iter(TEXT))
        assert written.replace(" ", "") == "".join(shown).replace(" ", "")
        message = next(iter(app._notifications)).message
        assert "specviz-round-2.svg" in message and "specviz-round-2.txt" in message


async def test_nothing_is_overwritten_and_half_a_picture_is_not_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "specviz-round-0.txt").write_text("mine")
    (tmp_path / "other.txt").write_text("mine")
    app = make_app()
    async with app.run_test(size=SIZE) as pilot:
        await ready(pilot, app)
        screen = await opened(pilot, app)
        field = screen.query_one(Input)
        assert field.value.endswith("specviz-round-0-2.svg"), "either name being taken"
        for name, read_error in (
            ("other", "other.txt already exists"),
            ("none/x.svg", "No such file"),
            ("\0", "null"),
            ("~nobody-of-that-name/x", "home"),
        ):
            field.value = name
            await hit(pilot, "enter")
            assert app.screen is screen
            shown = "\n".join(strip.text for strip in screen._compositor.render_strips())
            assert read_error in shown, shown
        await hit(pilot, "escape")
        assert on_main(app)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["other.txt", "specviz-round-0.txt"]
    assert {path.read_text() for path in tmp_path.iterdir()} == {"mine"}


def test_both_files_from_either_name(tmp_path: Path) -> None:
    for name in ("run.1", "run.1.svg", "run.1.txt"):
        assert [path.name for path in both(tmp_path / name)] == ["run.1.svg", "run.1.txt"]
    assert free_path(tmp_path, "a", SUFFIXES) == tmp_path / "a.svg"


@pytest.mark.parametrize("theme", ["dark", "light"])
async def test_a_hostile_run_is_text_in_both_and_its_marks_keep_their_colours(theme: str) -> None:
    def make(index: int, settings: object) -> object:
        block = NASTY[(index - 1) * 5 : index * 5]
        return make_round(index, 8, "✓✓✗·", [MARKUP, *block[:3]], block[-1])

    app = make_app(Script(n_rounds=40, make=make, header=make_header(MARKUP)), theme=theme)  # type: ignore[arg-type]
    async with app.run_test(size=SIZE) as pilot:
        await ready(pilot, app)
        for rounds in (1, 14, 40):
            await sampled(pilot, app, rounds)
            picture = Picture.of(app)
            for line in picture.text.splitlines():
                assert_safe(line)
            root = ElementTree.fromstring(picture.svg)
            assert {element.tag.rpartition("}")[2] for element in root.iter()} == {"svg", "style", "rect", "text"}
            for element in root.iter(TEXT):
                assert_safe(element.text or "")
        colour = app.theme_variables["token-accepted"].lower()
        accepted = [e for e in root.iter(TEXT) if e.text == "✓" and colour in rule_of(picture.svg, e).lower()]
        assert accepted
