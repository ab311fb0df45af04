"""Output on the normal screen: streams that accept every character, and tokens by origin."""

import contextlib
import os
import sys
from typing import TextIO

import click

from specviz.core.events import Emitted, Origin

ORIGIN_MARKS: dict[Origin, tuple[str, str]] = {
    "accepted": ("", ""),
    "resampled": ("↳", ">"),
    "bonus": ("+", "+"),
    "plain": ("=", "="),
}
"""(glyph, ASCII) that replaces a token's leading space, as in the app."""
ORIGIN_STYLES: dict[Origin, dict[str, object]] = {
    "accepted": {"fg": "cyan"},
    "resampled": {"fg": "magenta", "underline": True},
    "bonus": {"fg": "yellow", "bold": True},
    "plain": {"italic": True},
}


def forgiving_streams() -> None:
    """Print ``?`` for characters that the terminal's encoding lacks, instead of raising."""
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(AttributeError, ValueError):
            stream.reconfigure(errors="replace")  # type: ignore[union-attr]


def speaks_unicode(stream: TextIO) -> bool:
    """Whether the glyphs of the screen can be written to ``stream``."""
    try:
        "↳✓✗·–αÎ│█".replace("Î", "").encode(stream.encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return False
    return True


def unicode_screen() -> bool:
    """Whether an app on stdout can draw more than ASCII."""
    return (sys.stdout.encoding or "").lower().replace("-", "") in ("utf8", "utf16", "utf32")


def plain_words(text: str, stream: TextIO) -> str:
    """``text`` in characters that ``stream`` can encode: α, ±, × and dashes become ASCII where necessary."""
    if speaks_unicode(stream):
        return text
    for sign, word in (
        ("α", "alpha"),
        ("±", "+/-"),
        ("×", "x"),
        ("–", "-"),
        ("≥", ">="),
        ("→", "->"),
        ("·", "-"),
        ("…", "..."),
    ):
        text = text.replace(sign, word)
    return text


def say(text: str) -> None:
    """A sentence on stderr."""
    click.echo(plain_words(text, sys.stderr), err=True)


def show(text: str = "", *, nl: bool = True) -> None:
    """Text on stdout."""
    click.echo(plain_words(text, sys.stdout), nl=nl)


def colours(stream: TextIO) -> bool:
    return stream.isatty() and "NO_COLOR" not in os.environ and os.environ.get("TERM") != "dumb"


def marked(token: Emitted, text: str, *, unicode: bool, colour: bool) -> str:
    """A token's text with the mark of its origin in place of the leading space."""
    mark = ORIGIN_MARKS[token.origin][0 if unicode else 1]
    if mark:
        text = mark + text.removeprefix(" ")
    return click.style(text, **ORIGIN_STYLES[token.origin]) if colour else text  # type: ignore[arg-type]
