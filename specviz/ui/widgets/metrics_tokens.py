"""The table of drafted tokens: sorted by what they cost, each row the way to its round."""

from collections.abc import Sequence
from typing import ClassVar

from rich.style import Style
from rich.text import Text
from textual import on
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.message import Message
from textual.widgets import DataTable, Static

from specviz.drafted_tokens import dearest, rejected_ids
from specviz.ui.glyphs import SIGNS, glyphs
from specviz.ui.literal import in_ascii
from specviz.ui.widgets.drawing import Part
from specviz.ui.widgets.metrics_page import Choice, ChoiceBar
from specviz.ui.widgets.metrics_scope import Scope
from specviz.ui.widgets.metrics_table import ORDERS, Listing, Order, Place, drafted_listing, id_listing
from specviz.ui.widgets.painted import Painted


def choices(chance: str) -> tuple[Choice, ...]:
    """The orders; ``chance`` is what the accept chance of a position is called."""
    return (
        Choice("lowest p/q", "order('ratio')"),
        Choice("most costly", "order('lost')"),
        Choice(f"lowest {chance}", "order('overlap')"),
        Choice("rejected ids", "order('ids')"),
    )


_MARGIN = 3
"""Cells beside a line: padding and the scroll bar."""
AT_ONCE = 80
"""Lines added before the first picture: more than a screen has."""
NOTHING = Listing((), (), (), "")


class TokenTable(DataTable[Text], Painted):
    """One column that holds whole lines: they are aligned once for all rows, and 500 of them are cheap to add."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {"row--text", "row--head", *(f"row--{sign.kind}" for sign in SIGNS)}
    DEFAULT_CSS = """
    TokenTable {
        height: 1fr; background: $background; color: $foreground; overflow-x: hidden; scrollbar-size-vertical: 1;
        &:focus { background-tint: transparent; }
        & > .datatable--header, &:focus > .datatable--header {
            background: $background; color: $secondary; text-style: none; background-tint: transparent;
        }
        & > .datatable--cursor, &:focus > .datatable--cursor {
            background: $panel; color: $foreground; text-style: bold reverse;
        }
        & > .datatable--hover { background: $panel; }
    }
    TokenTable > .row--text { color: $foreground; }
    TokenTable > .row--head { color: $secondary; }
    """ + "".join(f"TokenTable > .row--{sign.kind} {{ color: $token-{sign.kind}; }}\n" for sign in SIGNS)

    def __init__(self) -> None:
        super().__init__(cursor_type="row", cell_padding=1)
        self._listing = NOTHING
        self._width = 0
        self._styled = Style.null()

    def fill(self, listing: Listing, width: int, *, stay: bool) -> None:
        """Show a listing. ``stay``: the cursor stays on its place, and that on its line, where it is still listed."""
        place, line = self.place, self.cursor_row - self.scroll_offset.y
        row = listing.places.index(place) if stay and place in listing.places else None
        self.clear(columns=True)
        self._listing, self._width, self._styled = listing, width, self.painted("row--text")
        self.add_column(self._text(listing.head), width=width)
        self._add(listing, 0, AT_ONCE + (row or 0))
        if row is not None:
            self.move_cursor(row=row, scroll=False)
            self.call_after_refresh(self.scroll_to, y=row - line, animate=False)

    def _add(self, listing: Listing, start: int, stop: int | None = None) -> None:
        """Add lines, and those behind them once these are on screen."""
        if listing is self._listing:
            self.add_rows([self._text(line)] for line in listing.lines[start:stop])
            if stop is not None and stop < len(listing.lines):
                self.call_after_refresh(self._add, listing, stop)

    @property
    def place(self) -> Place | None:
        """Where the line under the cursor leads."""
        places = self._listing.places
        return places[self.cursor_row] if self.cursor_row < len(places) else None

    def notify_style_update(self) -> None:
        super().notify_style_update()
        if self.is_attached:
            self.call_later(self._restyle)

    def _restyle(self) -> None:
        """Cells keep the colours they were made with: make them anew under another theme."""
        if self._listing is not NOTHING and self.painted("row--text") != self._styled:
            self.fill(self._listing, self._width, stay=True)

    def _text(self, line: Sequence[Part]) -> Text:
        return Text.assemble(*((text, self.painted(f"row--{name}")) for text, name in line), no_wrap=True)


class TokensTab(Vertical):
    """The orders, the table in the one chosen, and what it holds in words."""

    DEFAULT_CSS = """
    TokensTab { background: $background; }
    TokensTab > .note { height: 1; padding: 0 1; color: $secondary; }
    """

    class Chosen(Message):
        """A row was chosen: the way to its round."""

        def __init__(self, place: Place) -> None:
            super().__init__()
            self.place = place

    def __init__(self, *, id: str, ascii: bool = False) -> None:
        super().__init__(id=id)
        self._glyphs = glyphs(ascii)
        self._scope: Scope | None = None
        self._order: Order = ORDERS[0]
        self._filled: object = None
        self._bar = ChoiceBar(choices("overlap"), id="orders")
        self._note = Static(classes="note")
        self.table = TokenTable()

    def compose(self) -> ComposeResult:
        yield self._bar
        yield self.table
        yield self._note

    def show(self, scope: Scope) -> None:
        self._scope = scope
        self._bar.offer(choices(scope.rates.chance_name))
        self._fill()

    def order(self, order: Order) -> None:
        self._order = order
        self._bar.show(ORDERS.index(order))
        self._fill(stay=False)

    def order_next(self) -> None:
        self.order(ORDERS[(ORDERS.index(self._order) + 1) % len(ORDERS)])

    def on_resize(self) -> None:
        self._fill()

    def _fill(self, *, stay: bool = True) -> None:
        """Fill the table anew where its rows, their order or its width changed."""
        width = self.size.width - _MARGIN
        wanted = self._scope, self._order, width
        if self._scope is None or width <= 0 or wanted == self._filled:
            return
        self._filled = wanted
        drafts = self._scope.drafts
        if self._order == "ids":
            listing = id_listing(rejected_ids(drafts), dearest(drafts), width, self._glyphs)
        else:
            chance = self._scope.rates.chance_name
            listing = drafted_listing(drafts, self._order, width, self._glyphs, chance)
        self.table.fill(listing, width, stay=stay)
        words = in_ascii(listing.words) if self._glyphs.ascii else listing.words
        self._note.update(Content(words), layout=False)

    @on(DataTable.RowSelected)
    def _selected(self, event: DataTable.RowSelected) -> None:
        event.stop()
        if place := self.table.place:
            self.post_message(self.Chosen(place))
