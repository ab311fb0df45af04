"""Reference implementations of the acceptance rules: numpy, float64, pure.

The decoder's torch forms are tested against them. ``specviz.core.rule`` describes the rules. ``p`` is the target's and
``q`` the draft's distribution, both as sampled from; distributions have shape [V] and sum to 1 up to rounding. Inputs
are anything numpy converts to float64.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

Probs = NDArray[np.float64]
Ids = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Decision:
    """The outcome of a round. ``accept_probs`` and ``target_samples`` have an entry for every drafted token, including
    the untested ones after a rejection; each is empty if the rule has none. ``residual`` is the distribution [V] that
    the last token was drawn from after a rejection, None without one; ``fell_back``: it is p itself because p nowhere
    exceeds q. ``last_origin`` is plain if nothing was drafted."""

    n_accepted: int
    accept_probs: tuple[float, ...]
    residual: Probs | None
    last_id: int
    last_origin: Literal["resampled", "bonus", "plain"]
    fell_back: bool = False
    target_samples: tuple[int, ...] = ()


def accept_probs(p: ArrayLike, q: ArrayLike) -> Probs:
    """min(1, p / q) elementwise; where q = 0 its limit: 1 if p > 0, else 0."""
    target, draft = _float64(p), _float64(q)
    certain = target >= draft
    return _float64(np.where(target <= 0.0, 0.0, np.where(certain, 1.0, target / np.where(certain, 1.0, draft))))


def accept_prob(p: ArrayLike, q: ArrayLike, token_id: int) -> float:
    """min(1, p(x) / q(x)): the probability that drafted token x is accepted. A token with q(x) = 0 cannot have been
    drafted; it gets the limit, 1 if p(x) > 0, else 0."""
    return float(accept_probs(_float64(p)[token_id], _float64(q)[token_id]))


def overlap(p: ArrayLike, q: ArrayLike) -> float:
    """sum_x min(p(x), q(x)) = sum_x q(x) min(1, p(x) / q(x)): the accept probability of a position. It is 1 - TV(p, q),
    for min(a, b) = (a + b - |a - b|) / 2."""
    return min(1.0, float(np.minimum(_float64(p), _float64(q)).sum()))


def match(p: ArrayLike, q: ArrayLike) -> float:
    """sum_x p(x) q(x): the accept probability of a position if the target's own sample must equal the draft's."""
    return min(1.0, float((_float64(p) * _float64(q)).sum()))


def residual(p: ArrayLike, q: ArrayLike) -> tuple[Probs, bool]:
    """max(0, p - q) / sum max(0, p - q), shape [V]: the distribution that replaces a rejected token.

    A position rejects with probability 1 - overlap = sum max(0, p - q), so that x is emitted with probability
    min(p, q) + max(0, p - q) = p(x), by acceptance or by this draw (Leviathan et al. 2023, appendix A.1).

    If the sum is 0 (p nowhere exceeds q: they are equal up to rounding) it is p itself, and the second value is True.
    """
    target = _float64(p)
    excess = np.maximum(0.0, target - _float64(q))
    total = excess.sum()
    if total <= 0.0:
        return target.copy(), True
    return excess / total, False


def inverse_cdf(probs: ArrayLike, u: float) -> int:
    """The id that ``u`` in [0, 1) draws from ``probs`` [V]; see ``draws``. Raises ValueError for another ``u``."""
    if not 0.0 <= u <= 1.0:
        raise ValueError(f"u must lie in [0, 1), not {u}")
    return int(draws(probs, u))


def draws(probs: ArrayLike, u: ArrayLike) -> Ids:
    """The ids that uniforms ``u`` in [0, 1) draw from ``probs`` [V], in the shape of ``u``. Inverse CDF: the float64
    CDF is searched right-sided for u times its last value, so that an id of probability 0 is never drawn, and the
    result is clamped to the last id with a nonzero probability. ``probs`` need not sum to 1. Raises ValueError if all
    are 0."""
    weights = _float64(probs)
    possible = np.flatnonzero(weights > 0.0)
    if possible.size == 0:
        raise ValueError("no id has a probability above 0")
    cdf = np.cumsum(weights)
    ids: Ids = np.minimum(np.searchsorted(cdf, _float64(u) * cdf[-1], side="right"), possible[-1])
    return ids


def decide_exact(p: ArrayLike, q: ArrayLike, drafted: ArrayLike, u: ArrayLike, last_u: float) -> Decision:
    """Accept drafted token i iff u[i] < min(1, p_i(x) / q_i(x)), up to the first rejection (Algorithm 1). ``p`` [K+1,
    V], ``q`` [K, V], ``drafted`` ids [K], ``u`` [K] uniforms in [0, 1). The last token is drawn with ``last_u``: from
    the residual at the first rejection, else from p[K] (bonus; plain for K = 0)."""
    target, draft, ids, tests = _float64(p), _float64(q), np.asarray(drafted, dtype=np.int64), _float64(u)
    k = ids.size
    if target.shape[0] != k + 1 or tests.size != k or (k and draft.shape != (k, target.shape[1])):
        raise ValueError(
            f"{k} drafted tokens need p of {k + 1} positions, q of {k} over the same ids, and {k} uniforms"
        )
    accept_probs = tuple(accept_prob(target[i], draft[i], int(ids[i])) for i in range(k))
    n_accepted = next((i for i in range(k) if not tests[i] < accept_probs[i]), k)
    if n_accepted == k:
        return Decision(k, accept_probs, None, inverse_cdf(target[k], last_u), _origin_after_draft(k))
    replacement, fell_back = residual(target[n_accepted], draft[n_accepted])
    return Decision(n_accepted, accept_probs, replacement, inverse_cdf(replacement, last_u), "resampled", fell_back)


def decide_equality(p: ArrayLike, drafted: ArrayLike, u: ArrayLike, last_u: float) -> Decision:
    """Accept drafted token i iff it is what the target itself draws from p_i by u[i]. ``p`` [K+1, V], ``drafted`` ids
    [K], ``u`` [K] uniforms in [0, 1). The first sample that differs replaces its draft, so every token is the target's
    own draw and q is not needed; a drafted token x is accepted with probability p(x). After K accepted tokens one is
    drawn from p[K] with ``last_u`` (bonus; plain for K = 0)."""
    target, ids, uniforms = _float64(p), np.asarray(drafted, dtype=np.int64), _float64(u)
    k = ids.size
    if target.shape[0] != k + 1 or uniforms.size != k:
        raise ValueError(f"{k} drafted tokens need p of {k + 1} positions, and {k} uniforms")
    samples = tuple(inverse_cdf(target[i], float(uniforms[i])) for i in range(k))
    n_accepted = next((i for i in range(k) if samples[i] != ids[i]), k)
    if n_accepted < k:
        return Decision(n_accepted, (), None, samples[n_accepted], "resampled", target_samples=samples)
    return Decision(k, (), None, inverse_cdf(target[k], last_u), _origin_after_draft(k), target_samples=samples)


def _origin_after_draft(k: int) -> Literal["bonus", "plain"]:
    return "bonus" if k else "plain"


def tempered(probs: ArrayLike, temperature: float) -> Probs:
    """``probs`` [V] at ``temperature`` > 0: probs^(1/T), normalised."""
    weights = _float64(probs)
    raised = (weights / weights.max()) ** (1.0 / temperature)
    return _float64(raised / raised.sum())


def _float64(values: ArrayLike) -> Probs:
    return np.asarray(values, dtype=np.float64)
