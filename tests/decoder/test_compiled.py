"""Compiled models: the ids of the models as they are, nothing compiled twice, and a way on where it cannot be done."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import chain, cycle
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor
from torch._dynamo.utils import counters
from torch._inductor import config as inductor_config
from torch._inductor import cpp_builder

from specviz.core.events import Progress, Settings
from specviz.decoder.loading.compiling import compile_models, missing_toolchain, uncompilable_reason
from specviz.decoder.measuring.assisted import forward_only_ms, run_ours
from specviz.decoder.models import compiled_forward, static_cache
from specviz.decoder.models.causal_model import CausalModel
from specviz.decoder.models.compiled_forward import fingerprint, settings
from tests.decoder.family_models import FAMILIES, VOCAB, random_of
from tests.decoder.models import Shelf, random, text_of
from tests.decoder.run_helpers import Opened, fresh_logits, opened, play, setting

LONG = [i % 50 for i in range(70)]
PROMPTS = [text_of(ids) for ids in ([7], [3, 5, 8], LONG)]


def graphs() -> int:
    return int(counters["stats"]["unique_graphs"])


class Both:
    """The same models compiled and as they are."""

    def __init__(self, fast: Opened, slow: Opened) -> None:
        self.fast, self.slow = fast, slow
        self.graphs = graphs()

    def agree(self, prompt: str, settings: Settings, seed: int = 0) -> list[int]:
        """The ids that both give."""
        fast, slow = (play(pair, prompt, settings, seed=seed) for pair in (self.fast, self.slow))
        assert fast.ids == slow.ids
        kept = [[round_.n_accepted for round_ in run.rounds] for run in (fast, slow)]
        assert kept[0] == kept[1]
        return fast.ids


def changing(start: int, cut: dict[str, Any]) -> Callable[[], Settings]:
    """Settings with another K every round."""
    ks = chain([start % 9], cycle([0, 1, 8, 2, 7, 3, 6, 4, 5]))
    return lambda: setting(next(ks), **cut)


@pytest.fixture(scope="module")
def both(shelf: Shelf) -> Both:
    """A model that drafts for itself, so that there is one graph to compile; unpacked, which takes half the C++. The
    compiler is taken to know the processor's instructions: finding out builds a library for each kind of them."""
    folder = shelf.random(1, spread=0.3)
    with pytest.MonkeyPatch.context() as patch, inductor_config.patch({"cpp.vec_isa_ok": True}):
        patch.setattr(compiled_forward, "PACKED_BELOW", 0)
        fast = opened(folder, compile=True, max_new_tokens=24)
    assert all(model.compiled for model in fast.pair.models), fast.notices
    return Both(fast, opened(folder, max_new_tokens=24))


@pytest.fixture
def traced(monkeypatch: pytest.MonkeyPatch) -> None:
    """Graphs are made as ever, and then run as they are: no C++."""
    compiles = torch.compile

    def traced_only(model: Any, **given: Any) -> Any:
        return compiles(model, **{**given, "backend": "eager"})

    monkeypatch.setattr(torch, "compile", traced_only)


def test_c6_ten_seeds_give_the_same_ids(both: Both) -> None:
    texts = [both.agree(PROMPTS[1], setting(4, draft_temperature=1.6), seed) for seed in range(10)]
    assert len(set(map(tuple, texts))) == 10
    assert graphs() == both.graphs


def test_c6_nothing_compiles_again_whatever_changes(both: Both) -> None:
    cuts: list[dict[str, Any]] = [
        {"temperature": 1.0, "draft_temperature": 1.6},
        {"temperature": 0.7, "draft_temperature": 0.0},
        {"temperature": 0.0},
        {"temperature": 1.3, "top_k": 5},
        {"temperature": 1.0, "top_p": 0.8, "rule": "equality"},
    ]
    seen = set()
    with torch._dynamo.config.patch(error_on_recompile=True):
        for prompt in PROMPTS:
            for n, cut in enumerate(cuts):
                fast, slow = (play(pair, prompt, changing(2 * n, cut)) for pair in (both.fast, both.slow))
                assert fast.ids == slow.ids
                seen |= {(r.k, r.plain_reason) for r in fast.rounds}
    assert {k for k, _ in seen} == set(range(9)) and {"k_zero", "budget"} <= {reason for _, reason in seen}
    assert graphs() == both.graphs


