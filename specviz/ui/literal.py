"""Sentences of other people's making (exceptions, paths, model names) as text a screen can show."""

from specviz.tokens import safe_terminal_text

SYMBOLS = str.maketrans(
    {"α": "alpha", "±": "+-", "–": "-", "→": "->", "←": "<-", "↑": "^", "↓": "v", "·": "|", "…": "-"}
    | {"✓": "v", "━": "=", "─": "-", "›": ">", "⏎": "\\n", "⇥": "\\t"}
)


def literal(text: str) -> str:
    """One line in which nothing can drive the terminal."""
    return safe_terminal_text(text).replace("\n", "⏎").replace("\t", "⇥")


def literal_lines(text: str) -> str:
    """The same with its line breaks kept."""
    return safe_terminal_text(text.expandtabs(4))


def in_ascii(text: str) -> str:
    """The screen's own symbols in ASCII; other characters stay."""
    return text.translate(SYMBOLS)
