"""Every drafted token of a run as a row of numbers: small enough to keep for any number of rounds."""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal, Self

import numpy as np
from numpy.typing import NDArray

from specviz.core.events import Round, Verdict
from specviz.core.rule import rule_of
from specviz.stats.incremental import IncrementalTopN, Indices

DRAFT_DTYPE = np.dtype(
    [
        ("round", np.int32),
        ("row", np.int16),
        ("token", np.int32),
        ("verdict", np.int8),
        *((name, np.float64) for name in ("p", "q", "overlap", "rule_overlap", "u", "accept_prob", "lost")),
    ],
    align=True,
)
"""``round`` is 1-based, ``row`` 0-based; ``token`` is an index into ``DraftTable.tokens`` (-1: an unknown token),
``verdict`` one into VERDICTS. ``rule_overlap`` is ``Rule.overlap_of``. NaN: undefined or not measured. Aligned,
so that a column is searched in place."""
Rows = NDArray[np.void]
VERDICTS: tuple[Verdict, ...] = ("accepted", "rejected", "untested", "ignored")
REJECTED = 1
"""Tested tokens have this code or a lower one."""
_CODES = {verdict: code for code, verdict in enumerate(VERDICTS)}
Rank = Literal["ratio", "lost", "overlap"]
"""By lowest p/q, by highest loss, by lowest overlap (match under the equality rule)."""
BINS = 10
Count = Literal["untested", "ratio", "lost", "overlap"]
"""The rows without a test, and those that have the number of each rank."""
COUNTS: dict[Count, int] = {"untested": BINS, "ratio": BINS + 1, "lost": BINS + 2, "overlap": BINS + 3}
"""Their indices in the array of counts, after the bins."""
STRIDE = 256
"""Cumulative counts are kept every so many rows."""
TokenCounts = NDArray[np.void]
"""Indexed like ``DraftTable.tokens``: how often ``drafted``, ``tested`` and ``rejected``, and the tokens ``lost`` by
all its rejections."""
_TOKEN_DTYPE = np.dtype([("drafted", np.int64), ("tested", np.int64), ("rejected", np.int64), ("lost", np.float64)])


def expected_tokens_lost(round: Round) -> float | None:
    """The tokens that the round's rejection cost, expected given what was drafted; None without a rejection. With a_j
    the accept probability of drafted token j itself, a rejection at i of K_r cost 1 + sum_{j > i} prod_{m = i+1..j} a_m
    tokens: the rejected token, the accepted ones among those after it, and the token that ends the round either way.
    None too where the rule gives no probability after the rejection."""
    if not round.n_rejected:
        return None
    rule = rule_of(round.settings.rule)
    lost = reached = 1.0
    for drafted in round.untested_tokens:
        accept_prob = rule.token_accept_prob(drafted)
        if accept_prob is None:
            return None
        reached *= accept_prob
        lost += reached
    return lost


class DraftTable:
    """``rows`` [n] of ``DRAFT_DTYPE`` in the order of drafting; ``tokens``: (id, bytes) of what was drafted."""

    def __init__(self) -> None:
        self._rows: Rows = np.zeros(STRIDE, DRAFT_DTYPE)
        self._size = 0
        self._counts = [count_rows(self._rows[:0])]
        self._top: dict[tuple[Rank, int], IncrementalTopN] = {}
        self._token_counter = _TokenCounter(self._between)
        self.tokens: list[tuple[int, bytes]] = []
        self._token_indices: dict[tuple[int, bytes], int] = {}

    @classmethod
    def of(cls, rounds: Iterable[Round]) -> Self:
        table = cls()
        for round in rounds:
            table.add(round)
        return table

    @property
    def rows(self) -> Rows:
        return self._rows[: self._size]

    def __len__(self) -> int:
        return self._size

    def add(self, round: Round) -> None:
        if self._size + round.k > len(self._rows):
            self._rows = np.concatenate([self._rows, np.zeros(max(len(self._rows), round.k), DRAFT_DTYPE)])
        lost = expected_tokens_lost(round)
        cost = math.nan if lost is None else lost
        self._rows[self._size : self._size + round.k] = [
            _row(round, row, self._token_index(d.id, d.bytes), cost) for row, d in enumerate(round.drafted)
        ]
        self._size += round.k
        while self._size >= (kept := len(self._counts)) * STRIDE:
            self._counts.append(self._counts[-1] + count_rows(self._between((kept - 1) * STRIDE, kept * STRIDE)))

    def _token_index(self, id: int | None, data: bytes | None) -> int:
        if id is None or data is None:
            return -1
        token = id, data
        index = self._token_indices.get(token)
        if index is None:
            index = self._token_indices[token] = len(self.tokens)
            self.tokens.append(token)
        return index

    @property
    def whole(self) -> "DraftRange":
        return DraftRange(self, 0, self._size)

    def between(self, first: int, last: int) -> "DraftRange":
        """What the rounds ``first`` to ``last`` (1-based, inclusive) drafted."""
        begin, end = self.rows["round"].searchsorted(np.array((first, max(first, last + 1)), np.int32)).tolist()
        return DraftRange(self, begin, end)

    def counts_before(self, row: int) -> NDArray[np.int64]:
        """``count_rows`` of the rows before ``row``."""
        kept = row // STRIDE
        return self._counts[kept] + count_rows(self._between(kept * STRIDE, row))

    def top(self, rank: Rank, limit: int) -> IncrementalTopN:
        """The first ``limit`` rows by ``rank``."""
        if (rank, limit) not in self._top:
            self._top[rank, limit] = IncrementalTopN(lambda a, b: _ranked(self._between(a, b), rank), limit)
        return self._top[rank, limit]

    def token_counts(self, begin: int, end: int) -> TokenCounts:
        """The counts of every token over these rows; valid until the next call."""
        return self._token_counter.query(begin, end, len(self.tokens))

    def _between(self, begin: int, end: int) -> Rows:
        return self._rows[begin:end]


