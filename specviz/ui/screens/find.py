"""A list of tokens: rejections, those that hold a text, those for which a condition holds."""

from collections.abc import Collection, Sequence

from textual import on
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.timer import Timer
from textual.widgets import Static

from specviz.breakpoints import Breakpoint
from specviz.events import Round
from specviz.text_search import quoted
from specviz.ui.finding import NOWHERE, Hit, Place, Query, hits, understand
from specviz.ui.literal import in_ascii, literal
from specviz.ui.screens.panel import Panel
from specviz.ui.widgets.field import Field
from specviz.ui.widgets.hit_list import HitList
from specviz.ui.widgets.numbers import counted

SETTLED = 0.12
"""Seconds without a key after which what was typed is looked for."""


class FindScreen(Panel[Place]):
    """Gives the place to go to, or None. The list begins at the first hit from place ``at`` on."""

    DEFAULT_CSS = """
    FindScreen > .panel { height: 94%; }
    FindScreen #found { margin: 0 0 1 0; color: $secondary; }
    """
    BINDINGS = [  # noqa: RUF012
        ("up", "move(-1)", "hit before"),
        ("down", "move(1)", "next hit"),
        ("pageup", "page(-1)", "page up"),
        ("pagedown", "page(1)", "page down"),
    ]

    def __init__(
        self,
        rounds: Sequence[Round],
        *,
        at: Place = NOWHERE,
        end_ids: Collection[int] = (),
        ascii: bool = False,
    ) -> None:
        super().__init__(ascii=ascii)
        self._rounds = tuple(rounds)
        self._at = at
        self._end_ids = end_ids
        self._list = HitList(self._rounds, ascii=ascii)
        self._typing: Timer | None = None

    def compose(self) -> ComposeResult:
        with Vertical(classes="panel") as panel:
            panel.border_title = Content("Find")
            panel.border_subtitle = Content("up/down: choose   enter: go there   esc: back")
            yield Field(
                placeholder="text, or a condition: overlap<.3  p/q<.1  token=464  text~REGEX  N<=1", ascii=self.ascii
            )
            yield Static(id="found")
            yield self._list

    def on_mount(self) -> None:
        self.query_one(Field).focus()
        self._search()

    def on_input_changed(self) -> None:
        self._stop_waiting()
        self._typing = self.set_timer(SETTLED, self._search)

    def on_input_submitted(self) -> None:
        if self._typing is not None:
            self._search()
        self._leave()

    @on(HitList.Clicked)
    def _clicked(self, message: HitList.Clicked) -> None:
        self._list.choose(message.index)
        self._leave()

    def action_move(self, lines: int) -> None:
        self._list.move(lines)

    def action_page(self, pages: int) -> None:
        self._list.move(pages * self._list.page)

    def _leave(self) -> None:
        if chosen := self._list.chosen:
            self.answer(chosen.place)

    def _stop_waiting(self) -> None:
        if self._typing is not None:
            self._typing.stop()
            self._typing = None

    def _search(self) -> None:
        self._stop_waiting()
        found: list[Hit] = []
        try:
            query = understand(self.query_one(Field).value)
            found = hits(self._rounds, query, self._end_ids)
            said = _summary(query, len(found))
        except ValueError as error:
            said = str(error)
        self.query_one("#found", Static).update(Content(in_ascii(literal(said)) if self.ascii else literal(said)))
        self._list.show(found, next((i for i, hit in enumerate(found) if hit.place >= self._at), 0))


def _summary(query: Query, found: int) -> str:
    if isinstance(query, Breakpoint):
        return f"{counted(found, 'hit')} of the condition {quoted(str(query))}"
    return f"{counted(found, 'token')} with {quoted(query)}" if query else counted(found, "rejection")
