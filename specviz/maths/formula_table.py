"""The formulas for many (alpha, K, c) at once, and where the rules of thumb about K fail."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

from specviz.maths import formulas

EDGE = 32
"""The largest K that is looked at: a best K of 32 reads "32 or more"."""
_WORTH_SAYING = 0.995
"""A K whose speedup is within half a percent of the best one is no worse in practice."""


@dataclass(frozen=True, slots=True)
class Row:
    """Every formula at one (alpha, k, c); see ``theory``. ``distribution`` is P(N = 1), ..., P(N = k + 1)."""

    alpha: float
    k: int
    c: float
    expected_tokens: float
    distribution: tuple[float, ...]
    speedup: float
    best_k: int
    best_speedup: float
    break_even_alpha: float | None
    ceiling: float
    operations_factor: float

    def as_json(self) -> dict[str, Any]:
        """Strict JSON: an infinite c or ceiling is the text "inf"."""
        return {
            "alpha": self.alpha,
            "k": self.k,
            "c": _finite(self.c),
            "expected_tokens": self.expected_tokens,
            "distribution": list(self.distribution),
            "speedup": self.speedup,
            "best_k": self.best_k,
            "best_speedup": self.best_speedup,
            "break_even_alpha": self.break_even_alpha,
            "ceiling": _finite(self.ceiling),
            "operations_factor": self.operations_factor,
        }


def row(alpha: float, k: int, c: float) -> Row:
    """Raises ValueError, in a sentence, for an impossible alpha, k or c."""
    best_k, best_speedup = formulas.best_k(alpha, c, EDGE)
    return Row(
        alpha=alpha,
        k=k,
        c=c,
        expected_tokens=formulas.expected_tokens(alpha, k),
        distribution=tuple(formulas.tokens_distribution(alpha, k)),
        speedup=formulas.speedup(alpha, k, c),
        best_k=best_k,
        best_speedup=best_speedup,
        break_even_alpha=formulas.break_even_alpha(k, c),
        ceiling=formulas.ceiling(alpha, c),
        operations_factor=formulas.operations_factor(alpha, k),
    )


def rows(alphas: Sequence[float], ks: Sequence[int], costs: Sequence[float]) -> list[Row]:
    """Every combination, c slowest and K fastest."""
    return [row(alpha, k, c) for c, alpha, k in product(costs, alphas, ks)]


def thumb_notes(alphas: Sequence[float], costs: Sequence[float]) -> list[str]:
    """Sentences for each (alpha, c) at which a rule of thumb about K gives speed away; none where it does well.

    The rules: from alpha = 0.8 on, a K of 8 or even 16 still gains; at 0.6 to 0.7, the best K lies at 4 to 8.
    """
    return [note for c, alpha in product(costs, alphas) if (note := _thumb_note(alpha, c)) is not None]


def _thumb_note(alpha: float, c: float) -> str | None:
    best, speed = formulas.best_k(alpha, c, EDGE)

    def fails(rule: str, ks: tuple[int, int]) -> str | None:
        speeds = [formulas.speedup(alpha, k, c) for k in ks]
        if min(speeds) >= _WORTH_SAYING * speed:
            return None
        given = ", ".join(f"K = {k} gives {each:.2f}×" for k, each in zip(ks, speeds, strict=True))
        return f'"{rule}" fails: at α = {alpha:g}, c = {c:g} the best K is {in_words(best)} ({speed:.2f}×); {given}.'

    if alpha >= 0.8 and best < 16:
        return fails("From α = 0.8 on, K = 8 or 16 still gains", (8, 16))
    if 0.6 <= alpha <= 0.7 and not 4 <= best <= 8:
        return fails("At α = 0.6 to 0.7 the best K is 4 to 8", (4, 8))
    return None


def in_words(best_k: int) -> str:
    """A best K, ``≥ 32`` at the edge of what was looked at."""
    return f"≥ {EDGE}" if best_k >= EDGE else str(best_k)


def _finite(value: float) -> float | str:
    return value if math.isfinite(value) else "inf"
