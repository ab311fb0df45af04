"""Fields of a form: a visible line to type in, and a check box."""

from typing import ClassVar

from rich.highlighter import Highlighter
from rich.text import Text
from textual import events
from textual.content import Content
from textual.reactive import reactive
from textual.widget import Widget
from textual.widgets import Input

from specviz.render.screen_text import one_for_one


class _Safely(Highlighter):
    """Shows typed text without control characters."""

    def __init__(self, ascii: bool) -> None:
        self._ascii = ascii

    def __call__(self, text: str | Text) -> Text:
        written = str(text)
        shown = one_for_one(written).replace("\t", "⇥")
        if self._ascii:
            shown = "".join(sign if sign == char else "?" for sign, char in zip(shown, written, strict=True))
        return Text(shown, no_wrap=True, overflow="ignore", end="")

    def highlight(self, text: Text) -> None:
        """No highlighting."""


class Field(Input, inherit_css=False):
    """A line to type in, on its own background."""

    COMPONENT_CLASSES: ClassVar[set[str]] = set(Input.COMPONENT_CLASSES)
    DEFAULT_CSS = """
    Field {
        width: 1fr; height: 1; padding: 0; border: none; scrollbar-size-horizontal: 0; pointer: text;
        background: $panel; color: $foreground;
        &:focus { background-tint: $foreground 12%; }
        & > .input--cursor { text-style: reverse; }
        & > .input--selection { background: $input-selection-background; color: $input-selection-foreground; }
        & > .input--placeholder, & > .input--suggestion { color: $secondary; }
    }
    """

    def __init__(self, value: str = "", *, placeholder: str = "", ascii: bool = False) -> None:
        super().__init__(value, placeholder=placeholder, highlighter=_Safely(ascii))


class Toggle(Widget, can_focus=True):
    """A box to tick with space or a click."""

    DEFAULT_CSS = """
    Toggle { width: auto; height: 1; background: $panel; }
    Toggle:focus { text-style: reverse; }
    """
    BINDINGS = [("space", "toggle('value')", "toggle")]  # noqa: RUF012

    value: reactive[bool] = reactive(False)

    def __init__(self, value: bool = False) -> None:
        super().__init__()
        self.set_reactive(Toggle.value, value)

    def render(self) -> Content:
        return Content("[x]" if self.value else "[ ]")

    def on_click(self, event: events.Click) -> None:
        event.stop()
        self.value = not self.value
