"""A speedup over K, as columns: the K of this run and the best K."""

from collections.abc import Sequence

from specviz.render.cells import EIGHTHS
from specviz.render.glyphs import Glyphs
from specviz.ui.metrics.blocks import Line, Lines, heading, in_repertoire

ROWS = 8
_LABEL = 6
_MAX_STEP = 3
_BEST = "*"


def curve_lines(
    title: str, curve: Sequence[float], k: int | None, best_k: int | None, cells: int, glyphs: Glyphs
) -> Lines:
    """One column per K, as many as fit; the line at 1 is the target alone. Empty without a curve."""
    step = max(1, min(_MAX_STEP, (cells - _LABEL) // max(1, len(curve))))
    curve = curve[: max(0, (cells - _LABEL) // step)]
    if not curve:
        return []
    top = max(1.0, *curve)
    level = min(ROWS - 1, int(ROWS / top))
    lines = [heading(title, glyphs)]
    for row in range(ROWS - 1, -1, -1):
        label = f"{top:.2f}x" if row == ROWS - 1 else "1.00x" if row == level else ""
        line: Line = [(label.rjust(_LABEL - 1) + " ", "head")]
        for column, value in enumerate(curve):
            sign = _column(value / top, row, glyphs)
            blank = glyphs.dash if row == level else " "
            style = "accent" if column == k else "warning" if value < 1 else "measured"
            line.append((sign if sign != " " else blank, "head" if sign == " " else style))
            line.append((blank * (step - 1), "head"))
        lines.append(line)
    return [*lines, _marks(k, best_k, len(curve), step, glyphs), _axis(len(curve), step), _key(k, best_k, glyphs)]


def _column(share: float, row: int, glyphs: Glyphs) -> str:
    """The cell of a column in ``row`` (0: the lowest)."""
    filled = min(EIGHTHS, max(0, round(share * ROWS * EIGHTHS) - row * EIGHTHS))
    if glyphs.ascii:
        return glyphs.full if 2 * filled >= EIGHTHS else " "
    return glyphs.levels[filled]


def _marks(k: int | None, best_k: int | None, columns: int, step: int, glyphs: Glyphs) -> Line:
    cells = [" "] * (columns * step)
    for shown, sign in ((k, glyphs.up), (best_k, _BEST)):
        if shown is not None and shown < columns:
            at = shown * step
            cells[at + 1 if cells[at] != " " and step > 1 else at] = sign
    return [(" " * _LABEL, "text"), ("".join(cells), "accent")]


def _axis(columns: int, step: int) -> Line:
    text = " " * (_LABEL - 2) + "K "
    for k in range(0, columns, 4):
        text = text.ljust(_LABEL + k * step) + str(k)
    return [(text, "head")]


def _key(k: int | None, best_k: int | None, glyphs: Glyphs) -> Line:
    parts = [f"{glyphs.up} K {k}"] if k is not None else []
    if best_k is not None:
        parts.append(f"{_BEST} best K {best_k}")
    parts.append(f"{glyphs.dash} the target alone")
    return [(" " * _LABEL + in_repertoire("   ".join(parts), glyphs), "head")]
