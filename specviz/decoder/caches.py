"""What a model has been fed, and how the last of it is taken back: exactly, or the model is refused.

A model's past is a cache of transformers. Keys and values are cropped. A recurrent state has no such thing: it is
copied before it moves on, and what was kept is fed once more. What neither is exact for is read again from its start.
Which way a family takes was measured (transformers 5.24, float32, against forwards without a cache), and the tests
measure it again.
"""

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import torch
from torch import Tensor
from transformers import MODEL_FOR_CAUSAL_LM_MAPPING, Cache, DynamicCache, PreTrainedConfig
from transformers.cache_utils import DummyLayer, DynamicLayer, LinearAttentionCacheLayerMixin

Forward = Callable[[Sequence[int], int, Cache | None, int], Tensor]
"""(ids, the position of the first, the cache of what is before it, keep) -> scores [keep, vocabulary] of the last."""

CONVOLUTIONS = frozenset({"lfm2", "lfm2_moe", "lfm3"})
"""Model types whose only recurrent state is the input of a short convolution, which transformers crops exactly."""
BLOCKS = frozenset(
    {
        "bamba",
        "falcon_h1",
        "granitemoehybrid",
        "mamba2",
        "olmo_hybrid",
        "qwen3_5_moe_text",
        "qwen3_5_text",
        "qwen3_next",
    }
)
"""Model types that carry a recurrent state exactly over several ids fed at once."""
STEPS = frozenset({"falcon_mamba", "jamba", "mamba"})
"""Model types that carry it over one id at a time only: their scan of several begins from an empty state."""
REFUSED = {
    "cpmant": "it reads a prompt of its own before the text",
    "gemma4_assistant": "it reads the cache of another model",
    "gemma4_unified_assistant": "it reads the cache of another model",
    "moshi": "it continues sound beside text",
    "reformer": "its attention depends on hashes drawn anew in every forward",
    "xlm": "it does not read from left to right",
    "xlnet": "it does not read from left to right",
}


class Past(Protocol):
    """The ids fed so far, as a model remembers them."""

    @property
    def length(self) -> int: ...

    @property
    def cache(self) -> Cache | None: ...

    def prefill(self, ids: Sequence[int]) -> None:
        """Begin with ``ids``, none of which is ever taken back."""
        ...

    def feed(self, ids: Sequence[int], keep: int) -> Tensor:
        """Feed ``ids`` behind the past; scores [keep, vocabulary] of the last ``keep`` of them."""
        ...

    def roll_back_to(self, length: int) -> None:
        """Take back what stands at ``length`` and behind, and settle: nothing before it is taken back any more.

        The past may end up shorter than ``length``; what it lacks is to be fed again. Raises ValueError rather
        than go wrong.
        """
        ...


class Cropped:
    """Keys and values, cut at the end. Sliding windows hold on to what leaves them until the next roll-back."""

    def __init__(self, forward: Forward, config: PreTrainedConfig) -> None:
        self._forward = forward
        self._config = config
        self._empty()

    def _empty(self) -> None:
        self.length = 0
        self.cache = DynamicCache(config=self._config)
        self.cache.activate_past_recording()

    def prefill(self, ids: Sequence[int]) -> None:
        self._empty()
        if ids:
            self.cache = DynamicCache(config=self._config)
            self.feed(ids, 1)
            self.cache.activate_past_recording()

    def feed(self, ids: Sequence[int], keep: int) -> Tensor:
        scores = self._forward(ids, self.length, self.cache, keep)
        self.length += len(ids)
        return scores

    def roll_back_to(self, length: int) -> None:
        if length <= 0:
            self._empty()
            return
        left = min(length, self.length)
        roll_back(self.cache, self.length - left)
        self.length = left


