"""The numbers of a round on the device, by name: what rates need (``measure``) and what is only for display.

``p`` float32 [K + 1, V] and ``q`` [K, V] are the distributions, q None for K = 0. Numbers are tensors with one entry
per row; a top list is two, its probabilities and its ids.
"""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from specviz.core.events import Top
from specviz.decoder.pairing.vocabulary import Vocabulary
from specviz.decoder.tensors.accept import Outcome, residual

TOP = 10
TIES = 22
"""More entries than a top list shows, since ``topk`` returns equal ones in any order and the lowest ids are wanted."""
SMALLEST = 1e-300
"""Below every positive float32."""
CPU_BLOCK = 2**16
"""The most float64 numbers made at once on a CPU, so that they stay in its cache."""

Numbers = dict[str, Tensor]


def measure(p: Tensor, q: Tensor | None, drafted: Tensor, outcome: Outcome) -> Numbers:
    """Everything that rates, verdicts and the text depend on."""
    parts = {"drafted": drafted, "n_accepted": outcome.n_accepted, "last_id": outcome.last_id}
    parts |= {"drawn_weights": outcome.drawn_weights, **_probs_of_tokens(p, q, drafted, outcome)}
    for name in ("accept_probs", "residual", "fell_back", "target_samples"):
        if (values := getattr(outcome, name)) is not None:
            parts[name] = values
    if q is not None:
        parts["overlap"], parts["match"] = _by_blocks(_agreement, p[:-1], q)
    return parts


def inspect(p: Tensor, q: Tensor | None, outcome: Outcome, measured: Numbers) -> Numbers:
    """Ranks, entropies and top lists. ``measured``: the result of ``measure``."""
    parts = {"rank_last": _rank(p[outcome.n_accepted], measured["p_last"]), **_spread("p", p)}
    if q is not None:
        parts |= {"rank_p": _rank(p[:-1], measured["p"]), "rank_q": _rank(q, measured["q"]), **_spread("q", q)}
        if outcome.residual is not None:
            parts["residual_top"], parts["residual_ids"], parts["residual_is_p"] = _by_blocks(_residual_top, p[:-1], q)
    return parts


def inspect_raw(p: Tensor, q: Tensor | None, drafted: Tensor, outcome: Outcome) -> Numbers:
    """``raw_…``: probabilities, entropies and top lists at temperature 1 without top-k and top-p."""
    parts = {**_probs_of_tokens(p, q, drafted, outcome), **_spread("p", p)}
    if q is not None:
        parts |= _spread("q", q)
        parts["overlap"], _ = _by_blocks(_agreement, p[:-1], q)
    return {f"raw_{name}": values for name, values in parts.items()}


def _probs_of_tokens(p: Tensor, q: Tensor | None, drafted: Tensor, outcome: Outcome) -> Numbers:
    """The probabilities of the drafted ids and of the one after the accepted drafts."""
    n, last_id = outcome.n_accepted, outcome.last_id
    parts = {"p_last": p[n, last_id]}
    if q is not None:
        column = drafted.unsqueeze(-1)
        parts |= {"p": p[:-1].gather(-1, column).squeeze(-1), "q": q.gather(-1, column).squeeze(-1)}
        parts["q_last"] = q[n.clamp_max(len(q) - 1), last_id]
    return parts


def _spread(name: str, probs: Tensor) -> Numbers:
    values, ids = probs.topk(min(TOP + TIES, probs.shape[-1]), dim=-1)
    (entropy,) = _by_blocks(_entropies, probs)
    return {f"entropy_{name}": entropy, f"{name}_top": values, f"{name}_ids": ids}


def _entropies(probs: Tensor) -> tuple[Tensor]:
    """Shannon entropy -sum p log p of each row, in nats. Faster than ``torch.special.entr``."""
    p64 = probs.double()
    logs = p64.clamp_min(SMALLEST).log_()
    return (0.0 - logs.mul_(p64).sum(-1),)


def _rank(probs: Tensor, prob: Tensor) -> Tensor:
    """1-based rank of ``prob`` [R] in each row; ties share the lowest rank."""
    return (probs > prob.unsqueeze(-1)).sum(-1).add_(1)


def _agreement(p: Tensor, q: Tensor) -> tuple[Tensor, Tensor]:
    """sum min(p, q) = 1 - TV(p, q) and sum p * q: the accept probabilities of the exact and the equality rule."""
    p64, q64 = p.double(), q.double()
    overlap = torch.minimum(p64, q64).sum(-1)
    return overlap.clamp_(0.0, 1.0), p64.mul_(q64).sum(-1).clamp_(0.0, 1.0)


def _residual_top(p: Tensor, q: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    weights, mass, fell_back = residual(p, q)
    values, ids = weights.topk(min(TOP + TIES, weights.shape[-1]), dim=-1)
    return torch.where(fell_back, values, values / mass), ids, fell_back.squeeze(-1)


def _by_blocks(function: Callable[..., tuple[Tensor, ...]], *probs: Tensor) -> tuple[Tensor, ...]:
    """``function`` of ``probs`` [R, V] each, on a CPU a few rows at a time."""
    rows = len(probs[0]) if probs[0].device.type != "cpu" else max(1, CPU_BLOCK // probs[0].shape[-1])
    blocks = [function(*block) for block in zip(*(torch.split(each, rows) for each in probs), strict=True)]
    return blocks[0] if len(blocks) == 1 else tuple(map(torch.cat, zip(*blocks, strict=True)))


def top_list(vocabulary: Vocabulary, values: Sequence[float], ids: Sequence[int], row: Callable[[], Tensor]) -> Top:
    """The ten most probable ids, the lowest first among equals. ``values``, ``ids``: the largest entries of the
    distribution ``row`` [V], largest first. If they may lack ties with the tenth, ``row`` is searched, which waits for
    the device again."""
    end = min(TOP, len(values))
    while end < len(values) and values[end] == values[end - 1]:
        end += 1
    if end == TOP + TIES and values[-1] > 0:
        probs = row()
        ties = (probs >= probs[ids[-1]]).nonzero().flatten()
        values, ids, end = probs[ties].double().tolist(), ties.tolist(), len(ties)
    return vocabulary.top(ids[:end], values[:end])[:TOP]
