"""The rounds of a run of any length: the latest ones whole in memory, the others read back from a file."""

import threading
from array import array
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import BinaryIO, overload

from specviz.core.errors import SpecvizError
from specviz.core.events import Round
from specviz.core.safe_text import visible_path
from specviz.trace.jsonl import load_line
from specviz.trace.refusal import BadLine

CACHE_SIZE = 256
"""Whole rounds cached in memory, in addition to those not yet on disk; a round takes about 20 kB at K = 4."""


class RoundFile:
    """A file of lines, and the offset of each round's line in it. One thread adds, any may read back. ``name`` is the
    name of the file in errors."""

    def __init__(self, file: BinaryIO, name: str | Path) -> None:
        self.lock = threading.Lock()
        self._file = file
        self._name = visible_path(name)
        self._offsets = array("Q")
        self.read_error: str | None = None
        """The first round that could not be read back, in a sentence."""

    def __len__(self) -> int:
        return len(self._offsets)

    def add(self, offset: int) -> None:
        """The next round's line begins at byte ``offset``."""
        self._offsets.append(offset)

    def round(self, index: int, *, compact: bool = False) -> Round:
        """The round at ``index`` (0-based). Raises SpecvizError if it can no longer be read."""
        begin, end = self._offsets[index], self._offsets[index + 1] if index + 1 < len(self._offsets) else None
        with self.lock:
            try:
                self._file.seek(begin)
                line = self._file.readline(-1 if end is None else end - begin)
            except (OSError, ValueError):
                line = b""
        try:
            event = load_line(line, compact=compact)
        except BadLine:
            event = None
        if not isinstance(event, Round) or event.index != index + 1:
            message = f"{self._name}: round {index + 1} cannot be read back: the file was changed while it was shown."
            self.read_error = self.read_error or message
            raise SpecvizError(message)
        return event

    def close(self) -> None:
        with self.lock:
            self._file.close()


class RoundStore(Sequence[Round]):
    """Rounds in order. Indexing reads one whole round back from disk; ``iter_compact`` reads many. Without ``lines``
    all rounds stay in memory. ``compact``: appended rounds lack their top lists and are in ``lines``, so none is kept.
    Every method may be called from any thread."""

    def __init__(self, lines: RoundFile | None = None, *, compact: bool = False, cache_size: int = CACHE_SIZE) -> None:
        self._lines = lines
        self._cache_size = cache_size
        self._bare = compact
        self._lock = threading.Lock()
        self._count = 0
        self._recent: OrderedDict[int, Round] = OrderedDict()
        self._unspilled: dict[int, Round] = {}

    @property
    def read_error(self) -> str | None:
        """Why not all of them can be had any more; None as long as nothing says so."""
        return self._lines.read_error if self._lines else None

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
            return [self[index] for index in range(*at.indices(self._count))]
        index = at + self._count if at < 0 else at
        if not 0 <= index < self._count:
            raise IndexError(at)
        round = self._in_memory(index)
        if round is None:
            round = self._read(index)
        with self._lock:
            if index not in self._unspilled:
                self._keep(index, round)
        return round

    def __iter__(self) -> Iterator[Round]:
        for index in range(self._count):
            yield self._in_memory(index) or self._read(index)

    def iter_compact(self, start: int = 0) -> Iterator[Round]:
        """The rounds from ``start`` (0-based) on, those read back without their lists."""
        index = start
        while index < self._count:
            yield self._in_memory(index) or self._read(index, compact=True)
            index += 1

    def _in_memory(self, index: int) -> Round | None:
        return self._recent.get(index) or self._unspilled.get(index)

    def _read(self, index: int, *, compact: bool = False) -> Round:
        assert self._lines is not None
        return self._lines.round(index, compact=compact)

    def _keep(self, index: int, round: Round) -> None:
        """Keep a round; the least recently used one is dropped, unless it is stored nowhere else."""
        self._recent[index] = round
        self._recent.move_to_end(index)
        if len(self._recent) > self._cache_size:
            oldest = next(iter(self._recent))
            if self._lines is None or oldest >= len(self._lines):
                self._unspilled[oldest] = self._recent[oldest]
            del self._recent[oldest]
