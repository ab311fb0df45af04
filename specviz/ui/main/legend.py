"""The signs of the text and the table, and what they mean."""

from rich.style import Style

from specviz.render.cells import Line, Part
from specviz.render.glyphs import SIGNS, component
from specviz.ui.widgets.cell_widget import CellWidget

_GAPS = (2, 1)


class Legend(CellWidget, tokens=True):
    """One line; where it is too narrow, the last entries go."""

    DEFAULT_CSS = "Legend { height: 1; padding: 0 1; color: $secondary; }"

    def lines(self, width: int, height: int) -> list[Line]:
        return [self._parts(width)]

    def _parts(self, width: int) -> list[Part]:
        entries = [(self._glyphs.mark(sign.kind), sign.kind) for sign in SIGNS if sign.kind != "prompt"]
        closing = "(dim: prompt)"
        taken = sum(len(mark) + 1 + len(kind) for mark, kind in entries)
        gap = next((gap for gap in _GAPS if taken + gap * (len(entries) - 1) <= width), 1)
        parts: list[Part] = []
        used = 0
        for mark, kind in entries:
            size = len(mark) + 1 + len(kind) + (gap if parts else 0)
            if used + size > width:
                return parts
            parts += [(" " * gap if parts else "", ""), (mark, component(kind)), (f" {kind}", "")]
            used += size
        if used + 3 + len(closing) <= width:
            parts.append((f"   {closing}", component("prompt")))
        return parts

    def style_of(self, name: str) -> Style:
        if not name:
            return Style.null()
        plain = Style(strike=False, underline=False, italic=False)
        return self.component_style(name) + plain
