"""Lines built from styled pieces, shared by the widgets that draw cell by cell."""

from collections.abc import Iterable, Sequence

from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

from specviz.tokens import clip, width

Part = tuple[str, str]
"""Text and the name of its style."""

EIGHTHS = 8


def fit(text: str, cells: int, *, right: bool = False, ascii: bool = False) -> str:
    """``text`` in exactly ``cells`` cells."""
    text = clip(text, cells, ascii=ascii)
    blank = " " * (cells - width(text))
    return blank + text if right else text + blank


def strip_of(parts: Iterable[tuple[str, Style]], cells: int, base: Style) -> Strip:
    """A line of exactly ``cells`` cells; every piece stands on the ``base`` style."""
    return Strip([Segment(text, base + style) for text, style in parts if text]).adjust_cell_length(cells, base)


def bar(share: float, cells: int, eighths: Sequence[str]) -> str:
    """A bar of length ``share`` of ``cells``, in eighths of a cell, padded to ``cells``."""
    steps = round(max(0.0, min(1.0, share)) * cells * EIGHTHS)
    full, rest = divmod(steps, EIGHTHS)
    tail = eighths[rest] if rest else ""
    return (eighths[EIGHTHS] * full + tail).ljust(cells)


def accept_bar(chance: float, u: float, cells: int) -> tuple[int, int]:
    """Where a test bar is filled and where its mark stands: (filled cells, index of the mark).

    The mark is inside the filled part exactly when u < chance, whatever the rounding.
    """
    mark = min(cells - 1, int(u * cells))
    filled = round(chance * cells)
    return (max(filled, mark + 1) if u < chance else min(filled, mark)), mark
