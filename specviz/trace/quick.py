"""Rounds from their lines, ten times as fast as field by field.

msgspec reads a line and checks types, ranges and lengths as ``schema`` has them. What it does not take is left to the
careful reader, which says what is wrong, or mends what can be mended: nothing is accepted here that it would refuse,
but for what stands in a round under names that nobody reads.
"""

import json
import types
from collections.abc import Callable, Mapping
from functools import cache, lru_cache
from operator import attrgetter
from typing import Annotated, Any, Literal, Optional, TypeVar, Union, get_args, get_origin, get_type_hints

import msgspec
from msgspec import Meta

from specviz.core.events import Candidate, Drafted, Emitted, Raw, Round, Settings, Timing, Top
from specviz.trace.schema import MAX_LIST, OF_TREES, BadField, free_part, hex_bytes, limits

_NO_DETAIL: Mapping[str, Any] = {}
T = TypeVar("T")


def quick_round(line: bytes, *, bare: bool = False) -> Round | None:
    """The round of a line; None where it is another record, or none that can be taken without a second look.

    ``bare``: without its top lists, raw distributions and details, which are checked and left out.
    """
    try:
        if not line.isascii():
            line.decode()
        record = _decoder().decode(line)
        return _bare(record) if bare else _whole(record)
    except (msgspec.MsgspecError, BadField, UnicodeDecodeError, RecursionError, ValueError):
        return None


@cache
def _decoder() -> "msgspec.json.Decoder[Any]":
    record = _record_type(Round, type=Literal["round"])
    return msgspec.json.Decoder(record)


def _record_type(kind: Any, **more: Any) -> Any:
    hints = get_type_hints(kind)
    fields = [
        (name, _typed(hints[name], name), *([None] if name in OF_TREES else [])) for name in kind.__dataclass_fields__
    ]
    return msgspec.defstruct(f"{kind.__name__}Record", [*more.items(), *fields], gc=False)


def _typed(hint: Any, name: str) -> Any:
    """The type msgspec reads a field ``name`` of this type as."""
    if hint is Candidate:
        entry: Any = tuple
        return entry[_number(int, "id"), str, _number(float, "prob")]
    if hasattr(hint, "__dataclass_fields__"):
        return _record_type(hint)
    origin, arguments = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):
        return Optional[_typed(next(a for a in arguments if a is not types.NoneType), name)]  # noqa: UP045
    if origin is tuple:
        many: Any = list
        entries: Any = many[_typed(arguments[0], name)]
        return Annotated[entries, Meta(max_length=MAX_LIST)] if arguments[0] is Candidate else entries
    if origin is Mapping:
        return msgspec.Raw
    if hint in (int, float):
        return _number(hint, name)
    return str if hint is bytes else hint


def _number(kind: type, name: str) -> Any:
    low, high = limits(name)
    return Annotated[kind, Meta(ge=kind(low), le=kind(high))]


_make_raw: Callable[..., Raw] = Raw
_make_round: Callable[..., Round] = Round
_DRAFTED_NUMBERS = (
    "q", "p", "draft_u", "u", "accept_prob", "overlap", "match", "entropy_p", "entropy_q", "rank_p", "rank_q",
    "verdict", "target_sample", "parent",
)  # fmt: skip
_EMITTED_NUMBERS = ("origin", "p", "q", "residual", "rank_p", "entropy_p")
_drafted_numbers = attrgetter(*_DRAFTED_NUMBERS)
_emitted_numbers = attrgetter(*_EMITTED_NUMBERS)
_raw_numbers = attrgetter("p", "q", "overlap", "entropy_p", "entropy_q")
_round_numbers = attrgetter("n_accepted", "tested", "last_u", "plain_reason", "redraws")


def _token(kind: Callable[..., T], names: tuple[str, ...], numbers: tuple[Any, ...], record: Any, **more: Any) -> T:
    data = None if record.bytes is None else hex_bytes(record.bytes)
    return kind(id=record.id, bytes=data, **dict(zip(names, numbers, strict=True)), **more)


def _bare(record: Any) -> Round:
    drafted = []
    for d in record.drafted:
        _check(d.p_top, d.q_top, d.residual_top)
        _check_rest(d)
        drafted.append(_token(Drafted, _DRAFTED_NUMBERS, _drafted_numbers(d), d))
    emitted = []
    for e in record.emitted:
        _check(e.p_top)
        if e.raw is not None:
            _check(e.raw.p_top, e.raw.q_top)
        emitted.append(_token(Emitted, _EMITTED_NUMBERS, _emitted_numbers(e), e))
    return _round(record, drafted, emitted)


def _check_rest(drafted: Any) -> None:
    if drafted.raw is not None:
        _check(drafted.raw.p_top, drafted.raw.q_top)
    _detail(drafted.detail)


def _check(*tops: Any) -> None:
    for top in tops:
        for _, data, _ in top:
            hex_bytes(data)


def _whole(record: Any) -> Round:
    drafted = [
        _token(
            Drafted,
            _DRAFTED_NUMBERS,
            _drafted_numbers(d),
            d,
            p_top=_top(d.p_top),
            q_top=_top(d.q_top),
            residual_top=_top(d.residual_top),
            raw=_raw(d.raw),
            detail=_detail(d.detail),
        )
        for d in record.drafted
    ]
    emitted = [
        _token(Emitted, _EMITTED_NUMBERS, _emitted_numbers(e), e, p_top=_top(e.p_top), raw=_raw(e.raw))
        for e in record.emitted
    ]
    return _round(record, drafted, emitted)


def _round(record: Any, drafted: list[Drafted], emitted: list[Emitted]) -> Round:
    return _make_round(
        record.index,
        record.start,
        record.k,
        _settings(*msgspec.structs.astuple(record.settings)),
        tuple(drafted),
        tuple(emitted),
        *_round_numbers(record),
        Timing(*msgspec.structs.astuple(record.timing)),
        record.stop,
        None if record.path is None else tuple(record.path),
    )


def _top(entries: Any) -> Top:
    return tuple([Candidate(id, hex_bytes(data), prob) for id, data, prob in entries])


def _raw(raw: Any) -> Raw | None:
    return None if raw is None else _make_raw(*_raw_numbers(raw), _top(raw.p_top), _top(raw.q_top))


def _detail(raw: msgspec.Raw) -> Mapping[str, Any]:
    data = bytes(raw)
    return _NO_DETAIL if data == b"{}" else free_part(json.loads(data))


@lru_cache(256, typed=True)
def _settings(*values: Any) -> Settings:
    """One object for all the rounds that ran under the same settings."""
    return Settings(*values)
