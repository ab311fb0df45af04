"""What a model has been fed, and how the last of it is taken back.

A model's past is a cache of transformers. Keys and values are cropped. A recurrent state has no such thing: it is
snapshot before it moves on, and what was kept is fed once more. What neither is exact for is read again from its start.
"""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any, Protocol

import torch
from torch import Tensor
from transformers import Cache, DynamicCache, PreTrainedConfig

Forward = Callable[[Tensor, int, Cache | None, int], Tensor]
"""(ids [n], position of the first, cache of what is before it, keep) -> logits [keep, vocabulary] of the last."""


class KVState(Protocol):
    """The ids fed so far, as a model remembers them."""

    @property
    def length(self) -> int: ...

    @property
    def cache(self) -> Cache | None: ...

    def prefill(self, ids: Tensor) -> None:
        """Begin with ``ids``, none of which is ever taken back."""
        ...

    def feed(self, ids: Tensor, keep: int) -> Tensor:
        """Feed ``ids`` behind the past; logits [keep, vocabulary] of the last ``keep`` of them."""
        ...

    def roll_back_to(self, length: int) -> None:
        """Take back what stands at ``length`` and behind, and settle: nothing before it is taken back any more.

        The past may end up shorter than ``length``; what it lacks is to be fed again. Raises ValueError rather
        than go wrong.
        """
        ...

    def temporarily(self, layers: int) -> AbstractContextManager[None]:
        """What is fed inside is forgotten at its end. It may go through the first ``layers`` of the model only."""
        ...


class CropState:
    """Keys and values, cut at the end. Sliding windows hold on to what leaves them until the next roll-back."""

    def __init__(self, forward: Forward, config: PreTrainedConfig) -> None:
        self._forward = forward
        self._config = config
        self._empty()

    def _empty(self) -> None:
        self.length = 0
        self.cache = DynamicCache(config=self._config)
        self.cache.activate_past_recording()

    def prefill(self, ids: Tensor) -> None:
        self._empty()
        if len(ids):
            self.cache = DynamicCache(config=self._config)
            self.feed(ids, 1)
            self.cache.activate_past_recording()

    def feed(self, ids: Tensor, keep: int) -> Tensor:
        logits = self._forward(ids, self.length, self.cache, keep)
        self.length += len(ids)
        return logits

    def roll_back_to(self, length: int) -> None:
        if length <= 0:
            self._empty()
            return
        left = min(length, self.length)
        roll_back(self.cache, self.length - left)
        self.length = left

    @contextmanager
    def temporarily(self, layers: int) -> Iterator[None]:
        length, state = self.length, snapshot(self.cache, layers)
        try:
            yield
        finally:
            restore(self.cache, state)
            self.length = length


class SnapshotState:
    """A recurrent state, copied before each block; after a rejection the copy is restored and the ids are fed again.

    Ids before the last ``keep`` of a feed are known to stay, so they are fed on their own, ahead of the copy.
    """

    def __init__(self, forward: Forward, config: PreTrainedConfig) -> None:
        self._forward = forward
        self._config = config
        self._empty()

    def _empty(self) -> None:
        self.length = 0
        self.cache = DynamicCache(config=self._config)
        self._copies: list[tuple[int, State]] = []

    def prefill(self, ids: Tensor) -> None:
        self._empty()
        if len(ids):
            self._advance(ids, 1)

    def feed(self, ids: Tensor, keep: int) -> Tensor:
        if len(ids) > keep:
            self._copy()
            self._advance(ids[:-keep], 1)
        self._copy()
        return self._advance(ids[-keep:], keep)

    def roll_back_to(self, length: int) -> None:
        if length < self.length:
            while self._copies and self._copies[-1][0] > length:
                self._copies.pop()
            if not self._copies:
                raise ValueError(f"no copy of the state at {length} positions or before")
            self.length, state = self._copies[-1]
            restore(self.cache, state)
        self._copies.clear()

    @contextmanager
    def temporarily(self, layers: int) -> Iterator[None]:
        length, state, copies = self.length, snapshot(self.cache, layers), self._copies
        self._copies = []
        try:
            yield
        finally:
            restore(self.cache, state)
            self.length, self._copies = length, copies

    def _copy(self) -> None:
        self._copies.append((self.length, snapshot(self.cache)))

    def _advance(self, ids: Tensor, keep: int) -> Tensor:
        logits = self._forward(ids, self.length, self.cache, keep)
        self.length += len(ids)
        return logits


class StepwiseState(SnapshotState):
    """A recurrent state that moves on by one id at a time, snapshot before each: a block of K + 1 is K + 1 forwards."""

    def feed(self, ids: Tensor, keep: int) -> Tensor:
        logits = []
        for token in torch.split(ids, 1):
            self._copy()
            logits.append(self._advance(token, 1))
        return torch.cat(logits[-keep:])


class RecomputeState:
    """No cache at all: every forward reads the text from its start."""

    cache = None

    def __init__(self, forward: Forward, _: PreTrainedConfig) -> None:
        self._forward = forward
        self._ids = torch.empty(0, dtype=torch.long)

    @property
    def length(self) -> int:
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
    """Drop the last ``remove`` positions of ``cache``; with 0 sliding windows let go of what has left them.

    Raises ValueError where that many are not there, or where the cache cannot come back exactly
    (a static sliding window already passed, a recurrent state).
    """
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
        raise ValueError(f"the cache holds {left} positions after a roll-back to {length - remove}")


State = list[dict[str, Any]]
"""What each layer of a cache held."""


def snapshot(cache: Cache, layers: int | None = None) -> State:
    """The state of the first ``layers`` of ``cache``, all of them by default: recurrent states, which forwards write in
    place, as copies; keys and values as they are, since forwards put new ones in their stead."""
    return [{name: _copied(value) for name, value in vars(layer).items()} for layer in cache.layers[:layers]]


def restore(cache: Cache, state: State) -> None:
    """Make the layers of ``cache`` that ``state`` is of what they were; ``state`` is used up by it."""
    for layer, held in zip(cache.layers, state, strict=False):
        vars(layer).update(held)


def _copied(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    return {key: entry.clone() if isinstance(entry, Tensor) else entry for key, entry in value.items()}
