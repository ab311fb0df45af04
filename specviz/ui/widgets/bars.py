"""Small pieces of the main screen that are lines or boxes of text."""

from collections.abc import Sequence
from typing import ClassVar

from textual import events
from textual.content import Content
from textual.style import Style
from textual.widget import Widget
from textual.widgets import Static

from specviz.core.events import Progress, Stage
from specviz.core.units import bytes_in_words
from specviz.render.download_rate import DownloadRate
from specviz.render.screen_text import in_ascii, literal, literal_lines
from specviz.ui.run.status_line import STAGES, StatusField, spaced
from specviz.ui.shared.keys import Hint


class StatusLine(Widget):
    """One line of fields, fitted to its width at every paint."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {
        "tone--plain",
        "tone--strong",
        "tone--quiet",
        "tone--accent",
        "tone--warning",
        "tone--error",
    }
    DEFAULT_CSS = """
    StatusLine {
        height: 1; padding: 0 1;
        .tone--plain { color: $foreground; }
        .tone--strong { color: $foreground; text-style: bold; }
        .tone--quiet { color: $secondary; }
        .tone--accent { color: $accent; text-style: bold; }
        .tone--warning { color: $warning; text-style: bold; }
        .tone--error { color: $error; text-style: bold reverse; }
    }
    """

    def __init__(self, *, id: str, ascii: bool = False) -> None:
        super().__init__(id=id)
        self._ascii = ascii
        self._fields: Sequence[StatusField] = ()

    def show(self, fields: Sequence[StatusField]) -> None:
        if self._ascii:
            fields = [
                StatusField(tuple(in_ascii(form) for form in field.forms), field.rank, field.tone, field.right)
                for field in fields
            ]
        if fields != self._fields:
            self._fields = fields
            self.refresh()

    def render(self) -> Content:
        runs = spaced(self._fields, self.content_size.width)
        return Content.assemble(*((text, self.get_visual_style(f"tone--{tone}", partial=True)) for text, tone in runs))


class KeyBar(Widget):
    """The footer: the keys that matter now, as many as fit; a key that cannot work now is dim."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {"key--key", "key--label", "key--off"}
    DEFAULT_CSS = """
    KeyBar {
        height: 1; padding: 0 1;
        .key--key { color: $accent; text-style: bold; }
        .key--label { color: $foreground; }
        .key--off { color: $foreground; text-style: dim; }
    }
    """

    def __init__(self, *, id: str, ascii: bool = False) -> None:
        super().__init__(id=id)
        self._ascii = ascii
        self._hints: Sequence[tuple[Hint, tuple[bool, ...]]] = ()

    def show(self, hints: Sequence[tuple[Hint, tuple[bool, ...]]]) -> None:
        """Each hint with the state (can it work?) of its keys."""
        if hints != self._hints:
            self._hints = hints
            self.refresh()

    def render(self) -> Content:
        room = self.content_size.width
        pieces: list[Content] = []
        for hint, states in self._hints:
            piece = self._piece(hint, states)
            room -= piece.cell_length + (2 if pieces else 0)
            if room < 0:
                break
            pieces.append(piece)
        return Content("  ").join(pieces)

    def _piece(self, hint: Hint, states: tuple[bool, ...]) -> Content:
        key, label, off = (self.get_visual_style(f"key--{name}", partial=True) for name in ("key", "label", "off"))
        parts: list[tuple[str, Style]] = []
        for shown, action, is_enabled in zip(hint.shown, hint.actions, states, strict=True):
            if parts:
                parts.append(("/", label))
            click = Style.from_meta({"action": action})
            text = in_ascii(shown) if self._ascii else shown
            parts.append((text, (key if is_enabled else off) + click))
        said = Style.from_meta({"action": hint.actions[0]})
        return Content.assemble(*parts, (f" {hint.label}", (label if any(states) else off) + said))

    async def on_click(self, event: events.Click) -> None:
        if action := event.style.meta.get("action"):
            await self.run_action(f"screen.{action}")


class Banner(Static):
    """Warnings about the whole run, such as a forced pair."""

    DEFAULT_CSS = """
    Banner {
        display: none; height: auto; max-height: 3; padding: 0 1;
        color: $warning; text-style: bold; background: $panel;
        &.-on { display: block; }
    }
    """

    _messages: Sequence[str] = ()

    def show(self, messages: Sequence[str]) -> None:
        if messages != self._messages:
            self._messages = messages
            self.set_class(bool(messages), "-on")
            self.update(Content("  ".join(f"! {literal(message)}" for message in messages)))


