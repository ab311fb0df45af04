"""The records of a trace as JSON, and back: one codec, from the fields and type hints of the events.

A field of an event is a key of its record; a missing one has the default of the event, an unknown one is ignored.
msgspec reads a line, checking types and ranges. A line that it refuses is read again with the standard library, to
mend text that has half characters, and to say in one sentence what is wrong.
"""

import json
import math
import numbers
import re
import types
from collections.abc import Mapping
from dataclasses import MISSING, Field, fields, is_dataclass
from functools import cache, lru_cache
from typing import Annotated, Any, Literal, Optional, Union, get_args, get_origin, get_type_hints

import msgspec
from msgspec import Meta

from specviz.core.events import (
    Calibration,
    Candidate,
    Drafted,
    Emitted,
    End,
    Event,
    Header,
    Prompt,
    Raw,
    Round,
    Settings,
    Timing,
    Token,
    Top,
    VerifyTime,
)
from specviz.core.options import MAX_SEED
from specviz.trace.refusal import (
    MAX_INT,
    MAX_TOP,
    RANGES,
    BadLine,
    NewerVersion,
    free_parts,
    parse,
    quote,
    reason,
    unusable,
    whole_characters,
    without_none,
)

SCHEMA = "specviz-trace"
VERSION = 1
Recorded = Header | Calibration | Round | End
EVENTS: Mapping[str, Any] = {"header": Header, "calibration": Calibration, "round": Round, "end": End}
"""By the ``type`` of their record."""
_NAMES: Mapping[type, str] = {event: name for name, event in EVENTS.items()}
_ONLY_IN_TREES = frozenset({"parent", "path"})
"""Fields that are written only where a draft is a tree."""
_REQUIRED = frozenset({"k", "temperature", "draft_temperature", "drafter", "rule"})
"""Fields of Settings whose default is an option of the command line, not what a record without them means."""
_CONFIG: Mapping[str, Any] = {
    **dict.fromkeys(("draft", "target", "device", "dtype", "attention"), str),
    **dict.fromkeys(("seed", "max_new_tokens", "threads"), int),
    **dict.fromkeys(("stop", "notes"), tuple[str, ...]),
    "special_ids": tuple[int, ...],
}
"""Entries of the configuration that are read; the others are only shown."""
_HEX = re.compile("(?:[0-9a-fA-F]{2})*")
_NO_DETAIL: Mapping[str, Any] = {}


# Writing


def encode(event: Event, summary: Mapping[str, Any] | None = None) -> str | None:
    """The event's line, without the line break; None for events a trace does not hold. ``summary`` goes with End."""
    name = _NAMES.get(type(event))
    if name is None:
        return None
    record: dict[str, Any] = {"type": name}
    if isinstance(event, Header):
        record |= {"schema": SCHEMA, "version": VERSION}
    record |= to_json(event)
    if isinstance(event, End):
        record["summary"] = to_json(summary)
    return json.dumps(record, allow_nan=False)


def to_json(value: Any) -> Any:
    """``value`` as plain JSON data: bytes as hex, candidates as lists, non-finite numbers as None."""
    kind = type(value)
    if kind is float:
        return value if math.isfinite(value) else None
    if kind is int or kind is bool or value is None:
        return value
    if kind is str:
        return whole_characters(value)
    if kind is bytes:
        return value.hex()
    if kind is Candidate:
        return [to_json(value.id), value.bytes.hex(), to_json(float(f"{value.prob:.6g}"))]
    if kind is tuple or kind is list:
        return [to_json(entry) for entry in value]
    if is_dataclass(value):
        entries = ((name, getattr(value, name)) for name in _field_names(value.__class__))
        return {name: to_json(entry) for name, entry in entries if entry is not None or name not in _ONLY_IN_TREES}
    if isinstance(value, Mapping):
        return {whole_characters(str(key)): to_json(entry) for key, entry in value.items()}
    if isinstance(value, set | frozenset):
        return [to_json(entry) for entry in sorted(value)]
    if isinstance(value, numbers.Integral):
        return int(value)
    if isinstance(value, numbers.Real):
        return to_json(float(value))
    return whole_characters(str(value))


@cache
def _field_names(kind: Any) -> tuple[str, ...]:
    return tuple(field.name for field in fields(kind))


# Reading


def decode(line: bytes, *, compact: bool = False) -> Recorded:
    """The event of a line. Raises BadLine; TruncatedLine where the line is the beginning of a record. ``compact``: a
    round without its top lists, raw distributions and details, which are checked all the same."""
    try:
        if not line.isascii():
            line.decode()
        return _event(_decoder().decode(line), compact)
    except (msgspec.MsgspecError, BadLine, RecursionError, ValueError):
        return _decode_carefully(line, compact)


