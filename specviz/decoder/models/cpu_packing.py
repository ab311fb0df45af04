"""Weights of small models on a CPU, repacked for blocks of a few ids.

PyTorch's CPU matrix kernels are tuned for one row or for many: verifying five ids took 1.4 times as long as one. With
weights in oneDNN's own layout, nine rows take about as long as one.
"""

from collections.abc import Mapping

import torch
from torch import Tensor, nn
from transformers import PreTrainedModel

from specviz.decoder.models.cache_support import CROP, rollback_method

MAX_BYTES = 2**28
"""Models up to this size are packed: that takes well under a second and shortens every round."""


class PackedLinear(nn.Linear):
    """A linear layer [..., in] -> [..., out] whose ``weight`` is in oneDNN's own layout. For inference only."""

    def __init__(self, plain: nn.Linear) -> None:
        nn.Module.__init__(self)
        self.in_features, self.out_features = plain.in_features, plain.out_features
        self.weight = nn.Parameter(torch.ops.mkldnn._reorder_linear_weight(plain.weight.detach()), requires_grad=False)
        self.bias = plain.bias

    def forward(self, rows: Tensor) -> Tensor:
        out: Tensor = torch.ops.mkldnn._linear_pointwise(rows, self.weight, self.bias, "none", [], "")
        return out


@torch.no_grad()
def pack(model: PreTrainedModel) -> bool:
    """Pack the linear layers of ``model``; whether that was possible. Not possible: a large model, another device than
    a CPU, a dtype without oneDNN kernels, a family that reads the weights of its layers directly, a build of PyTorch
    without oneDNN. Outputs stay the same up to the order of summation."""
    plain = {name: layer for name, layer in model.named_modules() if type(layer) is nn.Linear}
    if not plain or not _worth_it(model):
        return False
    try:
        before = _logits(model)
        _replace(model, {name: PackedLinear(layer) for name, layer in plain.items()})
        tolerance = 1e-3 if before.dtype == torch.float32 else 0.05
        same = torch.allclose(_logits(model), before, rtol=tolerance, atol=tolerance)
    except Exception:  # whatever a model or build may raise
        same = False
    if not same:
        _replace(model, plain)
    return same


def is_packed(model: PreTrainedModel) -> bool:
    return any(isinstance(layer, PackedLinear) for layer in model.modules())


def _worth_it(model: PreTrainedModel) -> bool:
    parameters = list(model.parameters())
    return (
        torch.backends.mkldnn.is_available()  # type: ignore[no-untyped-call]
        and rollback_method(model.config, type(model)) is CROP
        and all(p.device.type == "cpu" and p.dtype in (torch.float32, torch.bfloat16) for p in parameters)
        and sum(p.nbytes for p in parameters) <= MAX_BYTES
    )


def _replace(model: PreTrainedModel, layers: Mapping[str, nn.Linear]) -> None:
    for name, layer in layers.items():
        parent, _, child = name.rpartition(".")
        setattr(model.get_submodule(parent), child, layer)


def _logits(model: PreTrainedModel) -> Tensor:
    logits: Tensor = model(input_ids=torch.tensor([[0, 1]])).logits
    return logits
