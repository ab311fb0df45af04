"""The screen of a run: text, round and plots as of the round shown, and the keys that move through it."""

from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, cast

from textual import events, on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Horizontal, Vertical
from textual.screen import Screen
from textual.timer import Timer

from specviz.config import MAX_SEED
from specviz.events import Failed
from specviz.ui.keys import KEYS, main_bindings
from specviz.ui.literal import literal
from specviz.ui.options import AppOptions
from specviz.ui.parts import Aside, Banner, FailurePanel, KeyBar, LoadingPanel, StatusLine, TooSmall
from specviz.ui.plot_column import PlotColumn
from specviz.ui.screens.help import HelpScreen
from specviz.ui.screens.prompt import PromptScreen
from specviz.ui.screens.save import SaveScreen
from specviz.ui.screens.theme import ThemeScreen
from specviz.ui.status import pair_names, rate_fields, run_fields
from specviz.ui.transport import Transport
from specviz.ui.view import hints, run_view, works
from specviz.ui.widgets.legend import Legend
from specviz.ui.widgets.round_panel import RoundPanel
from specviz.ui.widgets.round_strip import RoundStrip
from specviz.ui.widgets.text_panel import TextPanel

if TYPE_CHECKING:
    from specviz.ui.app import SpecvizApp

LEAST_WIDTH, LEAST_HEIGHT = 60, 20
LOG_LINES = 6
ROUND_LINES = 6
"""Lines of a round panel besides those of drafted tokens: head, last token, two sentences, a gap, the times."""
WIDE_VIEWS = ("all", "text", "plots")
NARROW_VIEWS = ("text", "plots")
SOONEST = 1 / 30
"""Seconds between two recorded rounds at the fastest."""
ACTIONS = frozenset(action for key in KEYS for action in key.actions)


