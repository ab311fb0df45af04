"""What specviz is measured against does the same work: the same text, the same shapes."""

from typing import Any

import pytest
import torch

from specviz.bench.baseline import Comparison
from specviz.core.options import BUNDLED_DRAFT, BUNDLED_TARGET
from specviz.decoder.measuring.assisted import assisted, can_time_forwards, compare_once, forward_only_ms, run_ours
from specviz.decoder.tensors.device import peak_memory
from tests.decoder.family_models import FAMILIES, random_of
from tests.decoder.models import Shelf, save_model
from tests.decoder.run_helpers import Feeds, opened, setting

PROMPT = "Once upon a time there was a king who"


@pytest.mark.parametrize("k", [1, 4])
def test_assisted_generation_writes_the_same_greedy_text_in_the_same_rounds(k: int) -> None:
    source = opened(BUNDLED_TARGET, BUNDLED_DRAFT, max_new_tokens=40)
    config = source.pair.draft.model.generation_config
    before = {name: value for name, value in vars(config).items() if "assistant" in name}
    text = assisted(source.source, PROMPT, k)
    _, rounds, ours = run_ours(source.source, PROMPT, 0, setting(k, 0.0))
    assert text.ids == ours.ids
    assert [n for _, n in text.arrivals][:-1] == [len(r.emitted) for r in rounds][:-1], "K drafts in every round"
    assert {name: value for name, value in vars(config).items() if "assistant" in name} == before
    times = [at for at, _ in text.arrivals]
    assert times == sorted(times) and text.throughput().ms == pytest.approx((times[-1] - times[0]) * 1e3)
    assert text.throughput().tokens == 40 - text.arrivals[0][1]


def test_assisted_generation_samples_at_a_temperature() -> None:
    source = opened(BUNDLED_TARGET, BUNDLED_DRAFT, max_new_tokens=12)
    texts = [assisted(source.source, PROMPT, 2, temperature=1.0, seed=seed).ids for seed in (1, 1, 2)]
    assert texts[0] == texts[1] != texts[2]


def test_bare_forwards_have_the_shapes_of_the_rounds() -> None:
    source = opened(BUNDLED_TARGET, BUNDLED_DRAFT, max_new_tokens=40)
    settings, pair = setting(3), source.pair
    assert can_time_forwards(pair)
    seen = []
    for model in (pair.draft, pair.target):
        with Feeds(model) as real:
            prompt, rounds, _ = run_ours(source.source, PROMPT, 4, settings)
        with Feeds(model) as bare:
            times = forward_only_ms(pair, prompt, rounds)
        n = len(bare.feeds) - 1
        assert bare.feeds[0] == real.feeds[0], "the prompt"
        assert bare.feeds[1:] == real.feeds[-n:], "the rest but for warming up"
        seen += bare.feeds
    assert len(times) == len(rounds) > 5
    assert min(times) > 0
    assert {len(feed.ids) for feed in seen[1:]} >= {1, 2, 4}


def test_bare_forwards_pick_rows_as_the_rounds_do() -> None:
    """A slice of rows costs a copy of the output layer in bfloat16, which made bare forwards dearer than rounds."""
    source = opened(BUNDLED_TARGET, BUNDLED_DRAFT, max_new_tokens=40)
    pair, picked = source.pair, []

    def note(_: object, args: object, kwargs: dict[str, Any]) -> None:
        keep = kwargs["logits_to_keep"]
        picked.append((kwargs["input_ids"].shape[1], keep.tolist() if isinstance(keep, torch.Tensor) else keep))

    hook = pair.draft.model.register_forward_pre_hook(note, with_kwargs=True)
    prompt, rounds, _ = run_ours(source.source, PROMPT, 4, setting(3))
    real = {(n, str(keep)) for n, keep in picked}
    picked.clear()
    forward_only_ms(pair, prompt, rounds)
    hook.remove()
    assert {(n, str(keep)) for n, keep in picked} == real
    assert {(1, "1"), (2, "[1]")} <= real


def test_a_duel_measures_both_in_either_order() -> None:
    source = opened(BUNDLED_TARGET, BUNDLED_DRAFT, max_new_tokens=24, inspect=False)
    plan = [Comparison(0, 0, 2, first) for first in (True, False)]
    found = [compare_once(source.source, each, PROMPT, 0, setting(7, 0.0)) for each in plan]
    for result in found:
        assert (result.same, result.of) == (24, 24)
        assert result.ours.tokens > 10 and result.ours.ms > 0 and result.theirs.ms > 0
        assert len(result.round_ms) == len(result.forwards_ms) > 5
    assert found[0].ours.tokens == found[1].ours.tokens
    drawn = compare_once(source.source, Comparison(0, 0, 2, True), PROMPT, 0, setting(7, 1.0))
    assert drawn.ours.tokens > 10 and drawn.of > 0


def test_a_recurrent_state_has_no_bare_forwards(shelf: Shelf) -> None:
    made = FAMILIES["Mamba"] if "Mamba" in FAMILIES else FAMILIES[sorted(FAMILIES)[0]]
    folder = shelf.folder("bare", lambda path: save_model(path, random_of(made)))
    pair = opened(folder).pair
    assert can_time_forwards(pair) == (pair.target.rollback.name == "crop")


def test_a_peak_is_that_of_the_block() -> None:
    with peak_memory(torch.device("cpu")) as before:
        small = before()
    with peak_memory(torch.device("cpu")) as most:
        torch.ones(50_000_000).sum()
        large = most()
    if small is not None and large is not None:
        assert large > small + 150_000_000
    else:
        assert small is large is None
