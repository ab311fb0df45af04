"""One round, decided for thousands of seeds behind the same text: what comes out, against what the target says.

At a fixed text p and q are fixed, so the models are asked once for every block that is ever drafted. Drafting,
deciding and the uniforms are the real ones, every time.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from math import sqrt
from typing import Protocol

import numpy as np
import torch
from scipy.stats import chi2
from torch import Tensor

from specviz.core.events import Settings
from specviz.decoder.models.causal_model import CausalModel
from specviz.decoder.tensors import accept, sampling
from specviz.decoder.tensors.sampling import RoundRandom

Decide = Callable[..., accept.Outcome]


class Place(Protocol):
    """A text, and what both models say behind it."""

    def q(self, drafted: tuple[int, ...]) -> Tensor:
        """The draft's distribution [V] behind the text and ``drafted``."""
        ...

    def learn(self, blocks: Iterable[tuple[int, ...]]) -> None:
        """Ask the target about these blocks."""
        ...

    def block(self, drafted: tuple[int, ...]) -> tuple[Tensor, Tensor]:
        """p [K + 1, V] and q [K, V] of a whole block."""
        ...


class Known:
    """The same given p and q [V] everywhere."""

    def __init__(self, p: Sequence[float], q: Sequence[float], k: int) -> None:
        self._p, self._q = torch.tensor(p).repeat(k + 1, 1), torch.tensor(q).repeat(k, 1)

    def q(self, drafted: tuple[int, ...]) -> Tensor:
        return self._q[0]

    def learn(self, blocks: Iterable[tuple[int, ...]]) -> None:
        pass

    def block(self, drafted: tuple[int, ...]) -> tuple[Tensor, Tensor]:
        return self._p, self._q


class Behind:
    """Two models behind the text ``ids``; every forward is made once, many blocks at a time."""

    def __init__(self, target: CausalModel, draft: CausalModel, ids: Sequence[int], settings: Settings) -> None:
        self._target, self._draft = target, draft
        self._ids = list(ids)
        self._settings = settings
        self._blocks: dict[tuple[int, ...], tuple[Tensor, Tensor]] = {}
        self.q = cache(self._q)
        self.raw_q = cache(self._raw_q)

    def _logits(self, model: CausalModel, continuations: Sequence[tuple[int, ...]], keep: int) -> Tensor:
        ids = torch.tensor([[*self._ids, *drafted] for drafted in continuations])
        logits = model.model(input_ids=ids, use_cache=False, logits_to_keep=keep).logits
        return sampling.max_shifted(logits[..., : model.vocab_size])[0]

    def _q(self, drafted: tuple[int, ...]) -> Tensor:
        s = self._settings
        return sampling.to_probs(self._logits(self._draft, [drafted], 1), s.draft_temperature, s.top_k, s.top_p)[0, 0]

    def _raw_q(self, drafted: tuple[int, ...]) -> Tensor:
        return self._logits(self._draft, [drafted], 1)[0, 0].softmax(-1)

    def learn(self, blocks: Iterable[tuple[int, ...]]) -> None:
        s = self._settings
        new = sorted(set(blocks) - set(self._blocks))
        for some in (new[i : i + 64] for i in range(0, len(new), 64)):
            logits = self._logits(self._target, some, len(some[0]) + 1)
            for drafted, p in zip(some, sampling.to_probs(logits, s.temperature, s.top_k, s.top_p), strict=True):
                self._blocks[drafted] = p, torch.stack([self.q(drafted[:i]) for i in range(len(drafted))])

    def block(self, drafted: tuple[int, ...]) -> tuple[Tensor, Tensor]:
        return self._blocks[drafted]


@dataclass(frozen=True, slots=True)
class Outcome:
    drafted: tuple[int, ...]
    n_accepted: int
    last_id: int

    @property
    def emitted(self) -> tuple[int, ...]:
        return (*self.drafted[: self.n_accepted], self.last_id)


@cache
def slots(seed: int, k: int) -> Tensor:
    """The uniforms [2K + 1] of the first round."""
    return torch.from_numpy(RoundRandom(seed, 1, k).values)