class MainScreen(Screen[None]):
    """Shows the transport's timeline. A key acts on the transport, then what changed is shown."""

    BINDINGS: ClassVar[list[BindingType]] = main_bindings()
    AUTO_FOCUS = ""

    def __init__(self, transport: Transport, options: AppOptions) -> None:
        super().__init__()
        self.transport = transport
        self.timeline = transport.timeline
        self.options = options
        ascii = options.ascii
        self.status_run = StatusLine(id="status-run", ascii=ascii)
        self.status_rates = StatusLine(id="status-rates", ascii=ascii)
        self.banner = Banner()
        self.failure = FailurePanel(ascii=ascii)
        self.loading_panel = LoadingPanel(ascii=ascii)
        self.text = TextPanel(id="text", ascii=ascii)
        self.round = RoundPanel(id="round", ascii=ascii)
        self.plots = PlotColumn(self.timeline, ascii=ascii, id="plots")
        self.strip = RoundStrip(id="strip", ascii=ascii)
        self.prompt_name = Aside()
        self.key_bar = KeyBar(id="keys", ascii=ascii)
        self._run_id = 0
        self._appended = 0
        self._finished = False
        self._told: set[str] = set()
        self._failed: Failed | None = None
        self.view = WIDE_VIEWS[0]
        self._player: Timer | None = None

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
            yield self.plots
        yield self.strip
        with Horizontal(id="legend-line"):
            yield Legend(id="legend", ascii=self.options.ascii)
            yield self.prompt_name
        yield self.key_bar
        yield TooSmall(f"The terminal is too small:\nspecviz needs {LEAST_WIDTH} by {LEAST_HEIGHT}.\nq quits")

    @property
    def shell(self) -> "SpecvizApp":
        return cast("SpecvizApp", self.app)

    def on_mount(self) -> None:
        self._show_view(self.view)
        self.update()
        self.call_after_refresh(self._start)

    def _start(self) -> None:
        self.shell.start()
        self.run_worker(self.plots.fill(), group="plots")

    # -- showing

    def update(self) -> None:
        """Bring the screen up to the timeline; what did not change is not painted again."""
        timeline = self.timeline
        self._take_run()
        max_k = max(timeline.max_k, self.transport.settings.k)
        self.text.show(timeline.shown, timeline.row)
        self.round.show(timeline.round, row=timeline.row, max_k=max_k, end=timeline.end if timeline.at_end else None)
        self.round.styles.height = max_k + ROUND_LINES + self.round.gutter.height
        self.strip.show(timeline.counts, timeline.shown, max_k + 1)
        self.plots.update()
        self._update_lines()
        self._tell()
        self._keep_playing()

    def _take_run(self) -> None:
        """Begin a new text where a new run began, and add the rounds that came."""
        timeline = self.timeline
        if timeline.header is None:
            return
        if self._run_id != self.transport.run_id:
            self._run_id = self.transport.run_id
            self._appended, self._finished = 0, False
            self.text.start(timeline.header.prompt, frozenset(timeline.header.config.get("special_ids", ())))
        for round in timeline.rounds[self._appended :]:
            self.text.append(round)
        self._appended = timeline.total
        if timeline.end is not None and not self._finished:
            self._finished = True
            self.text.finish(timeline.end)

    def _update_lines(self) -> None:
        view = run_view(self.transport, self.options)
        loaded = self.timeline.header is not None
        self.set_class(not loaded, "-loading")
        self.status_run.show(run_fields(view))
        self.status_rates.show(rate_fields(self.timeline.rates) if loaded else ())
        if not loaded:
            title = pair_names(view.draft, view.target)[0]
            self.loading_panel.show(title, self.timeline.progress, live=view.live)
        self.prompt_name.show(self._prompt_name())
        shown = hints(self.transport)
        self.key_bar.show([(hint, tuple(map(self.works, hint.actions))) for hint in shown])

    def _prompt_name(self) -> str:
        prompts = self.options.prompts
        for number, (name, text) in enumerate(prompts, start=1):
            if text == self.transport.request.prompt:
                return f"prompt {number}/{len(prompts)}: {literal(name)}"
        return "prompt of your own" if self.transport.live else ""

    def _tell(self) -> None:
        """Notices once each; what is permanent stays in the banner; a failure opens its panel."""
        notes = self.timeline.header.config.get("notes", ()) if self.timeline.header else ()
        said = [notice.message for notice in self.timeline.notices if not notice.permanent]
        for message in (*said, *notes):
            if message not in self._told:
                self._told.add(message)
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
        if self.transport.mode != "playing":
            if self._player is not None:
                self._player.stop()
                self._player = None
        elif self._player is None:
            self._player = self.set_timer(max(SOONEST, self.transport.pace), self._play_on)

    def _play_on(self) -> None:
        self._player = None
        self.transport.play_on()
        self.update()

    def on_resize(self, event: events.Resize) -> None:
        small = event.size.width < LEAST_WIDTH or event.size.height < LEAST_HEIGHT
        self.set_class(small, "-too-small")
        self.plots.update()

    # -- keys

    def works(self, action: str) -> bool:
        match action:
            case "close":
                return self.failure.is_open
            case "save":
                return self.shell.trace_path is not None
            case "prompt":
                return self.transport.can_begin and bool(self.options.prompts)
        if action.startswith("prompt("):
            return self.transport.can_begin and int(action[7:-1]) <= len(self.options.prompts)
        return works(action, self.transport)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        named = f"{action}({parameters[0]})" if parameters else action
        if named in ACTIONS and not self.works(named):
            return None
        return True

    def action_play(self) -> None:
        self.transport.toggle()
        self.update()

    def action_forward(self) -> None:
        self.transport.forward()
        self.update()

    def action_back(self) -> None:
        self._seek(self.timeline.shown - 1)

    def action_first(self) -> None:
        self._seek(1)

    def action_last(self) -> None:
        self._seek(self.timeline.total)

    def action_token(self, step: int) -> None:
        self.transport.move(step)
        self.update()

    def action_line(self, lines: int) -> None:
        """The token above or below; below the last line shown the text goes on with the next recorded round."""
        if place := self.text.neighbour(lines):
            self._seek(*place)
        elif lines > 0 and not self.timeline.at_end:
            self._seek(self.timeline.shown + 1)

    def _seek(self, index: int, row: int | None = None) -> None:
        self.transport.seek(index, row)
        self.update()

    def action_k(self, steps: int) -> None:
        self.transport.change_k(steps)
        self.update()

    def action_temperature(self, steps: int) -> None:
        self.transport.change_temperature(steps)
        self.update()

    def action_slower(self) -> None:
        self._change_pace(1)

    def action_faster(self) -> None:
        self._change_pace(-1)

    def _change_pace(self, steps: int) -> None:
        self.transport.change_pace(steps)
        if self._player is not None:
            self._player.stop()
            self._player = None
        self.update()

    def action_again(self) -> None:
        self._begin()

    def action_reseed(self) -> None:
        self._begin(seed=(self.transport.request.seed + 1) % (MAX_SEED + 1))

    def action_prompt(self, number: int) -> None:
        self._begin(prompt=self.options.prompts[number - 1][1])

    def _begin(self, *, seed: int | None = None, prompt: str | None = None) -> None:
        self.transport.again(seed=seed, prompt=prompt)
        self.update()

    def action_edit(self) -> None:
        def run(prompt: str | None) -> None:
            if prompt is not None:
                self._begin(prompt=prompt)

        self.app.push_screen(PromptScreen(self.transport.request.prompt, ascii=self.options.ascii), run)

    def action_view(self) -> None:
        views = WIDE_VIEWS if self.has_class("-wide") else NARROW_VIEWS
        current = self.view if self.view in views else views[0]
        self._show_view(views[(views.index(current) + 1) % len(views)])

    def _show_view(self, name: str) -> None:
        self.view = name
        for each in WIDE_VIEWS:
            self.set_class(each == name, f"-view-{each}")
        self.call_after_refresh(self.plots.update)

    def action_theme(self) -> None:
        themes = self.shell.read_themes()
        self.shell.tell_bad_themes()
        self.app.push_screen(ThemeScreen(themes, ascii=self.options.ascii))

    def action_save(self) -> None:
        def done(saved: Path | None) -> None:
            if saved is not None:
                self.shell.say(f"Saved to {saved}")

        if path := self.shell.trace_path:
            self.app.push_screen(SaveScreen(path, ascii=self.options.ascii), done)

    def action_help(self) -> None:
        self.app.push_screen(HelpScreen(ascii=self.options.ascii))

    def action_close(self) -> None:
        self.failure.close()
        self.update()

    def action_quit(self) -> None:
        self.shell.leave()

    # -- clicks

    @on(TextPanel.TokenClicked)
    def _token_clicked(self, message: TextPanel.TokenClicked) -> None:
        self._seek(message.round, message.row)

    @on(RoundPanel.RowClicked)
    def _row_clicked(self, message: RoundPanel.RowClicked) -> None:
        self._seek(self.timeline.shown, message.row)

    @on(RoundStrip.JumpTo)
    def _jump_to(self, message: RoundStrip.JumpTo) -> None:
        self._seek(message.round)
