"""The target's own first layers as the drafter: early exit."""

from collections.abc import Callable, Sequence

from specviz.core.events import Settings
from specviz.decoder.drafters.model import sampled
from specviz.decoder.drafters.protocol import Proposal
from specviz.decoder.models.causal_model import CausalModel
from specviz.decoder.tensors.randomness import Uniforms
from specviz.decoder.tensors.timing import median_ms


class LayersDrafter:
    """Samples from what the target's final norm and head say behind its first ``n`` layers.

    It works on the target's own past of these layers, which is what it was before once the draft is made, so between
    rounds there is nothing of its own to keep.
    """

    def __init__(self, target: CausalModel, n: int, *, keep_logits: bool = True) -> None:
        self.target = target
        self.n = n
        self._keep_logits = keep_logits

    def prefill(self, ids: Sequence[int]) -> None:
        pass

    def room(self, length: int) -> int:
        return max(0, self.target.context - length + 1)

    def propose(
        self, ids: Sequence[int], k: int, settings: Settings, uniforms: Uniforms, stopped: Callable[[], bool]
    ) -> Proposal | None:
        with self.target.early_exit(self.n):
            return sampled(self.target, ids, k, settings, uniforms, stopped, keep_logits=self._keep_logits)

    def commit(self, ids: Sequence[int]) -> None:
        pass

    def warm_up(self, last_id: int) -> None:
        with self.target.early_exit(self.n):
            self.target.feed([last_id], keep=1)

    def step_ms(self, last_id: int, repeats: int, stopped: Callable[[], bool]) -> float | None:
        return median_ms(self.target.device, lambda: self.warm_up(last_id), repeats, stopped)