def _decode_carefully(line: bytes, compact: bool) -> Recorded:
    """The event of a line that cannot be read as it is: mended, or refused with the reason."""
    record = parse(line)
    name = record.get("type")
    if not isinstance(name, str) or name not in EVENTS:
        raise BadLine(f"its type must be one of {', '.join(EVENTS)}, not {quote(name)}")
    if name == "header":
        _check_schema(record)
    try:
        return _event(msgspec.convert(record, _record_type(EVENTS[name], checked=True)), compact)
    except msgspec.ValidationError as error:
        raise BadLine(reason(str(error), record, EVENTS[name])) from None
    except _BadPart as bad:
        place = next((place for place, part in free_parts(record) if unusable(part) == str(bad)), "the record")
        raise BadLine(f"{place} {bad}") from None


def _check_schema(record: Mapping[str, Any]) -> None:
    schema, version = record.get("schema"), record.get("version")
    if schema != SCHEMA:
        raise BadLine(f"its schema must be {SCHEMA}, not {quote(schema)}")
    if type(version) is int and version > VERSION:
        raise NewerVersion(f"trace version {quote(version)}, but this specviz reads version {VERSION}: update specviz")
    if type(version) is not int or version != VERSION:
        raise BadLine(f"its version must be {VERSION}, not {quote(version)}")


# Types of records


@cache
def _decoder() -> "msgspec.json.Decoder[Any]":
    return msgspec.json.Decoder(Union[tuple(_record_type(event) for event in EVENTS.values())])  # noqa: UP007


@cache
def _record_type(kind: Any, *, checked: bool = False) -> Any:
    """The msgspec type of an event, or of a part of one. ``checked``: bytes are checked to be hex too, which a fast
    reader leaves to ``_bytes``."""
    hints = get_type_hints(kind)
    declared: list[Any] = []
    for field in fields(kind):
        default = () if _is_required(kind, field) else (_default(field, checked),)
        declared.append((field.name, _type_of(hints[field.name], field.name, checked), *default))
    if kind is Header:
        declared = [("schema", Literal["specviz-trace"]), ("version", Literal[1]), *declared]
    if kind is End:
        declared.append(("summary", Optional[dict[str, Any]], None))  # noqa: UP045
    tag = _NAMES.get(kind)
    of_type: dict[str, Any] = {"tag": tag, "tag_field": "type"} if tag else {}
    return msgspec.defstruct(f"{kind.__name__}Record", declared, kw_only=True, gc=False, **of_type)


def _is_required(kind: Any, field: "Field[Any]") -> bool:
    if kind is Settings and field.name in _REQUIRED:
        return True
    return field.default is MISSING and field.default_factory is MISSING


def _default(field: "Field[Any]", checked: bool) -> Any:
    if is_dataclass(field.default):
        kind: Any = type(field.default)
        return msgspec.field(default_factory=_record_type(kind, checked=checked))
    if field.default_factory is not MISSING:
        return msgspec.field(default_factory=field.default_factory)
    return msgspec.field(default_factory=list) if field.default == () else field.default


def _type_of(hint: Any, name: str, checked: bool) -> Any:
    """The type msgspec reads a field ``name`` of this type hint as."""
    if hint is Candidate:
        entry: Any = tuple
        return entry[_number(int, "id"), _type_of(bytes, "bytes", checked), _number(float, "prob")]
    if is_dataclass(hint):
        kind: Any = hint
        return _record_type(kind, checked=checked)
    origin, arguments = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):
        return Optional[_type_of(without_none(hint), name, checked)]  # noqa: UP045
    if origin is tuple:
        many: Any = list
        entries: Any = many[_type_of(arguments[0], name, checked)]
        return Annotated[entries, Meta(max_length=MAX_TOP)] if arguments[0] is Candidate else entries
    if origin is Mapping:
        return dict[str, Any]
    if hint in (int, float):
        return _number(hint, name)
    if hint is bytes:
        return Annotated[str, Meta(pattern=f"^{_HEX.pattern}$")] if checked else str
    return hint


def _number(kind: type, name: str) -> Any:
    low, high = RANGES.get(name, (0, MAX_INT))
    return Annotated[kind, Meta(ge=kind(low)) if name == "seed" else Meta(ge=kind(low), le=kind(high))]


# Records to events


