"""Do counts come from a distribution? Pearson's chi-square, and total variation."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import chdtrc

LEAST_EXPECTED = 5.0
"""Ids expected more rarely than this share one bin: the chi-square distribution holds only for larger expectations."""


@dataclass(frozen=True, slots=True)
class Fit:
    """``statistic`` is None where an id of probability 0 came out: then no distribution is needed to say no.

    ``dof``: degrees of freedom, 0 where all mass lies in one bin. ``total_variation``: of the frequencies to the
    probabilities; ``noise``: what that would be on average if the counts did come from them.
    """

    statistic: float | None
    dof: int
    p_value: float
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
    noise = float(np.sqrt(2.0 * chances * (1.0 - chances) / (np.pi * total)).sum() / 2.0)
    if seen[chances <= 0.0].any():
        return Fit(None, 0, 0.0, distance, noise)
    observed, expected = _bins(seen, chances * total)
    dof = len(expected) - 1
    if dof == 0:
        return Fit(0.0, 0, 1.0, distance, noise)
    statistic = float(((observed - expected) ** 2 / expected).sum())
    return Fit(statistic, dof, float(chdtrc(dof, statistic)), distance, noise)


def total_variation(one: ArrayLike, other: ArrayLike) -> float:
    return float(np.abs(np.asarray(one, dtype=np.float64) - np.asarray(other, dtype=np.float64)).sum() / 2.0)


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
