"""Early exit: the drafts come from the first layers, and the target's cache is as if nothing had been drafted."""

from collections.abc import Iterator
from typing import Any

import pytest
import torch

from specviz.core.drafters import drafter_options
from specviz.core.errors import SpecvizError
from specviz.core.options import PairOptions
from specviz.decoder.drafters.early_exit import ExitPlan, plan_exit
from specviz.decoder.models import rollback
from specviz.decoder.models.layer_list import find_layers
from tests.decoder.family_models import FAMILIES, random_of
from tests.decoder.models import Shelf, save_model
from tests.decoder.pairs import read_pair
from tests.decoder.run_helpers import Feeds, Opened, opened, play, setting
from tests.decoder.test_families import assert_drafts_are_own, is_greedy, prompt_of, prompts_are_ids  # noqa: F401

N = 24
LAYERS: dict[str, Any] = {"drafter": "layers"}
PASSING = ["GPT-2", "GPT-NeoX", "OPT", "BLOOM", "Llama", "Qwen2, a window in its last layer", "Mistral, windows"]
OTHERS = ["Gemma 3, mixed windows", "LFM2", "Mamba", "Mamba 2", "Jamba", "Qwen3-Next", "Qwen3.5", "GPT", "RWKV"]


def alone(shelf: Shelf, name: str, exit_layer: int | None = None) -> Opened:
    folder = shelf.folder(("family", name), lambda path: save_model(path, random_of(FAMILIES[name])))
    return opened(folder, alone=True, max_new_tokens=N, drafting=drafter_options(exit_layer=exit_layer))


@pytest.mark.parametrize("name", [*PASSING, *OTHERS])
def test_every_family_whose_layers_are_a_list(shelf: Shelf, name: str) -> None:
    source = alone(shelf, name, 1)
    target = source.pair.target
    assert target.layers is not None
    rejected = 0
    for k, length in ((2, 6), (4, 12)):
        prompt = prompt_of(length)
        run = play(source, " ".join(map(str, prompt)), setting(k, 0.0, **LAYERS))
        assert is_greedy(target.model, prompt, run.ids), f"K {k}"
        with target.layers.only_first(1):
            assert_drafts_are_own(target.model, prompt, run)
        rejected += sum(r.count("rejected") for r in run.rounds)
    assert rejected > 3
    assert (run.header.config["exit_layer"], run.header.config["drafters"]) == (1, ["ngram", "layers"])


def test_the_test_sees_a_cache_that_is_not_restored(shelf: Shelf, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rollback, "restore", lambda cache, state: None)
    source = alone(shelf, "Llama", 1)
    try:
        ids = play(source, " ".join(map(str, prompt_of(12))), setting(4, 0.0, **LAYERS)).ids
    except (RuntimeError, ValueError):
        return
    assert not is_greedy(source.pair.target.model, prompt_of(12), ids)


def four_layers(shelf: Shelf, **options: Any) -> Opened:
    return opened(shelf.random(6, layers=4, width=32, spread=0.2), alone=True, max_new_tokens=30, **options)


@pytest.mark.parametrize("n", [1, 2, 3])
def test_the_layer_that_was_asked_for(shelf: Shelf, n: int) -> None:
    source = four_layers(shelf, drafting=drafter_options(exit_layer=n))
    used: list[int] = []
    hooks = [
        block.register_forward_hook(lambda *_, i=i: used.append(i))
        for i, block in enumerate(source.pair.target.model.transformer.h)
    ]
    run = play(source, "3 5", setting(3, 0.0, **LAYERS))
    for hook in hooks:
        hook.remove()
    drafted = sum(r.k for r in run.rounds)
    verified = len(run.rounds) + 2  # the prompt, and the warm-up
    assert [used.count(i) for i in range(4)] == [verified + (drafted + 1 if i < n else 0) for i in range(4)]
    assert run.header.config["exit_layer"] == n


def test_half_of_the_layers_by_default_and_a_cost(shelf: Shelf) -> None:
    source = four_layers(shelf, calibrate=3)
    run = play(source, "3 5", setting(3, 0.0, **LAYERS))
    assert run.header.config["exit_layer"] == 2
    assert run.stats.whole().draft_step_ms is not None
    assert run.stats.whole().c is not None


