"""Which colours an export takes."""

from types import SimpleNamespace
from typing import Any

import pytest

from specviz.core.errors import SpecvizError
from specviz.export.palette import palettes
from specviz.theming.loader import load_themes

NAMES = (
    *("background", "surface", "panel", "foreground", "primary", "secondary"),
    *("accent", "warning", "error", "success"),
)


def test_both_grounds_by_default() -> None:
    found = palettes(None, load_themes())
    assert (found.light.name, found.dark.name, found.chosen) == ("light", "dark", None)
    assert found.one is found.dark
    assert {"background", "border", "token-rejected", "plot-formula-2"} <= found.dark.colors.keys()


def test_a_theme_takes_the_place_of_its_kind() -> None:
    found = palettes("light", load_themes())
    assert found.one is found.light is found.chosen
    assert found.dark.name == "dark"


def test_an_unknown_theme() -> None:
    with pytest.raises(SpecvizError, match=r"There is no theme 'nope'\. Available: dark"):
        palettes("nope", load_themes())


def test_colours_of_the_terminal_cannot_be_written() -> None:
    themes = load_themes()
    other: Any = SimpleNamespace(**dict.fromkeys(NAMES, "#000000"), variables={}, dark=True)
    other.foreground = "ansi_red"
    with pytest.raises(SpecvizError, match="'tty' uses the terminal's colours"):
        palettes("tty", themes._replace(named={**themes.named, "tty": other}))
