"""Rolling back a transformers cache, exactly or not at all."""

import inspect
from typing import Any

from transformers import MODEL_FOR_CAUSAL_LM_MAPPING, Cache, DynamicCache, PreTrainedConfig

RECURRENT = frozenset({"rwkv", "lfm2", "lfm2_moe", "xlstm", "minimax"})
"""Model types that keep a recurrent state outside the cache's own account of it."""


def roll_back(cache: Cache, remove: int) -> None:
    """Drop the last ``remove`` positions of ``cache``.

    Raises ValueError where that many are not there, or where the cache cannot come back exactly
    (a sliding window already passed, a recurrent state).
    """
    length = int(cache.get_seq_length())
    if not 0 <= remove <= length:
        raise ValueError(f"cannot remove {remove} of {length} cached positions")
    if remove == 0:
        return
    if not cache.is_croppable:
        raise ValueError(f"{type(cache).__name__} cannot be rolled back")
    cache.crop(-remove)
    left = int(cache.get_seq_length())
    if left != length - remove:
        raise ValueError(f"the cache holds {left} positions after a roll-back to {length - remove}")


def new_cache(config: PreTrainedConfig) -> Cache:
    return DynamicCache(config=config)


def why_not_croppable(config: Any) -> str | None:
    """Why a model of this config cannot be rolled back exactly by this decoder; None if it can."""
    text_config = config.get_text_config(decoder=True)
    if text_config.model_type in RECURRENT:
        return "it keeps a recurrent state, which cannot be rolled back"
    if not _takes_a_cache(config):
        return "it has no cache that can be rolled back"
    try:
        layers = new_cache(config).layers
    except Exception:  # each config fails in a way of its own
        return "transformers makes no cache from its configuration"
    if not all(layer.is_croppable for layer in layers):
        return "it keeps a recurrent state, which cannot be rolled back"
    if any(getattr(layer, "is_sliding", False) for layer in layers):
        return f"it uses sliding-window attention (window {getattr(text_config, 'sliding_window', '?')})"
    return None


def _takes_a_cache(config: Any) -> bool:
    model = MODEL_FOR_CAUSAL_LM_MAPPING.get(type(config), None)
    return model is None or "cache" in inspect.signature(model.forward).parameters
