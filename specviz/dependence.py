"""Why measured tokens/round differ from the formula: tests that depend on what was before them."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from specviz.estimates import Interval, wilson
from specviz.events import Round
from specviz.rates import Rates
from specviz.tally import accept_chance

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


def dependence(rounds: Sequence[Round], rates: Rates) -> Dependence:
    """What of ``rounds`` lies within ``rates`` (its ``first`` to ``last``), read for dependence."""
    within = [r for r in rounds if rates.first <= r.index <= rates.last]
    measured, formula = rates.tokens_per_round, rates.formula_at_tested
    after_rejection: list[Round] = []
    after_full: list[Round] = []
    for before, after in pairwise(within):
        if before.tested > before.n_accepted:
            after_rejection.append(after)
        elif before.k and not before.cut:
            after_full.append(after)
    return Dependence(
        measured=measured,
        formula=formula,
        gap=None if measured is None or formula is None else formula - measured,
        first_after_rejection=_first_position(after_rejection),
        first_after_full=_first_position(after_full),
        later=tuple(_share(at.accepted, at.tested) for at in rates.per_position[1:]),
        drift=tuple(map(_stretch, _parts(within))),
    )


def _share(accepted: int, tested: int) -> Share:
    return Share(accepted, tested, accepted / tested if tested else None, wilson(accepted, tested))


def _first_position(rounds: Sequence[Round]) -> Share:
    return _share(sum(r.n_accepted > 0 for r in rounds), sum(r.tested > 0 for r in rounds))


def _parts(rounds: Sequence[Round]) -> list[Sequence[Round]]:
    """Up to ``STRETCHES`` consecutive parts, none empty."""
    parts = min(STRETCHES, len(rounds))
    bounds = [len(rounds) * i // parts for i in range(parts + 1)] if parts else []
    return [rounds[a:b] for a, b in pairwise(bounds)]


def _stretch(rounds: Sequence[Round]) -> Stretch:
    chances = [
        chance
        for r in rounds
        for d in r.drafted[: r.tested]
        if (chance := accept_chance(d, r.settings.rule)) is not None
    ]
    uncut = [len(r.emitted) for r in rounds if not r.cut]
    return Stretch(
        first=rounds[0].index,
        last=rounds[-1].index,
        share=_share(sum(r.n_accepted for r in rounds), sum(r.tested for r in rounds)),
        overlap=sum(chances) / len(chances) if chances else None,
        tokens_per_round=sum(uncut) / len(uncut) if uncut else None,
    )
