"""Loading: progress as events, libraries kept off the terminal, dtypes and devices, and weights that cannot be used."""

import shutil
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

from specviz.core.errors import SpecvizError
from specviz.core.events import Progress
from specviz.core.options import PairOptions
from specviz.decoder.pairing.placement import choose_device
from tests.decoder.models import Shelf, everywhere, random, save_model, scripted
from tests.decoder.run_helpers import greedy, opened, play, setting


def test_progress_is_reported_by_stage(shelf: Shelf) -> None:
    said = [event for event in opened(shelf.random(1), shelf.noisy(1, 0.1)).said if isinstance(event, Progress)]
    assert list(dict.fromkeys(event.stage for event in said)) == ["files", "tokenizer", "draft", "target"]
    for stage in ("draft", "target"):
        counted = [event for event in said if event.stage == stage and event.total]
        assert counted
        assert (counted[-1].done, counted[-1].unit) == (counted[-1].total, "tensors")
        assert [event.done for event in counted] == sorted(event.done for event in counted)


def half(shelf: Shelf) -> str:
    """A checkpoint in float16."""
    return shelf.folder("float16", lambda path: save_model(path, random(1).half()))


def test_c30_half_precision_checkpoints_run_in_float32_on_a_cpu(shelf: Shelf) -> None:
    pair = opened(half(shelf), shelf.random(2), max_new_tokens=4)
    assert (pair.pair.draft.dtype, pair.pair.target.dtype) == (torch.float32, torch.float32)
    assert play(pair, "w3").header.config["dtype"] == "float32"


def test_c30_a_dtype_that_is_asked_for_wins(shelf: Shelf) -> None:
    pair = opened(half(shelf), max_new_tokens=4, dtype="bfloat16")
    run = play(pair, "w3 w5", setting(2))
    assert run.header.config["dtype"] == "bfloat16"
    for token in (token for round_ in run.rounds for token in round_.drafted):
        assert sum(candidate.prob for candidate in token.p_top) <= 1 + 1e-6


@pytest.mark.parametrize(("asked", "text"), [("cuda:99", "no such device"), ("gpu", "not a valid device")])
def test_a_missing_device(asked: str, text: str) -> None:
    with pytest.raises(SpecvizError, match=text) as error:
        choose_device(asked)
    assert f"--device {asked}" in str(error.value)


def copied(shelf: Shelf, tmp_path: Path) -> Path:
    return Path(shutil.copytree(shelf.random(1, family="llama"), tmp_path / "copy"))


def test_weights_that_are_not_there_or_broken(shelf: Shelf, tmp_path: Path) -> None:
    folder = copied(shelf, tmp_path)
    weights = folder / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:1000])
    with pytest.raises(SpecvizError, match=f"weights of --draft {folder} cannot be loaded"):
        opened(shelf.random(1), str(folder))
    weights.unlink()
    with pytest.raises(SpecvizError, match=f"--target {folder} has a config.json but no weights"):
        opened(str(folder), shelf.random(1))


def test_weights_that_are_incomplete_are_no_random_ones(shelf: Shelf, tmp_path: Path) -> None:
    folder = copied(shelf, tmp_path)
    tensors = load_file(folder / "model.safetensors")
    del tensors["model.layers.0.mlp.up_proj.weight"]
    save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(SpecvizError, match=r"1 missing, the first is model\.layers\.0\.mlp\.up_proj\.weight"):
        opened(shelf.random(1), str(folder))


def broken_at(shelf: Shelf, position: int) -> str:
    """A model whose logits are NaN from ``position`` on."""

    def fill(folder: Path) -> None:
        model = scripted(everywhere([0.4, 0.3, 0.2, 0.1], 48))
        with torch.no_grad():
            model.transformer.wpe.weight[position, 0] = float("nan")
        save_model(folder, model)

    return shelf.folder(("broken", position), fill)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@pytest.mark.parametrize("role", ["draft", "target"])
def test_logits_that_are_not_finite_end_the_run_with_a_message(shelf: Shelf, role: str, dtype: str) -> None:
    healthy = shelf.scripted(everywhere([0.4, 0.3, 0.2, 0.1], 48))
    broken = broken_at(shelf, 10)
    names = {"draft": healthy, "target": healthy, role: broken}
    pair = opened(names["target"], names["draft"], dtype=dtype)
    with pytest.raises(
        SpecvizError, match=rf"^Round 4: The logits of the {role} .* in {dtype} are not finite"
    ) as error:
        play(pair, "w1", setting(2, 0.0))
    assert broken in str(error.value)
    assert ("--dtype float32" in str(error.value)) == (dtype != "float32")
    assert error.value.exit_code == 2


def test_logits_that_are_not_finite_in_the_prompt(shelf: Shelf) -> None:
    with pytest.raises(SpecvizError, match=r"^Before round 1: The logits of the target .* in float32 are not finite"):
        play(opened(broken_at(shelf, 1), shelf.scripted(everywhere([0.4, 0.3, 0.2, 0.1], 48))), "w1 w2 w3", setting(2))


def test_a_run_after_a_failed_one_is_sound(shelf: Shelf) -> None:
    folder = broken_at(shelf, 10)
    pair = opened(folder, max_new_tokens=6)
    before = play(pair, "w1", setting(2, 0.0))
    with pytest.raises(SpecvizError):
        play(pair, "w1 w1 w1 w1 w1 w1 w1 w1", setting(2, 0.0))
    assert play(pair, "w1", setting(2, 0.0)).decisions() == before.decisions()
    assert before.ids == greedy(folder, before.prompt, 6)


def test_the_header_names_what_a_run_depends_on(shelf: Shelf) -> None:
    target, draft = shelf.random(1), shelf.random(2)
    config = play(opened(target, draft, max_new_tokens=3, stop=("x",)), "w3", setting(3, top_k=5), seed=9).header.config
    assert {"torch", "transformers", "tokenizers", "numpy", "python"} <= set(config["versions"])
    assert (config["target"], config["draft"], config["seed"], config["k"], config["top_k"]) == (target, draft, 9, 3, 5)
    assert (config["device"], config["threads"], config["stop"]) == ("cpu", 1, ["x"])
    assert config["attention"] in ("sdpa", "eager")
    assert PairOptions().draft == "bundled:draft"
