"""Why measured tokens/round differ from the formula: tests that depend on what came before."""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise

from specviz.core.events import Round
from specviz.maths.estimators import Interval, wilson
from specviz.stats.cumulative import CumulativeCounts, RoundRange
from specviz.stats.rates import Rates, mean_share
from specviz.stats.round_counts import count_round


@dataclass(frozen=True, slots=True)
class AcceptanceRate:
    """Accepted among tested positions; ``ci``: Wilson's 95 % interval, assuming independent tests."""

    accepted: int
    tested: int
    rate: float | None
    ci: Interval | None


@dataclass(frozen=True, slots=True)
class Quarter:
    """The rounds ``first`` to ``last`` (1-based, inclusive). ``overlap``: the mean accept probability of their tested
    positions under the rule in force; ``tokens_per_round``: over their uncut rounds."""

    first: int
    last: int
    share: AcceptanceRate
    overlap: float | None
    tokens_per_round: float | None


@dataclass(frozen=True, slots=True)
class FormulaGap:
    """How far the independence assumption is off, and why that may be. ``gap`` = ``formula`` (at alpha tested) -
    ``measured`` tokens/round: positive if difficulty varies. ``first_after_rejection`` and ``first_after_full``:
    position 1 of rounds that follow a rejection or a bonus; the first round, plain rounds and those after them count
    for neither. ``later_positions``: positions 2, 3, ..., each given that it was tested. ``by_quarter``: consecutive
    quarters of the rounds, whose sizes differ by at most one."""

    measured: float | None
    formula: float | None
    gap: float | None
    first_after_rejection: AcceptanceRate
    first_after_full: AcceptanceRate
    later_positions: tuple[AcceptanceRate, ...]
    by_quarter: tuple[Quarter, ...]


def formula_gap(rounds: CumulativeCounts | Iterable[Round], rates: Rates) -> FormulaGap:
    """The gap over the rounds of ``rates`` (its ``first`` to ``last``). ``rounds`` are all rounds of the run; with
    their cumulative counts it takes constant time."""
    if isinstance(rounds, CumulativeCounts):
        part, before = rounds.between(rates.first, rates.last), 0
    else:
        part, before = _table([r for r in rounds if rates.first <= r.index <= rates.last], rates.first)
    after_first = part.table.between(min(part.first, part.last) + 1, part.last)
    return FormulaGap(
        measured=rates.tokens_per_round,
        formula=rates.formula_at_tested,
        gap=rates.formula_gap,
        first_after_rejection=_share(
            after_first.count("after_rejection_accepted"), after_first.count("after_rejection")
        ),
        first_after_full=_share(
            after_first.count("after_full_accept_accepted"), after_first.count("after_full_accept")
        ),
        later_positions=tuple(_share(at.accepted, at.tested) for at in rates.per_position[1:]),
        by_quarter=tuple(_quarter(part.table.between(first, last), before) for first, last in _quarters(part)),
    )


def _table(rounds: list[Round], first: int) -> tuple[RoundRange, int]:
    """A table of these rounds, and the number of rounds of the run before them."""
    table = CumulativeCounts()
    for round in rounds:
        table.add(count_round(round))
    return table.between(1, len(rounds)), (rounds[0].index if rounds else first) - 1


def _share(accepted: int, tested: int) -> AcceptanceRate:
    return AcceptanceRate(accepted, tested, accepted / tested if tested else None, wilson(accepted, tested))


def _quarters(part: RoundRange) -> list[tuple[int, int]]:
    """The first and last round of each quarter; fewer quarters if there are fewer rounds."""
    n = min(4, part.rounds)
    ends = [part.first + part.rounds * i // n for i in range(n + 1)] if n else []
    return [(first, after - 1) for first, after in pairwise(ends)]


def _quarter(part: RoundRange, before: int) -> Quarter:
    accepted, uncut = part.count("accepted"), part.count("uncut")
    measured = not part.count("n_without_accept_prob")
    return Quarter(
        first=before + part.first,
        last=before + part.last,
        share=_share(accepted, accepted + part.count("rejected")),
        overlap=mean_share(part.accept_prob_sum, part.count("n_with_accept_prob")) if measured else None,
        tokens_per_round=part.count("uncut_emitted") / uncut if uncut else None,
    )
