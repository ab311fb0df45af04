"""Loading the weights of a pair: progress, and quiet libraries."""

import os
import threading
import warnings
from collections.abc import Callable, Iterator, Sized
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
from specviz.decoder.checkpoints.hub import fetch, refuse_without_room
from specviz.decoder.loading.mapped_weights import mapped_singly
from specviz.decoder.models.cache_support import unsupported_reason
from specviz.decoder.pairing.model_info import ModelFiles
from specviz.decoder.pairing.placement import Placement, placements, quantisation, weight_bytes


def quiet_libraries() -> None:
    """Keep transformers, the hub client and warnings off the terminal; progress is shown from our own events."""
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    transformers.utils.logging.set_verbosity_error()
    tqdm.tqdm.set_lock(threading.RLock())  # its own lock asks for a multiprocessing one, which needs a real stderr
    warnings.filterwarnings("ignore", module=r"(transformers|torch)(\.|$)")


def reserve_ui_core() -> int:
    """Give torch all cores but one, which draws the screen; OMP_NUM_THREADS wins. Returns the number of threads."""
    if "OMP_NUM_THREADS" not in os.environ:
        torch.set_num_threads(max(1, _cores() - 1))
    return torch.get_num_threads()


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class _SilentBar:
    """Stands in for a progress bar and tells ``report`` (done, total) instead."""

    def __init__(
        self, report: Callable[[int, int | None], None], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> None:
        self._iterable: Any = args[0] if args else kwargs.get("iterable")
        size = len(self._iterable) if isinstance(self._iterable, Sized) else None
        self.total: int | None = kwargs.get("total") or size
        self.n = 0
        self._report = report
        report(0, self.total)

    def __iter__(self) -> Iterator[Any]:
        for item in self._iterable or ():
            yield item
            self.update(1)

    def __enter__(self) -> "_SilentBar":
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def update(self, n: int = 1) -> None:
        self.n += n
        self._report(self.n, self.total)

    def __getattr__(self, _: str) -> Callable[..., None]:
        return lambda *args, **kwargs: None


@contextmanager
def report_tqdm_as_progress(stage: Stage, emit: Emit) -> Iterator[None]:
    """Turn the progress bars that transformers makes inside into Progress events of ``stage``."""
    emit(Progress(stage))

    def report(done: int, total: int | None) -> None:
        emit(Progress(stage, done, total, "tensors"))

    hook = transformers.utils.logging.set_tqdm_hook
    before = hook(lambda _factory, args, kwargs: _SilentBar(report, args, kwargs))
    try:
        yield
    finally:
        hook(before)


def can_preload(files: ModelFiles) -> bool:
    """Whether the weights can be read while it is still found out whether the pair is one: where nothing has to be
    brought for it, and no Python of the model's own is run."""
    return files.is_here and not files.code and not unsupported_reason(files.config)


def load_weights_of(
    draft: ModelFiles | None, target: ModelFiles, options: PairOptions, emit: Emit
) -> tuple[PreTrainedModel | None, PreTrainedModel]:
    """Draft, if there is one, and target, each where it is to run; one set of weights where both are the same model in
    the same location.

    One behind the other: transformers reads each with several threads, and builds it under settings of the whole
    process (the default dtype, for one), which two at once would take from each other.
    """
    at_draft, at_target = placements(options, draft, target)
    refuse_without_room([model.to_fetch for model in (draft, target) if model])

    def weights(of: ModelFiles, placement: Placement) -> PreTrainedModel:
        fetch(*of.to_fetch, of.role, emit)
        with report_tqdm_as_progress(of.role, emit):
            return load_weights(of, placement)

    if draft is None or at_draft is None:
        return None, weights(target, at_target)
    first = weights(draft, at_draft)
    one, other = ((of.folder, of.revision) for of in (draft, target))
    same = one == other and at_draft == at_target
    return first, first if same else weights(target, at_target)


def load_weights(files: ModelFiles, placement: Placement) -> PreTrainedModel:
    """The model of ``files`` where it is to run, ready to infer. Raises SpecvizError that names it and the cause."""
    given: dict[str, Any] = {}
    if placement.spread is not None:
        given = {"device_map": "auto", "max_memory": dict(placement.spread)}
    elif placement.device.type != "cpu" and (placement.as_stored or is_accelerate_available()):
        given = {"device_map": {"": placement.device}}
    if given and not is_accelerate_available():
        raise SpecvizError(_without_accelerate(files, placement))
    try:
        with _reader_for(placement, onto_device=bool(given)):
            model, found = AutoModelForCausalLM.from_pretrained(
                files.folder,
                dtype=placement.dtype,
                trust_remote_code=files.trusted,
                use_safetensors=files.weights.format == "safetensors",
                output_loading_info=True,
                **given,
            )
        if not (given or placement.as_stored):
            model = model.to(placement.device)
        model = model.eval().requires_grad_(False)
    except Exception as error:
        reason = (str(error).strip().splitlines() or [type(error).__name__])[0].rstrip(".!")
        if "ignore_mismatched_sizes" in reason:  # its words speak of an option and of a report that nobody sees
            reason = "they have other shapes than its config.json says"
        raise SpecvizError(
            f"The weights of --{files.role} {files.name} cannot be loaded ({type(error).__name__}): {reason}. "
            f"{_suggestion(files.role, error)}"
        ) from error
    if missing := sorted(found["missing_keys"]):  # transformers would go on with random ones
        raise SpecvizError(
            f"The weights of --{files.role} {files.name} are incomplete: {len(missing)} are missing, "
            f"first {missing[0]}. Check that the folder or download is complete and holds the whole model."
        )
    return model


def _reader_for(placement: Placement, *, onto_device: bool) -> AbstractContextManager[None]:
    """How the tensors of a file are to be read; quantised ones as transformers does it."""
    if placement.as_stored or placement.dtype == "auto":
        return nullcontext()
    return mapped_singly(None if onto_device else placement.dtype)


def _without_accelerate(files: ModelFiles, placement: Placement) -> str:
    size = bytes_in_words(weight_bytes(files, placement.dtype))
    if placement.spread is None:
        why = f"is quantised ({quantisation(files.config)}) and goes onto {placement.device} by way of accelerate"
    else:
        why = f"needs {size}, more than one of the {len(placement.spread)} GPUs has free"
    return f"--{files.role} {files.name} {why}. Install accelerate (pip install accelerate), or choose a smaller model."


def _suggestion(role: str, error: Exception) -> str:
    if isinstance(error, ImportError):
        return "Install what it asks for, or choose weights that do without."
    if isinstance(error, MemoryError | torch.OutOfMemoryError):
        device = "--draft-device cpu" if role == "draft" else "--device cpu"
        return f"Choose a smaller model, --dtype bfloat16, or {device}."
    return "Check that the folder or download is complete, and that there is memory for it."
