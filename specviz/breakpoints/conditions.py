"""The conditions of breakpoints: each is a fold over the rounds of one run, in order.

``look`` takes the next round and gives what it sees in it, none if the condition does not hold there.
"""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple, Protocol

from specviz.core.events import Drafted, Emitted, Round, Settings
from specviz.core.rule import rule_of
from specviz.maths.estimators import agreement


class Match(NamedTuple):
    """A condition that holds: in words with its numbers, and in which row. Row i < K_r is drafted token i + 1, row K_r
    the round's last token; None means the round as a whole."""

    words: str
    row: int | None = None


class Condition(Protocol):
    def check(self, round: Round, /) -> Sequence[Match]: ...


def rows_of(round: Round) -> Iterator[tuple[int, Drafted | Emitted]]:
    """Every token of a round once, with its row: the drafted ones, then the last one unless the round is cut."""
    yield from enumerate(round.rows)


def sentence(matches: Sequence[Match], round: Round) -> str:
    """The first match and its position: ``p/q .12 < .2 at position 3``; further ones are counted."""
    words, row = matches[0]
    if row is not None:
        last = round.correction if row >= round.k else None
        words += f": the {last.origin} token" if last else f" at position {row + 1}"
    return words if len(matches) == 1 else f"{words} (and {len(matches) - 1} more)"


class FewTokens:
    """N <= limit."""

    def __init__(self, limit: int) -> None:
        self._limit = limit

    def check(self, round: Round, /) -> Sequence[Match]:
        n = round.n_emitted
        return [Match(f"N {n} ≤ {self._limit}")] if n <= self._limit else []


class EarlyRejection:
    """A rejection at a position <= limit."""

    def __init__(self, limit: int) -> None:
        self._limit = limit

    def check(self, round: Round, /) -> Sequence[Match]:
        row = round.rejected_row
        return [] if row is None or row >= self._limit else [Match(f"rejection ≤ {self._limit}", row)]


class LowOverlap:
    """A tested position with overlap < limit."""

    def __init__(self, limit: float) -> None:
        self._limit = limit

    def check(self, round: Round, /) -> Sequence[Match]:
        return [
            Match(f"overlap {apart(drafted.overlap, self._limit)} < {short(self._limit)}", row)
            for row, drafted in enumerate(round.tested_tokens)
            if drafted.overlap is not None and drafted.overlap < self._limit
        ]


class LowRatio:
    """A tested drafted token with p/q < limit."""

    def __init__(self, limit: float) -> None:
        self._limit = limit

    def check(self, round: Round, /) -> Sequence[Match]:
        return [
            Match(f"p/q {apart(ratio, self._limit)} < {short(self._limit)}", row)
            for row, drafted in enumerate(round.tested_tokens)
            if (ratio := drafted.ratio) is not None and ratio < self._limit
        ]


class TokenSeen:
    """One of ``ids`` drafted, whatever its verdict, or emitted."""

    def __init__(self, ids: Collection[int], name: str) -> None:
        self._ids, self._name = frozenset(ids), name

    def check(self, round: Round, /) -> Sequence[Match]:
        return [Match(self._name, row) for row, token in rows_of(round) if token.id in self._ids]


class AcceptStreak:
    """``length`` full acceptances in a row; holds at the last of them and not at those that follow. A round without a
    draft ends the row, as a rejection does."""

    def __init__(self, length: int) -> None:
        self._length = length
        self._now = 0

    def check(self, round: Round, /) -> Sequence[Match]:
        self._now = self._now + 1 if round.fully_accepted else 0
        if self._now != self._length:
            return []
        return [Match(f"{self._length} full acceptance{'s' if self._length > 1 else ''} in a row")]


class ZScoreAbove:
    """|z| of the current segment > limit; holds where it crosses the limit, not while it stays above."""

    def __init__(self, limit: float) -> None:
        self._limit = limit
        self._rules: Settings | None = None
        self._begin()

    def _begin(self) -> None:
        self._hits, self._chance, self._variance = 0, 0.0, 0.0
        self._beyond = False

    def check(self, round: Round, /) -> Sequence[Match]:
        rules = replace(round.settings, k=0)
        if rules != self._rules:
            self._rules = rules
            self._begin()
        rule = rule_of(rules.rule)
        for drafted in round.tested_tokens:
            chance = rule.position_accept_prob(drafted)
            if chance is not None:
                self._hits += drafted.verdict == "accepted"
                self._chance += chance
                self._variance += chance * (1.0 - chance)
        z = agreement(self._hits, self._chance, self._variance)
        before, self._beyond = self._beyond, z is not None and abs(z) > self._limit
        if z is None or before or not self._beyond:
            return []
        return [Match(f"|z| {apart(abs(z), self._limit)} > {short(self._limit)}")]


def short(value: float) -> str:
    """A number without redundant zeros: ``.3``, ``12``, ``2e-6``."""
    text = repr(float(value)).removesuffix(".0").replace("e-0", "e-").replace("e+0", "e+")
    return text[1:] if text.startswith("0.") else text


def apart(value: float, limit: float) -> str:
    """``value`` in the fewest figures, at least two, that show on which side of ``limit`` it is."""
    shown = float(value)
    for figures in range(2, 17):
        shown = float(f"{value:.{figures}g}")
        if (shown < limit, shown > limit) == (value < limit, value > limit):
            break
    return short(shown)
