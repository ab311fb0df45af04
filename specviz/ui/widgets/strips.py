"""Lines for Textual."""

from collections.abc import Iterable

from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip


def strip_of(parts: Iterable[tuple[str, Style]], cells: int, base: Style) -> Strip:
    """A line of exactly ``cells`` cells; every piece stands on the ``base`` style."""
    return Strip([Segment(text, base + style) for text, style in parts if text]).adjust_cell_length(cells, base)
