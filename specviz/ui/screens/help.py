"""All keys, made from the table."""

from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.content import Content
from textual.widgets import Static

from specviz.tokens import width
from specviz.ui.keys import GROUPS, KEYS, Key
from specviz.ui.screens.panel import Panel

SHOWN_CELLS = max(width(key.shown) for key in KEYS)
LABEL_CELLS = max(width(key.label) for key in KEYS)


class HelpScreen(Panel[None]):
    """Scrolls with the arrows where it does not fit; q and ? put it away too."""

    BINDINGS = [("q,question_mark", "close", "close")]  # noqa: RUF012

    def compose(self) -> ComposeResult:
        with VerticalScroll(classes="panel") as panel:
            panel.border_title = Content("Keys")
            panel.border_subtitle = Content("esc: back")
            yield Static(Content("\n\n").join(_group(group) for group in GROUPS))


def _group(name: str) -> Content:
    lines = [Content.assemble((name, "bold $accent"))]
    lines += [_line(key) for key in KEYS if key.group == name]
    return Content("\n").join(lines)


def _line(key: Key) -> Content:
    return Content.assemble(
        (key.shown + " " * (SHOWN_CELLS + 2 - width(key.shown)), "bold"),
        (key.label + " " * (LABEL_CELLS + 2 - width(key.label)), "$foreground"),
        (key.tooltip, "$secondary"),
    )
