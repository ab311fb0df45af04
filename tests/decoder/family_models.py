"""A tiny random model of each family, and how the decoder is to take it back."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
import transformers
from transformers import AutoModelForCausalLM, PreTrainedModel

from specviz.decoder.models import cache_support
from specviz.decoder.models.cache_support import RollbackMethod

VOCAB = 48
WINDOW = 8
SPREAD = 0.3
NO_IDS: dict[str, Any] = {"bos_token_id": None, "eos_token_id": None, "pad_token_id": None}
BLOCK: dict[str, Any] = {
    "hidden_size": 16,
    "intermediate_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "num_key_value_heads": 1,
}
MAMBA2: dict[str, Any] = {
    "mamba_n_heads": 4,
    "mamba_d_head": 8,
    "mamba_d_state": 8,
    "mamba_n_groups": 1,
    "mamba_chunk_size": 8,
}
DELTA: dict[str, Any] = {
    "linear_num_key_heads": 2,
    "linear_num_value_heads": 2,
    "linear_key_head_dim": 8,
    "linear_value_head_dim": 8,
    "layer_types": ["linear_attention", "full_attention"],
}


@dataclass(frozen=True)
class Family:
    """``config``: the name of its class; ``kernels``: the kinds of attention it has."""

    config: str
    shape: dict[str, Any]
    way: RollbackMethod = cache_support.CROP
    kernels: tuple[str, ...] = ("eager", "sdpa")


FAMILIES: dict[str, Family] = {
    "GPT-2": Family("GPT2Config", {"n_embd": 16, "n_layer": 2, "n_head": 2, "n_positions": 64}),
    "GPT-NeoX": Family("GPTNeoXConfig", BLOCK),
    "OPT": Family(
        "OPTConfig",
        {
            "hidden_size": 16,
            "word_embed_proj_dim": 16,
            "ffn_dim": 32,
            "num_hidden_layers": 2,
            "num_attention_heads": 2,
            "max_position_embeddings": 64,
        },
    ),
    "BLOOM": Family("BloomConfig", {"hidden_size": 16, "n_layer": 2, "n_head": 2}, kernels=("eager",)),
    "Llama": Family("LlamaConfig", BLOCK),
    "Qwen2": Family("Qwen2Config", BLOCK),
    "Qwen2, a window in its last layer": Family(
        "Qwen2Config", {**BLOCK, "use_sliding_window": True, "sliding_window": WINDOW, "max_window_layers": 1}
    ),
    "Qwen3": Family("Qwen3Config", {**BLOCK, "head_dim": 8}),
    "Phi-3": Family("Phi3Config", BLOCK),
    "Mistral, windows": Family("MistralConfig", {**BLOCK, "sliding_window": WINDOW}),
    "Gemma 3, mixed windows": Family(
        "Gemma3TextConfig",
        {**BLOCK, "head_dim": 8, "sliding_window": WINDOW, "layer_types": ["sliding_attention", "full_attention"]},
    ),
    "LFM2": Family("Lfm2Config", {**BLOCK, "layer_types": ["conv", "full_attention"], "block_multiple_of": 8}),
    "Mamba": Family(
        "MambaConfig", {"hidden_size": 16, "num_hidden_layers": 2, "state_size": 8}, cache_support.STEPWISE, ("eager",)
    ),
    "Mamba 2": Family(
        "Mamba2Config",
        {
            "hidden_size": 16,
            "num_hidden_layers": 2,
            "state_size": 8,
            "head_dim": 8,
            "num_heads": 4,
            "n_groups": 1,
            "chunk_size": 8,
        },
        cache_support.SNAPSHOT,
        ("eager",),
    ),
    "Jamba": Family(
        "JambaConfig",
        {
            **BLOCK,
            "attn_layer_period": 2,
            "attn_layer_offset": 1,
            "expert_layer_period": 2,
            "expert_layer_offset": 1,
            "num_experts": 2,
            "num_experts_per_tok": 1,
            "mamba_d_state": 8,
            "mamba_dt_rank": 4,
        },
        cache_support.STEPWISE,
    ),
    "Bamba": Family("BambaConfig", {**BLOCK, **MAMBA2, "attn_layer_indices": [1]}, cache_support.SNAPSHOT),
    "Falcon-H1": Family(
        "FalconH1Config", {**BLOCK, **MAMBA2, "mamba_d_ssm": 32, "head_dim": 8}, cache_support.SNAPSHOT, ("sdpa",)
    ),
    "Granite 4": Family(
        "GraniteMoeHybridConfig",
        {
            **BLOCK,
            **MAMBA2,
            "layer_types": ["mamba", "attention"],
            "num_local_experts": 2,
            "num_experts_per_tok": 1,
            "shared_intermediate_size": 16,
        },
        cache_support.SNAPSHOT,
        ("sdpa",),
    ),
    "Qwen3-Next": Family(
        "Qwen3NextConfig",
        {
            **BLOCK,
            **DELTA,
            "head_dim": 8,
            "num_experts": 2,
            "num_experts_per_tok": 1,
            "moe_intermediate_size": 16,
            "shared_expert_intermediate_size": 16,
        },
        cache_support.SNAPSHOT,
        ("sdpa",),
    ),
    "Qwen3.5": Family("Qwen3_5TextConfig", {**BLOCK, **DELTA, "head_dim": 8}, cache_support.SNAPSHOT, ("sdpa",)),
    "OLMo Hybrid": Family("OlmoHybridConfig", {**BLOCK, **DELTA}, cache_support.SNAPSHOT, ("sdpa",)),
    "RecurrentGemma": Family(
        "RecurrentGemmaConfig",
        {**BLOCK, "attention_window_size": WINDOW, "lru_width": 16, "head_dim": 8, "num_hidden_layers": 3},
        cache_support.RECOMPUTE,
        ("sdpa",),
    ),
    "RWKV": Family(
        "RwkvConfig",
        {"hidden_size": 16, "attention_hidden_size": 16, "num_hidden_layers": 2, "context_length": 64},
        cache_support.RECOMPUTE,
        ("eager",),
    ),
    "GPT": Family(
        "OpenAIGPTConfig",
        {"n_embd": 16, "n_layer": 2, "n_head": 2, "n_positions": 64},
        cache_support.RECOMPUTE,
        ("eager",),
    ),
}


def random_of(family: Family) -> PreTrainedModel:
    """A model of random weights, far from uniform in what it says."""
    config_class: Callable[..., Any] = getattr(transformers, family.config)
    torch.manual_seed(7)
    model = AutoModelForCausalLM.from_config(
        config_class(vocab_size=VOCAB, tie_word_embeddings=False, **family.shape, **NO_IDS)
    ).eval()
    with torch.no_grad():
        for weight in model.parameters():
            if weight.dim() > 1:
                weight.normal_(0, SPREAD)
    return model
