"""The metrics screen alone: timelines to show, an app to show them in, and what the screen then says."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence

from textual.app import App
from textual.pilot import Pilot
from textual.widget import Widget

from specviz.core.events import Calibration, Round
from specviz.render.glyphs import UNICODE, Glyphs
from specviz.theming.loader import load_themes, variable_defaults
from specviz.trace import jsonl
from specviz.ui.metrics.blocks import Line, PageBody
from specviz.ui.metrics.page import MetricsPage
from specviz.ui.metrics.scope import Scope, scope_of
from specviz.ui.metrics.screen import MetricsScreen
from specviz.ui.metrics.tokens_tab import TokensTab, TokenTable
from specviz.ui.run.timeline import Timeline
from tests.builders import make_calibration, make_header
from tests.recordings import SMALL


def timeline_of(rounds: Iterable[Round], calibration: Calibration | None = None) -> Timeline:
    timeline = Timeline()
    timeline.add(make_header())
    if calibration:
        timeline.add(calibration)
    for round in rounds:
        timeline.add(round)
    return timeline


def small() -> Timeline:
    """The trace of tests/data, worked out by hand in its README."""
    recorded = jsonl.read(SMALL)
    return timeline_of(recorded.rounds, *recorded.calibrations)


def calibrated(rounds: Iterable[Round]) -> Timeline:
    return timeline_of(rounds, make_calibration())


def scope(timeline: Timeline) -> Scope:
    return scope_of(timeline.stats, timeline.drafts, timeline.last_complete)


def texts(lines: Sequence[Line]) -> list[str]:
    return ["".join(text for text, _ in line).rstrip() for line in lines]


def page(
    make: Callable[[Scope], PageBody], timeline: Timeline, cells: int = 118, glyphs: Glyphs = UNICODE
) -> list[str]:
    """A page as text."""
    return texts(make(scope(timeline))(cells, glyphs))


def fields(lines: Sequence[str], start: str) -> list[str]:
    """The words of the one line that starts so, behind that."""
    found = [line for line in lines if line.lstrip().startswith(start)]
    assert len(found) == 1, (start, found)
    return found[0].lstrip()[len(start) :].split()


class Host(App[None]):
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (100, "-wide")]  # noqa: RUF012
    VERTICAL_BREAKPOINTS = [(0, "-short"), (34, "-tall")]  # noqa: RUF012

    def __init__(self, timeline: Timeline, *, ascii: bool) -> None:
        super().__init__()
        for theme in load_themes()[0].values():
            self.register_theme(theme)
        self.theme = "dark"
        self.metrics = MetricsScreen(timeline, ascii=ascii, every=0.01)
        self.results: list[tuple[int, int] | None] = []

    def get_theme_variable_defaults(self) -> dict[str, str]:
        return dict(variable_defaults())

    def on_mount(self) -> None:
        self.push_screen(self.metrics, self.results.append)

    @property
    def page(self) -> MetricsPage:
        return self.metrics.query_one(MetricsPage)

    @property
    def table(self) -> TokenTable:
        return self.metrics.query_one(TokensTab).table

    def said(self, widget: str) -> list[str]:
        """What a widget of the screen draws, without trailing blanks."""
        return drawn(self.metrics.query_one(widget))


Scenario = Callable[[Host, Pilot[None]], Awaitable[None]]


def in_metrics(
    timeline: Timeline, scenario: Scenario, size: tuple[int, int] = (120, 40), *, ascii: bool = False
) -> None:
    async def run() -> None:
        app = Host(timeline, ascii=ascii)
        async with app.run_test(size=size) as pilot:
            await pilot.pause()
            await scenario(app, pilot)

    asyncio.run(run())


def drawn(widget: Widget) -> list[str]:
    width, height = widget.size
    return [strip.text.rstrip() for strip in widget.render_lines(widget.size.region)] if width and height else []
