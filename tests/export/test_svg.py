"""The picture of a run."""

from xml.etree import ElementTree

import pytest

from specviz.export.film import frames
from specviz.export.palette import Palette, palettes
from specviz.export.report import Recording
from specviz.export.svg import frame_svg, to_svg
from specviz.theming.loader import load_themes
from tests.builders import make_round
from tests.export.runs import hostile, recording, sampled, small, unsafe

NS = "{http://www.w3.org/2000/svg}"
HARMLESS = {f"{NS}{name}" for name in ("svg", "title", "style", "rect", "text", "path", "g")}


@pytest.fixture(scope="module")
def palette() -> Palette:
    return palettes("light", load_themes()).one


def texts(svg: str, name: str) -> list[str]:
    return [str(el.text) for el in ElementTree.fromstring(svg).iter(f"{NS}text") if el.get("class") == name]


def test_text_numbers_and_charts(palette: Palette) -> None:
    svg = to_svg(small(), palette)
    assert "↳frog" in texts(svg, "c resampled")
    assert "and a" in " ".join(texts(svg, "c accepted"))
    assert texts(svg, "value")[:3] == [".800", ".732", "3.00"]
    assert len(list(ElementTree.fromstring(svg).iter(f"{NS}svg"))) == 5
    assert palette.colors["background"] in svg


@pytest.mark.parametrize("run", [small(), recording([]), sampled()])
def test_every_card_holds_its_texts(run: Recording, palette: Palette) -> None:
    """Letters of DejaVu Sans are .61 em wide on the average, those of its bold .7."""
    root = ElementTree.fromstring(to_svg(run, palette))
    (cards,) = (el for el in root.iter(f"{NS}g") if el.get("class") == "cards")
    right = left = 0.0
    for el in cards:
        x = float(str(el.get("x")))
        if el.tag == f"{NS}rect":
            assert x > right
            left, right = x, x + float(str(el.get("width")))
        else:
            size = 10 * 0.61 if el.get("class") == "label" else 17 * 0.7
            assert left < x < x + size * len(str(el.text)) <= right, el.text
    assert right <= float(str(root.get("width"))) - 24


def test_a_long_text_keeps_its_end(palette: Palette) -> None:
    words = [make_round(i, i, "", last=" " + "x" * 110) for i in range(1, 101)]
    svg = to_svg(recording(words), palette)
    assert len(svg) < 200_000
    assert [text for text in texts(svg, "c quiet") if "earlier lines" in text] == ["… 22 earlier lines"]


def test_nothing_of_a_trace_is_markup(palette: Palette) -> None:
    run = hostile()
    pictures = [to_svg(run, palette), *(frame_svg(frame, palette, 80) for frame in frames(run, 80, 24))]
    assert unsafe("".join(pictures)) == set()
    for element in (element for svg in pictures for element in ElementTree.fromstring(svg).iter()):
        assert element.tag in HARMLESS
        assert not [name for name in element.attrib if name.startswith("on") or "href" in name]


def test_words_stand_at_their_columns(palette: Palette) -> None:
    """Behind 6 cells the token, 18 wide; q, p and p/q take 7 each; overlap stands 2 cells on."""
    svg = frame_svg(list(frames(sampled(3), 80, 24))[2], palette, 80)
    root = ElementTree.fromstring(svg)
    head = [el for el in root.iter(f"{NS}text") if el.text in ("token", "overlap")]
    assert [round((float(str(el.get("x"))) - 10) / 8.4) for el in head] == [6, 47]
