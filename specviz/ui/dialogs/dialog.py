"""What screens that give an answer have in common, and panels over the main screen."""

from typing import TypeVar

from textual.screen import ModalScreen, Screen

Result = TypeVar("Result")


class Dialog(Screen[Result]):
    """A screen that is left with an answer, once: what was pressed behind that finds nothing to answer any more."""

    @property
    def waits(self) -> bool:
        """Whether it is the one that is asking: not answered yet, and nothing over it."""
        return self.app.screen_stack[-1:] == [self]

    def answer(self, result: Result | None) -> None:
        if self.waits:
            self.dismiss(result)


class ModalDialog(Dialog[Result], ModalScreen[Result]):
    """A box over the main screen; escape puts it away without effect."""

    DEFAULT_CSS = """
    Panel {
        align: center middle; background: $background 70%;
        & > .panel {
            background: $surface; border: round $accent; border-title-color: $accent; border-title-style: bold;
            border-subtitle-color: $secondary; padding: 1 2; width: 94%; max-width: 100; height: auto; max-height: 94%;
        }
        &.-ascii > .panel { border: ascii $accent; }
    }
    """
    BINDINGS = [("escape", "close", "close")]  # noqa: RUF012

    def __init__(self, *, ascii: bool = False) -> None:
        super().__init__()
        self.ascii = ascii
        self.set_class(ascii, "-ascii")

    def action_close(self) -> None:
        self.answer(None)
