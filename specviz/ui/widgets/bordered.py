"""Titles in borders: literal, and cut in the widget's own repertoire."""

from textual.content import Content

from specviz.core.safe_text import clip
from specviz.ui.widgets.painted import Painted

_CORNERS = 6
"""Cells of a border line that a title cannot have."""


class Bordered(Painted):
    """A widget with a border; mixed into panels of any kind. ``-ascii`` is the class of an ASCII border."""

    _titles: tuple[str, str] = ("", "")

    def entitle(self, title: str, subtitle: str = "") -> None:
        """Write into the upper and the lower border; an empty text writes nothing."""
        if (title, subtitle) != self._titles:
            self._titles = title, subtitle
            self._write_titles()

    def on_resize(self) -> None:
        if self.has_class("-ascii"):
            self._write_titles()

    def _write_titles(self) -> None:
        title, subtitle = self._titles
        if self.has_class("-ascii") and self.size:
            room = self.outer_size.width - _CORNERS
            title, subtitle = (clip(text, room, ascii=True) for text in (title, subtitle))
        self.border_title = Content(title) if title else None
        self.border_subtitle = Content(subtitle) if subtitle else None
