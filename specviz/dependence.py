"""Why measured tokens/round differ from the formula: tests that depend on what was before them."""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from specviz.estimates import Interval, wilson
from specviz.events import Round
from specviz.rates import Rates
from specviz.tally import Tallies, tallied

STRETCHES = 4


@dataclass(frozen=True, slots=True)
class Share:
    """Accepted among tested positions; ``ci``: Wilson's 95 % interval, if tests were independent."""

    accepted: int
    tested: int
    rate: float | None
    ci: Interval | None


@dataclass(frozen=True, slots=True)
class Stretch:
    """The rounds ``first`` to ``last`` (1-based, inclusive). ``overlap``: the mean accept chance of their tested
    positions under the rule in force; ``tokens_per_round``: over their uncut rounds."""

    first: int
    last: int
    share: Share
    overlap: float | None
    tokens_per_round: float | None


@dataclass(frozen=True, slots=True)
class Dependence:
    """The gap of the independence assumption, and where it may come from.

    ``gap`` = ``formula`` (at alpha tested) - ``measured`` tokens/round: above 0 where difficulty varies.
    ``first_after_rejection`` and ``first_after_full``: position 1 of the rounds whose round before ended in a
    rejection, or in a bonus; the first round, plain rounds and those behind them count for neither. ``later``:
    positions 2, 3, ..., each given that it was tested. ``drift``: consecutive quarters of the rounds, sizes differing
    by at most one.
    """

    measured: float | None
    formula: float | None
    gap: float | None
    first_after_rejection: Share
    first_after_full: Share
    later: tuple[Share, ...]
    drift: tuple[Stretch, ...]


def dependence(rounds: Tallies | Iterable[Round], rates: Rates) -> Dependence:
    """What of a run's rounds lies within ``rates`` (its ``first`` to ``last``), read for dependence. Tallies are those
    of the whole run."""
    first = rates.first
    if isinstance(rounds, np.ndarray):
        rows: Tallies = rounds[first - 1 : rates.last]
    else:
        within = [r for r in rounds if first <= r.index <= rates.last]
        first, rows = (within[0].index if within else first), tallied(within)
    measured, formula = rates.tokens_per_round, rates.formula_at_tested
    rejected = rows["rejected"] > 0
    full = ~rejected & (rows["k"] > 0) & rows["uncut"]
    return Dependence(
        measured=measured,
        formula=formula,
        gap=None if measured is None or formula is None else formula - measured,
        first_after_rejection=_first_position(rows[1:][rejected[:-1]]),
        first_after_full=_first_position(rows[1:][full[:-1]]),
        later=tuple(_share(at.accepted, at.tested) for at in rates.per_position[1:]),
        drift=tuple(_stretch(first + a, rows[a:b]) for a, b in _parts(len(rows))),
    )


def _share(accepted: int, tested: int) -> Share:
    return Share(accepted, tested, accepted / tested if tested else None, wilson(accepted, tested))


def _first_position(rows: Tallies) -> Share:
    tested = (rows["accepted"] > 0) | (rows["rejected"] > 0)
    return _share(int((rows["accepted"] > 0).sum()), int(tested.sum()))


def _parts(rounds: int) -> list[tuple[int, int]]:
    """The bounds of up to ``STRETCHES`` consecutive parts, none empty."""
    parts = min(STRETCHES, rounds)
    return list(pairwise(rounds * i // parts for i in range(parts + 1))) if parts else []


def _stretch(first: int, rows: Tallies) -> Stretch:
    accepted, rejected, chanced = (int(rows[name].sum()) for name in ("accepted", "rejected", "chanced"))
    uncut = rows["emitted"][rows["uncut"]]
    return Stretch(
        first=first,
        last=first + len(rows) - 1,
        share=_share(accepted, accepted + rejected),
        overlap=float(rows["chance"].sum()) / chanced if chanced else None,
        tokens_per_round=float(uncut.sum()) / len(uncut) if len(uncut) else None,
    )
