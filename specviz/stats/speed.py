"""What a round costs and what it gains: measured times beside the model's speedup."""

from dataclasses import dataclass

from specviz.core.options import MAX_K
from specviz.maths import formulas
from specviz.stats.measured_cost import MeasuredCost
from specviz.stats.run_stats import RunStats


@dataclass(frozen=True, slots=True)
class SpeedView:
    """The times and speedups of the segment shown; times in milliseconds, None where undefined. ``draft_step_ms``
    (draft_ms / K_r over the rounds with a draft), ``verify_ms``, ``decide_ms`` and ``inspect_ms`` are medians per
    round; ``target_step_ms`` (T_p) and ``draft_step_calibrated_ms`` (T_q) come from calibration. ``verify_times``: (m,
    T_verify(m)) over the whole run except its first round. ``c`` = T_p / T_q. ``curve``: (K, speedup by the model at
    alpha tested) for K = 0, ..., 32, empty where undefined; ``model`` is its value at the configured ``k``,
    ``measured_cost`` the speedup by the times the rounds took. ``slower``: slower than the target alone, by measured
    cost, or by the model if nothing was measured."""

    draft_step_ms: float | None
    verify_ms: float | None
    decide_ms: float | None
    inspect_ms: float | None
    target_step_ms: float | None
    draft_step_calibrated_ms: float | None
    verify_times: tuple[tuple[int, float], ...]
    c: float | None
    curve: tuple[tuple[int, float], ...]
    k: int | None
    model: float | None
    measured_cost: float | None
    best_k: int | None
    best_speedup: float | None
    break_even_alpha: float | None
    ceiling: float | None
    slower: bool
    at_measured_cost: MeasuredCost | None


def speed_view(stats: RunStats, last: int | None = None) -> SpeedView:
    """The speed as of round ``last`` (None: the latest)."""
    rates = stats.segment_rates(last)
    settings = stats.settings(last)
    curve = _curve(rates.alpha_tested, rates.c)
    return SpeedView(
        draft_step_ms=stats.draft_time(last),
        verify_ms=rates.verify_ms,
        decide_ms=rates.decide_ms,
        inspect_ms=rates.inspect_ms,
        target_step_ms=rates.target_step_ms,
        draft_step_calibrated_ms=rates.draft_step_ms,
        verify_times=stats.verify_times(last),
        c=rates.c,
        curve=curve,
        k=settings.k if settings else None,
        model=rates.speedup_model,
        measured_cost=rates.speedup_measured_cost,
        best_k=rates.best_k,
        best_speedup=dict(curve).get(rates.best_k) if rates.best_k is not None else None,
        break_even_alpha=rates.break_even_alpha,
        ceiling=rates.ceiling,
        slower=rates.slower,
        at_measured_cost=rates.at_measured_cost,
    )


def _curve(alpha: float | None, c: float | None) -> tuple[tuple[int, float], ...]:
    if alpha is None or c is None:
        return ()
    return tuple((k, formulas.speedup(alpha, k, c)) for k in range(MAX_K + 1))
