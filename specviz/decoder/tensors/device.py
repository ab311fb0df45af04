"""Between host and device: transfers, times and memory."""

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import torch
from numpy.typing import ArrayLike
from torch import Tensor


def decision_device(device: torch.device) -> torch.device:
    """Where a round of a model on ``device`` accepts and resamples: the host for MPS, which has no float64."""
    return torch.device("cpu") if device.type == "mps" else device


def to_device(values: ArrayLike, device: torch.device) -> Tensor:
    """``values`` of the host on ``device``, without waiting for it."""
    tensor = torch.as_tensor(values)
    return tensor.pin_memory().to(device, non_blocking=True) if device.type == "cuda" else tensor.to(device)


def to_host(parts: Mapping[str, Tensor]) -> dict[str, Any]:
    """``parts``, all on one device and exact in float64, as nested lists under the same names. This is the one transfer
    of a round; it waits for the device once."""
    flat = torch.cat([part.flatten().double() for part in parts.values()]).cpu().numpy()
    lists, start = {}, 0
    for name, part in parts.items():
        end = start + part.numel()
        values = flat[start:end].reshape(part.shape)
        if not part.is_floating_point():
            values = values.astype(np.bool_ if part.dtype == torch.bool else np.int64)
        lists[name] = values.tolist()
        start = end
    return lists


class StageTimer:
    """Times the stages of a round, on CUDA by events, so that only reading waits for the device."""

    def __init__(self, device: torch.device) -> None:
        self._device = device
        self._times: list[float] = []
        self._events: list[torch.cuda.Event] = []
        self.lap()

    def lap(self) -> None:
        """End a stage and begin the next."""
        if self._device.type == "cuda":
            event = torch.cuda.Event(enable_timing=True)  # type: ignore[no-untyped-call]
            event.record(torch.cuda.current_stream(self._device))
            self._events.append(event)
            return
        if self._device.type == "mps":
            torch.mps.synchronize()
        self._times.append(time.perf_counter())

    def stages_ms(self, n: int) -> list[float]:
        """Milliseconds of each of ``n`` stages, over all the times that they were run through."""
        laps = self.read_ms()
        return [sum(laps[stage::n]) for stage in range(n)]

    def read_ms(self) -> list[float]:
        """Milliseconds of each stage."""
        if self._device.type == "cuda":
            self._events[-1].synchronize()
            return [float(a.elapsed_time(b)) for a, b in pairwise(self._events)]
        return [(b - a) * 1e3 for a, b in pairwise(self._times)]


def median_ms(
    device: torch.device, step: Callable[[], None], repeats: int, stopped: Callable[[], bool]
) -> float | None:
    """Median milliseconds of ``step``, without its first call. None once stopped."""
    step()
    times = []
    for _ in range(repeats):
        if stopped():
            return None
        timer = StageTimer(device)
        step()
        timer.lap()
        times += timer.read_ms()
    return median(times)


@contextmanager
def peak_memory(device: torch.device) -> Iterator[Callable[[], int | None]]:
    """A function that returns the most bytes in use since the block began, None if unknown. On CUDA the bytes of
    tensors on ``device``, otherwise of the whole process, whose peak only Linux can reset."""
    if device.type == "cuda":
        torch.cuda.reset_peak_memory_stats(device)
        yield lambda: torch.cuda.max_memory_allocated(device)
        return
    was_reset = False
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")
        was_reset = True
    yield lambda: _process_peak() if was_reset else None


def _process_peak() -> int | None:
    with suppress(OSError, StopIteration):
        lines = Path("/proc/self/status").read_text().splitlines()
        return int(next(line for line in lines if line.startswith("VmHWM")).split()[1]) << 10
    return None
