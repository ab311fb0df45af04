"""Keys and values in preallocated buffers, of which the first ``length`` positions count.

Entries at and after ``length`` are stale until they are overwritten, so a rollback only lowers a number on the host,
and feeding an id again at its own position changes nothing.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor
from transformers import Cache
from transformers.cache_utils import CacheLayerMixin

from specviz.decoder.models.rollback import Forward, TreeState
from specviz.decoder.models.token_tree import TokenTree

INITIAL_CAPACITY = 1024
"""Positions of new buffers; doubled whenever they run out."""


class StaticKVLayer(CacheLayerMixin):  # type: ignore[misc]
    """One layer: ``keys`` and ``values`` [1, heads, capacity, width], allocated at the first update."""

    is_sliding = False

    def __init__(self, whole: "StaticKVCache") -> None:
        super().__init__()
        self._whole = whole

    def lazy_initialization(self, key_states: Tensor, value_states: Tensor) -> None:
        self.keys, self.values = (self._buffer(states) for states in (key_states, value_states))
        self.is_initialized = True

    def update(self, key_states: Tensor, value_states: Tensor, *_: Any, **__: Any) -> tuple[Tensor, Tensor]:
        """Write them after the cache's length; all keys and values up to them."""
        if not self.is_initialized:
            self.lazy_initialization(key_states, value_states)
        start = self._whole.length
        end = start + key_states.shape[-2]
        self.keys[:, :, start:end] = key_states
        self.values[:, :, start:end] = value_states
        return self.keys[:, :, :end], self.values[:, :, :end]

    def get_mask_sizes(self, query_length: int) -> tuple[int, int]:
        return self._whole.length + query_length, 0

    def get_seq_length(self) -> int:
        return self._whole.length

    def get_max_length(self) -> int:
        return -1

    def grow(self) -> None:
        """Enlarge the buffers to the cache's capacity and keep their contents."""
        if self.is_initialized:
            self.keys, self.values = self._larger(self.keys), self._larger(self.values)

    def _larger(self, old: Tensor) -> Tensor:
        new = self._buffer(old)
        new[:, :, : old.shape[-2]] = old
        return new

    def _buffer(self, like: Tensor) -> Tensor:
        batch, heads, _, width = like.shape
        buffer = like.new_zeros(batch, heads, self._whole.capacity, width)
        if buffer.device.type == "cuda":  # a CUDA graph reads and writes it at a fixed address
            torch._dynamo.mark_static_address(buffer, guard=False)
        return buffer


class StaticKVCache(Cache):  # type: ignore[misc]
    """``length``: how many positions count; the caller advances it. ``partial``: only the first layers are in use."""

    def __init__(self, layers: int) -> None:
        super().__init__(layers=[StaticKVLayer(self) for _ in range(layers)])
        self.length = 0
        self.capacity = INITIAL_CAPACITY
        self.partial = False

    def empty_copy(self) -> "StaticKVCache":
        """An empty cache with buffers of the same sizes."""
        other = StaticKVCache(len(self.layers))
        other.capacity = self.capacity
        for layer, own in zip(other.layers, self.layers, strict=True):
            if own.is_initialized:
                layer.lazy_initialization(own.keys, own.values)
        return other

    def reserve(self, capacity: int) -> None:
        """Make room for ``capacity`` positions."""
        if capacity > self.capacity:
            while capacity > self.capacity:
                self.capacity *= 2
            for layer in self.layers:
                layer.grow()

    @property
    def buffers(self) -> list[Tensor]:
        """Keys and values of layer after layer."""
        return [states for layer in self.layers for states in (layer.keys, layer.values)]


class StaticState(TreeState):
    """On a cache that outlives it."""

    def __init__(self, forward: Forward, cache: StaticKVCache) -> None:
        self._forward = forward
        self.cache = cache
        cache.length = 0

    @property
    def length(self) -> int:
        return int(self.cache.length)

    @length.setter
    def length(self, length: int) -> None:
        self.cache.length = length

    def prefill(self, ids: Tensor) -> None:
        self.cache.length = 0
        if len(ids):
            self.feed(ids, 1)

    def _append(self, ids: Tensor, keep: int, tree: TokenTree | None = None) -> Tensor:
        self.cache.reserve(self.length + len(ids))
        return super()._append(ids, keep, tree)

    def roll_back_to(self, length: int) -> None:
        self.cache.length = max(0, min(length, self.length))

    @contextmanager
    def temporarily(self, layers: int) -> Iterator[None]:
        length, partial = self.length, self.cache.partial
        self.cache.partial = True
        try:
            yield
        finally:
            self.cache.length, self.cache.partial = length, partial
