"""Saving a picture of the screen under a name of one's own."""

from pathlib import Path

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import Input, Static

from specviz.render.screen_text import literal
from specviz.ui.dialogs.dialog import ModalDialog
from specviz.ui.shared.screenshot import Picture

SUFFIXES = (".svg", ".txt")


class ExportScreen(ModalDialog[tuple[Path, ...]]):
    """Asks where to, and gives the paths written, or None. Nothing is ever overwritten."""

    def __init__(self, picture: Picture, round: int, *, ascii: bool = False) -> None:
        super().__init__(ascii=ascii)
        self._picture = picture
        self._round = round

    def compose(self) -> ComposeResult:
        with Vertical(classes="panel") as panel:
            panel.border_title = Content("Save a picture of the screen, as SVG and as text")
            panel.border_subtitle = Content("enter: save   esc: back")
            yield Input(str(free_path(here(), f"specviz-round-{self._round}")), id="path")
            yield Static(id="trouble")

    def on_mount(self) -> None:
        self.query_one(Input).focus()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        try:
            written = save(self._picture, Path(event.value).expanduser().absolute())
        except FileExistsError as error:
            self._say(f"{Path(error.filename).name} is there already; another name, please.")
        except (OSError, ValueError, RuntimeError) as error:
            self._say(f"Cannot be written: {getattr(error, 'strerror', None) or error}")
        else:
            self.dismiss(written)

    def _say(self, trouble: str) -> None:
        self.query_one("#trouble", Static).update(Content(literal(trouble)))


def here() -> Path:
    """The current folder, or the user's own where that one has been removed."""
    try:
        return Path.cwd()
    except OSError:
        return Path.home()


def free_path(folder: Path, stem: str) -> Path:
    """``folder/stem.svg``, with a number where that, or the text that goes with it, is taken."""
    wanted, number = folder / f"{stem}.svg", 2
    while any(path.exists() for path in both(wanted)):
        wanted = folder / f"{stem}-{number}.svg"
        number += 1
    return wanted


def both(path: Path) -> tuple[Path, Path]:
    """The two files of a picture, whichever of them was named, or the stem of both."""
    base = path.with_suffix("") if path.suffix in SUFFIXES else path
    return base.with_name(base.name + SUFFIXES[0]), base.with_name(base.name + SUFFIXES[1])


def save(picture: Picture, path: Path) -> tuple[Path, Path]:
    """Write both files beside each other; neither where one is there already. Raises FileExistsError, OSError."""
    paths = both(path)
    written: list[Path] = []
    try:
        for each, data in zip(paths, (picture.svg, picture.text), strict=True):
            with each.open("x", encoding="utf-8", newline="\n") as file:
                written.append(each)
                file.write(data)
    except (OSError, ValueError):
        for each in written:
            each.unlink()
        raise
    return paths
