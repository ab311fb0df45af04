"""Where events come from: the seam between models, traces, tests and everything that shows a run."""

from collections.abc import Callable, Iterator
from typing import Protocol

from specviz.core.events import Event, Settings
from specviz.core.options import RunRequest

Emit = Callable[[Event], None]


class Source(Protocol):
    """A live pair, a trace or a script of a test."""

    def open(self, emit: Emit) -> None:
        """Do what is slow, once, telling ``emit`` about it (Progress, Notice). Raises SpecvizError if it cannot."""
        ...

    def run(
        self, request: RunRequest, settings: Callable[[], Settings], stopped: Callable[[], bool]
    ) -> Iterator[Event]:
        """Yield Header, Ready, then a Round a step, and End.

        A Calibration comes before Ready, or later, or never. Progress and Notice may come anywhere.

        ``settings`` is asked at the start of each round. Once ``stopped`` is true the iterator ends as soon as
        it can, without End and without a half-made round. Closing the iterator early is always allowed.
        """
        ...
