"""Going to a round by its number."""

import re

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import Static

from specviz.ui.dialogs.dialog import ModalDialog
from specviz.ui.widgets.input_field import Field

_NUMBER = re.compile(r"[0-9]{1,9}")


class GoToScreen(ModalDialog[int]):
    """Gives a round from 1 to ``total``, or None."""

    DEFAULT_CSS = "GoToScreen > .panel { max-width: 44; }"

    def __init__(self, total: int, *, ascii: bool = False) -> None:
        super().__init__(ascii=ascii)
        self._total = total

    def compose(self) -> ComposeResult:
        with Vertical(classes="panel") as panel:
            panel.border_title = Content("Go to round")
            panel.border_subtitle = Content("enter: go   esc: back")
            yield Field(placeholder=f"1 to {self._total}", ascii=self.ascii)
            yield Static(id="trouble")

    def on_mount(self) -> None:
        self.query_one(Field).focus()

    def on_input_submitted(self, event: Field.Submitted) -> None:
        event.stop()
        number = event.value.strip()
        if _NUMBER.fullmatch(number) and 1 <= int(number) <= self._total:
            self.answer(int(number))
        else:
            self.query_one("#trouble", Static).update(Content(f"A round is a number from 1 to {self._total}."))
