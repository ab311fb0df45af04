"""The rate and remaining time of a download, from its progress events and a clock."""

import time
from collections import deque
from collections.abc import Callable

from specviz.core.events import Progress
from specviz.core.units import bytes_in_words, seconds_in_words

WINDOW_S = 8.0
"""Seconds that the rate is averaged over."""
MIN_S = 0.5


class DownloadRate:
    """Fed with every Progress; the rate is bytes per second over the last seconds of one stage."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._seen: deque[tuple[float, int]] = deque()
        self._last: Progress | None = None

    def see(self, progress: Progress) -> None:
        if self._last is None or self._last.stage != progress.stage or progress.done < self._last.done:
            self._seen.clear()
        if progress is not self._last:
            self._seen.append((self._clock(), progress.done))
            while self._seen[-1][0] - self._seen[0][0] > WINDOW_S and len(self._seen) > 2:
                self._seen.popleft()
        self._last = progress

    @property
    def rate(self) -> float | None:
        """Bytes per second; None before it can be measured."""
        if len(self._seen) < 2:
            return None
        seconds = self._seen[-1][0] - self._seen[0][0]
        came = self._seen[-1][1] - self._seen[0][1]
        return came / seconds if seconds >= MIN_S and came > 0 else None

    def words(self) -> str:
        """Rate and time left, where known, and the file: 4.2 MB/s, 8 min left, model.safetensors."""
        progress, rate = self._last, self.rate
        if progress is None:
            return ""
        parts = [progress.detail]
        if rate and progress.unit == "bytes" and progress.total and progress.done < progress.total:
            left = (progress.total - progress.done) / rate
            parts = [f"{bytes_in_words(rate)}/s", f"{seconds_in_words(left)} left", progress.detail]
        return ", ".join(part for part in parts if part)
