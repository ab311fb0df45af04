"""The drafted tokens of many rounds in an order, and what the rejected ones among them cost."""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, NamedTuple, TypeVar, overload

import numpy as np
from numpy.typing import NDArray

from specviz.core.events import Round, Verdict
from specviz.stats.drafted import REJECTED, VERDICTS, Rank
from specviz.stats.drafted_table import DraftedPart, DraftedTable
from specviz.stats.token_counts import TokenNumbers

Drafts = DraftedPart | DraftedTable | Iterable[Round]
T = TypeVar("T")


class First(Sequence[T], Generic[T]):
    """The first of an order, each told when it is asked for; ``total``: how many have a place in it.

    ``keys``: what each of them is about; the same in any part of a table.
    """

    def __init__(self, keys: NDArray[np.int64], total: int, tell: Callable[[int], T]) -> None:
        """``tell``: index -> what stands there."""
        self.keys = keys
        self.total = total
        self._tell = tell

    def __len__(self) -> int:
        return len(self.keys)

    @overload
    def __getitem__(self, at: int) -> T: ...
    @overload
    def __getitem__(self, at: slice) -> list[T]: ...
    def __getitem__(self, at: int | slice) -> T | list[T]:
        if isinstance(at, slice):
            return [self._tell(index) for index in range(*at.indices(len(self)))]
        return self._tell(range(len(self))[at])


class DraftedRow(NamedTuple):
    """A drafted token: round (1-based), its row there (0-based), and the numbers of its test.

    ``ratio`` = p / q, None where q is 0. ``overlap``: match under the equality rule. ``lost``: what its rejection cost
    (``tokens_lost``), None for others.
    """

    round: int
    row: int
    id: int
    bytes: bytes
    verdict: Verdict
    p: float
    q: float
    ratio: float | None
    overlap: float
    u: float
    accept_prob: float | None
    lost: float | None


@dataclass(frozen=True, slots=True)
class RejectedId:
    """An id that was rejected: how often drafted, tested and rejected; ``lost``: tokens, over all its rejections."""

    id: int
    bytes: bytes
    drafted: int
    tested: int
    rejected: int
    lost: float


def drafted_rows(drafts: Drafts) -> list[DraftedRow]:
    """A row for every drafted token, in order."""
    part = part_of(drafts)
    return [_row(part.table, *values) for values in part.rows.tolist()]


def first_rows(drafts: Drafts, rank: Rank, limit: int) -> First[DraftedRow]:
    """The first ``limit`` tested tokens of an order; those without its number are left out, ties stand as they were
    drafted."""
    part = part_of(drafts)
    table, places = part.table, part.first(rank, limit)
    return First(places, part.count(rank), lambda at: _row(table, *table.rows[places[at]].item()))


def first_ids(drafts: Drafts, limit: int | None = None) -> First[RejectedId]:
    """The first ``limit`` ids rejected at least once, most often rejected first; then the dearer, then the lower id."""
    part = part_of(drafts)
    tokens, numbers = part.table.tokens, part.token_numbers()
    found = np.flatnonzero(numbers["rejected"])
    ids = np.array([tokens[place][0] for place in found.tolist()], np.int64)
    order = np.lexsort((ids, -numbers["lost"][found], -numbers["rejected"][found]))[:limit]
    places = found[order]
    shown: TokenNumbers = numbers[places]
    return First(places, len(found), lambda at: RejectedId(*tokens[places[at]], *shown[at].item()))


def rejected_ids(drafts: Drafts) -> list[RejectedId]:
    """All of ``first_ids``."""
    return list(first_ids(drafts))


def dearest(drafts: Drafts, key: int) -> tuple[int, int]:
    """(round, row) of the most costly rejection of an id by its key in ``first_ids``, the first one of equals."""
    rows = part_of(drafts).rows
    rows = rows[(rows["token"] == key) & (rows["verdict"] == REJECTED)]
    found = rows[np.nan_to_num(rows["lost"]).argmax()]
    return int(found["round"]), int(found["row"])


def overlap_histogram(drafts: Drafts) -> tuple[int, ...]:
    """How many tested positions have b / 10 <= overlap < (b + 1) / 10, for each bin b; 1 belongs to the last.

    Under the equality rule match stands for overlap.
    """
    return part_of(drafts).histogram


def rejected_beside(drafts: Drafts, at: tuple[int, int], step: int) -> tuple[int, int] | None:
    """(round, row) of the first rejected token behind ``at`` (``step`` 1) or before it (-1); None: there is none."""
    rows = part_of(drafts).rows
    rows = rows[rows["verdict"] == REJECTED]
    rounds, places = rows["round"], rows["row"]
    before = (rounds < at[0]) | ((rounds == at[0]) & (places < at[1]))
    here = (rounds == at[0]) & (places == at[1])
    found = int(before.sum()) - 1 if step < 0 else int((before | here).sum())
    return (int(rounds[found]), int(places[found])) if 0 <= found < len(rows) else None


def worst_tested(drafts: Drafts, at: tuple[int, int]) -> tuple[int, int] | None:
    """(round, row) of the tested position with the least overlap behind ``at`` in the order of overlap, earlier ones
    first among equals; behind the last, and where ``at`` is no tested position, the worst of all. None: none was
    tested."""
    rows = part_of(drafts).rows
    rows = rows[rows["verdict"] <= REJECTED]
    if not len(rows):
        return None
    overlap = rows["overlap"]
    here = np.flatnonzero((rows["round"] == at[0]) & (rows["row"] == at[1]))
    behind = np.zeros(0, np.int64)
    if len(here):
        index, value = int(here[0]), overlap[here[0]]
        behind = np.flatnonzero((overlap > value) | ((overlap == value) & (np.arange(len(rows)) > index)))
    best = behind[overlap[behind].argmin()] if len(behind) else overlap.argmin()
    return int(rows["round"][best]), int(rows["row"][best])


def part_of(drafts: Drafts) -> DraftedPart:
    """Drafts as a part of a table."""
    if isinstance(drafts, DraftedPart):
        return drafts
    return (drafts if isinstance(drafts, DraftedTable) else DraftedTable.of(drafts)).whole


def _row(table: DraftedTable, round: int, row: int, token: int, verdict: int, *numbers: float) -> DraftedRow:
    p, q, _overlap, chance, u, accept_prob, lost = numbers
    return DraftedRow(
        round,
        row,
        *table.tokens[token],
        VERDICTS[verdict],
        p,
        q,
        p / q if q else None,
        chance,
        u,
        _defined(accept_prob),
        _defined(lost),
    )


def _defined(value: Any) -> float | None:
    return None if math.isnan(value) else float(value)
