"""TOML with the lines of its keys and all of its errors: tomllib reports no lines and stops at the first error."""

import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

MAX_PROBLEMS = 20
"""Errors reported at most."""
_PART = r"""(?:[A-Za-z0-9_-]+|"[^"]*"|'[^']*')"""
_KEY = rf"({_PART}(?:\s*\.\s*{_PART})*)"
_TABLE = re.compile(rf"\s*\[\[?\s*{_KEY}\s*\]")
_PAIR = re.compile(rf"\s*{_KEY}\s*=")
_PLACE = re.compile(r"\s*\(at (?:line (\d+), column \d+|end of document)\)")


@dataclass(frozen=True, slots=True)
class ThemeProblem:
    """What is wrong with one key. ``line`` counts from 1; None and "" where the whole file is meant."""

    line: int | None
    key: str
    wrong: str

    def __str__(self) -> str:
        place = f"line {self.line}" if self.line else ""
        return ": ".join(filter(None, (", ".join(filter(None, (place, self.key))), self.wrong)))


def key_lines(text: str) -> dict[str, int]:
    """The line of every table and key by its dotted name, such as ``colors.error``; keys of inline tables have none."""
    lines: dict[str, int] = {}
    for number, key in _keys(text):
        lines.setdefault(key, number)
    return lines


def _keys(text: str) -> Iterator[tuple[int, str]]:
    """(line, dotted name) of every table and key."""
    table, quote = "", ""
    for number, line in enumerate(text.split("\n"), 1):
        if not quote:
            if header := _TABLE.match(line):
                table = _name(header[1])
                yield number, table
            elif pair := _PAIR.match(line):
                yield number, ".".join(filter(None, (table, _name(pair[1]))))
        for mark in ('"""', "'''"):
            if quote in ("", mark) and line.count(mark) % 2:
                quote = "" if quote else mark


def line_of(key: str, lines: Mapping[str, int]) -> int:
    """The line of ``key``; of the table it should be in, where it is not written; else the first."""
    table, _, _ = key.rpartition(".")
    return lines.get(key) or lines.get(table) or 1


def parse(text: str) -> tuple[dict[str, Any] | None, list[ThemeProblem]]:
    """The data of a TOML text and its syntax errors. A malformed pair is skipped; None: the rest cannot be parsed."""
    rows = text.split("\n")
    problems: list[ThemeProblem] = []
    while True:
        try:
            return tomllib.loads("\n".join(rows)), problems
        except RecursionError:
            return None, [*problems, ThemeProblem(None, "", "nested too deeply")]
        except ValueError as error:
            said = str(error)
        place = _PLACE.search(said)
        number = int(place[1] or len(rows)) if place else None
        pair = _PAIR.match(rows[number - 1]) if number else None
        key = dict(_keys("\n".join(rows))).get(number or 0, "")
        problems.append(ThemeProblem(number, key, f"not TOML: {_PLACE.sub('', said)}"))
        if pair is None or number is None or len(problems) == MAX_PROBLEMS:
            return None, problems
        rows[number - 1] = ""


def _name(key: str) -> str:
    return ".".join(part.strip("\"'") for part in re.findall(_PART, key))
