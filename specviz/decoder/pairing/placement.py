"""The device and the dtype of each model of a pair, chosen from their configurations before any weights are read."""

import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import torch

from specviz.core.errors import SpecvizError
from specviz.core.options import PairOptions
from specviz.decoder.pairing.model_info import ModelFiles

SMALL_MODEL = 300_000_000
"""Parameters up to which a model runs in float32 on a CPU, whatever the dtype of its checkpoint."""
WEIGHT_FRACTION = 0.9
"""The share of a GPU's free memory for weights; caches and logits need the rest."""
DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}


@dataclass(frozen=True, slots=True)
class Placement:
    """Where a model runs. ``dtype`` "auto": that of its checkpoint. ``spread``: the bytes its weights may take on each
    GPU, if it does not fit on one; its ids still go to ``device``. ``as_stored``: quantised, never cast."""

    device: torch.device
    dtype: torch.dtype | Literal["auto"]
    spread: Mapping[int, int] | None = None
    as_stored: bool = False


def placements(
    options: PairOptions, draft: ModelFiles | None, target: ModelFiles
) -> tuple[Placement | None, Placement]:
    """The placements of the draft, if there is one, and of the target. Raises SpecvizError for a missing device."""
    device = choose_device(options.device)
    draft_device = choose_device(options.draft_device, "--draft-device") if options.draft_device is not None else device
    dtype = choose_dtype(options.dtype, device, target)
    spread = None
    if options.device == "auto" and device.type == "cuda" and torch.cuda.device_count() > 1:
        draft_bytes = weight_bytes(draft, choose_dtype(options.dtype, draft_device, draft)) if draft else 0
        target_bytes = weight_bytes(target, dtype)
        free = free_bytes()
        if options.draft_device is None:
            draft_gpu, gpu = assign_gpus(free, draft_bytes, target_bytes)
            draft_device = torch.device("cuda", draft_gpu)
        else:
            _, gpu = assign_gpus(free, 0, target_bytes)
        if gpu is None:
            device, spread = torch.device("cuda", 0), {gpu: int(n * WEIGHT_FRACTION) for gpu, n in enumerate(free)}
        else:
            device = torch.device("cuda", gpu)
    for_target = Placement(device, dtype, spread, quantisation(target.config) is not None)
    if draft is None:
        return None, for_target
    draft_dtype = choose_dtype(options.dtype, draft_device, draft)
    return Placement(draft_device, draft_dtype, None, quantisation(draft.config) is not None), for_target


def choose_device(requested: str, option: str = "--device") -> torch.device:
    """``auto``: cuda, else mps, else cpu. Raises SpecvizError for a missing device."""
    if requested == "auto":
        best = "cuda" if torch.cuda.is_available() else "mps" if torch.backends.mps.is_available() else "cpu"
        return torch.device(best)
    try:
        device = torch.device(requested)
    except RuntimeError:
        raise SpecvizError(f"{option} {requested} is not a valid device. Use auto, cpu, cuda, cuda:N or mps.") from None
    present = {
        "cpu": True,
        "cuda": torch.cuda.is_available() and (device.index or 0) < torch.cuda.device_count(),
        "mps": torch.backends.mps.is_available(),
    }
    if not present.get(device.type, False):
        raise SpecvizError(f"{option} {requested}: this machine has no such device. Use {option} auto or cpu.")
    return device


def choose_dtype(requested: str, device: torch.device, facts: ModelFiles) -> torch.dtype | Literal["auto"]:
    """The dtype of a model's weights. ``auto``: on a GPU, and for quantised weights, that of the checkpoint; on a CPU
    float32, or bfloat16 for a larger bfloat16 checkpoint if the processor supports it."""
    if requested != "auto":
        return DTYPES[requested]
    stored = stored_dtype(facts.config)
    if device.type != "cpu" or quantisation(facts.config):
        return stored or "auto"
    if stored == torch.bfloat16 and computes_in_bfloat16() and n_parameters(facts) > SMALL_MODEL:
        return torch.bfloat16
    return torch.float32


def assign_gpus(free: Sequence[int], draft: int, target: int) -> tuple[int, int | None]:
    """The GPUs of draft and target, by the bytes they need and the ``free`` bytes of each GPU. Both go on the first if
    they fit, else on two different ones, else on another one together, else the draft goes on the first and the target
    (None) is split over all."""
    room = [n * WEIGHT_FRACTION for n in free]
    if draft + target <= room[0]:
        return 0, 0
    by_room = sorted(range(len(room)), key=lambda gpu: -room[gpu])
    for target_gpu in by_room:
        for draft_gpu in by_room:
            if draft_gpu != target_gpu and target <= room[target_gpu] and draft <= room[draft_gpu]:
                return draft_gpu, target_gpu
    for gpu in by_room:
        if draft + target <= room[gpu]:
            return gpu, gpu
    return 0, None


def free_bytes() -> list[int]:
    """Free memory of each GPU."""
    return [int(torch.cuda.mem_get_info(gpu)[0]) for gpu in range(torch.cuda.device_count())]


def weight_bytes(facts: ModelFiles, dtype: torch.dtype | Literal["auto"]) -> int:
    """The memory that the weights take: their size on disk, scaled if the dtype changes."""
    stored = stored_dtype(facts.config)
    if stored is None or dtype == "auto" or quantisation(facts.config):
        return stored_bytes(facts)
    return stored_bytes(facts) * dtype.itemsize // stored.itemsize


def n_parameters(facts: ModelFiles) -> int:
    """The number of parameters, from the size of the checkpoint."""
    return stored_bytes(facts) // (stored_dtype(facts.config) or torch.float32).itemsize


def stored_bytes(facts: ModelFiles) -> int:
    return sum(facts.location.files.get(name, 0) for name in facts.weights.files)


def stored_dtype(config: Any) -> torch.dtype | None:
    """The dtype of the checkpoint according to the configuration."""
    for part in (config, config.get_text_config(decoder=True)):
        dtype = getattr(part, "dtype", None)
        if isinstance(dtype, str):
            dtype = getattr(torch, dtype.removeprefix("torch."), None)
        if isinstance(dtype, torch.dtype):
            return dtype
    return None


def device_label(model: Any) -> str:
    """The device of a loaded model, or the devices it is split over."""
    spread = getattr(model, "hf_device_map", None) or {}
    names = [f"cuda:{device}" if isinstance(device, int) else str(device) for device in spread.values()]
    return "+".join(dict.fromkeys(names)) or str(model.device)


def dtype_label(model: Any) -> str:
    """The dtype a loaded model computes in, and its quantisation method if there is one."""
    return " ".join(filter(None, (str(model.dtype).removeprefix("torch."), quantisation(model.config))))


def quantisation(config: Any) -> str | None:
    """The quantisation method of a checkpoint, None if it is not quantised."""
    settings = getattr(config, "quantization_config", None)
    if settings is None:
        return None
    method = settings.get("quant_method") if isinstance(settings, dict) else getattr(settings, "quant_method", None)
    return str(getattr(method, "value", method) or "quantised")


def computes_in_bfloat16() -> bool:
    """Whether the processor has bfloat16 instructions; without them it is slower than float32."""
    if platform.machine().lower() in ("x86_64", "amd64"):
        probes = [getattr(torch.cpu, name, None) for name in ("_is_avx512_bf16_supported", "_is_amx_tile_supported")]
    else:
        probes = [getattr(torch.ops.mkldnn, "_is_mkldnn_bf16_supported", None)]
    return any(bool(probe()) for probe in probes if probe is not None)
