"""Where models run and in which numbers: chosen by rules, moved explicitly, shown as they are."""

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from transformers import AutoModelForCausalLM

from specviz.core.errors import SpecvizError
from specviz.core.events import Settings
from specviz.core.options import PairOptions, RunOptions
from specviz.decoder.loading import weights
from specviz.decoder.models import cpu_packing
from specviz.decoder.pairing import placement as devices
from specviz.decoder.pairing.model_info import ModelFiles
from specviz.decoder.pairing.placement import Placement, assign_gpus, choose_device, choose_dtype, placements
from specviz.decoder.source import LiveSource
from tests.decoder.fake_devices import CPU, ONE, OTHER, Elsewhere, move
from tests.decoder.models import Shelf, random, save_model
from tests.decoder.run_helpers import Opened, opened, play, setting

GPU = torch.device("cuda", 0)
GB = 10**9


def pair_of(shelf: Shelf) -> tuple[str, str]:
    return shelf.noisy(1, 0.05), shelf.random(1)


# C53: the draft on another device


@pytest.mark.parametrize(("draft", "target"), [(ONE, CPU), (CPU, ONE), (ONE, OTHER), (ONE, ONE)])
def test_c53_ids_and_probabilities_are_moved_explicitly(
    shelf: Shelf, draft: torch.device, target: torch.device, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cpu_packing, "MAX_BYTES", 0)  # as on any device other than a CPU
    drafts, targets = pair_of(shelf)
    plain = play(opened(targets, drafts), "w3 w5", setting(3, 0.8, top_p=0.9))
    load = weights.load_weights

    def elsewhere(files: ModelFiles, placement: Placement) -> Any:
        model = load(files, replace(placement, device=CPU))
        move(model, placement.device)
        return model

    monkeypatch.setattr(weights, "load_weights", elsewhere)
    monkeypatch.setattr(devices, "choose_device", lambda asked, *_: torch.device(asked))
    options = PairOptions(drafts, targets, device=str(target), draft_device=str(draft))
    with Elsewhere() as world:
        source = LiveSource(RunOptions(options, Settings(), calibrate=0, max_new_tokens=32))
        source.open(lambda _: None)
        world.crossings.clear()
        run = play(Opened(source, []), "w3 w5", setting(3, 0.8, top_p=0.9))
    assert run.decisions() == plain.decisions()
    assert {run.header.config[key] for key in ("device", "draft_device")} == {str(target), str(draft)}
    rounds = len(run.rounds)
    assert all(round_.k for round_ in run.rounds)
    moved: Counter[tuple[torch.device, torch.device]] = Counter()
    for device in (draft, target):
        if device != CPU:
            moved[CPU, device] += 2 * rounds + 2  # new ids and uniforms, the prompt, an id to warm up with
    if target != CPU:
        moved[target, CPU] += rounds  # everything that came of the round
    if draft != target:
        moved[draft, target] += 4 * rounds  # ids, q, raw q, whether they are finite
    assert Counter(world.crossings) == moved


def test_the_test_sees_ids_on_the_wrong_device(shelf: Shelf) -> None:
    drafts, targets = pair_of(shelf)
    source = opened(targets, drafts)
    move(source.pair.target.model, ONE)
    with Elsewhere(), pytest.raises(AssertionError, match="meets tensors on"):
        play(source, "w3 w5", setting(3))


@pytest.mark.parametrize("option", ["--device", "--draft-device"])
@pytest.mark.parametrize("asked", ["cuda:7", "mps"])
def test_a_missing_device_is_refused_by_its_option(option: str, asked: str) -> None:
    with pytest.raises(SpecvizError) as caught:
        choose_device(asked, option)
    assert str(caught.value) == f"{option} {asked}: this machine has no such device. Use {option} auto or cpu."