class LoadingPanel(Static):
    """The stages of loading, one a line, the present one with its progress."""

    DEFAULT_CSS = """
    LoadingPanel { padding: 1 3; width: 1fr; height: 1fr; content-align: center middle; }
    """
    BAR = 24

    def __init__(self, *, ascii: bool = False) -> None:
        super().__init__()
        self._ascii = ascii
        self._download = DownloadRate()
        self._rare: set[Stage] = {"corpus", "compiling", "recording"}

    def show(self, title: str, progress: Progress | None, *, is_live: bool = True) -> None:
        """``is_live`` False: a recording, which has no stages of loading."""
        if progress:
            self._download.see(progress)
            self._rare.discard(progress.stage)
        stages = tuple(stage for stage in STAGES if stage not in self._rare) if is_live else ()
        at = stages.index(progress.stage) if progress and stages else -1
        lines = [Content.assemble((literal(title), "bold")), Content("")]
        for index, stage in enumerate(stages):
            if index < at:
                lines.append(Content.assemble(("✓ ", "$success"), STAGES[stage]))
            elif index == at and progress:
                lines.append(
                    Content.assemble(("› ", "$accent"), (STAGES[stage], "bold"), "  ", _amount(progress, self.BAR))
                )
                if words := self._download.words():
                    lines.append(Content.assemble("  ", (literal(words), "$secondary")))
            else:
                lines.append(Content.assemble(("· ", "$secondary"), (STAGES[stage], "$secondary")))
        longest = max(line.cell_length for line in lines)
        body = Content("\n").join(line.pad_right(longest - line.cell_length) for line in lines)
        self.update(Content(in_ascii(body.plain)) if self._ascii else body, layout=False)


def _amount(progress: Progress, cells: int) -> Content:
    """A bar and the count, or the count alone where no total is known."""
    if not progress.total:
        return Content(f"{progress.done} {progress.unit}".strip() if progress.done else "…")
    filled = round(cells * min(1.0, progress.done / progress.total))
    count = f"  {progress.done} of {progress.total} {progress.unit}".rstrip()
    if progress.unit == "bytes":
        count = f"  {bytes_in_words(progress.done)} of {bytes_in_words(progress.total)}"
    return Content.assemble(("━" * filled, "$accent"), ("─" * (cells - filled), "$border"), literal(count))


class FailurePanel(Static):
    """Why the run stopped, and the last output of the libraries. Finished rounds stay available."""

    DEFAULT_CSS = """
    FailurePanel {
        display: none; height: auto; max-height: 50%; padding: 0 2; margin: 0 1;
        border: round $error; border-title-color: $error;
        &.-ascii { border: ascii $error; }
        &.-on { display: block; }
    }
    """

    def __init__(self, *, ascii: bool = False) -> None:
        super().__init__()
        self.set_class(ascii, "-ascii")

    def show(self, message: str, log: Sequence[str], *, rounds: int, closing: str = "esc") -> None:
        self.border_title = Content("Stopped")
        kept = f"Rounds 1 to {rounds} are still available. " if rounds else ""
        parts = [Content.assemble((literal_lines(message), "bold")), Content(f"{kept}{closing} closes this, q quits.")]
        parts += [Content.assemble((literal(line), "$secondary")) for line in log]
        self.update(Content("\n").join(parts))
        self.add_class("-on")

    def close(self) -> None:
        self.remove_class("-on")

    @property
    def is_open(self) -> bool:
        return self.has_class("-on")


class CornerLabel(Static):
    """A short label at the end of a line."""

    DEFAULT_CSS = """
    CornerLabel { width: auto; max-width: 40; height: 1; padding: 0 1; color: $secondary; }
    """

    _text = ""

    def show(self, text: str) -> None:
        if text != self._text:
            self._text = text
            self.update(Content(text))


class TooSmallNotice(Static):
    """Replaces the screen where the terminal is too small."""

    DEFAULT_CSS = """
    TooSmallNotice { display: none; width: 1fr; height: 1fr; content-align: center middle; text-align: center; }
    """
