"""One theme file: its keys, what can be wrong with them, and the Textual theme made of it.

A file has ``name``, ``dark``, perhaps ``ansi``, and the tables ``[colors]``, ``[tokens]`` and ``[plots]``, each with
exactly the keys listed here. docs/themes.md describes them for those who write one.
"""

import re
from collections.abc import Container, Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any, TypeGuard

from textual.color import Color, ColorParseError
from textual.theme import Theme

from specviz.theming.toml_lines import ThemeProblem, key_lines, line_of, parse

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
OWN_PREFIXES = ("token-", "plot-")
"""Prefixes of the variables that Textual's own themes lack."""
MAX_BYTES = 64 * 1024
"""Largest accepted file, in bytes."""
_FUNCTION = re.compile(r"(rgb|hsl)a?\((.*)\)")
NAME = re.compile(r"[A-Za-z0-9_-]{1,40}")


@dataclass
class ThemeFile(Theme):
    """A theme, and the file it is from."""

    path: Path = Path()
    shipped: bool = False


@dataclass(frozen=True, slots=True)
class BadTheme:
    """A rejected theme file and the reasons. ``name`` is the theme's, or the file's where that is part of it."""

    path: Path
    name: str
    problems: tuple[ThemeProblem, ...]

    def __str__(self) -> str:
        return f"{self.path}: {'; '.join(map(str, self.problems))}"


def read_theme(path: Path, *, shipped: bool = False, taken: Container[str] = ()) -> ThemeFile | BadTheme:
    """The theme of a file, or everything that is wrong with it. Names in ``taken`` belong to other themes."""
    try:
        text = _text(path)
    except (OSError, ValueError) as error:
        wrong = (error.strerror or str(error)) if isinstance(error, OSError) else str(error)
        return BadTheme(path, path.name, (ThemeProblem(None, "", wrong),))
    data, problems = parse(text)
    if data is not None:
        lines, known = key_lines(text), {problem.key for problem in problems}
        problems += [
            ThemeProblem(line_of(key, lines), key, wrong) for key, wrong in check(data, taken) if key not in known
        ]
    if data is None or problems:
        name = data.get("name") if data else None
        shown = name if is_name(name) else path.name
        return BadTheme(path, shown, tuple(sorted(problems, key=lambda problem: problem.line or 0)))
    return to_theme(data, path, shipped=shipped)


def _text(path: Path) -> str:
    if not path.is_file():
        raise ValueError("not a file")
    content = path.read_bytes()
    if len(content) > MAX_BYTES:
        raise ValueError(f"larger than {MAX_BYTES // 1024} KiB")
    try:
        return content.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        raise ValueError(f"not UTF-8 (byte {error.start})") from None


def is_name(name: object) -> TypeGuard[str]:
    return isinstance(name, str) and NAME.fullmatch(name) is not None


def check(data: Mapping[str, Any], taken: Container[str] = ()) -> Iterator[tuple[str, str]]:
    """What is wrong with a theme's data: (dotted key, what), a mistyped key once."""
    yield from _keys("", data, ("name", "dark", *TABLES), ("ansi",))
    name, ansi = data.get("name", ""), data.get("ansi", False)
    if "name" in data and not is_name(name):
        yield "name", f"{_clipped(name)} is not a name of letters, digits, - and _"
    elif name in taken:
        yield "name", f"there is already a theme {name!r}"
    for key in ("dark", "ansi"):
        if key in data and not isinstance(data[key], bool):
            yield key, f"{_clipped(data[key])} is not true or false"
    for table, keys in TABLES.items():
        colors = data.get(table, {})
        if not isinstance(colors, dict):
            yield table, "not a table"
        elif table in data:
            yield from _keys(f"{table}.", colors, keys)
            for key in keys:
                if key in colors and (wrong := color_error(colors[key], ansi=ansi is True)):
                    yield f"{table}.{key}", wrong


