"""A toy distribution as an argument: a shape, a list of numbers, or a file of them."""

import json
import math
import os
import re
from dataclasses import dataclass
from pathlib import Path

from specviz.cli.shared.argument_types import DECIMAL, Argument
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


class Distribution(Argument):
    """Converts the name of a shape to itself, and numbers to ``Numbers``."""

    name = "distribution"

    def __init__(self, *, relative: bool = False) -> None:
        self.shapes = (*SHAPES, *RELATIVE) if relative else SHAPES

    def read(self, text: str) -> str | Numbers:
        if text in self.shapes:
            return text
        if not text.strip():
            raise ValueError(
                f"an empty string is not a shape ({', '.join(self.shapes)}), a list of numbers, or a file."
            )
        listed, origin = (text, "the list") if _is_list(text) else (self._contents(text), f"the file {text}")
        try:
            numbers = _numbers(listed)
            divided = not all(map(math.isfinite, numbers)) or abs(math.fsum(numbers) - 1.0) > _ROUNDING
            return Numbers(tuple(normalised(numbers).tolist()), divided)
        except ValueError as error:
            raise ValueError(f"{origin} cannot be used: {error}") from None

    def _contents(self, path: str) -> str:
        try:
            with Path(path).open("rb") as file:
                data = file.read(MAX_BYTES + 1)
        except (OSError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) else "no such file"
            raise ValueError(
                f"{path} is not a shape ({', '.join(self.shapes)}), a list of numbers, or a readable file: {reason}."
            ) from None
        if len(data) > MAX_BYTES:
            raise ValueError(f"{path} is larger than {MAX_BYTES >> 20} MiB.")
        try:
            return data.decode("utf-8-sig")
        except UnicodeDecodeError:
            raise ValueError(f"{path} is not UTF-8 text.") from None


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
            listed = json.loads(text)
        except (ValueError, RecursionError):
            listed = [None]
        if not all(isinstance(item, int | float) and not isinstance(item, bool) for item in listed):
            raise ValueError("it is not a JSON list of numbers.")
        if not listed:
            raise ValueError("it contains no number.")
        items = list(map(str, listed))
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
