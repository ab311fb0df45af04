"""The tokens of a round as chips for a large screen: pure functions from (round, reveal, progress) to lines.

Every line of a place has as many cells as the grid says, so nothing moves while a round unfolds. ``progress`` runs from
0 to 1 within a phase: 1 is how the phase stays.
"""

import math
from dataclasses import dataclass
from typing import NamedTuple

from specviz.core.events import Drafted, Emitted, Round
from specviz.core.safe_text import clip, visible, width
from specviz.render.cells import Line, accept_bar, beside, padded
from specviz.render.explanations import is_greedy
from specviz.render.glyphs import Glyphs
from specviz.render.phases import WAITING, Reveal, RowStage, focus_row, mark_of, row_stage
from specviz.ui.present.chip_grid import SMALLEST_BOX, ChipForm, ChipGrid

LANDED = 0.5
"""The share of a verdict's phase in which u falls onto the bar; then the verdict appears."""


class Outline(NamedTuple):
    """The pieces of a box: the four corners, then the horizontal and the vertical line."""

    top_left: str
    top_right: str
    bottom_left: str
    bottom_right: str
    across: str
    down: str


OUTLINES = {
    "drafted": (Outline(*"╭╮╰╯─│"), Outline(*"..''-|")),
    "scored": (Outline(*"┏┓┗┛━┃"), Outline(*"++++=|")),
    "accepted": (Outline(*"┏┓┗┛━┃"), Outline(*"++++=|")),
    "rejected": (Outline(*"┏┓┗┛╍╏"), Outline(*"xxxx-:")),
    "dropped": (Outline(*"┌┐└┘┄┊"), Outline(*"....  ")),
    "last": (Outline(*"╔╗╚╝═║"), Outline(*"####=#")),
}
"""State -> the box in Unicode and in ASCII: each state has distinct lines, so that no colour is needed."""

BIG = {
    "accepted": (("    ▗▛", "▝▙ ▗▛ ", " ▝▙▛  "), ("     /", "\\   / ", " \\_/  ")),
    "rejected": (("▝▙ ▟▘", "  █  ", "▗▛ ▜▖"), ("\\ /", " X ", "/ \\")),
    "untested": (("  ", "▐▌", "  "), (" ", "o", " ")),
    "ignored": (("   ", "▄▄▄", "   "), ("   ", "---", "   ")),
    "bonus": (("  ▄  ", "▄▄█▄▄", "  █  "), ("  |  ", "--+--", "  |  ")),
    "plain": (("▄▄▄▄▄", "     ", "▀▀▀▀▀"), ("-----", "     ", "-----")),
}
BIG_LINES = 3
"""Signs three lines high, in Unicode and in ASCII."""


@dataclass(frozen=True, slots=True)
class AnimationFrame:
    """A round at one phase, and the progress within that phase."""

    round: Round
    reveal: Reveal | None
    progress: float = 1.0

    @property
    def sweeping(self) -> bool:
        """Whether the target's pass is being animated."""
        reveal = self.reveal
        return reveal is not None and reveal.verified and not reveal.decided and not reveal.last and self.progress < 1

    @property
    def row_under_test(self) -> int | None:
        """The row whose u is falling; None in any other phase."""
        reveal = self.reveal
        if reveal is None or reveal.last or not reveal.decided or self.progress >= LANDED:
            return None
        return focus_row(self.round, reveal)

    @property
    def last_token_progress(self) -> float:
        """How much of the last token is visible, from 0 to 1."""
        if self.reveal is None or self.reveal.last:
            return self.progress
        return 0.0

    def known(self, row: int, swept: float) -> RowStage:
        """How much of a drafted token is known once the target's pass has covered ``swept`` of the row of chips."""
        known = row_stage(self.round, self.reveal, row)
        if known == "scored" and self.sweeping and self.progress < swept:
            return "drafted"
        row_under_test = self.row_under_test
        if known == "decided" and row_under_test is not None and row >= row_under_test:
            return "scored"
        return known


