"""Times on a device that may work behind the host's back."""

import time
from collections.abc import Callable
from itertools import pairwise
from statistics import median

import torch


class Laps:
    """Milliseconds between marks. On CUDA marks are events, and reading waits for the last of them."""

    def __init__(self, device: torch.device) -> None:
        self._device = device
        self._times: list[float] = []
        self._events: list[torch.cuda.Event] = []
        self.mark()

    def mark(self) -> None:
        if self._device.type == "cuda":
            event = torch.cuda.Event(enable_timing=True)  # type: ignore[no-untyped-call]
            event.record(torch.cuda.current_stream(self._device))
            self._events.append(event)
            return
        if self._device.type == "mps":
            torch.mps.synchronize()
        self._times.append(time.perf_counter())

    def read(self) -> list[float]:
        """The laps so far, in milliseconds."""
        if self._device.type == "cuda":
            self._events[-1].synchronize()
            return [float(a.elapsed_time(b)) for a, b in pairwise(self._events)]
        return [(b - a) * 1e3 for a, b in pairwise(self._times)]


def median_ms(
    device: torch.device, step: Callable[[], None], repeats: int, stopped: Callable[[], bool]
) -> float | None:
    """Median time of ``step``, one discarded call first. None once stopped."""
    step()
    times = []
    for _ in range(repeats):
        if stopped():
            return None
        laps = Laps(device)
        step()
        laps.mark()
        times += laps.read()
    return median(times)
