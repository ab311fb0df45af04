"""A toy distribution as an argument: a shape, a list of numbers, or a file of them."""

import json
import math
import re
from pathlib import Path
from typing import Any

import click

from specviz.cli.parameters import DECIMAL
from specviz.toy_pair import RELATIVE, SHAPES, normalised

MOST_IDS = 1_000_000
MOST_BYTES = 64 * 2**20
_LIST = re.compile(r"[\s0-9eE.,+-]+")


class Distribution(click.ParamType[Any]):
    """A name of a shape stays a text; numbers come out as a tuple of probabilities."""

    name = "distribution"

    def __init__(self, *, relative: bool = False) -> None:
        self.shapes = (*SHAPES, *RELATIVE) if relative else SHAPES

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str | tuple[float, ...]:
        if not isinstance(value, str):
            return value  # type: ignore[no-any-return]
        if value in self.shapes:
            return value
        text, origin = value, "the list"
        if not _LIST.fullmatch(value) or not any(map(str.isdigit, value)):
            text, origin = self._read(value, param, ctx), f"the file {value}"
        try:
            return tuple(normalised(_numbers(text)).tolist())
        except ValueError as error:
            self.fail(f"{origin} cannot be used: {error}", param, ctx)

    def _read(self, path: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        shapes = ", ".join(self.shapes)
        try:
            with Path(path).open("rb") as file:
                data = file.read(MOST_BYTES + 1)
        except (OSError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) else "no such file"
            self.fail(f"{path} is no shape ({shapes}), no list of numbers, and no file: {reason}.", param, ctx)
        if len(data) > MOST_BYTES:
            self.fail(f"{path} is larger than {MOST_BYTES >> 20} MiB.", param, ctx)
        try:
            return data.decode("utf-8-sig")
        except UnicodeDecodeError:
            self.fail(f"{path} is not UTF-8 text.", param, ctx)


def _numbers(text: str) -> list[float]:
    """Numbers between commas, blanks or line ends; or a JSON list."""
    text = text.strip()
    if text.startswith("["):
        try:
            given = json.loads(text)
        except (ValueError, RecursionError):
            raise ValueError("it is no JSON list of numbers.") from None
        if not all(isinstance(item, int | float) and not isinstance(item, bool) for item in given):
            raise ValueError("it is no JSON list of numbers.")
        items = [str(item) for item in given]
    else:
        items = [item for item in re.split(r"\s*,\s*|\s+", text) if item]
    if len(items) > MOST_IDS:
        raise ValueError(f"{len(items)} numbers are more than {MOST_IDS}.")
    return [float(item) if DECIMAL.fullmatch(item) else math.nan for item in items]
