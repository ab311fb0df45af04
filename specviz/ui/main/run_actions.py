"""What keys do to the run: each acts on the transport, then what changed is shown."""

from typing import TYPE_CHECKING, cast

from textual.screen import Screen

from specviz.core.options import MAX_SEED
from specviz.ui.dialogs.theme import ThemeScreen
from specviz.ui.run import jumps
from specviz.ui.run.playback import Playback
from specviz.ui.shared.app_options import AppOptions

if TYPE_CHECKING:
    from specviz.ui.app import SpecvizApp


class RunActions(Screen[None]):
    """The actions that need nothing but the transport."""

    def __init__(self, playback: Playback, options: AppOptions) -> None:
        super().__init__()
        self.playback = playback
        self.timeline = playback.timeline
        self.options = options
        self._worst = jumps.WorstFirst()

    @property
    def shell(self) -> "SpecvizApp":
        return cast("SpecvizApp", self.app)

    def update(self) -> None:
        """Show what changed."""

    def refresh_settings(self) -> None:
        """Show what was changed about the rounds to come."""
        self.update()

    def seek(self, index: int, row: int | None = None) -> None:
        self.playback.seek(index, row)
        self.update()

    def begin(self, *, seed: int | None = None, prompt: str | None = None) -> None:
        self.playback.restart(seed=seed, prompt=prompt)
        self.update()

    def action_play(self) -> None:
        self.playback.toggle()
        self.update()

    def action_forward(self) -> None:
        self.playback.next_round()
        self.update()

    def action_phase(self, step: int) -> None:
        self.playback.step_phase(step)
        self.update()

    def action_back(self) -> None:
        self.seek(self.timeline.shown - 1)

    def action_first(self) -> None:
        self.seek(1)

    def action_last(self) -> None:
        self.seek(self.timeline.total)

    def action_token(self, step: int) -> None:
        self.playback.move(step)
        self.update()

    def action_rejection(self, step: int) -> None:
        timeline = self.timeline
        self._jump(jumps.next_rejection(timeline.drafts, timeline.shown, timeline.row, step), "No further rejection.")

    def action_worst(self) -> None:
        timeline = self.timeline
        self._jump(self._worst.next(timeline.drafts, timeline.shown, timeline.row), "Nothing was tested yet.")

    def _jump(self, place: tuple[int, int] | None, otherwise: str) -> None:
        if place is None:
            self.shell.notify_literal(otherwise)
        else:
            self.playback.seek(place[0])
            self.seek(*place)

    def action_k(self, steps: int) -> None:
        self.playback.change_k(steps)
        self.refresh_settings()

    def action_temperature(self, steps: int) -> None:
        self.playback.change_temperature(steps)
        self.refresh_settings()

    def action_drafter(self) -> None:
        self.playback.change_drafter()
        self.refresh_settings()

    def action_again(self) -> None:
        self.begin()

    def action_reseed(self) -> None:
        self.begin(seed=(self.playback.request.seed + 1) % (MAX_SEED + 1))

    def can_choose(self, number: int) -> bool:
        """Whether a prepared prompt or run stands behind this digit and can be begun."""
        return number <= len(self.options.prepared) and (self.playback.can_begin or not self.playback.live)

    def action_prompt(self, number: int) -> None:
        options = self.options
        if self.playback.live:
            self.begin(prompt=options.prompts[number - 1][1])
        else:
            self.playback.open_recording(number - 1, paused=options.paused, at=options.at)
            self.update()

    def action_theme(self) -> None:
        themes = self.shell.read_themes()
        self.shell.tell_bad_themes()
        self.app.push_screen(ThemeScreen(themes, ascii=self.options.ascii))

    def action_quit(self) -> None:
        self.shell.quit()
