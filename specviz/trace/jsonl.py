"""Events as JSON Lines, and back: the schema "specviz-trace", version 1.

A field of an event is a key of its line. Written: strict ASCII JSON, undefined and non-finite numbers as null,
probabilities of top lists at six significant digits, everything else at round-trip precision. Read: every field
checked for type and range, so what comes out of a file is as safe to work with as a live run.
"""

import json
import re
import stat
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

from specviz.core.errors import SpecvizError
from specviz.core.events import Calibration, End, Event, Header, Round
from specviz.core.gc_paused import nothing_collected
from specviz.core.invariants import contradiction, inconsistency
from specviz.core.rule import RULES
from specviz.core.safe_text import visible
from specviz.trace.quick import quick_round
from specviz.trace.schema import BadLine, check_entry, from_json, quote, to_json

SCHEMA = "specviz-trace"
VERSION = 1
Recorded = Header | Calibration | Round | End
_TYPES: dict[str, type[Recorded]] = {"header": Header, "calibration": Calibration, "round": Round, "end": End}
_NAMES: dict[type, str] = {event: name for name, event in _TYPES.items()}

_CONFIG: dict[str, Any] = {
    **dict.fromkeys(("draft", "target", "device", "dtype", "attention"), str),
    **dict.fromkeys(("seed", "max_new_tokens", "threads"), int),
    **dict.fromkeys(("stop", "notes"), tuple[str, ...]),
    "special_ids": tuple[int, ...],
}
"""Entries of the configuration that are worked with; the others are only shown."""


class CutLine(BadLine):
    """A line that stops in the middle of its record."""


@dataclass(frozen=True, slots=True)
class Trace:
    """A recorded run. ``end`` is None where the recording stops without one; ``incomplete``: its last line is cut."""

    header: Header
    calibration: Calibration | None
    rounds: tuple[Round, ...]
    end: End | None
    incomplete: bool = False


def dump(event: Event, summary: Mapping[str, Any] | None = None) -> str | None:
    """The event's line, without the line break; None for events a trace does not hold. ``summary`` goes with End."""
    name = _NAMES.get(type(event))
    if name is None:
        return None
    line: dict[str, Any] = {"type": name}
    if isinstance(event, Header):
        line |= {"schema": SCHEMA, "version": VERSION}
    line |= to_json(event)
    if isinstance(event, End):
        line["summary"] = to_json(summary)
    return json.dumps(line, allow_nan=False)


def load_line(line: bytes, *, bare: bool = False) -> Recorded:
    """The event of a line. Raises BadLine; CutLine where the line is the beginning of a record.

    ``bare``: a round without its top lists, raw distributions and details; they are checked all the same.
    """
    quick = quick_round(line, bare=bare)
    event = quick or _load_carefully(line)
    if isinstance(event, Round):
        _check_round(event)
        if not bare:
            return _sharing(event)
        return quick or bared(event)
    return event


def _load_carefully(line: bytes) -> Recorded:
    record = _parse(line)
    kind = record.get("type")
    if not isinstance(kind, str) or kind not in _TYPES:
        raise BadLine(f"its type must be one of {', '.join(_TYPES)}, not {quote(kind)}")
    if kind == "header":
        _check_schema(record)
    if kind == "end":
        check_entry(record, "summary", Mapping[str, Any] | None)
    event: Recorded = from_json(_TYPES[kind], record)
    if isinstance(event, Header):
        for name in event.config.keys() & _CONFIG:
            check_entry(record["config"], name, _CONFIG[name] | None, "config")
    return event


class Placed(NamedTuple):
    """A record of a file: where its line begins, in bytes, and what it says; None where it is cut off."""

    offset: int
    event: Recorded | None


def records(path: Path, name: str | None = None, *, bare: bool = False) -> Iterator[Placed]:
    """The records in ``path``, called ``name`` in errors, one by one, each checked when its turn comes.

    Only the last one may be cut off. Raises SpecvizError, one sentence with the file and the line, at whatever is no
    whole trace. ``bare`` as for ``load_line``.
    """
    name = visible(str(name or path).encode("utf-8", "surrogateescape"))
    order = _Order()
    for number, (offset, line, is_last) in enumerate(_lines(path, name), 1):
        try:
            event = order.next(line, bare=bare)
        except CutLine as cut:
            if order.begun and is_last:
                yield Placed(offset, None)
                return
            raise SpecvizError(f"{name}, line {number}: {cut}.") from None
        except BadLine as bad:
            hint = "not a specviz trace: " if number == 1 and not isinstance(bad, _NewerVersion) else ""
            raise SpecvizError(f"{name}, line {number}: {hint}{bad}.") from None
        yield Placed(offset, event)
    if not order.begun:
        raise SpecvizError(f"{name}, line 1: not a specviz trace: the file is empty.")


def read(path: Path, name: str | None = None, *, bare: bool = False) -> Trace:
    """The whole recorded run in ``path``; errors and ``bare`` as for ``records``."""
    header: Header | None = None
    calibration: Calibration | None = None
    rounds: list[Round] = []
    end: End | None = None
    incomplete = False
    with nothing_collected():
        for _, event in records(path, name, bare=bare):
            match event:
                case Header():
                    header = event
                case Calibration():
                    calibration = event
                case Round():
                    rounds.append(event)
                case End():
                    end = event
                case None:
                    incomplete = True
    assert header is not None
    return Trace(header, calibration, tuple(rounds), end, incomplete)


