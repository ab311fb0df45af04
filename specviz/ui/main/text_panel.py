"""The running text, token by token, with the tokens of the shown round marked by verdict."""

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.geometry import Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip

from specviz.core.events import End
from specviz.render.explanations import end_text
from specviz.render.glyphs import component
from specviz.render.phases import Reveal, partial_reveal
from specviz.render.transcript import EMPTY_PROMPT, Transcript
from specviz.render.transcript_layout import NO_SOURCE, TranscriptView
from specviz.render.word_wrap import Span, nearest
from specviz.ui.widgets.cell_widget import CellWidget

_PLAIN = Style(strike=False, underline=False, italic=False)
_CURSOR = Style(reverse=True, bold=True)
_UNDIMMED = Style(dim=False)


class TextPanel(CellWidget, ScrollView, can_focus=False, panel=True, tokens=True):
    """The text as of one round; it follows the end unless scrolled away from it."""

    DEFAULT_CSS = """
    TextPanel {
        height: 1fr; overflow-x: hidden; overflow-y: auto; scrollbar-gutter: stable; scrollbar-size-vertical: 1;
        padding: 0 0 0 1;
    }
    TextPanel > .token--waiting { color: $secondary; }
    TextPanel > .text--shown { background: $panel; }
    TextPanel > .text--special { text-style: reverse; }
    TextPanel > .text--matched { color: $accent; text-style: underline; }
    TextPanel > .text--copied { color: $accent; text-style: bold reverse; }
    """

    class TokenClicked(Message):
        """A token of a round was clicked; ``row`` k is the round's last token."""

        def __init__(self, round: int, row: int) -> None:
            super().__init__()
            self.round = round
            self.row = row

    def __init__(self, *, id: str | None = None, classes: str | None = None, ascii: bool = False) -> None:
        super().__init__(id=id, classes=classes, ascii=ascii)
        self._view = TranscriptView(Transcript(EMPTY_PROMPT, ascii=ascii), self._glyphs, 1)
        self._row: int | None = None
        self._reveal: Reveal | None = None
        self._end: End | None = None
        self._following = True
        self._placing = False
        self._laid_out_height = 0
        self._source = NO_SOURCE
        self._styles: dict[tuple[str, str, bool, bool], Style] = {}
        self.set_titles("Text")

    def start(self, transcript: Transcript) -> None:
        """Begin a run: forget what was shown, show the prompt. `show` adds the rounds."""
        self._end = None
        self._row = self._reveal = None
        self._source = NO_SOURCE
        self._view = TranscriptView(transcript, self._glyphs, self._width)
        self._update(0, following=True)

    def finish(self, end: End) -> None:
        """The run is over, and text to its end."""
        self._end = end
        self.show(self._view.shown, self._row, self._reveal)

    def show(self, shown: int, row: int | None = None, reveal: Reveal | None = None) -> None:
        """Show the text as of round ``shown`` (0: the prompt), the cursor on ``row`` of that round. With ``reveal``
        that round only up to that phase."""
        reveal = partial_reveal(reveal)
        before, following = self._view.shown, self._following
        ahead = shown > before
        moved = (row, reveal) != (self._row, self._reveal) or shown < before
        self._row, self._reveal = row, reveal
        first = self._view.show_round(shown, row, reveal)
        source = self._view.source(row)
        if source != self._source:
            self._source, first = source, 0
        self._update(first, following=following or (moved and not ahead))

    def neighbour(self, lines: int) -> tuple[int, int] | None:
        """The (round, row) of the token so many lines below the cursor (above if negative); None: there is none."""
        found = self._view.find(self._view.shown, self._row) if self._row is not None else None
        if found is None:
            return None
        top, bottom, column = found
        y = bottom + lines if lines > 0 else top + lines
        while 0 <= y < self._view.count:
            token = nearest(self._view.line(y), column)
            if token and token != (self._view.shown, self._row):
                return token
            y += 1 if lines > 0 else -1
        return None

    @property
    def _width(self) -> int:
        return max(1, self.scrollable_content_region.width)

    @property
    def _height(self) -> int:
        return max(1, self.scrollable_content_region.height)

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        super().watch_scroll_y(old_value, new_value)
        if not self._placing and self._height == self._laid_out_height:
            self._measure_view()
            self._following = self.scroll_offset.y >= self._view.count - self._height

    def _measure_view(self) -> None:
        """Lay out what scrolled into view; if its height differs from the estimate, keep it in position."""
        top = self.scroll_offset.y
        moved = self._view.measure_pages(top - self._height, top + self._height)
        if moved:
            self._set_scrolled_height(self._view.count)
            self._place(top + moved)
            self.refresh()

    def _place(self, y: int) -> None:
        self._placing = True
        self.scroll_to(y=y, animate=False, immediate=True, force=True)
        self._placing = False

    def _update(self, first: int, *, following: bool) -> None:
        view = self._view
        before, count = self.virtual_size.height, view.count
        if count != before:
            self._set_scrolled_height(count)
        at_end = self._end is not None and self._reveal is None and view.shown == len(view.transcript.round_texts)
        self.set_titles("Text", end_text(self._end, self._glyphs) if self._end and at_end else "")
        if following:
            self._bring_into_view()
        self.refresh_lines(first, max(before, count) - first + 1)

    def _set_scrolled_height(self, lines: int) -> None:
        """Update the scroll bar; a layout, which is expensive, runs only if it appears or disappears."""
        size = Size(self._width, lines)
        if self.show_vertical_scrollbar == (lines > self._height):
            self.set_reactive(TextPanel.virtual_size, size)
            self.vertical_scrollbar.window_virtual_size = lines
        else:
            self.virtual_size = size

    def _bring_into_view(self) -> None:
        """Show the end of the text, or as near to it as the cursor allows."""
        height = self._height
        y = max(0, self._view.count - height)
        cursor = self._view.find(self._view.shown, self._row) if self._row is not None else None
        if cursor is not None:
            y = max(min(y, cursor[0]), cursor[0] - height + 1)
        self._following = True
        if y != self.scroll_offset.y:
            self._place(y)

    def on_resize(self) -> None:
        self._laid_out_height = self._height
        if self._width != self._view.width:
            shown = self._view.shown
            self._view.wrap(self._width)
            self._view.show_round(shown, self._row, self._reveal)
        self._update(0, following=self._following)

    def on_click(self, event: events.Click) -> None:
        offset = event.get_content_offset(self)
        if offset is None:
            return
        x = offset.x
        for span in self._view.line(offset.y + self.scroll_offset.y):
            if 0 <= x < span.width and span.round:
                self.post_message(self.TokenClicked(span.round, span.row))
                return
            x -= span.width

    def notify_style_update(self) -> None:
        super().notify_style_update()
        self._styles.clear()

    def render_line(self, y: int) -> Strip:
        base = self.rich_style
        shown, row = self._view.shown, self._row
        line = self._view.line(y + self.scroll_offset.y)
        segments = [
            Segment(span.text, base + self._style(span, span.round == shown and shown > 0, row)) for span in line
        ]
        if self._source:
            segments = [self._sourced(span, segment) for span, segment in zip(line, segments, strict=True)]
        return Strip(segments).adjust_cell_length(self.scrollable_content_region.width, base)

    def _sourced(self, span: Span, segment: Segment) -> Segment:
        """The token in the style of its part in an n-gram draft, if it has one."""
        part = self._source.get((span.round, span.row))
        if part is None or segment.style is None:
            return segment
        style = self.component_style(f"text--{part}")
        return Segment(span.text, segment.style + _UNDIMMED + style)

    def _style(self, span: Span, shown: bool, row: int | None) -> Style:
        cursor = shown and span.row == row
        key = span.kind, span.role, shown, cursor
        style = self._styles.get(key)
        if style is None:
            style = self.component_style(component(span.kind))
            if span.role == "special":
                style += self.component_style("text--special")
            if span.role in ("mark", "ghost-mark"):
                style += _PLAIN
            if shown:
                style += self.component_style("text--shown")
            if cursor:
                style += _CURSOR
            self._styles[key] = style
        return style
