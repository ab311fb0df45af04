"""A causal language model with its past, seen as positions in and scores out."""

import inspect
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor
from transformers import Cache, PreTrainedModel

from specviz.core.errors import SpecvizError
from specviz.decoder.models.cache_support import edge_of_positions, way_back
from specviz.decoder.models.compiled_forward import CompiledForward
from specviz.decoder.models.layer_stack import stack_of
from specviz.decoder.models.rollback import Past
from specviz.decoder.models.static_cache import Placed
from specviz.decoder.tensors.sampling import NonFiniteScores, shifted, upload

UNLIMITED = 2**31


class CausalModel:
    """One model and what it has been fed.

    ``vocab_size``: scores are cut to ids below it, so surplus ids of a padded vocabulary are never seen.
    ``context``: the largest number of positions the model may be fed with the present text.
    ``device``: where ids go in and scores come out, whatever other devices the model is spread over.
    ``odd``: 0, or NaN once any scores were not finite: a number on the device, for whoever hears from it next.
    ``compiled``: what forwards of a few ids go through from the next ``reset`` on, None for the model as it is.
    """

    def __init__(self, model: PreTrainedModel, *, role: str, name: str, vocab_size: int, context: int) -> None:
        self.model = model
        self.role = role
        self.name = name
        self.vocab_size = vocab_size
        self._limit = context
        self._edge = edge_of_positions(model.config)
        self.device = model.device
        self.dtype = model.dtype
        self.way_back = way_back(model.config, type(model))
        self.stack = stack_of(model, model.config)
        # On a CPU the output layer copies its whole matrix for a slice of rows, and does not for rows that are picked.
        self.picks = self.device.type == "cpu" and type(model).__module__.startswith("transformers.")
        accepted = inspect.signature(type(model).forward).parameters
        self._takes_positions = "position_ids" in accepted
        self._takes_cache = "cache" in accepted
        self._takes_keep = "logits_to_keep" in accepted
        self._positions = torch.arange(256, device=self.device).unsqueeze(0)
        self.compiled: CompiledForward | None = None
        self.bar((), 0)
        self.reset()

    def reset(self) -> None:
        """Forget every position."""
        self.context = self._limit
        self.odd = torch.zeros((), device=self.device)
        self._past: Past = (
            self.way_back.past(self._forward, self.model.config)
            if self.compiled is None
            else Placed(self._forward, self.compiled.cache)
        )

    def bar(self, ids: Collection[int], until: int) -> None:
        """Give ``ids`` no probability at any position of the text before ``until``."""
        self._barred = torch.tensor(sorted(ids), dtype=torch.long, device=self.device)
        self._barred_until = until if ids else 0

    def context_of(self, prompt: int) -> int:
        """``context`` behind a prompt of that many ids: a text does not pass the edge of positions, if there is one."""
        if self._edge is None or prompt > self._edge + 1:
            return self._limit
        if prompt == self._edge + 1:
            raise SpecvizError(
                f"The {self.role} {self.name} reads texts of up to {self._edge} tokens in one way and longer ones in "
                f"another, and this prompt has {prompt}. Make it a little longer or shorter."
            )
        return self._edge

    @property
    def length(self) -> int:
        """How many positions the model remembers."""
        return self._past.length

    @property
    def cache(self) -> Cache | None:
        """The cache of transformers, None where there is none."""
        return self._past.cache

    def prefill(self, ids: Sequence[int]) -> None:
        """Begin a new text with ``ids``, all but the last of a prompt, each fed once, none ever taken back.

        Raises NonFiniteScores.
        """
        self.context = self.context_of(len(ids) + 1)
        self._fits(len(ids))
        with torch.inference_mode():
            self._past.prefill(self._here(ids))
        self.refuse_odd(float(self.odd))

    @torch.inference_mode()
    def feed(self, ids: Sequence[int] | Tensor, keep: int) -> Tensor:
        """Feed ``ids`` at the next positions; shifted scores float32 [keep, vocab_size] of the last ``keep`` of them.

        It does not wait for the device: ``odd`` tells whether they are finite. Raises ValueError beyond the context.
        """
        self._fits(self.length + len(ids))
        return self._past.feed(self._here(ids), keep)

    def refuse_odd(self, odd: float) -> None:
        """Raise NonFiniteScores, in words, where ``odd``, as it came from the device, says that scores were not
        finite."""
        if odd != 0:
            dtype = str(self.dtype).removeprefix("torch.")
            way_out = "Check its weights." if dtype == "float32" else "Try --dtype float32, or check its weights."
            raise NonFiniteScores(f"The scores of the {self.role} {self.name} in {dtype} are not finite. {way_out}")

    @torch.inference_mode()
    def roll_back_to(self, length: int) -> None:
        """Keep at most the first ``length`` positions, for good. Fewer may be left: those are to be fed again."""
        self._past.roll_back_to(length)

    @contextmanager
    def first_layers(self, n: int) -> Iterator[None]:
        """Inside, scores come from the first ``n`` layers alone, and what is fed is forgotten at the end.

        Raises ValueError where the layers are not a list.
        """
        if self.stack is None:
            raise ValueError(f"the layers of {self.name} are not one list")
        with self.stack.only_first(n), self._past.for_now(n):
            yield

    def _fits(self, length: int) -> None:
        if length > self.context:
            raise ValueError(f"position {length - 1} does not fit a context of {self.context}")

    def _here(self, ids: Sequence[int] | Tensor) -> Tensor:
        if isinstance(ids, Tensor):
            return ids.to(self.device)
        return upload(torch.tensor(ids, dtype=torch.long), self.device)

    def _forward(self, ids: Tensor, start: int, cache: Cache | None, keep: int) -> Tensor:
        if self.compiled is not None and self.compiled.takes(ids, cache):
            scores, odd = self.compiled(ids, start, keep)
        else:
            scores, odd = shifted(self._scores(ids, start, cache, keep))
        barred = self._barred_until - (start + len(ids) - keep + 1)
        if barred > 0:  # row r speaks of the position behind it
            scores[:barred].index_fill_(-1, self._barred, float("-inf"))
            scores, odd = shifted(scores)
        self.odd = self.odd + odd
        return scores

    def _scores(self, ids: Tensor, start: int, cache: Cache | None, keep: int) -> Tensor:
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
            given["logits_to_keep"] = self._span(n - keep, n)[0] if self.picks and keep < n else keep
        out = self.model(input_ids=ids.unsqueeze(0), **given)
        scores: Tensor = out.logits[0, -keep:, : self.vocab_size].to(self.device)
        return scores

    def _span(self, start: int, end: int) -> Tensor:
        if end > self._positions.shape[1]:
            self._positions = torch.arange(2 * end, device=self.device).unsqueeze(0)
        return self._positions[:, start:end]
