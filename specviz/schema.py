"""The fields of events as JSON values, and back: what is written is strict, what is read is checked.

A field of an event is a key of its record; its type hint says how it is read, its name which range it must be in.
"""

import json
import math
import numbers
import re
import types
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from functools import cache
from typing import Any, Literal, NoReturn, TypeVar, Union, get_args, get_origin, get_type_hints

from specviz.events import Candidate

T = TypeVar("T")

_MAX_INT = 2**53
_MAX_DEPTH = 32
_MAX_LIST = 10
_ROUNDING = 1e-3
"""How far the rounding of a sum may carry a number out of its range."""
_PROBABILITY = (0.0, 1.0 + _ROUNDING)
_ENTROPY = (-_ROUNDING, 1e3)
_MILLISECONDS = (0.0, 1e9)
_LIMITS: dict[str, tuple[float, float]] = {
    **dict.fromkeys(
        ("p", "q", "u", "draft_u", "last_u", "accept_prob", "overlap", "match", "residual", "prob", "top_p"),
        _PROBABILITY,
    ),
    **dict.fromkeys(("entropy_p", "entropy_q"), _ENTROPY),
    **dict.fromkeys(("temperature", "draft_temperature"), (0.0, 1e6)),
    **dict.fromkeys(("draft_ms", "verify_ms", "decide_ms", "inspect_ms", "total_ms"), _MILLISECONDS),
    **dict.fromkeys(("target_step_ms", "draft_step_ms"), _MILLISECONDS),
    **dict.fromkeys(("index", "rank_p", "rank_q", "top_k", "vocab_size"), (1, _MAX_INT)),
    "k": (0, 1024),
}


class BadLine(ValueError):
    """A value that is no part of a trace; the message says which and why, without file and line."""


@cache
def _field_names(kind: Any) -> tuple[str, ...]:
    return tuple(f.name for f in fields(kind))


