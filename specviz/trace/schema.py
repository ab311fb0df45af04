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
from functools import cache, lru_cache
from typing import Any, Literal, NoReturn, TypeVar, Union, get_args, get_origin, get_type_hints

from specviz.core.events import Candidate
from specviz.core.options import MAX_SEED, MAX_TEMPERATURE

T = TypeVar("T")
Read = Callable[[Any], Any]
"""JSON value -> field value; raises BadField."""

_MAX_INT = 2**53
_MAX_DEPTH = 32
OF_TREES = frozenset({"parent", "path"})
"""Fields that are written only where a draft is a tree."""
MAX_LIST = 10
"""Entries of a top list."""
_ROUNDING = 1e-3
"""How far the rounding of a sum may carry a number out of its range."""
_HEX = re.compile("(?:[0-9a-fA-F]{2})*")
_PROBABILITY = (0.0, 1.0 + _ROUNDING)
_ENTROPY = (-_ROUNDING, 1e3)
_MILLISECONDS = (0.0, 1e9)
_LIMITS: dict[str, tuple[float, float]] = {
    **dict.fromkeys(
        ("p", "q", "u", "draft_u", "last_u", "accept_prob", "overlap", "match", "residual", "prob", "top_p"),
        _PROBABILITY,
    ),
    **dict.fromkeys(("entropy_p", "entropy_q"), _ENTROPY),
    **dict.fromkeys(("temperature", "draft_temperature"), (0.0, MAX_TEMPERATURE)),
    **dict.fromkeys(("draft_ms", "verify_ms", "decide_ms", "inspect_ms", "total_ms"), _MILLISECONDS),
    **dict.fromkeys(("target_step_ms", "draft_step_ms"), _MILLISECONDS),
    **dict.fromkeys(("index", "rank_p", "rank_q", "top_k", "vocab_size"), (1, _MAX_INT)),
    "k": (0, 1024),
    "seed": (0, MAX_SEED),
}


class BadLine(ValueError):
    """What makes a line no part of a trace, in words, without file and line."""


class BadField(BadLine):
    """A field that is missing, of a wrong type or out of range. The place is put together on the way out."""

    place = ""

    def within(self, step: str) -> None:
        self.place = step + self.place

    def __str__(self) -> str:
        return f"{self.place.lstrip('.') or 'the record'} {self.args[0]}"


def to_json(value: Any) -> Any:
    """``value`` as plain JSON data: bytes as hex, candidates as lists, non-finite numbers as None."""
    kind = type(value)
    if kind is float:
        return value if math.isfinite(value) else None
    if kind is int or kind is bool or value is None:
        return value
    if kind is str:
        return _whole_characters(value)
    if kind is bytes:
        return value.hex()
    if kind is Candidate:
        return [to_json(value.id), value.bytes.hex(), to_json(float(f"{value.prob:.6g}"))]
    if kind is tuple or kind is list:
        return [to_json(entry) for entry in value]
    if is_dataclass(value):
        entries = ((name, getattr(value, name)) for name in _field_names(value.__class__))
        return {name: to_json(entry) for name, entry in entries if entry is not None or name not in OF_TREES}
    if isinstance(value, Mapping):
        return {_whole_characters(str(key)): to_json(entry) for key, entry in value.items()}
    if isinstance(value, set | frozenset):
        return [to_json(entry) for entry in sorted(value)]
    if isinstance(value, numbers.Integral):
        return int(value)
    if isinstance(value, numbers.Real):
        return to_json(float(value))
    return _whole_characters(str(value))


def from_json(kind: type[T], record: Any) -> T:
    """The event of a parsed record. Raises BadField for a missing field, a wrong type or a value out of range."""
    hint: Any = kind
    event: T = _reader(hint, "")(record)
    return event


def check_entry(record: dict[str, Any], name: str, hint: Any, place: str = "") -> None:
    """Raise BadField unless ``record``, which stands at ``place``, has ``name`` with a value of this type."""
    if name not in record:
        raise BadField(f"has no field {name}")
    try:
        _reader(hint, name)(record[name])
    except BadField as bad:
        bad.within(f"{place}.{name}")
        raise


def limits(name: str) -> tuple[float, float]:
    """The range of a number by the name of its field."""
    return _LIMITS.get(name, (0, _MAX_INT))


def free_part(value: Any) -> dict[str, Any]:
    """An object of any JSON data. Raises BadField where it is none, or holds what no reader could hold."""
    return _object(value)


@lru_cache(2**17)
def hex_bytes(text: str) -> bytes:
    """The bytes written in hex, one object for all the places where a token stands. Raises BadField."""
    if not _HEX.fullmatch(text):
        _wrong(text, "bytes in hex")
    return bytes.fromhex(text)


