"""The table of keys. Bindings, footer, help, palette and disabled keys all come from it.

A new key is a row here and its method ``action_*`` in `actions.py`.
"""

from textual.binding import BindingType

from specviz.ui.main.actions import MainActions
from specviz.ui.run.playback import Playback
from specviz.ui.shared.keys import GLOBAL_KEYS, Hint, Key


def _has_rounds(screen: MainActions) -> bool:
    return screen.timeline.total > 0


def _can_restart(screen: MainActions) -> bool:
    return screen.playback.can_begin


PALETTE: Key[object] = Key("palette", ("ctrl+p",), "ctrl+p", "palette", "Find a command by name")
# fmt: off
KEYS: dict[str, tuple[Key[MainActions], ...]] = {
    "Run": (
        Key("play", ("space",), "space", "run / pause",
            "Run or pause; when viewing an earlier round, replay", lambda s: s.playback.can_toggle),
        Key("forward", ("n",), "n", "next round",
            "One round forward: the next recorded one, or a new sample", lambda s: s.playback.can_step),
        Key("pace(1)", ("left_parenthesis",), "(", "slower",
            "Wait longer between rounds; measured times exclude it", lambda s: s.playback.can_change_pace(1)),
        Key("pace(-1)", ("right_parenthesis",), ")", "faster",
            "Wait less between rounds, down to full speed", lambda s: s.playback.can_change_pace(-1)),
        Key("phase(1)", ("full_stop",), ".", "next phase",
            "Draft, verification, verdicts, last token: one phase forward", lambda s: s.playback.can_step_phase(1)),
        Key("phase(-1)", ("comma",), ",", "previous phase",
            "One phase of the round back", lambda s: s.playback.can_step_phase(-1)),
    ),
    "Rounds and tokens": (
        Key("back", ("p",), "p", "previous round",
            "One round back, with the numbers as they were", lambda s: s.timeline.shown > 0),
        Key("first", ("g",), "g", "first round",
            "Go to the first round", lambda s: _has_rounds(s) and s.timeline.shown != 1),
        Key("last", ("G",), "G", "last round",
            "Go to the newest round", lambda s: not s.timeline.at_end),
        Key("token(-1)", ("left",), "←", "previous token",
            "Previous token, across rounds", lambda s: s.timeline.neighbour(-1) is not None),
        Key("token(1)", ("right",), "→", "next token",
            "Next token, across rounds", lambda s: s.timeline.neighbour(1) is not None),
        Key("line(-1)", ("up",), "↑", "token above",
            "Nearest token one line up in the text", lambda s: s.timeline.shown > 0),
        Key("line(1)", ("down",), "↓", "token below",
            "Nearest token one line down in the text", lambda s: s.timeline.shown > 0),
    ),
    "Why": (
        Key("inspect", ("enter",), "enter", "inspect",
            "Everything about the selected token; stays open as you move", lambda s: s.timeline.header is not None),
        Key("metrics", ("m",), "m", "metrics",
            "All rates, tokens per round, speed, the costliest tokens", _has_rounds),
        Key("lab", ("l",), "l", "formula lab",
            "The formulas with sliders, and why no quality is lost"),
    ),
    "Find and stop": (
        Key("rejection(1)", ("f",), "f", "next rejection",
            "Go to the next rejected token", _has_rounds),
        Key("rejection(-1)", ("F",), "F", "previous rejection",
            "Go to the previous rejected token", _has_rounds),
        Key("worst", ("w",), "w", "worst overlap",
            "The tested position with the least overlap; again: the next",
            lambda s: _has_rounds(s) and s.playback.capabilities.has_probabilities),
        Key("find", ("slash",), "/", "find",
            "List tokens by text or condition", _has_rounds),
        Key("go_to", ("colon",), ":", "go to round",
            "Go to a round by number", _has_rounds),
        Key("breakpoints", ("b",), "b", "breakpoints",
            "Conditions that pause a run"),
    ),
    "Settings and runs": (
        Key("k(-1)", ("minus",), "-", "draft fewer",
            "K - 1 from the next round on", lambda s: s.playback.can_change_k(-1)),
        Key("k(1)", ("plus",), "+", "draft more",
            "K + 1 from the next round on", lambda s: s.playback.can_change_k(1)),
        Key("auto_k", ("a",), "a", "K auto",
            "Choose K round by round by measured cost, or keep it", lambda s: s.playback.can_toggle_auto_k),
        Key("temperature(-1)", ("less_than_sign", "left_square_bracket", "left_curly_bracket"), "< [ {", "cooler",
            "Temperature - 0.1 from the next round on; 0 is greedy", lambda s: s.playback.can_change_temperature(-1)),
        Key("temperature(1)", ("greater_than_sign", "right_square_bracket", "right_curly_bracket"), "> ] }", "warmer",
            "Temperature + 0.1 from the next round on", lambda s: s.playback.can_change_temperature(1)),
        Key("drafter", ("o",), "o", "next drafter",
            "Switch the drafter from the next round on: model, n-grams, layers",
            lambda s: s.playback.can_change_drafter),
        Key("again", ("r",), "r", "run again",
            "Restart with the same prompt and seed", _can_restart),
        Key("reseed", ("R",), "R", "new seed",
            "Restart with the same prompt and the next seed", _can_restart),
        Key("edit", ("e",), "e", "edit prompt",
            "Write another prompt and run it", _can_restart),
        Key("prompt({key})", tuple("123456789"), "1…9", "prepared run",
            "Run a prepared prompt, or show another recorded run", lambda s: s.can_choose(1)),
    ),
    "Screen": (
        Key("view", ("v",), "v", "next view",
            "Switch the layout: text and round, plots, or both"),
        Key("present", ("z",), "z", "presentation",
            "The round in large type, for an audience"),
        Key("theme", ("t",), "t", "theme",
            "Preview and choose a theme"),
        Key("save", ("S",), "S", "save trace",
            "Save a copy of this run's trace; never overwrites", lambda s: s.shell.trace_path is not None),
        Key("export", ("x",), "x", "picture",
            "Save the screen as SVG and as text"),
        Key("help", ("question_mark",), "?", "keys",
            "All keys"),
        PALETTE,
        Key("close", ("escape",), "esc", "close panel",
            "Close the topmost panel", lambda s: s.can_close),
    ),
    "Quit": (
        Key("quit", ("q",), "q", "quit",
            "Quit; on other screens: go back"),
        *GLOBAL_KEYS,
    ),
}
# fmt: on
SCREEN_KEYS = tuple(key for rows in KEYS.values() for key in rows if key not in (PALETTE, *GLOBAL_KEYS))
"""The keys of the main screen itself; the others are the app's."""
BY_ACTION = {action: key for key in SCREEN_KEYS for action in key.actions}


