"""The live source, before torch: it imports the decoder when it is opened, so that the screen comes first."""

import gc
import os
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from specviz.core.events import Event, Progress, Settings
from specviz.core.options import PairOptions, RunOptions, RunRequest
from specviz.core.source import Emit, Source

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
