"""The text so far for a large screen: plain text, with the newest tokens highlighted until the next round."""

from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

from specviz.render.glyphs import Glyphs, component
from specviz.render.phases import Reveal
from specviz.render.transcript import EMPTY_PROMPT, RoundText, Transcript
from specviz.render.transcript_layout import TranscriptView
from specviz.render.word_wrap import Flow, Span
from specviz.ui.widgets.cell_widget import CellWidget

_AIRY = 8
"""Height from which lines are double-spaced."""
_BOLD = Style(bold=True)


class PlainTranscriptView(TranscriptView):
    """A transcript without marks and dropped drafts: emitted text only."""

    def __init__(self, transcript: Transcript, glyphs: Glyphs, width: int) -> None:
        super().__init__(transcript, glyphs, width)
        self._newline = ""

    def _lay_shown(self, text: RoundText, cursor: int | None, reveal: Reveal | None) -> None:
        for at in range(len(text.pieces)):
            self._lay_emitted(self._tail, self.shown, text, at, self._newline)

    def _lay_marked(self, flow: Flow, text: str, like: Span, newline: str) -> None:
        flow.add(text, like)


class PlainText(CellWidget, tokens=True):
    """The last lines of the text as of one round."""

    DEFAULT_CSS = """
    PlainText { height: 1fr; max-width: 120; }
    PlainText > .calm--text { color: $foreground; }
    PlainText > .calm--prompt { color: $secondary; }
    """

    def __init__(self, *, id: str | None = None, ascii: bool = False) -> None:
        super().__init__(id=id, ascii=ascii)
        self._view = PlainTranscriptView(Transcript(EMPTY_PROMPT, ascii=ascii), self._glyphs, 1)
        self._taken = 0
        self._fresh = False

    def start(self, transcript: Transcript) -> None:
        """Begin a run: forget what was shown, show the prompt. `show` adds the rounds."""
        self._view = PlainTranscriptView(transcript, self._glyphs, self._view.width)
        self._taken = 0
        self.refresh()

    def finish(self) -> None:
        """The run has ended."""
        self._view.show_round(self._taken, None)
        self.refresh()

    def show(self, taken: int, *, fresh: bool) -> None:
        """Show the text with ``taken`` rounds, the last of them highlighted if ``fresh``."""
        if (taken, fresh) != (self._view.shown, self._fresh):
            self._taken, self._fresh = taken, fresh
            self._view.show_round(taken, None)
            self.refresh()

    def on_resize(self) -> None:
        if self.content_size.width != self._view.width:
            self._view.wrap(max(1, self.content_size.width))
            self._view.show_round(self._taken, None)
        self.refresh()

    def render_line(self, y: int) -> Strip:
        height, base = self.content_size.height, self.rich_style
        step = 2 if height >= _AIRY else 1
        room = (height + step - 1) // step
        line, between = divmod(y, step)
        spans = () if between else self._view.line(max(0, self._view.count - room) + line)
        return Strip([Segment(span.text, base + self._style(span)) for span in spans]).adjust_cell_length(
            self.content_size.width, base
        )

    def _style(self, span: Span) -> Style:
        if span.kind == "prompt":
            return self.component_style("calm--prompt")
        if self._fresh and span.round == self._view.shown:
            return self.component_style(component(span.kind)) + _BOLD
        return self.component_style("calm--text")
