"""Saving a copy of the trace under a name of one's own."""

from pathlib import Path

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import Input, Static

from specviz.render.screen_text import literal
from specviz.ui.dialogs.dialog import ModalDialog


class SaveScreen(ModalDialog[Path]):
    """Asks where to, and gives the path written, or None. Nothing is ever overwritten."""

    def __init__(self, trace: Path, *, ascii: bool = False) -> None:
        super().__init__(ascii=ascii)
        self._trace = trace

    def compose(self) -> ComposeResult:
        with Vertical(classes="panel") as panel:
            panel.border_title = Content("Save a copy of the trace")
            panel.border_subtitle = Content("enter: save   esc: back")
            yield Input(str(free_name(Path.cwd(), self._trace.name)), id="path")
            yield Static(id="trouble")

    def on_mount(self) -> None:
        self.query_one(Input).focus()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        if not self.waits:
            return
        try:
            target = Path(event.value).expanduser().absolute()
            copy_lines(self._trace, target)
        except FileExistsError:
            self._say("There is such a file already; another name, please.")
        except (OSError, ValueError) as error:
            self._say(f"Cannot be written: {getattr(error, 'strerror', None) or error}")
        else:
            self.answer(target)

    def _say(self, trouble: str) -> None:
        self.query_one("#trouble", Static).update(Content(literal(trouble)))


def free_name(folder: Path, name: str) -> Path:
    """``folder/name``, with a number where that is taken."""
    wanted = folder / name
    number = 2
    while wanted.exists():
        wanted = folder / f"{Path(name).stem}-{number}{Path(name).suffix}"
        number += 1
    return wanted


def copy_lines(source: Path, target: Path) -> None:
    """Copy the complete lines of a file that may still be written to. Raises FileExistsError, OSError."""
    data = source.read_bytes()
    with target.open("xb") as file:
        file.write(data[: data.rfind(b"\n") + 1])
