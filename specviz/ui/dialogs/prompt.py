"""Editing the prompt."""

from rich.text import Text
from textual import events
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.message import Message
from textual.widgets import TextArea

from specviz.render.screen_text import one_for_one
from specviz.ui.dialogs.dialog import ModalDialog


class PromptArea(TextArea):
    """A text field in which enter runs. The text is kept as typed and displayed without control characters."""

    BINDINGS = [("ctrl+n", "new_line", "new line")]  # noqa: RUF012

    class Submitted(Message):
        pass

    def get_line(self, line_index: int) -> Text:
        return Text(one_for_one(self.document.get_line(line_index)), end="", no_wrap=True)

    async def _on_key(self, event: events.Key) -> None:
        if event.key == "enter":
            event.stop()
            event.prevent_default()
            self.post_message(self.Submitted())
        else:
            await super()._on_key(event)

    def action_new_line(self) -> None:
        self.replace("\n", *self.selection)


class PromptScreen(ModalDialog[str]):
    """Returns the prompt to run, or None."""

    BINDINGS = [("ctrl+s", "run", "run")]  # noqa: RUF012

    def __init__(self, prompt: str, *, ascii: bool = False) -> None:
        super().__init__(ascii=ascii)
        self._area = PromptArea(prompt, soft_wrap=True, id="prompt")

    def compose(self) -> ComposeResult:
        with Vertical(classes="panel") as panel:
            panel.border_title = Content("Prompt")
            panel.border_subtitle = Content("enter: run   ctrl+n: new line   esc: back")
            yield self._area

    def on_mount(self) -> None:
        self._area.focus()
        self._area.move_cursor(self._area.document.end)

    def on_prompt_area_submitted(self) -> None:
        self.action_run()

    def action_run(self) -> None:
        self.answer(self._area.text)
