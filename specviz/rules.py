"""The rules that test a drafted token, each once: numpy, float64, pure.

The exact rule is Algorithm 1 of Leviathan et al. 2023 (arXiv:2211.17192), with ``p`` the target's and ``q`` the draft's
distribution, both as sampled from; the others keep the same distribution (equality), give it up for more acceptance
(typical, Medusa's), or are mistakes that are made in practice. They are the reference the decoder's own forms are
tested against. Arrays come in as anything numpy reads and are computed in float64; distributions have shape [V] and
sum to 1 up to rounding.
"""

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

Probs = NDArray[np.float64]
Ids = NDArray[np.int64]
Flags = NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False)
class Decision:
    """What one round comes to.

    ``accept_probs`` has an entry for every drafted token, also behind the first rejection, where nothing is tested.
    ``residual`` is the distribution [V] the last token was drawn from after a rejection, None without one;
    ``fell_back`` says that it is p itself because p nowhere exceeds q. ``last_origin`` is plain where nothing was
    drafted. ``target_samples`` are the target's own samples under the equality rule, None under others.
    """

    n_accepted: int
    accept_probs: tuple[float, ...]
    residual: Probs | None
    last_id: int
    last_origin: Literal["resampled", "bonus", "plain"]
    fell_back: bool = False
    target_samples: tuple[int, ...] | None = None


def accept_probs(p: ArrayLike, q: ArrayLike) -> Probs:
    """min(1, p / q) place by place, in the shape of both; where q = 0 the limit: 1 where p > 0 and 0 where both are."""
    target, draft = _float64(p), _float64(q)
    certain = target >= draft
    return _float64(np.where(target <= 0.0, 0.0, np.where(certain, 1.0, target / np.where(certain, 1.0, draft))))


def accept_prob(p: ArrayLike, q: ArrayLike, token_id: int) -> float:
    """min(1, p(x) / q(x)): the chance that drafted token x is accepted.

    A token with q(x) = 0 cannot have been drafted; it gets the limit, 1 where p(x) > 0 and 0 where both are 0.
    """
    return float(accept_probs(_float64(p)[token_id], _float64(q)[token_id]))


def overlap(p: ArrayLike, q: ArrayLike) -> float:
    """sum_x min(p(x), q(x)) = sum_x q(x) min(1, p(x) / q(x)): the accept chance of a position, whatever is drawn.

    It is 1 - TV(p, q), for min(a, b) = (a + b - |a - b|) / 2.
    """
    return min(1.0, float(np.minimum(_float64(p), _float64(q)).sum()))


def match(p: ArrayLike, q: ArrayLike) -> float:
    """sum_x p(x) q(x): the accept chance where the target's own sample has to equal the draft's."""
    return min(1.0, float((_float64(p) * _float64(q)).sum()))


def residual(p: ArrayLike, q: ArrayLike) -> tuple[Probs, bool]:
    """max(0, p - q) / sum max(0, p - q), shape [V]: what a rejected position is drawn from.

    A position is rejected with chance 1 - overlap = sum max(0, p - q), so that x comes out with chance
    min(p, q) + max(0, p - q) = p(x): by acceptance or by this draw.

    Where the sum is 0 (p nowhere exceeds q: equal up to rounding) it is p itself, and the second value is True.
    """
    target = _float64(p)
    excess = np.maximum(0.0, target - _float64(q))
    total = excess.sum()
    if total <= 0.0:
        return target.copy(), True
    return excess / total, False


def inverse_cdf(probs: ArrayLike, u: float) -> int:
    """The id drawn from ``probs`` [V] by the uniform ``u`` in [0, 1): see ``draws``."""
    if not 0.0 <= u <= 1.0:
        raise ValueError(f"u must lie in [0, 1), not {u}")
    return int(draws(probs, u))


def draws(probs: ArrayLike, u: ArrayLike) -> Ids:
    """The ids drawn from ``probs`` [V] by uniforms ``u`` in [0, 1), in the shape of ``u``.

    The float64 CDF is searched right-sided for u times its last value, so that an id of probability 0 is never hit,
    and the result clamped to the last id with a probability above 0. ``probs`` need not sum to 1. Raises ValueError
    where none is above 0.
    """
    weights = _float64(probs)
    possible = np.flatnonzero(weights > 0.0)
    if possible.size == 0:
        raise ValueError("no id has a probability above 0")
    cdf = np.cumsum(weights)
    ids: Ids = np.minimum(np.searchsorted(cdf, _float64(u) * cdf[-1], side="right"), possible[-1])
    return ids


