"""Run, pause, step, go back: what the keys do to the session and the timeline."""

from dataclasses import replace
from typing import Literal

from specviz.breakpoints.monitor import BreakpointMonitor
from specviz.core.events import Event, Failed, Round, Settings
from specviz.core.options import MAX_K, RunRequest
from specviz.core.source import LIVE, Capabilities
from specviz.session.worker import Session
from specviz.ui.run.timeline import Timeline
from specviz.ui.shared.app_options import AUTO_PACE

Mode = Literal["paused", "running", "playing"]
"""paused; running: new rounds are sampled; playing: recorded rounds are shown, up to the newest."""

MAX_KEY_TEMPERATURE = 5.0
"""The highest temperature that the keys set."""
PACES = (0.0, 0.05, 0.1, 0.25, 0.5, 1.0, 2.0, 4.0)
"""Seconds between rounds, as set by the pace keys; 0 is full speed."""


def next_pace(pace: float, steps: int) -> float:
    """The next slower (1) or faster (-1) pace of the list, or ``pace`` if there is none."""
    if steps > 0:
        return next((each for each in PACES if each > pace), pace)
    return next((each for each in reversed(PACES) if each < pace), pace)


def with_temperature_step(settings: Settings, steps: int) -> Settings:
    """Change the temperature in steps of 0.1, within 0 and the maximum; an equal draft temperature follows."""
    temperature = max(0.0, min(MAX_KEY_TEMPERATURE, round(settings.temperature + steps / 10, 6)))
    together = settings.draft_temperature == settings.temperature
    return replace(
        settings, temperature=temperature, draft_temperature=temperature if together else settings.draft_temperature
    )


