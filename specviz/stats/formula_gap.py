"""Why measured tokens/round differ from the formula: tests that depend on what was before them."""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise

from specviz.core.events import Round
from specviz.maths.estimators import Interval, wilson
from specviz.stats.cumulative import Part, TallyTable
from specviz.stats.rates import Rates, mean_share
from specviz.stats.round_counts import tally

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


def dependence(rounds: TallyTable | Iterable[Round], rates: Rates) -> Dependence:
    """What of a run's rounds lies within ``rates`` (its ``first`` to ``last``), read for dependence. A table holds the
    tallies of the whole run, and is read in the same time whatever their number."""
    if isinstance(rounds, TallyTable):
        part, before = rounds.between(rates.first, rates.last), 0
    else:
        part, before = _table([r for r in rounds if rates.first <= r.index <= rates.last], rates.first)
    behind = part.table.between(min(part.first, part.last) + 1, part.last)
    return Dependence(
        measured=rates.tokens_per_round,
        formula=rates.formula_at_tested,
        gap=rates.formula_gap,
        first_after_rejection=_share(behind.count("behind_rejection_accepted"), behind.count("behind_rejection")),
        first_after_full=_share(behind.count("behind_full_accepted"), behind.count("behind_full")),
        later=tuple(_share(at.accepted, at.tested) for at in rates.per_position[1:]),
        drift=tuple(_stretch(part.table.between(part.first + a, part.first + b - 1), before) for a, b in _bounds(part)),
    )


def _table(rounds: list[Round], first: int) -> tuple[Part, int]:
    """All of a table of these rounds, and how many rounds the run had before them."""
    table = TallyTable()
    for round in rounds:
        table.add(tally(round))
    return table.between(1, len(rounds)), (rounds[0].index if rounds else first) - 1


def _share(accepted: int, tested: int) -> Share:
    return Share(accepted, tested, accepted / tested if tested else None, wilson(accepted, tested))


def _bounds(part: Part) -> list[tuple[int, int]]:
    """Of up to ``STRETCHES`` consecutive stretches, none empty."""
    rounds = part.rounds
    stretches = min(STRETCHES, rounds)
    return list(pairwise(rounds * i // stretches for i in range(stretches + 1))) if stretches else []


def _stretch(part: Part, before: int) -> Stretch:
    accepted, uncut = part.count("accepted"), part.count("uncut")
    return Stretch(
        first=before + part.first,
        last=before + part.last,
        share=_share(accepted, accepted + part.count("rejected")),
        overlap=None if part.count("no_chance") else mean_share(part.chance, part.count("chanced")),
        tokens_per_round=part.count("uncut_emitted") / uncut if uncut else None,
    )
