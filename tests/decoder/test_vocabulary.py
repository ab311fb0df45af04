"""Ids and bytes for every kind of tokenizer, and when two tokenizers agree."""

import json
from collections.abc import Callable
from copy import deepcopy
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import torch
from tokenizers import Tokenizer, decoders, normalizers, pre_tokenizers
from tokenizers.models import BPE, WordPiece
from tokenizers.trainers import BpeTrainer, WordPieceTrainer
from transformers import PreTrainedTokenizerFast

from specviz import bundled
from specviz.core.safe_text import emitted_text
from specviz.decoder.pairing.vocabulary import Vocabulary, compare, token_bytes
from specviz.decoder.rounds.measure import TIES, TOP, top_list

TEXT = (
    "Hello world again, hello old world. The  quick brown fox über 12 naïve cafés; 你好世界 and 🦊🦊 again and again.\n"
)


@cache
def byte_level() -> PreTrainedTokenizerFast:
    tokenizer = Tokenizer(BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = BpeTrainer(
        vocab_size=330,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        special_tokens=["<|end|>"],
        show_progress=False,
    )
    tokenizer.train_from_iterator([TEXT] * 4, trainer)
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token="<|end|>")


@cache
def metaspace() -> PreTrainedTokenizerFast:
    """A space in front, spaces as ▁, bytes for whatever is not in the vocabulary: as Llama 2 and Gemma do it."""
    words = Tokenizer(BPE())
    words.pre_tokenizer = pre_tokenizers.Metaspace()
    words.train_from_iterator(
        ["Hello world again the quick brown fox"] * 4, BpeTrainer(vocab_size=80, show_progress=False)
    )
    state = json.loads(words.to_str())["model"]
    pieces = ["<unk>", "<s>", "</s>", *(f"<0x{byte:02X}>" for byte in range(256)), *state["vocab"]]
    merges = [tuple(merge) for merge in state["merges"]]
    tokenizer = Tokenizer(
        BPE({piece: i for i, piece in enumerate(pieces)}, merges, unk_token="<unk>", byte_fallback=True, fuse_unk=True)
    )
    tokenizer.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    tokenizer.decoder = decoders.Sequence(
        [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)]
    )
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, unk_token="<unk>", bos_token="<s>", eos_token="</s>")


@cache
def word_piece() -> PreTrainedTokenizerFast:
    tokenizer = Tokenizer(WordPiece(unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.decoder = decoders.WordPiece(cleanup=False)
    trainer = WordPieceTrainer(vocab_size=120, special_tokens=["[UNK]"], show_progress=False)
    tokenizer.train_from_iterator([TEXT] * 4, trainer)
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, unk_token="[UNK]")


@cache
def end_of_word() -> PreTrainedTokenizerFast:
    tokenizer = Tokenizer(BPE(unk_token="<unk>", end_of_word_suffix="</w>"))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tokenizer.decoder = decoders.BPEDecoder(suffix="</w>")
    trainer = BpeTrainer(vocab_size=120, special_tokens=["<unk>"], end_of_word_suffix="</w>", show_progress=False)
    tokenizer.train_from_iterator([TEXT] * 4, trainer)
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, unk_token="<unk>")


KINDS = {"byte-level": byte_level, "metaspace": metaspace, "word-piece": word_piece, "end-of-word": end_of_word}


def joined(tokenizer: Any, ids: list[int]) -> bytes:
    table = token_bytes(tokenizer)
    return b"".join(table[i] or b"?" for i in ids)


@pytest.mark.parametrize("text", ["Hello world again", "Hello  world again, über 12 naïve 你好世界 🦊🦊"])
@pytest.mark.parametrize("make", KINDS.values(), ids=KINDS.keys())
def test_c66_c68_bytes_of_ids_join_to_the_tokenizers_own_decode(
    make: Callable[[], PreTrainedTokenizerFast], text: str
) -> None:
    tokenizer = make()
    ids = tokenizer(text, add_special_tokens=False)["input_ids"]
    assert len(ids) >= 3
    own = tokenizer.decode(ids, clean_up_tokenization_spaces=False)
    # The first word's space is the one thing a tokenizer drops and a token has.
    assert joined(tokenizer, ids).decode().strip(" ") == own.strip(" ")


