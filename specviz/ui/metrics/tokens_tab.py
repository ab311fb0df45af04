"""The table of drafted tokens: sorted by what they cost, each row leads to its round."""

from typing import ClassVar

import numpy as np
from rich.style import Style
from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.message import Message
from textual.widgets import Static

from specviz.render.glyphs import SIGNS, glyphs
from specviz.render.screen_text import in_ascii
from specviz.ui.metrics.blocks import Line
from specviz.ui.metrics.draft_list import ORDERS, Order, TokenListing, TokenPosition, drafted_listing, id_listing
from specviz.ui.metrics.page import BarChoice, ChoiceBar
from specviz.ui.metrics.scope import Scope
from specviz.ui.widgets.line_list import DrawnLine, LineList


def choices(chance: str) -> tuple[BarChoice, ...]:
    """The orders; ``chance`` is what the accept probability of a position is called."""
    return (
        BarChoice("lowest p/q", "order('ratio')"),
        BarChoice("most costly", "order('lost')"),
        BarChoice(f"lowest {chance}", "order('overlap')"),
        BarChoice("rejected ids", "order('ids')"),
    )


_MARGIN = 3
"""Cells beside a line: one on either side, and the scroll bar."""
_BESIDE = (" ", Style.null())


class TokenTable(LineList, can_focus=True):
    """A listing, with a cursor on the line whose place can be chosen."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("enter", "select", "go to its round", show=False)]
    DEFAULT_CSS = """
    TokenTable { background: $background; color: $foreground; }
    TokenTable:focus { background-tint: transparent; }
    TokenTable > .row--text { color: $foreground; }
    TokenTable > .row--head { color: $secondary; }
    TokenTable > .row--cursor { background: $panel; color: $foreground; text-style: bold reverse; }
    """ + "".join(f"TokenTable > .row--{sign.kind} {{ color: $token-{sign.kind}; }}\n" for sign in SIGNS)

    class Selected(Message):
        """The round of a line was requested."""

    def __init__(self) -> None:
        super().__init__()
        self._listing: TokenListing | None = None

    def fill(self, listing: TokenListing, *, stay: bool) -> None:
        """Show a listing. ``stay``: the cursor stays on what it is on, and that where it is, if it is still listed."""
        shown, self._listing = self._listing, listing
        row, line = self.cursor_row, self.cursor_row - self.scroll_offset.y
        if stay and shown and row < len(shown) and len(found := np.flatnonzero(listing.keys == shown.keys[row])):
            self.choose(int(found[0]), top=int(found[0]) - line)
        else:
            self.choose(0)

    @property
    def row_count(self) -> int:
        return len(self._listing) if self._listing else 0

    @property
    def position(self) -> TokenPosition | None:
        """Where the line under the cursor leads."""
        return self._listing.position(self.cursor_row) if self._listing and self.row_count else None

    def draw_head(self, width: int) -> DrawnLine:
        return self._styled(self._listing.head if self._listing else []), Style.null()

    def draw_row(self, index: int, width: int) -> DrawnLine:
        line = self._listing.line(index) if self._listing else []
        if index != self.cursor_row:
            return self._styled(line), Style.null()
        return [_BESIDE, *((text, Style.null()) for text, _ in line)], self.component_style("row--cursor")

    def _styled(self, line: Line) -> list[tuple[str, Style]]:
        return [_BESIDE, *((text, self.component_style(f"row--{name}")) for text, name in line)]

    def clicked(self, index: int) -> None:
        """The first click selects a line, the second goes to its round."""
        if index == self.cursor_row:
            self.action_select()
        else:
            self.choose(index)

    def action_select(self) -> None:
        self.post_message(self.Selected())

    def action_scroll_up(self) -> None:
        self.move(-1)

    def action_scroll_down(self) -> None:
        self.move(1)

    def action_page_up(self) -> None:
        self.move(-self.page)

    def action_page_down(self) -> None:
        self.move(self.page)

    def action_scroll_home(self) -> None:
        self.choose(0)

    def action_scroll_end(self) -> None:
        self.choose(self.row_count - 1)


class TokensTab(Vertical):
    """The orders, the table in the one chosen, and what it holds in words."""

    DEFAULT_CSS = """
    TokensTab { background: $background; }
    TokensTab > .note { height: 1; padding: 0 1; color: $secondary; }
    """

    class Chosen(Message):
        """A row was chosen; go to its round."""

        def __init__(self, position: TokenPosition) -> None:
            super().__init__()
            self.position = position

    def __init__(self, *, id: str, ascii: bool = False) -> None:
        super().__init__(id=id)
        self._glyphs = glyphs(ascii)
        self._scope: Scope | None = None
        self._order: Order = ORDERS[0]
        self._filled: object = None
        self._words = ""
        self._bar = ChoiceBar(choices("overlap"), id="orders")
        self._note = Static(classes="note")
        self.table = TokenTable()

    def compose(self) -> ComposeResult:
        yield self._bar
        yield self.table
        yield self._note

    def show(self, scope: Scope) -> None:
        self._scope = scope
        self._bar.offer(choices(scope.rates.overlap_name))
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
        """Refill the table if its rows, their order or its width changed."""
        width = self.size.width - _MARGIN
        wanted = self._scope, self._order, width
        if self._scope is None or width <= 0 or wanted == self._filled:
            return
        self._filled = wanted
        drafts = self._scope.drafts
        if self._order == "ids":
            listing = id_listing(drafts, width, self._glyphs)
        else:
            listing = drafted_listing(drafts, self._order, width, self._glyphs, self._scope.rates.overlap_name)
        self.table.fill(listing, stay=stay)
        words = in_ascii(listing.words) if self._glyphs.ascii else listing.words
        if words != self._words:
            self._words = words
            self._note.update(Content(words), layout=False)

    @on(TokenTable.Selected)
    def _selected(self) -> None:
        if position := self.table.position:
            self.post_message(self.Chosen(position))
