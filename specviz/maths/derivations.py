"""The derivations of the formulas as plain text, each with a numerical check.

A check computes both sides of an identity independently: a sum term by term against its closed form, or a closed form
against the equation that it solves.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from specviz.maths import formulas, rules

TOLERANCE = 1e-9
"""The largest difference of both sides, relative to the larger one or to 1."""
_P = (0.5, 0.3, 0.2, 0.0)
_Q = (0.2, 0.3, 0.1, 0.4)


@dataclass(frozen=True, slots=True)
class Check:
    """A number computed in two ways."""

    what: str
    left: float
    right: float

    @property
    def holds(self) -> bool:
        return abs(self.left - self.right) <= TOLERANCE * max(1.0, abs(self.left), abs(self.right))

    def __str__(self) -> str:
        verdict = "holds" if self.holds else "FAILS"
        return f"{self.what}: {self.left:.12g} = {self.right:.12g}, {verdict}"

    def as_json(self) -> dict[str, Any]:
        return {"what": self.what, "left": self.left, "right": self.right, "holds": self.holds}


@dataclass(frozen=True, slots=True)
class Derivation:
    title: str
    text: str
    checks: tuple[Check, ...]

    def as_json(self) -> dict[str, Any]:
        return {"title": self.title, "text": self.text, "checks": [check.as_json() for check in self.checks]}


def derivations(alpha: float, k: int, c: float) -> tuple[Derivation, ...]:
    """All derivations, checked at this alpha, k and c. Raises ValueError for invalid ones."""
    formulas.speedup(alpha, k, c)
    return tuple(derive(alpha, k, c) for derive in _ALL)


def _total_variation(alpha: float, k: int, c: float) -> Derivation:
    p, q = np.array(_P), np.array(_Q)
    accepted = math.fsum(q[x] * rules.accept_prob(p, q, x) for x in range(len(p)))
    half_distance = math.fsum(abs(p - q)) / 2
    return Derivation(
        "The accept probability of a position is 1 - TV(p, q)",
        "A token x is drafted with probability q(x) and accepted with probability min(1, p(x)/q(x)), so that\n"
        "  alpha = sum_x q(x) min(1, p(x)/q(x)) = sum_x min(p(x), q(x)).\n"
        "For any two numbers, min(a, b) = (a + b - |a - b|) / 2. Summed over x, with sum p = sum q = 1:\n"
        "  alpha = 1 - (1/2) sum_x |p(x) - q(x)| = 1 - TV(p, q).",
        (
            Check(f"p = {_P}, q = {_Q}: sum of q min(1, p/q) and of min(p, q)", accepted, rules.overlap(p, q)),
            Check("sum of min(p, q) and 1 - TV", rules.overlap(p, q), 1 - half_distance),
        ),
    )


def _tokens_per_round(alpha: float, k: int, c: float) -> Derivation:
    chances = formulas.tokens_distribution(alpha, k)
    mean = math.fsum(n * chance for n, chance in enumerate(chances, 1))
    powers = math.fsum(alpha**i for i in range(k + 1))
    return Derivation(
        "Tokens of a round: P(N = i) and E[N]",
        "Let each test accept with probability alpha, independently. N = i <= K means: i - 1 accepted, then one\n"
        "rejected and replaced. N = K + 1 means: all K accepted, and one bonus token. Hence\n"
        "  P(N = i) = alpha^(i-1) (1 - alpha) for i = 1, ..., K,   P(N = K+1) = alpha^K.\n"
        "The round has more than i tokens exactly if the first i tests accept: P(N > i) = alpha^i for i <= K. The\n"
        "mean of a positive integer is the sum of these probabilities, a geometric sum:\n"
        "  E[N] = sum_{i=0..K} P(N > i) = 1 + alpha + ... + alpha^K = (1 - alpha^(K+1)) / (1 - alpha).\n"
        "(Multiply the sum by 1 - alpha: all powers but the first and the last cancel. At alpha = 1 it is K + 1.)",
        (
            Check(f"alpha = {alpha:g}, K = {k}: the probabilities sum to 1", math.fsum(chances), 1.0),
            Check("sum of i P(N = i) and 1 + alpha + ... + alpha^K", mean, powers),
            Check("the sum of powers and (1 - alpha^(K+1)) / (1 - alpha)", powers, _closed_form(alpha, k)),
        ),
    )


def _closed_form(alpha: float, k: int) -> float:
    return k + 1.0 if alpha == 1 else -math.expm1((k + 1) * math.log(alpha)) / (1 - alpha) if alpha > 0 else 1.0


def _speedup(alpha: float, k: int, c: float) -> Derivation:
    step = 1.0  # T_q; T_p = c
    mean = math.fsum(n * chance for n, chance in enumerate(formulas.tokens_distribution(alpha, k), 1))
    if math.isinf(c):
        check = Check("c = inf: speedup and sum of i P(N = i)", formulas.speedup(alpha, k, c), mean)
    else:
        per_second = mean / (c * step + k * step)
        check = Check(
            f"alpha = {alpha:g}, K = {k}, T_p = {c:g}, T_q = 1: sum of i P(N = i) a round over 1/T_p, and speedup",
            per_second * c * step,
            formulas.speedup(alpha, k, c),
        )
    ceiling = formulas.ceiling(alpha, c)
    best = max(formulas.speedup(alpha, i, c) for i in range(33))
    return Derivation(
        "Speedup, and its two bounds",
        "A round costs K draft steps and one target step, T_p + K T_q, and yields E[N] tokens; the target alone\n"
        "yields 1 token in T_p. With c = T_p / T_q (the inverse of the paper's c):\n"
        "  speedup = E[N] T_p / (T_p + K T_q) = E[N] c / (c + K).\n"
        "E[N] stays below 1/(1 - alpha) for every K, and c/(c + K) <= 1: no K exceeds 1/(1 - alpha).\n"
        "E[N] <= K + 1, and (K + 1) c / (c + K) <= c for c >= 1: no alpha exceeds c.\n"
        "K = 0 is always possible and gives 1, so the ceiling is max(1, min(c, 1/(1 - alpha))).",
        (
            check,
            Check("the best speedup of K = 0..32, and the smaller of it and the ceiling", best, min(best, ceiling)),
        ),
    )


def _break_even(alpha: float, k: int, c: float) -> Derivation:
    even = formulas.break_even_alpha(k, c)
    checks: tuple[Check, ...]
    if even is None:
        checks = (
            Check(
                f"K = {k}, c = {c:g}: no alpha; the best speedup of this K, and at most 1", *_without_break_even(k, c)
            ),
        )
    else:
        powers = math.fsum(even**i for i in range(k + 1))
        checks = (
            Check(f"K = {k}, c = {c:g}, alpha = {even:.9f}: E[N] and 1 + K/c", powers, 1 + k / c),
            Check("the speedup there, and 1", formulas.speedup(even, k, c), 1.0),
        )
    return Derivation(
        "Break-even",
        "Speculating pays if E[N] c / (c + K) > 1, that is E[N] > 1 + K/c. E[N] = 1 + alpha + ... + alpha^K rises\n"
        "from 1 to K + 1 with alpha, so for c >= 1 exactly one alpha solves E[N] = 1 + K/c: below it the target alone\n"
        "is faster. For K = 1 it is 1/c. For c < 1 none does, and for K = 0 there is nothing to break even.",
        checks,
    )


def _without_break_even(k: int, c: float) -> tuple[float, float]:
    speed = formulas.speedup(1.0, k, c)
    return speed, min(speed, 1.0)


def _lossless(alpha: float, k: int, c: float) -> Derivation:
    p, q = np.array(_P), np.array(_Q)
    left, _ = rules.residual(p, q)
    rejected = 1 - rules.overlap(p, q)
    checks = []
    for x in range(len(p)):
        kept, drawn = float(q[x]) * rules.accept_prob(p, q, x), rejected * float(left[x])
        what = f"token {x}: {kept:.2f} accepted + {drawn:.2f} resampled, and p"
        checks.append(Check(what, kept + drawn, float(p[x])))
    return Derivation(
        "Why the output is exactly p",
        "A token x is emitted in two ways: drafted and accepted, or drawn after a rejection. The first has\n"
        "probability\n"
        "  q(x) min(1, p(x)/q(x)) = min(p(x), q(x)).\n"
        "A rejection has probability 1 - alpha = sum max(0, p - q), and x is drawn from max(0, p - q) / (1 - alpha):\n"
        "  (1 - alpha) max(0, p(x) - q(x)) / (1 - alpha) = max(0, p(x) - q(x)).\n"
        "If p(x) >= q(x) the sum of both is q(x) + (p(x) - q(x)) = p(x); if p(x) < q(x) it is p(x) + 0. In one line:\n"
        "  min(p, q) + max(0, p - q) = p, whatever q is.",
        tuple(checks),
    )


_ALL: tuple[Callable[[float, int, float], Derivation], ...] = (
    _total_variation,
    _tokens_per_round,
    _speedup,
    _break_even,
    _lossless,
)
