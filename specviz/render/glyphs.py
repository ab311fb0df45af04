"""One table of signs: glyph first, then text attribute, then colour, so that any of the three suffices."""

from dataclasses import dataclass
from functools import cache
from typing import Any, Literal

TokenKind = Literal["accepted", "rejected", "resampled", "bonus", "untested", "ignored", "plain", "prompt"]
"""A verdict of a drafted token or the origin of an emitted one."""


@dataclass(frozen=True, slots=True)
class Sign:
    """How one kind of token is drawn. ``attribute`` is a Textual text-style; the colour is ``$token-<kind>``."""

    kind: TokenKind
    unicode: str
    ascii: str
    attribute: str


SIGNS: tuple[Sign, ...] = (
    Sign("accepted", "✓", "v", "none"),
    Sign("rejected", "✗", "x", "strike"),
    Sign("resampled", "↳", ">", "underline"),
    Sign("bonus", "+", "+", "bold"),
    Sign("untested", "·", ".", "dim"),
    Sign("ignored", "–", "-", "dim"),
    Sign("plain", "=", "=", "italic"),
    Sign("prompt", "", "", "dim"),
)


@dataclass(frozen=True, slots=True)
class Glyphs:
    """Every sign a widget draws, in one of two repertoires. All are one cell wide except ``alpha`` in ASCII."""

    ascii: bool
    marks: dict[str, str]
    cursor: str
    space: str
    ellipsis: str
    none: str
    dot: str
    times: str
    minus: str
    at_least: str
    alpha: str
    full: str
    rest: str
    test: str
    shade: str
    point: str
    line: str
    dash: str
    rule: str
    up: str
    down: str
    eighths: str
    levels: str

    def mark(self, kind: str) -> str:
        """The sign of a verdict or origin; empty for the prompt."""
        return self.marks[kind]


_GLYPHS = {
    "cursor": (">", ">"),
    "space": ("␣", "_"),
    "ellipsis": ("…", "~"),
    "none": ("–", "-"),
    "dot": ("·", "|"),
    "times": ("×", "x"),
    "minus": ("−", "-"),
    "at_least": ("≥", ">="),
    "alpha": ("α", "alpha"),
    "full": ("█", "#"),
    "rest": ("░", "."),
    "test": ("│", "|"),
    "shade": ("░", ":"),
    "point": ("⠶", "o"),
    "line": ("─", "*"),
    "dash": ("┄", "-"),
    "rule": ("┊", "|"),
    "up": ("↑", "^"),
    "down": ("↓", "v"),
    "eighths": (" ▏▎▍▌▋▊▉█", " " * 8 + "#"),
    "levels": (" ▁▂▃▄▅▆▇█", " 12345678"),
}
"""The Unicode and the ASCII form of each sign."""


@cache
def glyphs(ascii: bool) -> Glyphs:
    signs: dict[str, Any] = {name: forms[ascii] for name, forms in _GLYPHS.items()}
    return Glyphs(ascii, {sign.kind: sign.ascii if ascii else sign.unicode for sign in SIGNS}, **signs)


UNICODE, ASCII = glyphs(False), glyphs(True)


def component(kind: str) -> str:
    """The component class that carries the style of a kind of token."""
    return f"token--{kind}"


def component_css(widget: str) -> str:
    """CSS that styles the component classes of ``widget`` from the theme's ``$token-*`` variables."""
    return "".join(
        f"{widget} > .{component(sign.kind)} {{ color: $token-{sign.kind}; text-style: {sign.attribute}; }}\n"
        for sign in SIGNS
    )


def panel_css(widget: str) -> str:
    """CSS of a bordered panel: the border is ASCII where the widget is."""
    return f"""
    {widget} {{
        border: round $border; border-title-color: $foreground; border-title-style: bold;
        border-subtitle-color: $secondary; padding: 0 1;
        &.-ascii {{ border: ascii $border; }}
    }}
    """
