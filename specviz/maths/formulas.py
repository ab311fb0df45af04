"""The formulas of speculative decoding, for independent tests that each accept with probability ``alpha``.

Leviathan et al. 2023 (arXiv:2211.17192) write gamma for ``k``, the tokens drafted in a round, and in their analysis
(section 3) derive everything from the acceptance rate alpha = E[sum_x min(p(x), q(x))]. Their c is the cost of one
draft step divided by the cost of one target step. **The c of this package is the inverse**, T_p / T_q: how many
draft steps fit into one target step. ``math.inf`` means a draft that costs nothing. ``derivations`` derives each
formula and checks it numerically.

Every function is pure and raises ValueError, with a full sentence, for an alpha outside [0, 1], a k that is not a whole
number of at least 0, or a c that is not above 0.
"""

import math
import operator
from typing import SupportsIndex

from specviz.core.options import MAX_K


def expected_tokens(alpha: float, k: int) -> float:
    """E[N] = (1 - alpha^(k+1)) / (1 - alpha), k + 1 at alpha = 1: the mean number of tokens of a round (the paper's
    equation 1). N > i exactly if the first i tests accept, with probability alpha^i for i <= k; the mean of a positive
    integer is the sum of P(N > i), i = 0, 1, ..., a geometric sum. It is computed as 1 + alpha + ... + alpha^k, which
    stays accurate near alpha = 1."""
    return 1.0 + _power_sum(_rate(alpha), _whole(k, "k"))


def tokens_distribution(alpha: float, k: int) -> list[float]:
    """P(N = 1), ..., P(N = k+1): alpha^(i-1) (1 - alpha) for i <= k, alpha^k for i = k + 1. i - 1 tests accept and the
    next one rejects, or all k accept: a geometric distribution capped at k + 1, whose mean is ``expected_tokens``. The
    list has k + 1 entries."""
    alpha, k = _rate(alpha), _whole(k, "k")
    return [alpha**i * (1.0 - alpha) for i in range(k)] + [alpha**k]


def speedup(alpha: float, k: int, c: float) -> float:
    """E[N] c / (c + k): how many times faster than the target alone (the paper's theorem 3.8). A round takes T_p + k
    T_q and yields E[N] tokens; the target alone yields one in T_p. It is the paper's (1 - alpha^(gamma+1)) / ((1 -
    alpha)(gamma c + 1)) with its c, the inverse of ours. Below 1 the target alone is faster. It assumes that verifying
    k + 1 tokens costs the target as much as one step."""
    alpha, k, c = _rate(alpha), _whole(k, "k"), _cost(c)
    return expected_tokens(alpha, k) / (1.0 + k / c)


def best_k(alpha: float, c: float, limit: int = MAX_K) -> tuple[int, float]:
    """The k in 0..limit with the largest speedup, the smallest such k on ties, and that speedup. 0 means: do not
    speculate. ``limit`` means ``limit`` or more. The speedup rises from k to k + 1 exactly while alpha^(k+1) (c + k) >
    E[N](alpha, k), and once it falls it never rises again, so the first k that gains nothing is the answer."""
    alpha, c, limit = _rate(alpha), _cost(c), _whole(limit, "limit")
    k = 0
    while k < limit and _one_more_pays(alpha, k, c):
        k += 1
    return k, speedup(alpha, k, c)


def alpha_for(k: int, accepted: float) -> float:
    """The alpha that solves alpha + alpha^2 + ... + alpha^k = ``accepted``, for 0 <= ``accepted`` <= k: the rate at
    which a round of k drafts accepts so many."""
    low, high = 0.0, 1.0
    while low < (middle := (low + high) / 2.0) < high:
        if _power_sum(middle, k) < accepted:
            low = middle
        else:
            high = middle
    return high


def break_even_alpha(k: int, c: float) -> float | None:
    """The alpha that solves E[N](alpha, k) = 1 + k / c, where speculating costs exactly what it gains. E[N] = 1 + alpha
    + ... + alpha^k rises with alpha from 1 to k + 1, so for c >= 1 there is exactly one. None if there is none: c < 1
    (a draft step costs more than a target step: no k helps) or k = 0 (the speedup is 1 at every alpha). It is 1 / c at
    k = 1 and grows with k."""
    k, c = _whole(k, "k"), _cost(c)
    if k == 0 or c < 1.0:
        return None
    needed = k / c  # of alpha + alpha^2 + ... + alpha^k, which rises from 0 to k over [0, 1]
    if needed == 0.0:
        return 0.0
    return alpha_for(k, needed)


def ceiling(alpha: float, c: float) -> float:
    """max(1, min(c, 1 / (1 - alpha))): an upper bound over all k at this alpha; 1 if not speculating is best. E[N]
    stays below 1 / (1 - alpha), and a round that drafts k tokens costs 1 + k / c, so that even at alpha = 1 the speedup
    stays below c."""
    alpha, c = _rate(alpha), _cost(c)
    return max(1.0, min(c, math.inf if alpha == 1.0 else 1.0 / (1.0 - alpha)))


def operations_factor(alpha: float, k: int) -> float:
    """(1 - alpha)(k + 1) / (1 - alpha^(k+1)): operations spent, as a multiple of those of the target alone (the paper's
    theorem 3.11). The k + 1 scored tokens divided by the E[N] emitted ones, without the draft's own operations (the
    paper's c-hat = 0, as in its table 1)."""
    alpha, k = _rate(alpha), _whole(k, "k")
    return (k + 1) / expected_tokens(alpha, k)


def _one_more_pays(alpha: float, k: int, c: float) -> bool:
    if math.isinf(c):
        return alpha > 0.0
    now = expected_tokens(alpha, k)
    return alpha ** (k + 1) * (c + k) - now > 1e-12 * now


def _power_sum(alpha: float, k: int) -> float:
    """alpha + alpha^2 + ... + alpha^k = E[N] - 1."""
    total = 0.0
    for _ in range(k):
        total = alpha * (1.0 + total)
    return total


def _rate(alpha: float) -> float:
    if not 0.0 <= alpha <= 1.0:
        raise ValueError(f"alpha must lie between 0 and 1, not {alpha}")
    return float(alpha)


def _whole(value: SupportsIndex, name: str) -> int:
    try:
        number = operator.index(value)
    except TypeError:
        raise ValueError(f"{name} must be a whole number, not {value!r}") from None
    if number < 0:
        raise ValueError(f"{name} must be 0 or more, not {number}")
    return number


def _cost(c: float) -> float:
    if not c > 0.0:
        raise ValueError(f"c must be above 0, not {c}")
    return float(c)