@dataclass(frozen=True, slots=True, eq=False)
class DraftRange:
    """The rows of a table from ``begin`` up to, not including, ``end`` (0-based)."""

    table: DraftTable
    begin: int
    end: int

    @property
    def rows(self) -> Rows:
        return self.table.rows[self.begin : self.end]

    def __len__(self) -> int:
        return self.end - self.begin

    def count(self, name: Count) -> int:
        return int(self._counts[COUNTS[name]])

    @property
    def histogram(self) -> tuple[int, ...]:
        """Tested tokens by ``rule_overlap``, in BINS."""
        return tuple(self._counts[:BINS].tolist())

    @property
    def _counts(self) -> NDArray[np.int64]:
        return self.table.counts_before(self.end) - self.table.counts_before(self.begin)

    def top(self, rank: Rank, limit: int) -> Indices:
        """The table indices of the first ``limit`` rows by ``rank``, ties in the order of drafting."""
        return self.table.top(rank, limit).query(self.begin, self.end)

    def token_counts(self) -> TokenCounts:
        """The counts of every token of the table; valid until the next call for any range."""
        return self.table.token_counts(self.begin, self.end)


class _TokenCounter:
    """Counts by token over a range of rows that grows: a query reads only the rows that are new."""

    def __init__(self, rows: Callable[[int, int], Rows]) -> None:
        """``rows``: (begin, end) -> the rows from ``begin`` up to, not including, ``end``."""
        self._rows = rows
        self._begin = self._end = 0
        self._counts: TokenCounts = np.zeros(256, _TOKEN_DTYPE)

    def query(self, begin: int, end: int, n_tokens: int) -> TokenCounts:
        """Over the rows ``begin`` to ``end``; all of them are read unless they extend the previous range."""
        if begin != self._begin or end < self._end:
            self._counts[:] = 0
            self._begin = self._end = begin
        if n_tokens > len(self._counts):
            self._counts = np.concatenate([self._counts, np.zeros(max(n_tokens, len(self._counts)), _TOKEN_DTYPE)])
        rows = self._rows(self._end, end)
        rows = rows[rows["token"] >= 0]
        token, verdict = rows["token"], rows["verdict"]
        rejected = token[verdict == REJECTED]
        np.add.at(self._counts["drafted"], token, 1)
        np.add.at(self._counts["tested"], token[verdict <= REJECTED], 1)
        np.add.at(self._counts["rejected"], rejected, 1)
        np.add.at(self._counts["lost"], rejected, np.nan_to_num(rows["lost"][verdict == REJECTED]))
        self._end = end
        return self._counts[:n_tokens]


def _row(round: Round, row: int, token: int, lost: float) -> tuple[float | None, ...]:
    """Drafted token ``row`` of a round whose rejection cost ``lost`` tokens; numpy stores None as NaN."""
    drafted = round.drafted[row]
    return (
        round.index,
        row,
        token,
        _CODES[drafted.verdict],
        drafted.p,
        drafted.q,
        drafted.overlap,
        rule_of(round.settings.rule).overlap_of(drafted),
        drafted.u,
        drafted.accept_prob,
        lost if drafted.verdict == "rejected" else math.nan,
    )


def _ranked(rows: Rows, rank: Rank) -> NDArray[np.float64]:
    """The sort key of each row, lowest first; NaN for untested tokens and those without the number."""
    if rank == "lost":
        values: NDArray[np.float64] = -rows["lost"]
    elif rank == "ratio":
        values = np.divide(rows["p"], rows["q"], out=np.full(len(rows), np.nan), where=rows["q"] != 0)
    else:
        values = rows["rule_overlap"].copy()
    values[rows["verdict"] > REJECTED] = np.nan
    return values


def count_rows(rows: Rows) -> NDArray[np.int64]:
    """Tested tokens with b / BINS <= rule_overlap < (b + 1) / BINS for each bin b (1 is in the last), then COUNTS."""
    tested = rows["verdict"] <= REJECTED
    overlaps = rows["rule_overlap"][tested]
    bins = np.minimum((overlaps[~np.isnan(overlaps)] * BINS).astype(np.int64), BINS - 1)
    with_ratio = np.count_nonzero((rows["q"][tested] > 0) & ~np.isnan(rows["p"][tested]))
    with_loss = np.count_nonzero(~np.isnan(rows["lost"]))
    counts = np.array((np.count_nonzero(~tested), with_ratio, with_loss, len(bins)), np.int64)
    return np.append(np.bincount(bins, minlength=BINS), counts)
