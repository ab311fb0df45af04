"""Loading the weights of a pair, with progress and without output from libraries."""

import os
import threading
import warnings
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

import torch
import tqdm  # type: ignore[import-untyped]
import transformers
from transformers import AutoModelForCausalLM, PreTrainedModel
from transformers.utils import is_accelerate_available

from specviz.core.errors import SpecvizError
from specviz.core.events import Progress, Stage
from specviz.core.options import PairOptions
from specviz.core.source import Emit
from specviz.core.units import bytes_in_words
from specviz.decoder.checkpoints.download import SilentBar
from specviz.decoder.checkpoints.hub import check_disk_space, fetch
from specviz.decoder.loading.mapped_weights import map_per_tensor
from specviz.decoder.models.cache_support import unsupported_reason
from specviz.decoder.pairing.model_info import ModelFiles
from specviz.decoder.pairing.placement import Placement, placements, quantisation, weight_bytes


def quiet_libraries() -> None:
    """Keep transformers, the hub client and warnings off the terminal; progress is shown from events."""
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    transformers.utils.logging.set_verbosity_error()
    tqdm.tqdm.set_lock(threading.RLock())  # the default lock is a multiprocessing one, which needs a real stderr
    warnings.filterwarnings("ignore", module=r"(transformers|torch)(\.|$)")


def reserve_ui_core() -> int:
    """Give torch all cores but one, which is for the screen, unless OMP_NUM_THREADS is set. Returns torch's threads."""
    if "OMP_NUM_THREADS" not in os.environ:
        cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
        torch.set_num_threads(max(1, cores - 1))
    return torch.get_num_threads()


@contextmanager
def report_tqdm_as_progress(stage: Stage, emit: Emit) -> Iterator[None]:
    """Turn the progress bars of transformers inside the block into Progress events of ``stage``."""
    emit(Progress(stage))

    def bar(_factory: object, args: tuple[Any, ...], options: dict[str, Any]) -> SilentBar:
        made = SilentBar(lambda _, total: emit(Progress(stage, made.n, total, "tensors")), *args, **options)
        emit(Progress(stage, 0, made.total, "tensors"))
        return made

    hook = transformers.utils.logging.set_tqdm_hook
    previous = hook(bar)
    try:
        yield
    finally:
        hook(previous)


def can_preload(files: ModelFiles) -> bool:
    """Whether the weights can be read while the pair is still being checked: no download, no custom code."""
    return files.is_local and not files.code and not unsupported_reason(files.config)


def load_weights_of(
    draft: ModelFiles | None, target: ModelFiles, options: PairOptions, emit: Emit
) -> tuple[PreTrainedModel | None, PreTrainedModel]:
    """The draft, if there is one, and the target, each on its device; one set of weights where both are the same model
    on the same device. One after the other: transformers reads each with several threads, and sets process-wide options
    such as the default dtype while it builds a model."""
    at_draft, at_target = placements(options, draft, target)
    check_disk_space([model.to_fetch for model in (draft, target) if model])

    def weights(of: ModelFiles, placement: Placement) -> PreTrainedModel:
        fetch(*of.to_fetch, of.role, emit)
        with report_tqdm_as_progress(of.role, emit):
            return load_weights(of, placement)

    if draft is None or at_draft is None:
        return None, weights(target, at_target)
    first = weights(draft, at_draft)
    same_files = (draft.folder, draft.revision) == (target.folder, target.revision)
    same = same_files and at_draft == at_target
    return first, first if same else weights(target, at_target)


def load_weights(files: ModelFiles, placement: Placement) -> PreTrainedModel:
    """The model of ``files`` on its device, in inference mode. Raises SpecvizError with its name and the cause."""
    device_map: dict[str, Any] = {}
    if placement.spread is not None:
        device_map = {"device_map": "auto", "max_memory": dict(placement.spread)}
    elif placement.device.type != "cpu" and (placement.as_stored or is_accelerate_available()):
        device_map = {"device_map": {"": placement.device}}
    if device_map and not is_accelerate_available():
        raise SpecvizError(_without_accelerate(files, placement))
    try:
        with _reader_for(placement, onto_device=bool(device_map)):
            model, loading_info = AutoModelForCausalLM.from_pretrained(
                files.folder,
                dtype=placement.dtype,
                trust_remote_code=files.trusted,
                use_safetensors=files.weights.format == "safetensors",
                output_loading_info=True,
                **device_map,
            )
        if not (device_map or placement.as_stored):
            model = model.to(placement.device)
        model = model.eval().requires_grad_(False)
    except Exception as error:
        reason = (str(error).strip().splitlines() or [type(error).__name__])[0].rstrip(".!")
        if "ignore_mismatched_sizes" in reason:  # the message names an option and a report that users cannot see
            reason = "their shapes do not match its config.json"
        raise SpecvizError(
            f"The weights of --{files.role} {files.name} cannot be loaded ({type(error).__name__}): {reason}. "
            f"{_suggestion(files.role, error)}"
        ) from error
    if missing := sorted(loading_info["missing_keys"]):  # transformers would initialise them at random
        raise SpecvizError(
            f"The weights of --{files.role} {files.name} are incomplete: {len(missing)} missing, "
            f"the first is {missing[0]}. Check that the folder or download holds the complete model."
        )
    return model


def _reader_for(placement: Placement, *, onto_device: bool) -> AbstractContextManager[None]:
    """How the tensors of a file are read; quantised ones are left to transformers."""
    if placement.as_stored or placement.dtype == "auto":
        return nullcontext()
    return map_per_tensor(None if onto_device else placement.dtype)


def _without_accelerate(files: ModelFiles, placement: Placement) -> str:
    size = bytes_in_words(weight_bytes(files, placement.dtype))
    if placement.spread is None:
        why = f"is quantised ({quantisation(files.config)}) and needs accelerate to load onto {placement.device}"
    else:
        why = f"needs {size}, more than any of the {len(placement.spread)} GPUs has free"
    return f"--{files.role} {files.name} {why}. Install accelerate (pip install accelerate), or choose a smaller model."


def _suggestion(role: str, error: Exception) -> str:
    if isinstance(error, ImportError):
        return "Install the missing package, or choose weights that do not need it."
    if isinstance(error, MemoryError | torch.OutOfMemoryError):
        device = "--draft-device cpu" if role == "draft" else "--device cpu"
        return f"Choose a smaller model, --dtype bfloat16, or {device}."
    return "Check that the folder or download is complete and that there is enough memory."
