"""The rounds of a run of any length: the latest ones whole in memory, the others read back from where they stand."""

import threading
from array import array
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import BinaryIO, overload

from specviz.core.errors import SpecvizError
from specviz.core.events import Round
from specviz.core.safe_text import visible
from specviz.trace.codec import BadLine
from specviz.trace.jsonl import load_line

KEPT = 256
"""Whole rounds in memory besides those that stand nowhere else; a round is some 20 kB at K = 4."""


class RoundLines:
    """A file of lines, and where each round's line begins in it. One thread adds, any may read back.

    ``name`` is what the file is called where it cannot be read back.
    """

    def __init__(self, file: BinaryIO, name: str | Path) -> None:
        self.lock = threading.Lock()
        self._file = file
        self._name = visible(str(name).encode("utf-8", "surrogateescape"))
        self._offsets = array("Q")
        self.trouble: str | None = None
        """The first round that could not be read back, in a sentence."""

    def __len__(self) -> int:
        return len(self._offsets)

    def add(self, offset: int) -> None:
        """The next round's line begins at byte ``offset``."""
        self._offsets.append(offset)

    def round(self, place: int, *, bare: bool = False) -> Round:
        """The round that was added at ``place`` (0-based). Raises SpecvizError where it is not there any more."""
        begin, end = self._offsets[place], self._offsets[place + 1] if place + 1 < len(self._offsets) else None
        with self.lock:
            try:
                self._file.seek(begin)
                line = self._file.readline(-1 if end is None else end - begin)
            except (OSError, ValueError):
                line = b""
        try:
            event = load_line(line, bare=bare)
        except BadLine:
            event = None
        if not isinstance(event, Round) or event.index != place + 1:
            words = f"{self._name}: round {place + 1} cannot be read back: the file was changed while it was shown."
            self.trouble = self.trouble or words
            raise SpecvizError(words)
        return event

    def close(self) -> None:
        with self.lock:
            self._file.close()


class Rounds(Sequence[Round]):
    """Rounds in the order they came. Whole ones are read back one at a time; ``scan`` is the way through many.

    Without ``lines`` all are kept. ``bare``: what is appended lacks its lists and stands in ``lines``, so that none of
    it is kept. Every method may be called from any thread.
    """

    def __init__(self, lines: RoundLines | None = None, *, bare: bool = False) -> None:
        self._lines = lines
        self._bare = bare
        self._lock = threading.Lock()
        self._count = 0
        self._recent: OrderedDict[int, Round] = OrderedDict()
        self._only_here: dict[int, Round] = {}

    @property
    def trouble(self) -> str | None:
        """Why not all of them can be had any more; None as long as nothing says so."""
        return self._lines.trouble if self._lines else None

    def append(self, round: Round, position: int | None = None) -> None:
        """Add a round. Readers that share a store append each round they see, at its ``position`` (0-based): the first
        one adds it, the others change nothing."""
        with self._lock:
            if position is None or position == self._count:
                if not self._bare:
                    self._keep(self._count, round)
                self._count += 1

    def __len__(self) -> int:
        return self._count

    @overload
    def __getitem__(self, at: int) -> Round: ...
    @overload
    def __getitem__(self, at: slice) -> list[Round]: ...
    def __getitem__(self, at: int | slice) -> Round | list[Round]:
        if isinstance(at, slice):
            return [self[place] for place in range(*at.indices(self._count))]
        place = at + self._count if at < 0 else at
        if not 0 <= place < self._count:
            raise IndexError(at)
        round = self._in_memory(place)
        if round is None:
            round = self._read(place)
        with self._lock:
            if place not in self._only_here:
                self._keep(place, round)
        return round

    def __iter__(self) -> Iterator[Round]:
        for place in range(self._count):
            yield self._in_memory(place) or self._read(place)

    def scan(self, start: int = 0) -> Iterator[Round]:
        """The rounds from ``start`` (0-based) on, those read back without their lists."""
        place = start
        while place < self._count:
            yield self._in_memory(place) or self._read(place, bare=True)
            place += 1

    def _in_memory(self, place: int) -> Round | None:
        return self._recent.get(place) or self._only_here.get(place)

    def _read(self, place: int, *, bare: bool = False) -> Round:
        assert self._lines is not None
        return self._lines.round(place, bare=bare)

    def _keep(self, place: int, round: Round) -> None:
        """Keep a round; the one longest out of use goes, unless it stands nowhere else."""
        self._recent[place] = round
        self._recent.move_to_end(place)
        if len(self._recent) > KEPT:
            oldest = next(iter(self._recent))
            if self._lines is None or oldest >= len(self._lines):
                self._only_here[oldest] = self._recent[oldest]
            del self._recent[oldest]