def _event(record: Any, compact: bool) -> Recorded:
    name = record.__struct_config__.tag
    if name == "round":
        return _round(record, compact)
    if name == "header":
        config = _free(record.config)
        _check_config(config)
        prompt = Prompt(record.prompt.text, tuple(Token(t.id, _bytes(t.bytes)) for t in record.prompt.tokens))
        return Header(record.created, record.specviz, config, record.vocab_size, tuple(record.end_ids), prompt)
    if name == "end":
        _free(record.summary or {})
        return End(record.reason, record.detail)
    verify_times = tuple(VerifyTime(each.ids, each.ms) for each in record.verify_times)
    return Calibration(
        record.target_step_ms, record.draft_step_ms, record.at_length, verify_times, record.from_round, record.drafter
    )


def _check_config(config: Mapping[str, Any]) -> None:
    for name in config.keys() & _CONFIG:
        try:
            msgspec.convert(config[name], Optional[_type_of(_CONFIG[name], name, True)])  # noqa: UP045
        except msgspec.ValidationError as error:
            raise BadLine(reason(str(error), config[name], _CONFIG[name], f"config.{name}", name)) from None
    if (config.get("seed") or 0) > MAX_SEED:
        raise BadLine(f"config.seed must be a whole number from 0 to {MAX_SEED}, not {quote(config['seed'])}")


def _round(record: Any, compact: bool) -> Round:
    return Round(
        record.index, record.start, record.k,
        _settings(*msgspec.structs.astuple(record.settings)),
        tuple([_drafted(each, compact) for each in record.drafted]),
        tuple([_emitted(each, compact) for each in record.emitted]),
        record.n_accepted, record.tested, record.last_u, record.plain_reason, record.redraws,
        Timing(*msgspec.structs.astuple(record.timing)),
        record.stop,
        None if record.path is None else tuple(record.path),
    )  # fmt: skip


def _drafted(d: Any, compact: bool) -> Drafted:
    parts: dict[str, Any] = {}
    if not (compact and _is_checked(d.p_top, d.q_top, d.residual_top, raw=d.raw, detail=d.detail)):
        tops = {"p_top": _top(d.p_top), "q_top": _top(d.q_top), "residual_top": _top(d.residual_top)}
        parts = {**tops, "raw": d.raw and _raw(d.raw), "detail": _free(d.detail)}
    return Drafted(
        id=d.id, bytes=_bytes(d.bytes), q=d.q, p=d.p, draft_u=d.draft_u, u=d.u, accept_prob=d.accept_prob,
        overlap=d.overlap, match=d.match, entropy_p=d.entropy_p, entropy_q=d.entropy_q, rank_p=d.rank_p,
        rank_q=d.rank_q, verdict=d.verdict, target_sample=d.target_sample, parent=d.parent, **parts,
    )  # fmt: skip


def _emitted(e: Any, compact: bool) -> Emitted:
    parts: dict[str, Any] = {}
    if not (compact and _is_checked(e.p_top, raw=e.raw)):
        parts = {"p_top": _top(e.p_top), "raw": e.raw and _raw(e.raw)}
    return Emitted(
        id=e.id, bytes=_bytes(e.bytes), origin=e.origin, p=e.p, q=e.q, residual=e.residual, rank_p=e.rank_p,
        entropy_p=e.entropy_p, **parts,
    )  # fmt: skip


def _is_checked(*tops: Any, raw: Any = None, detail: Any = _NO_DETAIL) -> bool:
    """Check the parts of a token that a compact round leaves out. Raises BadLine."""
    for top in tops if raw is None else (*tops, raw.p_top, raw.q_top):
        for _, data, _ in top:
            _bytes(data)
    _free(detail)
    return True


def _top(entries: Any) -> Top:
    return tuple([Candidate(id, _bytes(data), prob) for id, data, prob in entries])


def _raw(raw: Any) -> Raw:
    return Raw(raw.p, raw.q, raw.overlap, raw.entropy_p, raw.entropy_q, _top(raw.p_top), _top(raw.q_top))


@lru_cache(256, typed=True)
def _settings(*values: Any) -> Settings:
    """One object for all the rounds that ran under the same settings."""
    return Settings(*values)


@lru_cache(2**17)
def _bytes(text: str | None) -> Any:
    """The bytes written in hex, one object for each token; None for unknown ones. Raises BadLine."""
    if text is None:
        return None
    if not _HEX.fullmatch(text):
        raise BadLine("bytes must be in hex")
    return bytes.fromhex(text)


class _BadPart(BadLine):
    """What is wrong with a part of a record that may hold any JSON data."""


def _free(value: dict[str, Any]) -> Mapping[str, Any]:
    if not value:
        return _NO_DETAIL
    if (trouble := unusable(value)) is not None:
        raise _BadPart(trouble)
    return value
