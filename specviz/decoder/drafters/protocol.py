"""What a drafter is: it proposes tokens for the target to verify. Each kind has a factory, found by the registry."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Protocol, cast

import torch
from torch import Tensor

from specviz.core.drafters import DRAFTERS, DrafterSpec
from specviz.core.events import PlainReason, Settings
from specviz.core.source import Emit
from specviz.decoder.models.causal_model import CausalModel
from specviz.decoder.pairing.finding import Finding
from specviz.decoder.pairing.model_info import ModelFacts, ModelFiles
from specviz.decoder.tensors.sampling import RoundRandom


@dataclass(frozen=True, slots=True)
class Proposal:
    """What a drafter proposes for one round. ``ids`` int64 [K]; ``probs`` float32 [K, V], row i the distribution q_i
    that id i was sampled from, exactly as sampled. Both are on the drafter's ``decision_device``, not waited for.
    ``us``: the u that sampled each id. ``logits``: K times [1, V], max-shifted, whose softmax is q at temperature 1
    without top-k and top-p; empty if that is ``probs`` or is not inspected. ``model``: whose logits they are, None for
    a drafter without a model. ``detail``: empty, or for each id a JSON-able mapping of what only this drafter knows.
    ``plain_reason``: why ``ids`` is empty, if it is."""

    ids: Tensor
    probs: Tensor
    us: Sequence[float]
    logits: Sequence[Tensor] = ()
    model: CausalModel | None = None
    detail: Sequence[Mapping[str, Any]] = ()
    plain_reason: PlainReason | None = None

    def raw_probs(self) -> Tensor:
        """q at temperature 1 without top-k and top-p, [K, V]."""
        return torch.cat(list(self.logits)).softmax(-1) if self.logits else self.probs


class Drafter(Protocol):
    """Proposes continuations of a text. It sees committed ids only, and rolls back its own state in ``commit``."""

    def prefill(self, ids: Sequence[int]) -> None:
        """Begin or take over the text of the committed ``ids``; the last of them is fed with the first draft."""

    def room(self, length: int) -> int:
        """How many tokens it can draft after ``length`` committed ids; 0 when its context is full."""

    def propose(
        self, ids: Sequence[int], k: int, settings: Settings, random: RoundRandom, stopped: Callable[[], bool]
    ) -> Proposal | None:
        """Draft up to ``k`` >= 1 tokens after the committed ``ids``, sampled by ``random.drafts(k)``. None once
        stopped."""

    def commit(self, ids: Sequence[int]) -> None:
        """The text is now ``ids``: forget everything else."""

    def warm_up(self, last_id: int) -> None:
        """Draft one token and discard it; there is room for it. The state stays as it was."""

    def step_ms(self, last_id: int, repeats: int, stopped: Callable[[], bool]) -> float | None:
        """Median milliseconds T_q of drafting one token at the present length; the state stays as it was. None for a
        drafter without a model, and once stopped."""


@dataclass(frozen=True, slots=True)
class DraftContext:
    """What a drafter may use in a run. ``end_ids`` have probability 0 before the position ``suppressed_until``.
    ``inspect``: whether proposals must come with their logits."""

    target: CausalModel
    draft: CausalModel | None
    end_ids: frozenset[int]
    suppressed_until: int
    inspect: bool


class DrafterFactory(ABC):
    """One kind of drafter for one pair of models. ``load_pair`` calls its methods in the order they have here.
    ``options``: the values of the options in ``spec``. ``selected``: whether the run begins with this drafter."""

    def __init__(self, spec: DrafterSpec, options: Mapping[str, Any], *, selected: bool) -> None:
        self.spec = spec
        self.selected = selected
        self.options = {option.name: options[option.name] for option in spec.options}

    @property
    def requested(self) -> bool:
        """Whether it must be able to draft: it is selected, or one of its options is set."""
        return self.selected or any(self.options[option.name] != option.default for option in self.spec.options)

    def findings(self, target: ModelFiles) -> Iterable[Finding]:
        """What `specviz check` reports about this drafter, from the target's configuration."""
        return ()

    def prepare(self, target: ModelFacts, emit: Emit) -> None:
        """Read what the drafter needs besides the models. Raises SpecvizError."""
        return None

    def can_draft(self, target: CausalModel, draft: CausalModel | None) -> bool:
        """Whether it can draft for these models. Raises SpecvizError if it cannot and is ``requested``."""
        return True

    @abstractmethod
    def build(self, context: DraftContext) -> Drafter:
        """The drafter of one run."""


def drafter_factory(name: str, options: Mapping[str, Any], *, selected: bool) -> DrafterFactory:
    """The factory that the registry names for the drafter ``name``."""
    module, _, class_name = DRAFTERS[name].factory.partition(":")
    factory = getattr(import_module(module), class_name)
    return cast(DrafterFactory, factory(DRAFTERS[name], options, selected=selected))


def drafter_factories(options: Mapping[str, Any], selected: str) -> dict[str, DrafterFactory]:
    """The factory of every drafter, by name."""
    return {name: drafter_factory(name, options, selected=name == selected) for name in DRAFTERS}