def decide_exact(p: ArrayLike, q: ArrayLike, drafted: ArrayLike, u: ArrayLike, last_u: float) -> Decision:
    """Decide a round: accept drafted token i iff u[i] < min(1, p_i(x) / q_i(x)), up to the first rejection.

    ``p`` [K+1, V], ``q`` [K, V], ``drafted`` ids [K], ``u`` [K] uniforms in [0, 1). The last token is drawn with
    ``last_u``: from the residual at the first rejection, else from p[K] (bonus; plain for K = 0).
    """
    target, draft, ids, tests = _a_round(p, q, drafted, u)
    k = ids.size
    accept_probs = tuple(accept_prob(target[i], draft[i], int(ids[i])) for i in range(k))
    n_accepted = next((i for i in range(k) if not tests[i] < accept_probs[i]), k)
    if n_accepted == k:
        return Decision(k, accept_probs, None, inverse_cdf(target[k], last_u), _after_all(k))
    left, fell_back = residual(target[n_accepted], draft[n_accepted])
    return Decision(n_accepted, accept_probs, left, inverse_cdf(left, last_u), "resampled", fell_back)


def decide_equality(p: ArrayLike, q: ArrayLike, drafted: ArrayLike, u: ArrayLike, last_u: float) -> Decision:
    """Decide a round by equality: the target draws its own token with u[i], drafted token i is accepted iff it is that
    one, up to the first that is not, which the target's replaces.

    Shapes as for ``decide_exact``; q is not looked at. ``accept_probs`` are p_i(x). ``last_u`` draws the last token
    from p[K] where all were accepted. ``residual`` is None: nothing is resampled from one.
    """
    target, _, ids, tests = _a_round(p, q, drafted, u)
    k = ids.size
    chances = tuple(float(target[i][ids[i]]) for i in range(k))
    samples = tuple(inverse_cdf(target[i], float(tests[i])) for i in range(k))
    n_accepted = next((i for i in range(k) if samples[i] != ids[i]), k)
    if n_accepted == k:
        last = inverse_cdf(target[k], last_u)
        return Decision(k, chances, None, last, _after_all(k), target_samples=samples)
    return Decision(n_accepted, chances, None, samples[n_accepted], "resampled", target_samples=samples)


def _a_round(p: ArrayLike, q: ArrayLike, drafted: ArrayLike, u: ArrayLike) -> tuple[Probs, Probs, Ids, Probs]:
    target, draft, ids, tests = _float64(p), _float64(q), np.asarray(drafted, dtype=np.int64), _float64(u)
    k = ids.size
    if target.shape[0] != k + 1 or tests.size != k or (k and draft.shape != (k, target.shape[1])):
        raise ValueError(
            f"{k} drafted tokens need p of {k + 1} positions, q of {k} over the same ids, and {k} uniforms"
        )
    return target, draft, ids, tests


def _after_all(k: int) -> Literal["bonus", "plain"]:
    return "bonus" if k else "plain"


def _float64(values: ArrayLike) -> Probs:
    return np.asarray(values, dtype=np.float64)


# -- every rule at one position, for whole arrays of drafted ids


class Rule:
    """One way to test drafted tokens, at a position with target p [V] and draft q [V].

    ``keeps``: what comes out is distributed as p, in theory. ``words``: what it does. ``free``: how many tokens at the
    start of a round are taken without a test.
    """

    name: ClassVar[str]
    keeps: ClassVar[bool] = False
    words: ClassVar[str]
    free: ClassVar[int] = 0

    def chances(self, p: Probs, q: Probs) -> Probs:
        """The chance [V] that a drafted x is accepted."""
        raise NotImplementedError

    def correction(self, p: Probs, q: Probs) -> Probs:
        """The distribution [V] of what stands in for a rejected token, whichever it was."""
        return residual(p, q)[0]

    def bonus(self, p: Probs) -> Probs:
        """The distribution [V] of the token after K accepted ones."""
        return p

    def accepts(self, p: Probs, q: Probs, drafted: Ids, u: Probs) -> Flags:
        """Which of ``drafted`` [n] are accepted under the uniforms ``u`` [n]."""
        passed: Flags = u < self.chances(p, q)[drafted]
        return passed

    def replaces(self, p: Probs, q: Probs, u: Probs, last_u: Probs) -> Ids:
        """What stands in for n rejected tokens: ``u`` [n] tested them, ``last_u`` [n] are fresh."""
        return draws(self.correction(p, q), last_u)

    def accepted_mass(self, p: Probs, q: Probs) -> Probs:
        """The chance [V] that a tested position comes out as x because x was drafted and accepted."""
        return _float64(q * self.chances(p, q))

    def replaced_mass(self, p: Probs, q: Probs) -> Probs:
        """The chance [V] that it comes out as x because another was rejected. Both masses sum to 1; their sum is p
        exactly where the rule keeps the distribution."""
        return _float64((1.0 - self.accepted_mass(p, q).sum()) * self.correction(p, q))


