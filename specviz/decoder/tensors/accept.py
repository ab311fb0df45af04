"""Accept and resample: the arithmetic of the rules in torch. The references are in ``specviz.maths.rules``.

Nothing here waits for the device.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from specviz.decoder.tensors.sampling import accept_probs, inverse_cdf


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a rule makes of K drafts, before the end of the text cuts them. ``n_accepted`` int64 [1]: how many drafts it
    accepts. ``last_id`` int64 [1]: the token after them. ``slots``: the slot of the u that draws ``last_id``, for
    n_accepted = 0, 1, … K. ``drawn_weights`` float64 [N]: the weight of each id drawn here, the i-th by the u of
    ``slots[i]``; 0 is an error of rounding. ``accept_probs`` float64 [K]: min(1, p(x)/q(x)) of the drafted ids, tested
    or not. ``residual`` float64 [1]: the probability of ``last_id`` in the residual, if a draft is rejected;
    ``fell_back`` bool [1]: whether p replaces it. ``target_samples`` int64 [K]: what the target draws at each position.
    None where the rule has no such number."""

    n_accepted: Tensor
    last_id: Tensor
    slots: Sequence[int]
    drawn_weights: Tensor
    accept_probs: Tensor | None = None
    residual: Tensor | None = None
    fell_back: Tensor | None = None
    target_samples: Tensor | None = None


Decide = Callable[[Tensor, Tensor | None, Tensor, Tensor], Outcome]
"""(p float32 [K + 1, V], q float32 [K, V] or None for K = 0, x int64 [K], the u of all slots [2K + 1]) -> Outcome"""


def decide_exact(p: Tensor, q: Tensor | None, x: Tensor, us: Tensor) -> Outcome:
    """Accept draft i iff u_i < min(1, p_i(x_i)/q_i(x_i)), left to right up to the first rejection. Leviathan et al.
    2023, Algorithm 1. The next token comes from the residual after a rejection, else from the last row of p: a bonus
    token, or a plain one without drafts."""
    if q is None:
        return _plain(p, us)
    k, column = len(x), x.unsqueeze(-1)
    probs = accept_probs(p[:-1].gather(-1, column).squeeze(-1), q.gather(-1, column).squeeze(-1))
    n_accepted = _prefix_length(us[2::2] < probs)
    q_rejected = q[n_accepted.clamp_max(k - 1)].squeeze(0) * (n_accepted < k)  # 0 for the bonus
    weights, mass, fell_back = residual(p[n_accepted].squeeze(0), q_rejected)
    last_id = inverse_cdf(weights, us[:1])
    weight = weights[last_id]
    return Outcome(
        n_accepted,
        last_id,
        slots=(0,) * (k + 1),
        drawn_weights=weight,
        accept_probs=probs,
        residual=torch.where(fell_back, weight, weight / mass),
        fell_back=fell_back,
    )


def decide_equality(p: Tensor, q: Tensor | None, x: Tensor, us: Tensor) -> Outcome:
    """Accept draft i iff it equals the target's sample y_i, drawn from p_i by u_i, up to the first that differs. q is
    not used. The next token is the sample that differed, else drawn from the last row of p: a bonus token, or a plain
    one without drafts."""
    if q is None:
        return _plain(p, us)
    k = len(x)
    slots = (*range(2, 2 * k + 1, 2), 0)
    samples = torch.cat([inverse_cdf(row, us[slot : slot + 1]) for row, slot in zip(p, slots, strict=True)])
    n_accepted = _prefix_length(samples[:-1] == x)
    return Outcome(
        n_accepted,
        samples[n_accepted],
        slots,
        drawn_weights=p.gather(-1, samples.unsqueeze(-1)).squeeze(-1),
        target_samples=samples[:-1],
    )


DECIDE: Mapping[str, Decide] = {"exact": decide_exact, "equality": decide_equality}
"""By the name in ``Settings.rule``; ``specviz.core.rule`` describes them."""


def residual(p: Tensor, q: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """max(0, p - q) for p, q [..., V] in float64, its sum [..., 1], and whether that is 0: then p replaces it. Drawing
    a rejected position from it makes the marginal of the accept test p (Leviathan et al. 2023, A.1)."""
    p64 = p.double()
    excess = (p64 - q).clamp_min_(0.0)
    mass = excess.sum(-1, keepdim=True)
    empty = mass <= 0
    return torch.where(empty, p64, excess), mass, empty


def residual_probs(p: Tensor, q: Tensor) -> Tensor:
    """norm(max(0, p - q)) for p, q [..., V]; p where that is 0."""
    weights, mass, fell_back = residual(p, q)
    return torch.where(fell_back, weights, weights / mass)


def _plain(p: Tensor, us: Tensor) -> Outcome:
    last_id = inverse_cdf(p[0], us[:1])
    return Outcome(torch.zeros_like(last_id), last_id, (0,), p[0, last_id])


def _prefix_length(passed: Tensor) -> Tensor:
    """How many of ``passed`` bool [K] precede the first False, int64 [1]."""
    return passed.long().cumprod(0).sum(0, keepdim=True)
