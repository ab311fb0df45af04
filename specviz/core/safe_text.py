"""Tokens and model text as safe terminal cells.

Model text can hold anything: escape sequences, half characters, invisible and right-to-left controls.
What leaves this module holds no character of a category C* (controls, formats, surrogates, private use,
unassigned), apart from the breaks a caller asks to keep and the joiner inside an emoji sequence.
Angle brackets hold what has no safe picture: two hex digits for a byte that is no UTF-8, four or more for a code point.
"""

import codecs
import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import zip_longest
from pathlib import Path
from unicodedata import category

from rich.cells import cell_len

from specviz.core.events import Emitted, End, Token

EMPTY = "∅"
EMPTY_ASCII = "<>"
_JOINER = "\u200d"
_EMOJI_STYLE = "\ufe0f"
_KEYCAP = "\u20e3"
_KEYCAP_BASES = frozenset("#*0123456789")
_DOTTED_CIRCLE = "\u25cc"
_SPELLED_OUT = 8
"""Longest run of spaces written as that many signs; longer ones are written with their count."""
_VERY_LONG = 40
"""From this many characters on, a clipped text says how many there are."""

_SIGNS = {chr(i): chr(0x2400 + i) for i in range(32)} | {"\n": "⏎", "\t": "⇥", "\x7f": "␡"}
_SIGNS_ASCII = {chr(i): "^" + chr(0x40 + i) for i in range(32)} | {"\n": r"\n", "\t": r"\t", "\r": r"\r", "\x7f": "^?"}
_NEVER_ALONE = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180d\u180f\u2028\u2029\u2800\u3164\ufe00-\ufe0f\uffa0"
    "\U0001f3fb-\U0001f3ff\U000e0100-\U000e01ef]"
)
"""What prints as nothing though its category is a letter, a symbol or a mark; and skin tones, which only modify."""
_SPACES_THAT_MATTER = re.compile(r"\A +| +\Z| {2,}")


def width(text: str) -> int:
    """Cells ``text`` takes in the terminal."""
    return cell_len(text)


@lru_cache(maxsize=8192)
def visible(data: bytes | None, *, ascii: bool = False) -> str:
    """A token's bytes as safe cells for chips and tables: one line, never empty, never a bare blank; a dash for bytes
    that are not known. Leading, trailing and repeated spaces become ``␣`` (ASCII ``_``), a line break ``⏎``, a tab
    ``⇥``, other controls their pictures; bytes that are not complete UTF-8 become hex chips such as ``⟨E6⟩``."""
    if data is None:
        return "-" if ascii else "–"
    if not data:
        return EMPTY_ASCII if ascii else EMPTY
    text = _Cleaner(ascii_only=ascii).clean(data.decode("utf-8", "surrogateescape"))

    def spaces(match: re.Match[str]) -> str:
        n, sign = len(match[0]), "_" if ascii else "␣"
        if n <= _SPELLED_OUT:
            return sign * n
        return f"<{sign}x{n}>" if ascii else f"⟨{sign}×{n}⟩"

    return _SPACES_THAT_MATTER.sub(spaces, text)


def visible_path(path: str | Path) -> str:
    """The name of a file for a sentence, ``visible`` also where it is not valid UTF-8."""
    return visible(str(path).encode("utf-8", "surrogateescape"))


@lru_cache(maxsize=8192)
def clip(text: str, cells: int, *, ascii: bool = False, count: bool = True) -> str:
    """``text`` cut to at most ``cells`` cells, never inside a wide character or a cluster. A cut text ends in ``…``
    (ASCII ``~``); a very long one, where there is room and ``count`` asks for it, in ``…`` and its number of
    characters."""
    if width(text) <= cells:
        return text
    if cells <= 0:
        return ""
    ending = "~" if ascii else "…"
    if count and len(text) >= _VERY_LONG and cells >= 2 * len(f"{len(text)}") + 2:
        ending += f"{len(text)}"
    room = cells - width(ending)
    kept: list[str] = []
    for cluster in _clusters(text):
        room -= width(cluster)
        if room < 0:
            break
        kept.append(cluster)
    return "".join(kept) + ending


class TextDecoder:
    """Token bytes to display text, token by token, over one whole stream. A character belongs to the token that
    completes it; a tail that may still become a character (or an emoji sequence) is withheld until it does or the
    stream ends. The pieces joined are the safe form of all bytes decoded at once with "replace". ``keep`` names the
    controls that pass as they are; spaces always do."""

    def __init__(self, *, ascii: bool = False, keep: str = "\n") -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._cleaner = _Cleaner(ascii_only=ascii, keep=keep, plain_spaces=True)

    def feed(self, data: bytes | None) -> str:
        """The safe characters that became complete with this token: possibly none. Unknown bytes add nothing."""
        return self._cleaner.clean(self._decoder.decode(data or b""), final=False)

    @property
    def pending(self) -> bytes:
        """The beginning of a character that is still to be completed."""
        return self._decoder.getstate()[0]

    def finish(self) -> str:
        """What was still withheld: one replacement sign for a cut character. The decoder starts afresh."""
        rest = self._cleaner.clean(self._decoder.decode(b"", final=True))
        self._decoder.reset()
        self._cleaner.reset()
        return rest


