"""Packed weights: the same model but for the order of its sums, and only where that pays."""

import pytest
import torch
from torch import nn
from transformers import PreTrainedModel

from specviz.decoder.models import cpu_packing
from specviz.decoder.models.cpu_packing import PackedLinear, is_packed, pack
from tests.decoder.family_models import FAMILIES, random_of
from tests.decoder.models import Shelf, random
from tests.decoder.run_helpers import opened, play, setting

IDS = torch.tensor([[1, 5, 2, 7, 3, 3]])


def llama() -> PreTrainedModel:
    return random(3, family="llama")


def kinds(model: PreTrainedModel) -> set[type]:
    return {type(layer) for layer in model.modules() if isinstance(layer, nn.Linear)}


@torch.no_grad()
def test_every_linear_layer_is_packed_and_the_logits_stay() -> None:
    model = llama()
    before = model(IDS).logits
    assert pack(model) and is_packed(model)
    assert kinds(model) == {PackedLinear}
    torch.testing.assert_close(model(IDS).logits, before, rtol=1e-4, atol=1e-4)
    assert (model.dtype, model.device.type) == (torch.float32, "cpu")


@torch.no_grad()
def test_a_bias_is_added_and_a_tied_matrix_still_embeds() -> None:
    layer = nn.Linear(8, 16)
    rows = torch.linspace(-1, 1, 40).reshape(5, 8)
    torch.testing.assert_close(PackedLinear(layer)(rows), layer(rows))
    model = llama()
    embedding = model.get_input_embeddings().weight.clone()
    model.get_output_embeddings().weight = model.get_input_embeddings().weight
    before = model(IDS).logits
    pack(model)
    torch.testing.assert_close(model.get_input_embeddings().weight, embedding, rtol=0, atol=0)
    torch.testing.assert_close(model(IDS).logits, before, rtol=1e-4, atol=1e-4)


@torch.no_grad()
def test_large_models_and_other_numbers_stay_as_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    recurrent = random_of(FAMILIES["Jamba"])
    assert not pack(recurrent) and kinds(recurrent) == {nn.Linear}
    double = llama().double()
    assert not pack(double) and not is_packed(double)
    model = llama()
    monkeypatch.setattr(cpu_packing, "MAX_BYTES", sum(p.nbytes for p in model.parameters()) - 1)
    assert not pack(model) and not is_packed(model)
    assert pack(llama().bfloat16())


@pytest.mark.parametrize("build", ["without oneDNN", "without the kernel", "with a wrong kernel"])
def test_a_build_that_cannot_is_left_alone(build: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object) -> torch.Tensor:
        raise NotImplementedError("no such kernel")

    match build:
        case "without oneDNN":
            monkeypatch.setattr(torch.backends.mkldnn, "is_available", lambda: False)
        case "without the kernel":
            monkeypatch.setattr(PackedLinear, "forward", fails)
        case "with a wrong kernel":
            monkeypatch.setattr(PackedLinear, "forward", lambda self, rows: rows.new_ones(2, self.out_features))
    model = llama()
    assert not pack(model)
    assert kinds(model) == {nn.Linear}


def test_a_run_says_which_models_are_packed(shelf: Shelf, monkeypatch: pytest.MonkeyPatch) -> None:
    target, draft = shelf.random(1, family="llama"), shelf.random(2, family="gpt2")
    packed = play(opened(target, draft, max_new_tokens=8), "w3", setting(3), seed=9)
    assert packed.header.config["packed"] == ["draft", "target"]
    monkeypatch.setattr(cpu_packing, "MAX_BYTES", 0)
    plain = play(opened(target, draft, max_new_tokens=8), "w3", setting(3), seed=9)
    assert plain.header.config["packed"] == []
    assert plain.ids == packed.ids
