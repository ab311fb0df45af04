"""How much memory a stretch of work takes at most."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import torch


@contextmanager
def peak(device: torch.device) -> Iterator[Callable[[], int | None]]:
    """A function that says how many bytes were in use at most since the block began.

    On CUDA those that tensors take on ``device``; else those of the whole process, which only Linux counts anew.
    """
    if device.type == "cuda":
        torch.cuda.reset_peak_memory_stats(device)
        yield lambda: torch.cuda.max_memory_allocated(device)
        return
    counts = False
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")
        counts = True
    yield lambda: _high_water() if counts else None


def _high_water() -> int | None:
    with suppress(OSError, StopIteration):
        lines = Path("/proc/self/status").read_text().splitlines()
        return int(next(line for line in lines if line.startswith("VmHWM")).split()[1]) << 10
    return None
