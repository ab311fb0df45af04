"""Families of models as target and as draft: the text is the target's greedy text, and every draft is the draft's own.

Both are checked against forwards of the whole text without a cache, by the same attention kernel: a text in which every
token is the most likely after those before it is the greedy text. Prompts start within a window, end on either side of
its edge, and cross it in prefill; runs cross it in the middle of a round.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers
from transformers import PreTrainedModel

from specviz.core.errors import SpecvizError
from specviz.core.events import token_ids
from specviz.core.options import PairOptions
from specviz.decoder.loading import pair as loading
from specviz.decoder.models import causal_model, rollback
from specviz.decoder.models.cache_support import RECOMPUTE, rollback_method, unsupported_reason
from specviz.decoder.pairing.compatibility import raise_refusals
from specviz.decoder.pairing.prompt import EncodedPrompt
from tests.decoder.family_models import FAMILIES, VOCAB, WINDOW, Family, random_of
from tests.decoder.models import Shelf, noisy, save_model, save_tokenizer, words
from tests.decoder.pairs import read_pair
from tests.decoder.run_helpers import Feeds, Opened, Played, opened, play, setting

N = 24
PROMPTS = {1: 1, 2: 5, 3: WINDOW - 2, 4: WINDOW - 1, 5: WINDOW, 6: 12}
"""The length of the prompt of a run with K."""
NOISE = 0.12


def pair_of(shelf: Shelf, name: str, **options: Any) -> Opened:
    family = FAMILIES[name]
    target = shelf.folder(("family", name), lambda path: save_model(path, random_of(family)))
    draft = shelf.folder(("noisy family", name), lambda path: save_model(path, noisy(random_of(family), 3, NOISE)))
    return opened(target, draft, max_new_tokens=N, **options)


@pytest.fixture(autouse=True)
def prompts_are_ids(monkeypatch: pytest.MonkeyPatch) -> None:
    """Some families come with a tokenizer of their own, whatever their folder holds."""

    def read(_target: Any, text: str, *_: Any, **__: Any) -> EncodedPrompt:
        return EncodedPrompt(text, tuple(int(i) for i in text.split() if i.isdigit()))

    monkeypatch.setattr(loading, "read_prompt", read)


def prompt_of(length: int) -> list[int]:
    return [(7 * i * i + 3 * length + i) % VOCAB for i in range(length)]


@torch.inference_mode()
def own_choices(model: PreTrainedModel, ids: list[int], n: int) -> list[int]:
    """The likeliest next id after each of the last ``n`` of ``ids``, from one forward without a cache."""
    choices = model(input_ids=torch.tensor([ids]), use_cache=False).logits[0].argmax(-1).tolist()
    return choices[len(ids) - n :]  # type: ignore[no-any-return]


def own_greedy(model: PreTrainedModel, prompt: list[int]) -> list[int]:
    """The greedy text, by a forward for each token."""
    ids = list(prompt)
    for _ in range(N):
        ids += own_choices(model, ids, 1)
    return ids[len(prompt) :]


def is_greedy(model: PreTrainedModel, prompt: list[int], ids: list[int]) -> bool:
    return len(ids) == N and own_choices(model, [*prompt, *ids[:-1]], N) == ids


def assert_drafts_are_own(model: PreTrainedModel, prompt: list[int], run: Played) -> None:
    text = list(prompt)
    for round_ in run.rounds:
        drafted = token_ids(round_.drafted)
        assert drafted == own_choices(model, [*text, *drafted[:-1]], len(drafted)), f"round {round_.index}"
        text += token_ids(round_.emitted)


def cases() -> Iterator[Any]:
    for name, family in FAMILIES.items():
        for kernel in family.kernels:
            yield pytest.param(name, kernel, id=f"{name}-{kernel}")


@pytest.mark.parametrize(("name", "kernel"), cases())
def test_c26_c27_every_family_is_exact(shelf: Shelf, name: str, kernel: str) -> None:
    source = pair_of(shelf, name, inspect=False)
    draft, target = source.pair.draft, source.pair.target
    for model in (draft.model, target.model):
        model.set_attn_implementation(kernel)
    assert draft.rollback is target.rollback is FAMILIES[name].way
    accepted = rejected = 0
    seen: set[int] = set()
    for k, length in PROMPTS.items():
        prompt = prompt_of(length)
        run = play(source, " ".join(map(str, prompt)), setting(k, 0.0))
        assert is_greedy(target.model, prompt, run.ids), f"K {k}"
        if k == 4:
            assert_drafts_are_own(draft.model, prompt, run)
        seen.update(run.ids)
        accepted += sum(r.n_accepted for r in run.rounds)
        rejected += sum(r.count("rejected") for r in run.rounds)
    assert accepted > 10 and rejected > 10 and len(seen) > 5, (accepted, rejected, seen)


def test_c26_windows_drop_what_has_left_them(shelf: Shelf) -> None:
    source = pair_of(shelf, "Gemma 3, mixed windows")
    run = play(source, " ".join(map(str, prompt_of(12))), setting(4, 0.0))
    for model in (source.pair.draft, source.pair.target):
        assert model.cache is not None and model.length > 12 + N - 5
        windowed, whole = (layer.keys.shape[-2] for layer in model.cache.layers)
        assert (windowed, whole) == (WINDOW - 1, model.length)
    assert len(run.ids) == N


def test_c27_after_a_rejection_only_accepted_tokens_are_fed_again(shelf: Shelf) -> None:
    source = pair_of(shelf, "Qwen3-Next")
    with Feeds(source.pair.target) as feeds:
        run = play(source, " ".join(map(str, prompt_of(12))), setting(4, 0.0))
    expected = [11, 5]
    again = 0
    for round_ in run.rounds:
        expected += [again, round_.k + 1] if again else [round_.k + 1]
        again = round_.n_accepted + 1 if round_.n_accepted < round_.k else 0
    assert [len(feed.ids) for feed in feeds.feeds] == expected
    assert {round_.n_accepted == round_.k for round_ in run.rounds} == {True, False}


LONG = Family(
    "Phi3Config",
    {
        **FAMILIES["Phi-3"].shape,
        "max_position_embeddings": 128,
        "original_max_position_embeddings": 24,
        "rope_scaling": {
            "rope_type": "longrope",
            "short_factor": [1.0] * 4,
            "long_factor": [3.0, 5.0, 8.0, 13.0],
            "original_max_position_embeddings": 24,
        },
    },
)


@pytest.mark.parametrize(
    ("length", "tokens", "stop"), [(6, 19, "context"), (24, 1, "context"), (26, N, "max_new_tokens")]
)
def test_no_text_crosses_the_longrope_limit(shelf: Shelf, length: int, tokens: int, stop: str) -> None:
    target = shelf.folder("long", lambda path: save_model(path, random_of(LONG)))
    draft = shelf.folder("noisy long", lambda path: save_model(path, noisy(random_of(LONG), 3, NOISE)))
    source = opened(target, draft, max_new_tokens=N)
    prompt = prompt_of(length)
    run = play(source, " ".join(map(str, prompt)), setting(3, 0.0))
    assert (len(run.ids), run.end.reason) == (tokens, stop)
    assert run.ids == own_greedy(source.pair.target.model, prompt)[:tokens]


def test_a_prompt_right_at_the_longrope_limit_is_refused(shelf: Shelf) -> None:
    source = opened(shelf.folder("long", lambda path: save_model(path, random_of(LONG))))
    with pytest.raises(SpecvizError, match="encodes positions differently beyond 24 tokens, and this prompt has 25"):
        play(source, " ".join(map(str, prompt_of(25))), setting(3, 0.0))


SLOW = {name: family for name, family in FAMILIES.items() if family.way.slow}


@pytest.mark.parametrize("name", SLOW)
def test_c27_a_slow_path_is_reported(shelf: Shelf, name: str) -> None:
    source = pair_of(shelf, name)
    told = [notice.message for notice in source.notices if notice.message.startswith("slow path: ")]
    kind = source.pair.target.model.config.model_type
    assert [f"--{role}" in message for role, message in zip(("draft", "target"), told, strict=True)] == [True, True]
    assert all(message.endswith(f"({kind}) is exact but slow: {SLOW[name].way.slow}") for message in told)
    header = play(source, "1 2 3", setting(2, 0.0)).header
    assert header.config["notes"][:2] == told


@pytest.mark.parametrize(
    ("name", "broken"),
    [("Mamba 2", "restore"), ("Jamba", "restore"), ("Mamba", "steps"), ("Mistral, windows", "record")],
)
def test_the_test_sees_a_wrong_rollback(shelf: Shelf, name: str, broken: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if broken == "restore":
        monkeypatch.setattr(rollback, "restore", lambda cache, state: None)
    elif broken == "steps":
        monkeypatch.setattr(rollback.StepwiseState, "feed", rollback.SnapshotState.feed)
    else:
        monkeypatch.setattr(transformers.DynamicCache, "activate_past_recording", lambda self: None)
    source = pair_of(shelf, name)
    prompt = prompt_of(PROMPTS[5])
    try:
        ids = play(source, " ".join(map(str, prompt)), setting(5, 0.0)).ids
    except RuntimeError:
        return
    assert not is_greedy(source.pair.target.model, prompt, ids)


@pytest.mark.parametrize(
    ("kind", "reason"),
    [
        ("xlnet", "it does not read from left to right"),
        ("reformer", "its attention depends on hashes drawn at random in every forward, so no forward can be repeated"),
    ],
)
@pytest.mark.parametrize("role", ["draft", "target"])
def test_what_cannot_be_exact_is_refused_from_the_config(shelf: Shelf, kind: str, reason: str, role: str) -> None:
    def fill(path: Path) -> None:
        config: dict[str, Any] = {"model_type": kind, "architectures": [f"{kind}ForCausalLM"], "is_decoder": True}
        (path / "config.json").write_text(json.dumps(config))
        save_tokenizer(path, words(VOCAB))

    other = shelf.folder(("family", "GPT-2"), lambda path: save_model(path, random_of(FAMILIES["GPT-2"])))
    bad = shelf.folder(("refused", kind), fill)
    names = {"draft": other, "target": other, role: bad}
    with pytest.raises(SpecvizError) as caught:
        raise_refusals(read_pair(PairOptions(names["draft"], names["target"])), force=True)
    assert str(caught.value) == (
        f"--{role} {bad} ({kind}) cannot be used: {reason}. Choose a language model of another family."
    )


def test_a_slow_path_that_only_the_loaded_model_shows_is_reported(
    shelf: Shelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(causal_model, "rollback_method", lambda config, model_class: RECOMPUTE)
    source = pair_of(shelf, "GPT-2")
    told = [notice.message for notice in source.notices if "slow path" in notice.message]
    assert [message.split()[2] for message in told] == ["--draft", "--target"]
    prompt = prompt_of(5)
    run = play(source, " ".join(map(str, prompt)), setting(4, 0.0))
    assert run.header.config["notes"][-2:] == told
    assert is_greedy(source.pair.target.model, prompt, run.ids)


def test_an_unmeasured_family_is_recomputed() -> None:
    config = transformers.AutoConfig.for_model("nemotron_h")
    assert unsupported_reason(config) is None
    assert rollback_method(config) is RECOMPUTE


def test_custom_code_without_a_known_cache_is_recomputed() -> None:
    class Own:
        def forward(self, input_ids: Any, past_key_values: Any = None) -> None: ...

    config = FAMILIES["Llama"]
    assert rollback_method(random_of(config).config, Own) is RECOMPUTE
    assert (
        rollback_method(
            random_of(FAMILIES["Mamba 2"]).config, type("Mamba2", (), {"forward": lambda self, cache: None})
        )
        is RECOMPUTE
    )