def _keys(
    prefix: str, data: Mapping[str, Any], needed: tuple[str, ...], allowed: tuple[str, ...] = ()
) -> Iterator[tuple[str, str]]:
    missing = [key for key in needed if key not in data]
    for key in data:
        if key not in needed and key not in allowed:
            meant = get_close_matches(key, missing, 1, 0.7)
            missing = [key for key in missing if key not in meant]
            yield f"{prefix}{_clipped(key)[1:-1]}", f"unknown key; {meant[0]} is missing" if meant else "unknown key"
    for key in missing:
        yield f"{prefix}{key}", "missing"


def color_error(value: object, *, ansi: bool = False) -> str | None:
    """What is wrong with a colour, None where nothing is. ``ansi``: the terminal's own colours may be named."""
    try:
        color = Color.parse(value) if isinstance(value, str) else None
    except (ColorParseError, ValueError):
        color = None
    if color is None or color.a < 1:
        example = '"#56b4e9" or "ansi_cyan"' if ansi else '"#56b4e9"'
        return f"{_clipped(value)} is not a colour such as {example}"
    if color.ansi is not None and not ansi:
        return f"{_clipped(value)} is one of the terminal's colours: those need ansi = true"
    return _out_of_range(str(value))


def _out_of_range(value: str) -> str | None:
    """A number that Textual would silently clamp."""
    function = _FUNCTION.fullmatch(value.strip())
    if function is None:
        return None
    limits = (255, 255, 255, 1) if function[1] == "rgb" else (360, 100, 100, 1)
    for part, most in zip(function[2].split(","), limits, strict=False):
        if not 0 <= float(part.strip().removesuffix("%")) <= most:
            return f"{_clipped(value)}: {_clipped(part.strip())[1:-1]} is not from 0 to {most}"
    return None


def _clipped(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 40 else f"{text[:36]} ..."


def to_theme(data: Mapping[str, Any], path: Path, *, shipped: bool = False) -> ThemeFile:
    """The theme of data that ``check`` finds nothing wrong with."""
    colors, tokens, plots = (
        {key: Color.parse(value).hex.lower() for key, value in data[table].items()} for table in TABLES
    )
    variables = _textuals(colors)
    variables |= {f"token-{key}": tokens[key] for key in TOKENS} | {f"plot-{key}": plots[key] for key in PLOTS}
    variables |= {"border": colors["border"], "border-blurred": colors["border"]}
    own: dict[str, Any] = {key: colors[key] for key in COLORS if key != "border"}
    return ThemeFile(
        name=data["name"],
        dark=data["dark"],
        ansi=data.get("ansi", False),
        variables=variables,
        path=path,
        shipped=shipped,
        **own,
    )


def _textuals(colors: Mapping[str, str]) -> dict[str, str]:
    """What Textual's own widgets use, in colours of the file and not in shades computed of them."""
    background, foreground, panel = colors["background"], colors["foreground"], colors["panel"]
    ink = "ansi_black" if background == "ansi_default" else background
    on_primary = {"background": colors["primary"], "foreground": ink}
    return {
        **{name: colors[name] for name in ("background", "surface", "panel")},
        **{f"text-{name}": colors[name] for name in ("primary", "secondary", "accent", "warning", "error", "success")},
        **{f"{field}-selection-{side}": color for field in ("input", "screen") for side, color in on_primary.items()},
        "text": foreground,
        "text-muted": colors["secondary"],
        "text-disabled": colors["secondary"],
        "panel-lighten-1": panel,
        "ansi-background": background,
        "ansi-foreground": foreground,
        "block-cursor-background": colors["accent"],
        "block-cursor-foreground": ink,
        "block-cursor-text-style": "none",
        "block-cursor-blurred-background": panel,
        "block-cursor-blurred-foreground": foreground,
        "block-hover-background": panel,
        "input-cursor-background": background,
        "input-cursor-foreground": foreground,
        "input-cursor-text-style": "reverse",
        "footer-background": background,
        "footer-key-foreground": colors["accent"],
    }
