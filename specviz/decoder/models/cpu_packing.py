"""Weights of small models on a CPU, laid out anew for blocks of a few ids.

The matrix kernels of PyTorch on a CPU are made for one row or for many: verifying five ids took 1.4 times a step of
one. oneDNN reads a matrix that it has laid out itself in about the same time for one row as for nine.
"""

from collections.abc import Mapping

import torch
from torch import Tensor, nn
from transformers import PreTrainedModel

from specviz.decoder.models.cache_support import CROP, rollback_method

MOST_BYTES = 2**28
"""Models up to this size are packed: it takes well under a second, behind which every round is shorter."""


class PackedLinear(nn.Linear):
    """A linear layer [..., in] -> [..., out] whose ``weight`` is in oneDNN's own layout. It only infers."""

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
    """Let the linear layers of ``model`` be packed; whether that was possible.

    It is not where the model is large, not on a CPU, in numbers oneDNN has no kernels for, of a family that reads the
    weights of its layers itself, or in a build of PyTorch without oneDNN. What a layer gives stays the same up to the
    order of its sums.
    """
    plain = {name: layer for name, layer in model.named_modules() if type(layer) is nn.Linear}
    if not plain or not _worth_it(model):
        return False
    try:
        before = _logits(model)
        _put(model, {name: PackedLinear(layer) for name, layer in plain.items()})
        close = 1e-3 if before.dtype == torch.float32 else 0.05
        same = torch.allclose(_logits(model), before, rtol=close, atol=close)
    except Exception:  # each model and build fails in a way of its own
        same = False
    if not same:
        _put(model, plain)
    return same


def is_packed(model: PreTrainedModel) -> bool:
    return any(isinstance(layer, PackedLinear) for layer in model.modules())


def _worth_it(model: PreTrainedModel) -> bool:
    parameters = list(model.parameters())
    return (
        torch.backends.mkldnn.is_available()  # type: ignore[no-untyped-call]
        and rollback_method(model.config, type(model)) is CROP
        and all(p.device.type == "cpu" and p.dtype in (torch.float32, torch.bfloat16) for p in parameters)
        and sum(p.nbytes for p in parameters) <= MOST_BYTES
    )


def _put(model: PreTrainedModel, layers: Mapping[str, nn.Linear]) -> None:
    for name, layer in layers.items():
        parent, _, child = name.rpartition(".")
        setattr(model.get_submodule(parent), child, layer)


def _logits(model: PreTrainedModel) -> Tensor:
    logits: Tensor = model(input_ids=torch.tensor([[0, 1]])).logits
    return logits