def test_only_what_is_new_is_fed(shelf: Shelf) -> None:
    source = four_layers(shelf)
    with Feeds(source.pair.target) as feeds:
        run = play(source, "3 5 7 9", setting(3, 0.0, **LAYERS))
    expected = [3, 1, 4]  # the prompt, and the warm-up of a draft step and a verification
    for round_ in run.rounds:
        expected += [1] * round_.k + [round_.k + 1]
    assert [len(feed.ids) for feed in feeds.feeds] == expected


def test_a_draft_that_is_stopped_leaves_the_cache_as_it_was(shelf: Shelf) -> None:
    source = four_layers(shelf)
    target = source.pair.target
    target.prefill([3, 5, 8])
    before = [layer.keys.clone() for layer in target.cache.layers]  # type: ignore[union-attr]
    with pytest.raises(RuntimeError, match="stop"), target.early_exit(2):
        target.feed([1], keep=1)
        assert target.length == 4
        raise RuntimeError("stop")
    assert target.length == 3
    assert target.layers is not None and len(target.layers) == 4
    after = [layer.keys for layer in target.cache.layers]  # type: ignore[union-attr]
    assert all(map(torch.equal, before, after))


def planned(folder: str, exit_layer: int | None) -> ExitPlan:
    target = read_pair(PairOptions(None, folder)).target
    return plan_exit(target.config, exit_layer, name=target.name, trusted=target.trusted)


def refused(shelf: Shelf, folder: str, exit_layer: int | None) -> Iterator[str]:
    """What is said before weights are read, and by a loaded target."""
    with pytest.raises(SpecvizError) as caught:
        planned(folder, exit_layer)
    yield str(caught.value)
    with pytest.raises(SpecvizError) as caught:
        opened(folder, alone=True, settings=setting(**LAYERS), drafting=drafter_options(exit_layer=exit_layer))
    yield str(caught.value)


@pytest.mark.parametrize("n", [4, 9])
def test_a_layer_that_is_not_there(shelf: Shelf, n: int) -> None:
    folder = shelf.random(6, layers=4, width=32, spread=0.2)
    for said in refused(shelf, folder, n):
        assert said == f"--exit-layer must be from 1 to 3 with --target {folder}, which has 4 layers."
    with pytest.raises(SpecvizError, match="--exit-layer must be from 1 to 3"):
        opened(folder, alone=True, drafting=drafter_options(exit_layer=n))


def test_a_model_of_one_layer_has_no_exit(shelf: Shelf) -> None:
    folder = shelf.random(1)
    for said in refused(shelf, folder, None):
        assert (
            said == f"--drafter layers cannot be used with --target {folder}: it has one layer. Choose another drafter."
        )


def test_layers_that_are_not_one_list_are_refused_by_name(shelf: Shelf, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("specviz.decoder.drafters.early_exit.find_layers", lambda model, config: None)
    monkeypatch.setattr("specviz.decoder.models.causal_model.find_layers", lambda model, config: None)
    folder = shelf.random(6, layers=4, width=32, spread=0.2)
    for said in refused(shelf, folder, None):
        assert said.startswith(f"--drafter layers cannot be used with --target {folder} (gpt2): its layers are not a")
    assert "layers" not in opened(folder, alone=True).pair.drafters


def test_the_list_of_layers_is_not_part_of_another(shelf: Shelf) -> None:
    model = random_of(FAMILIES["Qwen3-Next"])  # two layers of two experts each
    layers = find_layers(model, model.config)
    assert layers is not None and layers.name == "layers" and len(layers) == 2
    model.add_module("others", torch.nn.ModuleList([torch.nn.Linear(1, 1), torch.nn.Linear(1, 1)]))
    assert find_layers(model, model.config) is None


def test_costs_by_parameter_counts(shelf: Shelf) -> None:
    folder = shelf.random(6, family="llama", layers=4, width=32)
    exit_plan = planned(folder, 1)
    # a layer: q, o 32x32, k, v 32x16, three of 32x64, two norms of 32; the head: 64x32
    layer, head = 2 * 1024 + 2 * 512 + 3 * 2048 + 64, 2048
    whole = 4 * layer + head
    assert exit_plan.costs == pytest.approx([whole / (n * layer + head) for n in (1, 2, 3, 4)])
