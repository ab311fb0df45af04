"""From logits to tokens: pure tensor functions. p is the target's distribution, q the draft's.

Logits come in any float dtype; probabilities are float32, processed in the order temperature, top-k, top-p.
Decisions (ratios, residual, cumulative sums) are float64: float32 would lose tail mass at large vocabularies.
"""

from collections.abc import Iterator

import torch
from numpy.typing import ArrayLike
from torch import Tensor

from specviz.core.errors import SpecvizError
from specviz.core.events import Settings
from specviz.core.options import GREEDY_AT_OR_BELOW

HEAD = 1024
"""So many of the largest probabilities are sorted before all are."""
LARGEST_U = 1 - 2**-52


class NonFiniteLogits(SpecvizError):
    """A model's logits hold NaN or infinity, or leave no token possible."""


def home(device: torch.device) -> torch.device:
    """Where a round of a model on ``device`` is decided: there, or on the host where there is no float64 (MPS)."""
    return torch.device("cpu") if device.type == "mps" else device


def upload(values: ArrayLike, device: torch.device) -> Tensor:
    """``values`` of the host on ``device``, without waiting for it."""
    tensor = torch.as_tensor(values)
    return tensor.pin_memory().to(device, non_blocking=True) if device.type == "cuda" else tensor.to(device)


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


def shifted(logits: Tensor) -> tuple[Tensor, Tensor]:
    """``logits`` [..., V] in float32, less their maximum; and 0, or NaN where they hold NaN, +inf or a row of -inf.

    The second is a float32 [] on the device, so that nobody waits for it.
    """
    logits = logits.float()
    top = logits.amax(-1, keepdim=True)
    return logits - top, (top - top).sum()


def process(logits: Tensor, temperature: float, top_k: int | None, top_p: float | None) -> Tensor:
    """The distribution [..., V] (float32) that is sampled from, for shifted ``logits`` [..., V].

    Temperature, then top-k, then top-p; ties at a cut are kept. Greedy: one-hot at the lowest id of the maximum.
    """
    if is_greedy(temperature):
        return torch.zeros_like(logits).scatter_(-1, logits.argmax(-1, keepdim=True), 1.0)
    if temperature != 1.0:
        logits = logits / temperature
    if top_k is not None and top_k < logits.shape[-1]:
        least = logits.topk(top_k, dim=-1).values[..., -1:]
        logits = logits.masked_fill(logits < least, float("-inf"))
    probs = logits.softmax(-1)
    if top_p is not None and top_p < 1.0:
        probs = probs.masked_fill(probs < _least_kept(probs, top_p), 0.0)
        probs = probs / probs.sum(-1, keepdim=True)
    return probs


def _least_kept(probs: Tensor, top_p: float) -> Tensor:
    """The smallest probability [..., 1] that top-p keeps: of the fewest that together have ``top_p``.

    On a CPU no more is sorted than has to be; elsewhere sorting all costs less than waiting to hear how much that is.
    """
    if probs.device.type == "cpu" and probs.shape[-1] > HEAD:
        rows = [_least_of_row(row, top_p) for row in probs.reshape(-1, probs.shape[-1])]
        return torch.cat(rows).reshape(*probs.shape[:-1], 1)
    descending = probs.sort(-1, descending=True).values
    return descending.gather(-1, _before(descending, top_p).clamp_max(probs.shape[-1] - 1))


def _least_of_row(probs: Tensor, top_p: float) -> Tensor:
    """The same [1] of one row [V]."""
    for descending in _heads(probs, top_p):
        before = _before(descending, top_p)
        if before < len(descending):
            break
    return descending[before.clamp_max(len(descending) - 1)]


def _heads(probs: Tensor, top_p: float) -> Iterator[Tensor]:
    """Ever more of ``probs`` [V], the largest first: ``HEAD``, which have the mass nearly always; all that matter, the
    others together having less than (1 - top_p) / 2; all."""
    yield probs.topk(HEAD).values
    yield probs[probs > (1 - top_p) / (2 * len(probs))].sort(descending=True).values
    yield probs.sort(descending=True).values


def _before(descending: Tensor, top_p: float) -> Tensor:
    """How many of the largest do not reach ``top_p`` together, [..., 1]."""
    return descending.cumsum(-1, dtype=torch.float64).lt(top_p).sum(-1, keepdim=True)


def inverse_cdf(weights: Tensor, u: Tensor) -> Tensor:
    """The id [1] drawn from ``weights`` [V], probabilities up to a factor, by ``u`` in [0, 1), a float64 [1].

    It is the first whose float64 cumulative sum exceeds u times the last sum. u is held so far below 1 that this
    product is below the last sum whatever it is rounded to.
    """
    cdf = weights.cumsum(-1, dtype=torch.float64)
    at = cdf[-1:] * u.clamp_max(LARGEST_U)
    return torch.searchsorted(cdf, at, right=True).clamp_max_(len(weights) - 1)  # beyond the end: NaN


def accept_probs(p_drafted: Tensor, q_drafted: Tensor) -> Tensor:
    """min(1, p(x)/q(x)) in float64 for the probabilities [K] of the drafted ids. None has q(x) = 0."""
    return (p_drafted.double() / q_drafted).clamp_max_(1.0)
