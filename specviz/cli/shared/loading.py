"""Loading a pair: a source that imports the decoder when opened, so that the screen appears first, and progress on
stderr."""

import gc
import math
import os
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from specviz.core.events import Event, Progress, Settings, Stage
from specviz.core.options import PairOptions, RunOptions, RunRequest
from specviz.core.safe_text import safe_terminal_text
from specviz.core.source import LIVE, Emit, Source
from specviz.core.units import bytes_in_words
from specviz.render.console import say
from specviz.render.download_rate import DownloadRate

if TYPE_CHECKING:
    from specviz.decoder.checkpoints.hub import Locator


COLLECT = (50_000, 20, 50)
"""Thresholds of the garbage collector. With Python's 700 it scans the libraries' objects repeatedly while they are
imported, a fifth of the import time; and painting creates and drops many small objects."""


def locator(pair: PairOptions, emit: Emit) -> "Locator":
    """Locates the models of ``pair`` without torch, so that a wrong name is reported immediately."""
    if pair.offline:
        os.environ["HF_HUB_OFFLINE"] = "1"  # read by the hub's client when it is first imported
    from specviz.decoder.checkpoints.hub import Locator

    return Locator(pair, emit)


class DeferredSource:
    """A Source that delegates to the decoder's, which ``open`` imports and creates."""

    capabilities = LIVE

    def __init__(self, options: RunOptions) -> None:
        self._options = options
        self._source: Source | None = None

    def open(self, emit: Emit) -> None:
        gc.set_threshold(*COLLECT)
        locations = locator(self._options.pair, emit).locate_pair()
        emit(Progress("import"))
        from specviz.decoder.source import LiveSource

        self._source = LiveSource(self._options, locations)
        self._source.open(emit)

    def run(
        self, request: RunRequest, settings: Callable[[], Settings], stopped: Callable[[], bool]
    ) -> Iterator[Event]:
        if self._source is None:
            raise RuntimeError("run() needs open() first")
        return self._source.run(request, settings, stopped)


STAGE_HINTS: dict[Stage, str] = {"compiling": " (a minute or more the first time)"}
LINE_EVERY_S = 10.0
"""Seconds between lines about the same download."""


class LoadProgress:
    """Reports on stderr what is being loaded: a line per stage, and a few per minute of a long download."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._transfer = DownloadRate(clock)
        self._reported = ("", "")
        self._reported_at = -math.inf

    def report(self, progress: Progress) -> None:
        self._transfer.see(progress)
        downloads = progress.unit == "bytes" and progress.total
        subject = progress.stage, progress.unit
        if subject == self._reported and not (downloads and self._clock() - self._reported_at >= LINE_EVERY_S):
            return
        self._reported, self._reported_at = subject, self._clock()
        if downloads:
            received = f"{bytes_in_words(progress.done)} of {bytes_in_words(progress.total or 0)}"
            say(f"{progress.stage}: {received}, {safe_terminal_text(self._transfer.words())}")
        else:
            say(f"{progress.stage}{STAGE_HINTS.get(progress.stage, '')} …")
