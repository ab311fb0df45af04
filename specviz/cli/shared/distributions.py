"""A toy distribution as an argument: a shape, a list of numbers, or a file of them."""

import json
import math
import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from specviz.cli.shared.argument_types import DECIMAL
from specviz.maths.toy_distributions import RELATIVE, SHAPES, normalised

MAX_IDS = 1_000_000
MAX_BYTES = 64 * 2**20
_ROUNDING = 1e-9
_LIST = re.compile(r"[\s0-9eE.,+-]+")


@dataclass(frozen=True, slots=True)
class Numbers:
    """``probs`` sum to 1. ``divided``: they were divided by their sum to get there."""

    probs: tuple[float, ...]
    divided: bool


class Distribution(click.ParamType[Any]):
    """Converts the name of a shape to itself, and numbers to ``Numbers``."""

    name = "distribution"

    def __init__(self, *, relative: bool = False) -> None:
        self.shapes = (*SHAPES, *RELATIVE) if relative else SHAPES

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str | Numbers:
        if not isinstance(value, str):
            return value  # type: ignore[no-any-return]
        if value in self.shapes:
            return value
        text, origin = value, "the list"
        if not value.strip():
            self.fail(
                f"an empty string is not a shape ({', '.join(self.shapes)}), a list of numbers, or a file.", param, ctx
            )
        if not _is_list(value):
            text, origin = self._read(value, param, ctx), f"the file {value}"
        try:
            numbers = _numbers(text)
            divided = abs(math.fsum(numbers) - 1.0) > _ROUNDING if all(map(math.isfinite, numbers)) else True
            return Numbers(tuple(normalised(numbers).tolist()), divided)
        except ValueError as error:
            self.fail(f"{origin} cannot be used: {error}", param, ctx)

    def _read(self, path: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        shapes = ", ".join(self.shapes)
        try:
            with Path(path).open("rb") as file:
                data = file.read(MAX_BYTES + 1)
        except (OSError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) else "no such file"
            self.fail(f"{path} is not a shape ({shapes}), a list of numbers, or a readable file: {reason}.", param, ctx)
        if len(data) > MAX_BYTES:
            self.fail(f"{path} is larger than {MAX_BYTES >> 20} MiB.", param, ctx)
        try:
            return data.decode("utf-8-sig")
        except UnicodeDecodeError:
            self.fail(f"{path} is not UTF-8 text.", param, ctx)


def _is_list(value: str) -> bool:
    """Whether it is meant as numbers: only numbers, or with commas, starting with a number, and not a file."""
    if _LIST.fullmatch(value) and any(map(str.isdigit, value)):
        return True
    return "," in value and bool(DECIMAL.fullmatch(value.split(",")[0].strip())) and not os.path.exists(value)


def _numbers(text: str) -> list[float]:
    """Numbers separated by commas or whitespace, or a JSON list. Raises ValueError with a sentence."""
    text = text.strip()
    if not text:
        raise ValueError("it is empty.")
    if text.startswith("["):
        try:
            given = json.loads(text)
        except (ValueError, RecursionError):
            raise ValueError("it is not a JSON list of numbers.") from None
        if not all(isinstance(item, int | float) and not isinstance(item, bool) for item in given):
            raise ValueError("it is not a JSON list of numbers.")
        if not given:
            raise ValueError("it contains no number.")
        items = [str(item) for item in given]
    else:
        items = re.split(r"\s*,\s*|\s+", text.removesuffix(","))
    if len(items) > MAX_IDS:
        raise ValueError(f"{len(items)} numbers exceed the limit of {MAX_IDS}.")
    return [_number(item) for item in items]


def _number(item: str) -> float:
    if not item:
        raise ValueError("there is nothing between two commas.")
    if not DECIMAL.fullmatch(item):
        raise ValueError(f"{item[:40]!r} is not a finite number.")
    return float(item)
