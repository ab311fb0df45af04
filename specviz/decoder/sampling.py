"""From scores to tokens: pure tensor functions. p is the target's distribution, q the draft's.

Scores come in any float dtype; probabilities are float32, processed in the order temperature, top-k, top-p.
Decisions (ratios, residual, cumulative sums) are float64: float32 would lose tail mass at large vocabularies.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

from specviz.config import GREEDY_AT_OR_BELOW
from specviz.errors import SpecvizError
from specviz.events import Settings

MAX_REDRAWS = 100


class NonFiniteScores(SpecvizError):
    """A model's scores hold NaN or infinity, or leave no token possible."""


def float64(x: Tensor) -> Tensor:
    """``x`` in float64, on the host where the device has no float64 (MPS)."""
    return (x.cpu() if x.device.type == "mps" else x).double()


def is_greedy(temperature: float) -> bool:
    return temperature <= GREEDY_AT_OR_BELOW


def processed(settings: Settings) -> bool:
    """Whether either model's distribution differs from its raw one: a temperature other than 1, or a cut."""
    return (
        settings.temperature != 1.0
        or settings.draft_temperature != 1.0
        or settings.top_k is not None
        or (settings.top_p is not None and settings.top_p < 1.0)
    )


def shifted(scores: Tensor) -> Tensor:
    """``scores`` [..., V] in float32, less their maximum. Raises NonFiniteScores on NaN, +inf or a row of -inf."""
    scores = scores.float()
    top = scores.amax(-1, keepdim=True)
    if not bool(torch.isfinite(top).all()):
        raise NonFiniteScores("scores are not finite")
    return scores - top


def process(scores: Tensor, temperature: float, top_k: int | None, top_p: float | None) -> Tensor:
    """The distribution [..., V] (float32) that is sampled from, for shifted ``scores`` [..., V].

    Temperature, then top-k, then top-p; ties at a cut are kept. Greedy: one-hot at the lowest id of the maximum.
    """
    if is_greedy(temperature):
        return torch.zeros_like(scores).scatter_(-1, scores.argmax(-1, keepdim=True), 1.0)
    scores = scores / temperature
    if top_k is not None and top_k < scores.shape[-1]:
        least = scores.topk(top_k, dim=-1).values[..., -1:]
        scores = scores.masked_fill(scores < least, float("-inf"))
    probs = scores.softmax(-1)
    if top_p is not None and top_p < 1.0:
        descending = probs.sort(-1, descending=True).values
        before = float64(descending).cumsum(-1).lt(top_p).sum(-1, keepdim=True).to(probs.device)
        least = descending.gather(-1, before.clamp_max(probs.shape[-1] - 1))
        probs = probs.masked_fill(probs < least, 0.0)
        probs = probs / probs.sum(-1, keepdim=True)
    return probs


def inverse_cdf(probs: Tensor, u: float) -> int:
    """The id drawn from ``probs`` [V] by ``u`` in [0, 1).

    It is the first whose float64 cumulative sum exceeds u times the last sum, and never one behind the last
    id of non-zero probability.
    """
    cdf = float64(probs).cumsum(-1)
    index = int(torch.searchsorted(cdf, cdf[-1] * u, right=True))
    if index < probs.shape[-1]:
        return index
    return int(probs.nonzero()[-1])


@dataclass(frozen=True, slots=True)
class Draw:
    """A sampled id, the uniform that gave it, and how often an id of probability 0 had to be drawn again."""

    id: int
    u: float
    redraws: int


def draw(probs: Tensor, u: float, spare: Callable[[], Iterator[float]]) -> Draw:
    """Sample an id from ``probs`` [V] that has probability above 0, with ``u`` or else with spare uniforms."""
    token = inverse_cdf(probs, u)
    if probs[token] > 0:
        return Draw(token, u, 0)
    for redraws, again in enumerate(spare(), 1):
        token = inverse_cdf(probs, again)
        if probs[token] > 0:
            return Draw(token, again, redraws)
        if redraws == MAX_REDRAWS:
            break
    return Draw(int(probs.argmax()), again, MAX_REDRAWS)


def residual(p: Tensor, q: Tensor) -> tuple[Tensor, Tensor]:
    """max(0, p - q) / sum max(0, p - q) for p, q [..., V], in float64, and where the sum is 0 (p itself stands there).

    A rejected position is resampled from it: with the accept rule its marginal is p (Leviathan et al. 2023, A.1).
    """
    p64, q64 = float64(p), float64(q)
    excess = (p64 - q64).clamp_min(0.0)
    mass = excess.sum(-1, keepdim=True)
    empty = mass <= 0
    return torch.where(empty, p64, excess / mass.where(~empty, torch.ones_like(mass))), empty.squeeze(-1)


def accept_probs(p_drafted: Tensor, q_drafted: Tensor) -> Tensor:
    """min(1, p(x)/q(x)) in float64 for the probabilities [K] of the drafted ids; 0 where q(x) is 0."""
    p64, q64 = float64(p_drafted), float64(q_drafted)
    return torch.where(q64 > 0, p64 / q64.where(q64 > 0, torch.ones_like(q64)), torch.zeros_like(p64)).clamp_max(1.0)
