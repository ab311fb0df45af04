"""What drafters beyond chains of tokens need of a model: hidden states, and trees of which one path is kept."""

from collections.abc import Iterator
from typing import Any

import pytest
import torch
from torch import Tensor

from specviz.decoder.models.cache_support import CROP
from specviz.decoder.models.causal_model import CausalModel
from specviz.decoder.models.compiled_forward import CompiledForward
from specviz.decoder.models.static_cache import StaticKVCache
from specviz.decoder.models.token_tree import TokenTree
from tests.decoder.family_models import FAMILIES, VOCAB, WINDOW, random_of
from tests.decoder.test_families import cases, prompt_of

TREE = TokenTree((-1, 0, 0, 0, 1, 1, 2, 4, 6, 6))
"""The last token of a text with two levels of siblings after it, and one of cousins."""
PATHS = [(), (0,), (0, 2), (0, 1, 5), (0, 1, 4, 7), (0, 2, 6, 9)]
CHAIN_ONLY = [name for name, family in FAMILIES.items() if family.way is not CROP]


def causal(name: str, kernel: str | None = None, context: int = 64) -> CausalModel:
    model = random_of(FAMILIES[name])
    if kernel:
        model.set_attn_implementation(kernel)
    return CausalModel(model, role="target", name=name, vocab_size=VOCAB, context=context)


@torch.inference_mode()
def alone(model: CausalModel, ids: list[int], **options: Any) -> Any:
    """transformers on all of ``ids``, without a cache."""
    return model.model(input_ids=torch.tensor([ids]), use_cache=False, **options)


def assert_next(model: CausalModel, logits: Tensor, ids: list[int]) -> None:
    """``logits`` are what a forward of all of ``ids`` gives after them, up to their shift."""
    expected = alone(model, ids).logits[0, -1].float()
    torch.testing.assert_close(logits, expected - expected.max(), atol=2e-5, rtol=0)


@pytest.mark.parametrize(("name", "kernel"), cases())
def test_hidden_states_are_those_of_transformers(name: str, kernel: str) -> None:
    model, ids = causal(name, kernel), prompt_of(14)
    expected = alone(model, ids, output_hidden_states=True).hidden_states
    layers = (1, 0, -1)
    prefilled = model.prefill(ids[:5], hidden_layers=layers)
    without = model.feed(ids[5:9], keep=2)
    logits, fed = model.feed(ids[9:], keep=3, hidden_layers=layers)
    assert without.shape == (2, VOCAB) and logits.shape == (3, VOCAB)
    assert_next(model, logits[-1], ids)
    for layer, first, second in zip(layers, prefilled, fed, strict=True):
        torch.testing.assert_close(first, expected[layer][0, :5], atol=2e-5, rtol=0)
        torch.testing.assert_close(second, expected[layer][0, 9:], atol=2e-5, rtol=0)


def test_asking_for_hidden_states_changes_no_logits_and_not_asking_collects_none() -> None:
    model, ids = causal("Llama"), prompt_of(12)
    asked: list[bool] = []
    model.model.register_forward_pre_hook(
        lambda _module, _args, kwargs: asked.append("output_hidden_states" in kwargs), with_kwargs=True
    )
    model.prefill(ids[:6])
    plain = model.feed(ids[6:], keep=6)
    model.reset()
    model.prefill(ids[:6])
    with_hidden, _ = model.feed(ids[6:], keep=6, hidden_layers=(1,))
    assert torch.equal(plain, with_hidden)
    assert asked == [False, False, False, True]


def trees() -> Iterator[Any]:
    for case in cases():
        if FAMILIES[str(case.values[0])].way is CROP:
            yield case


@pytest.mark.parametrize(("name", "kernel"), trees())
@pytest.mark.parametrize("path", PATHS)
def test_a_path_of_a_tree_is_kept_as_if_it_alone_had_been_fed(name: str, kernel: str, path: tuple[int, ...]) -> None:
    model = causal(name, kernel)
    text = prompt_of(3)
    window = "window" in name
    tree = TokenTree((-1, 0, 0, 1, 1)) if window else TREE
    if not all(node < len(tree) for node in path):
        path = (0, 1, 4)
    model.prefill(text)
    ids = [(5 * i + 2) % VOCAB for i in range(len(tree))]
    if reason := model.tree_unsupported_reason:
        assert reason in ("it takes no position ids", "its cache holds more than keys and values")
        with pytest.raises(ValueError, match=f"the target {name} cannot be fed a tree: {reason}"):
            model.feed_tree(ids, tree)
        return
    logits, _ = model.feed_tree(ids, tree)
    for node, row in enumerate(logits):
        ancestors = [node]
        while (parent := tree.parents[ancestors[0]]) >= 0:
            ancestors.insert(0, parent)
        assert_next(model, row, [*text, *(ids[i] for i in ancestors)])
    model.keep_path(path)
    text += [ids[i] for i in path]
    assert model.length == len(text) == (model.cache is not None and model.cache.get_seq_length())
    for more in ([7], [11, 3, 8], [1] * WINDOW, [2]):
        text += more
        assert_next(model, model.feed(more, keep=1)[0], text)
        model.roll_back_to(len(text))