@torch.inference_mode()
def drafts(place: Place, uniforms: Tensor) -> list[tuple[int, ...]]:
    """What ``uniforms`` [N, 2K + 1] draft: those behind the same ids draw from the same q, all at once."""
    drafted: list[tuple[int, ...]] = [()] * len(uniforms)
    for us in uniforms[:, 1::2].T:
        behind: dict[tuple[int, ...], list[int]] = {}
        for i, ids in enumerate(drafted):
            behind.setdefault(ids, []).append(i)
        for ids, those in behind.items():
            for i, drawn in zip(those, sampling.inverse_cdf(place.q(ids), us[those]).tolist(), strict=True):
                drafted[i] = (*ids, drawn)
    return drafted


@torch.inference_mode()
def repeated(place: Place, k: int, seeds: Iterable[int], decide: Decide = accept.decide_exact) -> list[Outcome]:
    """The first round of every seed."""
    uniforms = torch.stack([slots(seed, k) for seed in seeds])
    drafted = drafts(place, uniforms)
    place.learn(drafted)
    known = {ids: (*place.block(ids), torch.tensor(ids)) for ids in set(drafted)}
    decisions = (decide(*known[ids], us) for ids, us in zip(drafted, uniforms, strict=True))
    return [
        Outcome(ids, int(decision.n_accepted), int(decision.last_id))
        for ids, decision in zip(drafted, decisions, strict=True)
    ]


def p_value(ids: Sequence[int], probs: Tensor) -> float:
    """Chi-square of the counts of ``ids`` against ``probs`` [V]; cells with an expectation under 5 are one cell.

    0 where an id came out that cannot.
    """
    observed = np.bincount(ids, minlength=len(probs)).astype(float)
    expected = probs.double().numpy() * len(ids)
    if observed[expected == 0].any():
        return 0.0
    small = expected < 5
    cells = [(o, e) for o, e in zip(observed[~small], expected[~small], strict=True)]
    if expected[small].sum() >= 5 or observed[small].sum():
        cells.append((observed[small].sum(), expected[small].sum()))
    assert len(cells) > 1, "nothing to test"
    return float(chi2.sf(sum((o - e) ** 2 / e for o, e in cells), len(cells) - 1))


def first_p_value(place: Place, outcomes: Sequence[Outcome]) -> float:
    return p_value([o.emitted[0] for o in outcomes], place.block(outcomes[0].drafted)[0][0])


def p_values(place: Place, outcomes: Sequence[Outcome]) -> dict[str, float]:
    """Of the first token; of the second behind the most frequent accepted first; of the bonus behind the most frequent
    accepted block."""
    k = len(outcomes[0].drafted)
    (first, _), *_ = Counter(o.drafted[0] for o in outcomes if o.n_accepted).most_common(1)
    insert_after_first = [o for o in outcomes if o.n_accepted and o.drafted[0] == first]
    (block, _), *_ = Counter(o.drafted for o in outcomes if o.n_accepted == k).most_common(1)
    behind_block = [o.last_id for o in outcomes if o.n_accepted == k and o.drafted == block]
    assert min(len(insert_after_first), len(behind_block)) >= 300, (len(insert_after_first), len(behind_block))
    return {
        "first": first_p_value(place, outcomes),
        "second": p_value([o.emitted[1] for o in insert_after_first], place.block(insert_after_first[0].drafted)[0][1]),
        "bonus": p_value(behind_block, place.block(block)[0][k]),
    }


Join = Callable[[Tensor, Tensor], Tensor]


def agreement_z(place: Place, outcomes: Sequence[Outcome], join: Join = torch.minimum) -> float:
    """Accepted less its exact chance over the tested positions, in standard deviations; the chance is a sum over all
    ids of ``join(p, q)``."""
    overlaps = cache(lambda drafted: join(*(x[: len(drafted)] for x in place.block(drafted))).sum(-1).tolist())
    surplus = variance = 0.0
    for o in outcomes:
        for i, chance in enumerate(overlaps(o.drafted)[: o.n_accepted + 1]):
            surplus += (i < o.n_accepted) - chance
            variance += chance * (1 - chance)
    return surplus / sqrt(variance)