def chips(frame: AnimationFrame, grid: ChipGrid, glyphs: Glyphs) -> list[Line]:
    """All lines of the grid, each as wide as it is."""
    lines: list[Line] = []
    for first in range(0, grid.columns * grid.rows, grid.columns):
        if lines:
            lines += [[] for _ in range(grid.form.apart)]
        places = [_place(frame, first + column, column, grid, glyphs) for column in range(grid.columns)]
        lines += beside(places, [grid.cells] * grid.columns, grid.form.gap, ascii=glyphs.ascii)
    return lines


def chip_legend(grid: ChipGrid, glyphs: Glyphs) -> list[Line]:
    """What the chips mean, as chips, in the lines of the grid."""
    kinds = ("accepted", "rejected", "untested", "bonus")[: grid.columns]
    places = [_meaning(kind, grid, glyphs) for kind in kinds]
    return beside(places, [grid.cells] * len(kinds), grid.form.gap, ascii=glyphs.ascii)


def _meaning(kind: str, grid: ChipGrid, glyphs: Glyphs) -> list[Line]:
    form, cells = grid.form, grid.cells
    lines: list[Line] = [[] for _ in range(form.height)]
    outline = {"untested": "dropped", "bonus": "last"}.get(kind, kind)
    word: Line = [(clip(kind, cells - 2, ascii=glyphs.ascii), f"token:{kind}")]
    mark: Line = [(f"{glyphs.mark(kind)} ", f"mark:{kind}")]
    foot = "" if form.sign else glyphs.mark(kind)
    small = form.box < SMALLEST_BOX
    _put(lines, 0, [mark + word] if small else _box(word, outline, kind, cells, form.box, glyphs, foot=foot))
    if form.sign:
        _put(lines, form.box + form.bar, _sign(kind, form.sign, cells, glyphs))
    if kind == "rejected" and form.drop:
        _put(lines, form.height - form.last_box, _last("resampled", [("replaced", "token:resampled")], grid, glyphs))
    return lines


def _place(frame: AnimationFrame, slot: int, column: int, grid: ChipGrid, glyphs: Glyphs) -> list[Line]:
    form, cells = grid.form, grid.cells
    lines: list[Line] = [[] for _ in range(form.height)]
    if slot < frame.round.k:
        drafted = frame.round.drafted[slot]
        known = frame.known(slot, (column + 1) / grid.columns)
        if known != "hidden":
            _put(lines, 0, _drafted(drafted, known, frame, slot, form, cells, glyphs))
    last = frame.round.correction
    if last is not None and slot == frame.round.n_accepted and frame.last_token_progress > 0:
        _drop(lines, last, slot < frame.round.k, frame.last_token_progress, grid, glyphs)
    return lines


def _drop(lines: list[Line], last: Emitted, replaces: bool, progress: float, grid: ChipGrid, glyphs: Glyphs) -> None:
    """Let the last token drop in: below the token it replaces, or in the next free position of the row."""
    form, kind = grid.form, last.origin
    if replaces or form.box < SMALLEST_BOX:
        whole = _last(kind, _token(last.bytes, kind, grid.cells - 6, glyphs), grid, glyphs)
    else:
        foot = "" if form.sign else glyphs.mark(kind)
        token = _token(last.bytes, kind, grid.cells - 4, glyphs)
        whole = _box(token, "last", kind, grid.cells, form.box, glyphs, foot=foot)
    _put(lines, form.height - len(whole) if replaces else 0, whole[len(whole) - math.ceil(progress * len(whole)) :])
    if form.sign and not replaces and progress >= 1:
        _put(lines, form.box + form.bar, _sign(kind, form.sign, grid.cells, glyphs))


def _last(kind: str, token: Line, grid: ChipGrid, glyphs: Glyphs) -> list[Line]:
    """The last token with its sign, in a box where the form has one for it."""
    text: Line = [(f"{glyphs.mark(kind)} ", f"mark:{kind}"), *token]
    if grid.form.last_box < SMALLEST_BOX:
        return [text]
    return _box(text, "last", kind, grid.cells, grid.form.last_box, glyphs)


def _put(lines: list[Line], at: int, part: list[Line]) -> None:
    lines[at : at + len(part)] = part