def test_the_draft_device_is_refused_before_weights(shelf: Shelf, monkeypatch: pytest.MonkeyPatch) -> None:
    drafts, targets = pair_of(shelf)
    monkeypatch.setattr(weights, "load_weights", lambda *_: pytest.fail("weights were read"))
    source = LiveSource(RunOptions(PairOptions(drafts, targets, draft_device="cuda:3"), Settings()))
    with pytest.raises(SpecvizError, match=r"^--draft-device cuda:3: this machine has no such device"):
        source.open(lambda _: None)


# C30: dtypes


def facts_of(dtype: str | None, parameters: int, method: str | None = None) -> Any:
    """What ``choose_dtype`` and ``placements`` read of a model."""
    stored = getattr(torch, dtype) if dtype else None
    config = SimpleNamespace(dtype=stored, quantization_config={"quant_method": method} if method else None)
    config.get_text_config = lambda decoder: config
    size = parameters * (stored.itemsize if stored else 4)
    return SimpleNamespace(
        role="target",
        name="x",
        config=config,
        weights=SimpleNamespace(files=("model.safetensors",), format="safetensors"),
        location=SimpleNamespace(files={"model.safetensors": size}),
    )


@pytest.mark.parametrize(
    ("stored", "parameters", "native", "device", "expected"),
    [
        ("float32", 10**8, True, CPU, torch.float32),
        ("bfloat16", 10**8, True, CPU, torch.float32),
        ("bfloat16", 10**9, True, CPU, torch.bfloat16),
        ("bfloat16", 10**9, False, CPU, torch.float32),
        ("float16", 10**8, True, CPU, torch.float32),
        ("float16", 10**10, True, CPU, torch.float32),
        (None, 10**9, True, CPU, torch.float32),
        ("float32", 10**8, True, GPU, torch.float32),
        ("bfloat16", 10**8, False, GPU, torch.bfloat16),
        ("float16", 10**8, True, GPU, torch.float16),
        (None, 10**8, True, GPU, "auto"),
    ],
)
def test_c30_the_dtype_of_each_model(
    stored: str | None,
    parameters: int,
    native: bool,
    device: torch.device,
    expected: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(devices, "computes_in_bfloat16", lambda: native)
    assert choose_dtype("auto", device, facts_of(stored, parameters)) == expected
    assert choose_dtype("float16", device, facts_of(stored, parameters)) == torch.float16


@pytest.mark.parametrize("stored", [torch.float16, torch.bfloat16, torch.float32])
def test_c30_half_precision_checkpoints_run_in_float32_on_a_cpu(shelf: Shelf, stored: torch.dtype) -> None:
    def fill(path: Path) -> None:
        save_model(path, random(1).to(stored))

    half = shelf.folder(("stored", stored), fill)
    pair = opened(shelf.random(2), half)
    assert (pair.pair.draft.dtype, pair.pair.target.dtype) == (torch.float32, torch.float32)
    run = play(pair, "w3 w5", setting(2))
    assert (run.header.config["draft_dtype"], run.header.config["dtype"]) == ("float32", "float32")
    asked = opened(shelf.random(2), half, dtype="bfloat16")
    config = play(asked, "w3 w5", setting(2)).header.config
    assert (config["draft_dtype"], config["dtype"]) == ("bfloat16", "bfloat16")


def test_c30_models_of_two_dtypes_are_distinguished(shelf: Shelf, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(devices, "SMALL_MODEL", 0)
    monkeypatch.setattr(devices, "computes_in_bfloat16", lambda: True)
    half = shelf.folder(("stored", torch.bfloat16), lambda path: save_model(path, random(1).to(torch.bfloat16)))
    run = play(opened(shelf.random(2), half), "w3 w5", setting(2))
    config = run.header.config
    assert (config["draft_dtype"], config["dtype"]) == ("bfloat16", "float32")
    assert (config["draft_device"], config["device"]) == ("cpu", "cpu")


# C31: generation settings of a model's own


def test_c31_a_models_own_sampling_settings_are_ignored(shelf: Shelf) -> None:
    def fill(path: Path) -> None:
        model = random(1)
        settings: dict[str, Any] = {"do_sample": True, "temperature": 0.6, "top_k": 20, "repetition_penalty": 1.1}
        for name, value in settings.items():
            setattr(model.generation_config, name, value)
        save_model(path, model)

    own = shelf.folder("own sampling settings", fill)
    assert AutoModelForCausalLM.from_pretrained(own).generation_config.temperature == 0.6
    for settings in (setting(3), setting(3, 0.0)):
        with_own, without = (play(opened(f, f), "w3 w5", settings) for f in (own, shelf.random(1)))
        assert with_own.decisions() == without.decisions()
        assert with_own.header.config["temperature"] == settings.temperature
        assert with_own.header.config["top_k"] is None
        assert {round_.settings.temperature for round_ in with_own.rounds} == {settings.temperature}


# Several GPUs


@pytest.mark.parametrize(
    ("free", "draft", "target", "expected"),
    [
        ([80, 80], 10, 60, (0, 0)),
        ([80, 80], 20, 60, (1, 0)),
        ([24, 80], 10, 60, (0, 1)),
        ([24, 80], 22, 45, (1, 1)),
        ([80, 80], 10, 100, (0, None)),
        ([80, 80], 0, 73, (0, None)),
        ([80], 10, 100, (0, None)),
    ],
)
def test_gpus_are_shared_out(free: list[int], draft: int, target: int, expected: tuple[int, int | None]) -> None:
    assert assign_gpus([n * GB for n in free], draft * GB, target * GB) == expected


@pytest.fixture
def two_gpus(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    monkeypatch.setattr(devices, "free_bytes", lambda: [80 * GB, 70 * GB])


@pytest.mark.usefixtures("two_gpus")
@pytest.mark.parametrize(
    ("device", "draft_device", "size", "expected"),
    [
        ("auto", None, 10, ("cuda:0", "cuda:0", None)),
        ("auto", None, 30, ("cuda:0", "cuda:0", None)),
        ("auto", "cpu", 60, ("cpu", "cuda", {0: 72 * GB, 1: 63 * GB})),
        ("auto", None, 60, ("cuda:0", "cuda:0", {0: 72 * GB, 1: 63 * GB})),
        ("cuda:1", None, 60, ("cuda:1", "cuda:1", None)),
        ("cpu", "cuda:1", 10, ("cuda:1", "cpu", None)),
    ],
)
def test_a_target_is_spread_where_no_gpu_holds_it(
    device: str, draft_device: str | None, size: int, expected: tuple[str, str, dict[int, int] | None]
) -> None:
    draft, target = facts_of("bfloat16", 5 * 10**8), facts_of("bfloat16", size * 10**9)
    at_draft, at_target = placements(PairOptions(device=device, draft_device=draft_device), draft, target)
    assert at_draft is not None and str(at_draft.device) == expected[0]
    assert str(at_target.device).startswith(expected[1])
    assert (at_draft.spread, at_target.spread) == (None, expected[2])


class Loaded(Exception):
    """Stands for weights that were read."""


@pytest.fixture
def given(monkeypatch: pytest.MonkeyPatch) -> Callable[[Any, Placement], dict[str, Any]]:
    """What transformers is asked for."""

    class Model:
        def eval(self) -> "Model":
            return self

        def requires_grad_(self, _: bool) -> "Model":
            return self

        def to(self, _: torch.device) -> "Model":
            asked["moved"] = True
            return self

    asked: dict[str, Any] = {}

    def from_pretrained(_: str, **options: Any) -> tuple[Model, dict[str, list[str]]]:
        asked.update(options)
        return Model(), {"missing_keys": []}

    monkeypatch.setattr(AutoModelForCausalLM, "from_pretrained", from_pretrained)
    monkeypatch.setattr(weights, "is_accelerate_available", lambda: True)

    def load(facts: Any, placement: Placement) -> dict[str, Any]:
        facts.folder, facts.trusted = "x", False
        weights.load_weights(facts, placement)
        return asked

    return load


def test_a_spread_model_is_left_where_accelerate_puts_it(given: Callable[..., dict[str, Any]]) -> None:
    asked = given(facts_of("bfloat16", 10**9), Placement(GPU, torch.bfloat16, {0: 5, 1: 6}))
    assert (asked["device_map"], asked["max_memory"], "moved" in asked) == ("auto", {0: 5, 1: 6}, False)


@pytest.mark.parametrize(("device", "mapped"), [(GPU, True), (CPU, False)])
def test_a_quantised_checkpoint_is_neither_moved_nor_cast(
    given: Callable[..., dict[str, Any]], device: torch.device, mapped: bool
) -> None:
    facts = facts_of("float16", 10**9, "gptq")
    dtype = choose_dtype("auto", device, facts)
    asked = given(facts, Placement(device, dtype, as_stored=True))
    assert (asked["dtype"], "moved" in asked) == (torch.float16, False)
    assert asked.get("device_map") == ({"": device} if mapped else None)
    assert devices.dtype_label(SimpleNamespace(dtype=torch.float16, config=facts.config)) == "float16 gptq"


@pytest.mark.parametrize("accelerated", [True, False])
def test_weights_go_straight_to_the_device_where_accelerate_is_there(
    given: Callable[..., dict[str, Any]], accelerated: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(weights, "is_accelerate_available", lambda: accelerated)
    asked = given(facts_of("bfloat16", 10**9), Placement(GPU, torch.bfloat16))
    assert asked.get("device_map") == ({"": GPU} if accelerated else None)
    assert ("moved" in asked) is not accelerated


def test_quantised_checkpoints_take_what_they_take_on_disk() -> None:
    facts = facts_of("bfloat16", 10**9, "awq")
    assert devices.weight_bytes(facts, torch.float32) == devices.stored_bytes(facts)
    assert devices.weight_bytes(facts_of("bfloat16", 10**9), torch.float32) == 4 * 10**9


@pytest.mark.parametrize(
    ("placement", "why"),
    [
        (Placement(GPU, torch.bfloat16, {0: 5, 1: 6}), "needs 140 GB, more than any of the 2 GPUs has free"),
        (Placement(GPU, "auto", as_stored=True), "is quantised (gptq) and needs accelerate to load onto cuda:0"),
    ],
)
def test_without_accelerate_the_suggestion_is_to_install_it(
    given: Callable[..., dict[str, Any]], placement: Placement, why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(weights, "is_accelerate_available", lambda: False)
    facts = facts_of("bfloat16", 7 * 10**10, "gptq" if placement.as_stored else None)
    with pytest.raises(SpecvizError) as caught:
        given(facts, placement)
    assert str(caught.value) == (
        f"--target x {why}. Install accelerate (pip install accelerate), or choose a smaller model."
    )


def test_a_spread_model_says_over_what() -> None:
    model: Any = SimpleNamespace(hf_device_map={"a": 0, "b": 1, "c": 1}, device=GPU)
    assert devices.device_label(model) == "cuda:0+cuda:1"


# C54: weights that do not load


@pytest.mark.parametrize(
    ("error", "cause", "suggestion"),
    [
        (
            torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2 GiB"),
            "CUDA out of memory",
            "--draft-device cpu.",
        ),
        (ValueError("weights are torn"), "weights are torn", "that there is enough memory."),
        (ImportError("Loading an AWQ model needs gptqmodel"), "needs gptqmodel", "choose weights that do not need it."),
    ],
)
def test_c54_a_draft_that_does_not_load_is_named_with_the_cause(
    shelf: Shelf, error: Exception, cause: str, suggestion: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    drafts, targets = pair_of(shelf)

    def fail(*_: Any, **__: Any) -> None:
        raise error

    monkeypatch.setattr(AutoModelForCausalLM, "from_pretrained", fail)
    with pytest.raises(SpecvizError) as caught:
        opened(targets, drafts)
    message = str(caught.value)
    assert message.startswith(f"The weights of --draft {drafts} cannot be loaded ({type(error).__name__}): ")
    assert cause in message and message.endswith(suggestion)
