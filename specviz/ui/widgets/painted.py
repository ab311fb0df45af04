"""Component styles for widgets that paint cell by cell."""

from rich.style import Style
from textual.widget import Widget


class Painted(Widget):
    """A widget that looks its component styles up once a theme: each look-up walks the style sheet."""

    _painted_styles: dict[str, Style] | None = None

    def painted(self, name: str) -> Style:
        """The style of component class ``name``, without the widget's own background."""
        if self._painted_styles is None:
            self._painted_styles = {}
        style = self._painted_styles.get(name)
        if style is None:
            style = self._painted_styles[name] = self.get_component_rich_style(name, partial=True)
        return style

    def notify_style_update(self) -> None:
        super().notify_style_update()
        self._painted_styles = None
