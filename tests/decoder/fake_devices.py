"""Devices that are not there: tensors of the CPU that say they are elsewhere, and refuse to meet others."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode
from torch.utils._pytree import tree_leaves

CPU = torch.device("cpu")
ONE, OTHER = torch.device("xpu:0"), torch.device("xpu:1")
"""A device type that no code treats specially."""


def device_of(tensor: Tensor) -> torch.device:
    return getattr(tensor, "_device", CPU)


def move(model: nn.Module, device: torch.device) -> None:
    for tensor in (*model.parameters(), *model.buffers()):
        tensor._device = device  # type: ignore[attr-defined]


class Elsewhere(TorchFunctionMode):
    """While it is entered, every operation on tensors of two devices raises, as CUDA would; numbers of no dimension
    on the CPU may meet any. ``crossings``: the explicit transfers, as (from, to)."""

    def __init__(self) -> None:
        super().__init__()
        self.crossings: list[tuple[torch.device, torch.device]] = []

    def __torch_function__(self, func: Any, types: Any, args: Sequence[Any] = (), kwargs: Any = None) -> Any:
        kwargs = dict(kwargs or {})
        if func == torch.Tensor.device.__get__:
            return device_of(args[0])
        tensors = [leaf for leaf in tree_leaves((args, kwargs)) if isinstance(leaf, Tensor)]
        wanted = None
        if func in (torch.Tensor.to, torch.Tensor.cpu):
            wanted = CPU if func is torch.Tensor.cpu else _device(args[1:], kwargs)
            args = [args[0], *(CPU if _is_device(arg) else arg for arg in args[1:])]
            tensors = tensors[:1]
        elif kwargs.get("device") is not None:
            wanted = torch.device(kwargs["device"])
        if kwargs.get("device") is not None:
            kwargs["device"] = CPU
        devices = {device_of(t) for t in tensors if t.dim() or device_of(t) != CPU} or {CPU}
        if len(devices) > 1:
            raise AssertionError(f"{func.__name__} meets tensors on {sorted(map(str, devices))}")
        (device,) = devices
        out = func(*args, **kwargs)
        if wanted is not None and tensors and wanted != device:
            self.crossings.append((device, wanted))
            out = out.clone()
        for leaf in tree_leaves(out):
            if isinstance(leaf, Tensor):
                leaf._device = wanted or device  # type: ignore[attr-defined]
        return out


def _is_device(value: Any) -> bool:
    return isinstance(value, str | torch.device)


def _device(args: Sequence[Any], kwargs: dict[str, Any]) -> torch.device | None:
    for value in (*args, kwargs.get("device")):
        if _is_device(value):
            return torch.device(value)
        if isinstance(value, Tensor):
            return device_of(value)
    return None
