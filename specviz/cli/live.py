"""The live source, before torch: it imports the decoder when it is opened, so that the screen comes first."""

from collections.abc import Callable, Iterator

from specviz.config import RunOptions, RunRequest
from specviz.events import Event, Progress, Settings
from specviz.source import Emit, Source


class DeferredSource:
    """Implements Source by the decoder's own, which ``open`` imports and makes."""

    def __init__(self, options: RunOptions) -> None:
        self._options = options
        self._source: Source | None = None

    def open(self, emit: Emit) -> None:
        emit(Progress("import"))
        from specviz.decoder.live import LiveSource

        self._source = LiveSource(self._options)
        self._source.open(emit)

    def run(
        self, request: RunRequest, settings: Callable[[], Settings], stopped: Callable[[], bool]
    ) -> Iterator[Event]:
        if self._source is None:
            raise RuntimeError("open() comes before run()")
        return self._source.run(request, settings, stopped)
