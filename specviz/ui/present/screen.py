"""The presentation: the round shown, in large, phase by phase, over the same run as the main screen."""

import asyncio
import time
from collections import deque
from collections.abc import Callable
from functools import partial
from typing import ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.timer import Timer

from specviz.ui.dialogs.help import HelpScreen
from specviz.ui.main.actions import RunActions
from specviz.ui.present.captions import PHASE_PACE, PRESENT_KEYS
from specviz.ui.present.stage import PresentView
from specviz.ui.run.playback import Playback, next_pace
from specviz.ui.run.status_line import pace
from specviz.ui.shared.app_options import AppOptions
from specviz.ui.shared.shell import later
from specviz.ui.widgets.bars import TooSmallNotice

MIN_WIDTH, MIN_HEIGHT = 60, 20
FRAME = 1 / 30
MOVING_SHARE = 0.7
"""The share of the pace that a phase may be animated."""
SOONEST = 1 / 30
"""Seconds between two phases at the fastest."""

PhasePosition = tuple[int, int, int]
"""(run, round, phase)."""


class PresentScreen(RunActions):
    """Shows the transport's timeline; it reveals by stepping the transport's phases, which itself stays paused.
    ``opened_by_key``: from the main screen, to which escape and q then go back."""

    BINDINGS: ClassVar[list[BindingType]] = [
        binding for keys in PRESENT_KEYS.values() for key in keys for binding in key.bindings()
    ]
    AUTO_FOCUS = ""
    DEFAULT_CSS = """
    PresentScreen {
        background: $background; color: $foreground; align-horizontal: center;
        &.-short PresentView {
            padding: 1 0 0 0;
            #stage-title { margin-bottom: 1; }
            #stage-figures { margin-top: 1; }
        }
        &.-too-small {
            PresentView { display: none; }
            TooSmallNotice { display: block; }
        }
    }
    """

    def __init__(self, playback: Playback, options: AppOptions, *, opened_by_key: bool) -> None:
        super().__init__(playback, options)
        self._opened_by_key = opened_by_key
        self._stage = PresentView(self.timeline, ascii=options.ascii)
        self.playing = not (opened_by_key or options.paused)
        self.pace = PHASE_PACE if options.pace is None else options.pace
        self._pace_said = False
        self._next: asyncio.TimerHandle | None = None
        self._frames: Timer | None = None
        self._begun = self._lasting = 0.0
        self.progress = 1.0
        self._position: PhasePosition = (0, 0, 0)
        self._keys: deque[Callable[[], None]] = deque()

    def compose(self) -> ComposeResult:
        yield self._stage
        yield TooSmallNotice(f"The terminal is too small:\nspecviz needs {MIN_WIDTH} by {MIN_HEIGHT}.\nq quits")

    def on_mount(self) -> None:
        if self.playback.mode != "paused":
            self.playback.pause()
        self._position = self._now()
        self.update()
        self.call_after_refresh(self.shell.start)

    def on_screen_resume(self) -> None:
        self.update()

    # -- showing

    def update(self) -> None:
        """Follow the timeline: the phase after the shown one is animated, any other position appears directly."""
        while self._keys and not self._reading:
            self._keys.popleft()()
        now = self._now()
        if now != self._position:
            follows = self._follows(now)
            self._position, self._pace_said = now, False
            self._stand()
            if follows:
                self._move()
        self._draw()
        self._keep_playing()

    def _now(self) -> PhasePosition:
        return self.playback.run_id, self.timeline.shown, self.timeline.phase[0]

    def _follows(self, now: PhasePosition) -> bool:
        run_id, shown, phase = self._position
        return now in ((run_id, shown, phase + 1), (run_id, shown + 1, 0))

    def _draw(self) -> None:
        if not self._stage.is_attached:  # the app is being left
            return
        where = pace(self.pace) if self._pace_said else None
        self._stage.show(self.playback, self.options, self.progress, where)

    def on_resize(self, event: events.Resize) -> None:
        small = event.size.width < MIN_WIDTH or event.size.height < MIN_HEIGHT
        self.set_class(small, "-too-small")
        self._draw()

    # -- moving

    def _move(self) -> None:
        """Animate the phase; it is complete when its time is over, however many frames were drawn."""
        longest = self.options.phase_s
        self._lasting = min(longest, MOVING_SHARE * self.pace) if self.playing else longest
        if self.app.animation_level == "none" or self._lasting < 2 * FRAME:
            return
        self._begun = time.monotonic()
        self.progress = 0.0
        self._frames = self.set_interval(FRAME, self._frame)

    def _frame(self) -> None:
        self.progress = min(1.0, (time.monotonic() - self._begun) / self._lasting)
        if self.progress < 1:
            self._stage.show_round(self.progress)
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
        """Schedule the next phase; while a round is being sampled, its arrival calls this again."""
        timeline = self.timeline
        if self.playing and self._next is None and timeline.ready and not self.playback.unfolding:
            hold = self.options.hold_s if self._ended else 0.0
            self._next = later(self, max(SOONEST, self.pace, hold), self._play_on)

    @property
    def _ended(self) -> bool:
        return self.timeline.over and not self.playback.can_step_phase(1)

    def _play_on(self) -> None:
        self._next = None
        playback, timeline = self.playback, self.timeline
        if not self._ended:
            readable = playback.step_phase(1)
            moved = self._now() != self._position
            if not readable or (moved and timeline.reveal is None and playback.monitor.hit(timeline.shown)):
                self.playing = False
        elif playback.loop and timeline.total:
            playback.seek(0)
        else:
            self.playing = False
        self.update()

    def _halt(self) -> None:
        self.playing = False
        self._unwait()

    def _unwait(self) -> None:
        if self._next is not None:
            self._next.cancel()
            self._next = None

    # -- keys

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action == "prompt":
            return self.can_choose(int(str(parameters[0])))
        return True

    @property
    def _reading(self) -> bool:
        """Whether more rounds of this run are still arriving after the one shown."""
        timeline = self.timeline
        return (
            not self.playback.capabilities.can_step
            and not timeline.over
            and timeline.at_end
            and timeline.reveal is None
        )

    def _act(self, action: Callable[[], None]) -> None:
        """Do it and show it, or as soon as there is a round to do it with."""
        self._keys.append(action)
        self.update()

    def action_phase(self, step: int) -> None:
        self._act(partial(self._step, step))

    def _step(self, step: int) -> None:
        self._halt()
        if self.playback.can_step_phase(step):
            self.playback.step_phase(step)

    def action_play(self) -> None:
        if self.playing:
            self._halt()
        elif not self._ended:
            self.playing = True
            self._play_on()

    def action_forward(self) -> None:
        self._act(self._forward)

    def _forward(self) -> None:
        self._halt()
        self.playback.next_round()

    def action_back(self) -> None:
        self._act(lambda: self._seek(self.timeline.shown - 1))

    def action_first(self) -> None:
        self._act(partial(self._seek, 0))

    def _seek(self, index: int) -> None:
        self._halt()
        self.playback.seek(index)

    def action_pace(self, steps: int) -> None:
        self.pace = next_pace(self.pace, steps)
        self._pace_said = True
        self._unwait()
        self.update()

    def action_prompt(self, number: int) -> None:
        """Show the run from its prompt; playback continues."""
        self._unwait()
        self._keys.clear()
        if self.options.recordings:
            self.playback.open_recording(number - 1, paused=True)
        else:
            self.playback.restart(prompt=self.options.prompts[number - 1][1], paused=True)
        self.update()

    def action_help(self) -> None:
        self.app.push_screen(HelpScreen(PRESENT_KEYS, ascii=self.options.ascii))

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
            self.shell.quit()
