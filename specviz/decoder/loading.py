"""Loading the weights of a pair: devices, dtypes, progress, and quiet libraries."""

import os
import threading
import warnings
from collections.abc import Callable, Iterator, Sized
from contextlib import contextmanager
from typing import Any

import torch
import tqdm  # type: ignore[import-untyped]
import transformers
from transformers import AutoModelForCausalLM, PreTrainedModel

from specviz.decoder.reading import ModelFacts
from specviz.errors import SpecvizError
from specviz.events import Progress, Stage
from specviz.source import Emit

SMALL = 1_000_000_000
"""Parameters of both models together up to which a CPU run uses float32 whatever the checkpoint holds."""
DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}


def quiet_libraries() -> None:
    """Keep transformers, the hub client and warnings off the terminal; progress is shown from our own events."""
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    transformers.utils.logging.set_verbosity_error()
    tqdm.tqdm.set_lock(threading.RLock())  # its own lock asks for a multiprocessing one, which needs a real stderr
    warnings.filterwarnings("ignore", module=r"(transformers|torch)(\.|$)")


def leave_a_core() -> int:
    """Give torch all cores but one, which draws the screen; OMP_NUM_THREADS wins. Returns the number of threads."""
    if "OMP_NUM_THREADS" not in os.environ:
        torch.set_num_threads(max(1, _cores() - 1))
    return torch.get_num_threads()


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def choose_device(asked: str) -> torch.device:
    """``auto``: cuda, else mps, else cpu. Raises SpecvizError for a device that is not there."""
    if asked == "auto":
        best = "cuda" if torch.cuda.is_available() else "mps" if torch.backends.mps.is_available() else "cpu"
        return torch.device(best)
    try:
        device = torch.device(asked)
    except RuntimeError:
        raise SpecvizError(
            f"--device {asked}: there is no such kind of device. Use auto, cpu, cuda, cuda:N or mps."
        ) from None
    present = {
        "cpu": True,
        "cuda": torch.cuda.is_available() and (device.index or 0) < torch.cuda.device_count(),
        "mps": torch.backends.mps.is_available(),
    }
    if not present.get(device.type, False):
        raise SpecvizError(f"--device {asked}: there is no such device here. Use --device auto or cpu.")
    return device


def choose_dtype(asked: str, device: torch.device, models: list[ModelFacts]) -> torch.dtype:
    """The dtype of both models' weights. ``auto``: the target checkpoint's own on a GPU; on a CPU float32, or
    bfloat16 for a large bfloat16 checkpoint where the processor computes in it."""
    if asked != "auto":
        return DTYPES[asked]
    stored = getattr(models[-1].config, "dtype", None) or torch.float32
    if device.type != "cpu":
        return stored if isinstance(stored, torch.dtype) else torch.float32
    if stored == torch.bfloat16 and _computes_in_bfloat16() and sum(map(n_parameters, models)) > SMALL:
        return torch.bfloat16
    return torch.float32


def _computes_in_bfloat16() -> bool:
    probe = getattr(torch.ops.mkldnn, "_is_mkldnn_bf16_supported", None)
    return bool(probe and probe())


def n_parameters(facts: ModelFacts) -> int:
    """The number of parameters a config stands for, without reading any."""
    with torch.device("meta"):
        return int(AutoModelForCausalLM.from_config(facts.config, trust_remote_code=facts.trusted).num_parameters())


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
def reported(stage: Stage, emit: Emit) -> Iterator[None]:
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


def load_weights(facts: ModelFacts, device: torch.device, dtype: torch.dtype) -> PreTrainedModel:
    """The model of ``facts`` on ``device``, ready to infer. Raises SpecvizError that names it and the cause."""
    try:
        model = AutoModelForCausalLM.from_pretrained(
            facts.place,
            dtype=dtype,
            trust_remote_code=facts.trusted,
            use_safetensors=facts.weights.format == "safetensors",
        )
        return model.to(device).eval().requires_grad_(False)
    except Exception as error:
        reason = (str(error).strip().splitlines() or [type(error).__name__])[0].rstrip(".")
        raise SpecvizError(
            f"The weights of --{facts.role} {facts.name} cannot be loaded ({type(error).__name__}): {reason}. "
            "Check that the folder or download is complete, and that there is memory for it."
        ) from error
