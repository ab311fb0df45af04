"""Compiling the forward of a model while it is loaded, where that is possible; why not, where it is not."""

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
"""Sizes of the blocks that are fed to compare the compiled forward with the model itself."""
MAX_CPU_BYTES = 2**30
"""Bytes of weights beyond which minutes of compiling gained nothing on a CPU (1.5 billion parameters in bfloat16: 890
instead of 896 ms a round)."""
TOLERANCE, TOLERANCE_16_BIT = 1e-3, 0.2
"""Largest difference of a probability, in float32 and in 16-bit dtypes."""


class CannotCompile(Exception):
    """The reason, as the end of a sentence, and a suggestion where there is one."""


def compile_models(models: Sequence[CausalModel], requested: bool | None, emit: Emit) -> tuple[str, ...]:
    """Compile ``models``; with ``requested`` None on CUDA only. Returns why those that cannot be are not. A model that
    cannot be compiled runs as it is. Models that share their weights share the graph."""
    selected = [model for model in models if requested or (requested is None and model.device.type == "cuda")]
    failures: dict[str, None] = {}

    def report(failure: str) -> None:
        if failure not in failures:
            emit(Notice(failure))
        failures[failure] = None

    for done, model in enumerate(selected):
        if (missing := missing_toolchain(model.device)) is not None:
            report(f"Nothing is compiled for {model.device.type}: {missing}")
            continue
        emit(Progress("compiling", done, len(selected), "models"))
        twin = next((other for other in selected[:done] if other.model is model.model and other.compiled), None)
        try:
            _compile(model, twin)
        except CannotCompile as reason:
            report(f"The {model.role} {model.name} is not compiled: {reason}")
    return tuple(failures)


def _compile(model: CausalModel, twin: CausalModel | None) -> None:
    """Raises CannotCompile."""
    if (reason := uncompilable_reason(model)) is not None:
        raise CannotCompile(reason)
    try:
        expected = _trial(model)
        if twin is not None and twin.compiled is not None:
            model.compiled = twin.compiled.empty_copy()
        else:
            cache = StaticKVCache(len(DynamicCache(config=model.model.config).layers))
            model.compiled = CompiledForward(model.model, model.vocab_size, cache)
        compiled = _trial(model)
        for size in model.compiled.sizes:
            for _ in range(2):  # the second call records a CUDA graph
                model.reset()
                model.feed([0] * min(size, model.context), keep=1)
    except Exception as error:  # whatever a compiler may raise
        model.compiled = None
        raise CannotCompile(_failure(error)) from error
    finally:
        model.reset()
    tolerance = TOLERANCE if model.dtype.itemsize > 2 else TOLERANCE_16_BIT
    difference = float((expected.softmax(-1) - compiled.softmax(-1)).abs().max())
    if not difference <= tolerance:
        model.compiled = None
        model.reset()
        raise CannotCompile(f"its compiled probabilities differ from the originals by {difference:.2g}.")


def uncompilable_reason(model: CausalModel, max_cpu_bytes: int = MAX_CPU_BYTES) -> str | None:
    """Why the forward of ``model`` cannot be compiled; None if it can."""
    module: Any = model.model
    if (reason := config_uncompilable_reason(module.config, module)) is not None:
        return reason
    if len(set((getattr(module, "hf_device_map", None) or {}).values())) > 1:
        return "it is split over several devices."
    if getattr(module.config, "_attn_implementation", None) != "sdpa":
        return "its attention is not PyTorch's (sdpa)."
    if model.device.type == "cpu" and (size := sum(weight.nbytes for weight in module.parameters())) > max_cpu_bytes:
        return f"on a CPU, steps with {bytes_in_words(size)} of weights are limited by reading them, compiled or not."
    if model.context < sum(TRIAL):
        return f"its context of {model.context} positions is too short for the trial."
    return None


def config_uncompilable_reason(config: Any, module: Any = None) -> str | None:
    """The same from the configuration alone; ``module``: the model, if it is loaded."""
    kind = None if module is None else type(module)
    layers = DynamicCache(config=config).layers if rollback_method(config, kind) is CROP else []
    if not layers or any(type(layer) is not DynamicLayer for layer in layers):
        return "its cache does not hold exactly the keys and values of the whole text."
    if kind is not None and not kind.__module__.startswith("transformers."):
        return "it runs custom code, and only models of transformers are compiled."
    if (method := quantisation(config)) is not None:
        return f"its weights are quantised ({method})."
    return None


def missing_toolchain(device: torch.device) -> str | None:
    """What this machine lacks to compile for ``device``, checked quickly; None if nothing."""
    if device.type == "cuda":
        from torch.utils._triton import has_triton

        return (
            None if has_triton() else "Triton is not available. Install it (pip install triton), or pass --no-compile."
        )
    if device.type != "cpu":
        return f"only CPU and CUDA are supported, not {device.type}."
    from torch._inductor import cpp_builder

    try:
        cpp_builder.get_cpp_compiler()
    except Exception:
        variable = f" ({os.environ['CXX']}, from the variable CXX, does not work)" if os.environ.get("CXX") else ""
        return f"there is no C++ compiler{variable}. Install g++ or clang++, or omit --compile."
    if not Path(sysconfig.get_path("include"), "Python.h").exists():
        return "the Python headers are missing. Install them (python3-dev), or omit --compile."
    return None


def _trial(model: CausalModel) -> Tensor:
    """Shifted logits of a made-up text, fed in blocks."""
    model.reset()
    ids = [(7 * i + 3) % model.vocab_size for i in range(sum(TRIAL))]
    model.prefill(ids[: TRIAL[0]])
    return torch.cat([model.feed(ids[model.length : model.length + n], keep=n) for n in TRIAL[1:]])


def _failure(error: Exception) -> str:
    """The line of a compiler's error that says what is wrong, or the first."""
    lines = [line.strip() for line in str(error).strip().splitlines() if line.strip()]
    line = next((line for line in lines if "error:" in line), (lines or ["no message"])[0]).rstrip(".:")
    return f"compiling it failed ({type(error).__name__}: {line[:200]})."
