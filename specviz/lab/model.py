"""The formula lab without a screen: what a run measured, the values of the sliders, and the formulas with numbers."""

import math
from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, overload

import numpy as np

from specviz.core.drafters import drafter_spec
from specviz.core.events import Drafted, Round, Settings
from specviz.core.options import MAX_K
from specviz.core.rule import EXACT, Rule, rule_of
from specviz.maths import formulas
from specviz.maths.estimators import Interval, batch_means_error
from specviz.maths.formula_table import Row, best_k_label, row
from specviz.maths.step_costs import StepCosts, speedups, survival
from specviz.stats.draft_table import REJECTED, DraftRange, DraftTable
from specviz.stats.rates import Rates, expected_lengths
from specviz.stats.round_counts import RoundCountsArray, count_rounds

Name = Literal["alpha", "k", "c"]
NAMES: tuple[Name, ...] = ("alpha", "k", "c")
STOPS: Mapping[Name, tuple[float, ...]] = {
    "alpha": tuple(i / 100 for i in range(101)),
    "k": tuple(range(MAX_K + 1)),
    "c": (
        *(i / 10 for i in range(1, 20)),
        *(i / 4 for i in range(8, 20)),
        *(i / 2 for i in range(10, 20)),
        *range(10, 20),
        *range(20, 50, 2),
        *range(50, 100, 10),
        *range(100, 500, 50),
        500,
        1000,
        math.inf,
    ),
}
"""The stops of the sliders. A measured value may lie between two stops."""


@dataclass(frozen=True, slots=True)
class TestedPosition:
    """A tested position of a run: its round, its row (0-based) and what was tested."""

    round: int
    row: int
    drafted: Drafted


class TestedPositions(Sequence[TestedPosition]):
    """The tested and measured positions among ``drafts``; ``rounds`` are all of the run, read as they are needed."""

    def __init__(self, rounds: Sequence[Round], drafts: DraftRange) -> None:
        self._rounds = rounds
        rows = drafts.rows
        self._rows = rows[(rows["verdict"] <= REJECTED) & ~np.isnan(rows["p"] + rows["q"] + rows["rule_overlap"])]

    def __len__(self) -> int:
        return len(self._rows)

    @overload
    def __getitem__(self, at: int) -> TestedPosition: ...
    @overload
    def __getitem__(self, at: slice) -> list[TestedPosition]: ...
    def __getitem__(self, at: int | slice) -> TestedPosition | list[TestedPosition]:
        if isinstance(at, slice):
            return [self[index] for index in range(*at.indices(len(self)))]
        round, row = int(self._rows["round"][at]), int(self._rows["row"][at])
        return TestedPosition(round, row, self._rounds[round - 1].drafted[row])

    def before(self, at: tuple[int, int]) -> int:
        """How many of them are at or before (round, row)."""
        rounds, rows = self._rows["round"], self._rows["row"]
        return int(((rounds < at[0]) | ((rounds == at[0]) & (rows <= at[1]))).sum())


@dataclass(frozen=True, slots=True)
class Mean:
    """A mean and half the width of its 95 % interval."""

    value: float
    half_width: float | None

    @property
    def ci(self) -> Interval | None:
        return None if self.half_width is None else (self.value - self.half_width, self.value + self.half_width)


