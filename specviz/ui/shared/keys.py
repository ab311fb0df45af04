"""The one table of keys: bindings, footer, help and palette are all made from it."""

from collections.abc import Iterator
from dataclasses import dataclass

from textual.binding import Binding, BindingType

from specviz.core.drafters import DRAFTERS

GROUPS = ("Run", "Rounds and tokens", "Why", "Find and stop", "Settings and runs", "Screen", "Leave")


@dataclass(frozen=True, slots=True)
class Key:
    """An action: ``id`` is its name, ``keys`` are Textual's names of its keys, ``shown`` what is printed on them."""

    id: str
    keys: tuple[str, ...]
    shown: str
    label: str
    tooltip: str
    group: str

    @property
    def actions(self) -> tuple[str, ...]:
        """What each of ``keys`` does."""
        return tuple(f"prompt({key})" if self.id == "prompt" else self.id for key in self.keys)

    def bindings(self) -> Iterator[BindingType]:
        for key, action in zip(self.keys, self.actions, strict=True):
            yield Binding(
                key, action, self.label, tooltip=self.tooltip, id=f"{self.id}.{key}", priority=True, show=False
            )


KEYS: tuple[Key, ...] = (
    Key("play", ("space",), "space", "run / pause", "Run or pause; behind the end, play what was recorded", "Run"),
    Key("forward", ("n",), "n", "next round", "One round forward: recorded if there is one, else sampled", "Run"),
    Key("slower", ("left_parenthesis",), "(", "slower", "Wait longer between rounds (never part of a time)", "Run"),
    Key("faster", ("right_parenthesis",), ")", "faster", "Wait less between rounds, down to full speed", "Run"),
    Key("phase(1)", ("full_stop",), ".", "next phase", "Drafts, verification, verdicts, last token: one on", "Run"),
    Key("phase(-1)", ("comma",), ",", "previous phase", "One phase of the round back", "Run"),
    Key("back", ("p",), "p", "previous round", "One round back, with the numbers as they were", "Rounds and tokens"),
    Key("first", ("g",), "g", "first round", "Go to the first round", "Rounds and tokens"),
    Key("last", ("G",), "G", "last round", "Go to the newest round", "Rounds and tokens"),
    Key("token(-1)", ("left",), "←", "previous token", "Token before this one, across rounds", "Rounds and tokens"),
    Key("token(1)", ("right",), "→", "next token", "Token after this one, across rounds", "Rounds and tokens"),
    Key("line(-1)", ("up",), "↑", "token above", "Nearest token one line up in the text", "Rounds and tokens"),
    Key("line(1)", ("down",), "↓", "token below", "Nearest token one line down in the text", "Rounds and tokens"),
    Key("inspect", ("enter",), "enter", "inspect", "All about the chosen token; stays open while you move", "Why"),
    Key("metrics", ("m",), "m", "metrics", "All rates, tokens per round, speed, the tokens that cost most", "Why"),
    Key("lab", ("l",), "l", "formula lab", "The formulas with sliders, and why nothing is lost", "Why"),
    Key("rejection(1)", ("f",), "f", "next rejection", "Go to the next rejected token", "Find and stop"),
    Key("rejection(-1)", ("F",), "F", "previous rejection", "Go to the rejected token before", "Find and stop"),
    Key(
        "worst",
        ("w",),
        "w",
        "worst overlap",
        "The tested place with the least overlap; again: the next",
        "Find and stop",
    ),
    Key("find", ("slash",), "/", "find", "List of tokens by text or condition", "Find and stop"),
    Key("go_to", ("colon",), ":", "go to round", "Go to a round by its number", "Find and stop"),
    Key("breakpoints", ("b",), "b", "breakpoints", "Conditions at which a run pauses", "Find and stop"),
    Key("k(-1)", ("minus",), "-", "draft fewer", "K - 1 from the next round on", "Settings and runs"),
    Key("k(1)", ("plus",), "+", "draft more", "K + 1 from the next round on", "Settings and runs"),
    Key(
        "temperature(-1)",
        ("less_than_sign", "left_square_bracket", "left_curly_bracket"),
        "< [ {",
        "cooler",
        "Temperature - 0.1 from the next round on; 0 is greedy",
        "Settings and runs",
    ),
    Key(
        "temperature(1)",
        ("greater_than_sign", "right_square_bracket", "right_curly_bracket"),
        "> ] }",
        "warmer",
        "Temperature + 0.1 from the next round on",
        "Settings and runs",
    ),
    Key(
        "drafter",
        ("o",),
        "o",
        "next drafter",
        f"What drafts from the next round on: {', '.join(spec.title for spec in DRAFTERS.values())}",
        "Settings and runs",
    ),
    Key("again", ("r",), "r", "run again", "The same prompt and seed from the start", "Settings and runs"),
    Key("reseed", ("R",), "R", "new seed", "The same prompt with the next seed", "Settings and runs"),
    Key("edit", ("e",), "e", "edit prompt", "Write another prompt and run it", "Settings and runs"),
    Key(
        "prompt",
        tuple("123456789"),
        "1…9",
        "prepared run",
        "Run one of the prompts, or show one of the recorded runs, brought along",
        "Settings and runs",
    ),
    Key("view", ("v",), "v", "next view", "Change what shares the screen: text and round, plots", "Screen"),
    Key("present", ("z",), "z", "presentation", "The round in large, for a room full of people", "Screen"),
    Key("theme", ("t",), "t", "theme", "Choose the colours by looking at them; your own files too", "Screen"),
    Key("save", ("S",), "S", "save trace", "Save a copy of this run's trace; nothing is overwritten", "Screen"),
    Key("export", ("x",), "x", "picture", "Save what is on screen as SVG and as text", "Screen"),
    Key("help", ("question_mark",), "?", "keys", "All keys", "Screen"),
    Key("palette", ("ctrl+p",), "ctrl+p", "palette", "Find a command by name", "Screen"),
    Key("close", ("escape",), "esc", "close panel", "Close the topmost panel", "Screen"),
    Key("quit", ("q",), "q", "quit", "Leave; on other screens: go back", "Leave"),
    Key("leave", ("ctrl+q",), "ctrl+q", "quit anywhere", "Leave, also from a text field", "Leave"),
    Key("interrupt", ("ctrl+c",), "ctrl+c", "quit at once", "Leave with exit code 130", "Leave"),
)
BY_ID = {key.id: key for key in KEYS}
EVERYWHERE = ("palette", "leave", "interrupt")
"""Actions that work on every screen and in text fields: theirs are the app's own bindings."""


@dataclass(frozen=True, slots=True)
class Hint:
    """A place in the footer: keys that belong together, their actions, and one label."""

    actions: tuple[str, ...]
    label: str

    @property
    def shown(self) -> tuple[str, ...]:
        return tuple(BY_ID[action].shown.split()[0] for action in self.actions)


def main_bindings() -> list[BindingType]:
    return [b for key in KEYS if key.id not in EVERYWHERE for b in key.bindings()]


def app_bindings() -> list[BindingType]:
    return [b for id in ("leave", "interrupt") for b in BY_ID[id].bindings()]