def _drafted(
    drafted: Drafted, known: RowStage, frame: AnimationFrame, row: int, form: ChipForm, cells: int, glyphs: Glyphs
) -> list[Line]:
    kind = drafted.verdict if known == "decided" else WAITING
    outline = "dropped" if kind in ("untested", "ignored") else kind if known == "decided" else known
    in_box = not form.sign
    mark = "" if known == "drafted" else mark_of(kind, glyphs)
    if form.box < SMALLEST_BOX:
        sign: Line = [(f"{mark or ' '} ", f"mark:{kind}")]
        return [[*sign, *_token(drafted.bytes, kind, cells - 2, glyphs)]]
    token = _token(drafted.bytes, kind, cells - 4, glyphs)
    lines = _box(token, outline, kind, cells, form.box, glyphs, foot=mark if in_box and known == "decided" else "")
    if form.bar:
        test = (
            []
            if is_greedy(frame.round)
            else _test(drafted, known, frame.row_under_test == row, form.bar, cells, glyphs)
        )
        lines += test or [[] for _ in range(form.bar)]
    if form.sign:
        lines += _sign(kind, form.sign, cells, glyphs) if known == "decided" else []
    return lines


def _token(data: bytes | None, kind: str, room: int, glyphs: Glyphs) -> Line:
    """The token, the sign of its leading space standing back."""
    text = clip(visible(data, ascii=glyphs.ascii), max(1, room), ascii=glyphs.ascii)
    if text.startswith(glyphs.space) and len(text) > 1:
        return [(glyphs.space, "space"), (text[1:], f"token:{kind}")]
    return [(text, f"token:{kind}")]


def _box(
    content: Line, outline: str, kind: str, cells: int, height: int, glyphs: Glyphs, *, foot: str = ""
) -> list[Line]:
    pieces = OUTLINES[outline][glyphs.ascii]
    style = f"box:{kind}"
    inside = cells - 2
    middle = (height - 2) // 2
    rows = [_centred(content, inside) if y == middle else padded([], inside) for y in range(height - 2)]
    below = pieces.across * inside
    if foot:
        left = (inside - width(foot) - 2) // 2
        bottom: Line = [(below[:left], style), (f" {foot} ", f"mark:{kind}"), (below[left + width(foot) + 2 :], style)]
    else:
        bottom = [(below, style)]
    return [
        [(pieces.top_left + pieces.across * inside + pieces.top_right, style)],
        *([(pieces.down, style), *row, (pieces.down, style)] for row in rows),
        [(pieces.bottom_left, style), *bottom, (pieces.bottom_right, style)],
    ]


def _centred(line: Line, cells: int) -> Line:
    left = max(0, (cells - sum(width(text) for text, _ in line)) // 2)
    return padded([(" " * left, "text"), *line], cells)


def _test(
    drafted: Drafted, known: RowStage, row_under_test: bool, height: int, cells: int, glyphs: Glyphs
) -> list[Line]:
    """The chance of acceptance as the filled part of a line from 0 to 1, and u on it once it has fallen."""
    lines: list[Line] = [[] for _ in range(height)]
    if (
        known == "drafted"
        or drafted.test is None
        or (known == "decided" and drafted.verdict in ("untested", "ignored"))
    ):
        return lines
    u, chance = drafted.test
    filled, mark = accept_bar(chance, u, cells)
    kind = drafted.verdict if known == "decided" else WAITING
    has_u = known == "decided" or row_under_test
    line: Line = []
    for start, end in ((0, mark), (mark + 1, cells)) if has_u else ((0, cells),):
        inside = max(0, min(end, filled) - start)
        line.append((glyphs.full * inside, f"bar:{kind}"))
        line.append((glyphs.rest * (end - start - inside), "rest"))
        if start == 0 and has_u:
            line.append((glyphs.test, "strong"))
    lines[-1] = [part for part in line if part[0]]
    if has_u and height > 1:
        lines[-2] = [(" " * mark, "text"), ("u", "strong")]
    return lines


def _sign(kind: str, height: int, cells: int, glyphs: Glyphs) -> list[Line]:
    if height > BIG_LINES:
        return [[], *(_centred([(text, f"mark:{kind}")], cells) for text in BIG[kind][glyphs.ascii])]
    return [[] for _ in range(height // 2)] + [_centred([(glyphs.mark(kind), f"mark:{kind}")], cells)]
