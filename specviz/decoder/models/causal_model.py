"""A causal language model and the text it has been fed: token ids in, logits out."""

import inspect
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, overload

import torch
from torch import Tensor
from torch.nn.functional import pad
from transformers import Cache, PreTrainedModel

from specviz.core.errors import SpecvizError
from specviz.decoder.models.cache_support import longrope_limit, rollback_method, tree_unsupported_reason
from specviz.decoder.models.compiled_forward import CompiledForward
from specviz.decoder.models.layer_list import find_layers
from specviz.decoder.models.rollback import KVState
from specviz.decoder.models.static_cache import StaticState
from specviz.decoder.models.token_tree import TokenTree
from specviz.decoder.tensors.device import to_device
from specviz.decoder.tensors.sampling import NonFiniteLogits, max_shifted

UNLIMITED = 2**31
Hidden = tuple[Tensor, ...]
"""Hidden states [n, width] in the model's dtype, one tensor for each requested layer."""


class CausalModel:
    """One model and what it has been fed.

    ``vocab_size``: logits are cut to ids below it, so the surplus ids of a padded vocabulary are never seen. Ids below
    it that the model lacks have probability 0, and it reads id 0 in their place.
    ``context``: the largest number of positions the model may be fed in the present text.
    ``device``: where ids go in and logits come out, whatever other devices the model is spread over.
    ``non_finite``: 0, or NaN once any logits were not finite: a tensor on the device, read without an extra wait.
    ``compiled``: runs forwards of a few ids from the next ``reset`` on; None for the model as it is.

    Hidden states are asked for by their index in the ``hidden_states`` of transformers: 0 is the embeddings, i the
    output of layer i, the last (-1) the output of the final norm.
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
        # On a CPU, the output layer copies its whole matrix for a slice of rows, but not for rows that are gathered.
        self.gathers_rows = self.device.type == "cpu" and type(model).__module__.startswith("transformers.")
        accepted = inspect.signature(type(model).forward).parameters
        self._takes_positions = "position_ids" in accepted
        self._takes_cache = "cache" in accepted
        self._takes_keep = "logits_to_keep" in accepted
        self._n_embeddings = _n_embeddings(model, vocab_size)
        self._positions = torch.arange(256, device=self.device).unsqueeze(0)
        self._hidden_layers: tuple[int, ...] = ()
        self._hidden: list[Hidden] = []
        self.compiled: CompiledForward | None = None
        self.suppress((), 0)
        self.reset()

    def reset(self) -> None:
        """Forget every position."""
        self.context = self._limit
        self.non_finite = torch.zeros((), device=self.device)
        self._tree: tuple[int, TokenTree] | None = None
        self._state: KVState = (
            self.rollback.state(self._forward, self.model.config)
            if self.compiled is None
            else StaticState(self._forward, self.compiled.cache)
        )

    def suppress(self, ids: Collection[int], until: int) -> None:
        """Give ``ids`` no probability at any position before ``until``."""
        self._suppressed = torch.tensor(sorted(ids), dtype=torch.long, device=self.device)
        self._suppressed_until = until if ids else 0

    def context_of(self, prompt: int) -> int:
        """``context`` after a prompt of ``prompt`` ids: it ends at the LongRoPE limit for prompts within that. Raises
        SpecvizError for a prompt right at the limit."""
        limit = self._longrope_limit
        if limit is None or prompt > limit + 1:
            return self._limit
        if prompt == limit + 1:
            raise SpecvizError(
                f"The {self.role} {self.name} encodes positions differently beyond {limit} tokens, and this prompt "
                f"has {prompt}. Make it slightly longer or shorter."
            )
        return limit

    @property
    def length(self) -> int:
        """The number of positions the model has in memory."""
        return self._state.length

    @property
    def cache(self) -> Cache | None:
        """The cache of transformers, None where there is none."""
        return self._state.cache

    @property
    def tree_unsupported_reason(self) -> str | None:
        """Why the model cannot be fed a tree; None if it can, within its sliding windows."""
        return tree_unsupported_reason(self.model.config, type(self.model))

    @overload
    def prefill(self, ids: Sequence[int]) -> None: ...
    @overload
    def prefill(self, ids: Sequence[int], *, hidden_layers: Sequence[int]) -> Hidden: ...
    def prefill(self, ids: Sequence[int], *, hidden_layers: Sequence[int] | None = None) -> Hidden | None:
        """Start a new text with ``ids``: all of a prompt but its last, each fed once and never rolled back. With
        ``hidden_layers``: their hidden states at ``ids``, of which there must be at least one. Raises
        NonFiniteLogits."""
        self.context = self.context_of(len(ids) + 1)
        self._check_context(len(ids))
        self._tree = None
        with torch.inference_mode(), self._recording(hidden_layers or ()):
            on_device = self._to_device(ids)
            self._state.prefill(on_device)
            if hidden_layers and not self._hidden:  # a model without a cache reads nothing before its first feed
                self._forward(on_device, 0, None, 1)
        self.raise_if_non_finite(float(self.non_finite))
        return None if hidden_layers is None else self._recorded(len(ids))

    @overload
    def feed(self, ids: Sequence[int] | Tensor, keep: int) -> Tensor: ...
    @overload
    def feed(
        self, ids: Sequence[int] | Tensor, keep: int, *, hidden_layers: Sequence[int]
    ) -> tuple[Tensor, Hidden]: ...
    @torch.inference_mode()
    def feed(
        self, ids: Sequence[int] | Tensor, keep: int, *, hidden_layers: Sequence[int] | None = None
    ) -> Tensor | tuple[Tensor, Hidden]:
        """Feed ``ids`` [n] at the next positions; shifted logits float32 [keep, vocab_size] of the last ``keep``. With
        ``hidden_layers`` also their hidden states at all ``ids``. Does not wait for the device: check ``non_finite``
        later. Raises ValueError beyond the context."""
        self._check_context(self.length + len(ids))
        self._tree = None
        if hidden_layers is None:
            return self._state.feed(self._to_device(ids), keep)
        with self._recording(hidden_layers):
            logits = self._state.feed(self._to_device(ids), keep)
        return logits, self._recorded(len(ids))

    @torch.inference_mode()
    def feed_tree(
        self, ids: Sequence[int] | Tensor, tree: TokenTree, *, hidden_layers: Sequence[int] = ()
    ) -> tuple[Tensor, Hidden]:
        """Feed ``ids`` [n] as a tree that continues the text, in one forward. Returns shifted logits float32 [n,
        vocab_size], each after its own path, and the hidden states of ``hidden_layers``. ``keep_path`` or
        ``roll_back_to`` comes next. Raises ValueError where the model cannot do that exactly, and beyond the
        context."""
        if reason := self.tree_unsupported_reason:
            raise ValueError(f"the {self.role} {self.name} cannot be fed a tree: {reason}")
        if len(ids) != len(tree):
            raise ValueError(f"{len(ids)} ids for a tree of {len(tree)}")
        start = self.length
        self._check_context(start + len(ids))
        with self._recording(hidden_layers):
            logits = self._state.feed_tree(self._to_device(ids), tree)
        self._tree = start, tree
        return logits, self._recorded(len(ids))

    def raise_if_non_finite(self, non_finite: float) -> None:
        """Raise NonFiniteLogits if ``non_finite``, read from the device, says so."""
        if non_finite != 0:
            dtype = str(self.dtype).removeprefix("torch.")
            suggestion = "Check its weights." if dtype == "float32" else "Try --dtype float32, or check its weights."
            raise NonFiniteLogits(f"The logits of the {self.role} {self.name} in {dtype} are not finite. {suggestion}")

    @torch.inference_mode()
    def roll_back_to(self, length: int) -> None:
        """Keep at most the first ``length`` positions for good. Where fewer are left, feed the missing ids again."""
        self._tree = None
        self._state.roll_back_to(length)

    @torch.inference_mode()
    def keep_path(self, nodes: Sequence[int]) -> None:
        """Keep only ``nodes`` of the tree fed last, a path from a root, which becomes part of the text. Raises
        ValueError for other nodes, and where the last feed was not a tree."""
        if self._tree is None:
            raise ValueError("the last feed was not a tree")
        start, tree = self._tree
        if not tree.is_path(nodes):
            raise ValueError(f"{tuple(nodes)} is not a path of the tree {tree.parents}")
        self._tree = None
        self._state.keep_path(start, nodes)

    @contextmanager
    def early_exit(self, n: int) -> Iterator[None]:
        """Inside, logits come from the first ``n`` layers only, and what is fed is forgotten at the end. Raises
        ValueError where the layers are not a list."""
        if self.layers is None:
            raise ValueError(f"the layers of {self.name} are not a single list")
        with self.layers.only_first(n), self._state.temporarily(n):
            yield

    def _check_context(self, length: int) -> None:
        if length > self.context:
            raise ValueError(f"position {length - 1} does not fit a context of {self.context}")

    def _to_device(self, ids: Sequence[int] | Tensor) -> Tensor:
        on_device = (
            ids.to(self.device)
            if isinstance(ids, Tensor)
            else to_device(torch.tensor(ids, dtype=torch.long), self.device)
        )
        if self._n_embeddings < self.vocab_size:
            on_device = on_device.where(on_device < self._n_embeddings, 0)
        return on_device

    @contextmanager
    def _recording(self, layers: Sequence[int]) -> Iterator[None]:
        """Record the hidden states of ``layers`` in every forward inside."""
        self._hidden_layers, self._hidden = tuple(layers), []
        try:
            yield
        finally:
            self._hidden_layers = ()

    def _recorded(self, n: int) -> Hidden:
        """What was recorded of the last ``n`` ids. A feed may take several forwards, and some read earlier ids too."""
        recorded, self._hidden = self._hidden, []
        return tuple(torch.cat(states)[-n:] for states in zip(*recorded, strict=True))

    def _forward(
        self, ids: Tensor, start: int, cache: Cache | None, keep: int, tree: TokenTree | None = None
    ) -> Tensor:
        compiled = None if tree is not None or self._hidden_layers else self.compiled
        if compiled is not None and compiled.takes(ids, cache):
            logits, non_finite = compiled(ids, start, keep)
        else:
            logits, non_finite = max_shifted(self._logits(ids, start, cache, keep, tree))
        if (lacking := self.vocab_size - logits.shape[-1]) > 0:
            logits = pad(logits, (0, lacking), value=float("-inf"))
        first = start + len(ids) - keep + 1  # the position that row 0 of a chain predicts
        if self._suppressed_until > first:
            rows: slice | list[int] = slice(self._suppressed_until - first)
            if tree is not None:
                rows = [i for i, depth in enumerate(tree.depths) if first + depth < self._suppressed_until]
            logits[rows] = logits[rows].index_fill(-1, self._suppressed, float("-inf"))
            logits, non_finite = max_shifted(logits)
        self.non_finite = self.non_finite + non_finite
        return logits

    def _logits(self, ids: Tensor, start: int, cache: Cache | None, keep: int, tree: TokenTree | None) -> Tensor:
        """One forward. Positions are passed because not every family counts what its cache holds. No mask is passed
        for a chain, because there is no padding and some families would take it for a mask of the block alone."""
        n = len(ids)
        kwargs: dict[str, Any] = {}
        if self._takes_positions:
            kwargs["position_ids"] = self._span(start, start + n)
        if self._takes_cache:
            kwargs["cache"] = cache
            kwargs["use_cache"] = cache is not None
        if self._takes_keep:
            kwargs["logits_to_keep"] = self._span(n - keep, n)[0] if self.gathers_rows and keep < n else keep
        if tree is not None:
            kwargs["position_ids"] = start + to_device(torch.tensor([tree.depths]), self.device)
            kwargs["attention_mask"] = tree.mask(start, self.dtype, self.device)
        if self._hidden_layers:
            kwargs["output_hidden_states"] = list(self._hidden_layers)
        out = self.model(input_ids=ids.unsqueeze(0), **kwargs)
        if self._hidden_layers:
            self._hidden.append(tuple(out.hidden_states[i][0].to(self.device) for i in self._hidden_layers))
        logits: Tensor = out.logits[0, -keep:, : self.vocab_size].to(self.device)
        return logits

    def _span(self, start: int, end: int) -> Tensor:
        if end > self._positions.shape[1]:
            self._positions = torch.arange(2 * end, device=self.device).unsqueeze(0)
        return self._positions[:, start:end]


def _n_embeddings(model: PreTrainedModel, otherwise: int) -> int:
    """How many ids the model can read; ``otherwise`` where that cannot be told."""
    return int(getattr(model.get_input_embeddings(), "num_embeddings", otherwise))
