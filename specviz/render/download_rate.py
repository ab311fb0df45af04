"""How fast a download comes and when it will be there, from what was told of it and a clock."""

import time
from collections import deque
from collections.abc import Callable

from specviz.core.events import Progress
from specviz.core.units import bytes_in_words, seconds_in_words

WINDOW_S = 8.0
"""The rate is that of the last seconds: long enough to be steady, short enough to follow the network."""
LEAST_S = 0.5


class DownloadRate:
    """Takes every Progress as it comes; the rate is bytes a second over the last seconds of one stage."""

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
        """Bytes a second; None before there is anything to tell it from."""
        if len(self._seen) < 2:
            return None
        seconds = self._seen[-1][0] - self._seen[0][0]
        came = self._seen[-1][1] - self._seen[0][1]
        return came / seconds if seconds >= LEAST_S and came > 0 else None

    def words(self) -> str:
        """Rate and time left as far as they are known, and the file: 4.2 MB/s, 8 min left, model.safetensors."""
        progress, rate = self._last, self.rate
        if progress is None:
            return ""
        parts = [progress.detail]
        if rate and progress.unit == "bytes" and progress.total and progress.done < progress.total:
            left = (progress.total - progress.done) / rate
            parts = [f"{bytes_in_words(rate)}/s", f"{seconds_in_words(left)} left", progress.detail]
        return ", ".join(part for part in parts if part)
