"""Do counts come from a distribution? Pearson's chi-square, and total variation."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import chdtrc, gammaln, xlog1py, xlogy

LEAST_EXPECTED = 5.0
"""Ids expected more rarely than this share one bin: the chi-square distribution holds only for larger expectations."""


@dataclass(frozen=True, slots=True)
class Fit:
    """``statistic`` is None where an id of probability 0 came out: then no distribution is needed to say no.

    ``dof``: degrees of freedom, 0 where all mass lies in one bin; then there is nothing to test and ``p_value`` is
    None. ``total_variation``: of the frequencies to the probabilities; ``noise``: its mean, exact, if the counts did
    come from them.
    """

    statistic: float | None
    dof: int
    p_value: float | None
    total_variation: float
    noise: float


def chi_square(counts: ArrayLike, probs: ArrayLike) -> Fit | None:
    """``counts`` [V] of draws against ``probs`` [V]; None without a draw."""
    seen = np.asarray(counts, dtype=np.float64)
    chances = np.asarray(probs, dtype=np.float64) / np.sum(probs)
    total = seen.sum()
    if total == 0:
        return None
    distance = float(np.abs(seen / total - chances).sum() / 2.0)
    noise = min(1.0, float(_mean_deviation(chances, total).sum() / 2.0))
    if seen[chances <= 0.0].any():
        return Fit(None, 0, 0.0, distance, noise)
    observed, expected = _bins(seen, chances * total)
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
    least = np.minimum(np.floor(draws * chances) + 1.0, draws)
    ways = gammaln(draws + 1.0) - gammaln(least + 1.0) - gammaln(draws - least + 1.0)
    deviation: NDArray[np.float64] = (
        2.0 * least / draws * np.exp(ways + xlogy(least, chances) + xlog1py(draws - least + 1.0, -chances))
    )
    return deviation


def _bins(seen: NDArray[np.float64], expected: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """A bin for each id expected often enough, and one for all the rest, joined with the least of the others where it
    is still too small."""
    order = np.argsort(expected, kind="stable")
    order = order[expected[order] > 0.0]
    rare = int(np.searchsorted(expected[order], LEAST_EXPECTED))
    while 0 < rare < len(order) and expected[order[:rare]].sum() < LEAST_EXPECTED:
        rare += 1
    if rare == 0:
        return seen[order], expected[order]
    starts = np.r_[0, np.arange(rare, len(order))]
    return np.add.reduceat(seen[order], starts), np.add.reduceat(expected[order], starts)
