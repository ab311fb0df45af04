"""The speedup of the model over K, as columns: the K of this run and the best K."""

from specviz.render.cells import EIGHTHS
from specviz.render.glyphs import Glyphs
from specviz.stats.speed import SpeedView
from specviz.ui.metrics.blocks import Line, Lines, heading, in_repertoire

ROWS = 8
_LABEL = 6
_MAX_STEP = 3
_BEST = "*"


def curve_lines(view: SpeedView, cells: int, glyphs: Glyphs) -> Lines:
    """One column per K, as many as fit; the line at 1 is the target alone. Empty without a curve."""
    step = max(1, min(_MAX_STEP, (cells - _LABEL) // max(1, len(view.curve))))
    curve = view.curve[: max(0, (cells - _LABEL) // step)]
    if not curve:
        return []
    top = max(1.0, *(value for _, value in curve))
    level = min(ROWS - 1, int(ROWS / top))
    lines = [heading("Speedup by the model over K", glyphs)]
    for row in range(ROWS - 1, -1, -1):
        label = f"{top:.2f}x" if row == ROWS - 1 else "1.00x" if row == level else ""
        line: Line = [(label.rjust(_LABEL - 1) + " ", "head")]
        for k, value in curve:
            sign = _column(value / top, row, glyphs)
            blank = glyphs.dash if row == level else " "
            line.append((sign if sign != " " else blank, "head" if sign == " " else _style(k, value, view)))
            line.append((blank * (step - 1), "head"))
        lines.append(line)
    return [*lines, _marks(view, len(curve), step, glyphs), _axis(len(curve), step), _key(view, glyphs)]


def _column(share: float, row: int, glyphs: Glyphs) -> str:
    """The cell of a column in ``row`` (0: the lowest)."""
    filled = min(EIGHTHS, max(0, round(share * ROWS * EIGHTHS) - row * EIGHTHS))
    if glyphs.ascii:
        return glyphs.full if 2 * filled >= EIGHTHS else " "
    return glyphs.levels[filled]


def _style(k: int, value: float, view: SpeedView) -> str:
    if k == view.k:
        return "accent"
    return "warning" if value < 1 else "measured"


def _marks(view: SpeedView, columns: int, step: int, glyphs: Glyphs) -> Line:
    cells = [" "] * (columns * step)
    for k, sign in ((view.k, glyphs.up), (view.best_k, _BEST)):
        if k is not None and k < columns:
            at = k * step
            cells[at + 1 if cells[at] != " " and step > 1 else at] = sign
    return [(" " * _LABEL, "text"), ("".join(cells), "accent")]


def _axis(columns: int, step: int) -> Line:
    text = " " * (_LABEL - 2) + "K "
    for k in range(0, columns, 4):
        text = text.ljust(_LABEL + k * step) + str(k)
    return [(text, "head")]


def _key(view: SpeedView, glyphs: Glyphs) -> Line:
    parts = [f"{glyphs.up} K {view.k}"] if view.k is not None else []
    if view.best_k is not None:
        parts.append(f"{_BEST} best K {view.best_k}")
    parts.append(f"{glyphs.dash} the target alone")
    return [(" " * _LABEL + in_repertoire("   ".join(parts), glyphs), "head")]
