"""Whether the texts of a theme are readable, and the greys that NO_COLOR shows."""

from math import floor

from rich.color import Color as RichColor
from rich.segment import Segment
from rich.style import Style
from textual.color import Color
from textual.constants import DIM_FACTOR
from textual.filter import LineFilter

from specviz.theming.theme_file import PLOTS, TOKENS, ThemeFile

MIN_CONTRAST = 3.0
"""The contrast below which text is reported as hard to read: WCAG 2's minimum for large text."""
GROUNDS = ("background", "surface", "panel")
TEXTS = ("foreground", "secondary", "accent", "warning", "error", "success")
DIM = ("tokens.untested", "tokens.ignored", "tokens.prompt")


def contrast_warnings(theme: ThemeFile) -> tuple[str, ...]:
    """One sentence per colour whose contrast on a background it is used on is below MIN_CONTRAST. The terminal's own
    colours are unknown and skipped."""
    sentences = []
    grounds = {name: Color.parse(getattr(theme, name)) for name in GROUNDS}
    for key, color in _texts(theme).items():
        low = []
        for name, ground in grounds.items():
            if color.ansi is not None or ground.ansi is not None:
                continue
            ratio = contrast(ground.blend(color, DIM_FACTOR) if key in DIM else color, ground)
            if ratio < MIN_CONTRAST:
                low.append(f"{name} ({floor(ratio * 100) / 100:.2f}:1)")
        if low:
            dim = ", drawn dim," if key in DIM else ""
            sentences.append(f"{key}{dim} is hard to read on {', '.join(low)}")
    return tuple(sentences)


def _texts(theme: ThemeFile) -> dict[str, Color]:
    colors = {f"colors.{key}": getattr(theme, key) for key in TEXTS}
    colors |= {f"tokens.{key}": theme.variables[f"token-{key}"] for key in TOKENS}
    colors |= {f"plots.{key}": theme.variables[f"plot-{key}"] for key in PLOTS if key != "band"}
    return {key: Color.parse(color) for key, color in colors.items()}


def contrast(a: Color, b: Color) -> float:
    """The contrast ratio of WCAG 2, (L + .05)/(L' + .05) of the relative luminances, from 1 to 21."""
    light, dark = sorted((_luminance(a), _luminance(b)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def _luminance(color: Color) -> float:
    red, green, blue = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in color.normalized)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


class NoColorFilter(LineFilter):
    """Greys; and of a theme in the terminal's own colours only text and ground, which Textual's filter turns black on
    black. Glyphs and text attributes stay."""

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        return [
            Segment(text, style and style + Style.from_color(_grey(style.color), _grey(style.bgcolor)), control)
            for text, style, control in segments
        ]


def _grey(color: RichColor | None) -> RichColor | None:
    if color is None or color.triplet is None:
        return color and RichColor.default()
    return Color(*color.triplet).monochrome.rich_color
