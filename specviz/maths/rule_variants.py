"""Every rule at one position, for whole arrays of drafted ids: those that keep the target's distribution, those that
give it up for more acceptance, and mistakes that are made in practice. numpy, float64, pure.
"""

from abc import ABC, abstractmethod
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from specviz.maths.rules import Ids, Probs, accept_probs, draws, residual, tempered

Flags = NDArray[np.bool_]


class Rule(ABC):
    """One way to test drafted tokens, at a position with target p [V] and draft q [V].

    ``keeps``: what comes out is distributed as p, in theory. ``words``: what it does. ``free``: how many tokens at the
    start of a round are taken without a test.
    """

    name: ClassVar[str]
    keeps: ClassVar[bool] = False
    words: ClassVar[str]
    free: ClassVar[int] = 0

    @abstractmethod
    def chances(self, p: Probs, q: Probs) -> Probs:
        """The chance [V] that a drafted x is accepted."""

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
        return _probs(q * self.chances(p, q))

    def replaced_mass(self, p: Probs, q: Probs) -> Probs:
        """The chance [V] that it comes out as x because another was rejected. Both masses sum to 1; their sum is p
        exactly where the rule keeps the distribution."""
        return _probs((1.0 - self.accepted_mass(p, q).sum()) * self.correction(p, q))


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
        return _probs(p * (1.0 - q))


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
        return _probs((p > min(self.EPSILON, self.DELTA * np.exp(-entropy))).astype(np.float64))

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


def _probs(values: Probs) -> Probs:
    return np.asarray(values, dtype=np.float64)
