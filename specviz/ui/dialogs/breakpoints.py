"""Editing breakpoints: one line per condition."""

from collections.abc import Iterator, Sequence

from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.widgets import Static

from specviz.breakpoints.monitor import KINDS, SYNTAX, Breakpoint, Kind, make_breakpoint
from specviz.render.screen_text import in_ascii, literal
from specviz.ui.dialogs.dialog import ModalDialog
from specviz.ui.widgets.input_field import Field, Toggle

WORDS: dict[Kind, str] = {
    "N": "tokens of the round",
    "reject": "a rejection at this position or before",
    "overlap": "of a tested position, 0 to 1",
    "p/q": "of a tested token",
    "token": "id of a token, drafted or emitted",
    "text": "regular expression, also across tokens",
    "streak": "rounds in a row, all drafts accepted",
    "end": "end of text drafted or emitted (space)",
    "|z|": "agreement of the segment",
}
SEVERAL: frozenset[Kind] = frozenset({"token", "text"})
"""Kinds that may be set more than once: a blank line follows each that is set."""


class KindLine(Horizontal):
    """One condition: its name, its value (blank: off), what it means."""

    def __init__(self, kind: Kind, value: str, *, ascii: bool) -> None:
        super().__init__()
        self.kind = kind
        sign = SYNTAX[kind].operator.replace("<=", "≤").replace(">=", "≥")
        name = f"{kind} {sign}"
        self._label = Content(in_ascii(name) if ascii else name)
        self.field = Toggle(bool(value)) if kind == "end" else Field(value, placeholder="off", ascii=ascii)

    def compose(self) -> ComposeResult:
        yield Static(self._label, classes="name")
        with Horizontal(classes="value"):
            yield self.field
        yield Static(Content(WORDS[self.kind]), classes="words")

    @property
    def breakpoint(self) -> Breakpoint | None:
        """The breakpoint set here, if any. Raises ValueError with a sentence that names the condition."""
        if isinstance(self.field, Toggle):
            return Breakpoint(self.kind) if self.field.value else None
        value = self.field.value
        blank = not (value if self.kind == "text" else value.strip())
        return None if blank else make_breakpoint(self.kind, value)


class BreakpointsScreen(ModalDialog[tuple[Breakpoint, ...]]):
    """Returns all breakpoints, or None if nothing is to change."""

    DEFAULT_CSS = """
    BreakpointsScreen {
        & > .panel { overflow-y: auto; max-width: 84; }
        KindLine { height: 1; width: 1fr; }
        .name { width: 10; text-style: bold; }
        .value { width: 1fr; height: 1; margin: 0 1 0 0; }
        .words { width: 56%; max-width: 40; height: 1; color: $secondary; text-overflow: ellipsis; text-wrap: nowrap; }
        #trouble { margin: 1 0 0 0; color: $error; text-style: bold; }
        &.-ascii .words { text-overflow: clip; }
    }
    """
    BINDINGS = [  # noqa: RUF012
        ("enter", "apply", "apply"),
        ("up", "app.focus_previous", "field above"),
        ("down", "app.focus_next", "field below"),
    ]

    def __init__(self, breakpoints: Sequence[Breakpoint], *, ascii: bool = False) -> None:
        super().__init__(ascii=ascii)
        self._breakpoints = breakpoints
        self._lines: list[KindLine] = []

    def compose(self) -> ComposeResult:
        self._lines = [KindLine(kind, value, ascii=self.ascii) for kind, value in _lines(self._breakpoints)]
        with Vertical(classes="panel") as panel:
            panel.border_title = Content("Pause when one of these holds")
            panel.border_subtitle = Content("enter: apply   up/down: field   esc: back")
            yield from self._lines
            yield Static(id="trouble")

    def on_mount(self) -> None:
        self._lines[0].field.focus()

    def on_input_submitted(self) -> None:
        self.action_apply()

    def action_apply(self) -> None:
        wanted: list[Breakpoint] = []
        for line in self._lines:
            try:
                wanted += filter(None, [line.breakpoint])
            except ValueError as error:
                self._say(str(error))
                line.field.focus()
                return
        self.answer(tuple(wanted))

    def _say(self, trouble: str) -> None:
        shown = literal(trouble)
        self.query_one("#trouble", Static).update(Content(in_ascii(shown) if self.ascii else shown))


def _lines(breakpoints: Sequence[Breakpoint]) -> Iterator[tuple[Kind, str]]:
    """(kind, value) of every line: those set, and a blank one for a kind that is not set or may be set again."""
    for kind in KINDS:
        values = [_value(each) for each in breakpoints if each.kind == kind]
        yield from ((kind, value) for value in values)
        if not values or kind in SEVERAL:
            yield kind, ""


def _value(set_: Breakpoint) -> str:
    return "on" if set_.value is None else str(set_).removeprefix(f"{set_.kind}{SYNTAX[set_.kind].operator}")
