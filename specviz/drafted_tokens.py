"""The drafted tokens of many rounds in an order, and what the rejected ones among them cost."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from specviz.drafted_table import REJECTED, VERDICTS, DraftedTable, tokens_lost
from specviz.events import Round, Verdict

__all__ = [
    "DraftedRow",
    "Drafts",
    "RejectedId",
    "dearest",
    "drafted_rows",
    "overlap_histogram",
    "rejected_ids",
    "tokens_lost",
]

Drafts = DraftedTable | Iterable[Round]
Rank = Literal["ratio", "lost", "overlap"]


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
    table = _table(drafts)
    return _told(table, np.arange(len(table)))


def first_rows(drafts: Drafts, rank: Rank, limit: int) -> tuple[list[DraftedRow], int]:
    """The first ``limit`` tested tokens by lowest p/q, by highest loss or by lowest overlap (match under the equality
    rule), and how many have that number; the others are left out, ties stand as they were drafted."""
    table = _table(drafts)
    values = _ranked(table.rows, rank)
    known = np.flatnonzero((table.rows["verdict"] <= REJECTED) & ~np.isnan(values))
    if len(known) > limit:
        edge = np.partition(values[known], limit - 1)[limit - 1]
        chosen = known[values[known] <= edge]
    else:
        chosen = known
    chosen = chosen[np.argsort(values[chosen], kind="stable")][:limit]
    return _told(table, chosen), len(known)


def _ranked(rows: NDArray[np.void], rank: Rank) -> NDArray[np.float64]:
    values: NDArray[np.float64] = rows["chance"].copy()
    if rank == "lost":
        values = -rows["lost"]
    elif rank == "ratio":
        values = np.divide(rows["p"], rows["q"], out=np.full(len(rows), np.nan), where=rows["q"] != 0)
    return values


def rejected_ids(drafts: Drafts) -> list[RejectedId]:
    """The ids rejected at least once, most often rejected first; then the dearer, then the lower id."""
    table = _table(drafts)
    rows, kinds = table.rows, len(table.tokens)
    rejections = rows[rows["verdict"] == REJECTED]
    lost = np.nan_to_num(rejections["lost"])
    drafted = np.bincount(rows["token"], minlength=kinds)
    tested = np.bincount(rows["token"][rows["verdict"] <= REJECTED], minlength=kinds)
    rejected = np.bincount(rejections["token"], minlength=kinds)
    sums = np.bincount(rejections["token"], lost, minlength=kinds)
    found = [
        RejectedId(*table.tokens[t], int(drafted[t]), int(tested[t]), int(rejected[t]), float(sums[t]))
        for t in np.flatnonzero(rejected).tolist()
    ]
    return sorted(found, key=lambda token: (-token.rejected, -token.lost, token.id))


def dearest(drafts: Drafts) -> dict[int, tuple[int, int]]:
    """(round, row) of each rejected id's most costly rejection, the first one of equals."""
    table = _table(drafts)
    rows = table.rows[table.rows["verdict"] == REJECTED]
    rows = rows[np.argsort(-np.nan_to_num(rows["lost"]), kind="stable")]
    tokens, firsts = np.unique(rows["token"], return_index=True)
    places = zip(rows["round"][firsts].tolist(), rows["row"][firsts].tolist(), strict=True)
    return {table.tokens[token][0]: place for token, place in zip(tokens.tolist(), places, strict=True)}


def overlap_histogram(drafts: Drafts, bins: int = 10) -> tuple[int, ...]:
    """How many tested positions have b / bins <= overlap < (b + 1) / bins, for each bin b; 1 belongs to the last.

    Under the equality rule match stands for overlap.
    """
    rows = _table(drafts).rows
    bin_of = np.minimum((rows["chance"][rows["verdict"] <= REJECTED] * bins).astype(np.int64), bins - 1)
    return tuple(np.bincount(bin_of, minlength=bins).tolist())


def rejected_beside(drafts: Drafts, at: tuple[int, int], step: int) -> tuple[int, int] | None:
    """(round, row) of the first rejected token behind ``at`` (``step`` 1) or before it (-1); None: there is none."""
    rows = _table(drafts).rows
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
    rows = _table(drafts).rows
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


def _table(drafts: Drafts) -> DraftedTable:
    return drafts if isinstance(drafts, DraftedTable) else DraftedTable.of(drafts)


def _told(table: DraftedTable, places: NDArray[np.int64]) -> list[DraftedRow]:
    return [_row(table, *values) for values in table.rows[places].tolist()]


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
