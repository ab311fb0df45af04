"""What the keys do: each action drives the playback or opens a dialog, then shows what changed."""

from pathlib import Path
from typing import cast

from textual.screen import Screen

from specviz.breakpoints.monitor import Breakpoint
from specviz.core.options import MAX_SEED
from specviz.lab.model import lab_point
from specviz.stats.draft_queries import adjacent_rejection
from specviz.ui.dialogs.breakpoints import BreakpointsScreen
from specviz.ui.dialogs.find import FindScreen, GoToScreen
from specviz.ui.dialogs.prompt import PromptScreen
from specviz.ui.dialogs.save import SaveScreen
from specviz.ui.dialogs.theme import ThemeScreen
from specviz.ui.run.jumps import WorstFirst
from specviz.ui.run.playback import Playback
from specviz.ui.shared.app_options import AppOptions
from specviz.ui.shared.shell import Shell


class RunActions(Screen[None]):
    """The actions that need nothing but the playback: those of the main screen and the presentation."""

    def __init__(self, playback: Playback, options: AppOptions) -> None:
        super().__init__()
        self.playback = playback
        self.timeline = playback.timeline
        self.options = options

    @property
    def shell(self) -> Shell:
        return cast(Shell, self.app)

    def update(self) -> None:
        """Show what changed."""

    @property
    def prepared(self) -> tuple[str, ...]:
        """The names that the digits choose among: recorded runs, or prompts if the source can run another one."""
        if self.options.recordings:
            return tuple(path.name for path in self.options.recordings)
        return tuple(name for name, _ in self.options.prompts) if self.playback.capabilities.can_restart else ()

    def can_choose(self, number: int) -> bool:
        """Whether digit ``number`` has a recorded run or a prompt that can begin now."""
        return number <= len(self.prepared) and (bool(self.options.recordings) or self.playback.can_begin)

    def action_theme(self) -> None:
        themes = self.shell.read_themes()
        self.shell.tell_bad_themes()
        self.app.push_screen(ThemeScreen(themes, ascii=self.options.ascii))

    def action_export(self) -> None:
        self.shell.action_export()


class MainActions(RunActions):
    """The actions of the main screen."""

    def __init__(self, playback: Playback, options: AppOptions) -> None:
        super().__init__(playback, options)
        self._worst = WorstFirst()

    @property
    def can_close(self) -> bool:
        """Whether a panel is open."""
        return False

    def refresh_settings(self) -> None:
        """Show settings that changed for the next rounds."""
        self.update()

    def seek(self, index: int, row: int | None = None) -> None:
        self.playback.seek(index, row)
        self.update()

    def seek_if_chosen(self, place: tuple[int, int] | None) -> None:
        if place is not None:
            self.seek(*place)

    def begin(self, *, seed: int | None = None, prompt: str | None = None) -> None:
        self.playback.restart(seed=seed, prompt=prompt)
        self.update()

    # -- the run

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
        self._jump(adjacent_rejection(timeline.drafts, (timeline.shown, timeline.row), step), "No further rejection.")

    def action_worst(self) -> None:
        timeline = self.timeline
        tested = timeline.stats.whole().tested
        otherwise = "No tested token has a recorded overlap." if tested else "No token has been tested yet."
        self._jump(self._worst.next(timeline.drafts, timeline.shown, timeline.row), otherwise)

    def _jump(self, place: tuple[int, int] | None, otherwise: str) -> None:
        if place is None:
            self.shell.notify_literal(otherwise)
        else:
            self.playback.seek(place[0])
            self.seek(*place)

    def action_k(self, steps: int) -> None:
        self.playback.change_k(steps)
        self.refresh_settings()

    def action_auto_k(self) -> None:
        self.playback.toggle_auto_k()
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

    def action_prompt(self, number: int) -> None:
        options = self.options
        if not self.can_choose(number):
            return
        if options.recordings:
            self.playback.open_recording(number - 1, paused=options.paused, at=options.at)
            self.update()
        else:
            self.begin(prompt=options.prompts[number - 1][1])

    def action_quit(self) -> None:
        self.shell.quit()

    # -- other screens, and what is done with their answers

    def action_metrics(self) -> None:
        from specviz.ui.metrics.screen import MetricsScreen

        self.app.push_screen(MetricsScreen(self.timeline, ascii=self.options.ascii), self.seek_if_chosen)

    def action_lab(self) -> None:
        from specviz.ui.lab.screen import LabScreen

        timeline = self.timeline
        point = lab_point(
            timeline.stats.segment_rates(timeline.last_complete),
            timeline.settings,
            timeline.rounds,
            (timeline.shown, timeline.row),
            timeline.drafts,
            timeline.stats.round_counts,
        )
        self.app.push_screen(LabScreen(point, ascii=self.options.ascii))

    def action_find(self) -> None:
        timeline = self.timeline
        end_ids = timeline.header.end_ids if timeline.header else ()
        at = timeline.shown, timeline.row
        screen = FindScreen(timeline.rounds, at=at, end_ids=end_ids, ascii=self.options.ascii)
        self.app.push_screen(screen, self.seek_if_chosen)

    def action_go_to(self) -> None:
        def go(index: int | None) -> None:
            if index is not None:
                self.seek(index)

        self.app.push_screen(GoToScreen(self.timeline.total, ascii=self.options.ascii), go)

    def action_breakpoints(self) -> None:
        monitor = self.playback.monitor

        def change(breakpoints: tuple[Breakpoint, ...] | None) -> None:
            if breakpoints is not None:
                monitor.change(breakpoints)
                self.update()

        self.app.push_screen(BreakpointsScreen(monitor.breakpoints, ascii=self.options.ascii), change)

    def action_edit(self) -> None:
        def run(prompt: str | None) -> None:
            if prompt is not None:
                self.begin(prompt=prompt)

        self.app.push_screen(PromptScreen(self.playback.request.prompt, ascii=self.options.ascii), run)

    def action_save(self) -> None:
        def done(saved: Path | None) -> None:
            if saved is not None:
                self.shell.notify_literal(f"Saved to {saved}")

        if path := self.shell.trace_path:
            self.app.push_screen(SaveScreen(path, ascii=self.options.ascii), done)

    def action_present(self) -> None:
        self.shell.present()
