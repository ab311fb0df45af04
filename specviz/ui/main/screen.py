"""The screen of a run: text, round and plots as of the round shown, and the keys that move through it."""

import asyncio
from typing import ClassVar

from textual import events, on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Horizontal, Vertical

from specviz.core.events import Failed, Round
from specviz.render.phases import row_stage, without_correction
from specviz.render.screen_text import literal
from specviz.ui.dialogs.help import HelpScreen
from specviz.ui.inspector.panel import Inspector
from specviz.ui.main.actions import MainActions
from specviz.ui.main.keys import BY_ACTION, KEYS, hints, main_bindings
from specviz.ui.main.legend import Legend
from specviz.ui.main.plot_column import PlotColumn
from specviz.ui.main.round_panel import RoundPanel
from specviz.ui.main.round_strip import RoundStrip
from specviz.ui.main.text_panel import TextPanel
from specviz.ui.run.playback import Playback
from specviz.ui.run.status_line import pair_names, rate_fields, run_fields, run_status
from specviz.ui.shared.app_options import AppOptions
from specviz.ui.shared.shell import later
from specviz.ui.widgets.bars import Banner, CornerLabel, FailurePanel, KeyBar, LoadingPanel, StatusLine, TooSmallNotice

MIN_WIDTH, MIN_HEIGHT = 60, 20
LOG_LINES = 6
ROUND_LINES = 6
"""Lines of a round panel besides those of drafted tokens: head, last token, two sentences, a gap, the times."""
WIDE_VIEWS = ("all", "text", "plots")
NARROW_VIEWS = ("text", "plots")
SOONEST = 1 / 30
"""Seconds between two recorded rounds at the fastest."""


