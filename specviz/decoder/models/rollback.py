"""What a model has been fed, and how the last of it is rolled back.

The state of a model is a cache of transformers. Keys and values are cropped. A recurrent state cannot be cropped: it is
copied before each block, restored after a rejection, and the accepted tokens are fed again. A model for which neither
is exact runs without a cache and recomputes the text in every forward.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any, Protocol

import torch
from torch import Tensor
from transformers import Cache, DynamicCache, PreTrainedConfig

from specviz.decoder.models.token_tree import TokenTree, keep_rows


class Forward(Protocol):
    """One forward of a model."""

    def __call__(
        self, ids: Tensor, start: int, cache: Cache | None, keep: int, tree: TokenTree | None = None
    ) -> Tensor:
        """Logits [keep, vocab_size] of the last ``keep`` of ``ids`` [n], which begin at position ``start``. ``cache``
        holds the positions before. ``tree``: how the ids follow one another, None for a chain."""


class KVState(ABC):
    """The tokens fed so far, as a model remembers them. ``cache``: None where every forward reads the whole text."""

    length: int
    cache: Cache | None

    @abstractmethod
    def prefill(self, ids: Tensor) -> None:
        """Start a text with ``ids``, which are never rolled back."""

    @abstractmethod
    def feed(self, ids: Tensor, keep: int) -> Tensor:
        """Append ``ids``; logits [keep, vocab_size] of the last ``keep`` of them."""

    def feed_tree(self, ids: Tensor, tree: TokenTree) -> Tensor:
        """Append ``ids`` as a tree; logits [n, vocab_size] of all of them. Call ``keep_path`` or ``roll_back_to`` next.
        Raises ValueError where that is not exact."""
        raise ValueError(f"{type(self).__name__} cannot be fed a tree")

    @abstractmethod
    def roll_back_to(self, length: int) -> None:
        """Drop the positions from ``length`` on; the ones before are not rolled back later. The state may end up
        shorter than ``length``; feed the missing tokens again. Raises ValueError where it cannot be restored exactly.
        """

    def keep_path(self, start: int, nodes: Sequence[int]) -> None:
        """Keep only ``nodes``, a path from a root, of the tree fed at position ``start``; see ``roll_back_to``."""
        raise ValueError(f"{type(self).__name__} cannot keep a path of a tree")

    @abstractmethod
    def temporarily(self, layers: int) -> AbstractContextManager[None]:
        """What is fed inside, through no more than the first ``layers`` layers, is forgotten at the end."""


class TreeState(KVState):
    """Keys and values, which can be fed a tree and keep a path of it."""

    cache: Cache
    _forward: Forward

    def feed(self, ids: Tensor, keep: int) -> Tensor:
        return self._append(ids, keep)

    def feed_tree(self, ids: Tensor, tree: TokenTree) -> Tensor:
        return self._append(ids, len(ids), tree)

    def keep_path(self, start: int, nodes: Sequence[int]) -> None:
        keep_rows(self.cache, start, nodes)
        self.roll_back_to(start + len(nodes))

    def _append(self, ids: Tensor, keep: int, tree: TokenTree | None = None) -> Tensor:
        logits = self._forward(ids, self.length, self.cache, keep, tree)
        self.length += len(ids)
        return logits


class CropState(TreeState):
    """Keys and values, cropped at the end. Sliding windows keep what leaves them until the next rollback."""

    def __init__(self, forward: Forward, config: PreTrainedConfig) -> None:
        self._forward = forward
        self._config = config
        self._clear()

    def _clear(self) -> None:
        self.length = 0
        self.cache = DynamicCache(config=self._config)
        self.cache.activate_past_recording()

    def prefill(self, ids: Tensor) -> None:
        self._clear()
        if len(ids):
            self.cache = DynamicCache(config=self._config)
            self.feed(ids, 1)
            self.cache.activate_past_recording()

    def feed_tree(self, ids: Tensor, tree: TokenTree) -> Tensor:
        window = min((layer.sliding_window for layer in self.cache.layers if layer.is_sliding), default=None)
        if window is not None and self.length + len(ids) > window:
            raise ValueError(f"a tree of {len(ids)} tokens after {self.length} leaves a sliding window of {window}")
        return super().feed_tree(ids, tree)

    def roll_back_to(self, length: int) -> None:
        if length <= 0:
            self._clear()
            return
        kept = min(length, self.length)
        roll_back(self.cache, self.length - kept)
        self.length = kept

    @contextmanager
    def temporarily(self, layers: int) -> Iterator[None]:
        length, saved = self.length, snapshot(self.cache, layers)
        try:
            yield
        finally:
            restore(self.cache, saved)
            self.length = length


class SnapshotState(KVState):
    """A recurrent state, copied before each block; after a rejection the copy is restored and ids are fed again. Ids
    before the last ``keep`` of a feed are never rolled back, so they are fed first, ahead of the copy."""

    def __init__(self, forward: Forward, config: PreTrainedConfig) -> None:
        self._forward = forward
        self._config = config
        self._clear()

    def _clear(self) -> None:
        self.length = 0
        self.cache = DynamicCache(config=self._config)
        self._snapshots: list[tuple[int, Snapshot]] = []

    def prefill(self, ids: Tensor) -> None:
        self._clear()
        if len(ids):
            self._advance(ids, 1)

    def feed(self, ids: Tensor, keep: int) -> Tensor:
        if len(ids) > keep:
            self._take_snapshot()
            self._advance(ids[:-keep], 1)
        self._take_snapshot()
        return self._advance(ids[-keep:], keep)

    def roll_back_to(self, length: int) -> None:
        if length < self.length:
            while self._snapshots and self._snapshots[-1][0] > length:
                self._snapshots.pop()
            if not self._snapshots:
                raise ValueError(f"no snapshot of the state at {length} positions or before")
            self.length, saved = self._snapshots[-1]
            restore(self.cache, saved)
        self._snapshots.clear()

    @contextmanager
    def temporarily(self, layers: int) -> Iterator[None]:
        length, saved, snapshots = self.length, snapshot(self.cache, layers), self._snapshots
        self._snapshots = []
        try:
            yield
        finally:
            restore(self.cache, saved)
            self.length, self._snapshots = length, snapshots

    def _take_snapshot(self) -> None:
        self._snapshots.append((self.length, snapshot(self.cache)))

    def _advance(self, ids: Tensor, keep: int) -> Tensor:
        logits = self._forward(ids, self.length, self.cache, keep)
        self.length += len(ids)
        return logits


class StepwiseState(SnapshotState):
    """A recurrent state that advances one id at a time, copied before each: K + 1 ids take K + 1 forwards."""

    def feed(self, ids: Tensor, keep: int) -> Tensor:
        logits = []
        for token in torch.split(ids, 1):
            self._take_snapshot()
            logits.append(self._advance(token, 1))
        return torch.cat(logits[-keep:])


class RecomputeState(KVState):
    """No cache: every forward reads the text from its start."""

    cache = None

    def __init__(self, forward: Forward, _: PreTrainedConfig) -> None:
        self._forward = forward
        self._ids = torch.empty(0, dtype=torch.long)

    @property
    def length(self) -> int:  # type: ignore[override]
        return len(self._ids)

    def prefill(self, ids: Tensor) -> None:
        self._ids = ids

    def feed(self, ids: Tensor, keep: int) -> Tensor:
        self._ids = torch.cat([self._ids.to(ids.device), ids])
        return self._forward(self._ids, 0, None, keep)

    def roll_back_to(self, length: int) -> None:
        self._ids = self._ids[: max(0, length)]

    @contextmanager
    def temporarily(self, layers: int) -> Iterator[None]:
        ids = self._ids
        try:
            yield
        finally:
            self._ids = ids


def roll_back(cache: Cache, remove: int) -> None:
    """Drop the last ``remove`` positions of ``cache``; even with 0, sliding windows drop what has left them. Raises
    ValueError where ``cache`` holds fewer positions or cannot be rolled back exactly (a static sliding window already
    passed, a recurrent state)."""
    length = int(cache.get_seq_length())
    if not 0 <= remove <= length:
        raise ValueError(f"cannot remove {remove} of {length} cached positions")
    if not length:
        return
    if not cache.is_croppable:
        raise ValueError(f"{type(cache).__name__} cannot be rolled back")
    cache.crop(-remove)
    left = int(cache.get_seq_length())
    if left != length - remove:
        raise ValueError(f"the cache holds {left} positions after a rollback to {length - remove}")


Snapshot = list[dict[str, Any]]
"""The attributes of each layer of a cache."""


def snapshot(cache: Cache, layers: int | None = None) -> Snapshot:
    """The first ``layers`` of ``cache``, all by default. Recurrent states are copied, since forwards overwrite them;
    keys and values are not, since forwards replace them."""
    return [{name: _copied(value) for name, value in vars(layer).items()} for layer in cache.layers[:layers]]


def restore(cache: Cache, saved: Snapshot) -> None:
    """Put the layers in ``saved`` back into ``cache``; ``saved`` cannot be used again."""
    for layer, attributes in zip(cache.layers, saved, strict=False):
        vars(layer).update(attributes)


def _copied(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    return {key: entry.clone() if isinstance(entry, Tensor) else entry for key, entry in value.items()}
