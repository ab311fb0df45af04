"""The drafter that is a smaller causal model."""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from specviz.core.events import Settings
from specviz.decoder.drafters.protocol import DraftContext, Drafter, DrafterFactory, Proposal
from specviz.decoder.models.causal_model import CausalModel
from specviz.decoder.tensors.device import decision_device, median_ms, to_device
from specviz.decoder.tensors.sampling import RoundRandom, changes_probs, inverse_cdf, to_probs


class ModelDrafter:
    """Samples K tokens one after another from q. Between rounds its cache holds the committed text without its last
    token, or without its last two after a full acceptance, since the last drafted token is never fed. ``keep_logits``:
    whether proposals include their logits."""

    def __init__(self, model: CausalModel, *, keep_logits: bool = True) -> None:
        self.model = model
        self._keep_logits = keep_logits

    def prefill(self, ids: Sequence[int]) -> None:
        self.model.reset()
        if self.room(len(ids)):
            self.model.prefill(ids[:-1])

    def room(self, length: int) -> int:
        return max(0, self.model.context - length + 1)

    def propose(
        self, ids: Sequence[int], k: int, settings: Settings, random: RoundRandom, stopped: Callable[[], bool]
    ) -> Proposal | None:
        return sampled(self.model, ids, k, settings, random, stopped, keep_logits=self._keep_logits)

    def commit(self, ids: Sequence[int]) -> None:
        self.model.roll_back_to(len(ids) - 1)

    def warm_up(self, last_id: int) -> None:
        self.model.feed([last_id], keep=1)
        self.model.roll_back_to(self.model.length - 1)

    def step_ms(self, last_id: int, repeats: int, stopped: Callable[[], bool]) -> float | None:
        return step_ms(self.model, last_id, repeats, stopped)


class ModelDrafterFactory(DrafterFactory):
    def can_draft(self, target: CausalModel, draft: CausalModel | None) -> bool:
        return draft is not None

    def build(self, context: DraftContext) -> Drafter:
        assert context.draft is not None
        return ModelDrafter(context.draft, keep_logits=context.inspect)


@torch.inference_mode()
def sampled(
    model: CausalModel,
    ids: Sequence[int],
    k: int,
    settings: Settings,
    random: RoundRandom,
    stopped: Callable[[], bool],
    *,
    keep_logits: bool,
) -> Proposal | None:
    """Draft ``k`` tokens after ``ids`` with ``model``, fed what it lacks of ``ids`` and all drafts but the last. A
    drafted id is fed to the next step without leaving the device. None once stopped."""
    us = random.drafts(k)
    device = decision_device(model.device)
    keep_logits = keep_logits and changes_probs(settings)
    feed: Sequence[int] | Tensor = ids[model.length :]
    drafted, logits, probs = [], [], []
    for u in torch.split(to_device(us, device), 1):
        if stopped():
            return None
        row = model.feed(feed, keep=1)
        q = to_probs(row, settings.draft_temperature, settings.top_k, settings.top_p).to(device)
        feed = inverse_cdf(q[0], u)
        drafted.append(feed)
        probs.append(q)
        if keep_logits:
            logits.append(row)
    return Proposal(torch.cat(drafted), torch.cat(probs), us.tolist(), logits, model)


def step_ms(
    model: CausalModel, last_id: int, repeats: int, stopped: Callable[[], bool], *, ids: int = 1
) -> float | None:
    """Median milliseconds of feeding ``last_id``, ``ids`` times in one forward, and rolling back. None once stopped.
    Logits after text that is not the run's do not count as its own: ``non_finite`` stays as it was."""
    length, non_finite = model.length, model.non_finite

    def step() -> None:
        model.feed([last_id] * ids, keep=ids)
        model.roll_back_to(length)

    median = median_ms(model.device, step, repeats, stopped)
    if model.length != length:
        raise AssertionError("calibration changed a cache")
    if ids > 1:
        model.non_finite = non_finite
    return median
