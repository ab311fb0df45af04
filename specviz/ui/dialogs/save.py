"""Saving a copy of the trace, or the screen, under a name of the user's choice. Nothing is ever overwritten."""

from abc import abstractmethod
from pathlib import Path
from typing import ClassVar

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import Input, Static

from specviz.render.screen_text import literal
from specviz.ui.dialogs.dialog import ModalDialog, Result
from specviz.ui.shared.screenshot import Picture

SUFFIXES = (".svg", ".txt")


class SaveDialog(ModalDialog[Result]):
    """Asks for a path and writes to it; returns what was written, or None."""

    HEADING: ClassVar[str]

    @abstractmethod
    def suggestion(self) -> Path:
        """A path that is free."""

    @abstractmethod
    def write(self, path: Path) -> Result:
        """Write to ``path``. Raises FileExistsError, OSError, ValueError."""

    def compose(self) -> ComposeResult:
        with Vertical(classes="panel") as panel:
            panel.border_title = Content(self.HEADING)
            panel.border_subtitle = Content("enter: save   esc: back")
            yield Input(str(self.suggestion()), id="path")
            yield Static(id="trouble")

    def on_mount(self) -> None:
        self.query_one(Input).focus()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        if not self.waits:
            return
        try:
            written = self.write(Path(event.value).expanduser().absolute())
        except FileExistsError as error:
            self._say(f"{Path(error.filename).name} already exists: choose another name.")
        except (OSError, ValueError, RuntimeError) as error:
            self._say(f"Cannot write the file: {getattr(error, 'strerror', None) or error}")
        else:
            self.answer(written)

    def _say(self, message: str) -> None:
        self.query_one("#trouble", Static).update(Content(literal(message)))


class SaveScreen(SaveDialog[Path]):
    """Saves a copy of a trace."""

    HEADING = "Save a copy of the trace"

    def __init__(self, trace: Path, *, ascii: bool = False) -> None:
        super().__init__(ascii=ascii)
        self._trace = trace

    def suggestion(self) -> Path:
        return free_path(current_folder(), Path(self._trace.name).stem, (Path(self._trace.name).suffix,))

    def write(self, path: Path) -> Path:
        copy_lines(self._trace, path)
        return path


class ScreenshotScreen(SaveDialog[tuple[Path, Path]]):
    """Saves a picture of the screen in round ``round``."""

    HEADING = "Save the screen as SVG and as text"

    def __init__(self, picture: Picture, round: int, *, ascii: bool = False) -> None:
        super().__init__(ascii=ascii)
        self._picture = picture
        self._round = round

    def suggestion(self) -> Path:
        return free_path(current_folder(), f"specviz-round-{self._round}", SUFFIXES)

    def write(self, path: Path) -> tuple[Path, Path]:
        return save(self._picture, path)


def current_folder() -> Path:
    """The current folder, or the user's home if that one has been removed."""
    try:
        return Path.cwd()
    except OSError:
        return Path.home()


def free_path(folder: Path, stem: str, suffixes: tuple[str, ...]) -> Path:
    """``stem`` with the first suffix, numbered if a file with any of ``suffixes`` exists."""
    name, number = stem, 2
    while any((folder / f"{name}{suffix}").exists() for suffix in suffixes):
        name = f"{stem}-{number}"
        number += 1
    return folder / f"{name}{suffixes[0]}"


def copy_lines(source: Path, target: Path) -> None:
    """Copy the complete lines of a file that may still be written to. Raises FileExistsError, OSError."""
    data = source.read_bytes()
    with target.open("xb") as file:
        file.write(data[: data.rfind(b"\n") + 1])


def both(path: Path) -> tuple[Path, Path]:
    """The two files of a picture, from the path of either, or from their common stem."""
    base = path.with_suffix("") if path.suffix in SUFFIXES else path
    return base.with_name(base.name + SUFFIXES[0]), base.with_name(base.name + SUFFIXES[1])


def save(picture: Picture, path: Path) -> tuple[Path, Path]:
    """Write both files, or neither if one exists. Raises FileExistsError, OSError."""
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
