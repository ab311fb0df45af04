"""Themes from TOML files: the shipped ones and the user's, in the same format.

A file has ``name``, ``dark`` and the tables ``[colors]``, ``[tokens]`` and ``[plots]``, each with exactly the keys
listed here. What is wrong with a file is reported by file and key; the other files still load.
"""

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import platformdirs
from textual.color import Color, ColorParseError
from textual.theme import Theme

DEFAULT = "dark"
COLORS = (
    "background",
    "surface",
    "panel",
    "foreground",
    "primary",
    "secondary",
    "accent",
    "warning",
    "error",
    "success",
    "border",
)
TOKENS = ("accepted", "rejected", "resampled", "bonus", "untested", "ignored", "plain", "prompt")
PLOTS = ("tested", "band", "overlap", "measured", "formula", "formula-2")
TABLES: Mapping[str, tuple[str, ...]] = {"colors": COLORS, "tokens": TOKENS, "plots": PLOTS}


@dataclass(frozen=True, slots=True)
class BadTheme:
    """A theme file that was left out, and why: sentences that name the key."""

    path: Path
    problems: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.path}: {'; '.join(self.problems)}"


def shipped_folder() -> Path:
    """The themes that come with specviz: inside an installed package, beside it in a checkout."""
    package = Path(__file__).parents[1]
    inside = package / "themes"
    return inside if inside.is_dir() else package.parent / "themes"


def user_folder() -> Path:
    return platformdirs.user_config_path("specviz") / "themes"


def load_themes() -> tuple[dict[str, Theme], list[BadTheme]]:
    """All themes by name, the shipped ones first, and the files that could not be used."""
    loaded: dict[str, Theme] = {}
    failed: list[BadTheme] = []
    for folder in (shipped_folder(), user_folder()):
        for path in sorted(folder.glob("*.toml")):
            theme = read_theme(path)
            if isinstance(theme, Theme) and theme.name in loaded:
                theme = BadTheme(path, (f'name: there is already a theme "{theme.name}"',))
            if isinstance(theme, BadTheme):
                failed.append(theme)
            else:
                loaded[theme.name] = theme
    return loaded, failed


def read_theme(path: Path) -> Theme | BadTheme:
    try:
        data = tomllib.loads(path.read_text("utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        return BadTheme(path, (str(error),))
    problems = check(data)
    return BadTheme(path, tuple(problems)) if problems else to_theme(data)


def check(data: Mapping[str, Any]) -> list[str]:
    """What is wrong with a theme's data, a sentence a key; empty where nothing is."""
    problems = [f"{key}: unknown key" for key in data if key not in ("name", "dark", *TABLES)]
    if not isinstance(data.get("name"), str) or not data["name"].strip():
        problems.append("name: a text is needed")
    if not isinstance(data.get("dark"), bool):
        problems.append("dark: true or false is needed")
    for table, keys in TABLES.items():
        colors = data.get(table)
        if not isinstance(colors, dict):
            problems.append(f"[{table}]: missing")
            continue
        problems += [f"{table}.{key}: unknown key" for key in colors if key not in keys]
        problems += [f"{table}.{key}: {wrong}" for key in keys if (wrong := wrong_color(colors.get(key)))]
    return problems


def wrong_color(value: object) -> str | None:
    if value is None:
        return "missing"
    try:
        color = Color.parse(value) if isinstance(value, str) else None
    except ColorParseError:
        color = None
    if color is None or color.a < 1 or color.ansi is not None:
        return f'{value!r} is not a colour such as "#56b4e9"'
    return None


def to_theme(data: Mapping[str, Any]) -> Theme:
    colors: dict[str, Any] = dict(data["colors"])
    border = colors.pop("border")
    return Theme(
        name=data["name"],
        dark=data["dark"],
        **colors,
        variables={
            "border": border,
            "border-blurred": border,
            "footer-background": colors["background"],
            "footer-key-foreground": colors["accent"],
            **{f"token-{key}": data["tokens"][key] for key in TOKENS},
            **{f"plot-{key}": data["plots"][key] for key in PLOTS},
        },
    )


@cache
def variable_defaults() -> Mapping[str, str]:
    """The names that styles use beyond Textual's own, for themes that do not define them."""
    theme = read_theme(shipped_folder() / f"{DEFAULT}.toml")
    if isinstance(theme, BadTheme):
        raise RuntimeError(f"the shipped theme is damaged: {theme}")
    own = ("token-", "plot-")
    return {name: value for name, value in theme.variables.items() if name.startswith(own)}


def after(name: str, names: Sequence[str]) -> str:
    """The theme behind ``name``, round and round."""
    return names[(names.index(name) + 1) % len(names)] if name in names else names[0]
