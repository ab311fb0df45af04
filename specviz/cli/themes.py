"""`specviz themes`: what --theme can name, the files behind the names, and what is wrong with the others."""

import json
from pathlib import Path

from specviz.cli.console import show
from specviz.tokens import safe_terminal_text
from specviz.ui.theme_files import BadTheme, ThemeFile
from specviz.ui.themes import DEFAULT, Themes, load_themes, user_folder


def themes(as_json: bool) -> int:
    """Print all themes and all bad files, as lines or as one JSON object."""
    found = load_themes()
    if as_json:
        show(json.dumps(_object(found), allow_nan=False))
        return 0
    _show_table(found)
    folder = _path(user_folder())
    show(f"\nYour own go into {folder}{'' if user_folder().is_dir() else ' (to be made)'}:")
    show("copy one of the files above there, and give it a name of its own.")
    for bad in found.bad:
        show(f"\n{safe_terminal_text(bad.name)} is left out: {_path(bad.path)}")
        for problem in bad.problems:
            show(f"  {safe_terminal_text(str(problem))}")
    return 0


def _show_table(found: Themes) -> None:
    """One theme a line, however long its path, so that it can be copied."""
    rows = [("theme", "ground", "from", "file")]
    rows += [(_label(theme), _ground(theme), _origin(theme), _path(theme.path)) for theme in found.named.values()]
    sizes = [max(map(len, column)) for column in zip(*rows, strict=True)][:-1]
    for *cells, path in rows:
        show("  ".join([*(cell.ljust(size) for cell, size in zip(cells, sizes, strict=True)), path]))


def _path(path: Path) -> str:
    return safe_terminal_text(str(path))


def _label(theme: ThemeFile) -> str:
    return f"{theme.name} (default)" if theme.name == DEFAULT else theme.name


def _ground(theme: ThemeFile) -> str:
    shade = "dark" if theme.dark else "light"
    return f"{shade}, 16 colours" if theme.ansi else shade


def _origin(theme: ThemeFile) -> str:
    return "specviz" if theme.shipped else "you"


def _object(found: Themes) -> dict[str, object]:
    return {
        "folder": str(user_folder()),
        "default": DEFAULT,
        "themes": [
            {
                "name": theme.name,
                "dark": theme.dark,
                "ansi": theme.ansi,
                "shipped": theme.shipped,
                "file": str(theme.path),
            }
            for theme in found.named.values()
        ],
        "bad": [_bad(theme) for theme in found.bad],
    }


def _bad(theme: BadTheme) -> dict[str, object]:
    problems = [{"line": each.line, "key": each.key or None, "wrong": each.wrong} for each in theme.problems]
    return {"name": theme.name, "file": str(theme.path), "problems": problems}
