"""`specviz themes`: the themes, their files, and what is wrong with invalid ones."""

import json
from pathlib import Path
from typing import TYPE_CHECKING

from specviz.core.safe_text import safe_terminal_text
from specviz.render.console import show

if TYPE_CHECKING:
    from specviz.theming.loader import Themes
    from specviz.theming.theme_file import BadTheme, ThemeFile


def themes(as_json: bool) -> int:
    """Print all themes and all invalid files, as lines or as one JSON object."""
    from specviz.theming.loader import DEFAULT, load_themes, user_folder
    from specviz.theming.readability import contrast_warnings

    available, folder = load_themes(), user_folder()
    if as_json:
        show(json.dumps({"folder": str(folder), "default": DEFAULT, **_object(available)}, allow_nan=False))
        return 0
    _show_table(available, DEFAULT)
    show(f"\nYour own themes go in {_path(folder)}{'' if folder.is_dir() else ' (create it first)'}:")
    show("copy one of the files above into it under a new name.")
    for name, theme in available.named.items():
        if said := contrast_warnings(theme):
            show(f"\nIn {name}:")
            for sentence in said:
                show(f"  {sentence}")
    for bad in available.bad:
        show(f"\n{safe_terminal_text(bad.name)} is not loaded: {_path(bad.path)}")
        for problem in bad.problems:
            show(f"  {safe_terminal_text(str(problem))}")
    return 0


def _show_table(available: "Themes", default: str) -> None:
    """One theme per line, with its path unwrapped so that it can be copied."""
    rows = [("theme", "background", "from", "file")]
    for name, theme in available.named.items():
        label = f"{name} (default)" if name == default else name
        rows.append((label, _background(theme), "specviz" if theme.shipped else "you", _path(theme.path)))
    sizes = [max(map(len, column)) for column in zip(*rows, strict=True)][:-1]
    for *cells, path in rows:
        show("  ".join([*(cell.ljust(size) for cell, size in zip(cells, sizes, strict=True)), path]))


def _path(path: Path) -> str:
    return safe_terminal_text(str(path))


def _background(theme: "ThemeFile") -> str:
    shade = "dark" if theme.dark else "light"
    return f"{shade}, 16 colours" if theme.ansi else shade


def _object(available: "Themes") -> dict[str, object]:
    from specviz.theming.readability import contrast_warnings

    return {
        "themes": [
            {
                "name": theme.name,
                "dark": theme.dark,
                "ansi": theme.ansi,
                "shipped": theme.shipped,
                "file": str(theme.path),
                "hard_to_read": list(contrast_warnings(theme)),
            }
            for theme in available.named.values()
        ],
        "bad": [_bad(theme) for theme in available.bad],
    }


def _bad(theme: "BadTheme") -> dict[str, object]:
    problems = [{"line": each.line, "key": each.key or None, "wrong": each.wrong} for each in theme.problems]
    return {"name": theme.name, "file": str(theme.path), "problems": problems}