def test_a_path_is_kept_in_static_buffers_too() -> None:
    model = causal("Llama")
    model.compiled = CompiledForward(model.model, VOCAB, StaticKVCache(2))
    model.compiled.takes = lambda ids, cache: False  # type: ignore[method-assign]
    model.reset()
    text = prompt_of(4)
    model.prefill(text)
    ids = list(range(len(TREE)))
    logits, _ = model.feed_tree(ids, TREE)
    assert_next(model, logits[9], [*text, 0, 2, 6, 9])
    model.keep_path((0, 2, 6, 9))
    text += [0, 2, 6, 9, 17]
    assert_next(model, model.feed([17], keep=1)[0], text)


def test_a_tree_has_hidden_states_and_suppressed_ids_by_position() -> None:
    model, text = causal("Llama"), prompt_of(4)
    model.suppress([3, 8], until=6)
    model.prefill(text)
    ids = list(range(len(TREE)))
    logits, (hidden,) = model.feed_tree(ids, TREE, hidden_layers=(-1,))
    impossible = logits[:, [3, 8]].isneginf().all(-1).tolist()
    assert impossible == [depth + 5 < 6 for depth in TREE.depths]
    expected = alone(model, [*text, 0, 2, 6, 9], output_hidden_states=True).hidden_states[-1][0, -4:]
    torch.testing.assert_close(hidden[[0, 2, 6, 9]], expected, atol=2e-5, rtol=0)
    assert model.non_finite == 0


@pytest.mark.parametrize("name", CHAIN_ONLY)
def test_what_cannot_keep_a_path_is_refused_by_name(name: str) -> None:
    model = causal(name)
    model.prefill([1, 2])
    with pytest.raises(ValueError, match=f"^the target {name} cannot be fed a tree: its cache cannot be cropped$"):
        model.feed_tree([3, 4, 5], TokenTree((-1, 0, 0)))
    assert model.length == 2


@pytest.mark.parametrize("name", ["Mistral, windows", "Gemma 3, mixed windows"])
def test_a_tree_that_leaves_a_sliding_window_is_refused(name: str) -> None:
    model = causal(name)
    model.prefill(prompt_of(WINDOW - 3))
    with pytest.raises(ValueError, match=f"a tree of 4 tokens after 5 leaves a sliding window of {WINDOW}"):
        model.feed_tree([1, 2, 3, 4], TokenTree((-1, 0, 0, 0)))
    model.feed_tree([1, 2, 3], TokenTree((-1, 0, 0)))


def test_only_a_path_of_the_tree_fed_last_can_be_kept() -> None:
    model = causal("Llama", context=16)
    model.prefill([1, 2])
    with pytest.raises(ValueError, match="the last feed was not a tree"):
        model.keep_path((0,))
    model.feed_tree([3, 4, 5], TokenTree((-1, 0, 0)))
    with pytest.raises(ValueError, match=r"\(0, 1, 2\) is not a path of the tree \(-1, 0, 0\)"):
        model.keep_path((0, 1, 2))
    with pytest.raises(ValueError, match="is not a path"):
        model.keep_path((1,))
    model.roll_back_to(3)
    with pytest.raises(ValueError, match="the last feed was not a tree"):
        model.keep_path((0,))
    with pytest.raises(ValueError, match="does not fit a context of 16"):
        model.feed_tree([1] * 14, TokenTree(tuple(range(-1, 13))))
    with pytest.raises(ValueError, match="not a tree"):
        TokenTree((0, -1))


def test_the_mask_matters() -> None:
    """Fed as a chain, the same ids give other logits after every branch."""
    model, text = causal("Llama"), prompt_of(4)
    ids = list(range(len(TREE)))
    model.prefill(text)
    tree, _ = model.feed_tree(ids, TREE)
    model.roll_back_to(len(text))
    chain = model.feed(ids, keep=len(ids))
    apart = (tree - chain).abs().amax(-1) > 0.01
    assert apart.tolist() == [False, False] + [True] * (len(TREE) - 2)
