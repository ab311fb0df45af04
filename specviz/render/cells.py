"""Lines built from styled pieces, shared by the widgets that draw cell by cell."""

from collections.abc import Iterable, Sequence

from rich.cells import chop_cells

from specviz.core.safe_text import clip, width

Part = tuple[str, str]
"""Text and the name of its style."""
Line = list[Part]

EIGHTHS = 8


def fit(text: str, cells: int, *, right: bool = False, ascii: bool = False) -> str:
    """``text`` in exactly ``cells`` cells."""
    text = clip(text, cells, ascii=ascii)
    blank = " " * (cells - width(text))
    return blank + text if right else text + blank


def padded(line: Iterable[Part], cells: int, *, ascii: bool = False) -> Line:
    """``line`` in exactly ``cells`` cells: cut, or filled with blanks."""
    kept: Line = []
    room = cells
    for text, style in line:
        whole = width(text) <= room
        text = text if whole else clip(text, room, ascii=ascii)
        if text:
            kept.append((text, style))
            room -= width(text)
        if not whole:
            break
    return [*kept, (" " * room, "text")] if room > 0 else kept


def beside(columns: Sequence[Sequence[Line]], cells: Sequence[int], gap: int, *, ascii: bool = False) -> list[Line]:
    """Columns of the given ``cells`` side by side, as long as the longest."""
    lines: list[Line] = []
    for y in range(max((len(column) for column in columns), default=0)):
        line: Line = []
        for column, size in zip(columns, cells, strict=True):
            if line:
                line.append((" " * gap, "text"))
            line += padded(column[y] if y < len(column) else (), size, ascii=ascii)
        lines.append(line)
    return lines


def wrapped(text: str, cells: int) -> list[str]:
    """``text`` in lines of at most ``cells`` cells, broken at spaces, and inside a word only where it is longer."""
    lines, line = [], ""
    for word in text.split(" "):
        longer = f"{line} {word}" if line else word
        if width(longer) <= cells:
            line = longer
            continue
        if line:
            lines.append(line)
        *full, line = chop_cells(word, max(1, cells)) if width(word) > cells else (word,)
        lines += full
    return [*lines, line] if line else lines


def bar(share: float, cells: int, eighths: Sequence[str]) -> str:
    """A bar of length ``share`` of ``cells``, in eighths of a cell, padded to ``cells``."""
    steps = round(max(0.0, min(1.0, share)) * cells * EIGHTHS)
    full, rest = divmod(steps, EIGHTHS)
    tail = eighths[rest] if rest else ""
    return (eighths[EIGHTHS] * full + tail).ljust(cells)


def accept_bar(chance: float, u: float, cells: int) -> tuple[int, int]:
    """The filled cells of a test bar, and the index of its mark. The mark is inside the filled part exactly when u <
    chance, whatever the rounding."""
    mark = min(cells - 1, int(u * cells))
    filled = round(chance * cells)
    return (max(filled, mark + 1) if u < chance else min(filled, mark)), mark
