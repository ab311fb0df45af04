"""Which way back a family of models takes: the fastest that is exact, or none.

Measured with transformers 5.24 in float32, against forwards without a cache; the tests measure it again. Keys and
values come back exactly by cropping, also under sliding windows, with eager and fused attention alike, as long as the
cache records what leaves a window until the next crop. Recurrent states do not.
"""

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from transformers import MODEL_FOR_CAUSAL_LM_MAPPING, DynamicCache, PreTrainedConfig
from transformers.cache_utils import DummyLayer, DynamicLayer, LinearAttentionCacheLayerMixin

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
"""Model types that carry a recurrent state exactly over several ids fed at once."""
SINGLE_STEP_TYPES = frozenset({"falcon_mamba", "jamba", "mamba"})
"""Model types that carry it over one id at a time only: their scan of several begins from an empty state."""
UNSUPPORTED = {
    "cpmant": "it reads a prompt of its own before the text",
    "gemma4_assistant": "it reads the cache of another model",
    "gemma4_unified_assistant": "it reads the cache of another model",
    "moshi": "it continues sound beside text",
    "reformer": "its attention depends on hashes drawn anew in every forward, so no forward can be repeated exactly",
    "xlm": "it does not read from left to right",
    "xlnet": "it does not read from left to right",
}


@dataclass(frozen=True, slots=True)
class RollbackMethod:
    """How the state of a model is rolled back. ``name``: in a table; ``slow``: what that costs, None for nothing."""

    state: Callable[[Forward, PreTrainedConfig], KVState]
    name: str
    slow: str | None = None


CROP = RollbackMethod(CropState, "roll-back")
SNAPSHOT = RollbackMethod(
    SnapshotState,
    "copies",
    "it keeps a recurrent state that cannot be rolled back, so the state is copied before every block "
    "and accepted tokens are fed a second time",
)
STEPWISE = RollbackMethod(
    StepwiseState,
    "copies, one id at a time",
    "it keeps a recurrent state that moves on by one token at a time, so verifying a block takes K + 1 forwards",
)
RECOMPUTE = RollbackMethod(
    RecomputeState,
    "read again",
    "its cache cannot be rolled back exactly, so every forward reads the text from its start",
)


def rollback_method(config: Any, model_class: Any = None) -> RollbackMethod:
    """The method for a config without an ``unsupported_reason``; ``model_class``: what runs it, where known."""
    if not _takes_a_cache(config, model_class):
        return RECOMPUTE
    if all(map(_crops, DynamicCache(config=config).layers)):
        return CROP
    if model_class is not None and not model_class.__module__.startswith("transformers."):
        return RECOMPUTE  # the tables speak of what was measured
    kind = config.get_text_config(decoder=True).model_type
    return (
        CROP
        if kind in CONVOLUTION_TYPES
        else SNAPSHOT
        if kind in BLOCK_TYPES
        else STEPWISE
        if kind in SINGLE_STEP_TYPES
        else RECOMPUTE
    )


def unsupported_reason(config: Any) -> str | None:
    """Why no way back is exact for a model of this config; None if one is."""
    if reason := UNSUPPORTED.get(config.get_text_config(decoder=True).model_type):
        return reason
    try:
        rollback_method(config)
    except Exception:  # each config fails in a way of its own
        return "transformers makes no cache from its configuration, so rejected drafts cannot be taken back"
    return None


def longrope_limit(config: Any) -> int | None:
    """Up to how many positions a model turns them one way, and all of them another way beyond (LongRoPE).

    What was cached before the edge is wrong behind it, so no text may pass it.
    """
    text_config = config.get_text_config(decoder=True)
    rope = getattr(text_config, "rope_parameters", None) or {}
    if rope.get("rope_type") != "longrope":
        return None
    edge = rope.get("original_max_position_embeddings") or getattr(
        text_config, "original_max_position_embeddings", None
    )
    return int(edge) if edge and edge < text_config.max_position_embeddings else None


def unsupported_message(role: str, name: str, config: Any, reason: str) -> str:
    """The refusal in two sentences."""
    return f"--{role} {name} ({config.model_type}) cannot be used: {reason}. Choose a language model of another family."


def slow_path(role: str, name: str, config: Any, cost: str) -> str:
    """The note about a model whose way back costs time."""
    return f"slow path: --{role} {name} ({config.model_type}) is exact but slow: {cost}"


def _crops(layer: Any) -> bool:
    known = isinstance(layer, DynamicLayer | DummyLayer) and not isinstance(layer, LinearAttentionCacheLayerMixin)
    return known and bool(layer.is_croppable)


def _takes_a_cache(config: Any, model_class: Any) -> bool:
    model = model_class or MODEL_FOR_CAUSAL_LM_MAPPING.get(type(config), None)
    return model is None or "cache" in inspect.signature(model.forward).parameters
