"""Rankings of drafted tokens, and what rejections cost."""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, NamedTuple, TypeVar, overload

import numpy as np
from numpy.typing import NDArray

from specviz.core.events import Round, Verdict
from specviz.stats.draft_table import REJECTED, VERDICTS, DraftRange, DraftTable, Rank, TokenCounts

Drafts = DraftRange | DraftTable | Iterable[Round]
T = TypeVar("T")


class LazyRanking(Sequence[T], Generic[T]):
    """The first entries of a ranking, each made on access. ``keys`` identify the entries, whatever range of the table
    is ranked; ``total``: entries of the whole ranking."""

    def __init__(self, keys: NDArray[np.int64], total: int, make: Callable[[int], T]) -> None:
        """``make``: index -> entry."""
        self.keys = keys
        self.total = total
        self._make = make

    def __len__(self) -> int:
        return len(self.keys)

    @overload
    def __getitem__(self, index: int) -> T: ...
    @overload
    def __getitem__(self, index: slice) -> list[T]: ...
    def __getitem__(self, index: int | slice) -> T | list[T]:
        if isinstance(index, slice):
            return [self._make(i) for i in range(*index.indices(len(self)))]
        return self._make(range(len(self))[index])


class DraftedRow(NamedTuple):
    """A drafted token: its round (1-based), its row in it (0-based) and the numbers of its test. ``ratio`` = p / q,
    None if q is 0. ``overlap``: match under the equality rule. ``lost``: ``expected_tokens_lost`` by its rejection,
    None for other verdicts. What was not measured is None."""

    round: int
    row: int
    id: int | None
    bytes: bytes | None
    verdict: Verdict
    p: float | None
    q: float | None
    ratio: float | None
    overlap: float | None
    u: float | None
    accept_prob: float | None
    lost: float | None


@dataclass(frozen=True, slots=True)
class RejectedId:
    """How often an id was drafted, tested and rejected, and the tokens ``lost`` by all its rejections."""

    id: int
    bytes: bytes
    drafted: int
    tested: int
    rejected: int
    lost: float


def top_rows(drafts: Drafts, rank: Rank, limit: int) -> LazyRanking[DraftedRow]:
    """The first ``limit`` tested tokens by ``rank``, ties in the order of drafting, without those that lack its
    number."""
    selected = range_of(drafts)
    table, indices = selected.table, selected.top(rank, limit)
    return LazyRanking(indices, selected.count(rank), lambda i: drafted_row(table, *table.rows[indices[i]].item()))


def top_ids(drafts: Drafts, limit: int | None = None) -> LazyRanking[RejectedId]:
    """The first ``limit`` rejected ids: most rejections first, then most tokens lost, then the lower id."""
    selected = range_of(drafts)
    tokens, counts = selected.table.tokens, selected.token_counts()
    rejected = np.flatnonzero(counts["rejected"])
    ids = np.array([tokens[index][0] for index in rejected.tolist()], np.int64)
    order = np.lexsort((ids, -counts["lost"][rejected], -counts["rejected"][rejected]))[:limit]
    indices = rejected[order]
    shown: TokenCounts = counts[indices]
    return LazyRanking(indices, len(rejected), lambda i: RejectedId(*tokens[indices[i]], *shown[i].item()))


def costliest_rejection(drafts: Drafts, key: int) -> tuple[int, int]:
    """(round, row) of the rejection of an id that cost most, the earliest of equals; ``key``: from ``top_ids``."""
    rows = range_of(drafts).rows
    rows = rows[(rows["token"] == key) & (rows["verdict"] == REJECTED)]
    costliest = rows[np.nan_to_num(rows["lost"]).argmax()]
    return int(costliest["round"]), int(costliest["row"])


def overlap_histogram(drafts: Drafts) -> tuple[int, ...]:
    """The number of tested positions with b / 10 <= overlap < (b + 1) / 10 for each bin b; 1 is in the last. Under the
    equality rule it is a histogram of match."""
    return range_of(drafts).histogram


def adjacent_rejection(drafts: Drafts, at: tuple[int, int], step: int) -> tuple[int, int] | None:
    """(round, row) of the nearest rejected token after ``at`` (``step`` 1) or before it (-1); None if there is none."""
    rows = range_of(drafts).rows
    rows = rows[rows["verdict"] == REJECTED]
    before = (rows["round"] < at[0]) | ((rows["round"] == at[0]) & (rows["row"] < at[1]))
    here = (rows["round"] == at[0]) & (rows["row"] == at[1])
    index = int(before.sum()) - 1 if step < 0 else int((before | here).sum())
    return (int(rows["round"][index]), int(rows["row"][index])) if 0 <= index < len(rows) else None


def next_lowest_overlap(drafts: Drafts, at: tuple[int, int]) -> tuple[int, int] | None:
    """(round, row) of the tested position that follows ``at`` in the order of overlap, ties in the order of drafting.
    The lowest of all after the last one and where ``at`` is not a tested position; None if none was tested with its
    overlap measured."""
    rows = range_of(drafts).rows
    rows = rows[(rows["verdict"] <= REJECTED) & ~np.isnan(rows["overlap"])]
    if not len(rows):
        return None
    overlap = rows["overlap"]
    here = np.flatnonzero((rows["round"] == at[0]) & (rows["row"] == at[1]))
    following = np.zeros(0, np.int64)
    if len(here):
        current, value = int(here[0]), overlap[here[0]]
        following = np.flatnonzero((overlap > value) | ((overlap == value) & (np.arange(len(rows)) > current)))
    index = following[overlap[following].argmin()] if len(following) else overlap.argmin()
    return int(rows["round"][index]), int(rows["row"][index])


def range_of(drafts: Drafts) -> DraftRange:
    """Drafts as a range of a table."""
    if isinstance(drafts, DraftRange):
        return drafts
    return (drafts if isinstance(drafts, DraftTable) else DraftTable.of(drafts)).whole


def drafted_row(table: DraftTable, round: int, row: int, token: int, verdict: int, *numbers: float) -> DraftedRow:
    """The row of ``table`` with these values."""
    p, q, _, rule_overlap, u, accept_prob, lost = numbers
    id, data = table.tokens[token] if token >= 0 else (None, None)
    known = map(_defined, (p, q, p / q if q else math.nan, rule_overlap, u, accept_prob, lost))
    return DraftedRow(round, row, id, data, VERDICTS[verdict], *known)


def _defined(value: Any) -> float | None:
    return None if math.isnan(value) else float(value)
