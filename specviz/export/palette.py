"""The colours of an export, taken from a theme of the app."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from specviz.core.errors import SpecvizError

if TYPE_CHECKING:
    from specviz.theming.loader import Themes

LIGHT, DARK = "light", "dark"
_FIELDS = (
    *("background", "surface", "panel", "foreground", "primary", "secondary"),
    *("accent", "warning", "error", "success"),
)
_VARIABLES = re.compile(r"border|(token|plot)-[a-z0-9-]+")
_COLOR = re.compile(r"#[0-9a-f]{6}")


@dataclass(frozen=True, slots=True)
class Palette:
    """``colors``: #rrggbb by names such as ``background``, ``border``, ``token-accepted``, ``plot-band``."""

    name: str
    dark: bool
    colors: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Palettes:
    """A light and a dark palette; ``chosen`` is the requested one, if any."""

    light: Palette
    dark: Palette
    chosen: Palette | None = None

    @property
    def one(self) -> Palette:
        """The palette for formats that have only one."""
        return self.chosen or self.dark


def palettes(name: str | None, themes: "Themes") -> Palettes:
    """The themes "light" and "dark", or the theme ``name`` in place of the one of its kind. Raises SpecvizError for an
    unknown theme, or one that uses the terminal's colours."""
    light, dark = _palette(LIGHT, themes), _palette(DARK, themes)
    if name is None:
        return Palettes(light, dark)
    chosen = _palette(name, themes)
    return Palettes(light, chosen, chosen) if chosen.dark else Palettes(chosen, dark, chosen)


def _palette(name: str, themes: "Themes") -> Palette:
    theme = themes.named.get(name)
    if theme is None:
        known = ", ".join(themes.named)
        raise SpecvizError(f"There is no theme {name!r}. Available: {known}. `specviz themes` lists their files.")
    values = {field: getattr(theme, field) for field in _FIELDS}
    values |= {key: color for key, color in theme.variables.items() if _VARIABLES.fullmatch(key)}
    colors = {key: str(color).lower() for key, color in values.items()}
    if not all(map(_COLOR.fullmatch, colors.values())):
        raise SpecvizError(
            f"The theme {name!r} uses the terminal's colours, which a file does not have: choose another with --theme."
        )
    return Palette(name, theme.dark, colors)