def emitted_text(emitted: Sequence[Emitted | Token], end: End | None, stop: str | Sequence[str] = ()) -> str:
    """The text a run produced: it ends before the stop string that ended it and leaves the end-of-text token out."""
    reason = end.reason if end else None
    tokens = emitted[:-1] if reason == "end_of_text" else emitted
    data = b"".join(token.bytes or b"" for token in tokens)
    if reason == "stop_string":
        stops = [s.encode("utf-8", "replace") for s in ([stop] if isinstance(stop, str) else stop) if s]
        data = data[: min((at for s in stops if (at := data.find(s)) >= 0), default=len(data))]
    return data.decode("utf-8", "replace")


def safe_terminal_text(text: str) -> str:
    """``text`` for a terminal or a pipe: line breaks and tabs stay, whatever else could drive a terminal is visible."""
    if text.isascii() and text.isprintable():
        return text
    return _Cleaner(keep="\n\t", plain_spaces=True, bare_marks=True).clean(text)


class _Cleaner:
    """Replaces unsafe characters; looks one character ahead, and back, for emoji sequences and combining marks."""

    def __init__(
        self, *, ascii_only: bool = False, keep: str = "", plain_spaces: bool = False, bare_marks: bool = False
    ) -> None:
        self._ascii_only, self._keep, self._plain_spaces, self._bare_marks = ascii_only, keep, plain_spaces, bare_marks
        self.reset()

    def reset(self) -> None:
        self._held = ""
        self._before = ""
        self._emoji = False
        self._holds_mark = self._bare_marks

    def clean(self, text: str, *, final: bool = True) -> str:
        """The safe form of ``text`` after the text cleaned so far; without ``final`` an open joiner is withheld."""
        text, self._held = self._held + text, ""
        pieces: list[str] = []
        for i, (char, after) in enumerate(zip_longest(text, text[1:], fillvalue="")):
            if not after and not final and self._needs_next(char):
                self._held = text[i:]
                break
            pieces.append(self._piece(char, after))
            self._before = char
        return "".join(pieces)

    def _needs_next(self, char: str) -> bool:
        return (char == _JOINER and self._emoji) or (char == _EMOJI_STYLE and self._before in _KEYCAP_BASES)

    def _piece(self, char: str, after: str) -> str:
        if not self._ascii_only and self._continues_emoji(char, after):
            return char
        shown = char if char in self._keep else _shown(char, self._ascii_only, self._plain_spaces)
        kept = shown == char
        if kept and _is_mark(char):
            lone = not self._holds_mark
            self._emoji, self._holds_mark = False, True
            return _DOTTED_CIRCLE + char if lone else char
        self._emoji = kept and _is_emoji(char)
        self._holds_mark = self._bare_marks or (kept and not char.isspace())
        return shown

    def _continues_emoji(self, char: str, after: str) -> bool:
        if char == _JOINER:
            return self._emoji and _is_emoji(after)
        if char == _EMOJI_STYLE:
            keycap = self._before in _KEYCAP_BASES and after == _KEYCAP
            return keycap or (self._emoji and _is_emoji(self._before))
        return "\U0001f3fb" <= char <= "\U0001f3ff" and self._emoji and self._before != _JOINER


@lru_cache(maxsize=8192)
def _shown(char: str, ascii_only: bool, plain_spaces: bool) -> str:
    """The character itself where it is safe and can be seen, else its sign or its code."""
    signs = _SIGNS_ASCII if ascii_only else _SIGNS
    if char in signs:
        return signs[char]
    if char.isascii() and char.isprintable():
        return char
    kind = category(char)
    hidden = kind[0] == "C" or _NEVER_ALONE.match(char) or (kind == "Zs" and not plain_spaces)
    if not (ascii_only or hidden):
        return char
    code = f"{ord(char) - 0xDC00:02X}" if "\udc80" <= char <= "\udcff" else f"{ord(char):04X}"
    return f"<{code}>" if ascii_only else f"⟨{code}⟩"


@lru_cache(maxsize=8192)
def _is_mark(char: str) -> bool:
    """Whether the character is drawn onto the one before it."""
    kind = category(char)[0]
    return kind == "M" or (kind != "C" and cell_len(char) == 0)


@lru_cache(maxsize=8192)
def _is_emoji(char: str) -> bool:
    """Whether the character is an emoji by itself or in emoji style."""
    if char < "\xa9" or category(char)[0] == "C":
        return False
    if cell_len(char) == 2:
        return "\u2300" <= char <= "\u2bff" or "\U0001f000" <= char <= "\U0001faff" or char in "〰〽㊗㊙"
    return cell_len(char + _EMOJI_STYLE) == 2


def _clusters(text: str) -> Iterator[str]:
    """``text`` in pieces that must not be cut: marks and joiners stay with their base, flags stay pairs."""
    piece = ""
    for char in text:
        flag = len(piece) == 1 and _is_flag_letter(piece) and _is_flag_letter(char)
        if piece and not (flag or piece[-1] == _JOINER or char == _JOINER or _is_mark(char)):
            yield piece
            piece = ""
        piece += char
    if piece:
        yield piece


def _is_flag_letter(char: str) -> bool:
    return "\U0001f1e6" <= char <= "\U0001f1ff"
