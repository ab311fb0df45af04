"""Rules for the simulation, vectorised over ids: lossless ones, lossy ones that accept more, and common mistakes.

numpy, float64, pure.
"""

from abc import ABC, abstractmethod
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from specviz.core.rule import EQUALITY, EXACT
from specviz.maths.rules import Ids, Probs, accept_probs, draws, residual, tempered

Flags = NDArray[np.bool_]


class RuleVariant(ABC):
    """One way to test drafted tokens, at a position with target p [V] and draft q [V]. ``lossless``: in theory the
    output follows p. ``n_untested``: tokens accepted without a test at the start of a round."""

    name: ClassVar[str]
    lossless: ClassVar[bool] = False
    summary: ClassVar[str]
    n_untested: ClassVar[int] = 0

    @abstractmethod
    def accept_probs(self, p: Probs, q: Probs) -> Probs:
        """The probability [V] that a drafted x is accepted."""

    def correction(self, p: Probs, q: Probs) -> Probs:
        """The distribution [V] that replaces a rejected token, whichever it was."""
        return residual(p, q)[0]

    def bonus(self, p: Probs) -> Probs:
        """The distribution [V] of the token after K accepted ones."""
        return p

    def accepts(self, p: Probs, q: Probs, drafted: Ids, u: Probs) -> Flags:
        """Which of ``drafted`` [n] are accepted under the uniforms ``u`` [n]."""
        passed: Flags = u < self.accept_probs(p, q)[drafted]
        return passed

    def replaces(self, p: Probs, q: Probs, u: Probs, last_u: Probs) -> Ids:
        """The ids that replace n rejected tokens: ``u`` [n] tested them, ``last_u`` [n] are new uniforms."""
        return draws(self.correction(p, q), last_u)

    def accepted_mass(self, p: Probs, q: Probs) -> Probs:
        """The probability [V] that a tested position emits x because x was drafted and accepted."""
        return _probs(q * self.accept_probs(p, q))

    def replaced_mass(self, p: Probs, q: Probs) -> Probs:
        """The probability [V] that it emits x in place of a rejected token. Both masses together sum to 1; they are p
        if and only if the rule is lossless."""
        return _probs((1.0 - self.accepted_mass(p, q).sum()) * self.correction(p, q))


class Exact(RuleVariant):
    name, summary, lossless = EXACT.name, EXACT.summary, EXACT.lossless

    def accept_probs(self, p: Probs, q: Probs) -> Probs:
        return accept_probs(p, q)


class Equality(RuleVariant):
    name, summary, lossless = EQUALITY.name, EQUALITY.summary, EQUALITY.lossless

    def accept_probs(self, p: Probs, q: Probs) -> Probs:
        return p

    def accepts(self, p: Probs, q: Probs, drafted: Ids, u: Probs) -> Flags:
        passed: Flags = draws(p, u) == drafted
        return passed

    def replaces(self, p: Probs, q: Probs, u: Probs, last_u: Probs) -> Ids:
        return draws(p, u)

    def replaced_mass(self, p: Probs, q: Probs) -> Probs:
        return _probs(p * (1.0 - q))


class Greedy(RuleVariant):
    name = "greedy"
    summary = "accept only the most probable token of p, else put it there"

    def accept_probs(self, p: Probs, q: Probs) -> Probs:
        top = np.zeros_like(p)
        top[p.argmax()] = 1.0
        return top

    def correction(self, p: Probs, q: Probs) -> Probs:
        return self.accept_probs(p, q)

    def bonus(self, p: Probs) -> Probs:
        return self.accept_probs(p, p)


class Typical(RuleVariant):
    """Medusa's typical acceptance (Cai et al. 2024, arXiv:2401.10774), with the default thresholds of its code."""

    name = "typical"
    summary = "accept if p > min(.09, .3 exp(-entropy of p)), else draw from p"
    EPSILON: ClassVar[float] = 0.09
    DELTA: ClassVar[float] = 0.3

    def accept_probs(self, p: Probs, q: Probs) -> Probs:
        nonzero = p[p > 0.0]
        entropy = -float((nonzero * np.log(nonzero)).sum())
        return _probs((p > min(self.EPSILON, self.DELTA * np.exp(-entropy))).astype(np.float64))

    def correction(self, p: Probs, q: Probs) -> Probs:
        return p


class FirstFree(Exact):
    name = "first-free"
    lossless = False
    summary = "take the first drafted token of a round untested, then exact"
    n_untested = 1


class WrongQ(Exact):
    """The draft samples from q, but the test divides by q at another temperature."""

    name = "wrong-q"
    lossless = False
    summary = "as exact, but test with q at twice the temperature it was sampled at"
    TEMPERATURE: ClassVar[float] = 2.0

    def accept_probs(self, p: Probs, q: Probs) -> Probs:
        return accept_probs(p, tempered(q, self.TEMPERATURE))

    def correction(self, p: Probs, q: Probs) -> Probs:
        return residual(p, tempered(q, self.TEMPERATURE))[0]


class ResidualP(Exact):
    name = "residual-p"
    lossless = False
    summary = "accept with min(1, p/q), but draw from p after a rejection"

    def correction(self, p: Probs, q: Probs) -> Probs:
        return p


VARIANTS: dict[str, RuleVariant] = {
    rule.name: rule for rule in (Exact(), Equality(), Greedy(), Typical(), FirstFree(), WrongQ(), ResidualP())
}


def _probs(values: Probs) -> Probs:
    return np.asarray(values, dtype=np.float64)
