"""Why a line is not part of a trace: its JSON, and what msgspec refuses, in the terms of the format."""

import json
import math
import re
import types
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields
from typing import Any, Literal, NoReturn, Union, get_args, get_origin, get_type_hints

from specviz.core.events import Candidate
from specviz.core.options import MAX_TEMPERATURE

MAX_INT = 2**53
MAX_TOP = 10
_ROUNDING = 1e-3
"""How far the rounding of a sum may carry a number out of its range."""
_PROBABILITY = (0.0, 1.0 + _ROUNDING)
_MILLISECONDS = (0.0, 1e9)
RANGES: Mapping[str, tuple[float, float]] = {
    **dict.fromkeys(
        ("p", "q", "u", "draft_u", "last_u", "accept_prob", "overlap", "match", "residual", "prob", "top_p"),
        _PROBABILITY,
    ),
    **dict.fromkeys(("entropy_p", "entropy_q"), (-_ROUNDING, 1e3)),
    **dict.fromkeys(("temperature", "draft_temperature"), (0.0, MAX_TEMPERATURE)),
    **dict.fromkeys(("draft_ms", "verify_ms", "decide_ms", "inspect_ms", "total_ms"), _MILLISECONDS),
    **dict.fromkeys(("target_step_ms", "draft_step_ms", "ms"), _MILLISECONDS),
    **dict.fromkeys(("index", "from_round", "ids", "rank_p", "rank_q", "top_k", "vocab_size"), (1, MAX_INT)),
    "k": (0, 1024),
}
"""The range of a number by the name of its field; others are from 0 to ``MAX_INT``."""


class BadLine(ValueError):
    """Why a line is not part of a trace, as a sentence without file and line number."""


class TruncatedLine(BadLine):
    """A line that stops in the middle of its record."""


class NewerVersion(BadLine):
    """A header of a later version of the format."""


def parse(line: bytes) -> dict[str, Any]:
    if not line.strip():
        raise BadLine("the line is blank")
    try:
        text = line.decode("utf-8").strip()
    except UnicodeDecodeError as error:
        if line.startswith(b"{") and error.reason == "unexpected end of data":
            raise TruncatedLine("the record is cut off") from None
        raise BadLine("not text in UTF-8") from None
    try:
        record = _mended(json.loads(text, parse_constant=_no_constant))
    except json.JSONDecodeError as error:
        if _is_truncated(text, error):
            raise TruncatedLine("the record is cut off") from None
        raise BadLine(f"not JSON ({error.msg} at column {error.colno})") from None
    except RecursionError:
        raise BadLine("nested too deeply") from None
    except ValueError as error:
        raise error if isinstance(error, BadLine) else BadLine("a number is too long") from None
    if not isinstance(record, dict):
        raise BadLine("not a JSON object")
    return record


def _no_constant(name: str) -> NoReturn:
    raise BadLine(f"{name} is not allowed")


_OPEN_ENDED = re.compile(r"(t(ru?)?|f(a(ls?)?)?|n(ul?)?|-|\.|\.?\d*[eE][+-]?|\\?u?[0-9a-fA-F]{0,4})?")


def _is_truncated(text: str, error: json.JSONDecodeError) -> bool:
    """Whether ``text`` fails only because it stops: it is the beginning of some object."""
    return text.startswith("{") and (
        error.msg.startswith("Unterminated string") or _OPEN_ENDED.fullmatch(text, error.pos) is not None
    )


def _mended(value: Any) -> Any:
    if isinstance(value, dict):
        return {whole_characters(key): _mended(entry) for key, entry in value.items()}
    if isinstance(value, list):
        return [_mended(entry) for entry in value]
    return whole_characters(value) if isinstance(value, str) else value


def whole_characters(text: str) -> str:
    """``text`` with a replacement character for each half of a surrogate pair, which strict readers refuse."""
    return text if text.isascii() else text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


_MISSING = re.compile(r"Object missing required field `(\w+)`")
_STEP = re.compile(r"\.(\w+)|\[(\d+)\]")


def reason(error: str, value: Any, hint: Any, place: str = "", name: str = "") -> str:
    """What msgspec refuses, in terms of the format. ``value`` and ``hint``: the data and type hint that it was given,
    at ``place``, in a field called ``name``."""
    text, _, path = error.partition(" - at `$")
    for step in _STEP.finditer(path.removesuffix("`")):
        field, index = step.groups()
        hint = without_none(hint)
        if field:
            name, hint, value = field, get_type_hints(hint).get(field, Mapping), value[field]
        elif hint is Candidate:
            name = fields(Candidate)[int(index)].name
            hint, value = get_type_hints(Candidate)[name], value[int(index)]
        else:
            hint, value = get_args(hint)[0], value[int(index)]
        place += step[0]
    place = place.lstrip(".") or "the record"
    if missing := _MISSING.match(text):
        return f"{place} has no field {missing[1]}"
    return f"{place} must be {_wanted(hint, name)}, not {quote(value)}"


def without_none(hint: Any) -> Any:
    """The type of a hint without its None."""
    if get_origin(hint) not in (Union, types.UnionType):
        return hint
    return next(part for part in get_args(hint) if part is not types.NoneType)


def _wanted(hint: Any, name: str) -> str:
    hint = without_none(hint)
    low, high = RANGES.get(name, (0, MAX_INT))
    if hint is int:
        return f"a whole number from {int(low)} to {int(high)}"
    if hint is float:
        return f"a number from {round(low, 2) + 0.0:g} to {round(high, 2):g}"
    if hint is Candidate:
        return "[id, bytes, probability]"
    if get_origin(hint) is Literal:
        return f"one of {', '.join(get_args(hint))}"
    if get_origin(hint) is tuple:
        return f"a list of at most {MAX_TOP}" if get_args(hint)[0] is Candidate else "a list"
    return {str: "a string", bytes: "bytes in hex"}.get(hint, "an object")


def quote(value: Any) -> str:
    """A short, safe form of a value that should not be there."""
    if isinstance(value, dict | Sequence) and not isinstance(value, str):
        return "an object" if isinstance(value, dict) else f"a list of {len(value)}"
    if isinstance(value, int) and abs(value) > MAX_INT:
        return "a huge number"
    text = json.dumps(value)
    return text if len(text) <= 40 else text[:37] + "..."


_MAX_DEPTH = 32


def unusable(value: Any, depth: int = _MAX_DEPTH) -> str | None:
    """Why some JSON data cannot be passed on; None: it can."""
    if depth == 0:
        return "is nested too deeply"
    if isinstance(value, dict | list):
        entries: Iterator[Any] = iter(value.values() if isinstance(value, dict) else value)
        return next(filter(None, (unusable(entry, depth - 1) for entry in entries)), None)
    if (isinstance(value, float) and not math.isfinite(value)) or (isinstance(value, int) and abs(value) > 2**64):
        return f"must be free of numbers so large, not {quote(value)}"
    return None


def free_parts(record: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    yield "config", record.get("config")
    yield "summary", record.get("summary")
    for row, drafted in enumerate(record.get("drafted") or ()):
        yield f"drafted[{row}].detail", drafted.get("detail")