class Copied:
    """A recurrent state, copied before a block is fed; after a rejection the copy stands and the block begins earlier.

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

    def prefill(self, ids: Sequence[int]) -> None:
        self._empty()
        if ids:
            self._advance(ids, 1)

    def feed(self, ids: Sequence[int], keep: int) -> Tensor:
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
            put_back(self.cache, state)
        self._copies.clear()

    def _copy(self) -> None:
        self._copies.append((self.length, copied(self.cache)))

    def _advance(self, ids: Sequence[int], keep: int) -> Tensor:
        scores = self._forward(ids, self.length, self.cache, keep)
        self.length += len(ids)
        return scores


class Stepped(Copied):
    """A recurrent state that moves on by one id at a time, copied before each: a block of K + 1 is K + 1 forwards."""

    def feed(self, ids: Sequence[int], keep: int) -> Tensor:
        scores = []
        for token in ids:
            self._copy()
            scores.append(self._advance([token], 1))
        return torch.cat(scores[-keep:])


class Reread:
    """No cache at all: every forward reads the text from its start."""

    cache = None

    def __init__(self, forward: Forward, _: PreTrainedConfig) -> None:
        self._forward = forward
        self._ids: list[int] = []

    @property
    def length(self) -> int:
        return len(self._ids)

    def prefill(self, ids: Sequence[int]) -> None:
        self._ids = list(ids)

    def feed(self, ids: Sequence[int], keep: int) -> Tensor:
        self._ids += ids
        return self._forward(self._ids, 0, None, keep)

    def roll_back_to(self, length: int) -> None:
        del self._ids[max(0, length) :]


@dataclass(frozen=True, slots=True)
class WayBack:
    """How the past of a model is rolled back. ``name``: in a table; ``slow``: what that costs, None for nothing."""

    past: Callable[[Forward, PreTrainedConfig], Any]
    name: str
    slow: str | None = None


CROP = WayBack(Cropped, "roll-back")
COPY = WayBack(
    Copied,
    "copies",
    "it keeps a recurrent state that cannot be rolled back, so the state is copied before every block "
    "and accepted tokens are fed a second time",
)
STEP = WayBack(
    Stepped,
    "copies, one id at a time",
    "it keeps a recurrent state that moves on by one token at a time, so verifying a block takes K + 1 forwards",
)
REREAD = WayBack(
    Reread, "read again", "its cache cannot be rolled back exactly, so every forward reads the text from its start"
)


def way_back(config: Any, model_class: Any = None) -> WayBack:
    """The way for a config that ``why_refused`` lets through; ``model_class``: what runs it, where that is known."""
    if not _takes_a_cache(config, model_class):
        return REREAD
    layers = DynamicCache(config=config).layers
    kind = config.get_text_config(decoder=True).model_type
    if kind in CONVOLUTIONS or all(map(_crops, layers)):
        return CROP
    return COPY if kind in BLOCKS else STEP if kind in STEPS else REREAD


def why_refused(config: Any) -> str | None:
    """Why no way back is exact for a model of this config; None if one is."""
    if reason := REFUSED.get(config.get_text_config(decoder=True).model_type):
        return reason
    try:
        way_back(config)
    except Exception:  # each config fails in a way of its own
        return "transformers makes no cache from its configuration"
    return None


def no_way_back(role: str, name: str, config: Any, reason: str) -> str:
    """The refusal in a sentence or two."""
    return (
        f"--{role} {name} ({config.model_type}) cannot be used: {reason}, so rejected drafts could not be taken back "
        "exactly. Choose a language model of another family."
    )


def slow_path(role: str, name: str, config: Any, cost: str) -> str:
    """The note about a model whose way back costs time."""
    return f"slow path: --{role} {name} ({config.model_type}) is exact but slow: {cost}"


def _crops(layer: Any) -> bool:
    known = isinstance(layer, DynamicLayer | DummyLayer) and not isinstance(layer, LinearAttentionCacheLayerMixin)
    return known and bool(layer.is_croppable)


def _takes_a_cache(config: Any, model_class: Any) -> bool:
    model = model_class or MODEL_FOR_CAUSAL_LM_MAPPING.get(type(config), None)
    return model is None or "cache" in inspect.signature(model.forward).parameters


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


def copied(cache: Cache) -> State:
    """The state of ``cache``: recurrent states, which forwards write in place, as copies; keys and values as they are,
    since forwards put new ones in their stead."""
    return [{name: _copied(value) for name, value in vars(layer).items()} for layer in cache.layers]


def put_back(cache: Cache, state: State) -> None:
    """Make ``cache`` what it was; ``state`` is used up by it."""
    for layer, held in zip(cache.layers, state, strict=True):
        vars(layer).update(held)


def _copied(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    return {key: entry.clone() if isinstance(entry, Tensor) else entry for key, entry in value.items()}