def test_n_grams_draft_on_a_compiled_target(both: Both) -> None:
    both.agree(PROMPTS[2], setting(4, 0.0, drafter="ngram"))
    assert graphs() == both.graphs


def test_after_every_round_the_cache_is_what_a_fresh_model_says(both: Both) -> None:
    model, folder = both.fast.pair.target, both.fast.pair.target.name
    ids = [3, 5, 8, 1, 60, 2, 2, 9, 11]
    model.prefill(ids[:3])
    for end in (4, 6, 9, 5, 7):  # forth and back, one id and several
        model.roll_back_to(end - 2)
        logits = model.feed(ids[model.length : end], keep=1)[0]
        fresh = fresh_logits(folder, ids[:end])
        torch.testing.assert_close(logits, fresh - fresh.max(), atol=1e-5, rtol=0)
        assert model.length == end
    assert model.cache is not None and model.cache.get_seq_length() == 7


def test_end_ids_are_barred_in_compiled_logits_too(both: Both) -> None:
    model = both.fast.pair.target
    model.suppress([4, 9], 6)
    model.prefill([3, 5, 8])
    probs = model.feed([1, 2, 3, 4], keep=4).softmax(-1)
    model.suppress((), 0)
    assert [probs[row, [4, 9]].sum() == 0 for row in range(4)] == [True, True, False, False]
    assert model.non_finite == 0


def test_compiling_is_reported_and_recorded(both: Both) -> None:
    stages = [event for event in both.fast.said if isinstance(event, Progress) and event.stage == "compiling"]
    assert [(stage.done, stage.total) for stage in stages] == [(0, 2), (1, 2)]
    assert not any(isinstance(event, Progress) and event.stage == "compiling" for event in both.slow.said)
    of_fast, of_slow = (play(pair, PROMPTS[1]).header.config for pair in (both.fast, both.slow))
    assert (of_fast["compile"], of_fast["compiled"]) == (True, ["draft", "target"])
    assert (of_slow["compile"], of_slow["compiled"]) == (None, [])


def test_bare_forwards_of_compiled_models_are_compiled(both: Both) -> None:
    for prompt in PROMPTS:
        ids, rounds, _ = run_ours(both.fast.source, prompt, 0, setting(3))
        with torch._dynamo.config.patch(error_on_recompile=True):
            assert len(forward_only_ms(both.fast.pair, ids, rounds)) == len(rounds)
    assert graphs() == both.graphs


@pytest.mark.usefixtures("traced")
def test_models_of_one_shape_keep_apart_and_layers_draft_on_a_compiled_target(shelf: Shelf) -> None:
    shape: dict[str, Any] = {"family": "llama", "layers": 2, "spread": 0.3}
    folders = shelf.random(1, **shape), shelf.noisy(1, 0.1, **shape)
    pair = Both(opened(*folders, compile=True), opened(*folders))
    assert all(model.compiled for model in pair.fast.pair.models)
    for seed in range(3):
        pair.agree(PROMPTS[1], setting(4), seed)
        pair.agree(PROMPTS[1], setting(3, drafter="layers"), seed)
    assert graphs() == pair.graphs


