"""A model's forward of a few ids as one compiled graph, for any number of ids after a text of any length.

Ids, their positions and the visible positions are tensors whose sizes the graph leaves open, so no K, length or prompt
makes it compile again. On a CPU, attention sees the keys up to the last id, and only a single id is padded, to two. On
CUDA, where graphs are recorded by size, it sees the whole buffers, and blocks are padded to a few sizes.
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
from specviz.decoder.tensors.sampling import max_shifted

LONGEST = 64
"""Longer blocks are fed without the graph."""
PACKED_BELOW = 2**30
"""Bytes of weights up to which a CPU gets a second copy of them, packed for its matrix products."""


class _GraphLayer(CacheLayerMixin):  # type: ignore[misc]
    """One layer inside the graph: its buffers, the positions to write at, and the number of visible positions."""

    is_sliding = False

    def __init__(self, keys: Tensor, values: Tensor, positions: Tensor, visible: int) -> None:
        super().__init__()
        self.keys, self.values = keys, values
        self._positions, self._visible = positions, visible
        self.is_initialized = True

    def lazy_initialization(self, key_states: Tensor, value_states: Tensor) -> None:
        pass

    def update(self, key_states: Tensor, value_states: Tensor, *_: Any, **__: Any) -> tuple[Tensor, Tensor]:
        self.keys.index_copy_(2, self._positions, key_states)
        self.values.index_copy_(2, self._positions, value_states)
        return self.keys[:, :, : self._visible], self.values[:, :, : self._visible]

    def get_mask_sizes(self, query_length: int) -> tuple[int, int]:
        return self._visible, 0

    def get_seq_length(self) -> int:
        return self._visible - self._positions.shape[0]

    def get_max_length(self) -> int:
        return -1


class CompiledForward:
    """The graph of ``model`` with its ``cache``. The first call compiles it, which can take minutes."""

    def __init__(self, model: PreTrainedModel, vocab_size: int, cache: StaticKVCache) -> None:
        self.cache = cache
        self.device = model.device
        self._positions = self._all_positions()
        packs = self.device.type == "cpu" and sum(weight.nbytes for weight in model.parameters()) <= PACKED_BELOW
        self._packed = fingerprint(model) if packs else None
        self._forward = _compiled(model, vocab_size)
        self._is_compiled = False

    @property
    def sizes(self) -> list[int]:
        """Block sizes: after one call of each, nothing is compiled or recorded any more."""
        return [2**n for n in range(1, 7)] if self.device.type == "cuda" else [2]

    def empty_copy(self) -> "CompiledForward":
        """The same graph with a new, empty cache."""
        other = copy(self)
        other.cache = self.cache.empty_copy()
        return other

    def takes(self, ids: Tensor, cache: Cache | None) -> bool:
        """Whether they can go through the graph. The first ids of a new cache cannot: they allocate its buffers."""
        return (
            cache is self.cache
            and self.cache.layers[-1].is_initialized
            and not self.cache.partial
            and len(ids) <= LONGEST
        )

    def __call__(self, ids: Tensor, start: int, keep: int) -> tuple[Tensor, Tensor]:
        """Feed ``ids`` at ``start``; ``max_shifted`` of the logits [keep, vocab_size] of the last ``keep``."""
        n = len(ids)
        if self.cache.capacity > len(self._positions):
            self._positions = self._all_positions()
        size, end = self._size(n), start + n
        positions = self._positions[start:end]
        if not ids.is_inference():
            ids = ids.clone()
        if size > n:  # pad with the last id, at its own position
            ids = torch.cat([ids, ids[-1:].expand(size - n)])
            positions = torch.cat([positions, positions[-1:].expand(size - n)])
        visible = self._positions if self.device.type == "cuda" else self._positions[: max(2, end)]
        logits, non_finite = self._call(ids, positions, visible)
        if self.device.type == "cuda":  # the next run of a recorded graph overwrites its outputs
            return logits[n - keep : n].clone(), non_finite.clone()
        return logits[n - keep : n], non_finite

    @torch.inference_mode()
    def _all_positions(self) -> Tensor:
        """0, 1, ... up to the capacity. (To a graph, tensors of inference mode are a kind apart from others.)"""
        return torch.arange(self.cache.capacity, device=self.device)

    def _size(self, n: int) -> int:
        return n if n > 1 and self.device.type != "cuda" else max(2, 1 << (n - 1).bit_length())

    def _call(self, ids: Tensor, positions: Tensor, visible: Tensor) -> tuple[Tensor, Tensor]:
        buffers = self.cache.buffers
        if self._is_compiled:
            if self.device.type == "cuda":
                torch.compiler.cudagraph_mark_step_begin()  # type: ignore[no-untyped-call]
            return self._forward(ids, positions, visible, buffers)  # type: ignore[no-any-return]
        ids, positions, visible = (tensor.clone() for tensor in (ids, positions, visible))
        for tensor in (ids, positions, visible):
            torch._dynamo.mark_dynamic(tensor, 0)
        for buffer in buffers:
            torch._dynamo.mark_dynamic(buffer, 2)
        with settings(self._packed):
            result = self._forward(ids, positions, visible, buffers)
        self._is_compiled = True
        return result  # type: ignore[no-any-return]


def _compiled(model: PreTrainedModel, vocab_size: int) -> Any:
    """(ids [n], positions [n], visible positions, keys and values of each layer) -> ``max_shifted`` logits."""

    def forward(ids: Tensor, positions: Tensor, visible: Tensor, buffers: list[Tensor]) -> tuple[Tensor, Tensor]:
        n_visible = visible.shape[0]
        pairs = zip(buffers[::2], buffers[1::2], strict=True)
        cache = Cache(layers=[_GraphLayer(keys, values, positions, n_visible) for keys, values in pairs])
        mask = (visible <= positions[:, None])[None, None]
        kwargs = {"attention_mask": mask, "position_ids": positions[None], "cache": cache, "use_cache": True}
        return max_shifted(model(input_ids=ids[None], **kwargs).logits[0, :, :vocab_size])

    # Graphs are cached by code object, so each model gets its own.
    own = FunctionType(
        forward.__code__.replace(), forward.__globals__, closure=forward.__closure__, name=f"forward_{id(model)}"
    )
    options: dict[str, Any] = {"guard_filter_fn": torch.compiler.keep_tensor_guards_unsafe}  # modules do not change
    if model.device.type == "cuda":
        options["triton.cudagraphs"] = True
    return torch.compile(own, fullgraph=True, options=options)


@contextmanager
def settings(packed: str | None) -> Iterator[None]:
    """Settings of the compiler while it compiles. ``packed``: the fingerprint of weights to pack, None to pack none.
    Packing is the compiler's ``freezing``: weights become constants, and matrix products become generated code around a
    packed copy of them, which for a few rows takes half the time of the libraries or less. Weights packed by oneDNN
    could not be cached between starts. A cached graph holds the weights and is made for a number of threads, but the
    compiler looks it up by shapes alone, so the cache key tag names both."""
    from torch._inductor import config as inductor_config  # takes seconds to import
    from torch.utils._triton import has_triton_package

    # With Triton, more threads are subprocesses, which do not work with the streams of every app.
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
    """A hash of the weights."""
    digest = blake2b(digest_size=16)
    for tensor in (*model.parameters(), *model.buffers()):
        digest.update(tensor.detach().cpu().contiguous().flatten().view(torch.uint8).numpy())
    return digest.hexdigest()
