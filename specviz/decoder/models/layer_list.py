"""The layers of a decoder as a list: running only the first of them (early exit), and what that costs."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch.nn import Module, ModuleList
from transformers import AutoModelForCausalLM


@dataclass(frozen=True, slots=True)
class LayerList:
    """The layers of a model, which are the attribute ``name`` of ``owner``."""

    owner: Module
    name: str

    @property
    def modules(self) -> ModuleList:
        modules = getattr(self.owner, self.name)
        assert isinstance(modules, ModuleList)
        return modules

    def __len__(self) -> int:
        return len(self.modules)

    @contextmanager
    def only_first(self, n: int) -> Iterator[None]:
        """Inside, the model has only its first ``n`` layers, followed by the final norm and the output layer."""
        modules = self.modules
        setattr(self.owner, self.name, modules[:n])
        try:
            yield
        finally:
            setattr(self.owner, self.name, modules)


def find_layers(model: Module, config: Any) -> LayerList | None:
    """The layers of a decoder; None unless they are a single list of the length that ``config`` gives."""
    count = getattr(config.get_text_config(decoder=True), "num_hidden_layers", None)
    names: list[str] = []
    for name, module in model.named_modules():
        nested = any(name.startswith(f"{outer}.") for outer in names)
        if isinstance(module, ModuleList) and len(module) == count and not nested:
            names.append(name)
    if len(names) != 1:
        return None
    owner, _, name = names[0].rpartition(".")
    return LayerList(model.get_submodule(owner), name)


def without_weights(config: Any, *, trusted: bool) -> Module:
    """The model of ``config``, its parameters on the meta device."""
    with torch.device("meta"):
        model: Module = AutoModelForCausalLM.from_config(config, trust_remote_code=trusted)
    return model


def exit_costs(model: Module, layers: LayerList) -> tuple[float, ...]:
    """A step of all layers over a step of the first 1, 2, ... of them, output layer included, by parameter counts.
    Embeddings that are looked up, not multiplied, do not count."""
    per_layer = [sum(p.numel() for p in layer.parameters()) for layer in layers.modules]
    head = model.get_output_embeddings()  # type: ignore[operator]
    fixed = sum(p.numel() for p in head.parameters()) if isinstance(head, Module) else 0
    shares = [(fixed + sum(per_layer[: n + 1])) / (fixed + sum(per_layer)) for n in range(len(per_layer))]
    return tuple(1 / share for share in shares)
