"""A model's forward of a few ids as one compiled graph, whatever their number and whatever stands before them.

Ids, their places and the places there are, come in as tensors whose sizes the graph leaves open, so that no K, length
or prompt makes it compile again. On a CPU attention sees the keys up to the last id, and nothing is padded but a single
id, to two. On CUDA, where graphs are recorded by size, it sees all places there are, and blocks are padded to a few
sizes.
"""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from copy import copy
from hashlib import blake2b
from types import FunctionType
from typing import Any

import torch
from torch import Tensor
from transformers import Cache, PreTrainedModel
from transformers.cache_utils import CacheLayerMixin

from specviz.decoder.models.static_cache import StaticKVCache
from specviz.decoder.tensors.sampling import shifted

LONGEST = 64
"""More ids are fed without the graph."""
PACKED_BELOW = 2**30
"""Bytes of weights up to which a CPU gets a second copy of them, laid out for its matrix products."""


class _Written(CacheLayerMixin):  # type: ignore[misc]
    """One layer inside the graph: buffers, the places to write at, and how many places are seen."""

    is_sliding = False

    def __init__(self, keys: Tensor, values: Tensor, at: Tensor, seen: int) -> None:
        super().__init__()
        self.keys, self.values = keys, values
        self._at, self._seen = at, seen
        self.is_initialized = True

    def lazy_initialization(self, key_states: Tensor, value_states: Tensor) -> None:
        pass

    def update(self, key_states: Tensor, value_states: Tensor, *_: Any, **__: Any) -> tuple[Tensor, Tensor]:
        self.keys.index_copy_(2, self._at, key_states)
        self.values.index_copy_(2, self._at, value_states)
        return self.keys[:, :, : self._seen], self.values[:, :, : self._seen]

    def get_mask_sizes(self, query_length: int) -> tuple[int, int]:
        return self._seen, 0

    def get_seq_length(self) -> int:
        return self._seen - self._at.shape[0]

    def get_max_length(self) -> int:
        return -1


class CompiledForward:
    """The graph of ``model`` with its ``cache``. It is compiled by the first call, which takes up to minutes."""

    def __init__(self, model: PreTrainedModel, vocab_size: int, cache: StaticKVCache) -> None:
        self.cache = cache
        self.device = model.device
        self._places = self._numbers()
        packs = self.device.type == "cpu" and sum(weight.nbytes for weight in model.parameters()) <= PACKED_BELOW
        self._packed = fingerprint(model) if packs else None
        self._forward = _compiled(model, vocab_size)
        self._is_compiled = False

    @property
    def sizes(self) -> list[int]:
        """Of blocks: one of each makes all that is made at a first call."""
        return [2**n for n in range(1, 7)] if self.device.type == "cuda" else [2]

    def empty_copy(self) -> "CompiledForward":
        """The same graph with an empty cache of its own."""
        other = copy(self)
        other.cache = self.cache.empty_copy()
        return other

    def takes(self, ids: Tensor, cache: Cache | None) -> bool:
        """Whether they may go through the graph; the first ids of all may not: they show what buffers there must be."""
        return (
            cache is self.cache
            and self.cache.layers[-1].is_initialized
            and not self.cache.partial
            and len(ids) <= LONGEST
        )

    def __call__(self, ids: Tensor, start: int, keep: int) -> tuple[Tensor, Tensor]:
        """Feed ``ids`` at ``start``: what ``shifted`` gives for the logits [keep, vocab_size] of the last ``keep``."""
        n = len(ids)
        if self.cache.capacity > len(self._places):
            self._places = self._numbers()
        size, seen = self._size(n), start + n
        at = self._places[start:seen]
        if not ids.is_inference():
            ids = ids.clone()
        if size > n:  # the last id once more, at its own place
            ids = torch.cat([ids, ids[-1:].expand(size - n)])
            at = torch.cat([at, at[-1:].expand(size - n)])
        known = self._places if self.device.type == "cuda" else self._places[: max(2, seen)]
        logits, non_finite = self._call(ids, at, known)
        if self.device.type == "cuda":  # what a recorded graph gives is overwritten by its next run
            return logits[n - keep : n].clone(), non_finite.clone()
        return logits[n - keep : n], non_finite

    @torch.inference_mode()
    def _numbers(self) -> Tensor:
        """0, 1, … of as many places as there are. (Tensors of inference and others are two kinds to a graph.)"""
        return torch.arange(self.cache.capacity, device=self.device)

    def _size(self, n: int) -> int:
        return n if n > 1 and self.device.type != "cuda" else max(2, 1 << (n - 1).bit_length())

    def _call(self, ids: Tensor, at: Tensor, known: Tensor) -> tuple[Tensor, Tensor]:
        buffers = self.cache.buffers
        if self._is_compiled:
            if self.device.type == "cuda":
                torch.compiler.cudagraph_mark_step_begin()  # type: ignore[no-untyped-call]
            return self._forward(ids, at, known, buffers)  # type: ignore[no-any-return]
        ids, at, known = (tensor.clone() for tensor in (ids, at, known))
        for tensor in (ids, at, known):
            torch._dynamo.mark_dynamic(tensor, 0)
        for buffer in buffers:
            torch._dynamo.mark_dynamic(buffer, 2)
        with settings(self._packed):
            found = self._forward(ids, at, known, buffers)
        self._is_compiled = True
        return found  # type: ignore[no-any-return]


