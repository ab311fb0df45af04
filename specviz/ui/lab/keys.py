"""The keys of the lab and of its page, one table each: bindings and footer are made from them."""

from collections.abc import Iterator
from dataclasses import dataclass

from textual.binding import Binding, BindingType

from specviz.ui.shared.keys import Hint


@dataclass(frozen=True, slots=True)
class LabKey(Hint):
    """A footer hint with Textual's names of its keys, in the order of ``actions``; ``aliases`` are further
    (key, action) pairs that the footer does not show."""

    keys: tuple[str, ...] = ()
    aliases: tuple[tuple[str, str], ...] = ()

    def bindings(self) -> Iterator[BindingType]:
        for key, action in (*zip(self.keys, self.actions, strict=True), *self.aliases):
            yield Binding(key, action, self.label, show=False, priority=True)


LAB_KEYS: tuple[LabKey, ...] = (
    LabKey(
        ("select(-1)", "select(1)"),
        "slider",
        ("↑", "↓"),
        ("up", "down"),
        (("tab", "select(1)"), ("shift+tab", "select(-1)")),
    ),
    LabKey(
        ("move(-1)", "move(1)"),
        "change",
        ("←", "→"),
        ("left", "right"),
        (("pagedown", "move(-10)"), ("pageup", "move(10)"), ("home", "move(-1000)"), ("end", "move(1000)")),
    ),
    LabKey(("k(-1)", "k(1)"), "K", ("-", "+"), ("minus", "plus")),
    LabKey(("why",), "why lossless", ("w",), ("w",)),
    LabKey(("back",), "back", ("q",), ("q",), (("escape", "close"), ("l", "close"))),
    LabKey(("reset",), "start values", ("r",), ("r",)),
)
PAGE_KEYS: tuple[LabKey, ...] = (
    LabKey(
        ("step(1)", "step(-1)"),
        "step",
        (".", ","),
        ("full_stop", "comma"),
        (("right", "step(1)"), ("left", "step(-1)")),
    ),
    LabKey(("place(1)", "place(-1)"), "position", ("n", "p"), ("n", "p")),
    LabKey(("back",), "back", ("q",), ("q",), (("escape", "back"), ("w", "back"))),
)


def bindings(keys: tuple[LabKey, ...]) -> list[BindingType]:
    return [binding for key in keys for binding in key.bindings()]
