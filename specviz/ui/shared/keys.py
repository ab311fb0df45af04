"""The row of a key table, and a hint in the footer. The main screen's table is main/keys.py."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Generic, TypeVar

from textual.binding import Binding, BindingType

Screen_contra = TypeVar("Screen_contra", contravariant=True)


def always(_screen: object) -> bool:
    return True


@dataclass(frozen=True, slots=True)
class Key(Generic[Screen_contra]):
    """A row of a key table: everything that bindings, footer, help and palette know about a key. ``action`` is the
    Textual action: a method ``action_*`` of the screen, with its argument; ``{key}`` means the key itself. ``keys`` are
    Textual's names of its keys, ``shown`` is what is printed on them. ``is_enabled`` says whether the action can do
    anything now; if not, the key is dim and does nothing."""

    action: str
    keys: tuple[str, ...]
    shown: str
    label: str
    tooltip: str
    is_enabled: Callable[[Screen_contra], bool] = always

    @property
    def actions(self) -> tuple[str, ...]:
        """The action of each of ``keys``."""
        return tuple(self.action.format(key=key) for key in self.keys)

    def bindings(self) -> Iterator[BindingType]:
        for key, action in zip(self.keys, self.actions, strict=True):
            yield Binding(
                key, action, self.label, tooltip=self.tooltip, id=f"{self.action}.{key}", priority=True, show=False
            )


GLOBAL_KEYS: tuple[Key[object], ...] = (
    Key("leave", ("ctrl+q",), "ctrl+q", "quit anywhere", "Quit, even from a text field"),
    Key("interrupt", ("ctrl+c",), "ctrl+c", "quit now", "Quit with exit code 130"),
)
"""Keys of the apps themselves, which work on every screen and in text fields."""


def app_bindings() -> list[BindingType]:
    return [binding for key in GLOBAL_KEYS for binding in key.bindings()]


@dataclass(frozen=True, slots=True)
class Hint:
    """An entry in the footer: the actions of related keys, what is printed on the keys, and one label."""

    actions: tuple[str, ...]
    label: str
    shown: tuple[str, ...]
