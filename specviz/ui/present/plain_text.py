"""The text so far for a large screen: nothing but text, the tokens just taken standing out until the next round."""

from typing import ClassVar

from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

from specviz.render.glyphs import COMPONENTS, Glyphs, component, component_css
from specviz.render.phases import Reveal
from specviz.render.transcript import NOTHING_TOLD, Telling, Told
from specviz.render.transcript_layout import Story
from specviz.render.word_wrap import Flow, Span
from specviz.ui.widgets.cell_widget import CellWidget

_AIRY = 8
"""Lines of height from which on every other one stays empty."""
_BOLD = Style(bold=True)


class PlainStory(Story):
    """A story without marks and ghosts: what was emitted, and that alone."""

    def __init__(self, telling: Telling, glyphs: Glyphs, width: int) -> None:
        super().__init__(telling, glyphs, width)
        self._newline = ""

    def _tell(self, told: Told, cursor: int | None, reveal: Reveal | None) -> None:
        for at in range(len(told.pieces)):
            self._emitted(self._tail, self.shown, told, at, self._newline)

    def _marked(self, flow: Flow, text: str, like: Span, newline: str) -> None:
        flow.add(text, like)


class CalmText(CellWidget):
    """The last lines of the text as of one round."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {*COMPONENTS, "calm--text", "calm--prompt"}
    DEFAULT_CSS = (
        component_css("CalmText")
        + """
    CalmText { height: 1fr; max-width: 120; }
    CalmText > .calm--text { color: $foreground; }
    CalmText > .calm--prompt { color: $secondary; }
    """
    )

    def __init__(self, *, id: str | None = None, ascii: bool = False) -> None:
        super().__init__(id=id, ascii=ascii)
        self._story = PlainStory(Telling(NOTHING_TOLD, ascii=ascii), self._glyphs, 1)
        self._taken = 0
        self._fresh = False

    def start(self, telling: Telling) -> None:
        """Begin a run: forget what was shown, show the prompt. What is told later, `show` brings to the screen."""
        self._story = PlainStory(telling, self._glyphs, self._story.width)
        self._taken = 0
        self.refresh()

    def finish(self) -> None:
        """The run is over, and told to its end."""
        self._story.look(self._taken, None)
        self.refresh()

    def show(self, taken: int, *, fresh: bool) -> None:
        """Show the text with ``taken`` rounds, the last of them standing out if it is ``fresh``."""
        if (taken, fresh) != (self._story.shown, self._fresh):
            self._taken, self._fresh = taken, fresh
            self._story.look(taken, None)
            self.refresh()

    def on_resize(self) -> None:
        if self.content_size.width != self._story.width:
            self._story.wrap(max(1, self.content_size.width))
            self._story.look(self._taken, None)
        self.refresh()

    def render_line(self, y: int) -> Strip:
        height, base = self.content_size.height, self.rich_style
        step = 2 if height >= _AIRY else 1
        room = (height + step - 1) // step
        line, between = divmod(y, step)
        spans = () if between else self._story.line(max(0, self._story.count - room) + line)
        return Strip([Segment(span.text, base + self._style(span)) for span in spans]).adjust_cell_length(
            self.content_size.width, base
        )

    def _style(self, span: Span) -> Style:
        if span.kind == "prompt":
            return self.component_style("calm--prompt")
        if self._fresh and span.round == self._story.shown:
            return self.component_style(component(span.kind)) + _BOLD
        return self.component_style("calm--text")
