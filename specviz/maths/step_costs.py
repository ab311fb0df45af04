"""Speculation by measured cost: what a round takes where verifying K + 1 tokens costs more than one target step.

The paper's model charges one step T_p for every verification (``formulas``). On a CPU, or in a large batch, a forward
of m ids takes T_verify(m) > T_p. A round that drafts k tokens then takes

    T(k) = k * T_draft + T_verify(k + 1) + T_decide,

and the speedup over the target alone is E[N] * T_p / T(k). With T_verify = T_p and T_decide = 0 this is the paper's.
All times are milliseconds. Every function is pure.
"""

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, chain, islice, repeat
from operator import mul
from statistics import median

from specviz.core.options import MAX_K
from specviz.maths import formulas

Points = tuple[tuple[int, float], ...]
"""(m, T_verify(m)), ascending in m."""


@dataclass(frozen=True, slots=True)
class StepCosts:
    """``target_ms``: T_p, a step of the target alone. ``draft_ms``: T_draft, per drafted token. ``verify_ms``: the
    known T_verify(m), ascending in m, at least one with m > 1. ``decide_ms``: T_decide, to accept and resample."""

    target_ms: float
    draft_ms: float
    verify_ms: Points
    decide_ms: float = 0.0

    def verify(self, m: int) -> float:
        """T_verify(m) for m >= 1: T_p at m = 1, a known value, or linear between known ones. Above the largest, the
        last slope continues, and falls no further."""
        if m <= 1:
            return self.target_ms
        points = ((1, self.target_ms), *(point for point in self.verify_ms if point[0] > 1))
        at = min(max(1, bisect_left(points, (m, 0.0))), len(points) - 1)
        (low, low_ms), (high, high_ms) = points[at - 1], points[at]
        slope = (high_ms - low_ms) / (high - low)
        return high_ms + (m - high) * max(0.0, slope) if m > high else low_ms + (m - low) * slope

    def round_ms(self, k: int) -> float:
        """T(k); a round of k = 0 is a step of the target alone."""
        return self.target_ms if k == 0 else k * self.draft_ms + self.verify(k + 1) + self.decide_ms

    def verify_steps(self, m: int) -> float:
        """T_verify(m) / T_p: how many target steps verifying m - 1 drafted tokens costs. The paper assumes 1."""
        return self.verify(m) / self.target_ms


def combined_verify_times(target_ms: float, calibrated: Points, measured: Mapping[int, float]) -> Points:
    """T_verify from a calibration and from the rounds of a run, whose medians count where there are some.

    Calibrated values for other m are scaled by the median ratio of ``measured`` to them: in a round a forward may take
    longer than alone. Empty if nothing but m = 1 is known.
    """
    known = {m: ms for m, ms in measured.items() if m > 1}
    if any(m > 1 for m, _ in calibrated):
        alone = StepCosts(target_ms, 0.0, calibrated)
        scale = median([ms / alone.verify(m) for m, ms in known.items()]) if known else 1.0
        known = {m: ms * scale for m, ms in calibrated if m > 1} | known
    return tuple(sorted(known.items()))


def survival(conditional: Sequence[float], alpha: float) -> tuple[float, ...]:
    """P(the first i tokens are accepted), i = 1, ..., 32.

    ``conditional``: P(token i is accepted if it is tested), i = 1, 2, ...; at deeper positions it is ``alpha``.
    """
    return tuple(accumulate(islice(chain(conditional, repeat(alpha)), MAX_K), mul))


def speedups(chances: Sequence[float], costs: StepCosts, drafting: float = 1.0) -> tuple[float, ...]:
    """E[N] T_p / E[T] for k = 0, ..., len(chances), with E[N] = 1 + the sum of the first k ``chances``.

    ``drafting``: the share of rounds that draft; the others emit one token in T_p.
    """
    tokens, values = 0.0, [1.0]
    for k, chance in enumerate(chances, start=1):
        tokens += chance
        ms = drafting * costs.round_ms(k) + (1.0 - drafting) * costs.target_ms
        values.append((1.0 + drafting * tokens) * costs.target_ms / ms)
    return tuple(values)


def best_k(curve: Sequence[float]) -> int:
    """The k with the largest speedup, the smallest on ties; 0: do not speculate."""
    return max(range(len(curve)), key=lambda k: (curve[k], -k))


def break_even_alpha(k: int, costs: StepCosts) -> float | None:
    """The alpha that solves E[N](alpha, k) = T(k) / T_p. None if there is none: k = 0, or a round costs more than the
    k + 1 tokens it can yield."""
    needed = costs.round_ms(k) / costs.target_ms - 1.0
    if k == 0 or needed > k:
        return None
    return formulas.alpha_for(k, needed)


def ceiling(costs: StepCosts) -> float:
    """max(1, max over k of (k + 1) T_p / T(k)): with these times no draft, however good, gives more."""
    return max(speedups((1.0,) * MAX_K, costs))