def main_bindings() -> list[BindingType]:
    return [binding for key in SCREEN_KEYS for binding in key.bindings()]


def _hint(label: str, *actions: str) -> Hint:
    return Hint(actions, label, tuple(BY_ACTION[action].shown.split()[0] for action in actions))


def hints(playback: Playback) -> tuple[Hint, ...]:
    """What the footer offers now: how to proceed, how to move, then what changes the run. At most eight."""
    timeline = playback.timeline
    play = _hint("pause" if playback.mode != "paused" else "run" if timeline.at_end else "play", "play")
    rounds, tokens = _hint("round", "forward", "back"), _hint("token", "token(-1)", "token(1)")
    k, temperature = _hint("K", "k(-1)", "k(1)"), _hint("T", "temperature(-1)", "temperature(1)")
    why, metrics = _hint("why", "inspect"), _hint("metrics", "metrics")
    always = (_hint("keys", "help"), _hint("quit", "quit"))
    if not timeline.ready:
        return (play, k, temperature, *always)
    if playback.mode == "running":
        return (play, rounds, k, temperature, _hint("pace", "pace(1)", "pace(-1)"), metrics, *always)
    if playback.can_begin and timeline.over and timeline.at_end and timeline.reveal is None:
        return (rounds, tokens, why, metrics, _hint("again", "again"), _hint("seed", "reseed"), *always)
    return (play, rounds, tokens, why, _hint("rejection", "rejection(1)", "rejection(-1)"), metrics, *always)
