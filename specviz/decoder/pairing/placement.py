"""Where the models of a pair run, and in which dtype: decided from their configurations, before a weight is read."""

import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import torch

from specviz.core.errors import SpecvizError
from specviz.core.options import PairOptions
from specviz.decoder.pairing.model_info import ModelFiles

SMALL = 300_000_000
"""Parameters up to which a model on a CPU runs in float32, whatever its checkpoint holds."""
WEIGHT_FRACTION = 0.9
"""The part of a GPU's free memory that weights may take; caches and logits need the rest."""
DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}


@dataclass(frozen=True, slots=True)
class Placement:
    """Where a model runs. ``dtype`` "auto": as its checkpoint has it. ``spread``: bytes of each GPU its weights may
    take, where one GPU does not hold them; ids still go in at ``device``. ``as_stored``: quantised, never cast."""

    device: torch.device
    dtype: torch.dtype | Literal["auto"]
    spread: Mapping[int, int] | None = None
    as_stored: bool = False


def placements(
    options: PairOptions, draft: ModelFiles | None, target: ModelFiles
) -> tuple[Placement | None, Placement]:
    """Of the draft, if there is one, and of the target. Raises SpecvizError for a device that is not there."""
    device = choose_device(options.device)
    own = choose_device(options.draft_device, "--draft-device") if options.draft_device is not None else device
    dtype = choose_dtype(options.dtype, device, target)
    spread = None
    if options.device == "auto" and device.type == "cuda" and torch.cuda.device_count() > 1:
        need_of_draft = weight_bytes(draft, choose_dtype(options.dtype, own, draft)) if draft else 0
        need = need_of_draft, weight_bytes(target, dtype)
        free = free_bytes()
        if options.draft_device is None:
            own_gpu, gpu = assign_gpus(free, *need)
            own = torch.device("cuda", own_gpu)
        else:
            _, gpu = assign_gpus(free, 0, need[1])
        if gpu is None:
            device, spread = torch.device("cuda", 0), {at: int(n * WEIGHT_FRACTION) for at, n in enumerate(free)}
        else:
            device = torch.device("cuda", gpu)
    at_target = Placement(device, dtype, spread, quantisation(target.config) is not None)
    if draft is None:
        return None, at_target
    own_dtype = choose_dtype(options.dtype, own, draft)
    return Placement(own, own_dtype, None, quantisation(draft.config) is not None), at_target


def choose_device(asked: str, option: str = "--device") -> torch.device:
    """``auto``: cuda, else mps, else cpu. Raises SpecvizError for a device that is not there."""
    if asked == "auto":
        best = "cuda" if torch.cuda.is_available() else "mps" if torch.backends.mps.is_available() else "cpu"
        return torch.device(best)
    try:
        device = torch.device(asked)
    except RuntimeError:
        raise SpecvizError(
            f"{option} {asked}: there is no such kind of device. Use auto, cpu, cuda, cuda:N or mps."
        ) from None
    present = {
        "cpu": True,
        "cuda": torch.cuda.is_available() and (device.index or 0) < torch.cuda.device_count(),
        "mps": torch.backends.mps.is_available(),
    }
    if not present.get(device.type, False):
        raise SpecvizError(f"{option} {asked}: there is no such device here. Use {option} auto or cpu.")
    return device


def choose_dtype(asked: str, device: torch.device, facts: ModelFiles) -> torch.dtype | Literal["auto"]:
    """The dtype of a model's weights. ``auto``: the checkpoint's own on a GPU and where it is quantised; on a CPU
    float32, or bfloat16 for a bfloat16 checkpoint that is not small where the processor computes in it."""
    if asked != "auto":
        return DTYPES[asked]
    stored = stored_dtype(facts.config)
    if device.type != "cpu" or quantisation(facts.config):
        return stored or "auto"
    if stored == torch.bfloat16 and computes_in_bfloat16() and n_parameters(facts) > SMALL:
        return torch.bfloat16
    return torch.float32


def assign_gpus(free: Sequence[int], draft: int, target: int) -> tuple[int, int | None]:
    """On which of several GPUs draft and target go, by the bytes they need: both on the first if they fit, else each
    on one of its own, else the draft on the first and the target (None) over all of them."""
    room = [n * WEIGHT_FRACTION for n in free]
    if draft + target <= room[0]:
        return 0, 0
    by_room = sorted(range(len(room)), key=lambda gpu: -room[gpu])
    for at_target in by_room:
        for at_draft in by_room:
            if at_draft != at_target and target <= room[at_target] and draft <= room[at_draft]:
                return at_draft, at_target
    for gpu in by_room:
        if draft + target <= room[gpu]:
            return gpu, gpu
    return 0, None


def free_bytes() -> list[int]:
    """Free memory of each GPU."""
    return [int(torch.cuda.mem_get_info(gpu)[0]) for gpu in range(torch.cuda.device_count())]


def weight_bytes(facts: ModelFiles, dtype: torch.dtype | Literal["auto"]) -> int:
    """What the weights take in memory: as much as on disk, but for another dtype."""
    stored = stored_dtype(facts.config)
    if stored is None or dtype == "auto" or quantisation(facts.config):
        return stored_bytes(facts)
    return stored_bytes(facts) * dtype.itemsize // stored.itemsize


def n_parameters(facts: ModelFiles) -> int:
    """From the size of the checkpoint."""
    return stored_bytes(facts) // (stored_dtype(facts.config) or torch.float32).itemsize


def stored_bytes(facts: ModelFiles) -> int:
    return sum(facts.location.files.get(name, 0) for name in facts.weights.files)


def stored_dtype(config: Any) -> torch.dtype | None:
    """The dtype a configuration says its checkpoint has."""
    for part in (config, config.get_text_config(decoder=True)):
        dtype = getattr(part, "dtype", None)
        if isinstance(dtype, str):
            dtype = getattr(torch, dtype.removeprefix("torch."), None)
        if isinstance(dtype, torch.dtype):
            return dtype
    return None


def device_label(model: Any) -> str:
    """The device of a loaded model, or the devices it is spread over."""
    spread = getattr(model, "hf_device_map", None) or {}
    names = [f"cuda:{device}" if isinstance(device, int) else str(device) for device in spread.values()]
    return "+".join(dict.fromkeys(names)) or str(model.device)


def dtype_label(model: Any) -> str:
    """The dtype a loaded model computes in, and the method its weights are quantised by if they are."""
    return " ".join(filter(None, (str(model.dtype).removeprefix("torch."), quantisation(model.config))))


def quantisation(config: Any) -> str | None:
    """The method a checkpoint is quantised by."""
    found = getattr(config, "quantization_config", None)
    if found is None:
        return None
    method = found.get("quant_method") if isinstance(found, dict) else getattr(found, "quant_method", None)
    return str(getattr(method, "value", method) or "quantised")


def computes_in_bfloat16() -> bool:
    """Whether the processor has instructions for it; where it has not, bfloat16 is slower than float32."""
    if platform.machine().lower() in ("x86_64", "amd64"):
        probes = [getattr(torch.cpu, name, None) for name in ("_is_avx512_bf16_supported", "_is_amx_tile_supported")]
    else:
        probes = [getattr(torch.ops.mkldnn, "_is_mkldnn_bf16_supported", None)]
    return any(bool(probe()) for probe in probes if probe is not None)
