"""The running values of a run, for plots. They are append-only, so that any prefix is a slice."""

import math
from array import array
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import overload

from specviz.maths.estimators import wilson
from specviz.maths.formulas import expected_tokens
from specviz.stats.round_counts import RoundCounts


class ArrayPrefix(Sequence[float | None]):
    """The first ``count`` values of a growing array, with None for NaN. Making one and comparing two of the same
    array take constant time."""

    __slots__ = ("_count", "_values")

    def __init__(self, values: "array[float] | array[int]", count: int) -> None:
        self._values, self._count = values, count

    def __len__(self) -> int:
        return self._count

    @overload
    def __getitem__(self, at: int) -> float | None: ...
    @overload
    def __getitem__(self, at: slice) -> Sequence[float | None]: ...
    def __getitem__(self, at: int | slice) -> float | Sequence[float | None] | None:
        if isinstance(at, slice):
            start, stop, step = at.indices(self._count)
            return (
                ArrayPrefix(self._values, stop)
                if (start, step) == (0, 1)
                else [self[i] for i in range(start, stop, step)]
            )
        if not -self._count <= at < self._count:
            raise IndexError(at)
        value = self._values[at + self._count if at < 0 else at]
        return None if value != value else value

    def __eq__(self, other: object) -> bool:
        if isinstance(other, ArrayPrefix) and self._values is other._values:
            return self._count == other._count
        return list(self) == list(other) if isinstance(other, ArrayPrefix | list) else NotImplemented

    __hash__ = None  # type: ignore[assignment]


@dataclass(frozen=True, slots=True)
class Series:
    """Parallel sequences with one entry per round, None where undefined. Running values restart where a segment begins:
    those of tokens/round and the K_r the formulas are averaged over at ``tokens_segment_starts``, all others at
    ``segment_starts`` (rounds above 1). ``n`` is the number of tokens of each round, cut ones included, ``longest`` the
    largest up to it."""

    rounds: Sequence[int]
    alpha_tested: Sequence[float | None]
    alpha_tested_low: Sequence[float | None]
    alpha_tested_high: Sequence[float | None]
    alpha_overlap: Sequence[float | None]
    tokens_per_round: Sequence[float | None]
    formula_at_tested: Sequence[float | None]
    formula_at_overlap: Sequence[float | None]
    n: Sequence[float | None]
    segment_starts: Sequence[int]
    tokens_segment_starts: Sequence[int]
    longest: int = 1


@dataclass(slots=True)
class _Running:
    accepted: int = 0
    tested: int = 0
    accept_prob_sum: float = 0.0
    n_with_accept_prob: int = 0
    n_without_accept_prob: int = 0

    def add(self, counts: RoundCounts) -> None:
        self.accepted += counts.accepted
        self.tested += counts.accepted + counts.rejected
        self.accept_prob_sum += counts.accept_prob_sum
        self.n_with_accept_prob += counts.n_with_accept_prob
        self.n_without_accept_prob += counts.n_without_accept_prob


@dataclass(slots=True)
class _RunningTokens:
    tokens: int = 0
    drafts: Counter[int] = field(default_factory=Counter)

    def add(self, counts: RoundCounts) -> None:
        if counts.uncut:
            self.tokens += counts.emitted
            self.drafts[counts.k] += 1

    def mean(self) -> float | None:
        return self.tokens / rounds if (rounds := self.drafts.total()) else None

    def formula(self, alpha: float | None) -> float | None:
        rounds = self.drafts.total()
        if alpha is None or not rounds:
            return None
        return sum(count * expected_tokens(alpha, k) for k, count in self.drafts.items()) / rounds


class SeriesBuilder:
    """Grows by one round at a time; ``series(last)`` returns the values up to round ``last``."""

    def __init__(self) -> None:
        self._running = _Running()
        self._tokens = _RunningTokens()
        self._values = tuple(array("d") for _ in range(7))
        self._n = array("l")
        self._longest = array("l")
        self._starts: list[int] = []
        self._tokens_starts: list[int] = []

    def add(self, counts: RoundCounts, *, new_segment: bool, new_tokens_segment: bool) -> None:
        """``new_segment``/``new_tokens_segment``: whether this round begins one, for all rates or for tokens/round."""
        index = len(self._n) + 1
        if new_segment:
            self._running = _Running()
            self._starts.append(index)
        if new_tokens_segment:
            self._tokens = _RunningTokens()
            self._tokens_starts.append(index)
        self._running.add(counts)
        self._tokens.add(counts)
        self._n.append(counts.emitted)
        self._longest.append(max(counts.emitted, self._longest[-1] if self._longest else 1))
        now = self._running
        tested = now.accepted / now.tested if now.tested else None
        overlap = (
            now.accept_prob_sum / now.n_with_accept_prob
            if now.n_with_accept_prob and not now.n_without_accept_prob
            else None
        )
        low, high = wilson(now.accepted, now.tested) or (None, None)
        tokens = self._tokens
        row = (tested, low, high, overlap, tokens.mean(), tokens.formula(tested), tokens.formula(overlap))
        for values, value in zip(self._values, row, strict=True):
            values.append(math.nan if value is None else value)

    def series(self, last: int) -> Series:
        tested, low, high, overlap, mean, at_tested, at_overlap = (ArrayPrefix(values, last) for values in self._values)
        return Series(
            rounds=range(1, last + 1),
            alpha_tested=tested,
            alpha_tested_low=low,
            alpha_tested_high=high,
            alpha_overlap=overlap,
            tokens_per_round=mean,
            formula_at_tested=at_tested,
            formula_at_overlap=at_overlap,
            n=ArrayPrefix(self._n, last),
            segment_starts=[start for start in self._starts if 1 < start <= last],
            tokens_segment_starts=[start for start in self._tokens_starts if 1 < start <= last],
            longest=self._longest[last - 1] if last else 1,
        )
