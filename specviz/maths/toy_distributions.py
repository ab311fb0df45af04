"""Pairs of toy distributions over a small vocabulary: named shapes or given numbers, and how similar they are."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Probs = NDArray[np.float64]

SHAPES = ("zipf", "uniform", "peaked")
RELATIVE = ("equal", "disjoint")
"""Shapes for q only, relative to p."""
_PEAK = 0.7


@dataclass(frozen=True, slots=True, eq=False)
class ToyPair:
    """The target's p [V] and a draft between ``given`` [V] and p: q = (1 - mix) given + mix p."""

    p: Probs
    given: Probs
    mix: float = 0.0

    @property
    def q(self) -> Probs:
        return (1.0 - self.mix) * self.given + self.mix * self.p


def toy_pair(p: str | Probs, q: str | Probs, vocab: int | None = None, mix: float = 0.0) -> ToyPair:
    """p and q by shape or by number. ``vocab``: the number of ids, by default that of the numbers, else 100. ``mix`` in
    [0, 1] moves q towards p. Shapes: zipf (id i with weight 1/(i + 1)), uniform, peaked (0.7 on id 0, the rest even);
    for q also equal (to p) and disjoint (only ids that p never draws; a p by shape then uses the first half of the
    ids). Numbers are normalised weights. Raises ValueError, with a full sentence, if they do not fit together."""
    sizes = {len(given) for given in (p, q) if not isinstance(given, str)}
    if len(sizes) > 1:
        raise ValueError(f"p and q share one vocabulary: they cannot have {len(p)} and {len(q)} numbers.")
    if sizes and vocab is not None and vocab not in sizes:
        raise ValueError(f"{sizes.pop()} numbers do not fit a vocabulary of {vocab}.")
    size = sizes.pop() if sizes else 100 if vocab is None else vocab
    disjoint = isinstance(q, str) and q == "disjoint"
    if disjoint and size < 2:
        raise ValueError("A disjoint pair needs a vocabulary of two ids or more.")
    target = _target(p, size, halved=disjoint)
    return ToyPair(target, _draft(q, target), mix)


def normalised(weights: list[float]) -> Probs:
    """Weights as a distribution. Raises ValueError for invalid weights."""
    values = np.array(weights, dtype=np.float64)
    if values.size == 0 or not np.isfinite(values).all() or (values < 0.0).any():
        raise ValueError("probabilities must be finite numbers of at least 0.")
    largest = values.max()
    if largest <= 0.0:
        raise ValueError("at least one probability must be above 0.")
    values = values / largest  # the sum of large weights could overflow
    probs: Probs = values / values.sum()
    return probs


def _target(p: str | Probs, size: int, *, halved: bool) -> Probs:
    if not isinstance(p, str):
        return p
    if not halved:
        return _shape(p, size)
    half = (size + 1) // 2
    return np.concatenate([_shape(p, half), np.zeros(size - half)])


def _draft(q: str | Probs, target: Probs) -> Probs:
    if not isinstance(q, str):
        return q
    if q == "equal":
        return target.copy()
    if q == "disjoint":
        unused = target == 0.0
        if not unused.any():
            raise ValueError("p gives every id a nonzero probability, which leaves none for a disjoint q.")
        even: Probs = unused / unused.sum()
        return even
    return _shape(q, len(target))


def _shape(name: str, size: int) -> Probs:
    match name:
        case "zipf":
            return normalised([1.0 / (i + 1) for i in range(size)])
        case "uniform":
            return np.full(size, 1.0 / size)
        case "peaked":
            rest = (1.0 - _PEAK) / max(1, size - 1)
            return normalised([_PEAK, *[rest] * (size - 1)])
    raise ValueError(f"{name} is not a valid shape.")
