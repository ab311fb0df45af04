"""What is cached and what is fed: exact roll-back, one forward of K + 1 ids a round, nothing fed twice."""

from typing import Any

import pytest
import torch
from transformers import DynamicCache, MistralConfig, StaticCache

from specviz.core.events import Ready, Round, Settings
from specviz.core.options import RunRequest
from specviz.decoder.models.causal_model import CausalModel
from specviz.decoder.models.rollback import roll_back
from tests.decoder.models import Shelf, one_hot, text_of
from tests.decoder.run_helpers import Feeds, Opened, fresh_logits, opened, play, setting


def cached(model: CausalModel) -> int:
    """What transformers says the cache holds."""
    assert model.cache is not None
    return int(model.cache.get_seq_length())


def rounds_of(pair: Opened, prompt: str, ask: Any, stopped: Any = lambda: False) -> Any:
    events = pair.source.run(RunRequest(prompt, 0, Settings()), ask, stopped)
    return (event for event in events if isinstance(event, Round))


def next_logits(model: CausalModel, ids: list[int]) -> torch.Tensor:
    """The model's next-token logits [V] by way of its cache, which is left as it was."""
    length = model.length
    logits = model.feed(ids[length:], keep=1)[0]
    model.roll_back_to(length)
    return logits


def assert_exact(model: CausalModel, folder: str, ids: list[int], atol: float = 1e-5) -> None:
    """The cached and a fresh model agree on what comes next, up to the shift of their logits."""
    fresh = fresh_logits(folder, ids)
    torch.testing.assert_close(next_logits(model, ids), fresh - fresh.max(), atol=atol, rtol=0)


def test_c06a_a_twin_accepts_everything_for_120_tokens(shelf: Shelf) -> None:
    folder = shelf.random(1, context=256, layers=2, width=32)
    run = play(opened(folder, max_new_tokens=120), "w3 w5", setting(4, 0.0))
    assert [(r.n_accepted, r.k) for r in run.rounds] == [(4, 4)] * 24


@pytest.mark.parametrize("family", ["gpt2", "llama"])
@pytest.mark.parametrize("accepted", range(5))
def test_c06b_both_caches_are_exact_after_every_round(shelf: Shelf, accepted: int, family: str) -> None:
    """The draft is a real model; the target is scripted to agree with exactly ``accepted`` of its drafts a round."""
    positions, vocab, k, n_prompt = 96, 64, 4, 3
    draft = shelf.random(21, family=family, vocab=vocab, context=positions, layers=2, spread=0.2)
    ids = [3, 5, 8]
    scripted: list[int] = [0, 0]
    while len(ids) < n_prompt + 40:
        here = list(ids)
        for _ in range(accepted):
            here.append(int(fresh_logits(draft, here).argmax()))
        here.append((int(fresh_logits(draft, here).argmax()) + 1) % vocab)
        scripted += here[len(ids) :]
        ids = here
    target = shelf.scripted(one_hot((scripted + [0] * positions)[:positions], vocab))
    pair = opened(target, draft, max_new_tokens=40)
    text = [3, 5, 8]
    seen = 0
    for round_ in rounds_of(pair, text_of(text), lambda: setting(k, 0.0)):
        text += [token.id for token in round_.emitted]
        if round_.k < k:
            break
        seen += 1
        assert round_.n_accepted == accepted
        of_target, of_draft = pair.pair.target, pair.pair.draft
        assert of_target.length == cached(of_target) == len(text) - 1
        missing = 2 if accepted == k else 1
        assert of_draft.length == cached(of_draft) == len(text) - missing
        assert_exact(of_draft, draft, text)
    assert seen >= 6


def test_k_set_to_0_and_back_keeps_the_draft_exact(shelf: Shelf) -> None:
    target, draft = shelf.random(1, spread=0.2), shelf.noisy(1, 0.05, spread=0.2)
    ks = [4, 4, 0, 0, 0, 2, 0, 4, 4]
    pair = opened(target, draft, max_new_tokens=60)
    asked = iter(ks)
    text = [3, 5]
    made = []
    for round_ in rounds_of(pair, text_of(text), lambda: setting(next(asked, 4), 0.0)):
        text += [token.id for token in round_.emitted]
        made.append(round_.k)
        if round_.stop is None:
            assert_exact(pair.pair.draft, draft, text)
            assert_exact(pair.pair.target, target, text)
    assert made[: len(ks)] == ks