def to_json(value: Any) -> Any:
    """``value`` as plain JSON data: bytes as hex, candidates as lists, non-finite numbers as None."""
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return _whole_characters(value)
    if isinstance(value, numbers.Integral):
        return int(value)
    if isinstance(value, numbers.Real):
        return float(value) if math.isfinite(value) else None
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, Candidate):
        return [int(value.id), value.bytes.hex(), to_json(float(f"{value.prob:.6g}"))]
    if is_dataclass(value):
        return {name: to_json(getattr(value, name)) for name in _field_names(value.__class__)}
    if isinstance(value, Mapping):
        return {_whole_characters(str(key)): to_json(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [to_json(entry) for entry in value]
    if isinstance(value, set | frozenset):
        return [to_json(entry) for entry in sorted(value)]
    return _whole_characters(str(value))


def _whole_characters(text: str) -> str:
    """``text`` with a replacement sign for each half of a surrogate pair, which strict readers refuse."""
    return text if text.isascii() else text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def from_json(kind: type[T], record: Any) -> T:
    """The event of a parsed record. Raises BadLine for a missing field, a wrong type or a value out of range."""
    hint: Any = kind
    event: T = _decoder(hint, "")(record, "")
    return event


def check_entry(record: dict[str, Any], name: str, hint: Any, place: str = "") -> None:
    """Raise BadLine unless ``record`` has ``name`` with a value of this type."""
    _decoder(hint, name)(_entry(record, name, place), f"{place}.{name}".lstrip("."))


_Decoder = Callable[[Any, str], Any]
"""(JSON value, place in the line) -> field value; raises BadLine."""


@cache
def _decoder(hint: Any, name: str) -> _Decoder:
    """How a field ``name`` of this type is read."""
    if hint is Candidate:
        return _read_candidate
    if is_dataclass(hint) and isinstance(hint, type):
        return _record_decoder(hint)
    origin, arguments = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):
        inner = _decoder(next(a for a in arguments if a is not types.NoneType), name)
        return lambda value, place: None if value is None else inner(value, place)
    if origin is Literal:
        return lambda value, place: _choice(value, place, arguments)
    if origin is tuple:
        entry = _decoder(arguments[0], name)
        longest = _MAX_LIST if arguments[0] is Candidate else _MAX_INT
        return lambda value, place: tuple(entry(v, f"{place}[{i}]") for i, v in enumerate(_list(value, place, longest)))
    if origin is Mapping:
        return _object
    low, high = _LIMITS.get(name, (0, _MAX_INT))
    if hint is int:
        return lambda value, place: _integer(value, place, int(low), int(high))
    if hint is float:
        return lambda value, place: _number(value, place, low, high)
    return {str: _string, bytes: _hex}[hint]


def _record_decoder(kind: type) -> _Decoder:
    hints = get_type_hints(kind)
    readers = {name: _decoder(hints[name], name) for name in _field_names(kind)}

    def read_record(value: Any, place: str) -> Any:
        if not isinstance(value, dict):
            _wrong(value, place, "an object")
        prefix = f"{place}." if place else ""
        return kind(**{name: read(_entry(value, name, place), prefix + name) for name, read in readers.items()})

    return read_record


def _entry(record: dict[str, Any], name: str, place: str) -> Any:
    try:
        return record[name]
    except KeyError:
        raise BadLine(f"{place or 'the record'} has no field {name}") from None


def _read_candidate(value: Any, place: str) -> Candidate:
    if not isinstance(value, list) or len(value) != 3:
        _wrong(value, place, "[id, bytes, probability]")
    token, data, prob = value
    return Candidate(_integer(token, place, 0, _MAX_INT), _hex(data, place), _number(prob, place, *_PROBABILITY))


def _object(value: Any, place: str) -> dict[str, Any]:
    """An object of any JSON data. Raises BadLine for no object, numbers beyond a float and deep nesting."""
    if not isinstance(value, dict):
        _wrong(value, place, "an object")
    plain: dict[str, Any] = _plain(value, place, _MAX_DEPTH)
    return plain


def _plain(value: Any, place: str, depth: int) -> Any:
    """Free JSON data with whole characters and finite numbers, not too deep."""
    if depth == 0:
        raise BadLine(f"{place} is nested too deeply")
    if isinstance(value, dict):
        return {_whole_characters(key): _plain(entry, place, depth - 1) for key, entry in value.items()}
    if isinstance(value, list):
        return [_plain(entry, place, depth - 1) for entry in value]
    if isinstance(value, str):
        return _whole_characters(value)
    if isinstance(value, float) and not math.isfinite(value):
        _wrong(value, place, "free of numbers beyond a float")
    if isinstance(value, int) and abs(value) > 2**64:
        _wrong(value, place, "free of such large numbers")
    return value


def _integer(value: Any, place: str, low: int, high: int) -> int:
    if type(value) is not int or not low <= value <= high:
        _wrong(value, place, f"a whole number from {low} to {high}")
    return value


def _number(value: Any, place: str, low: float, high: float) -> float:
    if type(value) not in (int, float) or not low <= value <= high:
        _wrong(value, place, f"a number from {round(low, 2) + 0.0:g} to {round(high, 2):g}")
    return float(value)


def _string(value: Any, place: str) -> str:
    if not isinstance(value, str):
        _wrong(value, place, "a string")
    return _whole_characters(value)


def _hex(value: Any, place: str) -> bytes:
    if isinstance(value, str) and re.fullmatch("([0-9a-fA-F]{2})*", value):
        return bytes.fromhex(value)
    _wrong(value, place, "bytes in hex")


def _choice(value: Any, place: str, choices: tuple[str, ...]) -> str:
    if not isinstance(value, str) or value not in choices:
        _wrong(value, place, f"one of {', '.join(choices)}")
    return value


def _list(value: Any, place: str, longest: int) -> list[Any]:
    if not isinstance(value, list) or len(value) > longest:
        _wrong(value, place, "a list" if longest == _MAX_INT else f"a list of at most {longest}")
    return value


def _wrong(value: Any, place: str, wanted: str) -> NoReturn:
    raise BadLine(f"{place} must be {wanted}, not {quote(value)}")


def quote(value: Any) -> str:
    """A short, safe word for a value that should not be there."""
    if isinstance(value, dict | list):
        return "an object" if isinstance(value, dict) else f"a list of {len(value)}"
    if isinstance(value, int) and abs(value) > _MAX_INT:
        return "a huge number"
    text = json.dumps(value)
    return text if len(text) <= 40 else text[:37] + "..."
