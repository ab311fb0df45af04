"""Keys that open another screen, and what is done with its answer."""

from pathlib import Path

from specviz.breakpoints.monitor import Breakpoint
from specviz.lab.model import lab_point
from specviz.ui.dialogs.breakpoints import BreakpointsScreen
from specviz.ui.dialogs.find import FindScreen
from specviz.ui.dialogs.go_to import GoToScreen
from specviz.ui.dialogs.help import HelpScreen
from specviz.ui.dialogs.prompt import PromptScreen
from specviz.ui.dialogs.save import SaveScreen
from specviz.ui.main.run_actions import RunActions


class PanelActions(RunActions):
    """The actions that ask first."""

    def _seek_if_chosen(self, place: tuple[int, int] | None) -> None:
        if place is not None:
            self.seek(*place)

    def action_metrics(self) -> None:
        from specviz.ui.metrics.screen import MetricsScreen

        self.app.push_screen(MetricsScreen(self.timeline, ascii=self.options.ascii), self._seek_if_chosen)

    def action_lab(self) -> None:
        from specviz.ui.lab.screen import LabScreen

        timeline = self.timeline
        point = lab_point(
            timeline.rates,
            timeline.settings,
            timeline.rounds,
            (timeline.shown, timeline.row),
            timeline.drafts,
            timeline.stats.tallies,
        )
        self.app.push_screen(LabScreen(point, ascii=self.options.ascii))

    def action_find(self) -> None:
        timeline = self.timeline
        end_ids = timeline.header.end_ids if timeline.header else ()
        at = timeline.shown, timeline.row
        screen = FindScreen(timeline.rounds, at=at, end_ids=end_ids, ascii=self.options.ascii)
        self.app.push_screen(screen, self._seek_if_chosen)

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

    def action_export(self) -> None:
        self.shell.action_export()

    def action_present(self) -> None:
        self.shell.present()

    def action_help(self) -> None:
        self.app.push_screen(HelpScreen(ascii=self.options.ascii))
