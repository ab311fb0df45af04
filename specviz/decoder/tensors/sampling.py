"""From logits to tokens: pure tensor functions, and the random numbers of a run.

p is the target's distribution, q the draft's. Probabilities are float32, made in the order temperature, top-k, top-p.
Ratios, residual and cumulative sums are float64: float32 would lose tail mass in large vocabularies.
"""

from collections.abc import Iterator

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from specviz.core.errors import SpecvizError
from specviz.core.events import Settings
from specviz.core.options import GREEDY_AT_OR_BELOW

HEAD = 1024
"""How many of the largest probabilities top-p sorts first."""
LARGEST_U = 1 - 2**-52
MAX_REDRAWS = 100


class NonFiniteLogits(SpecvizError):
    """A model's logits contain NaN or infinity, or give every token probability 0."""


def is_greedy(temperature: float) -> bool:
    return temperature <= GREEDY_AT_OR_BELOW


def changes_probs(settings: Settings) -> bool:
    """Whether p or q differs from the model's own distribution: a temperature other than 1, or a cut."""
    return (
        settings.temperature != 1.0
        or settings.draft_temperature != 1.0
        or settings.top_k is not None
        or (settings.top_p is not None and settings.top_p < 1.0)
    )


def max_shifted(logits: Tensor) -> tuple[Tensor, Tensor]:
    """``logits`` [..., V] in float32 minus their maximum, and a float32 [] on the device: 0, or NaN if they contain
    NaN, +inf or a row of -inf."""
    logits = logits.float()
    maximum = logits.amax(-1, keepdim=True)
    return logits - maximum, (maximum - maximum).sum()


def to_probs(logits: Tensor, temperature: float, top_k: int | None, top_p: float | None) -> Tensor:
    """The distribution float32 [..., V] to sample from, for max-shifted ``logits`` [..., V]. Temperature, then top-k,
    then top-p; ties at a cut stay. Greedy: one-hot at the lowest id of the maximum."""
    if is_greedy(temperature):
        return torch.zeros_like(logits).scatter_(-1, logits.argmax(-1, keepdim=True), 1.0)
    if temperature != 1.0:
        logits = logits / temperature
    if top_k is not None and top_k < logits.shape[-1]:
        smallest = logits.topk(top_k, dim=-1).values[..., -1:]
        logits = logits.masked_fill(logits < smallest, float("-inf"))
    probs = logits.softmax(-1)
    if top_p is not None and top_p < 1.0:
        probs = probs.masked_fill(probs < _top_p_threshold(probs, top_p), 0.0)
        probs = probs / probs.sum(-1, keepdim=True)
    return probs


def _top_p_threshold(probs: Tensor, top_p: float) -> Tensor:
    """The smallest probability [..., 1] that top-p keeps: of the fewest that sum to ``top_p``. On a CPU only the head
    is sorted if it suffices; elsewhere sorting all costs less than waiting for that answer."""
    if probs.device.type == "cpu" and probs.shape[-1] > HEAD:
        rows = [_row_threshold(row, top_p) for row in probs.reshape(-1, probs.shape[-1])]
        return torch.cat(rows).reshape(*probs.shape[:-1], 1)
    descending = probs.sort(-1, descending=True).values
    return descending.gather(-1, _n_below(descending, top_p).clamp_max(probs.shape[-1] - 1))


def _row_threshold(probs: Tensor, top_p: float) -> Tensor:
    """The same [1] of one row [V]."""
    for descending in _heads(probs, top_p):
        n_below = _n_below(descending, top_p)
        if n_below < len(descending):
            break
    return descending[n_below.clamp_max(len(descending) - 1)]


def _heads(probs: Tensor, top_p: float) -> Iterator[Tensor]:
    """More and more of ``probs`` [V], largest first: ``HEAD`` of them, which nearly always suffices; all but a tail of
    mass below (1 - top_p) / 2; all."""
    yield probs.topk(HEAD).values
    yield probs[probs > (1 - top_p) / (2 * len(probs))].sort(descending=True).values
    yield probs.sort(descending=True).values


def _n_below(descending: Tensor, top_p: float) -> Tensor:
    """How many of the largest sum to less than ``top_p``, [..., 1]."""
    return descending.cumsum(-1, dtype=torch.float64).lt(top_p).sum(-1, keepdim=True)


def inverse_cdf(weights: Tensor, u: Tensor) -> Tensor:
    """The id [1] drawn from ``weights`` [V], unnormalised probabilities, by ``u`` float64 [1] in [0, 1). The first
    whose cumulative sum exceeds u times the total. LARGEST_U keeps that product below the total despite rounding."""
    cdf = weights.cumsum(-1, dtype=torch.float64)
    threshold = cdf[-1:] * u.clamp_max(LARGEST_U)
    return torch.searchsorted(cdf, threshold, right=True).clamp_max_(len(weights) - 1)  # NaN is beyond the end


def accept_probs(p_drafted: Tensor, q_drafted: Tensor) -> Tensor:
    """min(1, p(x)/q(x)) in float64 for the probabilities [K] of drafted ids, all with q(x) > 0."""
    return (p_drafted.double() / q_drafted).clamp_max_(1.0)


class RoundRandom:
    """Uniforms in [0, 1) of round ``index`` under ``seed``. ``values`` float64 [2K + 1], by slot: 0 draws the last
    token (residual, bonus or plain), 2i - 1 draws draft i, 2i tests it, i from 1. They are 53-bit numbers from Philox
    keyed by (seed, index), so a change of K, stepping or inspecting changes no value. ``redraws``: how many values were
    replaced because they drew an id of probability 0."""

    def __init__(self, seed: int, index: int, k: int) -> None:
        self._key = np.array([seed, index], dtype=np.uint64)
        self.values = _unit(np.random.Philox(key=self._key).random_raw(2 * k + 1))
        self._extra: dict[int, Iterator[float]] = {}
        self.redraws = 0

    def drafts(self, k: int) -> NDArray[np.float64]:
        """The values that draw drafts 1 to ``k``."""
        return self.values[1 : 2 * k : 2]

    def tests(self, k: int) -> NDArray[np.float64]:
        """The values that test drafts 1 to ``k``."""
        return self.values[2 : 2 * k + 1 : 2]

    def extra(self, slot: int) -> Iterator[float]:
        """Uniforms beyond every slot for redraws of ``slot``: each slot has a stream of its own."""
        generator = np.random.Philox(key=self._key, counter=np.array([0, 0, slot, 1], dtype=np.uint64))
        while True:
            yield float(_unit(generator.random_raw(1))[0])

    def redraw(self, slot: int) -> None:
        """Replace the value of ``slot``. Raises RuntimeError after MAX_REDRAWS."""
        if self.redraws == MAX_REDRAWS:
            raise RuntimeError(f"an id of probability 0 was drawn {MAX_REDRAWS} times")
        self.values[slot] = next(self._extra.setdefault(slot, self.extra(slot)))
        self.redraws += 1


def _unit(raw: NDArray[np.uint64]) -> NDArray[np.float64]:
    return (raw >> np.uint64(11)).astype(np.float64) * 2.0**-53