class Exact(Rule):
    name = "exact"
    keeps = True
    words = "accept with min(1, p/q), else draw from max(0, p - q)"

    def chances(self, p: Probs, q: Probs) -> Probs:
        return accept_probs(p, q)


class Equality(Rule):
    name = "equality"
    keeps = True
    words = "the target draws a token itself; accept if the draft's is the same, else take the target's"

    def chances(self, p: Probs, q: Probs) -> Probs:
        return p

    def accepts(self, p: Probs, q: Probs, drafted: Ids, u: Probs) -> Flags:
        passed: Flags = draws(p, u) == drafted
        return passed

    def replaces(self, p: Probs, q: Probs, u: Probs, last_u: Probs) -> Ids:
        return draws(p, u)

    def replaced_mass(self, p: Probs, q: Probs) -> Probs:
        return _float64(p * (1.0 - q))


class Greedy(Rule):
    name = "greedy"
    words = "accept only the most probable token of p, else put it there"

    def chances(self, p: Probs, q: Probs) -> Probs:
        top = np.zeros_like(p)
        top[p.argmax()] = 1.0
        return top

    def correction(self, p: Probs, q: Probs) -> Probs:
        return self.chances(p, q)

    def bonus(self, p: Probs) -> Probs:
        return self.chances(p, p)


class Typical(Rule):
    """Medusa's typical acceptance (Cai et al. 2024, arXiv:2401.10774), with the thresholds its code starts from."""

    name = "typical"
    words = "accept if p > min(.09, .3 exp(-entropy of p)), else draw from p"
    EPSILON: ClassVar[float] = 0.09
    DELTA: ClassVar[float] = 0.3

    def chances(self, p: Probs, q: Probs) -> Probs:
        seen = p[p > 0.0]
        entropy = -float((seen * np.log(seen)).sum())
        return _float64((p > min(self.EPSILON, self.DELTA * np.exp(-entropy))).astype(np.float64))

    def correction(self, p: Probs, q: Probs) -> Probs:
        return p


class FirstFree(Exact):
    name = "first-free"
    keeps = False
    words = "take the first drafted token of a round untested, then exact"
    free = 1


class WrongQ(Exact):
    """The draft samples from q, and the test divides by a q at another temperature."""

    name = "wrong-q"
    keeps = False
    words = "as exact, but test with q at twice the temperature it was sampled at"
    TEMPERATURE: ClassVar[float] = 2.0

    def chances(self, p: Probs, q: Probs) -> Probs:
        return accept_probs(p, tempered(q, self.TEMPERATURE))

    def correction(self, p: Probs, q: Probs) -> Probs:
        return residual(p, tempered(q, self.TEMPERATURE))[0]


class ResidualP(Exact):
    name = "residual-p"
    keeps = False
    words = "accept with min(1, p/q), but draw from p after a rejection"

    def correction(self, p: Probs, q: Probs) -> Probs:
        return p


RULES: dict[str, Rule] = {
    rule.name: rule for rule in (Exact(), Equality(), Greedy(), Typical(), FirstFree(), WrongQ(), ResidualP())
}


def tempered(probs: ArrayLike, temperature: float) -> Probs:
    """``probs`` [V] at another temperature (above 0): probs^(1/T), normalised."""
    weights = _float64(probs)
    raised = (weights / weights.max()) ** (1.0 / temperature)
    return _float64(raised / raised.sum())
