"""Lists and ranges of numbers as one argument: ``1,2,4``, ``1..8``, ``0.5..0.9..0.05``, ``inf``."""

import math
from decimal import Decimal
from typing import Any

import click

from specviz.cli.shared.run_options import DECIMAL

MAX_LENGTH = 1000
"""Most numbers in a list."""


class NumberList(click.ParamType[Any]):
    """Numbers in a range, as a tuple in the order given.

    A range ``A..B`` includes both ends and goes in steps of ``step``, or of the third number of ``A..B..STEP``.
    ``whole``: only whole numbers; ``infinite``: ``inf`` is one of them; ``above`` excludes the lower end.
    """

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
