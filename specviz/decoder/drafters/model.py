"""A smaller causal model as the drafter."""

from collections.abc import Callable, Sequence

import torch

from specviz.decoder.clock import median_ms
from specviz.decoder.drafters import Proposal
from specviz.decoder.models import CausalModel
from specviz.decoder.sampling import draw, process, processed
from specviz.decoder.uniforms import Uniforms
from specviz.events import Settings


class ModelDrafter:
    """Samples K tokens one after another from q, each from its own uniform.

    Between rounds its cache holds a prefix of the committed text: all but the last token, or all but the last
    two after a full acceptance, since the last drafted token was sampled but never fed.
    """

    def __init__(self, model: CausalModel) -> None:
        self.model = model

    def prefill(self, ids: Sequence[int]) -> None:
        self.model.reset()
        if self.room(len(ids)):
            self.model.prefill(ids[:-1])

    def room(self, length: int) -> int:
        return max(0, self.model.context - length + 1)

    def propose(
        self, ids: Sequence[int], k: int, settings: Settings, uniforms: Uniforms, stopped: Callable[[], bool]
    ) -> Proposal | None:
        return sampled(self.model, ids, k, settings, uniforms, stopped)

    def commit(self, ids: Sequence[int]) -> None:
        self.model.roll_back_to(len(ids) - 1)

    def warm_up(self, last_id: int) -> None:
        self.model.feed([last_id], keep=1)
        self.model.roll_back_to(self.model.length - 1)

    def step_ms(self, last_id: int, repeats: int) -> float | None:
        return step_ms(self.model, last_id, repeats)


@torch.inference_mode()
def sampled(
    model: CausalModel,
    ids: Sequence[int],
    k: int,
    settings: Settings,
    uniforms: Uniforms,
    stopped: Callable[[], bool],
) -> Proposal | None:
    """``k`` tokens behind ``ids``, one after another from what ``model`` says, all but the last of them fed to it.

    What it lacks of ``ids`` is fed first. None once stopped.
    """
    feed = list(ids[model.length :])
    drafted, us, scores, probs, redraws = [], [], [], [], 0
    for i in range(1, k + 1):
        if stopped():
            return None
        row = model.feed(feed, keep=1)
        q = process(row, settings.draft_temperature, settings.top_k, settings.top_p)[0]
        drawn = draw(q, uniforms.draft(i), uniforms.spare)
        drafted.append(drawn.id)
        us.append(drawn.u)
        scores.append(row)
        probs.append(q)
        redraws += drawn.redraws
        feed = [drawn.id]
    raw_probs = torch.cat(scores).softmax(-1) if processed(settings) else None
    return Proposal(drafted, torch.stack(probs), raw_probs, us, redraws)


def step_ms(model: CausalModel, last_id: int, repeats: int) -> float:
    """Median milliseconds of feeding ``last_id`` and rolling it back; the cache ends as it was."""
    length = model.length

    def step() -> None:
        model.feed([last_id], keep=1)
        model.roll_back_to(length)

    median = median_ms(model.device, step, repeats)
    if model.length != length:
        raise AssertionError("calibration changed a cache")
    return median
