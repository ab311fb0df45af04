"""A long list of tokens that were looked for."""

from collections.abc import Iterator, Sequence
from typing import ClassVar

from rich.style import Style
from textual import events
from textual.geometry import Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip

from specviz.events import Round
from specviz.tokens import visible
from specviz.ui.finding import Hit, token_at
from specviz.ui.glyphs import COMPONENTS, component, component_css, glyphs
from specviz.ui.literal import in_ascii
from specviz.ui.widgets.drawing import Part, fit
from specviz.ui.widgets.numbers import prob
from specviz.ui.widgets.painted import Painted
from specviz.ui.widgets.strips import strip_of

_ROUND, _POSITION, _NUMBER = 6, 4, 6
_LEAST_TOKEN, _MOST_TOKEN = 8, 24
_NOTE = 27
_FIXED = 2 + _ROUND + _POSITION + 3 + 2 * _NUMBER + 2
_UPRIGHT = Style(strike=False, underline=False, italic=False)


class HitList(Painted, ScrollView, can_focus=False):
    """A head and a line a hit, one of them chosen; only what can be seen is drawn."""

    ALLOW_SELECT = False
    COMPONENT_CLASSES: ClassVar[set[str]] = {*COMPONENTS, "hits--head", "hits--quiet", "hits--cursor", "hits--chosen"}
    DEFAULT_CSS = (
        component_css("HitList")
        + """
    HitList { height: 1fr; overflow-x: hidden; overflow-y: auto; scrollbar-size-vertical: 1; scrollbar-gutter: stable; }
    HitList > .hits--head { color: $secondary; }
    HitList > .hits--quiet { color: $secondary; }
    HitList > .hits--cursor { text-style: bold; }
    HitList > .hits--chosen { background: $panel; }
    """
    )

    class Clicked(Message):
        def __init__(self, index: int) -> None:
            super().__init__()
            self.index = index

    def __init__(self, rounds: Sequence[Round], *, ascii: bool = False) -> None:
        super().__init__()
        self._rounds = rounds
        self._glyphs = glyphs(ascii)
        self._hits: Sequence[Hit] = ()
        self._chosen = 0

    @property
    def chosen(self) -> Hit | None:
        return self._hits[self._chosen] if self._hits else None

    @property
    def page(self) -> int:
        """Hits that can be seen at a time."""
        return max(1, self.scrollable_content_region.height - 1)

    def show(self, hits: Sequence[Hit], chosen: int = 0) -> None:
        self._hits = hits
        self.virtual_size = Size(self.scrollable_content_region.width, len(hits) + 1)
        self.choose(chosen)

    def move(self, lines: int) -> None:
        self.choose(self._chosen + lines)

    def choose(self, index: int) -> None:
        """Choose a hit, the nearest there is, and bring it into view."""
        self._chosen = max(0, min(index, len(self._hits) - 1))
        top = round(self.scroll_target_y)
        wanted = max(min(top, self._chosen), self._chosen - self.page + 1)
        self.scroll_to(y=wanted, animate=False, immediate=True, force=True)
        self.refresh()

    def on_resize(self) -> None:
        self.choose(self._chosen)

    def on_click(self, event: events.Click) -> None:
        offset = event.get_content_offset(self)
        index = offset.y - 1 + self.scroll_offset.y if offset else -1
        if offset and offset.y > 0 and 0 <= index < len(self._hits):
            self.post_message(self.Clicked(index))

    def render_line(self, y: int) -> Strip:
        width, base = self.scrollable_content_region.width, self.rich_style
        if y == 0:
            return strip_of([(self._head(width), self.painted("hits--head"))], width, base)
        index = y - 1 + self.scroll_offset.y
        if index >= len(self._hits):
            return Strip.blank(width, base)
        chosen = index == self._chosen
        parts = self._parts(self._hits[index], chosen, width)
        styled = [(text, self._style(name)) for text, name in parts]
        return strip_of(styled, width, base + self.painted("hits--chosen") if chosen else base)

    def _token_cells(self, width: int) -> int:
        return max(_LEAST_TOKEN, min(_MOST_TOKEN, width - _FIXED - _NOTE))

    def _head(self, width: int) -> str:
        columns = f"  {'round':>{_ROUND}}{'i':>{_POSITION}}   {fit('token', self._token_cells(width))}"
        return f"{columns}{'q':>{_NUMBER}}{'p':>{_NUMBER}}  why"

    def _parts(self, hit: Hit, chosen: bool, width: int) -> Iterator[Part]:
        signs, shown = self._glyphs, self._rounds[hit.round - 1]
        token, cells = token_at(shown, hit.row), self._token_cells(width)
        yield f" {signs.cursor}" if chosen else "  ", "hits--cursor"
        position = str(hit.row + 1) if hit.row < shown.k else ""
        yield f"{hit.round:>{_ROUND}}{position:>{_POSITION}}", ""
        yield f" {signs.mark(hit.kind)} ", f"mark:{component(hit.kind)}"
        name = fit(visible(hit.bytes, ascii=signs.ascii), cells, ascii=signs.ascii)
        kept = name.rstrip(" ")
        yield kept, component(hit.kind)
        yield name[len(kept) :], ""
        q = prob(token.q, none=signs.none)
        yield f"{q:>{_NUMBER}}{prob(token.p):>{_NUMBER}}", ""
        note = in_ascii(hit.note) if signs.ascii else hit.note
        yield f"  {fit(note, max(0, width - _FIXED - cells), ascii=signs.ascii)}", "hits--quiet"

    def _style(self, name: str) -> Style:
        if not name:
            return Style.null()
        style = self.painted(name.removeprefix("mark:"))
        return style + _UPRIGHT if name.startswith("mark:") else style
