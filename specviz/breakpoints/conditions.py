"""The conditions of breakpoints. A condition is called with the rounds of one run, in order, and returns its matches in
each, none if it does not hold there."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from typing import NamedTuple

from specviz.core.events import Drafted, Round, Settings
from specviz.maths.estimators import agreement
from specviz.stats.round_counts import count_round


class Match(NamedTuple):
    """A condition that holds: in words with its numbers, and in which row. Row i < K_r is drafted token i + 1, row K_r
    the round's last token; None means the round as a whole."""

    words: str
    row: int | None = None


Condition = Callable[[Round], Sequence[Match]]


def sentence(matches: Sequence[Match], round: Round) -> str:
    """The first match and its position: ``p/q .12 < .2 at position 3``; further ones are counted."""
    words, row = matches[0]
    if row is not None:
        last = round.correction if row >= round.k else None
        words += f": the {last.origin} token" if last else f" at position {row + 1}"
    return words if len(matches) == 1 else f"{words} (and {len(matches) - 1} more)"


def few_tokens(limit: int) -> Condition:
    """N <= limit."""

    def check(round: Round) -> Sequence[Match]:
        n = round.n_emitted
        return [Match(f"N {n} ≤ {limit}")] if n <= limit else []

    return check


def early_rejection(limit: int) -> Condition:
    """A rejection at a position <= limit."""

    def check(round: Round) -> Sequence[Match]:
        row = round.rejected_row
        return [] if row is None or row >= limit else [Match(f"rejection ≤ {limit}", row)]

    return check


def low_tested(name: str, number: Callable[[Drafted], float | None], limit: float) -> Condition:
    """A tested position whose ``number``, called ``name``, is < limit."""

    def check(round: Round) -> Sequence[Match]:
        return [
            Match(f"{name} {apart(value, limit)} < {short(limit)}", row)
            for row, drafted in enumerate(round.tested_tokens)
            if (value := number(drafted)) is not None and value < limit
        ]

    return check


def token_seen(ids: Collection[int], name: str) -> Condition:
    """One of ``ids`` drafted, whatever its verdict, or emitted."""
    return lambda round: [Match(name, row) for row, token in enumerate(round.rows) if token.id in ids]


class AcceptStreak:
    """``length`` full acceptances in a row; holds at the last of them and not at those that follow. A round without a
    draft ends the row, as a rejection does."""

    def __init__(self, length: int) -> None:
        self._length = length
        self._now = 0

    def __call__(self, round: Round) -> Sequence[Match]:
        self._now = self._now + 1 if round.fully_accepted else 0
        if self._now != self._length:
            return []
        return [Match(f"{self._length} full acceptance{'s' if self._length > 1 else ''} in a row")]


class ZScoreAbove:
    """|z| of the current segment > limit; holds where it crosses the limit, not while it stays above."""

    def __init__(self, limit: float) -> None:
        self._limit = limit
        self._settings: Settings | None = None

    def __call__(self, round: Round) -> Sequence[Match]:
        settings = replace(round.settings, k=0)
        if settings != self._settings:
            self._settings = settings
            self._accepted, self._expected, self._variance = 0, 0.0, 0.0
            self._beyond = False
        counts = count_round(round)
        self._accepted += counts.n_accepted_with_prob
        self._expected += counts.accept_prob_sum
        self._variance += counts.accept_prob_variance
        z = agreement(self._accepted, self._expected, self._variance)
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
