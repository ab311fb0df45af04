"""The base class of widgets that paint cell by cell."""

import re
from collections.abc import Iterable, Sequence
from typing import Any, ClassVar

from rich.segment import Segment
from rich.style import Style
from textual.content import Content
from textual.geometry import Size
from textual.strip import Strip
from textual.widget import Widget

from specviz.core.safe_text import clip
from specviz.render.cells import Line
from specviz.render.glyphs import component_css, glyphs, panel_css

_CORNERS = 6
"""Cells of a border line that a title cannot use."""


class CellWidget(Widget):
    """Paints lines of styled pieces. A subclass overrides `lines`, whose result is cached until `redraw`, a resize or a
    change of theme; or `render_line`, to draw only the lines in view. Each piece names its style: "text" is the
    widget's own, any other name the component class ``<PREFIX>--<name>``, which the DEFAULT_CSS of the subclass must
    style. ``panel`` adds the border of a panel to that CSS, ``tokens`` the styles of tokens."""

    ALLOW_SELECT = False
    PREFIX: ClassVar[str] = ""

    _titles: tuple[str, str] = ("", "")
    _named_styles: dict[str, Style] | None = None
    _cached_strips: Sequence[Strip] | None = None
    _cached_size = Size(0, 0)

    def __init_subclass__(cls, *, panel: bool = False, tokens: bool = False, **options: Any) -> None:
        css = (
            (panel_css(cls.__name__) * panel)
            + (component_css(cls.__name__) * tokens)
            + vars(cls).get("DEFAULT_CSS", "")
        )
        cls.DEFAULT_CSS, cls.COMPONENT_CLASSES = css, set(re.findall(r"\.([a-z]+--[\w-]+)", css))
        super().__init_subclass__(**options)

    def __init__(self, *, id: str | None = None, classes: str | None = None, ascii: bool = False) -> None:
        super().__init__(id=id, classes=" ".join(filter(None, (classes, "-ascii" if ascii else ""))))
        self._glyphs = glyphs(ascii)

    def lines(self, width: int, height: int) -> Sequence[Line]:
        """The content for ``width`` x ``height`` cells; all of it where the widget scrolls."""
        return ()

    def strips(self, width: int, height: int) -> Sequence[Strip]:
        """`lines` in their styles."""
        background = self.rich_style
        return [self.strip(line, width, background) for line in self.lines(width, height)]

    def redraw(self) -> None:
        """Discard the cached lines: the content has changed."""
        self._cached_strips = None
        self.refresh()

    def render_line(self, y: int) -> Strip:
        size = self.scrollable_content_region.size
        if self._cached_strips is None or self._cached_size != size:
            self._cached_strips, self._cached_size = self.strips(*size), size
        y += self.scroll_offset.y
        return self._cached_strips[y] if y < len(self._cached_strips) else Strip.blank(size.width, self.rich_style)

    def strip(self, line: Line, width: int, background: Style | None = None) -> Strip:
        """``line`` in exactly ``width`` cells, over ``background`` (default: the widget's own)."""
        base = self.rich_style if background is None else background
        return strip_of([(text, self.style_of(name)) for text, name in line], width, base)

    def style_of(self, name: str) -> Style:
        """The style that a piece of a line names."""
        return Style.null() if name == "text" else self.component_style(f"{self.PREFIX}--{name}")

    def component_style(self, name: str) -> Style:
        """The style of component class ``name`` without the widget's background, cached: a look-up walks the CSS."""
        if self._named_styles is None:
            self._named_styles = {}
        style = self._named_styles.get(name)
        if style is None:
            style = self._named_styles[name] = self.get_component_rich_style(name, partial=True)
        return style

    def notify_style_update(self) -> None:
        super().notify_style_update()
        self._named_styles = self._cached_strips = None

    # -- border titles

    def set_titles(self, title: str, subtitle: str = "") -> None:
        """Write into the upper and the lower border; an empty text writes nothing."""
        if (title, subtitle) != self._titles:
            self._titles = title, subtitle
            self._write_titles()

    def on_resize(self) -> None:
        if self.has_class("-ascii") and any(self._titles):
            self._write_titles()

    def _write_titles(self) -> None:
        title, subtitle = self._titles
        if self.has_class("-ascii") and self.size:
            room = self.outer_size.width - _CORNERS
            title, subtitle = (clip(text, room, ascii=True) for text in (title, subtitle))
        self.border_title = Content(title) if title else None
        self.border_subtitle = Content(subtitle) if subtitle else None


def strip_of(parts: Iterable[tuple[str, Style]], width: int, base: Style) -> Strip:
    """Styled pieces over ``base`` as a strip of exactly ``width`` cells."""
    return Strip([Segment(text, base + style) for text, style in parts if text]).adjust_cell_length(width, base)
