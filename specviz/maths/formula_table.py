"""The formulas for many (alpha, K, c), and where rules of thumb about K fail."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

from specviz.core.options import MAX_K
from specviz.maths import formulas

_WORTH_SAYING = 0.995
"""A K whose speedup is within half a percent of the best counts as equally good."""


@dataclass(frozen=True, slots=True)
class Row:
    """Every formula at one (alpha, k, c); see ``formulas``. ``distribution`` is P(N = 1), ..., P(N = k + 1)."""

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
    """Raises ValueError, with a full sentence, for an invalid alpha, k or c."""
    best_k, best_speedup = formulas.best_k(alpha, c, MAX_K)
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
    """A sentence for each (alpha, c) at which a rule of thumb about K loses speed. The rules: from alpha = 0.8 on, a K
    of 8 or even 16 still gains; at 0.6 to 0.7, the best K lies at 4 to 8."""
    return [note for c, alpha in product(costs, alphas) if (note := _thumb_note(alpha, c)) is not None]


def _thumb_note(alpha: float, c: float) -> str | None:
    best, speed = formulas.best_k(alpha, c, MAX_K)

    def fails(rule: str, ks: tuple[int, int]) -> str | None:
        speeds = [formulas.speedup(alpha, k, c) for k in ks]
        if min(speeds) >= _WORTH_SAYING * speed:
            return None
        results = ", ".join(f"K = {k} gives {each:.2f}×" for k, each in zip(ks, speeds, strict=True))
        return (
            f'"{rule}" fails: at α = {alpha:g}, c = {c:g} the best K is {best_k_label(best)} ({speed:.2f}×); {results}.'
        )

    if alpha >= 0.8 and best < 16:
        return fails("From α = 0.8 on, K = 8 or 16 still gains", (8, 16))
    if 0.6 <= alpha <= 0.7 and not 4 <= best <= 8:
        return fails("At α = 0.6 to 0.7 the best K is 4 to 8", (4, 8))
    return None


def best_k_label(best_k: int) -> str:
    """A best K as text; ``≥ 32`` at the limit of the search."""
    return f"≥ {MAX_K}" if best_k >= MAX_K else str(best_k)


def _finite(value: float) -> float | str:
    return value if math.isfinite(value) else "inf"