def quote(value: Any) -> str:
    """A short, safe word for a value that should not be there."""
    if isinstance(value, dict | list):
        return "an object" if isinstance(value, dict) else f"a list of {len(value)}"
    if isinstance(value, int) and abs(value) > _MAX_INT:
        return "a huge number"
    text = json.dumps(value)
    return text if len(text) <= 40 else text[:37] + "..."


@cache
def _field_names(kind: Any) -> tuple[str, ...]:
    return tuple(f.name for f in fields(kind))


def _whole_characters(text: str) -> str:
    """``text`` with a replacement sign for each half of a surrogate pair, which strict readers refuse."""
    return text if text.isascii() else text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


@cache
def _reader(hint: Any, name: str) -> Read:
    """How a field ``name`` of this type is read."""
    if hint is Candidate:
        return _candidate
    if is_dataclass(hint):
        return _record_reader(hint)
    origin, arguments = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):
        read = _reader(next(a for a in arguments if a is not types.NoneType), name)
        return lambda value: None if value is None else read(value)
    if origin is Literal:
        return lambda value: _choice(value, arguments)
    if origin is tuple:
        return _list_reader(_reader(arguments[0], name), MAX_LIST if arguments[0] is Candidate else _MAX_INT)
    if origin is Mapping:
        return _object
    low, high = limits(name)
    if hint is int:
        return lambda value: _integer(value, int(low), int(high))
    if hint is float:
        return lambda value: _number(value, low, high)
    return {str: _string, bytes: _hex}[hint]


def _record_reader(kind: Any) -> Read:
    hints = get_type_hints(kind)
    readers = {name: _reader(hints[name], name) for name in _field_names(kind)}

    def read_record(value: Any) -> Any:
        if not isinstance(value, dict):
            _wrong(value, "an object")
        values: dict[str, Any] = {}
        for name, read in readers.items():
            if name not in value:
                if name in OF_TREES:
                    continue
                raise BadField(f"has no field {name}")
            try:
                values[name] = read(value[name])
            except BadField as bad:
                bad.within(f".{name}")
                raise
        return kind(**values)

    return read_record


def _list_reader(read: Read, longest: int) -> Read:
    def read_list(value: Any) -> tuple[Any, ...]:
        if not isinstance(value, list) or len(value) > longest:
            _wrong(value, "a list" if longest == _MAX_INT else f"a list of at most {longest}")
        entries: list[Any] = []
        try:
            for entry in value:
                entries.append(read(entry))
        except BadField as bad:
            bad.within(f"[{len(entries)}]")
            raise
        return tuple(entries)

    return read_list


def _candidate(value: Any) -> Candidate:
    if not isinstance(value, list) or len(value) != 3:
        _wrong(value, "[id, bytes, probability]")
    return Candidate(_integer(value[0], 0, _MAX_INT), _hex(value[1]), _number(value[2], *_PROBABILITY))


def _object(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        _wrong(value, "an object")
    plain: dict[str, Any] = _plain(value, _MAX_DEPTH)
    return plain


def _plain(value: Any, depth: int) -> Any:
    """Any JSON data, with whole characters and finite numbers, not too deep."""
    if depth == 0:
        raise BadField("is nested too deeply")
    if isinstance(value, dict):
        return {_whole_characters(key): _plain(entry, depth - 1) for key, entry in value.items()}
    if isinstance(value, list):
        return [_plain(entry, depth - 1) for entry in value]
    if isinstance(value, str):
        return _whole_characters(value)
    if (isinstance(value, float) and not math.isfinite(value)) or (isinstance(value, int) and abs(value) > 2**64):
        _wrong(value, "free of numbers so large")
    return value


def _integer(value: Any, low: int, high: int) -> int:
    if type(value) is not int or not low <= value <= high:
        _wrong(value, f"a whole number from {low} to {high}")
    return value


def _number(value: Any, low: float, high: float) -> float:
    if type(value) not in (int, float) or not low <= value <= high:
        _wrong(value, f"a number from {round(low, 2) + 0.0:g} to {round(high, 2):g}")
    return float(value)


def _string(value: Any) -> str:
    if not isinstance(value, str):
        _wrong(value, "a string")
    return _whole_characters(value)


def _hex(value: Any) -> bytes:
    if not isinstance(value, str):
        _wrong(value, "bytes in hex")
    return hex_bytes(value)


def _choice(value: Any, choices: tuple[str, ...]) -> str:
    if not isinstance(value, str) or value not in choices:
        _wrong(value, f"one of {', '.join(choices)}")
    return value


def _wrong(value: Any, wanted: str) -> NoReturn:
    raise BadField(f"must be {wanted}, not {quote(value)}")
