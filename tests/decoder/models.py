"""Makers of tiny model folders that transformers loads like any other, with tokenizers to match.

Scripted models have known logits at every position, so that p and q are; random ones are small enough to run
a hundred tokens in a blink.
"""

import hashlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Literal

import torch
from tokenizers import Tokenizer, decoders, pre_tokenizers
from tokenizers.models import WordLevel
from torch import Tensor
from transformers import (
    GPT2Config,
    GPT2LMHeadModel,
    LlamaConfig,
    LlamaForCausalLM,
    PreTrainedModel,
    PreTrainedTokenizerFast,
)

Family = Literal["gpt2", "llama"]
NO_SPECIAL_IDS: dict[str, Any] = {"bos_token_id": None, "eos_token_id": None, "pad_token_id": None}
IMPOSSIBLE = -60.0
"""A score so low that its probability is 0 for every purpose."""


def words(n: int) -> list[str]:
    """The default vocabulary: w0, w1, …"""
    return [f"w{i}" for i in range(n)]


def text_of(ids: Sequence[int]) -> str:
    """The prompt that a default tokenizer reads as ``ids``."""
    return " ".join(f"w{i}" for i in ids)


def one_hot(choices: Sequence[int], vocab: int) -> Tensor:
    """Logits [positions, vocab] that allow only the id ``choices[i]`` at position i."""
    logits = torch.full((len(choices), vocab), IMPOSSIBLE)
    logits[range(len(choices)), list(choices)] = 0.0
    return logits


def everywhere(probs: Sequence[float], positions: int = 512) -> Tensor:
    """The same distribution at every position, as logits [positions, vocab]."""
    return torch.tensor(probs, dtype=torch.float64).log().clamp_min(IMPOSSIBLE).repeat(positions, 1)


def save_tokenizer(folder: Path, vocabulary: Sequence[str], *, eos: str | None = None, bos: str | None = None) -> None:
    """A tokenizer with one id per string of ``vocabulary``; it reads strings set apart by spaces, and adds nothing."""
    tokenizer = Tokenizer(WordLevel({word: i for i, word in enumerate(vocabulary)}, unk_token=vocabulary[0]))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tokenizer.decoder = decoders.Fuse()
    save_wrapped(folder, tokenizer, eos=eos, bos=bos)


def save_wrapped(folder: Path, tokenizer: Tokenizer, *, eos: str | None = None, bos: str | None = None) -> None:
    special = {name: token for name, token in (("eos_token", eos), ("bos_token", bos)) if token is not None}
    PreTrainedTokenizerFast(tokenizer_object=tokenizer, **special).save_pretrained(folder)


def save_model(
    folder: Path,
    model: PreTrainedModel,
    *,
    vocabulary: Sequence[str] | None = None,
    eos: str | None = None,
    eos_ids: Sequence[int] | None = None,
) -> None:
    """Weights, configs and tokenizer. ``eos``: the tokenizer's end token; ``eos_ids``: the generation settings'."""
    strings = words(model.config.vocab_size) if vocabulary is None else list(vocabulary)
    ends = list(eos_ids) if eos_ids is not None else None if eos is None else strings.index(eos)
    model.config.eos_token_id = model.generation_config.eos_token_id = ends
    model.save_pretrained(folder)
    save_tokenizer(folder, strings, eos=eos)


def scripted(logits: Tensor) -> PreTrainedModel:
    """A GPT-2 whose next-token logits at position i are ``logits[i]`` [positions, vocab], whatever the tokens are.

    Tokens embed to zero, position i to the i-th unit vector; attention and the feed-forward part add nothing. So the
    last hidden state depends on the position alone, and the output layer that turns it into the wanted logits is the
    solution of a linear system.
    """
    positions, vocab = logits.shape
    width = 2 * (positions // 2 + 2)
    config = GPT2Config(
        vocab_size=vocab,
        n_positions=positions,
        n_embd=width,
        n_layer=1,
        n_head=2,
        tie_word_embeddings=False,
        **NO_SPECIAL_IDS,
    )
    model = GPT2LMHeadModel(config).double().eval()
    with torch.no_grad():
        model.transformer.wte.weight.zero_()
        model.transformer.wpe.weight.copy_(torch.eye(positions, width))
        for block in model.transformer.h:
            for last in (block.attn.c_proj, block.mlp.c_proj):
                last.weight.zero_()
                last.bias.zero_()
        hidden = model.transformer.ln_f(model.transformer.wpe.weight)
        model.lm_head.weight.copy_((torch.linalg.pinv(hidden) @ logits.double()).T)
    return model.float()


def random(
    seed: int,
    *,
    family: Family = "gpt2",
    vocab: int = 64,
    context: int = 128,
    layers: int = 1,
    width: int = 16,
    spread: float = 0.5,
) -> PreTrainedModel:
    """A model of random weights of that ``spread``, by default far from uniform in what it says."""
    torch.manual_seed(seed)
    if family == "gpt2":
        config = GPT2Config(
            vocab_size=vocab,
            n_positions=context,
            n_embd=width,
            n_layer=layers,
            n_head=2,
            initializer_range=spread,
            **NO_SPECIAL_IDS,
        )
        return GPT2LMHeadModel(config).eval()
    llama = LlamaConfig(
        vocab_size=vocab,
        max_position_embeddings=context,
        hidden_size=width,
        intermediate_size=2 * width,
        num_hidden_layers=layers,
        num_attention_heads=2,
        num_key_value_heads=1,
        initializer_range=spread,
        tie_word_embeddings=False,
        **NO_SPECIAL_IDS,
    )
    return LlamaForCausalLM(llama).eval()


def noisy(model: PreTrainedModel, seed: int, noise: float) -> PreTrainedModel:
    """``model`` with every weight moved by ``noise`` times its matrix's spread: a draft that is often right."""
    torch.manual_seed(seed)
    with torch.no_grad():
        for weight in model.parameters():
            if weight.numel() > 1:
                weight += torch.randn_like(weight) * weight.std() * noise
    return model


class Shelf:
    """Folders made once and kept for as long as the tests run."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def folder(self, key: object, fill: Callable[[Path], None]) -> str:
        """The folder that ``fill`` makes, under a name that follows from ``key``."""
        path = self._root / hashlib.sha256(repr(key).encode()).hexdigest()[:16]
        if not path.exists():
            path.mkdir()
            fill(path)
        return str(path)

    def scripted(self, logits: Tensor, **saving: Any) -> str:
        key = "scripted", logits.tolist(), saving
        return self.folder(key, lambda path: save_model(path, scripted(logits), **saving))

    def random(self, seed: int, *, saving: dict[str, Any] | None = None, **shape: Any) -> str:
        key = "random", seed, saving, shape
        return self.folder(key, lambda path: save_model(path, random(seed, **shape), **(saving or {})))

    def noisy(self, seed: int, noise: float, *, saving: dict[str, Any] | None = None, **shape: Any) -> str:
        """A noisy copy of ``random(seed, **shape)``."""
        key = "noisy", seed, noise, saving, shape
        model = noisy(random(seed, **shape), seed + 1000, noise)
        return self.folder(key, lambda path: save_model(path, model, **(saving or {})))
