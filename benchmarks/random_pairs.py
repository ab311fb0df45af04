"""Pairs of models in memory, with the shapes of real ones and random weights: nothing is downloaded, nothing written.

Both models have all their layers, and every forward does all of its work, but what a layer adds is 0: logits follow
from the last token alone, through factors of rank 64 that all models share. So a draft of another shape than the target
can be its twin (alpha = 1 but for rounding) or a noisy twin (alpha about 0.7 at temperature 1), and forwards take the
time that they take with trained weights. Output layers are untied from the tables of embeddings. Qwen2.5 7B has 128
more unused ids than the 0.5B; here it has not, since transformers refuses models that differ in that.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from tokenizers import Tokenizer, decoders, pre_tokenizers
from tokenizers.models import WordLevel
from torch import Tensor
from transformers import (
    AutoModelForCausalLM,
    GPT2Config,
    PreTrainedConfig,
    PreTrainedModel,
    PreTrainedTokenizerFast,
    Qwen2Config,
)

from specviz.core.options import Role
from specviz.decoder.checkpoints.files import Problem
from specviz.decoder.checkpoints.location import CheckpointLocation
from specviz.decoder.models.causal_model import CausalModel
from specviz.decoder.pairing.compatibility import PairFacts
from specviz.decoder.pairing.model_info import ModelFacts
from specviz.decoder.pairing.vocabulary import Vocabulary, token_bytes

RANK = 64
SPREAD = 3.0
"""Standard deviation of the logits."""
NOISY = 0.25
"""That of the noise on a noisy twin's logits, over SPREAD."""
NO_SPECIAL_IDS: dict[str, Any] = {"bos_token_id": None, "eos_token_id": None, "pad_token_id": None}


def gpt2(width: int, layers: int, heads: int, vocab: int = 50_257, context: int = 1024) -> PreTrainedConfig:
    return GPT2Config(
        vocab_size=vocab,
        n_positions=context,
        n_embd=width,
        n_layer=layers,
        n_head=heads,
        tie_word_embeddings=False,
        **NO_SPECIAL_IDS,
    )


def qwen(width: int, layers: int, heads: int, kv: int, inner: int, vocab: int = 151_936) -> PreTrainedConfig:
    return Qwen2Config(
        vocab_size=vocab,
        hidden_size=width,
        intermediate_size=inner,
        num_hidden_layers=layers,
        num_attention_heads=heads,
        num_key_value_heads=kv,
        max_position_embeddings=4096,
        tie_word_embeddings=False,
        **NO_SPECIAL_IDS,
    )


@dataclass(frozen=True)
class Shapes:
    """What a pair is called, and the shapes of its models."""

    title: str
    draft: PreTrainedConfig
    target: PreTrainedConfig

    @property
    def both(self) -> tuple[PreTrainedConfig, PreTrainedConfig]:
        return self.draft, self.target

    def weight_bytes(self, dtype: torch.dtype) -> int:
        """What its weights take, none of which is made."""
        with torch.device("meta"):
            models = [AutoModelForCausalLM.from_config(config, dtype=dtype) for config in self.both]
        return sum(weight.numel() * weight.element_size() for model in models for weight in model.parameters())


SHAPES: dict[str, Callable[[], Shapes]] = {
    "gpt2": lambda: Shapes("gpt2 > gpt2-large", gpt2(768, 12, 12), gpt2(1280, 36, 20)),
    "qwen": lambda: Shapes("Qwen2.5 0.5B > 7B", qwen(896, 24, 14, 2, 4864), qwen(3584, 28, 28, 4, 18_944)),
    "tiny": lambda: Shapes("tiny", gpt2(64, 1, 2, 512, 256), qwen(128, 2, 4, 2, 256, 512)),
}


@dataclass
class Made:
    """A pair of models in memory, and what their files would say. ``fast``: both once more, compiled."""

    facts: PairFacts
    vocabulary: Vocabulary
    draft: PreTrainedModel
    target: PreTrainedModel
    fast: tuple[CausalModel, ...] | None = None

    @property
    def device(self) -> torch.device:
        return torch.device(self.target.device)

    def disturb(self, noise: float) -> None:
        """Make the draft the target's twin but for ``noise`` on its logits, over SPREAD; 0: the twin."""
        follow_the_last_token(self.draft, max(model.vocab_size for model in self.facts.models), noise)


def make(shapes: Shapes, device: torch.device, dtype: torch.dtype) -> Made:
    """A draft that is the target's twin."""
    ids = min(config.vocab_size for config in shapes.both)
    tokenizer = tokenizer_of(ids)
    models = [built(config, device, dtype) for config in shapes.both]
    for model in models:
        follow_the_last_token(model, max(config.vocab_size for config in shapes.both), 0.0)
    draft, target = (
        facts_of(role, config, tokenizer) for role, config in zip(("draft", "target"), shapes.both, strict=True)
    )
    facts = PairFacts(draft, target, (), ids, token_bytes(tokenizer))
    return Made(facts, facts.vocabulary(), *models)


def built(config: PreTrainedConfig, device: torch.device, dtype: torch.dtype) -> PreTrainedModel:
    with device:
        model: PreTrainedModel = AutoModelForCausalLM.from_config(config, dtype=dtype)
    return model.eval().requires_grad_(False)


def tokenizer_of(size: int) -> PreTrainedTokenizerFast:
    """Of w0, w1, ... set apart by spaces."""
    words = Tokenizer(WordLevel({f"w{i}": i for i in range(size)}, unk_token="w0"))
    words.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    words.decoder = decoders.Fuse()
    return PreTrainedTokenizerFast(tokenizer_object=words)


def facts_of(role: str, config: PreTrainedConfig, tokenizer: PreTrainedTokenizerFast) -> ModelFacts:
    name: Role = "draft" if role == "draft" else "target"
    nowhere = CheckpointLocation(name, f"random:{name}", Path(), {})
    return ModelFacts(nowhere, None, config, Problem("is not in files"), {}, False, tokenizer, frozenset())


@torch.no_grad()
def follow_the_last_token(model: PreTrainedModel, ids: int, noise: float) -> None:
    """Let the logits be of standard deviation SPREAD and follow from the last token, in the same way but for ``noise``
    in every model of up to ``ids`` ids."""

    def normal(seed: int) -> Tensor:
        return torch.randn(ids, RANK, generator=torch.Generator(model.device).manual_seed(seed), device=model.device)

    width = model.config.hidden_size
    for name, module in model.named_modules():
        if name.endswith(("c_proj", "o_proj", "down_proj", "wpe")):
            for weight in module.parameters(recurse=False):
                weight.zero_()
        if name in ("transformer.ln_f", "model.norm"):
            module.weight.fill_(width**-0.5)  # a vector of length 1 comes out
    come, go = normal(1), SPREAD * (normal(2) + noise * normal(3))
    come -= come.mean(-1, keepdim=True)
    come *= width**0.5 / come.norm(dim=-1, keepdim=True)
    for table, values in ((model.get_input_embeddings(), come), (model.get_output_embeddings(), go)):
        table.weight.zero_()
        table.weight[:, :RANK] = values[: len(table.weight)]
