"""The list of tokens that a search found."""

from collections.abc import Iterator, Sequence

from rich.style import Style
from textual.message import Message

from specviz.core.safe_text import visible
from specviz.render.cells import Part, fit
from specviz.render.glyphs import component
from specviz.render.numbers import prob
from specviz.render.screen_text import in_ascii
from specviz.ui.run.jumps import Hit
from specviz.ui.widgets.line_list import DrawnLine, LineList

_ROUND, _POSITION, _NUMBER = 6, 4, 6
_MIN_TOKEN, _MAX_TOKEN = 8, 24
_NOTE = 27
_FIXED = 2 + _ROUND + _POSITION + 3 + 2 * _NUMBER + 2
_UPRIGHT = Style(strike=False, underline=False, italic=False)


class HitList(LineList, tokens=True):
    """One line per hit."""

    DEFAULT_CSS = """
    HitList > .hits--head { color: $secondary; }
    HitList > .hits--quiet { color: $secondary; }
    HitList > .hits--cursor { text-style: bold; }
    HitList > .hits--chosen { background: $panel; }
    """

    class Clicked(Message):
        def __init__(self, index: int) -> None:
            super().__init__()
            self.index = index

    def __init__(self, *, ascii: bool = False) -> None:
        super().__init__(ascii=ascii)
        self._hits: Sequence[Hit] = ()

    @property
    def chosen(self) -> Hit | None:
        return self._hits[self.cursor_row] if self._hits else None

    @property
    def row_count(self) -> int:
        return len(self._hits)

    def show(self, hits: Sequence[Hit], chosen: int = 0) -> None:
        self._hits = hits
        self.choose(chosen)

    def clicked(self, index: int) -> None:
        self.post_message(self.Clicked(index))

    def draw_head(self, width: int) -> DrawnLine:
        return [(self._head(width), self.component_style("hits--head"))], Style.null()

    def draw_row(self, index: int, width: int) -> DrawnLine:
        chosen = index == self.cursor_row
        parts = self._parts(self._hits[index], chosen, width)
        tint = self.component_style("hits--chosen") if chosen else Style.null()
        return [(text, self._style(name)) for text, name in parts], tint

    def _token_cells(self, width: int) -> int:
        return max(_MIN_TOKEN, min(_MAX_TOKEN, width - _FIXED - _NOTE))

    def _head(self, width: int) -> str:
        columns = f"  {'round':>{_ROUND}}{'i':>{_POSITION}}   {fit('token', self._token_cells(width))}"
        return f"{columns}{'q':>{_NUMBER}}{'p':>{_NUMBER}}  why"

    def _parts(self, hit: Hit, chosen: bool, width: int) -> Iterator[Part]:
        signs, cells = self._glyphs, self._token_cells(width)
        yield f" {signs.cursor}" if chosen else "  ", "hits--cursor"
        position = str(hit.row + 1) if hit.drafted else ""
        yield f"{hit.round:>{_ROUND}}{position:>{_POSITION}}", ""
        yield f" {signs.mark(hit.kind)} ", f"mark:{component(hit.kind)}"
        name = fit(visible(hit.bytes, ascii=signs.ascii), cells, ascii=signs.ascii)
        kept = name.rstrip(" ")
        yield kept, component(hit.kind)
        yield name[len(kept) :], ""
        q = prob(hit.q, none=signs.none)
        yield f"{q:>{_NUMBER}}{prob(hit.p):>{_NUMBER}}", ""
        note = in_ascii(hit.note) if signs.ascii else hit.note
        yield f"  {fit(note, max(0, width - _FIXED - cells), ascii=signs.ascii)}", "hits--quiet"

    def _style(self, name: str) -> Style:
        if not name:
            return Style.null()
        style = self.component_style(name.removeprefix("mark:"))
        return style + _UPRIGHT if name.startswith("mark:") else style