def test_c66_a_character_split_over_tokens_comes_whole() -> None:
    for tokenizer in (byte_level(), metaspace()):
        ids = tokenizer("🦄", add_special_tokens=False)["input_ids"]
        pieces = [token_bytes(tokenizer)[i] for i in ids]
        assert b"".join(piece or b"" for piece in pieces).strip() == "🦄".encode()
        assert len([piece for piece in pieces if piece and not piece.isascii()]) > 1
        vocabulary = Vocabulary([piece or b"" for piece in token_bytes(tokenizer)], frozenset())
        assert emitted_text([vocabulary.token(i) for i in ids], None).strip() == "🦄"
        assert emitted_text([vocabulary.token(i) for i in ids[:-1]], None).strip() == "\ufffd"


def test_c67_byte_tokens_are_all_different() -> None:
    for tokenizer in (byte_level(), metaspace()):
        table = token_bytes(tokenizer)
        singles = [piece for piece in table if piece is not None and len(piece) == 1]
        assert {bytes([byte]) for byte in range(256)} == set(singles)
    table = token_bytes(byte_level())
    assert len(set(table)) == len(table)


@pytest.mark.parametrize("make", KINDS.values(), ids=KINDS.keys())
def test_c67_a_tokenizer_agrees_with_itself(make: Callable[[], PreTrainedTokenizerFast]) -> None:
    result = compare(make(), make(), frozenset())
    assert (result.clashing, result.special) == ((), ())


def test_the_bundled_tokenizer_covers_every_byte_and_every_id() -> None:
    tokenizer = PreTrainedTokenizerFast.from_pretrained(bundled.folder("bundled:target"))
    table = token_bytes(tokenizer)
    assert None not in table
    assert {bytes([byte]) for byte in range(256)} <= set(table)
    text = "Once upon a time — “naïve” 你好 🦊\n\tdef f(x):\n"
    assert b"".join(table[i] or b"" for i in tokenizer(text)["input_ids"]).decode() == text


def test_ids_without_an_entry_have_no_bytes() -> None:
    backend = Tokenizer(WordPiece({"a": 0, "b": 3}, unk_token="a"))
    table = token_bytes(PreTrainedTokenizerFast(tokenizer_object=backend))
    assert table == [b"a", None, None, b"b"]


def test_added_tokens_stand_for_their_own_text() -> None:
    tokenizer = deepcopy(byte_level())
    tokenizer.add_tokens(["été ▁"])
    assert token_bytes(tokenizer)[-1] == "été ▁".encode()
    assert token_bytes(tokenizer)[0] == b"<|end|>"


def test_saved_and_loaded_tokenizers_agree(tmp_path: Path) -> None:
    for name, make in KINDS.items():
        folder = tmp_path / name
        make().save_pretrained(folder)
        loaded = PreTrainedTokenizerFast.from_pretrained(folder)
        assert compare(loaded, make(), frozenset()).clashing == ()


def test_a_top_list_takes_the_lowest_ids_of_equals() -> None:
    vocabulary = Vocabulary([b"x"] * 64, frozenset())
    flat = torch.full((64,), 1 / 64)
    tied = torch.tensor([0.0] * 20 + [0.01] * 40 + [0.2, 0.2, 0.1, 0.1])
    short = torch.tensor([0.5, 0.0, 0.5] + [0.0] * 61)
    lists = []
    asked = []
    for probs in (flat, tied, short):
        values, ids = probs.topk(TOP + TIES)

        def row(probs: torch.Tensor = probs) -> torch.Tensor:
            asked.append(probs)
            return probs

        lists.append(top_list(vocabulary, values.tolist(), ids.tolist(), row))
    assert [[c.id for c in top] for top in lists] == [[*range(10)], [60, 61, 62, 63, *range(20, 26)], [0, 2]]
    assert len(asked) == 2, "the third has no equals beyond those that came"
