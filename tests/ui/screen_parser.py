"""Numbers as text, written a second time: how screens round, and how to read what they printed back."""

import re
from collections.abc import Iterable, Sequence
from decimal import ROUND_HALF_EVEN, Decimal

NUMBER = re.compile(r"(?<![\w.^])(?:≥ |[<>])?[+−-]?(?:\d+(?:\.\d+)?|\.\d+)(?:e-?\d+)?x?(?!\w)|(?<!\S)–(?!\S)")
"""A number, or the dash of one that is undefined."""
WORDS = (
    "E[N] = (1 − α^(K+1)) / (1 − α)",
    "max(1, min(c, 1 / (1 − α)))",
    "max(0, p − q)",
    "min(1, ",
    "P(N = i)",
    "(from 16 rounds on)",
    "95 %",
    "0 ± 1",
    "|z| > 4",
    "1 + accepted tokens",
    "the paper's c is 1/c",
    "at temperature 1, no top-k or top-p",
)
"""What stands on screen whatever the numbers are, and has digits."""


def rounded(value: float, digits: int) -> str:
    """Half to even, of the value as it is stored."""
    return str(Decimal(float(value)).quantize(Decimal(1).scaleb(-digits), ROUND_HALF_EVEN))


def scientific(value: float, digits: int) -> str:
    """``4e-4``: one digit before the point, so many behind it."""
    exponent = Decimal(float(value)).adjusted()
    mantissa = rounded_decimal(Decimal(float(value)).scaleb(-exponent), digits)
    if mantissa >= 10:
        exponent, mantissa = exponent + 1, rounded_decimal(mantissa / 10, digits)
    return f"{mantissa}e{exponent}"


def rounded_decimal(value: Decimal, digits: int) -> Decimal:
    return value.quantize(Decimal(1).scaleb(-digits), ROUND_HALF_EVEN)


def chance(value: float | None, digits: int = 3) -> str:
    """A probability without its leading 0. Only 0 and 1 are printed as 0 and 1."""
    if value is None:
        return "–"
    if value in (0, 1):
        return f"{value:.0f}." + "0" * (digits - 1) if value else "." + "0" * digits
    if value < 10**-digits:
        short = digits > 2 and value < 9.5 * 10.0 ** (-digits - 1)
        return scientific(value, 0) if short else "<." + "0" * (digits - 1) + "1"
    text = rounded(value, digits)
    return ">." + "9" * digits if text[0] == "1" else text.removeprefix("0")


def said(value: float, digits: int = 2) -> str:
    """The same within a sentence, where 0 and 1 have no decimals."""
    return f"{value:.0f}" if value in (0, 1) else chance(value, digits)


def apart(a: float, b: float, least: int, most: int) -> tuple[str, str]:
    """Both with the fewest digits from ``least`` on in which they differ."""
    texts = [(said(a, digits), said(b, digits)) for digits in range(least, most + 1)]
    return texts[0] if a == b else next((pair for pair in texts if pair[0] != pair[1]), texts[-1])


def figures(value: float) -> str:
    """A probability to compute with: three decimals, below a hundredth two figures."""
    if value in (0, 1) or value >= 0.9995:
        return said(value, 3)
    if value < 1e-4:
        return scientific(value, 1)
    if value >= 0.01:
        return rounded(value, 3).removeprefix("0")
    places = 1 - Decimal(value).adjusted()
    return rounded(value, places).rstrip("0").removeprefix("0")


def rare(value: float) -> str:
    """The chance of a draw: two decimals, or two figures where it is rarer than one in ten."""
    return figures(value) if 0 < value < 0.1 else said(value)


def plain(value: float | None, digits: int = 2) -> str:
    return "–" if value is None else rounded(value, digits)


def signed(value: float, digits: int = 2) -> str:
    return ("−" if value < 0 else "+") + rounded(abs(value), digits)


def quotient(p: float, q: float) -> str:
    """p/q of a table, in four cells."""
    if not q:
        return "–"
    value = p / q
    if value < 1:
        return chance(value, 2)
    return ">99" if value >= 99.95 else rounded(value, 1 if value >= 9.995 else 2)


def times(value: float | None) -> str:
    """A speedup; one that is not 1 is not printed as 1."""
    if value is None:
        return "–"
    text = rounded(value, 2) + "x"
    return text if text != "1.00x" or value == 1 else ("<" if value < 1 else ">") + text


def milliseconds(value: float | None) -> str:
    if value is None:
        return "–"
    return "<0.01" if 0 < value < 0.005 else rounded(value, 2)


def interval(bounds: Sequence[float] | None) -> list[str]:
    """A bound that is 0 or 1 comes out of a root a little off."""
    return [chance(round(bound) if abs(bound - round(bound)) < 1e-7 else bound) for bound in bounds or ()]


def numbers(text: str, *names: str) -> list[str]:
    """The numbers of a line in order; ``names`` are texts of a model that may hold digits of their own."""
    for words in (*names, *WORDS):
        text = text.replace(words, " ")
    return NUMBER.findall(text)


def blocks(lines: Sequence[str], right: str) -> tuple[list[str], list[str]]:
    """Two blocks that stand side by side: what is left and what is right of where the heading ``right`` begins."""
    head = next(line for line in lines if right in line)
    at = head.index(right)
    return [line[:at].rstrip() for line in lines], [line[at:].rstrip() for line in lines]


def eighths(bar: str) -> int:
    """The length of a bar in eighths of a cell."""
    return sum(" ▏▎▍▌▋▊▉█".index(cell) for cell in bar)


Expected = tuple[str, list[str]]
"""How a line begins, and its numbers."""


def unwrapped(lines: Iterable[str]) -> list[str]:
    """Lines with what was wrapped put back behind the line it belongs to."""
    whole: list[str] = []
    for line in lines:
        if line.startswith(" " * 12) and whole:
            whole[-1] += f" {line.strip()}"
        else:
            whole.append(line)
    return whole


def mismatches(lines: Iterable[str], expected: Sequence[Expected]) -> list[str]:
    """Where the lines that hold a number do not begin so or hold other numbers, line by line."""
    found = [(line.strip(), got) for line in lines if (got := numbers(line))]
    wrong = [
        f"{line!r}: {got} is not {label!r} {want}"
        for (line, got), (label, want) in zip(found, expected, strict=False)
        if not line.startswith(label) or got != want
    ]
    if len(found) != len(expected):
        longer = found[len(expected) :] or expected[len(found) :]
        wrong.append(f"{len(found)} lines with numbers, not {len(expected)}: {longer[:3]}")
    return wrong
