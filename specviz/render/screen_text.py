"""Sentences of other people's making (exceptions, paths, model names) as text a screen can show."""

from specviz.core.safe_text import safe_terminal_text, width

UNPRINTABLE = "\N{REPLACEMENT CHARACTER}"
SYMBOLS = str.maketrans(
    {"α": "alpha", "±": "+-", "−": "-", "–": "-", "→": "->", "←": "<-", "↑": "^", "↓": "v", "·": "|", "…": "-"}
    | {"✓": "v", "━": "=", "─": "-", "›": ">", "⏎": "\\n", "⇥": "\\t"}
    | {"≤": "<=", "≥": ">=", "␣": "_", "⟨": "<", "⟩": ">", "␡": "^?", UNPRINTABLE: "?"}
    | {chr(0x2400 + i): "^" + chr(0x40 + i) for i in range(32)}
)


def literal(text: str) -> str:
    """One line in which nothing can drive the terminal."""
    return safe_terminal_text(text).replace("\n", "⏎").replace("\t", "⇥")


def literal_lines(text: str) -> str:
    """The same with its line breaks kept."""
    return safe_terminal_text(text.expandtabs(4))


def one_for_one(text: str) -> str:
    """A line being written, one character for one, so that the cursor stays where the text is; tabs stay."""
    return "".join(map(_one_for_one, text))


def _one_for_one(char: str) -> str:
    if char == "\t":
        return char
    shown = safe_terminal_text(char)
    return shown if len(shown) == 1 and width(shown) else UNPRINTABLE


def in_ascii(text: str) -> str:
    """The screen's own symbols in ASCII; other characters stay."""
    return text.translate(SYMBOLS)
