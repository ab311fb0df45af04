"""One round: what was drafted, how each test went, and why."""

from textwrap import wrap

from rich.style import Style
from textual import events
from textual.message import Message
from textual.strip import Strip

from specviz.core.events import End, Round
from specviz.core.safe_text import clip
from specviz.core.safe_text import width as cells
from specviz.render.cells import Part
from specviz.render.explanations import end_text
from specviz.render.glyphs import component
from specviz.render.phases import (
    Reveal,
    explain_phase,
    focus_row,
    headline,
    partial_reveal,
    row_stage,
    times_so_far,
    without_correction,
)
from specviz.ui.main.round_rows import Columns, RoundTable
from specviz.ui.widgets.cell_widget import CellWidget

_UPRIGHT = Style(strike=False, underline=False, italic=False)
_NOTE_LINES = 2
_MAX_NOTE_LINES = 4


class RoundPanel(CellWidget, panel=True, tokens=True):
    """The table of a round, the sentence about the chosen row, the times. Rows do not move: one is reserved for every
    position of the largest K seen and one for the last token."""

    PREFIX = "round"
    DEFAULT_CSS = """
    RoundPanel { height: 1fr; padding: 0; }
    RoundPanel > .token--waiting { color: $secondary; }
    RoundPanel > .round--head { color: $secondary; }
    RoundPanel > .round--quiet { text-style: dim; }
    RoundPanel > .round--faint { color: $secondary; }
    RoundPanel > .round--strong { text-style: bold; }
    RoundPanel > .round--chosen { background: $panel; }
    """

    class RowClicked(Message):
        """A row was clicked: a drafted token, or k for the last one."""

        def __init__(self, row: int) -> None:
            super().__init__()
            self.row = row

    def __init__(self, *, id: str | None = None, classes: str | None = None, ascii: bool = False) -> None:
        super().__init__(id=id, classes=classes, ascii=ascii)
        self._round: Round | None = None
        self._row: int | None = None
        self._reveal: Reveal | None = None
        self._max_k = 0
        self._top = 0
        self._rows: list[int | None] = []
        self.set_titles("Round")

    def show(
        self,
        round: Round | None,
        *,
        row: int | None = None,
        max_k: int = 0,
        end: End | None = None,
        reveal: Reveal | None = None,
    ) -> None:
        """Show ``round`` with ``row`` chosen; None: the row worth explaining. ``max_k``: the rows to reserve. With
        ``reveal`` only what is known in that phase; a row still hidden gives way to the one the phase is about."""
        reveal = partial_reveal(reveal)
        self.set_titles(
            headline(round, reveal, self._glyphs) if round else "Round",
            end_text(end, self._glyphs) if end and round and reveal is None else "",
        )
        if round is not None and (row is None or row_stage(round, reveal, row) == "hidden"):
            row = focus_row(round, reveal)
        max_k = max(max_k, round.k if round else 0)
        if round is not self._round or (row, max_k, reveal) != (self._row, self._max_k, self._reveal):
            self._round, self._row, self._max_k, self._reveal = round, row, max_k, reveal
            self.redraw()

    def on_click(self, event: events.Click) -> None:
        offset = event.get_content_offset(self)
        if offset is not None and 0 <= offset.y < len(self._rows):
            row = self._rows[offset.y]
            if row is not None:
                self.post_message(self.RowClicked(row))

    def strips(self, width: int, height: int) -> list[Strip]:
        shown = self._round
        self._rows = []
        if shown is None:
            return [self.strip([(" no round yet", "quiet")], width)]
        head, times = height >= 4, height >= 6
        notes = [(line, "text") for line in self._notes(shown, width)]
        visible_round = shown if self._reveal is None else without_correction(shown)
        reserved = self._max_k + 1
        room = height - head - times
        table = max(1, min(reserved, room - min(_NOTE_LINES, room // 3)))
        if len(notes) > (fitting := min(_MAX_NOTE_LINES, max(0, room - table))):
            notes = self._cut(notes[:fitting])
        drawing = RoundTable(Columns.fitting(width, self._max_k), self._glyphs)

        lines: list[list[Part]] = []
        if head:
            lines.append(drawing.header(shown))
            self._rows.append(None)
        self._scroll(table, reserved, shown.k)
        chosen: set[int] = set()
        for slot in range(self._top, self._top + table):
            row = shown.k if slot == self._max_k else slot if slot < shown.k else None
            known = "hidden" if row is None else row_stage(shown, self._reveal, row)
            if row is None or known == "hidden":
                lines.append(drawing.empty(slot) if slot < self._max_k else [])
                self._rows.append(None)
                continue
            if row == self._row:
                chosen.add(len(lines))
            lines.append(drawing.row(visible_round, row, row == self._row, known))
            self._rows.append(row)
        lines += [[(" ", "text"), note] for note in notes]
        lines += [[] for _ in range(height - times - len(lines))]
        if times:
            line = f" {times_so_far(shown, self._reveal, self._glyphs)}"
            lines.append([(clip(line, width, ascii=self._glyphs.ascii), "head")])
        plain = self.rich_style
        tinted = plain + self.component_style("round--chosen")
        return [self.strip(line, width, tinted if y in chosen else plain) for y, line in enumerate(lines)]

    def _notes(self, shown: Round, width: int) -> list[str]:
        sentences = explain_phase(shown, self._reveal, self._glyphs, self._row).split("\n")
        return [line for sentence in sentences for line in _wrapped(sentence, max(1, width - 2))]

    def _cut(self, notes: list[Part]) -> list[Part]:
        """The lines that fit; the last says if there are more."""
        if not notes:
            return []
        last, style = notes[-1]
        return [*notes[:-1], (f"{last} {self._glyphs.ellipsis}", style)]

    def _scroll(self, table: int, reserved: int, k: int) -> None:
        """Keep the chosen row among the ``table`` rows there is room for."""
        slot = self._max_k if self._row is None or self._row >= k else self._row
        self._top = max(min(self._top, slot, reserved - table), slot - table + 1, 0)

    def style_of(self, name: str) -> Style:
        if name in ("text", "head", "quiet", "faint", "strong"):
            return super().style_of(name)
        kind = name.removeprefix("mark:")
        style = self.component_style(component(kind))
        return style + _UPRIGHT if kind != name else style


def _wrapped(sentence: str, width: int) -> list[str]:
    return [sentence] if cells(sentence) <= width else wrap(sentence, width, break_on_hyphens=False)
