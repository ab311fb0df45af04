"""Themes from TOML files: the shipped ones and the user's, in the same format."""

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

import platformdirs

from specviz.theming.theme_file import OWN_PREFIXES, BadTheme, ThemeFile, read_theme

DEFAULT = "dark"
MAX_SHOWN = 3
"""Problems shown in one notification."""


class Themes(NamedTuple):
    """The themes by name, the default first and the user's last, and the rejected files."""

    named: Mapping[str, ThemeFile]
    bad: Sequence[BadTheme]


def shipped_folder() -> Path:
    """The themes shipped with specviz: inside an installed package, beside it in a checkout."""
    package = Path(__file__).parents[1]
    inside = package / "themes"
    return inside if inside.is_dir() else package.parent / "themes"


def user_folder() -> Path:
    return platformdirs.user_config_path("specviz") / "themes"


def load_themes() -> Themes:
    """Read all theme files; problems are returned, never raised. A name belongs to the first file that has it: no file
    replaces a shipped theme."""
    named: dict[str, ThemeFile] = {}
    bad: list[BadTheme] = []
    shipped = sorted(shipped_folder().glob("*.toml"), key=lambda path: (path.stem != DEFAULT, path.stem))
    for path in (*shipped, *_users()):
        read = read_theme(path, shipped=path.parent == shipped_folder(), taken=named)
        if isinstance(read, BadTheme):
            bad.append(read)
        else:
            named[read.name] = read
    return Themes(named, bad)


def _users() -> Iterable[Path]:
    try:
        return sorted(user_folder().glob("*.toml"))
    except OSError:
        return ()


def describe_problems(bad: Iterable[BadTheme]) -> str:
    """What is wrong with ``bad``, a line a problem, and how many more there are; empty where nothing is."""
    problems = [f"{theme.path.name}, {problem}" for theme in bad for problem in theme.problems]
    more = len(problems) - MAX_SHOWN
    return "\n".join([*problems[:MAX_SHOWN], *([f"… and {more} more: specviz themes"] if more > 0 else [])])


@cache
def variable_defaults() -> Mapping[str, str]:
    """The names that styles use beyond Textual's own, for themes that do not define them."""
    read = read_theme(shipped_folder() / f"{DEFAULT}.toml")
    if isinstance(read, BadTheme):
        raise RuntimeError(f"the shipped theme is damaged: {read}")
    return {name: value for name, value in read.variables.items() if name.startswith(OWN_PREFIXES)}
