"""All rounds in one line: how many tokens each gave, and which one is shown."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from textual import events
from textual.message import Message
from textual.strip import Strip

from specviz.render.glyphs import Glyphs
from specviz.ui.widgets.cell_widget import CellWidget

Counts = Sequence[int] | NDArray[np.int64]
HINT = "  N of each round; [ ] = shown, click to jump"
_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"


def level(n: int, max_n: int, glyphs: Glyphs) -> str:
    """The sign of a round of ``n`` tokens: an eighth a token as far as eight reach, then in proportion."""
    if glyphs.ascii:
        return _DIGITS[min(n, len(_DIGITS) - 1)]
    steps = n if max_n <= 8 else max(1, round(n * 8 / max_n))
    return glyphs.levels[max(0, min(8, steps))]


def window(count: int, shown: int, room: int, first: int) -> int:
    """The 0-based first round to draw so that ``room`` cells show round ``shown``. It moves from ``first`` as little as
    needed; while the shown round is the last, it keeps to the end."""
    last = max(0, count - room)
    if shown >= count:
        return last
    if shown == 0:
        return 0
    return max(0, min(max(min(first, shown - 1), shown - room), last))


class RoundStrip(CellWidget):
    """A cell a round; click to jump to it."""

    PREFIX = "strip"
    DEFAULT_CSS = """
    RoundStrip { height: 1; padding: 0 1; }
    RoundStrip > .strip--cell { color: $plot-measured; }
    RoundStrip > .strip--later { color: $plot-band; }
    RoundStrip.-ascii > .strip--later { color: $secondary; }
    RoundStrip > .strip--shown { color: $token-bonus; text-style: bold; }
    RoundStrip > .strip--hint { color: $secondary; }
    """

    class JumpTo(Message):
        """Go to a round, 0 for the prompt."""

        def __init__(self, round: int) -> None:
            super().__init__()
            self.round = round

    def __init__(self, *, id: str | None = None, classes: str | None = None, ascii: bool = False) -> None:
        super().__init__(id=id, classes=classes, ascii=ascii)
        self._values: Counts = ()
        self._shown = 0
        self._whole = True
        self._max_n = 1
        self._first = 0
        self._targets: list[int | None] = []

    def show(self, values: Counts, shown: int, max_n: int, *, whole: bool = True) -> None:
        """``values``: N of each round; ``shown``: the round in brackets; ``max_n``: the largest N there can be.
        ``whole`` False: the size of the round shown is not revealed yet."""
        self._values = values
        self._shown = shown
        self._whole = whole
        self._max_n = max_n
        self.refresh()

    def on_click(self, event: events.Click) -> None:
        offset = event.get_content_offset(self)
        if offset is not None and 0 <= offset.x < len(self._targets):
            target = self._targets[offset.x]
            if target is not None:
                self.post_message(self.JumpTo(target))

    def render_line(self, y: int) -> Strip:
        width = self.content_size.width
        parts = self._parts(width)
        self._targets = [target for text, _, target in parts for _ in text]
        return self.strip([(text, name) for text, name, _ in parts], width)

    def _parts(self, width: int) -> list[tuple[str, str, int | None]]:
        """(text, style, round a click on it goes to)."""
        values, shown = self._values, max(0, min(self._shown, len(self._values)))
        number = len(str(len(values)))
        room = max(1, width - number - 3)
        self._first = first = window(len(values), shown, room, self._first)
        last = min(len(values), first + room)
        label = str(first).rjust(number)
        parts: list[tuple[str, str, int | None]] = [
            (f"[{label}]", "shown", first) if not shown else (f"{label} ", "hint", first)
        ]
        for index in range(first, last):
            sign = level(values[index], self._max_n, self._glyphs)
            if index + 1 == shown:
                parts.append((f"[{sign if self._whole else ' '}]", "shown", shown))
            else:
                parts.append((sign, "cell" if index < shown else "later", index + 1))
        if last == len(values) and first == 0 and sum(len(text) for text, _, _ in parts) + len(HINT) <= width:
            parts.append((HINT, "hint", None))
        return parts
