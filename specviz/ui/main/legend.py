"""The signs of the text and the table, and what they mean."""

from typing import ClassVar

from rich.style import Style
from textual.strip import Strip
from textual.widget import Widget

from specviz.render.cells import Part
from specviz.render.glyphs import COMPONENTS, SIGNS, component, component_css, glyphs
from specviz.ui.widgets.strips import strip_of

_GAPS = (2, 1)


class Legend(Widget):
    """One line; where it is too narrow, the last entries go."""

    ALLOW_SELECT = False
    COMPONENT_CLASSES: ClassVar[set[str]] = COMPONENTS
    DEFAULT_CSS = component_css("Legend") + "\nLegend { height: 1; padding: 0 1; color: $secondary; }\n"

    def __init__(self, *, id: str | None = None, classes: str | None = None, ascii: bool = False) -> None:
        super().__init__(id=id, classes=classes)
        self._glyphs = glyphs(ascii)

    def render_line(self, y: int) -> Strip:
        width, base = self.content_size.width, self.rich_style
        return strip_of([(text, self._style(name)) for text, name in self._parts(width)], width, base)

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

    def _style(self, name: str) -> Style:
        if not name:
            return Style.null()
        plain = Style(strike=False, underline=False, italic=False)
        return self.get_component_rich_style(name, partial=True) + plain
