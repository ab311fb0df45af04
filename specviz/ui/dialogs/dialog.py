"""The base classes of screens that return an answer."""

from typing import TypeVar

from textual.screen import ModalScreen, Screen

Result = TypeVar("Result")


class Dialog(Screen[Result]):
    """A screen that is closed by one answer; answers after the first are ignored."""

    @property
    def waits(self) -> bool:
        """Whether the dialog is open and on top."""
        return self.app.screen_stack[-1:] == [self]

    def answer(self, result: Result | None) -> None:
        if self.waits:
            self.dismiss(result)


class ModalDialog(Dialog[Result], ModalScreen[Result]):
    """A box over the main screen; escape closes it without an answer."""

    DEFAULT_CSS = """
    ModalDialog {
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
