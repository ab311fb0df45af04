"""Whether counts come from a distribution: Pearson's chi-square test, and total variation."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import chdtrc, gammaln, xlog1py, xlogy

MIN_EXPECTED = 5.0
"""Ids with smaller expected counts share one bin: the chi-square approximation needs larger ones."""


@dataclass(frozen=True, slots=True)
class Fit:
    """The result of a test. ``statistic`` is None and ``p_value`` 0 if an id of probability 0 was drawn. ``dof``:
    degrees of freedom, 0 if all mass is in one bin; then there is nothing to test and ``p_value`` is None.
    ``total_variation``: between frequencies and probabilities; ``noise``: its exact mean if the counts do come from the
    distribution."""

    statistic: float | None
    dof: int
    p_value: float | None
    total_variation: float
    noise: float


def chi_square(counts: ArrayLike, probs: ArrayLike) -> Fit | None:
    """Test the ``counts`` [V] of draws against ``probs`` [V]; None without a draw."""
    observed_counts = np.asarray(counts, dtype=np.float64)
    chances = np.asarray(probs, dtype=np.float64) / np.sum(probs)
    total = observed_counts.sum()
    if total == 0:
        return None
    distance = float(np.abs(observed_counts / total - chances).sum() / 2.0)
    noise = min(1.0, float(_mean_deviation(chances, total).sum() / 2.0))
    if observed_counts[chances <= 0.0].any():
        return Fit(None, 0, 0.0, distance, noise)
    observed, expected = _bins(observed_counts, chances * total)
    dof = len(expected) - 1
    if dof == 0:
        return Fit(0.0, 0, None, distance, noise)
    statistic = float(((observed - expected) ** 2 / expected).sum())
    return Fit(statistic, dof, float(chdtrc(dof, statistic)), distance, noise)


def total_variation(one: ArrayLike, other: ArrayLike) -> float:
    return float(np.abs(np.asarray(one, dtype=np.float64) - np.asarray(other, dtype=np.float64)).sum() / 2.0)


def _mean_deviation(chances: NDArray[np.float64], draws: float) -> NDArray[np.float64]:
    """E|X/n - p| of a binomial X of n ``draws`` [V], by de Moivre: 2 v/n C(n, v) p^v (1 - p)^(n - v + 1) with
    v = floor(n p) + 1."""
    v = np.minimum(np.floor(draws * chances) + 1.0, draws)
    log_ways = gammaln(draws + 1.0) - gammaln(v + 1.0) - gammaln(draws - v + 1.0)
    deviation: NDArray[np.float64] = (
        2.0 * v / draws * np.exp(log_ways + xlogy(v, chances) + xlog1py(draws - v + 1.0, -chances))
    )
    return deviation


def _bins(
    observed: NDArray[np.float64], expected: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """One bin for each id with a large enough expected count, and one for all others; if that is still too small, it
    absorbs the smallest of the former."""
    order = np.argsort(expected, kind="stable")
    order = order[expected[order] > 0.0]
    rare = int(np.searchsorted(expected[order], MIN_EXPECTED))
    while 0 < rare < len(order) and expected[order[:rare]].sum() < MIN_EXPECTED:
        rare += 1
    if rare == 0:
        return observed[order], expected[order]
    starts = np.r_[0, np.arange(rare, len(order))]
    return np.add.reduceat(observed[order], starts), np.add.reduceat(expected[order], starts)
