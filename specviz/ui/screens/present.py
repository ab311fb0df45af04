"""The presentation: the round shown, in large, phase by phase, over the same run as the main screen."""

import time
from typing import ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.timer import Timer

from specviz.ui.glyphs import glyphs
from specviz.ui.literal import literal
from specviz.ui.options import AppOptions
from specviz.ui.parts import Banner, StatusLine, TooSmall
from specviz.ui.presenting import (
    GROUPS,
    KEYS,
    PHASE_PACE,
    Caption,
    at_the_end,
    caption,
    caption_fields,
    figure_fields,
    pair,
    title_fields,
)
from specviz.ui.screens.help import HelpScreen
from specviz.ui.screens.running import RunActions
from specviz.ui.status import Tone, loading, pace
from specviz.ui.transport import Transport, next_pace
from specviz.ui.view import run_view
from specviz.ui.widgets.calm_text import CalmText
from specviz.ui.widgets.chip_row import ChipRow
from specviz.ui.widgets.chips import Moment

LEAST_WIDTH, LEAST_HEIGHT = 60, 20
WIDEST = 152
"""Cells of a line: beyond it, eyes have to walk."""
FRAME = 1 / 30
MOVING = 0.45
"""Seconds a phase moves before it stands, where the pace leaves so much."""
MOVING_SHARE = 0.7
"""Of the pace: what a phase may move at most."""
SOONEST = 1 / 30
"""Seconds between two phases at the fastest."""
HOLD = 2.0
"""Seconds the end of a run stays before it starts anew, at the least."""

Place = tuple[int, int, int]
"""(run, round, phase)."""


