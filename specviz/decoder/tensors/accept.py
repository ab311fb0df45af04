"""The rules in torch: which drafts are kept, and what comes behind them. The references are in ``specviz.maths.rules``.

Everything stays on the device the tensors are on: nothing here waits for a number.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from specviz.decoder.tensors.sampling import accept_probs, inverse_cdf


@dataclass(frozen=True, slots=True)
class Decision:
    """What the rule says of one block of K drafts, before anything ends the text.

    ``n_accepted`` int64 [1]: so many drafts are kept. ``last_id`` int64 [1]: what stands behind them.
    ``slots``: the slot of the uniform that draws ``last_id``, for 0, 1, … K kept drafts.
    ``chances`` float64 [N]: the weights of the ids that were drawn, the i-th by the uniform of ``slots[i]``; one that
    is 0 was not to be drawn.
    ``accept_probs`` float64 [K]: min(1, p(x)/q(x)) of the drafted ids, tested or not. ``residual`` float64 [1] and
    ``fell_back`` bool [1], where a draft is rejected: the probability of ``last_id`` in the residual, and whether that
    is p itself. ``target_samples`` int64 [K]: what the target itself draws at each of the positions. What the rule has
    not is None.
    """

    n_accepted: Tensor
    last_id: Tensor
    slots: Sequence[int]
    chances: Tensor
    accept_probs: Tensor | None = None
    residual: Tensor | None = None
    fell_back: Tensor | None = None
    target_samples: Tensor | None = None


Decide = Callable[[Tensor, Tensor | None, Tensor, Tensor], Decision]
"""(p float32 [K + 1, V], q float32 [K, V] or None for K = 0, drafted int64 [K], the uniforms of all slots [2K + 1])"""


def decide_exact(p: Tensor, q: Tensor | None, drafted: Tensor, uniforms: Tensor) -> Decision:
    """Accept draft i iff u_i < min(1, p_i(x_i)/q_i(x_i)), left to right, up to the first rejection.

    Leviathan et al. 2023, Algorithm 1. Behind the kept drafts comes one token: from the residual after a rejection,
    from p's last row (the bonus) otherwise; without a draft it is plain.
    """
    if q is None:
        return _plain(p, uniforms)
    k = len(drafted)
    at = drafted.unsqueeze(-1)
    chances = accept_probs(p[:-1].gather(-1, at).squeeze(-1), q.gather(-1, at).squeeze(-1))
    n_accepted = _kept(uniforms[2::2] < chances)
    there = q[n_accepted.clamp_max(k - 1)].squeeze(0) * (n_accepted < k)  # against the bonus stands nothing
    weights, mass, fell_back = residual(p[n_accepted].squeeze(0), there)
    last_id = inverse_cdf(weights, uniforms[:1])
    weight = weights[last_id]
    return Decision(
        n_accepted,
        last_id,
        slots=(0,) * (k + 1),
        chances=weight,
        accept_probs=chances,
        residual=torch.where(fell_back, weight, weight / mass),
        fell_back=fell_back,
    )


def decide_equality(p: Tensor, q: Tensor | None, drafted: Tensor, uniforms: Tensor) -> Decision:
    """Accept draft i iff it is the target's own sample y_i, drawn from p_i by u_i, up to the first that differs.

    q plays no part. Behind the kept drafts comes the sample that differed, with its own uniform, else the bonus from
    p's last row; without a draft the token is plain.
    """
    if q is None:
        return _plain(p, uniforms)
    k = len(drafted)
    slots = (*range(2, 2 * k + 1, 2), 0)
    samples = torch.cat([inverse_cdf(row, uniforms[slot : slot + 1]) for row, slot in zip(p, slots, strict=True)])
    n_accepted = _kept(samples[:-1] == drafted)
    return Decision(
        n_accepted,
        samples[n_accepted],
        slots,
        chances=p.gather(-1, samples.unsqueeze(-1)).squeeze(-1),
        target_samples=samples[:-1],
    )


RULES: Mapping[str, Decide] = {"exact": decide_exact, "equality": decide_equality}
"""By the name in ``Settings.rule``."""


def residual(p: Tensor, q: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """max(0, p - q) for p, q [..., V] in float64, its sum [..., 1], and whether that is 0: then p itself stands there.

    A rejected position is drawn from it: with the accept rule its marginal is p (Leviathan et al. 2023, A.1).
    """
    p64 = p.double()
    excess = (p64 - q).clamp_min_(0.0)
    mass = excess.sum(-1, keepdim=True)
    empty = mass <= 0
    return torch.where(empty, p64, excess), mass, empty


def _plain(p: Tensor, uniforms: Tensor) -> Decision:
    last_id = inverse_cdf(p[0], uniforms[:1])
    return Decision(torch.zeros_like(last_id), last_id, (0,), p[0, last_id])


def _kept(passed: Tensor) -> Tensor:
    """How many of ``passed`` bool [K] come before the first that is False, int64 [1]."""
    return passed.long().cumprod(0).sum(0, keepdim=True)
