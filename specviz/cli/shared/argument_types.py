"""Types of command-line arguments: numbers in a range, lists and ranges of them (``1,2,4``, ``1..8``,
``0.5..0.9..0.05``, ``inf``), devices, conditions."""

import math
import re
from decimal import Decimal
from typing import Any

import click

from specviz.breakpoints.monitor import Breakpoint, parse_breakpoint


class Whole(click.ParamType[Any]):
    """A whole number in a range."""

    name = "number"

    def __init__(self, minimum: int, maximum: int | None = None) -> None:
        self.minimum = minimum
        self.maximum = maximum

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        if re.fullmatch(r"[+-]?[0-9]{1,30}", str(value)):
            number = int(value)
            if number >= self.minimum and (self.maximum is None or number <= self.maximum):
                return number
        span = f"of at least {self.minimum}" if self.maximum is None else f"from {self.minimum} to {self.maximum}"
        self.fail(f"{value!r} is not a whole number {span}.", param, ctx)


DECIMAL = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]{1,4})?")


class Real(click.ParamType[Any]):
    """A finite number in a range; ``above`` excludes the lower end."""

    name = "number"

    def __init__(self, minimum: float, maximum: float = math.inf, *, above: bool = False) -> None:
        self.minimum = minimum
        self.maximum = maximum
        self.above = above

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        number = float(value) if DECIMAL.fullmatch(str(value)) else math.nan
        high_enough = number > self.minimum if self.above else number >= self.minimum
        if math.isfinite(number) and high_enough and number <= self.maximum:
            return number
        span = f"above {self.minimum:g}" if self.above else f"of at least {self.minimum:g}"
        if self.maximum < math.inf:
            span = f"{span} and at most {self.maximum:g}"
        self.fail(f"{value!r} is not a number {span}.", param, ctx)


class Pace(Real):
    """Seconds between rounds, or ``auto`` (None)."""

    name = "seconds"

    def __init__(self) -> None:
        super().__init__(0, 3600)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        return None if value == "auto" else super().convert(value, param, ctx)


class Device(click.ParamType[Any]):
    name = "device"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        if re.fullmatch(r"auto|cpu|mps|cuda(:\d{1,3})?", str(value)):
            return str(value)
        self.fail(f"{value!r} is not one of auto, cpu, cuda, cuda:N, mps.", param, ctx)


class NonEmpty(click.ParamType[Any]):
    name = "text"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        if not value:
            self.fail("an empty string cannot end a run.", param, ctx)
        if not is_utf8(value):
            self.fail("not UTF-8 text.", param, ctx)
        return str(value)


class Condition(click.ParamType[Any]):
    """A breakpoint."""

    name = "condition"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Breakpoint:
        try:
            return parse_breakpoint(value)
        except ValueError as error:
            self.fail(str(error), param, ctx)


def is_utf8(text: str) -> bool:
    """Whether an argument was valid UTF-8: invalid bytes arrive as lone surrogates."""
    return not any("\ud800" <= char <= "\udfff" for char in text)


MAX_LENGTH = 1000
"""Most numbers in a list."""


class NumberList(click.ParamType[Any]):
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

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[float, ...]:
        if isinstance(value, tuple):
            return value
        numbers: list[float] = []
        for item in str(value).split(","):
            numbers += self._item(item.strip(), param, ctx)
            if len(numbers) > MAX_LENGTH:
                self.fail(f"{_short(value)} has more than {MAX_LENGTH} numbers.", param, ctx)
        return tuple(numbers)

    def _item(self, item: str, param: click.Parameter | None, ctx: click.Context | None) -> list[float]:
        if ".." not in item:
            return [self._number(item, param, ctx)]
        ends = item.split("..")
        if len(ends) not in (2, 3):
            self.fail(f"{_short(item)} is not a valid range: write FIRST..LAST or FIRST..LAST..STEP.", param, ctx)
        for end in ends[:2]:
            if math.isinf(self._number(end, param, ctx)):
                self.fail(f"{_short(item)} is infinite: a range needs two finite ends.", param, ctx)
        if len(ends) == 3 and not (DECIMAL.fullmatch(ends[2]) and float(ends[2]) > 0):
            self.fail(f"{_short(ends[2])} is not a valid step: a step is a number above 0.", param, ctx)
        first, last, step = Decimal(ends[0]), Decimal(ends[1]), Decimal(ends[2]) if len(ends) == 3 else self.step
        if first > last:
            self.fail(f"{_short(item)} is descending: write the smaller number first.", param, ctx)
        count = (last - first) / step + 1
        if count > MAX_LENGTH:
            self.fail(f"{_short(item)} has more than {MAX_LENGTH} numbers.", param, ctx)
        return [self._number(str(first + i * step), param, ctx) for i in range(int(count))]

    def _number(self, text: str, param: click.Parameter | None, ctx: click.Context | None) -> float:
        number = math.inf if self.infinite and text.lower() == "inf" else math.nan
        if DECIMAL.fullmatch(text):
            number = float(text)
        high_enough = number > self.minimum if self.above else number >= self.minimum
        finite = math.isfinite(number) or (self.infinite and number > 0 and text.lower() == "inf")
        if not (finite and high_enough and number <= self.maximum and (not self.whole or number == int(number))):
            self.fail(f"{_short(text)} is not {self._wanted()}.", param, ctx)
        return int(number) if self.whole else number

    def _wanted(self) -> str:
        kind = "a whole number" if self.whole else "a number"
        start = f"above {self.minimum:g}" if self.above else f"from {self.minimum:g}"
        if self.maximum < math.inf:
            return f"{kind} {start} to {self.maximum:g}"
        return f"{kind} {start}{' or inf' if self.infinite else ' up'}"


def _short(value: object) -> str:
    text = repr(str(value))
    return text if len(text) <= 60 else text[:57] + "...'"
