"""Run, pause, step, look back: what the keys do to the session and the timeline."""

from dataclasses import replace
from typing import Literal

from specviz.breakpoints import Watch
from specviz.config import MAX_K, RunRequest
from specviz.events import Event, Failed, Round, Settings
from specviz.session import Session
from specviz.ui.options import AUTO_PACE
from specviz.ui.timeline import MAX_TEMPERATURE, Timeline, warmer

Mode = Literal["paused", "running", "playing"]
"""paused; sampling new rounds as they come; playing recorded rounds up to the newest."""

PACES = (0.0, 0.05, 0.1, 0.25, 0.5, 1.0, 2.0, 4.0)
"""Seconds between rounds that the pace keys walk through; 0 is full speed."""


class Transport:
    """Drives one session and one timeline. Recorded rounds are shown again, never sampled again.

    ``watch`` knows which rounds hit a breakpoint; the session has stopped sampling by then, playing stops here.
    """

    def __init__(
        self,
        session: Session,
        timeline: Timeline,
        request: RunRequest,
        *,
        live: bool,
        pace: float | None = None,
        watch: Watch | None = None,
    ) -> None:
        self.session = session
        self.timeline = timeline
        self.watch = watch or Watch()
        self.live = live
        self.mode: Mode = "paused"
        self.request = request
        self.settings: Settings = request.settings
        self.run_id = 0
        self._broken = False
        self._unfolding = False
        self._open_on: int | None = None
        self._pace = AUTO_PACE if pace is None else pace
        self.session.pace = self._session_pace

    # A recorded run is read in full at once; its pace is that of showing it.
    @property
    def _session_pace(self) -> float:
        return self._pace if self.live else 0.0

    def begin(self, request: RunRequest, *, paused: bool = False, at: int | None = None) -> None:
        """Start a run; in a recorded one, stop on round ``at`` as soon as it is there."""
        self.timeline.clear()
        self.request = request
        self.settings = request.settings
        self._open_on = at
        self._unfolding = False
        if self.live:
            self.mode = "paused" if paused else "running"
        else:
            self.mode = "paused" if paused or at is not None else "playing"
        self.run_id = self.session.begin(request, paused=paused and self.live)

    def accept(self, run_id: int, event: Event) -> bool:
        """Take an event in; False where it belongs to a run that was superseded."""
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

    def _take_round(self, round: Round) -> None:
        if self._unfolding:
            self._unfolding = False
            self.timeline.show_phase(round.index, 0)
        if self.mode == "running" and self.watch.hit(round.index):
            self.mode = "paused"

    @property
    def can_toggle(self) -> bool:
        return not self.timeline.at_end or self.mode != "paused" or self.can_sample

    @property
    def can_sample(self) -> bool:
        return self.live and not self.timeline.over

    @property
    def can_begin(self) -> bool:
        """Whether another run can be asked for: not from a recording, nor from a source that could not be opened."""
        return self.live and not self._broken

    @property
    def flooding(self) -> bool:
        """Whether rounds may come faster than the eye follows."""
        return self.mode == "running" and self._pace < 0.1

    @property
    def can_step(self) -> bool:
        return not self.timeline.at_end or self.can_sample

    def toggle(self) -> None:
        if self.mode != "paused":
            self.pause()
        elif not self.timeline.at_end:
            self.mode = "playing"
        elif self.can_sample:
            self.mode = "running"
            self.session.resume()

    def pause(self) -> None:
        self.mode = "paused"
        if self.live:
            self.session.pause()

    def forward(self) -> None:
        """One round on: the next recorded one, or at the newest exactly one more sample."""
        if self.mode != "paused":
            self.pause()
        if not self.timeline.at_end:
            self.timeline.show(self.timeline.shown + 1)
        elif self.can_sample:
            self.session.step()

    def seek(self, index: int, row: int | None = None) -> None:
        """Show a recorded round; what runs is paused first."""
        if self.mode != "paused":
            self.pause()
        self.timeline.show(index, row)

    def step_phase(self, step: int) -> None:
        """One phase on (1) or back (-1), across rounds; at the newest round's end one more is sampled and unfolded."""
        if self.mode != "paused":
            self.pause()
        timeline = self.timeline
        at, count = timeline.phase
        if 0 <= at + step < count:
            timeline.show_phase(timeline.shown, at + step)
        elif step < 0:
            timeline.show(timeline.shown - 1)
        elif not timeline.at_end:
            timeline.show_phase(timeline.shown + 1, 0)
        elif self.can_sample and not self._unfolding:
            self._unfolding = True
            self.session.step()

    def can_step_phase(self, step: int) -> bool:
        at, count = self.timeline.phase
        return 0 <= at + step < count or (self.timeline.shown > 0 if step < 0 else self.can_step)

    def move(self, step: int) -> None:
        if place := self.timeline.neighbour(step):
            self.seek(*place)

    def play_on(self) -> bool:
        """One recorded round further; at the newest go on sampling where that is possible. False: no longer playing."""
        if self.mode != "playing":
            return False
        shown, total = self.timeline.shown, self.timeline.total
        next_hit = next((hit for hit in self.watch.hits if hit > shown), total)
        if shown < total:
            self.timeline.show(min(next_hit, total) if self._pace == 0 else shown + 1)
            if self.watch.hit(self.timeline.shown):
                self.mode = "paused"
                return False
        if not self.timeline.at_end:
            return True
        if self.timeline.over:
            self.mode = "paused"
        elif self.live:
            self.mode = "running"
            self.session.resume()
        return self.mode == "playing"

    def again(self, *, seed: int | None = None, prompt: str | None = None) -> None:
        """The same request with the settings as they are now, from the start."""
        self.begin(
            replace(
                self.request,
                seed=self.request.seed if seed is None else seed,
                prompt=self.request.prompt if prompt is None else prompt,
                settings=self.settings,
            )
        )

    def can_change_k(self, steps: int) -> bool:
        return self.live and 0 <= self.settings.k + steps <= MAX_K

    def change_k(self, steps: int) -> None:
        if self.can_change_k(steps):
            self._change(replace(self.settings, k=self.settings.k + steps))

    def can_change_temperature(self, steps: int) -> bool:
        return self.live and (
            self.settings.temperature > 0 if steps < 0 else self.settings.temperature < MAX_TEMPERATURE
        )

    def change_temperature(self, steps: int) -> None:
        if self.can_change_temperature(steps):
            self._change(warmer(self.settings, steps))

    @property
    def drafters(self) -> tuple[str, ...]:
        """What can draft in this run; empty until it is known."""
        header = self.timeline.header if self.live else None
        return tuple(header.config.get("drafters", ())) if header else ()

    @property
    def can_change_drafter(self) -> bool:
        return len(self.drafters) > 1

    def change_drafter(self) -> None:
        """The next of ``drafters`` drafts from the next round on, the first behind the last."""
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
        if steps > 0:
            self._pace = next((pace for pace in PACES if pace > self._pace), self._pace)
        else:
            self._pace = next((pace for pace in reversed(PACES) if pace < self._pace), self._pace)
        self.session.pace = self._session_pace
