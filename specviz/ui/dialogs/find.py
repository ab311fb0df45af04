"""Finding tokens by text or condition, and going to a round by number."""

import asyncio
import re
import time
from bisect import bisect_left
from collections.abc import Collection, Iterator, Sequence
from functools import partial
from itertools import chain, islice

from textual import on
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import Static

from specviz.breakpoints.monitor import Breakpoint
from specviz.breakpoints.text_search import quoted
from specviz.core.errors import SpecvizError
from specviz.core.events import Round
from specviz.render.numbers import pluralised
from specviz.render.screen_text import in_ascii, literal
from specviz.trace.round_store import RoundStore
from specviz.ui.dialogs.dialog import ModalDialog
from specviz.ui.dialogs.find_results import HitList
from specviz.ui.run.jumps import NOWHERE, Hit, Query, RoundRow, iter_hits, parse_query
from specviz.ui.shared.shell import later
from specviz.ui.widgets.input_field import Field

SETTLED = 0.12
"""Seconds without a key before the search starts."""
AT_ONCE = 512
"""Up to this many rounds are searched immediately; more are searched on a thread."""
_NUMBER = re.compile(r"[0-9]{1,9}")
TELL_EVERY = 0.2
"""Seconds between two updates of a long search."""


class FindScreen(ModalDialog[RoundRow]):
    """Returns the (round, row) to go to, or None. The first hit at or after ``at`` is selected."""

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
        at: RoundRow = NOWHERE,
        end_ids: Collection[int] = (),
        ascii: bool = False,
        thread_above: int = AT_ONCE,
        tell_every: float = TELL_EVERY,
    ) -> None:
        super().__init__(ascii=ascii)
        self._rounds = rounds
        self._thread_above, self._tell_every = thread_above, tell_every
        self._count = len(rounds)
        self._search_number = 0
        self._moved = False
        self._at = at
        self._end_ids = end_ids
        self._list = HitList(ascii=ascii)
        self._typing: asyncio.TimerHandle | None = None

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
        self._typing = later(self, SETTLED, self._search)

    def on_input_submitted(self) -> None:
        if self._typing is not None:
            self._search()
        self._leave()

    @on(HitList.Clicked)
    def _clicked(self, message: HitList.Clicked) -> None:
        self._list.choose(message.index)
        self._leave()

    def action_move(self, lines: int) -> None:
        self._moved = True
        self._list.move(lines)

    def action_page(self, pages: int) -> None:
        self._moved = True
        self._list.move(pages * self._list.page)

    def _leave(self) -> None:
        if chosen := self._list.chosen:
            self.answer(chosen.round_row)

    def _stop_waiting(self) -> None:
        if self._typing is not None:
            self._typing.cancel()
            self._typing = None

    def _search(self) -> None:
        """Search for the input: immediately in a few rounds, otherwise on a thread that reports hits as it goes."""
        self._stop_waiting()
        self._search_number += 1
        self._moved = False
        try:
            query = parse_query(self.query_one(Field).value)
            if self._count <= self._thread_above or not isinstance(self._rounds, RoundStore):
                self._look_at_once(query)
            else:
                self._show(query, [], self._count)
                search = partial(self._look_through, self._rounds, query, self._search_number)
                self.run_worker(search, thread=True, group="search", exclusive=True)
        except ValueError as error:
            self._say(str(error))
            self._list.show([])

    def _look_at_once(self, query: Query) -> None:
        found: list[Hit] = []
        try:
            found.extend(iter_hits(self._rounds, query, self._end_ids))
            self._show(query, found)
        except SpecvizError as error:
            self._show(query, found)
            self._say(str(error))

    def _look_through(self, rounds: RoundStore, query: Query, number: int) -> None:
        """On a thread: show the hits as they accumulate, until another search begins."""
        seen = 0

        def scanned() -> Iterator[Round]:
            nonlocal seen
            for round in islice(rounds.iter_compact(), self._count):
                yield round
                seen += 1

        found: list[Hit] = []
        tell_at = time.monotonic() + self._tell_every
        walk = iter_hits(scanned(), query, self._end_ids)
        try:
            for hit in chain(walk, (None,)):
                if number != self._search_number or not self.is_attached:
                    return
                if hit is not None:
                    found.append(hit)
                if hit is None or time.monotonic() >= tell_at:
                    self.app.call_from_thread(self._tell, number, query, list(found), self._count - seen)
                    tell_at = time.monotonic() + self._tell_every
        except SpecvizError as error:
            self.app.call_from_thread(self._say, str(error))

    def _tell(self, number: int, query: Query, found: list[Hit], left: int) -> None:
        if number == self._search_number and self.is_attached:
            self._show(query, found, left)

    def _show(self, query: Query, found: list[Hit], left: int = 0) -> None:
        """``left``: rounds not searched yet."""
        more = f"; {left:,} rounds left to search" if left else ""
        self._say(_summary(query, len(found)) + more)
        chosen = self._list.chosen
        at = chosen.round_row if chosen and self._moved else self._at
        first = bisect_left(found, at, key=lambda hit: hit.round_row)
        self._list.show(found, first if first < len(found) else 0)

    def _say(self, words: str) -> None:
        said = literal(words)
        self.query_one("#found", Static).update(Content(in_ascii(said) if self.ascii else said))


def _summary(query: Query, found: int) -> str:
    if isinstance(query, Breakpoint):
        return f"{pluralised(found, 'hit')} for the condition {quoted(str(query))}"
    return f"{pluralised(found, 'token')} with {quoted(query)}" if query else pluralised(found, "rejection")


class GoToScreen(ModalDialog[int]):
    """Returns a round from 1 to ``total``, or None."""

    DEFAULT_CSS = "GoToScreen > .panel { max-width: 44; }"

    def __init__(self, total: int, *, ascii: bool = False) -> None:
        super().__init__(ascii=ascii)
        self._total = total

    def compose(self) -> ComposeResult:
        with Vertical(classes="panel") as panel:
            panel.border_title = Content("Go to round")
            panel.border_subtitle = Content("enter: go   esc: back")
            yield Field(placeholder=f"1 to {self._total}", ascii=self.ascii)
            yield Static(id="trouble")

    def on_mount(self) -> None:
        self.query_one(Field).focus()

    def on_input_submitted(self, event: Field.Submitted) -> None:
        event.stop()
        number = event.value.strip()
        if _NUMBER.fullmatch(number) and 1 <= int(number) <= self._total:
            self.answer(int(number))
        else:
            self.query_one("#trouble", Static).update(Content(f"Enter a number from 1 to {self._total}."))
