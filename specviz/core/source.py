"""Where events come from: what models, traces and scripts offer to everything that shows a run."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Protocol

from specviz.core.events import Event, Settings
from specviz.core.options import RunRequest

Emit = Callable[[Event], None]


@dataclass(frozen=True, slots=True)
class Capabilities:
    """What a source can do. The screens disable the keys of what it cannot. ``is_live``: rounds are made now, not read
    from a recording. ``can_step``: rounds are made one by one on request, so a run can be paused; otherwise they arrive
    at the source's own pace and only the display pauses. ``can_change_settings``: K, temperature and drafter may change
    between rounds. ``can_restart``: a run can be requested with another prompt or seed. ``has_probabilities``: drafted
    tokens have p and q."""

    is_live: bool = True
    can_step: bool = True
    can_change_settings: bool = True
    can_restart: bool = True
    has_probabilities: bool = True


LIVE = Capabilities()
RECORDED = Capabilities(is_live=False, can_step=False, can_change_settings=False, can_restart=False)


class Source(Protocol):
    """A live pair of models, a trace, or a script of a test."""

    @property
    def capabilities(self) -> Capabilities: ...

    def open(self, emit: Emit) -> None:
        """Do the slow work once and report it to ``emit`` as Progress and Notice. Raises SpecvizError on failure."""

    def run(
        self, request: RunRequest, settings: Callable[[], Settings], stopped: Callable[[], bool]
    ) -> Iterator[Event]:
        """Yield Header, Ready, one Round per step, and End.

        A Calibration precedes Ready, follows it, or is missing. Progress and Notice may occur anywhere.

        ``settings`` is called at the start of each round. Once ``stopped`` returns true the iterator ends as soon as
        it can, without End and without a partial round. Closing the iterator early is always allowed.
        """
