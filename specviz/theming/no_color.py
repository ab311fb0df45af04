"""What NO_COLOR leaves of a picture."""

from functools import lru_cache

from rich.color import Color as RichColor
from rich.segment import Segment
from rich.style import Style
from textual.color import Color
from textual.filter import LineFilter


class Colourless(LineFilter):
    """Greys; and of a theme in the terminal's own colours only text and ground, which Textual's filter turns black on
    black. Glyphs and text attributes stay."""

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        return [Segment(text, style and colourless(style), control) for text, style, control in segments]


@lru_cache(1024)
def colourless(style: Style) -> Style:
    return style + Style.from_color(_grey(style.color), _grey(style.bgcolor))


def _grey(color: RichColor | None) -> RichColor | None:
    if color is None or color.triplet is None:
        return color and RichColor.default()
    return Color(*color.triplet).monochrome.rich_color
