"""The layers of a model as a list: where it is, what it costs, and the model with the first few of them alone."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch.nn import Module, ModuleList
from transformers import AutoModelForCausalLM


@dataclass(frozen=True, slots=True)
class LayerList:
    """The list of a model's layers: what it is an attribute of, and under which name."""

    owner: Module
    name: str

    @property
    def layers(self) -> ModuleList:
        layers = getattr(self.owner, self.name)
        assert isinstance(layers, ModuleList)
        return layers

    def __len__(self) -> int:
        return len(self.layers)

    @contextmanager
    def only_first(self, n: int) -> Iterator[None]:
        """Inside, the model has its first ``n`` layers, the final norm and the head behind them."""
        layers = self.layers
        setattr(self.owner, self.name, layers[:n])
        try:
            yield
        finally:
            setattr(self.owner, self.name, layers)


def find_layers(model: Module, config: Any) -> LayerList | None:
    """The layers of a decoder; None unless they are one list, as long as the configuration says."""
    count = getattr(config.get_text_config(decoder=True), "num_hidden_layers", None)
    found: list[str] = []
    for name, module in model.named_modules():
        nested = any(name.startswith(f"{outer}.") for outer in found)
        if isinstance(module, ModuleList) and len(module) == count and not nested:
            found.append(name)
    if len(found) != 1:
        return None
    owner, _, name = found[0].rpartition(".")
    return LayerList(model.get_submodule(owner), name)


def skeleton(config: Any, *, trusted: bool = False) -> Module:
    """The model of ``config`` without any weights."""
    with torch.device("meta"):
        model: Module = AutoModelForCausalLM.from_config(config, trust_remote_code=trusted)
    return model


def exit_shares(model: Module, stack: LayerList) -> list[float]:
    """For N = 1, 2, ... up to all layers: which part of what a step reads the first N of them need, with the head.

    By numbers of parameters. Embeddings that are looked up, not multiplied, do not count; the head does.
    """
    per_layer = [sum(p.numel() for p in layer.parameters()) for layer in stack.layers]
    head = model.get_output_embeddings()  # type: ignore[operator]
    fixed = sum(p.numel() for p in head.parameters()) if isinstance(head, Module) else 0
    whole = fixed + sum(per_layer)
    return [(fixed + sum(per_layer[: n + 1])) / whole for n in range(len(per_layer))]
