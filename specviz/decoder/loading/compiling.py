"""Whether a model's forward can be compiled here, and compiling it: a stage of loading, which may fail in words."""

import os
import sysconfig
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from transformers import DynamicCache
from transformers.cache_utils import DynamicLayer

from specviz.core.events import Notice, Progress
from specviz.core.source import Emit
from specviz.core.units import bytes_in_words
from specviz.decoder.models.cache_support import CROP, rollback_method
from specviz.decoder.models.causal_model import CausalModel
from specviz.decoder.models.compiled_forward import CompiledForward
from specviz.decoder.models.static_cache import StaticKVCache
from specviz.decoder.pairing.placement import quantisation

TRIAL = 12, 5, 1, 2
"""So many ids are fed one after another to compare the compiled forward with the model itself."""
LARGEST_ON_CPU = 2**30
"""Bytes of weights beyond which minutes of compiling gained nothing on a CPU (1.5 billion in bfloat16: 890 ms a round
for 896)."""
CLOSE, CLOSE_IN_HALVES = 1e-3, 0.2
"""By so much probabilities may differ, in float32 and in dtypes of 16 bits."""


class CannotCompile(Exception):
    """Why, in a sentence without its beginning, and the way out."""


def compile_models(models: Sequence[CausalModel], asked: bool | None, emit: Emit) -> tuple[str, ...]:
    """Compile what can be compiled of ``models``; ``asked`` None: on CUDA only. What could not be, in sentences.

    A model that cannot goes on as it is. Models that share their weights share the graph.
    """
    wanted = [model for model in models if asked or (asked is None and model.device.type == "cuda")]
    told: dict[str, None] = {}

    def tell(sentence: str) -> None:
        if sentence not in told:
            emit(Notice(sentence))
        told[sentence] = None

    for done, model in enumerate(wanted):
        if (missing := what_is_missing(model.device)) is not None:
            tell(f"Nothing is compiled for {model.device.type}: {missing}")
            continue
        emit(Progress("compiling", done, len(wanted), "models"))
        twin = next((other for other in wanted[:done] if other.model is model.model and other.compiled), None)
        try:
            _compile(model, twin)
        except CannotCompile as why:
            tell(f"The {model.role} {model.name} is not compiled: {why}")
    return tuple(told)


def _compile(model: CausalModel, twin: CausalModel | None) -> None:
    """Raises CannotCompile."""
    if (why := why_not(model)) is not None:
        raise CannotCompile(why)
    try:
        expected = _trial(model)
        if twin is not None and twin.compiled is not None:
            model.compiled = twin.compiled.empty_copy()
        else:
            cache = StaticKVCache(len(DynamicCache(config=model.model.config).layers))
            model.compiled = CompiledForward(model.model, model.vocab_size, cache)
        found = _trial(model)
        for size in model.compiled.sizes:
            for _ in range(2):  # a CUDA graph is recorded by the second call
                model.reset()
                model.feed([0] * min(size, model.context), keep=1)
    except Exception as error:  # compilers fail in ways of their own
        model.compiled = None
        raise CannotCompile(_in_words(error)) from error
    finally:
        model.reset()
    bound = CLOSE if model.dtype.itemsize > 2 else CLOSE_IN_HALVES
    apart = float((expected.softmax(-1) - found.softmax(-1)).abs().max())
    if not apart <= bound:
        model.compiled = None
        model.reset()
        raise CannotCompile(f"its compiled probabilities differ from its own by {apart:.2g}.")


def why_not(model: CausalModel) -> str | None:
    """Why the forward of ``model`` is of a kind that is not compiled."""
    module: Any = model.model
    if (why := why_not_of(module.config, module)) is not None:
        return why
    if len(set((getattr(module, "hf_device_map", None) or {}).values())) > 1:
        return "it is spread over several devices."
    if getattr(module.config, "_attn_implementation", None) != "sdpa":
        return "its attention is not torch's own (sdpa)."
    if model.device.type == "cpu" and (size := sum(weight.nbytes for weight in module.parameters())) > LARGEST_ON_CPU:
        return f"on a CPU a step of its {bytes_in_words(size)} of weights is reading them, compiled or not."
    if model.context < sum(TRIAL):
        return f"its context of {model.context} positions is too short to try."
    return None


def why_not_of(config: Any, module: Any = None) -> str | None:
    """The same as far as a configuration tells it; ``module``: what runs it, where that is known."""
    kind = None if module is None else type(module)
    layers = DynamicCache(config=config).layers if rollback_method(config, kind) is CROP else []
    if not layers or any(type(layer) is not DynamicLayer for layer in layers):
        return "it remembers more than keys and values of its whole text, or less."
    if kind is not None and not kind.__module__.startswith("transformers."):
        return "its code came with it, and only models of transformers are compiled."
    if (method := quantisation(config)) is not None:
        return f"its weights are quantised ({method})."
    return None


def what_is_missing(device: torch.device) -> str | None:
    """What a machine lacks to compile for ``device``, found out in no time."""
    if device.type == "cuda":
        from torch.utils._triton import has_triton

        return (
            None if has_triton() else "Triton does not run here. Install it (pip install triton), or pass --no-compile."
        )
    if device.type != "cpu":
        return f"compiling is for CPUs and CUDA, not for {device.type}."
    from torch._inductor import cpp_builder

    try:
        cpp_builder.get_cpp_compiler()
    except Exception:
        named = f" ({os.environ['CXX']}, from the variable CXX, does not run)" if os.environ.get("CXX") else ""
        return f"there is no C++ compiler{named}. Install g++ or clang++, or leave --compile out."
    if not Path(sysconfig.get_path("include"), "Python.h").exists():
        return "the headers of Python are missing. Install them (python3-dev), or leave --compile out."
    return None


def _trial(model: CausalModel) -> Tensor:
    """Shifted logits behind a made-up text, fed in blocks."""
    model.reset()
    ids = [(7 * i + 3) % model.vocab_size for i in range(sum(TRIAL))]
    model.prefill(ids[: TRIAL[0]])
    return torch.cat([model.feed(ids[model.length : model.length + n], keep=n) for n in TRIAL[1:]])


def _in_words(error: Exception) -> str:
    """The line of what a compiler raised that says what was wrong, else the first."""
    lines = [line.strip() for line in str(error).strip().splitlines() if line.strip()]
    line = next((line for line in lines if "error:" in line), (lines or ["without a word"])[0]).rstrip(".:")
    return f"compiling it failed ({type(error).__name__}: {line[:200]})."