@pytest.mark.usefixtures("traced")
def test_buffers_grow_without_compiling(shelf: Shelf, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(static_cache, "INITIAL_CAPACITY", 32)
    folder = shelf.random(1, spread=0.3)
    pair = Both(opened(folder, compile=True, max_new_tokens=100), opened(folder, max_new_tokens=100))
    pair.agree(PROMPTS[1], setting(4, draft_temperature=1.6))
    assert [model.compiled.cache.capacity for model in pair.fast.pair.models if model.compiled] == [128, 128]
    assert graphs() == pair.graphs


@pytest.fixture
def no_compiler(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CXX", raising=False)
    cpp_builder.cpp_compiler_search.cache_clear()
    yield
    cpp_builder.cpp_compiler_search.cache_clear()


@pytest.mark.usefixtures("no_compiler")
def test_without_a_compiler_it_says_so_at_once_and_runs(shelf: Shelf) -> None:
    before = graphs()
    pair = opened(shelf.random(1, spread=0.3), shelf.noisy(1, 0.1, spread=0.3), compile=True)
    said = [notice.message for notice in pair.notices if "compile" in notice.message]
    assert said == ["Nothing is compiled for cpu: there is no C++ compiler. Install g++ or clang++, or omit --compile."]
    run = play(pair, PROMPTS[1])
    assert (run.header.config["compiled"], graphs()) == ([], before)
    assert said[0] in run.header.notes


def test_a_compiler_that_a_variable_names_wrongly_is_named(no_compiler: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CXX", "/nowhere/g++")
    with inductor_config.patch({"cpp.cxx": ("/nowhere/g++",)}):
        assert "(/nowhere/g++, from the variable CXX, does not work)" in str(missing_toolchain(torch.device("cpu")))


def test_what_a_compiler_raises_is_reported_in_a_line(shelf: Shelf, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: Any) -> Any:
        def forward(*_: Any) -> Any:
            raise RuntimeError("C++ compile error\n\nOutput:\nmain.cpp:3: fatal error: omp.h: not there\n")

        return forward

    monkeypatch.setattr(compiled_forward, "_compiled", fails)
    pair = opened(shelf.random(1, spread=0.3), compile=True, max_new_tokens=8)
    said = [notice.message for notice in pair.notices if "compile" in notice.message]
    assert [line.split(" is not compiled: ")[1] for line in said] == [
        "compiling it failed (RuntimeError: main.cpp:3: fatal error: omp.h: not there)."
    ] * 2
    assert play(pair, PROMPTS[1]).ids == play(opened(pair.pair.target.name, max_new_tokens=8), PROMPTS[1]).ids


def test_a_graph_with_other_outputs_is_not_used(shelf: Shelf, monkeypatch: pytest.MonkeyPatch) -> None:
    def wrong(_: Any, vocab_size: int) -> Any:
        def forward(ids: Tensor, *_: Any) -> tuple[Tensor, Tensor]:
            return torch.zeros(len(ids), vocab_size), torch.zeros(())

        return forward

    monkeypatch.setattr(compiled_forward, "_compiled", wrong)
    pair = opened(shelf.random(1, spread=0.3), alone=True, compile=True, max_new_tokens=8)
    assert "its compiled probabilities differ from the originals by" in pair.notices[-1].message
    assert pair.pair.target.compiled is None
    play(pair, PROMPTS[1], replace(setting(), drafter="ngram"))


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("Mistral, windows", "its cache does not hold exactly the keys and values of the whole text."),
        ("Qwen2, a window in its last layer", "its cache does not hold exactly the keys and values of the whole text."),
        ("Mamba", "its cache does not hold exactly the keys and values of the whole text."),
        ("BLOOM", "its attention is not PyTorch's (sdpa)."),
        ("Qwen3", None),
    ],
)
def test_only_plain_attention_is_compiled(name: str, reason: str | None) -> None:
    model = CausalModel(random_of(FAMILIES[name]), role="target", name=name, vocab_size=VOCAB, context=64)
    assert uncompilable_reason(model) == reason
    if reason:
        said: list[Any] = []
        assert compile_models([model], True, said.append) == (f"The target {name} is not compiled: {reason}",)
        assert model.compiled is None
    assert compile_models([model], None, lambda event: pytest.fail(f"{event}")) == ()


def test_large_models_are_not_compiled_on_a_cpu() -> None:
    model = CausalModel(random(1), role="target", name="large", vocab_size=64, context=128)
    assert uncompilable_reason(model) is None
    assert (
        uncompilable_reason(model, max_cpu_bytes=1000)
        == "on a CPU, steps with 26 kB of weights are limited by reading them, compiled or not."
    )


def test_what_is_kept_of_packed_weights_is_found_by_the_weights() -> None:
    assert fingerprint(random(1)) == fingerprint(random(1)) != fingerprint(random(2))
    with settings("of these weights"):
        assert inductor_config.freezing and inductor_config.max_autotune_gemm_backends == "CPP"
        assert torch.compiler.config.cache_key_tag.endswith("of these weights")
    with settings(None):
        assert not inductor_config.freezing