def test_c28_work_per_round_does_not_grow_with_the_prompt(shelf: Shelf) -> None:
    shape: dict[str, Any] = {"seed": 1, "context": 256}
    pair = opened(shelf.random(**shape), shelf.noisy(noise=0.1, **shape), max_new_tokens=50)
    for length in (20, 200):
        prompt = [i % 7 for i in range(length - 1)] + [5]
        with Feeds(pair.pair.target) as of_target, Feeds(pair.pair.draft) as of_draft:
            run = play(pair, text_of(prompt), setting(4, 0.0))
        ks = [round_.k for round_ in run.rounds]
        prefill, warm_up, *verify = of_target.feeds
        assert [len(feed.ids) for feed in (prefill, warm_up)] == [length - 1, 5]
        assert [len(feed.ids) for feed in verify] == [k + 1 for k in ks]
        prefill, warm_up, *steps = of_draft.feeds
        assert [len(feed.ids) for feed in (prefill, warm_up)] == [length - 1, 1]
        expected: list[int] = []
        full = False
        for round_ in filter(lambda round_: round_.k, run.rounds):
            expected += [2 if full else 1] + [1] * (round_.k - 1)
            full = round_.n_accepted == round_.k
        assert [len(feed.ids) for feed in steps] == expected
        assert {2, 1} == set(expected)


def test_c23_a_shared_model_has_two_caches(shelf: Shelf) -> None:
    pair = opened(shelf.random(1)).pair
    assert pair.draft.model is pair.target.model
    assert pair.draft.cache is not pair.target.cache


@pytest.mark.parametrize("steps", [0, 1, 3, 4])
def test_stop_ends_within_a_draft_step_and_the_next_run_is_unaffected(shelf: Shelf, steps: int) -> None:
    pair = opened(shelf.random(1), shelf.noisy(1, 0.1), max_new_tokens=24)
    whole = play(pair, "w3 w5", setting(4))
    before = 2  # the prompt and the warm-up
    with Feeds(pair.pair.draft) as of_draft, Feeds(pair.pair.target) as of_target:
        request = RunRequest("w3 w5", 0, setting(4))
        events = list(pair.source.run(request, lambda: setting(4), lambda: len(of_draft.feeds) >= before + steps))
    assert isinstance(events[-1], Ready)
    assert (len(of_draft.feeds), len(of_target.feeds)) == (before + steps, before)
    assert play(pair, "w3 w5", setting(4)).decisions() == whole.decisions()


def test_a_run_closed_early_leaves_no_trace(shelf: Shelf) -> None:
    pair = opened(shelf.random(1), shelf.noisy(1, 0.1), max_new_tokens=24)
    whole = play(pair, "w3 w5", setting(4))
    events = pair.source.run(RunRequest("w9 w9 w9", 5, setting(4)), lambda: setting(4), lambda: False)
    while not isinstance(next(events), Round):
        pass
    events.close()  # type: ignore[attr-defined]
    assert play(pair, "w3 w5", setting(4)).decisions() == whole.decisions()


def filled(cache: Any, n: int) -> Any:
    """``cache`` after ``n`` positions, of two heads of width four, in two layers."""
    for layer in range(2):
        keys = torch.randn(1, 2, n, 4)
        cache.update(keys, keys, layer)
    return cache


@pytest.mark.parametrize("remove", [3, 0, 10])
def test_c25_dynamic_caches_are_rolled_back_by_a_count(remove: int) -> None:
    cache = filled(DynamicCache(), 10)
    roll_back(cache, remove)
    assert cache.get_seq_length() == 10 - remove
    if remove < 10:
        assert cache.layers[0].keys.shape[-2] == 10 - remove


@pytest.mark.parametrize("remove", [-1, 11])
def test_c25_no_more_is_removed_than_there_is(remove: int) -> None:
    cache = filled(DynamicCache(), 10)
    with pytest.raises(ValueError, match="cannot remove"):
        roll_back(cache, remove)
    assert cache.get_seq_length() == 10


def tiny_mistral(window: int | None) -> Any:
    return MistralConfig(
        vocab_size=16,
        hidden_size=8,
        intermediate_size=8,
        num_hidden_layers=2,
        num_attention_heads=2,
        num_key_value_heads=2,
        sliding_window=window,
    )


@pytest.mark.parametrize("remove", [3, 0, 10])
def test_c25_static_caches_with_full_attention_too(remove: int) -> None:
    cache = filled(StaticCache(config=tiny_mistral(None), max_cache_len=16), 10)
    roll_back(cache, remove)
    assert int(cache.get_seq_length()) == 10 - remove


def test_c25_a_static_cache_past_a_sliding_window_is_refused() -> None:
    cache = filled(StaticCache(config=tiny_mistral(8), max_cache_len=16), 10)
    with pytest.raises(ValueError, match="cannot be rolled back"):
        roll_back(cache, 3)
