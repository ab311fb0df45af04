"""A causal language model with its state, seen as positions in and logits out."""

import inspect
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor
from transformers import Cache, PreTrainedModel

from specviz.core.errors import SpecvizError
from specviz.decoder.models.cache_support import longrope_limit, rollback_method
from specviz.decoder.models.compiled_forward import CompiledForward
from specviz.decoder.models.layer_stack import find_layers
from specviz.decoder.models.rollback import KVState
from specviz.decoder.models.static_cache import StaticState
from specviz.decoder.tensors.sampling import NonFiniteLogits, shifted, upload

UNLIMITED = 2**31


class CausalModel:
    """One model and what it has been fed.

    ``vocab_size``: logits are cut to ids below it, so surplus ids of a padded vocabulary are never seen.
    ``context``: the largest number of positions the model may be fed with the present text.
    ``device``: where ids go in and logits come out, whatever other devices the model is spread over.
    ``non_finite``: 0, or NaN once any logits were not finite: a number on the device, for whoever hears from it next.
    ``compiled``: what forwards of a few ids go through from the next ``reset`` on, None for the model as it is.
    """

    def __init__(self, model: PreTrainedModel, *, role: str, name: str, vocab_size: int, context: int) -> None:
        self.model = model
        self.role = role
        self.name = name
        self.vocab_size = vocab_size
        self._limit = context
        self._longrope_limit = longrope_limit(model.config)
        self.device = model.device
        self.dtype = model.dtype
        self.rollback = rollback_method(model.config, type(model))
        self.layers = find_layers(model, model.config)
        # On a CPU the output layer copies its whole matrix for a slice of rows, and does not for rows that are picked.
        self.gathers_rows = self.device.type == "cpu" and type(model).__module__.startswith("transformers.")
        accepted = inspect.signature(type(model).forward).parameters
        self._takes_positions = "position_ids" in accepted
        self._takes_cache = "cache" in accepted
        self._takes_keep = "logits_to_keep" in accepted
        self._positions = torch.arange(256, device=self.device).unsqueeze(0)
        self.compiled: CompiledForward | None = None
        self.suppress((), 0)
        self.reset()

    def reset(self) -> None:
        """Forget every position."""
        self.context = self._limit
        self.non_finite = torch.zeros((), device=self.device)
        self._state: KVState = (
            self.rollback.state(self._forward, self.model.config)
            if self.compiled is None
            else StaticState(self._forward, self.compiled.cache)
        )

    def suppress(self, ids: Collection[int], until: int) -> None:
        """Give ``ids`` no probability at any position of the text before ``until``."""
        self._suppressed = torch.tensor(sorted(ids), dtype=torch.long, device=self.device)
        self._suppressed_until = until if ids else 0

    def context_of(self, prompt: int) -> int:
        """``context`` behind a prompt of that many ids: a text does not pass the edge of positions, if there is one."""
        if self._longrope_limit is None or prompt > self._longrope_limit + 1:
            return self._limit
        if prompt == self._longrope_limit + 1:
            raise SpecvizError(
                f"The {self.role} {self.name} encodes positions differently beyond {self._longrope_limit} tokens, "
                f"and this prompt has {prompt}. Make it slightly longer or shorter."
            )
        return self._longrope_limit

    @property
    def length(self) -> int:
        """How many positions the model remembers."""
        return self._state.length

    @property
    def cache(self) -> Cache | None:
        """The cache of transformers, None where there is none."""
        return self._state.cache

    def prefill(self, ids: Sequence[int]) -> None:
        """Begin a new text with ``ids``, all but the last of a prompt, each fed once, none ever taken back.

        Raises NonFiniteLogits.
        """
        self.context = self.context_of(len(ids) + 1)
        self._check_context(len(ids))
        with torch.inference_mode():
            self._state.prefill(self._to_device(ids))
        self.raise_if_non_finite(float(self.non_finite))

    @torch.inference_mode()
    def feed(self, ids: Sequence[int] | Tensor, keep: int) -> Tensor:
        """Feed ``ids`` at the next positions; shifted logits float32 [keep, vocab_size] of the last ``keep`` of them.

        Does not wait for the device: see ``non_finite``. Raises ValueError beyond the context.
        """
        self._check_context(self.length + len(ids))
        return self._state.feed(self._to_device(ids), keep)

    def raise_if_non_finite(self, non_finite: float) -> None:
        """Raise NonFiniteLogits, in words, where ``non_finite``, as it came from the device, says that logits were not
        finite."""
        if non_finite != 0:
            dtype = str(self.dtype).removeprefix("torch.")
            suggestion = "Check its weights." if dtype == "float32" else "Try --dtype float32, or check its weights."
            raise NonFiniteLogits(f"The logits of the {self.role} {self.name} in {dtype} are not finite. {suggestion}")

    @torch.inference_mode()
    def roll_back_to(self, length: int) -> None:
        """Keep at most the first ``length`` positions, for good. Fewer may be left: those are to be fed again."""
        self._state.roll_back_to(length)

    @contextmanager
    def early_exit(self, n: int) -> Iterator[None]:
        """Inside, logits come from the first ``n`` layers alone, and what is fed is forgotten at the end.

        Raises ValueError where the layers are not a list.
        """
        if self.layers is None:
            raise ValueError(f"the layers of {self.name} are not one list")
        with self.layers.only_first(n), self._state.temporarily(n):
            yield

    def _check_context(self, length: int) -> None:
        if length > self.context:
            raise ValueError(f"position {length - 1} does not fit a context of {self.context}")

    def _to_device(self, ids: Sequence[int] | Tensor) -> Tensor:
        if isinstance(ids, Tensor):
            return ids.to(self.device)
        return upload(torch.tensor(ids, dtype=torch.long), self.device)

    def _forward(self, ids: Tensor, start: int, cache: Cache | None, keep: int) -> Tensor:
        if self.compiled is not None and self.compiled.takes(ids, cache):
            logits, non_finite = self.compiled(ids, start, keep)
        else:
            logits, non_finite = shifted(self._logits(ids, start, cache, keep))
        suppressed = self._suppressed_until - (start + len(ids) - keep + 1)
        if suppressed > 0:  # row r speaks of the position behind it
            logits[:suppressed].index_fill_(-1, self._suppressed, float("-inf"))
            logits, non_finite = shifted(logits)
        self.non_finite = self.non_finite + non_finite
        return logits

    def _logits(self, ids: Tensor, start: int, cache: Cache | None, keep: int) -> Tensor:
        """One forward. Positions are given, since not every family counts what its cache holds; a mask is not, since
        there is no padding, and some families would take one for the block alone."""
        n = len(ids)
        given: dict[str, Any] = {}
        if self._takes_positions:
            given["position_ids"] = self._span(start, start + n)
        if self._takes_cache:
            given["cache"] = cache
            given["use_cache"] = cache is not None
        if self._takes_keep:
            given["logits_to_keep"] = self._span(n - keep, n)[0] if self.gathers_rows and keep < n else keep
        out = self.model(input_ids=ids.unsqueeze(0), **given)
        logits: Tensor = out.logits[0, -keep:, : self.vocab_size].to(self.device)
        return logits

    def _span(self, start: int, end: int) -> Tensor:
        if end > self._positions.shape[1]:
            self._positions = torch.arange(2 * end, device=self.device).unsqueeze(0)
        return self._positions[:, start:end]