class Playback:
    """Drives one session and one timeline, and owns whether the run is paused (``mode``); the session only has permits.
    Recorded rounds are shown again, never sampled again. ``monitor`` knows which rounds hit a breakpoint: the session
    has stopped sampling after them, and playing stops at them. ``loop``: playing starts again at the end."""

    def __init__(
        self,
        session: Session,
        timeline: Timeline,
        request: RunRequest,
        *,
        capabilities: Capabilities = LIVE,
        pace: float | None = None,
        monitor: BreakpointMonitor | None = None,
        loop: bool = False,
    ) -> None:
        self.session = session
        self.timeline = timeline
        self.monitor = monitor or BreakpointMonitor()
        self.capabilities = capabilities
        self.loop = loop
        self.mode: Mode = "paused"
        self.request = request
        self.settings: Settings = request.settings
        self.run_id = 0
        self._broken = False
        self._stepping_phases = False
        self._requested_at = (0, 0)
        """The run and its number of rounds when a round to unfold was last requested."""
        self._open_on: int | None = None
        self._pace = AUTO_PACE if pace is None else pace
        self.session.pace = self._session_pace

    @property
    def _session_pace(self) -> float:
        """Rounds that are not made on request are read at full speed; the pace is then that of the display."""
        return self._pace if self.capabilities.can_step else 0.0

    def begin(self, request: RunRequest, *, paused: bool = False, at: int | None = None) -> None:
        """Start a run; stop a recorded one at round ``at`` as soon as that has been read."""
        self.timeline.clear(same=request.recording == self.request.recording)
        self.request = request
        self.settings = request.settings
        self._open_on = at
        self._stepping_phases = False
        if self.capabilities.can_step:
            self.mode = "paused" if paused else "running"
        else:
            self.mode = "paused" if paused or at is not None else "playing"
        self.run_id = self.session.begin(request, paused=paused and self.capabilities.can_step)

    def accept(self, run_id: int, event: Event) -> bool:
        """Add an event; False if it belongs to a superseded run."""
        if run_id not in (0, self.run_id):
            return False
        self.timeline.add(event)
        if run_id == 0 and isinstance(event, Failed):
            self._broken = True
        if isinstance(event, Round):
            self._take_round(event)
        if self._open_on is not None and (self.timeline.total >= self._open_on or self.timeline.over):
            self.timeline.show(self._open_on)
            self._open_on = None
        if self.timeline.over and (self.mode == "running" or self.timeline.at_end):
            self.mode = "paused"
        return True

    def catch_up(self) -> None:
        """While a recorded run is read up to the round it opens on, show the newest round."""
        if self._open_on is not None and self.timeline.total:
            self.timeline.show(self.timeline.total)

    def _take_round(self, round: Round) -> None:
        if self._stepping_phases and self.timeline.shown == round.index:
            self.timeline.show_phase(round.index, 0)
        if self.mode == "running" and (self.monitor.hit(round.index) or self.session.stopped_at == round.index):
            self.pause()

    @property
    def can_toggle(self) -> bool:
        there_is_more = not self.timeline.at_end or self.timeline.expected_rounds is not None
        unfolded = self.timeline.reveal is None
        return there_is_more or self.mode != "paused" or self.can_sample or not unfolded

    @property
    def can_sample(self) -> bool:
        return self.capabilities.can_step and not self.timeline.over

    @property
    def can_begin(self) -> bool:
        """Whether another run can begin: the source can restart, and it could be opened."""
        return self.capabilities.can_restart and not self._broken

    @property
    def is_fast(self) -> bool:
        """Whether rounds may arrive faster than the eye can follow."""
        return (self.mode == "running" and self._pace < 0.1) or self.timeline.expected_rounds is not None

    @property
    def can_step(self) -> bool:
        return not self.timeline.at_end or self.can_sample or self.timeline.reveal is not None

    def toggle(self) -> None:
        self._open_on = None
        self._stepping_phases = False
        if self.timeline.reveal is not None:
            self.timeline.show(self.timeline.shown)
        if self.mode != "paused":
            self.pause()
        elif not self.timeline.at_end or self.timeline.expected_rounds is not None:
            self.mode = "playing"
        elif self.can_sample:
            self.mode = "running"
            self.session.resume()

    def pause(self) -> None:
        self.mode = "paused"
        if self.capabilities.can_step:
            self.session.pause()

    def _hold(self) -> None:
        """Pause, and cancel opening on a round."""
        self._open_on = None
        if self.mode != "paused":
            self.pause()

    def next_round(self) -> None:
        """One round forward: the next recorded one, or after the newest exactly one new sample."""
        self._stepping_phases = False
        self._hold()
        if not self.timeline.at_end:
            self.timeline.show(self.timeline.shown + 1)
            return
        if self.timeline.reveal is not None:
            self.timeline.show(self.timeline.shown)
        if self.can_sample:
            self.session.step()

    def seek(self, index: int, row: int | None = None) -> None:
        """Pause and show a recorded round."""
        self._stepping_phases = False
        self._hold()
        self.timeline.show(index, row)

    def step_phase(self, step: int) -> bool:
        """Pause, then go one phase forward (1) or back (-1), across rounds. After the last phase of the newest round
        another round is sampled and shown phase by phase; if one is in progress, it is that one. False: the next round
        cannot be read back."""
        timeline = self.timeline
        self._stepping_phases = step > 0
        sampling = self.mode == "running" and timeline.at_end and not timeline.timing
        self._hold()
        if sampling:
            return True
        at, count = timeline.phase
        if 0 <= at + step < count:
            return timeline.show_phase(timeline.shown, at + step)
        if step < 0:
            return timeline.show(timeline.shown - 1)
        if not timeline.at_end:
            return timeline.show_phase(timeline.shown + 1, 0)
        if self.can_sample and self._requested_at != (self.run_id, timeline.total):
            self._requested_at = self.run_id, timeline.total
            self.session.step()
        return True

    @property
    def unfolding(self) -> bool:
        """Whether a round to show phase by phase was requested and has not arrived."""
        return self.can_sample and self._requested_at == (self.run_id, self.timeline.total)

    def can_step_phase(self, step: int) -> bool:
        at, count = self.timeline.phase
        return 0 <= at + step < count or (self.timeline.shown > 0 if step < 0 else self.can_step)

    def move(self, step: int) -> None:
        if place := self.timeline.neighbour(step):
            self.seek(*place)

    def play_on(self) -> bool:
        """Show the next recorded round; after the newest, resume sampling if possible. False: no longer playing."""
        if self.mode != "playing":
            return False
        shown, total = self.timeline.shown, self.timeline.total
        if self._loops_here():
            self.timeline.show(0)
            return True
        next_hit = self.monitor.next_hit(shown) or total
        if shown < total:
            come = self.timeline.show(min(next_hit, total) if self._pace == 0 else shown + 1)
            if not come or self.monitor.hit(self.timeline.shown):
                self.mode = "paused"
                return False
        if not self.timeline.at_end:
            return True
        if self.timeline.over:
            self.mode = "playing" if self._loops_here() else "paused"
        elif self.capabilities.can_step:
            self.mode = "running"
            self.session.resume()
        return self.mode == "playing"

    def _loops_here(self) -> bool:
        """Whether looping starts again here; never at full speed, where it would only flicker."""
        return self.loop and self.timeline.over and self.timeline.at_end and self.timeline.total > 0 and self._pace > 0

    def restart(self, *, seed: int | None = None, prompt: str | None = None, paused: bool = False) -> None:
        """Start the same request again, with the current settings."""
        self.begin(
            replace(
                self.request,
                seed=self.request.seed if seed is None else seed,
                prompt=self.request.prompt if prompt is None else prompt,
                settings=self.settings,
            ),
            paused=paused,
        )

    def open_recording(self, number: int, *, paused: bool = False, at: int | None = None) -> None:
        """Show another of the prepared runs, counted from 0."""
        self.begin(replace(self.request, recording=number), paused=paused, at=at)

    @property
    def k(self) -> int:
        """K of the next round; while it is chosen round by round, that of the last one."""
        last = self.timeline.stats.settings()
        return last.k if self.settings.k_auto and last else self.settings.k

    def can_change_k(self, steps: int) -> bool:
        return self.capabilities.can_change_settings and 0 <= self.k + steps <= MAX_K

    def change_k(self, steps: int) -> None:
        """Draft ``steps`` more tokens from the next round on, and as many in every later one."""
        if self.can_change_k(steps):
            self._change(replace(self.settings, k=self.k + steps, k_auto=False))

    @property
    def can_toggle_auto_k(self) -> bool:
        """Whether K may be chosen round by round, which takes step times."""
        return self.capabilities.can_change_settings and bool(self.timeline.stats.calibrations)

    def toggle_auto_k(self) -> None:
        """Let K be chosen round by round from the next one on, or keep it as it is now."""
        if self.can_toggle_auto_k:
            self._change(replace(self.settings, k=self.k, k_auto=not self.settings.k_auto))

    def can_change_temperature(self, steps: int) -> bool:
        return self.capabilities.can_change_settings and (
            self.settings.temperature > 0 if steps < 0 else self.settings.temperature < MAX_KEY_TEMPERATURE
        )

    def change_temperature(self, steps: int) -> None:
        if self.can_change_temperature(steps):
            self._change(with_temperature_step(self.settings, steps))

    @property
    def drafters(self) -> tuple[str, ...]:
        """The drafters of this run; empty until its header arrives."""
        header = self.timeline.header if self.capabilities.can_change_settings else None
        return tuple(header.config.get("drafters", ())) if header else ()

    @property
    def can_change_drafter(self) -> bool:
        return len(self.drafters) > 1

    def change_drafter(self) -> None:
        """Switch to the next of ``drafters``, cyclically, from the next round on."""
        if self.can_change_drafter:
            names, now = self.drafters, self.settings.drafter
            at = names.index(now) if now in names else -1
            self._change(replace(self.settings, drafter=names[(at + 1) % len(names)]))

    def _change(self, settings: Settings) -> None:
        self.settings = settings
        self.session.change(settings)

    @property
    def pace(self) -> float:
        return self._pace

    def can_change_pace(self, steps: int) -> bool:
        return any((pace - self._pace) * steps > 0 for pace in PACES)

    def change_pace(self, steps: int) -> None:
        """The next slower (1) or faster (-1) pace of the list."""
        self._pace = next_pace(self._pace, steps)
        self.session.pace = self._session_pace
