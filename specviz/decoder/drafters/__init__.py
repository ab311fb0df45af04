"""Drafters: what proposes tokens for the target to verify."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from torch import Tensor

from specviz.decoder.uniforms import Uniforms
from specviz.events import PlainReason, Settings


@dataclass(frozen=True, slots=True)
class Proposal:
    """What a drafter proposes for one round.

    ``probs``: float32 [K, V], row i the distribution q that drafted id i was sampled from, exactly as sampled.
    ``raw_probs``: the same at temperature 1 without cuts, None where no setting makes a difference.
    ``us``: the uniforms that gave the ids.
    ``detail``: one mapping a drafted id, JSON-able, for what only this kind of drafter knows.
    ``plain_reason``: why nothing is proposed, where ``ids`` is empty.
    """

    ids: Sequence[int]
    probs: Tensor
    raw_probs: Tensor | None
    us: Sequence[float]
    redraws: int = 0
    detail: Sequence[Mapping[str, Any]] = ()
    plain_reason: PlainReason | None = None


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

    def step_ms(self, last_id: int, repeats: int) -> float | None:
        """Median milliseconds of drafting one token at the present length, leaving no trace behind.

        None where that is no model's step.
        """
        ...
