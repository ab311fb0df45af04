"""What there is to know of a block of K drafts, as numbers on the device, by the names a record is made of.

``p`` float32 [K + 1, V] and ``q`` [K, V] are the distributions, q None for K = 0. A number a row is a tensor [R], a top
list two: its probabilities and its ids. What ``numbers`` gives is needed of every round; the rest is for people.
"""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from specviz.core.events import Top
from specviz.decoder.pairing.vocabulary import Vocabulary
from specviz.decoder.tensors.accept import Decision, residual

TOP = 10
TIES = 22
"""So many more are looked at, since equals come in any order and the lowest ids are wanted."""
SMALLEST = 1e-300
"""Below every probability above 0 that a float32 holds."""
BLOCK = 2**16
"""At most so many float64 numbers are made at once on a CPU, which keeps them in its cache."""

Parts = dict[str, Tensor]


def numbers(p: Tensor, q: Tensor | None, drafted: Tensor, decision: Decision) -> Parts:
    """Everything that rates, verdicts and the text depend on."""
    parts = {"drafted": drafted, "n_accepted": decision.n_accepted, "last_id": decision.last_id}
    parts |= {"chances": decision.chances, **_at(p, q, drafted, decision)}
    for name in ("accept_probs", "residual", "fell_back", "target_samples"):
        if (values := getattr(decision, name)) is not None:
            parts[name] = values
    if q is not None:
        parts["overlap"], parts["match"] = _by_blocks(_agreement, p[:-1], q)
    return parts


def inspected(p: Tensor, q: Tensor | None, decision: Decision, known: Parts) -> Parts:
    """Ranks, entropies and top lists; ``known``: what ``numbers`` gave."""
    parts = {"rank_last": _rank(p[decision.n_accepted], known["p_last"]), **_spread("p", p)}
    if q is not None:
        parts |= {"rank_p": _rank(p[:-1], known["p"]), "rank_q": _rank(q, known["q"]), **_spread("q", q)}
        if decision.residual is not None:
            parts["residual_top"], parts["residual_ids"], parts["residual_is_p"] = _by_blocks(_residual_top, p[:-1], q)
    return parts


def inspected_raw(p: Tensor, q: Tensor | None, drafted: Tensor, decision: Decision) -> Parts:
    """The same places in distributions at temperature 1 without cuts, under names of their own."""
    parts = {**_at(p, q, drafted, decision), **_spread("p", p)}
    if q is not None:
        parts |= _spread("q", q)
        parts["overlap"], _ = _by_blocks(_agreement, p[:-1], q)
    return {f"raw_{name}": values for name, values in parts.items()}


def _at(p: Tensor, q: Tensor | None, drafted: Tensor, decision: Decision) -> Parts:
    """The probabilities of the drafted ids and of the one behind those that were kept."""
    n, last_id = decision.n_accepted, decision.last_id
    parts = {"p_last": p[n, last_id]}
    if q is not None:
        at = drafted.unsqueeze(-1)
        parts |= {"p": p[:-1].gather(-1, at).squeeze(-1), "q": q.gather(-1, at).squeeze(-1)}
        parts["q_last"] = q[n.clamp_max(len(q) - 1), last_id]
    return parts


def _spread(name: str, probs: Tensor) -> Parts:
    values, ids = probs.topk(min(TOP + TIES, probs.shape[-1]), dim=-1)
    (entropy,) = _by_blocks(_entropies, probs)
    return {f"entropy_{name}": entropy, f"{name}_top": values, f"{name}_ids": ids}


def _entropies(probs: Tensor) -> tuple[Tensor]:
    """Shannon entropy of each row, in nats: -sum p log p, what is 0 as 0. (Faster than ``torch.special.entr``.)"""
    p64 = probs.double()
    logs = p64.clamp_min(SMALLEST).log_()
    return (0.0 - logs.mul_(p64).sum(-1),)


def _rank(probs: Tensor, own: Tensor) -> Tensor:
    """1-based rank of the probability ``own`` [R] in each row; ties share the lowest rank."""
    return (probs > own.unsqueeze(-1)).sum(-1).add_(1)


def _agreement(p: Tensor, q: Tensor) -> tuple[Tensor, Tensor]:
    """sum min(p, q) = 1 - TV(p, q), and sum p * q, the accept chances under the exact and the equality rule."""
    p64, q64 = p.double(), q.double()
    overlap = torch.minimum(p64, q64).sum(-1)
    return overlap.clamp_(0.0, 1.0), p64.mul_(q64).sum(-1).clamp_(0.0, 1.0)


def _residual_top(p: Tensor, q: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    weights, mass, fell_back = residual(p, q)
    values, ids = weights.topk(min(TOP + TIES, weights.shape[-1]), dim=-1)
    return torch.where(fell_back, values, values / mass), ids, fell_back.squeeze(-1)


def _by_blocks(measure: Callable[..., tuple[Tensor, ...]], *probs: Tensor) -> tuple[Tensor, ...]:
    """``measure`` of ``probs`` [R, V] each, a few rows at a time."""
    rows = len(probs[0]) if probs[0].device.type != "cpu" else max(1, BLOCK // probs[0].shape[-1])
    blocks = [measure(*block) for block in zip(*(torch.split(each, rows) for each in probs), strict=True)]
    return blocks[0] if len(blocks) == 1 else tuple(map(torch.cat, zip(*blocks, strict=True)))


def top_list(vocabulary: Vocabulary, values: Sequence[float], ids: Sequence[int], row: Callable[[], Tensor]) -> Top:
    """The ten most probable ids, of equal ones the lowest.

    ``values``, ``ids``: the largest of ``row`` [V], largest first. Where equals of the tenth may be missing from them
    the row itself is asked, which makes the host wait once more.
    """
    end = min(TOP, len(values))
    while end < len(values) and values[end] == values[end - 1]:
        end += 1
    if end == TOP + TIES and values[-1] > 0:
        probs = row()
        at = (probs >= probs[ids[-1]]).nonzero().flatten()
        values, ids, end = probs[at].double().tolist(), at.tolist(), len(at)
    return vocabulary.top(ids[:end], values[:end])[:TOP]
