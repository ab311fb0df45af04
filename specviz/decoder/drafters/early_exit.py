"""The target's own first layers as the drafter: early exit (LayerSkip, Elhoushi et al. 2024, arXiv:2404.16710)."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from specviz.core.errors import SpecvizError
from specviz.core.events import Settings
from specviz.decoder.drafters.model import sampled
from specviz.decoder.drafters.protocol import DraftContext, Drafter, DrafterFactory, Proposal
from specviz.decoder.models.causal_model import CausalModel
from specviz.decoder.models.layer_list import exit_costs, find_layers, without_weights
from specviz.decoder.pairing.finding import Finding
from specviz.decoder.pairing.model_info import ModelFiles
from specviz.decoder.tensors.device import median_ms
from specviz.decoder.tensors.sampling import RoundRandom

MAX_LISTED_EXITS = 12


class EarlyExitDrafter:
    """Samples from the distribution that the target's final norm and head give after its first ``n`` layers. It uses
    the target's own cache of these layers, which is restored after each draft, so it keeps no state between rounds."""

    def __init__(self, target: CausalModel, n: int, *, keep_logits: bool = True) -> None:
        self.target = target
        self.n = n
        self._keep_logits = keep_logits

    def prefill(self, ids: Sequence[int]) -> None:
        pass

    def room(self, length: int) -> int:
        return max(0, self.target.context - length + 1)

    def propose(
        self, ids: Sequence[int], k: int, settings: Settings, random: RoundRandom, stopped: Callable[[], bool]
    ) -> Proposal | None:
        with self.target.early_exit(self.n):
            return sampled(self.target, ids, k, settings, random, stopped, keep_logits=self._keep_logits)

    def commit(self, ids: Sequence[int]) -> None:
        pass

    def warm_up(self, last_id: int) -> None:
        with self.target.early_exit(self.n):
            self.target.feed([last_id], keep=1)

    def step_ms(self, last_id: int, repeats: int, stopped: Callable[[], bool]) -> float | None:
        return median_ms(self.target.device, lambda: self.warm_up(last_id), repeats, stopped)


class EarlyExitDrafterFactory(DrafterFactory):
    """``options["exit_layer"]`` None is the middle layer; ``can_draft`` replaces it by the number of that layer."""

    def findings(self, target: ModelFiles) -> Iterator[Finding]:
        try:
            plan = plan_exit(target.config, self.options["exit_layer"], name=target.name, trusted=target.trusted)
        except SpecvizError as error:
            if self.requested:
                yield Finding(self.spec.name, "refuse", str(error), ("", "refused"))
            return
        yield Finding(self.spec.name, "note" if self.selected else "pass", plan.describe(), ("", str(len(plan.costs))))

    def can_draft(self, target: CausalModel, draft: CausalModel | None) -> bool:
        layers = 0 if target.layers is None else len(target.layers)
        n = _exit_layer(self.options["exit_layer"], layers)
        if n is None and self.requested:
            raise SpecvizError(_no_exit(target.name, target.model.config.model_type, layers))
        self.options["exit_layer"] = n
        return n is not None

    def build(self, context: DraftContext) -> Drafter:
        return EarlyExitDrafter(context.target, self.options["exit_layer"], keep_logits=context.inspect)


@dataclass(frozen=True, slots=True)
class ExitPlan:
    """An exit after layer ``n``. ``costs``: c for n = 1, 2, ... up to the last layer, by numbers of parameters."""

    n: int
    costs: tuple[float, ...]

    def describe(self) -> str:
        layers = len(self.costs)
        step = -(-(layers - 1) // MAX_LISTED_EXITS)
        listed = sorted({*range(1, layers, step), self.n})
        costs = ", ".join(f"{n}: {self.costs[n - 1]:.1f}" for n in listed)
        return f"the draft exits after layer {self.n} of {layers}; c of each layer by number of parameters, {costs}"


def plan_exit(config: Any, requested: int | None, *, name: str, trusted: bool) -> ExitPlan:
    """The exit after layer ``requested``, None for the middle one, of the model ``name``, from its ``config`` alone.
    Raises SpecvizError if there is no such exit."""
    try:
        model = without_weights(config, trusted=trusted)
    except Exception as error:  # whatever a config may raise
        raise SpecvizError(
            f"--drafter layers cannot be used with --target {name}: its layers cannot be determined from its "
            f"configuration ({type(error).__name__}). Choose another drafter."
        ) from error
    layers = find_layers(model, config)
    count = 0 if layers is None else len(layers)
    n = _exit_layer(requested, count)
    if layers is None or n is None:
        raise SpecvizError(_no_exit(name, config.model_type, count))
    return ExitPlan(n, exit_costs(model, layers))


def _exit_layer(requested: int | None, layers: int) -> int | None:
    n = layers // 2 if requested is None else requested
    return n if 0 < n < layers else None


def _no_exit(name: str, model_type: str, layers: int) -> str:
    if layers >= 2:
        return f"--exit-layer must be from 1 to {layers - 1} with --target {name}, which has {layers} layers."
    if layers == 1:
        return f"--drafter layers cannot be used with --target {name}: it has one layer. Choose another drafter."
    return (
        f"--drafter layers cannot be used with --target {name} ({model_type}): its layers are not a single list. "
        "Choose another drafter, or a target of another family."
    )
