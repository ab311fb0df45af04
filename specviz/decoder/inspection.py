"""What a person may want to know of a block beyond its verdicts: ranks, entropies, overlaps, top lists."""

from collections.abc import Sequence

import torch
from torch import Tensor

from specviz.decoder.sampling import float64
from specviz.decoder.vocabulary import Vocabulary
from specviz.events import Raw, Top

TOP = 10


def entropies(probs: Tensor) -> list[float]:
    """Shannon entropy of each row of ``probs`` [R, V], in nats."""
    p = float64(probs)
    nats: list[float] = torch.special.entr(p).sum(-1).tolist()
    return nats


def ranks(probs: Tensor, ids: Sequence[int]) -> list[int]:
    """1-based rank of ``ids[r]`` in row r of ``probs`` [R, V]; ties share the lowest rank."""
    own = probs[range(len(ids)), ids].unsqueeze(-1)
    return (probs > own).sum(-1).add(1).tolist()


def tops(probs: Tensor, vocabulary: Vocabulary) -> list[Top]:
    """The ten most probable ids of each row of ``probs`` [R, V], of equal ones the lowest."""
    values, ids = probs.topk(min(TOP + 1, probs.shape[-1]), dim=-1)
    lists = []
    for row, some, at in zip(probs, float64(values).tolist(), ids.tolist(), strict=True):
        if len(some) > TOP and some[-1] == some[-2] > 0:  # topk chooses freely among equals
            at = (row >= some[-1]).nonzero().flatten().tolist()
            some = float64(row[at]).tolist()
        lists.append(vocabulary.top(at, some)[:TOP])
    return lists


def overlaps(p: Tensor, q: Tensor) -> list[float]:
    """sum min(p, q) = 1 - TV(p, q) of each row, at most 1."""
    return float64(torch.minimum(p, q)).sum(-1).clamp(0.0, 1.0).tolist()


def matches(p: Tensor, q: Tensor) -> list[float]:
    """sum p * q of each row: the accept chance under the equality rule."""
    return (float64(p) * float64(q)).sum(-1).clamp(0.0, 1.0).tolist()


class BlockView:
    """The distributions of one block, looked at once: ``p`` [K + 1, V] and ``q`` [K, V], None for K = 0."""

    def __init__(self, p: Tensor, q: Tensor | None, vocabulary: Vocabulary) -> None:
        self._p = p
        self._q = q
        self.k = 0 if q is None else len(q)
        self.entropy_p = entropies(p)
        self.p_tops = tops(p, vocabulary)
        self.entropy_q = [] if q is None else entropies(q)
        self.q_tops = [] if q is None else tops(q, vocabulary)
        self.overlaps = [] if q is None else overlaps(p[:-1], q)

    def p_at(self, row: int, token: int) -> float:
        """p of a token in a row: the exact value of its float32."""
        return float(self._p[row, token])

    def q_at(self, row: int, token: int) -> float | None:
        """q of a token in a row, None where nothing was drafted."""
        return float(self._q[row, token]) if self._q is not None and row < self.k else None

    def raw(self, row: int, token: int) -> Raw:
        """This view, of raw distributions, as what the trace stores of ``token`` in ``row``."""
        drafted = row < self.k
        return Raw(
            p=self.p_at(row, token),
            q=self.q_at(row, token),
            overlap=self.overlaps[row] if drafted else None,
            entropy_p=self.entropy_p[row],
            entropy_q=self.entropy_q[row] if drafted else None,
            p_top=self.p_tops[row],
            q_top=self.q_tops[row] if drafted else (),
        )
