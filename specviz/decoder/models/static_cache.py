"""Keys and values at fixed places: buffers that are there before they are needed, and a length that says what counts.

What stands at the length and behind it is rubbish until it is written again, so a roll-back is a smaller number on the
host, and feeding an id again where it stands already changes nothing.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor
from transformers import Cache
from transformers.cache_utils import CacheLayerMixin

from specviz.decoder.models.rollback import Forward

SMALLEST = 1024
"""Places of new buffers; ever twice as many once they do not suffice."""


class StaticKVLayer(CacheLayerMixin):  # type: ignore[misc]
    """One layer: ``keys`` and ``values`` [1, heads, places, width], made when the first ones come."""

    is_sliding = False

    def __init__(self, whole: "StaticKVCache") -> None:
        super().__init__()
        self._whole = whole

    def lazy_initialization(self, key_states: Tensor, value_states: Tensor) -> None:
        self.keys, self.values = (self._buffer(states) for states in (key_states, value_states))
        self.is_initialized = True

    def update(self, key_states: Tensor, value_states: Tensor, *_: Any, **__: Any) -> tuple[Tensor, Tensor]:
        """Write them behind the whole cache's length; all keys and values up to them."""
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
        """As many places as the whole cache has now, what was written staying where it is."""
        if self.is_initialized:
            self.keys, self.values = self._larger(self.keys), self._larger(self.values)

    def _larger(self, old: Tensor) -> Tensor:
        new = self._buffer(old)
        new[:, :, : old.shape[-2]] = old
        return new

    def _buffer(self, like: Tensor) -> Tensor:
        batch, heads, _, width = like.shape
        buffer = like.new_zeros(batch, heads, self._whole.places, width)
        if buffer.device.type == "cuda":  # a CUDA graph reads and writes it where it is
            torch._dynamo.mark_static_address(buffer, guard=False)
        return buffer


class StaticKVCache(Cache):  # type: ignore[misc]
    """``length``: so many positions count; who feeds moves it on. ``partial``: only the first layers are at work."""

    def __init__(self, layers: int) -> None:
        super().__init__(layers=[StaticKVLayer(self) for _ in range(layers)])
        self.length = 0
        self.places = SMALLEST
        self.partial = False

    def empty_copy(self) -> "StaticKVCache":
        """An empty one with buffers of the same sizes."""
        other = StaticKVCache(len(self.layers))
        other.places = self.places
        for layer, here in zip(other.layers, self.layers, strict=True):
            if here.is_initialized:
                layer.lazy_initialization(here.keys, here.values)
        return other

    def reserve(self, places: int) -> None:
        """Make room for so many positions."""
        if places > self.places:
            while places > self.places:
                self.places *= 2
            for layer in self.layers:
                layer.grow()

    @property
    def buffers(self) -> list[Tensor]:
        """Keys and values of layer after layer."""
        return [states for layer in self.layers for states in (layer.keys, layer.values)]


class StaticState:
    """Implements KVState on a cache that outlives it."""

    def __init__(self, forward: Forward, cache: StaticKVCache) -> None:
        self._forward = forward
        self.cache = cache
        cache.length = 0

    @property
    def length(self) -> int:
        return self.cache.length

    def prefill(self, ids: Tensor) -> None:
        self.cache.length = 0
        if len(ids):
            self.feed(ids, 1)

    def feed(self, ids: Tensor, keep: int) -> Tensor:
        self.cache.reserve(self.length + len(ids))
        logits = self._forward(ids, self.length, self.cache, keep)
        self.cache.length += len(ids)
        return logits

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
