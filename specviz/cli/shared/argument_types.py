"""Types of command-line arguments: numbers in a range, lists and ranges of them (``1,2,4``, ``1..8``,
``0.5..0.9..0.05``, ``inf``), devices, conditions."""

import math
import re
from abc import ABC, abstractmethod
from decimal import Decimal
from typing import Any

import click

from specviz.breakpoints.monitor import Breakpoint, parse_breakpoint


class Argument(click.ParamType[Any], ABC):
    """A type of argument. ``read`` converts the text, or raises ValueError with the message."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        try:
            return self.read(value) if isinstance(value, str) else value
        except ValueError as error:
            self.fail(str(error), param, ctx)

    @abstractmethod
    def read(self, text: str) -> Any: ...


class Whole(Argument):
    """A whole number in a range."""

    name = "number"

    def __init__(self, minimum: int, maximum: int | None = None) -> None:
        self.minimum = minimum
        self.maximum = maximum

    def read(self, text: str) -> int:
        if re.fullmatch(r"[+-]?[0-9]{1,30}", text):
            number = int(text)
            if number >= self.minimum and (self.maximum is None or number <= self.maximum):
                return number
        span = f"of at least {self.minimum}" if self.maximum is None else f"from {self.minimum} to {self.maximum}"
        raise ValueError(f"{text!r} is not a whole number {span}.")


class DraftLength(Whole):
    """K, or ``auto`` (None): chosen round by round."""

    def read(self, text: str) -> Any:
        return None if text == "auto" else super().read(text)


DECIMAL = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]{1,4})?")


class Real(Argument):
    """A finite number in a range; ``above`` excludes the lower end."""

    name = "number"

    def __init__(self, minimum: float, maximum: float = math.inf, *, above: bool = False) -> None:
        self.minimum = minimum
        self.maximum = maximum
        self.above = above

    def read(self, text: str) -> float:
        number = float(text) if DECIMAL.fullmatch(text) else math.nan
        high_enough = number > self.minimum if self.above else number >= self.minimum
        if math.isfinite(number) and high_enough and number <= self.maximum:
            return number
        span = f"above {self.minimum:g}" if self.above else f"of at least {self.minimum:g}"
        if self.maximum < math.inf:
            span = f"{span} and at most {self.maximum:g}"
        raise ValueError(f"{text!r} is not a number {span}.")


class Pace(Real):
    """Seconds between rounds, or ``auto`` (None)."""

    name = "seconds"

    def read(self, text: str) -> Any:
        return None if text == "auto" else super().read(text)


class Device(Argument):
    name = "device"

    def read(self, text: str) -> str:
        if re.fullmatch(r"auto|cpu|mps|cuda(:\d{1,3})?", text):
            return text
        raise ValueError(f"{text!r} is not one of auto, cpu, cuda, cuda:N, mps.")


class NonEmpty(Argument):
    name = "text"

    def read(self, text: str) -> str:
        if not text:
            raise ValueError("an empty string cannot end a run.")
        if not is_utf8(text):
            raise ValueError("not UTF-8 text.")
        return text


class Condition(Argument):
    """A breakpoint."""

    name = "condition"

    def read(self, text: str) -> Breakpoint:
        return parse_breakpoint(text)


def is_utf8(text: str) -> bool:
    """Whether an argument was valid UTF-8: invalid bytes arrive as lone surrogates."""
    return not any("\ud800" <= char <= "\udfff" for char in text)


MAX_LENGTH = 1000
"""Most numbers in a list."""


class NumberList(Argument):
    """Numbers in a range, as a tuple in the order given. A range ``A..B`` includes both ends and goes in steps of
    ``step``, or of the third number of ``A..B..STEP``. ``whole``: only whole numbers; ``infinite``: ``inf`` is one of
    them; ``above`` excludes the lower end."""

    name = "list"

    def __init__(
        self,
        minimum: float,
        maximum: float = math.inf,
        *,
        step: str = "1",
        whole: bool = False,
        infinite: bool = False,
        above: bool = False,
    ) -> None:
        self.minimum = minimum
        self.maximum = maximum
        self.step = Decimal(step)
        self.whole = whole
        self.infinite = infinite
        self.above = above

    def read(self, text: str) -> tuple[float, ...]:
        numbers: list[float] = []
        for item in text.split(","):
            numbers += self._item(item.strip())
            if len(numbers) > MAX_LENGTH:
                raise ValueError(f"{_short(text)} has more than {MAX_LENGTH} numbers.")
        return tuple(numbers)

    def _item(self, item: str) -> list[float]:
        if ".." not in item:
            return [self._number(item)]
        ends = item.split("..")
        if len(ends) not in (2, 3):
            raise ValueError(f"{_short(item)} is not a valid range: write FIRST..LAST or FIRST..LAST..STEP.")
        if any(math.isinf(self._number(end)) for end in ends[:2]):
            raise ValueError(f"{_short(item)} is infinite: a range needs two finite ends.")
        if len(ends) == 3 and not (DECIMAL.fullmatch(ends[2]) and float(ends[2]) > 0):
            raise ValueError(f"{_short(ends[2])} is not a valid step: a step is a number above 0.")
        first, last, step = Decimal(ends[0]), Decimal(ends[1]), Decimal(ends[2]) if len(ends) == 3 else self.step
        if first > last:
            raise ValueError(f"{_short(item)} is descending: write the smaller number first.")
        count = (last - first) / step + 1
        if count > MAX_LENGTH:
            raise ValueError(f"{_short(item)} has more than {MAX_LENGTH} numbers.")
        return [self._number(str(first + i * step)) for i in range(int(count))]

    def _number(self, text: str) -> float:
        number = math.inf if self.infinite and text.lower() == "inf" else math.nan
        if DECIMAL.fullmatch(text) and math.isfinite(float(text)):
            number = float(text)
        high_enough = number > self.minimum if self.above else number >= self.minimum
        if not (high_enough and number <= self.maximum and (not self.whole or number == int(number))):
            raise ValueError(f"{_short(text)} is not {self._wanted()}.")
        return int(number) if self.whole else number

    def _wanted(self) -> str:
        kind = "a whole number" if self.whole else "a number"
        start = f"above {self.minimum:g}" if self.above else f"from {self.minimum:g}"
        if self.maximum < math.inf:
            return f"{kind} {start} to {self.maximum:g}"
        return f"{kind} {start}{' or inf' if self.infinite else ' up'}"


def _short(text: str) -> str:
    quoted = repr(text)
    return quoted if len(quoted) <= 60 else quoted[:57] + "...'"