@dataclass(frozen=True, slots=True)
class LabPoint:
    """What a run measured. ``c`` is infinite for a drafter that costs nothing, None if it was not timed.
    ``half_width``: half the 95 % interval of tokens/round. ``histogram`` counts rounds by their tokens, ``drafts`` by
    the tokens they drafted: fewer than ``k`` in short rounds, none in plain ones. ``formula_at_tested`` is E[N] at
    ``alpha`` averaged over those. ``at_k``: the rounds that drafted ``k``. ``costs``: the step times, ``speedup``: by
    measured cost. ``positions`` are the tested positions, ``at`` the index of the first one to show."""

    k: int
    alpha: float | None = None
    alpha_ci: Interval | None = None
    c: float | None = None
    tokens_per_round: float | None = None
    half_width: float | None = None
    histogram: Mapping[int, int] = field(default_factory=dict)
    drafts: Mapping[int, int] = field(default_factory=dict)
    formula_at_tested: float | None = None
    at_k: Mean | None = None
    costs: StepCosts | None = None
    speedup: float | None = None
    rule: Rule = EXACT
    positions: Sequence[TestedPosition] = ()
    at: int = 0

    @property
    def plain_rounds(self) -> int:
        return self.drafts.get(0, 0) if self.k else 0

    @property
    def mean_k(self) -> float | None:
        """The mean K_r; None without a round."""
        rounds = sum(self.drafts.values())
        return sum(k * count for k, count in self.drafts.items()) / rounds if rounds else None

    @property
    def mixed(self) -> bool:
        """Whether some rounds drafted a number of tokens other than ``k``."""
        return any(k != self.k for k in self.drafts)

    def expected_histogram(self, alpha: float) -> dict[int, float]:
        """Rounds with i tokens expected at ``alpha``, by the K_r the rounds had."""
        return expected_lengths(alpha, self.drafts)


def _mean_at(k: int, rounds: RoundCountsArray) -> Mean | None:
    """Tokens/round over the uncut ``rounds`` that drafted ``k``."""
    counted = ((rounds["k"] == k) & rounds["uncut"]).astype(np.int64)
    tokens = rounds["emitted"].astype(np.float64) * counted
    if not counted.any():
        return None
    error = batch_means_error(tokens, counted)
    return Mean(float(tokens.sum() / counted.sum()), error and error.half_width)


def lab_point(
    rates: Rates,
    settings: Settings | None,
    rounds: Sequence[Round],
    at: tuple[int, int] | None = None,
    drafts: DraftTable | None = None,
    round_counts: RoundCountsArray | None = None,
) -> LabPoint | None:
    """The measured point of ``rates``; ``rounds`` are all of the run, ``drafts`` what they drafted, ``round_counts``
    what they contribute to the rates, ``settings`` those of the last one counted. ``at`` is (round, row) of a token:
    the page of a position opens on it, or on the tested one before it. None without a round."""
    if settings is None or not rates.rounds:
        return None
    table = DraftTable.of(rounds) if drafts is None else drafts
    positions = TestedPositions(rounds, table.between(rates.first, rates.last))
    before = positions.before(at) if at else len(positions)
    counts = count_rounds(rounds) if round_counts is None else round_counts
    return LabPoint(
        k=settings.k,
        alpha=rates.alpha_tested,
        alpha_ci=rates.alpha_tested_ci,
        c=rates.c if drafter_spec(settings.drafter).free is None else math.inf,
        tokens_per_round=rates.tokens_per_round,
        half_width=rates.tokens_per_round_half_width,
        histogram=rates.histogram,
        drafts=rates.drafts,
        formula_at_tested=rates.formula_at_tested,
        at_k=_mean_at(settings.k, counts[rates.tokens_per_round_first - 1 : rates.last]),
        costs=rates.at_measured_cost.costs if rates.at_measured_cost else None,
        speedup=rates.speedup_measured_cost,
        rule=rule_of(settings.rule),
        positions=positions,
        at=max(0, before - 1),
    )


@dataclass(frozen=True, slots=True)
class SliderValues:
    """The values of the three sliders."""

    alpha: float = 0.8
    k: int = 4
    c: float = 10.0

    def stepped(self, name: Name, steps: int) -> "SliderValues":
        """The slider ``name`` moved by ``steps`` stops; between two stops, the first step is to the adjacent one."""
        stops, value = STOPS[name], getattr(self, name)
        index = bisect_right(stops, value) + steps - 1 if steps > 0 else bisect_left(stops, value) + steps
        return self.at(name, stops[max(0, min(index, len(stops) - 1))])

    def at_fraction(self, name: Name, fraction: float) -> "SliderValues":
        """The slider ``name`` at the stop nearest to ``fraction`` (0 to 1) of its length."""
        stops = STOPS[name]
        return self.at(name, stops[round(max(0.0, min(1.0, fraction)) * (len(stops) - 1))])

    def at(self, name: Name, value: float) -> "SliderValues":
        if name == "k":
            return replace(self, k=int(value))
        return replace(self, alpha=float(value)) if name == "alpha" else replace(self, c=float(value))

    def fraction(self, name: Name) -> float:
        return slider_fraction(name, getattr(self, name))

    @property
    def row(self) -> Row:
        return row(self.alpha, self.k, self.c)


