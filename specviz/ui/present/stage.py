"""The lines of a presentation: title, text, what happens, chips, numbers. Each keeps its position."""

from textual.app import ComposeResult
from textual.containers import Vertical

from specviz.render.glyphs import glyphs
from specviz.render.screen_text import literal
from specviz.ui.present.captions import Caption, at_the_end, caption, caption_fields, figure_fields, pair, title_fields
from specviz.ui.present.chip_row import ChipRow
from specviz.ui.present.chips import AnimationFrame
from specviz.ui.present.plain_text import PlainText
from specviz.ui.run.playback import Playback
from specviz.ui.run.status_line import Tone, loading, run_status
from specviz.ui.run.timeline import Timeline
from specviz.ui.shared.app_options import AppOptions
from specviz.ui.widgets.bars import Banner, StatusLine

WIDEST = 152
"""Cells of a line: longer lines are hard to read."""
LINES, SHORT_LINES = 11, 8
"""Lines of everything but text and chips, the empty ones between them included."""
MIN_TEXT = 3


class PresentView(Vertical):
    """Shows a timeline as of one moment of the phase it is at."""

    DEFAULT_CSS = """
    PresentView {
        height: 1fr; padding: 1 0;
        #stage-title, #stage-caption, #stage-figures { padding: 0; }
        #stage-title { margin-bottom: 2; }
        #stage-caption { margin: 1 0; }
        #stage-figures { margin-top: 2; }
    }
    """

    def __init__(self, timeline: Timeline, *, ascii: bool) -> None:
        super().__init__()
        self._timeline = timeline
        self._glyphs = glyphs(ascii)
        self._title = StatusLine(id="stage-title", ascii=ascii)
        self._text = PlainText(id="stage-text", ascii=ascii)
        self._caption = StatusLine(id="stage-caption", ascii=ascii)
        self._chips = ChipRow(id="stage-chips", ascii=ascii)
        self._figures = StatusLine(id="stage-figures", ascii=ascii)
        self._banner = Banner()
        self._before = Caption("")
        self._told: tuple[int, bool] = (0, False)

    def compose(self) -> ComposeResult:
        yield self._title
        yield self._text
        yield self._caption
        yield self._chips
        yield self._figures
        yield self._banner

    def show(self, playback: Playback, options: AppOptions, progress: float, where: str | None = None) -> None:
        """Update everything from the timeline. ``where`` replaces the number of the round."""
        timeline = self._timeline
        self._take_run(playback.run_id)
        self._reserve(max(timeline.max_k, playback.settings.k) + 1)
        view = run_status(playback, options)
        self._before = pair(view.draft, view.target, "" if timeline.ready else loading(timeline.progress))
        number = f"round {timeline.shown}" if timeline.shown else ""
        if timeline.timing:
            number = f"timing steps, {number}"
        self._title.show(title_fields(options.title, number if where is None else where, ascii=self._glyphs.ascii))
        whole = timeline.reveal is None and progress >= 1
        taken = timeline.shown if whole else max(0, timeline.shown - 1)
        self._text.show(taken, fresh=whole and taken > 0)
        self.show_round(progress)
        self._figures.show(
            figure_fields(timeline.stats.segment_rates_fast(taken), self._figures.size.width, self._glyphs)
        )
        self._banner.show(timeline.permanent)

    def show_round(self, progress: float) -> None:
        """What moves within a phase."""
        timeline = self._timeline
        frame = AnimationFrame(timeline.round, timeline.reveal, progress) if timeline.round else None
        text, tone = self._caption_of(frame)
        self._caption.show(caption_fields(text, tone=tone, ascii=self._glyphs.ascii))
        self._chips.show(frame)

    def _take_run(self, run_id: int) -> None:
        timeline = self._timeline
        told_run, finished = self._told
        if timeline.transcript is None:
            return
        if told_run != run_id:
            finished = False
            self._text.start(timeline.transcript)
        if timeline.end is not None and not finished:
            self._text.finish()
        self._told = run_id, timeline.end is not None

    def _reserve(self, places: int) -> None:
        width, height = self.screen.size
        cells = min(WIDEST, width - 2 * max(2, width // 20))
        self.styles.width = cells
        short = self.screen.has_class("-short")
        free = height - (SHORT_LINES if short else LINES)
        self._chips.reserve(places, cells, free - max(MIN_TEXT, free // (4 if short else 3)))

    def _caption_of(self, frame: AnimationFrame | None) -> tuple[Caption, Tone]:
        timeline = self._timeline
        at_end = timeline.at_end and timeline.reveal is None
        if timeline.failed is not None and at_end:
            return Caption("Stopped", literal(timeline.failed.message)), "error"
        if timeline.end is not None and at_end and (frame is None or frame.progress >= 1):
            tone: Tone = "error" if timeline.end.reason == "error" else "strong"
            return at_the_end(timeline.end, self._glyphs), tone
        if frame is None:
            return self._before, "plain"
        if frame.row_under_test is not None:
            return Caption(f"Test {frame.row_under_test + 1} of {frame.round.k}"), "strong"
        return caption(frame.round, frame.reveal, self._glyphs), "strong"
