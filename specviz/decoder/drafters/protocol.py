"""Drafters: what proposes tokens for the target to verify."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import torch
from torch import Tensor

from specviz.core.events import PlainReason, Settings
from specviz.decoder.models.causal_model import CausalModel
from specviz.decoder.tensors.randomness import Uniforms


@dataclass(frozen=True, slots=True)
class Proposal:
    """What a drafter proposes for one round.

    ``ids`` int64 [K] and ``probs`` float32 [K, V], row i the distribution q that drafted id i was sampled from, exactly
    as sampled: where decisions are made about the drafter's model, see ``sampling.home``. Nobody has waited for them.
    ``us``: the uniforms that gave the ids.
    ``logits``: shifted logits, K times [1, V], whose softmax is the same at temperature 1 without cuts; empty where
    nobody asks, or where q is what it is at any temperature.
    ``model``: whose logits they are, if they are any model's.
    ``detail``: one mapping a drafted id, JSON-able, for what only this kind of drafter knows.
    ``plain_reason``: why nothing is proposed, where ``ids`` is empty.
    """

    ids: Tensor
    probs: Tensor
    us: Sequence[float]
    logits: Sequence[Tensor] = ()
    model: CausalModel | None = None
    detail: Sequence[Mapping[str, Any]] = ()
    plain_reason: PlainReason | None = None

    def raw_probs(self) -> Tensor:
        """q at temperature 1 without cuts, [K, V]."""
        return torch.cat(list(self.logits)).softmax(-1) if self.logits else self.probs


class Drafter(Protocol):
    """Proposes continuations of a text. It sees committed ids only; what it keeps beyond them it must drop itself."""

    def prefill(self, ids: Sequence[int]) -> None:
        """Begin a new text, or take over one, with all of the committed ``ids`` but the last."""
        ...

    def room(self, length: int) -> int:
        """The most tokens it can draft behind ``length`` committed ids; 0 when its context is full."""
        ...

    def propose(
        self, ids: Sequence[int], k: int, settings: Settings, uniforms: Uniforms, stopped: Callable[[], bool]
    ) -> Proposal | None:
        """Draft up to ``k`` >= 1 tokens behind the committed ``ids``, token i from ``uniforms.draft(i)``.

        None once stopped.
        """
        ...

    def commit(self, ids: Sequence[int]) -> None:
        """The text is now ``ids``: roll back whatever does not belong to it."""
        ...

    def warm_up(self, last_id: int) -> None:
        """Draft one token for nothing, at a length that has room for it, leaving no trace behind."""
        ...

    def step_ms(self, last_id: int, repeats: int, stopped: Callable[[], bool]) -> float | None:
        """Median milliseconds of drafting one token at the present length, leaving no trace behind.

        None where that is no model's step, and once stopped.
        """
        ...
