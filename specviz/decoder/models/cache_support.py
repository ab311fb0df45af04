"""How the cache of a model is rolled back: the fastest method that is exact for its family, or none.

Measured with transformers 5.24 in float32 against forwards without a cache; the tests measure it again. Keys and values
can be cropped exactly, under sliding windows and with eager and fused attention too, as long as the cache records what
leaves a window until the next crop. Recurrent states cannot.
"""

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from transformers import MODEL_FOR_CAUSAL_LM_MAPPING, DynamicCache, PreTrainedConfig
from transformers.cache_utils import DummyLayer, DynamicLayer, DynamicSlidingWindowLayer, LinearAttentionCacheLayerMixin

from specviz.decoder.models.rollback import CropState, Forward, KVState, RecomputeState, SnapshotState, StepwiseState

CONVOLUTION_TYPES = frozenset({"lfm2", "lfm2_moe", "lfm3"})
"""Model types whose only recurrent state is the input of a short convolution, which transformers crops exactly."""
BLOCK_TYPES = frozenset(
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
"""Model types whose recurrent state is exact after a block of several ids."""
SINGLE_STEP_TYPES = frozenset({"falcon_mamba", "jamba", "mamba"})
"""Model types whose recurrent state is exact after single ids only: a scan of several starts from an empty state."""
UNSUPPORTED = {
    "cpmant": "it reads its own prompt before the text",
    "gemma4_assistant": "it reads the cache of another model",
    "gemma4_unified_assistant": "it reads the cache of another model",
    "moshi": "it continues audio together with text",
    "reformer": "its attention depends on hashes drawn at random in every forward, so no forward can be repeated",
    "xlm": "it does not read from left to right",
    "xlnet": "it does not read from left to right",
}
MASKED_KERNELS = frozenset({"eager", "sdpa"})
"""Attention implementations that take a separate mask for each token."""


@dataclass(frozen=True, slots=True)
class RollbackMethod:
    """How a model is rolled back. ``name``: in tables; ``slow``: what it costs, None for nothing."""

    state: Callable[[Forward, PreTrainedConfig], KVState]
    name: str
    slow: str | None = None


CROP = RollbackMethod(CropState, "crop")
SNAPSHOT = RollbackMethod(
    SnapshotState,
    "snapshot",
    "it keeps a recurrent state that cannot be rolled back, so the state is copied before every block "
    "and accepted tokens are fed a second time",
)
STEPWISE = RollbackMethod(
    StepwiseState,
    "snapshot, one token at a time",
    "it keeps a recurrent state that advances one token at a time, so verifying a block takes K + 1 forwards",
)
RECOMPUTE = RollbackMethod(
    RecomputeState,
    "recompute",
    "its cache cannot be rolled back exactly, so every forward reads the text from its start",
)


def rollback_method(config: Any, model_class: Any = None) -> RollbackMethod:
    """The method for a config without an ``unsupported_reason``; ``model_class``: the class that runs it, if known."""
    if not _accepts("cache", config, model_class):
        return RECOMPUTE
    if all(map(_crops, DynamicCache(config=config).layers)):
        return CROP
    if model_class is not None and not model_class.__module__.startswith("transformers."):
        return RECOMPUTE  # the tables above hold for the code of transformers only
    kind = config.get_text_config(decoder=True).model_type
    if kind in CONVOLUTION_TYPES:
        return CROP
    return SNAPSHOT if kind in BLOCK_TYPES else STEPWISE if kind in SINGLE_STEP_TYPES else RECOMPUTE


def unsupported_reason(config: Any) -> str | None:
    """Why no rollback is exact for a model of this config; None if one is."""
    if reason := UNSUPPORTED.get(config.get_text_config(decoder=True).model_type):
        return reason
    try:
        rollback_method(config)
    except Exception:  # whatever a config may raise
        return "transformers makes no cache from its configuration, so rejected drafts cannot be rolled back"
    return None


def tree_unsupported_reason(config: Any, model_class: Any = None) -> str | None:
    """Why a model cannot be fed a tree of tokens and keep a path of it; None if it can."""
    if rollback_method(config, model_class) is not CROP:
        return "its cache cannot be cropped"
    plain = DynamicLayer, DynamicSlidingWindowLayer
    if any(type(layer) not in plain for layer in DynamicCache(config=config).layers):
        return "its cache holds more than keys and values"
    if not (_accepts("position_ids", config, model_class) and _accepts("attention_mask", config, model_class)):
        return "it takes no position ids"
    kernel = getattr(config, "_attn_implementation", None)
    return None if kernel in MASKED_KERNELS else f"its attention ({kernel}) takes no mask for each token"


def longrope_limit(config: Any) -> int | None:
    """The length up to which a LongRoPE model encodes positions one way and beyond it another; None for other models.
    What was cached within the limit is wrong beyond it, so a text must not cross it."""
    text_config = config.get_text_config(decoder=True)
    rope = getattr(text_config, "rope_parameters", None) or {}
    if rope.get("rope_type") != "longrope":
        return None
    limit = rope.get("original_max_position_embeddings") or getattr(
        text_config, "original_max_position_embeddings", None
    )
    return int(limit) if limit and limit < text_config.max_position_embeddings else None


def unsupported_message(role: str, name: str, config: Any, reason: str) -> str:
    return f"--{role} {name} ({config.model_type}) cannot be used: {reason}. Choose a language model of another family."


def slow_path(role: str, name: str, config: Any, cost: str) -> str:
    """The note about a model whose rollback costs time."""
    return f"slow path: --{role} {name} ({config.model_type}) is exact but slow: {cost}"


def _crops(layer: Any) -> bool:
    known = isinstance(layer, DynamicLayer | DummyLayer) and not isinstance(layer, LinearAttentionCacheLayerMixin)
    return known and bool(layer.is_croppable)


def _accepts(argument: str, config: Any, model_class: Any) -> bool:
    """Whether the model's forward has ``argument``; True where its class is unknown."""
    model = model_class or MODEL_FOR_CAUSAL_LM_MAPPING.get(type(config), None)
    return model is None or argument in inspect.signature(model.forward).parameters
