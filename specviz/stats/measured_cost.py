"""The speedup by measured cost: what the step times of a run say about every K."""

from collections.abc import Sequence
from dataclasses import dataclass

from specviz.maths import step_costs
from specviz.maths.estimators import Interval
from specviz.maths.step_costs import StepCosts

DIFFERS = 1.15
"""From so many target steps on, a verification is said to cost more than the one that the paper's model charges."""

PRIOR_TESTS = 10
"""Tests at alpha that are added to those of a position, since deep positions are seldom tested."""


@dataclass(frozen=True, slots=True)
class MeasuredCost:
    """Speedups over the target alone by ``costs``, at the measured acceptance.

    ``curve``: for K = 0, ..., 32; ``low``, ``high``: the same with every accept probability as at the ends of the 95 %
    interval of alpha tested. ``best``: the speedup at ``best_k``. ``break_even_alpha`` at the
    configured ``k``, None if no alpha pays. ``ceiling``: the most that any draft can give at these times.
    """

    costs: StepCosts
    k: int
    curve: tuple[float, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]
    best_k: int
    break_even_alpha: float | None
    ceiling: float

    @property
    def best(self) -> float:
        return self.curve[self.best_k]

    @property
    def best_interval(self) -> Interval:
        """The speedup at the best K at the ends of the interval of alpha."""
        return self.low[self.best_k], self.high[self.best_k]

    @property
    def best_k_interval(self) -> tuple[int, int]:
        """The best K at the ends of the interval of alpha."""
        return step_costs.best_k(self.low), step_costs.best_k(self.high)

    @property
    def verify_steps(self) -> float:
        """What verifying K + 1 tokens costs, in target steps."""
        return self.costs.verify_steps(self.k + 1)

    @property
    def sentence(self) -> str:
        """Where the paper's model and the measured cost part; empty where they do not."""
        if self.k == 0 or 1 / DIFFERS < self.verify_steps < DIFFERS:
            return ""
        return f"Verifying {self.k + 1} tokens costs {self.verify_steps:.1f} target steps; the model assumes 1."


def measured_cost(
    costs: StepCosts, k: int, alpha: float, alpha_ci: Interval, tests: Sequence[tuple[int, int]], drafting: float = 1.0
) -> MeasuredCost:
    """``k``: as configured. ``tests``: (accepted, tested) at each draft position. ``drafting``: the share of rounds
    that draft."""
    conditional = [(accepted + PRIOR_TESTS * alpha) / (tested + PRIOR_TESTS) for accepted, tested in tests]

    def curve(at: float) -> tuple[float, ...]:
        chances = [min(1.0, chance * at / alpha) if alpha else at for chance in conditional]
        return step_costs.speedups(step_costs.survival(chances, at), costs, drafting)

    speedups = curve(alpha)
    return MeasuredCost(
        costs=costs,
        k=k,
        curve=speedups,
        low=curve(alpha_ci[0]),
        high=curve(alpha_ci[1]),
        best_k=step_costs.best_k(speedups),
        break_even_alpha=step_costs.break_even_alpha(k, costs),
        ceiling=step_costs.ceiling(costs),
    )
