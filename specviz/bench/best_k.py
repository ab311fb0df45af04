"""The best K of each drafter: by what was measured, and by what is predicted."""

from collections.abc import Iterable
from dataclasses import dataclass

from specviz.bench.plan import Contender
from specviz.maths import formulas
from specviz.maths.formula_table import EDGE


@dataclass(frozen=True, slots=True)
class Choice:
    """A K and its speedup. K = 0 is the target alone: do not speculate."""

    k: int
    speedup: float


@dataclass(frozen=True, slots=True)
class BestK:
    """The K with the largest speedup, of equal ones the smallest; None where nothing is known of any.

    ``measured`` and ``measured_cost``: of the K that were run. ``model``: E[N] c / (c + K) over K = 0, ..., 32 (which
    stands for 32 and more) at ``alpha``, α tested of the predicting prompts over all K, and ``c``.
    """

    contender: Contender
    measured: Choice | None
    model: Choice | None
    measured_cost: Choice | None
    alpha: float | None
    c: float | None


def best_of(speedups: Iterable[tuple[int, float | None]]) -> Choice | None:
    """Of (K, speedup) the largest; K = 0 where none is above 1."""
    known = [(k, speedup) for k, speedup in speedups if speedup is not None]
    if not known:
        return None
    k, speedup = max([(0, 1.0), *known], key=lambda one: (one[1], -one[0]))
    return Choice(k, speedup)


def best_by_model(alpha: float | None, c: float | None) -> Choice | None:
    return None if alpha is None or c is None else Choice(*formulas.best_k(alpha, c, EDGE))