def slider_fraction(name: Name, value: float) -> float:
    """Where a value is on its slider, 0 to 1, with linear interpolation between stops."""
    stops = STOPS[name]
    above = bisect_left(stops, value)
    if above == 0:
        return 0.0
    if above == len(stops):
        return 1.0
    low, high = stops[above - 1], stops[above]
    part = 1.0 if value == high else 0.0 if math.isinf(high) else (value - low) / (high - low)
    return (above - 1 + part) / (len(stops) - 1)


def starting_values(point: LabPoint | None) -> SliderValues:
    """The measured values, or defaults for those that were not measured."""
    defaults = SliderValues()
    if point is None:
        return defaults
    return SliderValues(
        alpha=defaults.alpha if point.alpha is None else point.alpha,
        k=min(point.k, MAX_K),
        c=defaults.c if point.c is None else point.c,
    )


def values_origin(point: LabPoint | None) -> str:
    """Where the starting values come from: which were measured, and which are placeholders."""
    if point is None:
        return "no run: values to play with"
    missing = [name for name, value in (("α", point.alpha), ("c", point.c)) if value is None]
    if not missing:
        return "starts from what the run measured"
    known = " and ".join(name for name in ("α", "K", "c") if name not in missing)
    start = starting_values(point)
    values = {"α": f"α {start.alpha:g}", "c": f"c {start.c:g}"}
    return f"{known} from the run; not measured, placeholder: {', '.join(values[name] for name in missing)}"


def token_curve(alpha: float) -> tuple[float, ...]:
    """E[N] at K = 0, ..., 32."""
    return tuple(formulas.expected_tokens(alpha, k) for k in range(MAX_K + 1))


def measured_cost_curve(alpha: float, costs: StepCosts) -> tuple[float, ...]:
    """The speedup by measured cost at K = 0, ..., 32."""
    return speedups(survival((), alpha), costs)


def speed_curve(alpha: float, c: float) -> tuple[float, ...]:
    """The model's speedup at K = 0, ..., 32."""
    return tuple(formulas.speedup(alpha, k, c) for k in range(MAX_K + 1))


def cost(c: float) -> str:
    """c with three significant digits or as a whole number; ``inf``."""
    return f"{c:.3g}" if c < 99.95 or math.isinf(c) else f"{c:.0f}"


def written_formulas(chosen: Row) -> tuple[tuple[str, str], ...]:
    """(formula, the formula with numbers and its value) of each formula."""
    alpha, k, c = f"{chosen.alpha:.3f}".removeprefix("0"), chosen.k, cost(chosen.c)
    tokens, speed = f"{chosen.expected_tokens:.2f}", f"{chosen.speedup:.2f}×"
    closed = f"(1 − {alpha}^{k + 1})/(1 − {alpha})" if chosen.alpha < 1 else f"{k} + 1"
    even = chosen.break_even_alpha
    hopeless = "none: nothing is drafted" if k == 0 else "none: c < 1, no K helps"
    break_even = hopeless if even is None else f"{f'{even:.3f}'.removeprefix('0')} at K {k}"
    best = (
        "K 0: do not speculate"
        if chosen.best_k == 0
        else f"K {best_k_label(chosen.best_k)}: {chosen.best_speedup:.2f}×"
    )
    return (
        ("E[N] = (1 − α^(K+1))/(1 − α)", f"{closed} = {tokens}"),
        ("speedup = E[N]·c/(c + K)", f"{tokens}·{c}/({c} + {k}) = {speed}" if c != "inf" else f"E[N] = {speed}"),
        ("best K = argmax speedup", best),
        ("break-even: E[N] = 1 + K/c", break_even),
        ("ceiling = max(1, min(c, 1/(1 − α)))", f"{chosen.ceiling:.2f}×"),
    )