def _compiled(model: PreTrainedModel, vocab_size: int) -> Any:
    """(ids [n], their places [n], the places seen, keys and values of each layer) -> ``shifted`` logits of all ids."""

    def forward(ids: Tensor, at: Tensor, known: Tensor, buffers: list[Tensor]) -> tuple[Tensor, Tensor]:
        seen = known.shape[0]
        pairs = zip(buffers[::2], buffers[1::2], strict=True)
        cache = Cache(layers=[_Written(keys, values, at, seen) for keys, values in pairs])
        mask = (known <= at[:, None])[None, None]
        given = {"attention_mask": mask, "position_ids": at[None], "cache": cache, "use_cache": True}
        return shifted(model(input_ids=ids[None], **given).logits[0, :, :vocab_size])

    # Graphs are kept by code object, so one of its own keeps this model's apart from every other's.
    own = FunctionType(
        forward.__code__.replace(), forward.__globals__, closure=forward.__closure__, name=f"forward_{id(model)}"
    )
    options: dict[str, Any] = {"guard_filter_fn": torch.compiler.keep_tensor_guards_unsafe}  # modules stay as they are
    if model.device.type == "cuda":
        options["triton.cudagraphs"] = True
    return torch.compile(own, fullgraph=True, options=options)


@contextmanager
def settings(packed: str | None) -> Iterator[None]:
    """The compiler's, while it compiles. ``packed``: the fingerprint of weights that are to be packed.

    In its own words ``freezing``: weights become constants, and matrix products code of its own around a packed copy of
    them: for a few rows at a time that halves what the libraries take, on some processors more. Packed by oneDNN they
    could not be kept from one start to the next. What is kept holds the weights and is made for a number of threads,
    but is found again by shapes alone, so both are put into its name.
    """
    from torch._inductor import config as inductor_config  # seconds, for nobody who does not compile
    from torch.utils._triton import has_triton_package

    # With Triton, more threads are processes, which an app's streams may not suit.
    of_inductor: dict[str, Any] = {"compile_threads": 1} if has_triton_package() else {}
    if packed is not None:
        of_inductor |= {"freezing": True, "max_autotune": True, "max_autotune_gemm_backends": "CPP"}
    name = f"specviz {torch.get_num_threads()} {packed}"
    with ExitStack() as stack:
        stack.enter_context(inductor_config.patch(of_inductor))
        stack.enter_context(torch.compiler.config.patch(cache_key_tag=name))  # type: ignore[attr-defined]
        if packed is not None:
            stack.enter_context(torch._dynamo.config.patch(prepare_freezing=True))
            stack.enter_context(torch.backends.mkldnn.flags(enabled=False, allow_tf32=False))
        yield


def fingerprint(model: PreTrainedModel) -> str:
    """The same for the same weights."""
    found = blake2b(digest_size=16)
    for numbers in (*model.parameters(), *model.buffers()):
        found.update(numbers.detach().cpu().contiguous().flatten().view(torch.uint8).numpy())
    return found.hexdigest()