class MainScreen(MainActions):
    """Shows the transport's timeline."""

    BINDINGS: ClassVar[list[BindingType]] = main_bindings()
    AUTO_FOCUS = ""

    def __init__(self, playback: Playback, options: AppOptions) -> None:
        super().__init__(playback, options)
        ascii = options.ascii
        self.status_run = StatusLine(id="status-run", ascii=ascii)
        self.status_rates = StatusLine(id="status-rates", ascii=ascii)
        self.banner = Banner()
        self.failure = FailurePanel(ascii=ascii)
        self.loading_panel = LoadingPanel(ascii=ascii)
        self.text = TextPanel(id="text", ascii=ascii)
        self.round = RoundPanel(id="round", ascii=ascii)
        self.inspector = Inspector(id="inspector", ascii=ascii)
        self.plots = PlotColumn(self.timeline, ascii=ascii, id="plots")
        self.strip = RoundStrip(id="strip", ascii=ascii)
        self.prompt_name = CornerLabel()
        self.key_bar = KeyBar(id="keys", ascii=ascii)
        self._run_id = 0
        self._finished = False
        self._shown_notices: set[str] = set()
        self._failed: Failed | None = None
        self._held_back: tuple[Round, Round] | None = None
        self.view = WIDE_VIEWS[0]
        self._player: asyncio.TimerHandle | None = None

    def compose(self) -> ComposeResult:
        yield self.status_run
        yield self.status_rates
        yield self.banner
        yield self.failure
        yield self.loading_panel
        with Horizontal(id="body"):
            with Vertical(id="story"):
                yield self.text
                yield self.round
            yield self.inspector
            yield self.plots
        yield self.strip
        with Horizontal(id="legend-line"):
            yield Legend(id="legend", ascii=self.options.ascii)
            yield self.prompt_name
        yield self.key_bar
        yield TooSmallNotice(f"The terminal is too small:\nspecviz needs {MIN_WIDTH} by {MIN_HEIGHT}.\nq quits")

    def on_mount(self) -> None:
        self._show_view(self.view)
        self.update()
        self.call_after_refresh(self._start)

    def _start(self) -> None:
        self.shell.start()
        self.run_worker(self.plots.fill(), group="plots")

    # -- showing

    def update(self) -> None:
        """Show the timeline as it is now; widgets repaint only what changed."""
        timeline = self.timeline
        if timeline.expected_rounds is not None:
            self.shell.begin_paint()
            self.call_after_refresh(self.shell.end_paint)
        self.take_run()
        max_k = max(timeline.max_k, self.playback.settings.k)
        self.text.show(timeline.shown, timeline.row, reveal=timeline.reveal)
        self.round.show(
            timeline.round,
            row=timeline.row,
            max_k=max_k,
            end=timeline.end if timeline.at_end else None,
            reveal=timeline.reveal,
        )
        self.round.styles.height = max_k + ROUND_LINES + self.round.gutter.height
        self.strip.show(
            timeline.stats.round_counts["emitted"], timeline.shown, max_k + 1, whole=timeline.reveal is None
        )
        self.plots.update(is_fast=self.playback.is_fast)
        self._inspect()
        self._update_lines()
        self._show_notices()
        self._keep_playing()

    def refresh_settings(self) -> None:
        """While rounds arrive fast, update only the status lines; the next paint follows soon enough."""
        if self.playback.is_fast:
            self._update_lines()
        else:
            self.update()

    def _inspect(self) -> None:
        if not self.has_class("-inspecting"):
            return
        header, round, row = self.timeline.header, self.timeline.round, self.timeline.row
        special_ids = header.special_ids if header else frozenset[int]()
        if round is None:
            self.inspector.show(None, 0, prompt=header.prompt if header else None, special_ids=special_ids)
            return
        reveal = self.timeline.reveal
        known = row_stage(round, reveal, row)
        if reveal is not None and known == "decided":
            round = self._without_correction(round)
        self.inspector.show(round, row, known=known, special_ids=special_ids)

    def _without_correction(self, round: Round) -> Round:
        """The same object for the same round, so that the inspector does not lay it out again."""
        if self._held_back is None or self._held_back[0] is not round:
            self._held_back = round, without_correction(round)
        return self._held_back[1]

    def take_run(self) -> None:
        """Start the text of a new run, and finish it with the run."""
        timeline = self.timeline
        if timeline.transcript is None:
            return
        if self._run_id != self.playback.run_id:
            self._run_id = self.playback.run_id
            self._finished = False
            self.text.start(timeline.transcript)
        if timeline.end is not None and not self._finished:
            self._finished = True
            self.text.finish(timeline.end)

    def _update_lines(self) -> None:
        view = run_status(self.playback, self.options)
        loaded = self.timeline.header is not None
        self.set_class(not loaded, "-loading")
        self.status_run.show(run_fields(view))
        self.status_rates.show(rate_fields(self.timeline.rates) if loaded else ())
        if not loaded:
            title = pair_names(view.draft, view.target)[0]
            self.loading_panel.show(title, self.timeline.progress, is_live=view.is_live)
        self.prompt_name.show(self._prompt_name())
        shown = hints(self.playback)
        self.key_bar.show([(hint, tuple(map(self.is_enabled, hint.actions))) for hint in shown])

    def _prompt_name(self) -> str:
        request, prompts, recordings = self.playback.request, self.options.prompts, self.options.recordings
        if recordings:
            return f"run {request.recording + 1}/{len(recordings)}: {literal(recordings[request.recording].name)}"
        for number, (name, text) in enumerate(prompts, start=1):
            if text == request.prompt:
                return f"prompt {number}/{len(prompts)}: {literal(name)}"
        return "custom prompt" if self.playback.capabilities.can_restart else ""

    def _show_notices(self) -> None:
        """Show each notice once, permanent ones in the banner, and a failure in its panel."""
        notes = self.timeline.header.notes if self.timeline.header else ()
        said = [notice.message for notice in self.timeline.notices if not notice.permanent]
        for message in (*said, *notes, self.timeline.rounds.read_error):
            if message is not None and message not in self._shown_notices:
                self._shown_notices.add(message)
                self.notify(literal(message), markup=False)
        self.banner.show(self.timeline.permanent)
        failed = self.timeline.failed
        if failed is not self._failed:
            self._failed = failed
            if failed is None:
                self.failure.close()
            else:
                self.failure.show(failed.message, self.options.log_tail(LOG_LINES), rounds=self.timeline.total)

    def _keep_playing(self) -> None:
        if self.playback.mode != "playing":
            if self._player is not None:
                self._player.cancel()
                self._player = None
        elif self._player is None:
            self._player = later(self, max(SOONEST, self.playback.pace), self._play_on)

    def _play_on(self) -> None:
        self._player = None
        self.playback.play_on()
        self.update()

    def on_resize(self, event: events.Resize) -> None:
        small = event.size.width < MIN_WIDTH or event.size.height < MIN_HEIGHT
        self.set_class(small, "-too-small")
        self.plots.update(is_fast=self.playback.is_fast)

    # -- keys

    def is_enabled(self, action: str) -> bool:
        return BY_ACTION[action].is_enabled(self)

    @property
    def can_close(self) -> bool:
        return self.failure.is_open or self.has_class("-inspecting")

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        key = BY_ACTION.get(f"{action}({parameters[0]})" if parameters else action)
        return None if key is not None and not key.is_enabled(self) else True

    def action_help(self) -> None:
        self.app.push_screen(HelpScreen(KEYS, ascii=self.options.ascii))

    def action_line(self, lines: int) -> None:
        """The token above or below; below the last line shown, the next recorded round."""
        if place := self.text.neighbour(lines):
            self.seek(*place)
        elif lines > 0 and not self.timeline.at_end:
            self.seek(self.timeline.shown + 1)

    def action_pace(self, steps: int) -> None:
        self.playback.change_pace(steps)
        if self._player is not None:
            self._player.cancel()
            self._player = None
        self.refresh_settings()

    def action_inspect(self, *, keep: bool = False) -> None:
        """Open the inspector, enlarge it if it does not fit, then close it. ``keep``: only open it."""
        if not self.has_class("-inspecting"):
            self.add_class("-inspecting")
        elif not keep:
            if self.inspector.max_scroll_y and not self.has_class("-inspecting-only"):
                self.add_class("-inspecting-only")
            else:
                self._close_inspector()
        self.update()
        self.call_after_refresh(self.plots.update)

    def _close_inspector(self) -> None:
        self.remove_class("-inspecting", "-inspecting-only")

    def action_view(self) -> None:
        self._close_inspector()
        views = WIDE_VIEWS if self.has_class("-wide") else NARROW_VIEWS
        current = self.view if self.view in views else views[0]
        self._show_view(views[(views.index(current) + 1) % len(views)])

    def _show_view(self, name: str) -> None:
        self.view = name
        for each in WIDE_VIEWS:
            self.set_class(each == name, f"-view-{each}")
        self.call_after_refresh(self.plots.update)

    def action_close(self) -> None:
        if self.failure.is_open:
            self.failure.close()
        else:
            self._close_inspector()
        self.update()

    # -- clicks

    @on(TextPanel.TokenClicked)
    def _token_clicked(self, message: TextPanel.TokenClicked) -> None:
        self.playback.seek(message.round, message.row)
        self.action_inspect(keep=True)

    @on(RoundPanel.RowClicked)
    def _row_clicked(self, message: RoundPanel.RowClicked) -> None:
        self.playback.seek(self.timeline.shown, message.row)
        self.action_inspect(keep=True)

    @on(RoundStrip.JumpTo)
    def _jump_to(self, message: RoundStrip.JumpTo) -> None:
        self.seek(message.round)
