"""Events as JSON Lines, and back: the schema "specviz-trace", version 1.

A field of an event is a key of its line. Written: strict ASCII JSON, undefined and non-finite numbers as null,
probabilities of top lists at six significant digits, everything else at round-trip precision. Read: every field
checked for type and range, so the contents of a file are as safe to use as a live run.
"""

import stat
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

from specviz.core.errors import SpecvizError
from specviz.core.events import Calibration, End, Header, Round
from specviz.core.gc_paused import nothing_collected
from specviz.core.invariants import contradiction, inconsistency
from specviz.core.rule import RULES
from specviz.core.safe_text import visible_path
from specviz.trace.codec import Recorded, decode
from specviz.trace.refusal import BadLine, NewerVersion, TruncatedLine, quote


@dataclass(frozen=True, slots=True)
class Trace:
    """A recorded run. ``end`` is None where the recording stops without one; ``incomplete``: its last line is cut."""

    header: Header
    calibrations: tuple[Calibration, ...]
    rounds: tuple[Round, ...]
    end: End | None
    incomplete: bool = False


def load_line(line: bytes, *, compact: bool = False) -> Recorded:
    """The event of a line. Raises BadLine; TruncatedLine where the line is the beginning of a record. ``compact``: a
    round without its top lists, raw distributions and details; they are checked all the same."""
    event = decode(line, compact=compact)
    if isinstance(event, Round):
        _check_round(event)
        return event if compact else _share_top_lists(event)
    return event


class Record(NamedTuple):
    """A record of a file: where its line begins, in bytes, and what it says; None where it is cut off."""

    offset: int
    event: Recorded | None


def records(path: Path, name: str | None = None, *, compact: bool = False) -> Iterator[Record]:
    """The records in ``path``, called ``name`` in errors, one by one, each checked as it is read. Only the last one may
    be cut off. Raises SpecvizError, one sentence with the file and the line, at whatever is no whole trace. ``compact``
    as for ``load_line``."""
    name = visible_path(name or path)
    order = _RecordOrder()
    for number, (offset, line, is_last) in enumerate(_lines(path, name), 1):
        try:
            event = order.next(line, compact=compact)
        except TruncatedLine as cut:
            if order.begun and is_last:
                yield Record(offset, None)
                return
            raise SpecvizError(f"{name}, line {number}: {cut}.") from None
        except BadLine as bad:
            hint = "not a specviz trace: " if number == 1 and not isinstance(bad, NewerVersion) else ""
            raise SpecvizError(f"{name}, line {number}: {hint}{bad}.") from None
        yield Record(offset, event)
    if not order.begun:
        raise SpecvizError(f"{name}, line 1: not a specviz trace: the file is empty.")


def read(path: Path, name: str | None = None, *, compact: bool = False) -> Trace:
    """The whole recorded run in ``path``; errors and ``compact`` as for ``records``."""
    header: Header | None = None
    calibrations: list[Calibration] = []
    rounds: list[Round] = []
    end: End | None = None
    incomplete = False
    with nothing_collected():
        for _, event in records(path, name, compact=compact):
            match event:
                case Header():
                    header = event
                case Calibration():
                    calibrations.append(event)
                case Round():
                    rounds.append(event)
                case End():
                    end = event
                case None:
                    incomplete = True
    assert header is not None
    return Trace(header, tuple(calibrations), tuple(rounds), end, incomplete)


class _RecordOrder:
    """Which record may follow which."""

    def __init__(self) -> None:
        self.begun = self._ended = False
        self._rounds = 0
        self._stopped = False

    def next(self, line: bytes, *, compact: bool) -> Recorded:
        """The event of the next line. Raises BadLine if it may not follow the lines before it."""
        if self._ended:
            raise BadLine("a record follows the end record")
        event = load_line(line, compact=compact)
        if isinstance(event, Header) == self.begun:
            raise BadLine("a second header" if self.begun else "a trace begins with its header")
        self.begun = True
        match event:
            case Round():
                self._take_round(event)
            case End():
                self._ended = True
        return event

    def _take_round(self, event: Round) -> None:
        if event.index != self._rounds + 1:
            raise BadLine(f"found round {event.index}, expected round {self._rounds + 1}")
        if self._stopped:
            raise BadLine(f"round {event.index} follows the round that ended the text")
        self._rounds += 1
        self._stopped = event.stop is not None


def _lines(path: Path, name: str) -> Iterator[tuple[int, bytes, bool]]:
    """Where each line begins, the line without its break, and whether it is the last one; blank space at the end of the
    file is not a line."""
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


def _share_top_lists(event: Round) -> Round:
    """The round with one object for the list that an accepted token has twice: as drafted and as emitted."""
    pairs = zip(event.emitted, (d.p_top for d in event.accepted_tokens), strict=False)
    shared = tuple(replace(token, p_top=top) if token.p_top == top else token for token, top in pairs)
    return replace(event, emitted=(*shared, *event.emitted[len(shared) :]))


def _check_round(event: Round) -> None:
    """Raise BadLine for what no round can be."""
    if problem := inconsistency(event) or contradiction(event):
        raise BadLine(problem)
    rules = (*RULES, "typical")
    if event.settings.rule not in rules:
        raise BadLine(f"settings.rule must be one of {', '.join(rules)}, not {quote(event.settings.rule)}")
