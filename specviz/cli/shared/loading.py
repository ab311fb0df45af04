"""The live source, before torch: it imports the decoder when it is opened, so that the screen comes first."""

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
"""Allocations between collections. Python's 700 has the objects of the libraries looked through again and again while
they are made, a fifth of the time it takes to import them; and painting makes and drops small objects."""


def locator(pair: PairOptions, emit: Emit) -> "Locator":
    """What finds the models of ``pair``, without torch: a wrong name is told at once."""
    if pair.offline:
        os.environ["HF_HUB_OFFLINE"] = "1"  # read by the hub's client when it is first imported
    from specviz.decoder.checkpoints.hub import Locator

    return Locator(pair, emit)


class DeferredSource:
    """Implements Source by the decoder's own, which ``open`` imports and makes."""

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
            raise RuntimeError("open() comes before run()")
        return self._source.run(request, settings, stopped)


PATIENCE: dict[Stage, str] = {"compiling": ", for the first time a minute or more"}
LINE_EVERY_S = 10.0
"""Seconds between two lines about the same download."""


class Loading:
    """Says on stderr what is being loaded: a line a stage, and some a minute of a long download."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._transfer = DownloadRate(clock)
        self._said = ("", "")
        self._said_at = -math.inf

    def tell(self, progress: Progress) -> None:
        self._transfer.see(progress)
        downloads = progress.unit == "bytes" and progress.total
        about = progress.stage, progress.unit
        if about == self._said and not (downloads and self._clock() - self._said_at >= LINE_EVERY_S):
            return
        self._said, self._said_at = about, self._clock()
        if downloads:
            come = f"{bytes_in_words(progress.done)} of {bytes_in_words(progress.total or 0)}"
            say(f"{progress.stage}: {come}, {safe_terminal_text(self._transfer.words())}")
        else:
            say(f"{progress.stage}{PATIENCE.get(progress.stage, '')} …")
