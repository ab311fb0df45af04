"""Estimators and their errors: pure functions of counts and per-round sums."""

import math
from statistics import NormalDist
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

Interval = tuple[float, float]

MIN_ROUNDS = 16
"""Batch means need at least this many rounds."""
MIN_VARIANCE = 1e-3
"""Below this sum of o (1 - o) acceptance is nearly certain and z is meaningless."""
MAX_Z = 4.0
"""A larger |z| means a bug in the decoder; by chance it occurs once in 16,000 runs."""

_QUANTILE_95 = NormalDist().inv_cdf(0.975)


def wilson(successes: int, trials: int) -> Interval | None:
    """Wilson's 95 % score interval for a probability, from independent trials; None without a trial."""
    if trials == 0:
        return None
    rate, z2 = successes / trials, _QUANTILE_95**2
    scale = 1.0 + z2 / trials
    centre = (rate + z2 / (2 * trials)) / scale
    half = _QUANTILE_95 * math.sqrt(rate * (1.0 - rate) / trials + z2 / (4 * trials * trials)) / scale
    return (0.0 if successes == 0 else max(0.0, centre - half), 1.0 if successes == trials else min(1.0, centre + half))


def block_starts(rounds: int) -> NDArray[np.int64]:
    """The start (0-based) of each of B = floor(sqrt(rounds)) consecutive blocks; the first ones have one round more if
    the rounds do not divide evenly."""
    blocks = math.isqrt(rounds)
    size, longer = divmod(rounds, blocks)
    index = np.arange(blocks)
    return index * size + np.minimum(index, longer)


def block_bounds(rounds: int) -> NDArray[np.int64]:
    """``block_starts`` and the end of the last block; [0] without rounds."""
    return np.append(block_starts(rounds), rounds) if rounds else np.zeros(1, np.int64)


class StandardError(NamedTuple):
    """The standard error of a mean, from ``dof`` + 1 independent values."""

    se: float
    dof: int

    @property
    def half_width(self) -> float:
        """Half the width of the 95 % interval, by Student's t: from few values it is wider than 1.96 errors."""
        return float(stdtrit(self.dof, 0.975)) * self.se


def batch_means_error(sums: NDArray[np.float64], weights: NDArray[np.int64]) -> StandardError | None:
    """The standard error s / sqrt(B) of ``sums.sum() / weights.sum()`` by batch means, which allow for
    dependence between neighbouring rounds.

    ``sums`` [R] and ``weights`` [R] hold the sum and the number of the values measured in each round. The
    rounds form B = floor(sqrt(R)) consecutive blocks whose lengths differ by at most one. With m_b the mean of block b,
    w_b the number of values in it and m the overall mean,

        s^2 = B / (B - 1) * sum_b w_b (m_b - m)^2 / sum_b w_b,

    the weighted variance of the block means: unbiased if the variance of m_b is proportional to 1 / w_b, and the usual
    sample variance for equal weights. Blocks without a value are left out, and B counts the remaining ones. None under
    ``MIN_ROUNDS`` rounds or if fewer than two blocks remain.
    """
    if len(sums) < MIN_ROUNDS:
        return None
    starts = block_starts(len(sums))
    return block_means_error(len(sums), np.add.reduceat(sums, starts), np.add.reduceat(weights, starts))


def block_means_error(
    rounds: int, block_sums: NDArray[np.float64], block_weights: NDArray[np.int64 | np.float64]
) -> StandardError | None:
    """``batch_means_error`` from the sums over the blocks of ``rounds`` rounds."""
    if rounds < MIN_ROUNDS:
        return None
    nonempty = block_weights > 0
    blocks = int(nonempty.sum())
    if blocks < 2:
        return None
    block_sums, block_weights = block_sums[nonempty], block_weights[nonempty]
    total = block_weights.sum()
    deviation = block_sums / block_weights - block_sums.sum() / total
    variance = blocks / (blocks - 1) * float((block_weights * deviation**2).sum() / total)
    return StandardError(math.sqrt(variance / blocks), blocks - 1)


def interval(mean: float | None, error: StandardError | None) -> Interval | None:
    """The 95 % interval of a mean in [0, 1], clipped to it; None if either is undefined."""
    if mean is None or error is None:
        return None
    return max(0.0, mean - error.half_width), min(1.0, mean + error.half_width)


def agreement(accepted: int, chance: float, variance: float) -> float | None:
    """z = (accepted - sum o) / sqrt(sum o (1 - o)) over tested positions with accept probability o; None if the
    variance is too small (greedy). Its terms are martingale differences, so it is standard normal under any dependence
    if the decoder is exact."""
    return None if variance < MIN_VARIANCE else (accepted - chance) / math.sqrt(variance)


def contradicts(accepted: int, chance: float, variance: float) -> bool:
    """Whether the number of accepted positions is impossible: |z| above ``MAX_Z`` or, if every outcome was nearly
    certain, another outcome."""
    z = agreement(accepted, chance, variance)
    return abs(accepted - chance) > 0.5 if z is None else abs(z) > MAX_Z