class PresentScreen(RunActions):
    """Shows the transport's timeline; it reveals by stepping the transport's phases, which itself stays paused.

    ``opened_by_key``: from the main screen, to which escape and q then go back.
    """

    BINDINGS: ClassVar[list[BindingType]] = [binding for key in KEYS for binding in key.bindings()]
    AUTO_FOCUS = ""
    DEFAULT_CSS = """
    PresentScreen {
        background: $background; color: $foreground; align-horizontal: center;
        #stage { height: 1fr; padding: 1 0; }
        #stage-title, #stage-caption, #stage-figures { padding: 0; }
        #stage-title { margin-bottom: 2; }
        #stage-caption { margin: 1 0; }
        #stage-figures { margin-top: 2; }
        &.-short {
            #stage { padding: 1 0 0 0; }
            #stage-title { margin-bottom: 1; }
            #stage-figures { margin-top: 1; }
        }
        &.-too-small {
            #stage { display: none; }
            TooSmall { display: block; }
        }
    }
    """

    def __init__(self, transport: Transport, options: AppOptions, *, opened_by_key: bool) -> None:
        super().__init__(transport, options)
        ascii = options.ascii
        self._glyphs = glyphs(ascii)
        self._opened_by_key = opened_by_key
        self._title = StatusLine(id="stage-title", ascii=ascii)
        self._text = CalmText(id="stage-text", ascii=ascii)
        self._caption = StatusLine(id="stage-caption", ascii=ascii)
        self._chips = ChipRow(id="stage-chips", ascii=ascii)
        self._figures = StatusLine(id="stage-figures", ascii=ascii)
        self._banner = Banner()
        self.playing = not (opened_by_key or options.paused)
        self.pace = PHASE_PACE if options.pace is None else options.pace
        self._pace_said = False
        self._next: Timer | None = None
        self._frames: Timer | None = None
        self._begun = self._lasting = 0.0
        self.progress = 1.0
        self._place: Place = (0, 0, 0)
        self._told: tuple[int, int, bool] = (0, 0, False)

    def compose(self) -> ComposeResult:
        with Vertical(id="stage"):
            yield self._title
            yield self._text
            yield self._caption
            yield self._chips
            yield self._figures
            yield self._banner
        yield TooSmall(f"The terminal is too small:\nspecviz needs {LEAST_WIDTH} by {LEAST_HEIGHT}.\nq quits")

    def on_mount(self) -> None:
        if self.transport.mode != "paused":
            self.transport.pause()
        self._place = self._now()
        self.update()
        self.call_after_refresh(self.shell.start)

    def on_screen_resume(self) -> None:
        self.update()

    # -- showing

    def update(self) -> None:
        """Bring the screen up to the timeline: a phase behind the one before it moves, any other place just stands."""
        now = self._now()
        if now != self._place:
            follows = self._follows(now)
            self._place, self._pace_said = now, False
            self._stand()
            if follows:
                self._move()
        self._take_run()
        self._draw()
        self._keep_playing()

    def _now(self) -> Place:
        return self.transport.run_id, self.timeline.shown, self.timeline.phase[0]

    def _follows(self, now: Place) -> bool:
        run_id, shown, phase = self._place
        return now in ((run_id, shown, phase + 1), (run_id, shown + 1, 0))

    @property
    def _taken(self) -> int:
        """Rounds whose tokens are in the text: the round shown only once its last phase stands."""
        return self.timeline.shown - (self.timeline.reveal is not None or self.progress < 1)

    def _take_run(self) -> None:
        timeline, run_id = self.timeline, self.transport.run_id
        header = timeline.header
        told_run, told, finished = self._told
        if header is None:
            return
        if told_run != run_id:
            told, finished = 0, False
            self._text.start(header.prompt, frozenset(header.config.get("special_ids", ())))
        self._text.append(timeline.rounds[told:])
        if timeline.end is not None and not finished:
            self._text.finish()
        self._told = run_id, timeline.total, timeline.end is not None

    def _draw(self) -> None:
        timeline = self.timeline
        self._reserve()
        self._title.show(title_fields(self.options.title, self._where()))
        whole = timeline.reveal is None and self.progress >= 1
        self._text.show(self._taken, fresh=whole and timeline.shown > 0)
        told, tone = self._caption_now()
        self._caption.show(caption_fields(told, tone=tone))
        self._draw_chips()
        self._figures.show(figure_fields(timeline.stats.on_screen(self._taken), self._figures.size.width, self._glyphs))
        self._banner.show(timeline.permanent)

    def _draw_chips(self) -> None:
        round = self.timeline.round
        self._chips.show(Moment(round, self.timeline.reveal, self.progress) if round else None)

    def _reserve(self) -> None:
        width, height = self.size
        margin = max(2, width // 20)
        cells = min(WIDEST, width - 2 * margin)
        short = self.has_class("-short")
        lines = 8 if short else 11
        self.query_one("#stage").styles.width = cells
        places = max(self.timeline.max_k, self.transport.settings.k) + 1
        self._chips.reserve(places, cells, height - lines - max(3, (height - lines) // (4 if short else 3)))

    def _where(self) -> str:
        if self._pace_said:
            return pace(self.pace)
        return f"round {self.timeline.shown}" if self.timeline.shown else ""

    def _caption_now(self) -> tuple[Caption, Tone]:
        timeline = self.timeline
        failed, round = timeline.failed, timeline.round
        if failed is not None and timeline.at_end and timeline.reveal is None:
            return Caption("Cannot go on", literal(failed.message)), "error"
        if round is None:
            view = run_view(self.transport, self.options)
            return pair(view.draft, view.target, "" if timeline.ready else loading(timeline.progress)), "plain"
        if timeline.end is not None and timeline.at_end and timeline.reveal is None and self.progress >= 1:
            return at_the_end(timeline.end, self._glyphs), "strong"
        return caption(round, timeline.reveal, self._glyphs), "strong"

    def on_resize(self, event: events.Resize) -> None:
        small = event.size.width < LEAST_WIDTH or event.size.height < LEAST_HEIGHT
        self.set_class(small, "-too-small")
        self._draw()

    # -- moving

    def _move(self) -> None:
        """Let the phase come about, frame by frame; it stands as soon as its time is over, whatever was drawn."""
        self._lasting = min(MOVING, MOVING_SHARE * self.pace) if self.playing else MOVING
        if self.app.animation_level == "none" or self._lasting < 2 * FRAME:
            return
        self._begun = time.monotonic()
        self.progress = 0.0
        self._frames = self.set_interval(FRAME, self._frame)

    def _frame(self) -> None:
        self.progress = min(1.0, (time.monotonic() - self._begun) / self._lasting)
        if self.progress < 1:
            self._draw_chips()
        else:
            self._stand()
            self._draw()

    def _stand(self) -> None:
        self.progress = 1.0
        if self._frames is not None:
            self._frames.stop()
            self._frames = None

    # -- playing

    def _keep_playing(self) -> None:
        """See to it that the next phase comes; while a round is being sampled, its coming brings us here again."""
        timeline = self.timeline
        if self.playing and self._next is None and timeline.ready and not self.transport.unfolding:
            self._next = self.set_timer(max(SOONEST, self.pace, HOLD if self._ended else 0.0), self._play_on)

    @property
    def _ended(self) -> bool:
        return self.timeline.over and not self.transport.can_step_phase(1)

    def _play_on(self) -> None:
        self._next = None
        transport, timeline = self.transport, self.timeline
        if not self._ended:
            transport.step_phase(1)
            come = self._now() != self._place
            if come and timeline.reveal is None and transport.watch.hit(timeline.shown):
                self.playing = False
        elif transport.loop and timeline.total:
            transport.seek(0)
        else:
            self.playing = False
        self.update()

    def _halt(self) -> None:
        self.playing = False
        self._unwait()

    def _unwait(self) -> None:
        if self._next is not None:
            self._next.stop()
            self._next = None

    # -- keys

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action == "prompt":
            return self.can_choose(int(str(parameters[0])))
        return True

    def action_phase(self, step: int) -> None:
        self._halt()
        if self.transport.can_step_phase(step):
            self.transport.step_phase(step)
        self.update()

    def action_play(self) -> None:
        if self.playing:
            self._halt()
        elif not self._ended:
            self.playing = True
            self._play_on()

    def action_forward(self) -> None:
        self._halt()
        super().action_forward()

    def seek(self, index: int, row: int | None = None) -> None:
        self._halt()
        super().seek(index, row)

    def action_first(self) -> None:
        self.seek(0)

    def action_slower(self) -> None:
        self._change_pace(1)

    def action_faster(self) -> None:
        self._change_pace(-1)

    def _change_pace(self, steps: int) -> None:
        self.pace = next_pace(self.pace, steps)
        self._pace_said = True
        self._unwait()
        self.update()

    def action_prompt(self, number: int) -> None:
        """From its prompt on; what plays goes on playing."""
        self._unwait()
        if self.transport.live:
            self.transport.again(prompt=self.options.prompts[number - 1][1], paused=True)
        else:
            self.transport.open_recording(number - 1, paused=True)
        self.update()

    def action_export(self) -> None:
        self.shell.action_export()

    def action_help(self) -> None:
        self.app.push_screen(HelpScreen(KEYS, GROUPS, ascii=self.options.ascii))

    def action_present(self) -> None:
        self._halt()
        self.dismiss(None)

    def action_close(self) -> None:
        if self._opened_by_key:
            self.action_present()

    def action_quit(self) -> None:
        if self._opened_by_key:
            self.action_present()
        else:
            self.shell.leave()
