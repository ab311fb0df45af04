"""What panels over the main screen have in common."""

from typing import TypeVar

from textual.screen import ModalScreen

Result = TypeVar("Result")


class Panel(ModalScreen[Result]):
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
        self.dismiss(None)
