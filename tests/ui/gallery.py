"""All widgets as on the main screen, fed by hand: for tests, and to look at (`python -m tests.ui.gallery`)."""

import asyncio
import sys
from collections.abc import Awaitable, Callable, Sequence

from textual.app import App, ComposeResult
from textual.containers import Horizontal, Vertical
from textual.geometry import Region
from textual.pilot import Pilot
from textual.widget import Widget

from specviz.core.events import End, Event, Header, Round
from specviz.render.transcript import Transcript
from specviz.render.transcript_pages import PAGE_TOKENS
from specviz.stats.run_stats import RunStats
from specviz.theming.loader import load_themes, variable_defaults
from specviz.ui.charts.positions import PositionsPanel
from specviz.ui.charts.run_charts import AlphaPlot, TokensPlot
from specviz.ui.main.legend import Legend
from specviz.ui.main.round_panel import RoundPanel
from specviz.ui.main.round_strip import RoundStrip
from specviz.ui.main.text_panel import TextPanel
from tests.builders import make_calibration, make_header, make_run


class Gallery(App[None]):
    """``posted`` collects the widgets' messages."""

    CSS = """
    #left { width: 74; }
    #text { height: 12; }
    #round { height: 1fr; }
    #right { width: 1fr; }
    #alpha { height: 12; } #tokens { height: 12; }
    .-narrow #left { width: 1fr; }
    .-narrow #right { display: none; }
    .-narrow #text { height: 8; }
    """
    HORIZONTAL_BREAKPOINTS = [  # noqa: RUF012
        (0, "-narrow"),
        (100, "-wide"),
    ]

    def __init__(self, theme: str = "dark", *, ascii: bool = False) -> None:
        super().__init__()
        self._start_theme = theme
        self._ascii = ascii
        self.posted: list[object] = []

    def get_theme_variable_defaults(self) -> dict[str, str]:
        return dict(variable_defaults())

    def compose(self) -> ComposeResult:
        ascii = self._ascii
        with Horizontal():
            with Vertical(id="left"):
                yield TextPanel(id="text", ascii=ascii)
                yield RoundPanel(id="round", ascii=ascii)
            with Vertical(id="right"):
                yield AlphaPlot(id="alpha", ascii=ascii)
                yield TokensPlot(id="tokens", ascii=ascii)
                yield PositionsPanel(id="positions", ascii=ascii)
        yield RoundStrip(id="strip", ascii=ascii)
        yield Legend(id="legend", ascii=ascii)

    def on_mount(self) -> None:
        for theme in load_themes()[0].values():
            self.register_theme(theme)
        self.theme = self._start_theme

    def on_text_panel_token_clicked(self, message: TextPanel.TokenClicked) -> None:
        self.posted.append(message)

    def on_round_panel_row_clicked(self, message: RoundPanel.RowClicked) -> None:
        self.posted.append(message)

    def on_round_strip_jump_to(self, message: RoundStrip.JumpTo) -> None:
        self.posted.append(message)

    def begin(
        self, header: Header, rounds: Sequence[Round], end: End | None = None, page_tokens: int = PAGE_TOKENS
    ) -> None:
        """Start a run and add all its rounds; `show` brings one to the screen."""
        self.rounds = list(rounds)
        self.end = end
        self.stats = RunStats()
        events: list[Event] = [header, make_calibration(), *rounds]
        for event in events:
            self.stats.add(event)
        text = self.query_one(TextPanel)
        telling = Transcript(header.prompt, header.special_ids, ascii=self._ascii, page_tokens=page_tokens)
        text.start(telling)
        for round in rounds:
            telling.append(round)
        if end:
            telling.finish()
            text.finish(end)

    def show(self, shown: int, row: int | None = None) -> None:
        at_end = shown == len(self.rounds)
        max_k = max((round.k for round in self.rounds), default=0)
        self.query_one(TextPanel).show(shown, row)
        self.query_one(RoundPanel).show(
            self.rounds[shown - 1] if shown else None, row=row, max_k=max_k, end=self.end if at_end else None
        )
        series, rates = self.stats.series(shown), self.stats.segment_rates(shown)
        self.query_one(AlphaPlot).show(series, rates, shown=shown)
        self.query_one(TokensPlot).show(series, rates, shown=shown)
        self.query_one(PositionsPanel).show(rates)
        self.query_one(RoundStrip).show([len(round.emitted) for round in self.rounds], shown, max_k + 1)


Scenario = Callable[[Gallery, Pilot[None]], Awaitable[None]]


def in_gallery(
    scenario: Scenario, size: tuple[int, int] = (120, 40), theme: str = "dark", *, ascii: bool = False
) -> Gallery:
    """Run ``scenario`` under Pilot in a terminal of ``size``; an exception of a widget is raised here."""
    app = Gallery(theme, ascii=ascii)

    async def run() -> None:
        async with app.run_test(size=size) as pilot:
            await pilot.pause()
            await scenario(app, pilot)

    asyncio.run(run())
    return app


def lines_of(widget: Widget) -> list[str]:
    """What a widget draws, borders and titles included."""
    return [strip.text for strip in widget.render_lines(Region(0, 0, widget.size.width + 4, widget.outer_size.height))]


def inside(widget: Widget) -> list[str]:
    """What a widget draws inside its border and padding, without trailing blanks."""
    return [widget.render_line(y).text.rstrip() for y in range(widget.content_size.height)]


async def picture(path: str, size: tuple[int, int], theme: str, shown: int, k: int, ascii: bool) -> None:
    app = Gallery(theme, ascii=ascii)
    async with app.run_test(size=size) as pilot:
        rounds = make_run(61, k, 3)
        app.begin(make_header("Once upon a time there was a"), rounds)
        app.show(shown, min(2, k))
        await pilot.pause()
        app.save_screenshot(path)


if __name__ == "__main__":
    path, width, height, theme, shown, k = (sys.argv[1:] + ["120", "40", "dark", "37", "4"][len(sys.argv) - 2 :])[:6]
    asyncio.run(picture(path, (int(width), int(height)), theme, int(shown), int(k), "ascii" in sys.argv))
