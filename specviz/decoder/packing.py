"""Weights of small models on a CPU, laid out anew for blocks of a few ids.

The matrix kernels of PyTorch on a CPU are made for one row or for many: verifying five ids took 1.4 times a step of
one. oneDNN reads a matrix that it has laid out itself in about the same time for one row as for nine.
"""

import torch
from torch import Tensor, nn
from transformers import PreTrainedModel

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
    """Let the linear layers of ``model`` be packed, one after the other; whether that was possible.

    It is not where the model is large, not on a CPU, in numbers oneDNN has no kernels for, or in a build of PyTorch
    without it. What a layer gives stays the same up to the order of its sums.
    """
    found = [(name, layer) for name, layer in model.named_modules() if type(layer) is nn.Linear]
    if not found or not _worth_it(model) or not _works(found[0][1]):
        return False
    for name, layer in found:
        parent, _, child = name.rpartition(".")
        setattr(model.get_submodule(parent), child, PackedLinear(layer))
    return True


def is_packed(model: PreTrainedModel) -> bool:
    return any(isinstance(layer, PackedLinear) for layer in model.modules())


def _worth_it(model: PreTrainedModel) -> bool:
    parameters = list(model.parameters())
    return (
        all(p.device.type == "cpu" and p.dtype in (torch.float32, torch.bfloat16) for p in parameters)
        and sum(p.nbytes for p in parameters) <= MOST_BYTES
    )


def _works(layer: nn.Linear) -> bool:
    """Whether a packed ``layer`` says what it says itself."""
    if not torch.backends.mkldnn.is_available():  # type: ignore[no-untyped-call]
        return False
    rows = torch.linspace(-1, 1, 2 * layer.in_features).reshape(2, -1).to(layer.weight.dtype)
    try:
        return torch.allclose(PackedLinear(layer)(rows), layer(rows), rtol=0.05, atol=0.05)
    except (AttributeError, NotImplementedError, RuntimeError):
        return False
