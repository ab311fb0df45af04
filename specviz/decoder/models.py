"""A causal language model with its cache, seen as positions in and scores out."""

from collections.abc import Sequence

import torch
from torch import Tensor
from transformers import PreTrainedModel

from specviz.decoder.caches import new_cache, roll_back
from specviz.decoder.sampling import NonFiniteScores, shifted

UNLIMITED = 2**31


class CausalModel:
    """One model, its cache, and the host's count of what the cache holds.

    ``vocab_size``: scores are cut to ids below it, so surplus ids of a padded vocabulary are never seen.
    ``context``: the largest number of positions the model may be fed.
    """

    def __init__(self, model: PreTrainedModel, *, role: str, name: str, vocab_size: int, context: int) -> None:
        self.model = model
        self.role = role
        self.name = name
        self.vocab_size = vocab_size
        self.context = context
        self.device = model.device
        self.dtype = model.dtype
        self._mask = torch.ones((1, 256), dtype=torch.long, device=self.device)
        self.reset()

    def reset(self) -> None:
        """Forget every position."""
        self.cache = new_cache(self.model.config)
        self.length = 0

    @torch.inference_mode()
    def feed(self, ids: Sequence[int], keep: int) -> Tensor:
        """Feed ``ids`` at the next positions; shifted scores float32 [keep, vocab_size] of the last ``keep`` of them.

        Raises NonFiniteScores, in words, and ValueError beyond the context.
        """
        end = self.length + len(ids)
        if end > self.context:
            raise ValueError(f"position {end - 1} does not fit a context of {self.context}")
        tokens = torch.tensor([ids], device=self.device)
        out = self.model(
            input_ids=tokens, attention_mask=self._ones(end), cache=self.cache, use_cache=True, logits_to_keep=keep
        )
        self.length = end
        try:
            return shifted(out.logits[0, -keep:, : self.vocab_size])
        except NonFiniteScores:
            dtype = str(self.dtype).removeprefix("torch.")
            raise NonFiniteScores(
                f"The scores of the {self.role} {self.name} in {dtype} are not finite. "
                "Try --dtype float32, or check its weights."
            ) from None

    def prefill(self, ids: Sequence[int]) -> None:
        """Feed the prompt ``ids`` once into an empty cache. Nothing to do for none."""
        if ids:
            self.feed(ids, keep=1)

    def roll_back_to(self, length: int) -> None:
        """Keep the first ``length`` positions, or all if there are fewer."""
        if length < self.length:
            roll_back(self.cache, self.length - length)
            self.length = length

    def _ones(self, length: int) -> Tensor:
        if length > self._mask.shape[1]:
            self._mask = torch.ones((1, 2 * length), dtype=torch.long, device=self.device)
        return self._mask[:, :length]
