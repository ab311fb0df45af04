"""Numbers as the screens print them: ``.412``, fixed digits, never rounded to 0 or 1."""

from collections.abc import Callable
from typing import Any

from specviz.core.options import MAX_K
from specviz.stats.numbers_table import Form, Number
from specviz.stats.rates import Rates

NONE = "–"


def prob(value: float | None, digits: int = 3, none: str = NONE) -> str:
    """A probability: ``.412``; ``4e-4`` and ``>.999`` next to the ends, ``.000`` and ``1.00`` only on them. What is
    below the last digit never looks like it: ``<.001``, not 1e-3 beside .001."""
    if value is None:
        return none
    if value <= 0:
        return "." + "0" * digits
    if value >= 1:
        return "1." + "0" * (digits - 1)
    if value < 10**-digits:
        text = power_of_ten(value, 0)
        return text if digits > 2 and float(text) < 10**-digits else f"<.{'0' * (digits - 1)}1"
    text = f"{value:.{digits}f}"
    return text[1:] if text[0] == "0" else f">.{'9' * digits}"


def power_of_ten(value: float, digits: int) -> str:
    """``4e-4``, ``4.2e-12``: a small number in few cells."""
    mantissa, exponent = f"{value:.{digits}e}".split("e")
    return f"{mantissa}e{int(exponent)}"


def significant_prob(value: float | None) -> str:
    """A probability with two significant figures or more, for calculations: ``.412``, ``.00042``, ``4.2e-7``."""
    if value is None or value <= 0 or value >= 1:
        return compact_prob(value)
    if value < 1e-4:
        return power_of_ten(value, 1)
    text = f"{value:.3f}" if value >= 0.01 else f"{value:.2g}"
    return text[1:] if text.startswith("0.") else prob(value)


def ratio(p: float | None, q: float | None, none: str = NONE) -> str:
    """p/q in at most four cells: ``1.29``, ``12.9``, ``>99``, ``<.01``."""
    if p is None or q is None or q <= 0:
        return none
    value = p / q
    if value < 1:
        return prob(value, 2)
    if value < 9.995:
        return f"{value:.2f}"
    return f"{value:.1f}" if value < 99.95 else ">99"


def compact_prob(value: float | None, digits: int = 2) -> str:
    """A probability within a sentence: ``0`` and ``1`` without decimals."""
    if value is None:
        return NONE
    return "0" if value <= 0 else "1" if value >= 1 else prob(value, digits)


def distinguishing_digits(a: float, b: float, least: int = 2, most: int = 6) -> tuple[str, str]:
    """Two probabilities with the fewest digits that show which is larger."""
    for digits in range(least, most):
        texts = compact_prob(a, digits), compact_prob(b, digits)
        if texts[0] != texts[1] or a == b:
            return texts
    return compact_prob(a, most), compact_prob(b, most)


def signed(value: float, digits: int = 3, minus: str = "−") -> str:
    """A difference of two probabilities: ``+.635``, ``−.021``, ``−3e-4``."""
    return f"{minus if value < 0 else '+'}{prob(abs(value), digits)}" if value else prob(0.0, digits)


def fixed(value: float | None, digits: int, none: str = NONE) -> str:
    """A plain number with ``digits`` decimals."""
    return none if value is None else f"{value:.{digits}f}"


def plus_minus(value: float, digits: int = 2, minus: str = "−") -> str:
    """A plain number with its sign: ``+0.14``, ``−1.57``."""
    return f"{minus if value < 0 else '+'}{abs(value):.{digits}f}"


def speedup_text(value: float | None, none: str = NONE) -> str:
    """A speedup: ``1.65x``. What is not 1 is not rounded to it: ``<1.00x``, ``>1.00x``."""
    if value is None:
        return none
    text = f"{value:.2f}x"
    return text if text != "1.00x" or value == 1 else f"{'<' if value < 1 else '>'}{text}"


def milliseconds(value: float | None) -> str:
    """A time in two or three figures: ``0.95 ms``, ``7.1 ms``, ``132 ms``."""
    if value is None:
        return f"{NONE} ms"
    digits = 2 if value < 0.995 else 1 if value < 99.95 else 0
    if 0 < value < 0.005:
        return "<0.01 ms"
    if value < 0.995 and round(value * 100) % 10 == 0:
        digits = 1
    return f"{value:.{digits}f} ms"


def pluralised(count: int, noun: str) -> str:
    """``1 token``, ``3 tokens``."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def two_decimal_ms(value: float) -> str:
    """A time for a column: ``0.95 ms``, ``132.00 ms``."""
    return "<0.01 ms" if 0 < value < 0.005 else f"{value:.2f} ms"


_EXACT: dict[Form, Callable[[Any], str]] = {
    "count": str,
    "k": str,
    "probability": "{:.3f}".format,
    "interval": lambda ends: f"{ends[0]:.3f} … {ends[1]:.3f}",
    "signed": "{:+.2f}".format,
    "mean": "{:.3f}".format,
    "error": "{:.3f}".format,
    "ms": "{:.3f}".format,
    "per second": "{:.1f}".format,
    "ratio": "{:.2f}".format,
    "speedup": "{:.2f}".format,
    "speedups": lambda ends: f"{ends[0]:.2f} … {ends[1]:.2f}",
}
_COMPACT: dict[Form, Callable[[Any], str]] = {
    "count": str,
    "k": lambda k: f"≥ {k}" if k >= MAX_K else str(k),
    "probability": prob,
    "interval": lambda ends: f"[{prob(ends[0])} {prob(ends[1])}]",
    "signed": plus_minus,
    "mean": "{:.2f}".format,
    "error": "± {:.2f}".format,
    "ms": two_decimal_ms,
    "per second": "{:.1f}".format,
    "ratio": "{:.2f}".format,
    "speedup": speedup_text,
    "speedups": lambda ends: f"[{ends[0]:.2f} {ends[1]:.2f}]",
}


def exact(number: Number, rates: Rates) -> str:
    """A metric for a report: fixed digits, its unit in its title."""
    value = number.value(rates)
    return NONE if value is None else _EXACT[number.form](value)


def compact(number: Number, rates: Rates) -> str:
    """A metric for a screen: ``.412``, ``7.10 ms``, ``1.65x``."""
    value = number.value(rates)
    return NONE if value is None else _COMPACT[number.form](value)


def compact_spread(number: Number, rates: Rates) -> str:
    """Its interval or error, empty where it has none."""
    spread = number.spread
    return "" if spread is None or spread.value(rates) is None else compact(spread, rates)
