"""Formulas and statistics, written a second time with numpy; what is undefined is None."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import t as student_t

QUANTILE_95 = 1.959963984540054
KS = np.arange(33)


def curve(alpha: float, c: float) -> NDArray[np.float64]:
    """E[N] c / (c + K) for K = 0, ..., 32."""
    expected = np.cumsum(alpha**KS)
    return expected * c / (c + KS)


def formula(alpha: float | None, ks: Sequence[int]) -> float | None:
    if alpha is None or not ks:
        return None
    k = np.array(ks)
    return float(np.mean(k + 1.0 if alpha == 1 else (1 - alpha ** (k + 1)) / (1 - alpha)))


def chance_of(n: int, alpha: float, k: int) -> float:
    """P(N = n | K_r = k)."""
    return 0.0 if n > k + 1 else alpha**k if n == k + 1 else alpha ** (n - 1) * (1 - alpha)


def break_even(k: int, c: float) -> float | None:
    """The root of alpha + ... + alpha^k = k / c within [0, 1]."""
    if k == 0 or c < 1:
        return None
    roots = np.roots([*[1.0] * k, -k / c])
    return float(next(r.real for r in roots if abs(r.imag) < 1e-9 and -1e-9 < r.real < 1 + 1e-9))


def wilson(hits: int, n: int) -> tuple[float, float] | None:
    """The two chances p whose distance from hits / n is 1.96 of p's own standard errors."""
    if n == 0:
        return None
    z2, rate = QUANTILE_95**2 / n, hits / n
    low, high = sorted(np.roots([1 + z2, -2 * rate - z2, rate**2]).real.tolist())
    return low, high


def batch_error(per_round: Sequence[Sequence[float]]) -> tuple[float, int] | None:
    """s / sqrt(B) of the weighted means of B = floor(sqrt(R)) consecutive blocks, and B - 1."""
    if len(per_round) < 16:
        return None
    values = [
        np.concatenate([np.array(per_round[i], float) for i in block])
        for block in np.array_split(np.arange(len(per_round)), int(np.sqrt(len(per_round))))
    ]
    values = [block for block in values if len(block)]
    if len(values) < 2:
        return None
    b, weights = len(values), np.array([len(block) for block in values])
    means = np.array([block.mean() for block in values])
    s2 = b / (b - 1) * np.average((means - np.concatenate(values).mean()) ** 2, weights=weights)
    return float(np.sqrt(s2 / b)), b - 1


def half_width(error: tuple[float, int]) -> float:
    """Half the width of a 95 % interval, by Student's t."""
    return float(student_t.ppf(0.975, error[1]) * error[0])


def ratio(part: float, whole: float) -> float | None:
    return float(part / whole) if whole else None


def mean(values: NDArray[Any]) -> float | None:
    return float(values.mean()) if len(values) else None


def median(values: Sequence[float]) -> float | None:
    return float(np.median(values)) if values else None
