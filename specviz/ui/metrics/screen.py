"""Every number of the run on four tabs, as of the round shown."""

import time
from collections.abc import Callable
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType

from specviz.render.screen_text import literal
from specviz.ui.dialogs.dialog import Dialog
from specviz.ui.metrics.acceptance import acceptance
from specviz.ui.metrics.blocks import PageBody
from specviz.ui.metrics.draft_list import Order
from specviz.ui.metrics.page import BarChoice, ChoiceBar, MetricsPage
from specviz.ui.metrics.scope import Scope, scope_of
from specviz.ui.metrics.speed import speed
from specviz.ui.metrics.tokens_per_round import tokens_per_round
from specviz.ui.metrics.tokens_tab import TokensTab
from specviz.ui.run.status_line import StatusField, draft_length, temperatures
from specviz.ui.run.timeline import Timeline
from specviz.ui.shared.keys import Hint
from specviz.ui.shared.shell import later
from specviz.ui.widgets.bars import KeyBar, StatusLine

EVERY = 0.5
"""Seconds between two refreshes."""
MAX_SHARE = 0.1
"""The share of time that refreshing a tab may take; an expensive tab is refreshed less often."""

TABS = (
    BarChoice("Acceptance", "tab(0)"),
    BarChoice("Tokens per round", "tab(1)"),
    BarChoice("Speed", "tab(2)"),
    BarChoice("Tokens", "tab(3)"),
)
PAGES: tuple[Callable[[Scope], PageBody], ...] = (acceptance, tokens_per_round, speed)
TOKENS = 3
"""The tab that is a table and not a page."""


TAB, BACK = Hint(("step(-1)", "step(1)"), "tab", ("←", "→")), Hint(("back",), "back", ("q",))
SCROLL = Hint(("scroll(-1)", "scroll(1)"), "scroll", ("↑", "↓"))
ROW = Hint(("scroll(-1)", "scroll(1)"), "row", ("↑", "↓"))
ORDER = Hint(("order_next",), "order", ("s",))
GO = Hint(("go",), "go to its round", ("enter",))


class MetricsScreen(Dialog[tuple[int, int]]):
    """Shows a timeline and follows it; gives the (round, row) to go to, or None. A round shown up to one of its phases
    does not count yet. Only the tab in view is computed, and only where it is another one or the timeline has
    changed."""

    AUTO_FOCUS = ""
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("q,escape,m", "back", "back", priority=True),
        Binding("x", "app.export", "picture", priority=True),
        Binding("left,shift+tab", "step(-1)", "previous tab", priority=True),
        Binding("right,tab", "step(1)", "next tab", priority=True),
        Binding("s", "order_next", "next order"),
    ]
    DEFAULT_CSS = """
    MetricsScreen {
        layout: vertical; background: $background; color: $foreground;
        & > #metrics-title { background: $panel; }
        & > #metrics-tabs { background: $surface; }
        & > #metrics-keys { background: $panel; }
        & > MetricsPage, & > TokensTab { height: 1fr; }
        &.-tall > MetricsPage, &.-tall > TokensTab { margin-top: 1; }
        & > TokensTab, &.-tokens > MetricsPage { display: none; }
        &.-tokens > TokensTab { display: block; }
    }
    """

    def __init__(self, timeline: Timeline, *, ascii: bool, every: float = EVERY) -> None:
        super().__init__()
        self._timeline = timeline
        self._every = every
        self._title = StatusLine(id="metrics-title", ascii=ascii)
        self._bar = ChoiceBar(TABS, id="metrics-tabs")
        self._page = MetricsPage(id="metrics-page", ascii=ascii)
        self._tokens = TokensTab(id="metrics-tokens", ascii=ascii)
        self._keys = KeyBar(id="metrics-keys", ascii=ascii)
        self._tab = 0
        self._shown: object = None

    def compose(self) -> ComposeResult:
        yield self._title
        yield self._bar
        yield self._page
        yield self._tokens
        yield self._keys

    def on_mount(self) -> None:
        self.action_tab(0)
        self._watch(0.0)

    # -- showing

    def _watch(self, spent: float) -> None:
        later(self, max(self._every, spent / MAX_SHARE), self._look)

    def _look(self) -> None:
        begun = time.perf_counter()
        self._update()
        self._watch(time.perf_counter() - begun)

    def _update(self) -> None:
        """Refresh the tab in view if the timeline has changed."""
        timeline = self._timeline
        now = (
            self._tab,
            timeline.stats,
            timeline.last_complete,
            timeline.total,
            timeline.over,
            tuple(timeline.stats.calibrations),
        )
        if now == self._shown:
            return
        self._shown = now
        scope = scope_of(timeline.stats, timeline.drafts, timeline.last_complete)
        self._title.show(self._title_fields(scope))
        if self._tab == TOKENS:
            self._tokens.show(scope)
        else:
            self._page.show(PAGES[self._tab](scope))

    def _title_fields(self, scope: Scope) -> list[StatusField]:
        title = scope.tokens_title if self._tab == 1 else scope.title
        fields = [StatusField(("Metrics",), 1, "accent"), StatusField((title,), 0, "strong")]
        if settings := scope.settings:
            words = f"K {draft_length(settings)}  T {temperatures(settings)}  rule {literal(settings.rule)}"
            fields.append(StatusField((words, ""), 2, "quiet", right=True))
        return fields

    # -- keys

    def action_tab(self, index: int) -> None:
        self._tab = index
        self._bar.show(index)
        self.set_class(index == TOKENS, "-tokens")
        self._keys.show([(hint, (True,) * len(hint.shown)) for hint in self._hints()])
        (self._tokens.table if index == TOKENS else self._page).focus()
        self._page.scroll_home(animate=False)
        self._update()

    def _hints(self) -> tuple[Hint, ...]:
        return (TAB, ORDER, ROW, GO, BACK) if self._tab == TOKENS else (TAB, SCROLL, BACK)

    def action_step(self, step: int) -> None:
        self.action_tab((self._tab + step) % len(TABS))

    def action_scroll(self, lines: int) -> None:
        if self._tab == TOKENS:
            self._tokens.table.move(lines)
        else:
            self._page.scroll_relative(y=lines, animate=False)

    def action_order(self, order: Order) -> None:
        if self._tab == TOKENS:
            self._tokens.order(order)

    def action_order_next(self) -> None:
        if self._tab == TOKENS:
            self._tokens.order_next()

    def action_go(self) -> None:
        if self._tab == TOKENS and (position := self._tokens.table.position):
            self.answer(position)

    def action_back(self) -> None:
        self.answer(None)

    @on(TokensTab.Chosen)
    def _chosen(self, message: TokensTab.Chosen) -> None:
        self.answer(message.position)