class _Order:
    """Which record may follow which."""

    def __init__(self) -> None:
        self.begun = self._calibrated = self._ended = False
        self._rounds = 0
        self._stopped = False

    def next(self, line: bytes, *, bare: bool) -> Recorded:
        """The event of the line that comes next. Raises BadLine where it has no place there."""
        if self._ended:
            raise BadLine("a record stands behind the end")
        event = load_line(line, bare=bare)
        if isinstance(event, Header) == self.begun:
            raise BadLine("a second header" if self.begun else "a trace begins with its header")
        self.begun = True
        match event:
            case Calibration():
                if self._calibrated:
                    raise BadLine("a second calibration")
                self._calibrated = True
            case Round():
                self._take_round(event)
            case End():
                self._ended = True
        return event

    def _take_round(self, event: Round) -> None:
        if event.index != self._rounds + 1:
            raise BadLine(f"round {event.index} stands where round {self._rounds + 1} belongs")
        if self._stopped:
            raise BadLine(f"round {event.index} stands behind the round that ended the text")
        self._rounds += 1
        self._stopped = event.stop is not None


class _NewerVersion(BadLine):
    pass


def _lines(path: Path, name: str) -> Iterator[tuple[int, bytes, bool]]:
    """Where each line begins, the line without its break, and whether it is the last one; blank space at the end of the
    file is no line."""
    try:
        mode = path.stat().st_mode
        if stat.S_ISDIR(mode):
            raise SpecvizError(f"{name} is a folder, not a trace: name a .jsonl file in it.")
        if stat.S_ISCHR(mode) or stat.S_ISBLK(mode):
            raise SpecvizError(f"{name} is a device, not a trace.")
        with path.open("rb") as file:
            held: list[tuple[int, bytes]] = []
            offset = 0
            for line in file:
                if line.strip():
                    yield from ((at, before, False) for at, before in held)
                    held.clear()
                held.append((offset, line.rstrip(b"\n")))
                offset += len(line)
            if held and held[0][1].strip():
                yield held[0][0], held[0][1].rstrip(), True
    except FileNotFoundError:
        raise SpecvizError(f"{name}: there is no such file.") from None
    except PermissionError:
        raise SpecvizError(f"{name}: no permission to read it.") from None
    except (OSError, ValueError) as error:
        raise SpecvizError(f"{name} cannot be read: {getattr(error, 'strerror', None) or error}.") from None


def _parse(line: bytes) -> dict[str, Any]:
    if not line.strip():
        raise BadLine("the line is blank")
    try:
        text = line.decode("utf-8").strip()
    except UnicodeDecodeError as error:
        if line.startswith(b"{") and error.reason == "unexpected end of data":
            raise CutLine("the record is cut off") from None
        raise BadLine("not text in UTF-8") from None
    try:
        record = json.loads(text, parse_constant=_no_constant)
    except json.JSONDecodeError as error:
        if _is_cut(text, error):
            raise CutLine("the record is cut off") from None
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


def _is_cut(text: str, error: json.JSONDecodeError) -> bool:
    """Whether ``text`` fails only because it stops: it is the beginning of some object."""
    return text.startswith("{") and (
        error.msg.startswith("Unterminated string") or _OPEN_ENDED.fullmatch(text, error.pos) is not None
    )


def _check_schema(record: dict[str, Any]) -> None:
    schema, version = record.get("schema"), record.get("version")
    if schema != SCHEMA:
        raise BadLine(f"its schema must be {SCHEMA}, not {quote(schema)}")
    if type(version) is int and version > VERSION:
        raise _NewerVersion(f"trace version {quote(version)}, but this specviz reads version {VERSION}: update specviz")
    if type(version) is not int or version != VERSION:
        raise BadLine(f"its version must be {VERSION}, not {quote(version)}")


def bared(event: Round) -> Round:
    """The round without its top lists, raw distributions and details: what numbers, text and conditions need."""
    return replace(
        event,
        drafted=tuple(replace(d, p_top=(), q_top=(), residual_top=(), raw=None, detail={}) for d in event.drafted),
        emitted=tuple(replace(e, p_top=(), raw=None) for e in event.emitted),
    )


def _sharing(event: Round) -> Round:
    """The round with one object for the list that an accepted token has twice: as drafted and as emitted."""
    pairs = zip(event.emitted, (d.p_top for d in event.drafted[: event.n_accepted]), strict=False)
    shared = tuple(replace(token, p_top=top) if token.p_top == top else token for token, top in pairs)
    return replace(event, emitted=(*shared, *event.emitted[len(shared) :]))


def _check_round(event: Round) -> None:
    """Raise BadLine for what no round can be."""
    if problem := inconsistency(event) or contradiction(event):
        raise BadLine(problem)
    rules = (*RULES, "typical")
    if event.settings.rule not in rules:
        raise BadLine(f"settings.rule must be one of {', '.join(rules)}, not {quote(event.settings.rule)}")
