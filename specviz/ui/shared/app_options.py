"""What the command line tells the app."""

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from specviz.breakpoints.monitor import Breakpoint
from specviz.core.events import Event
from specviz.core.options import RunRequest
from specviz.trace.round_store import RoundLines

LAST_ROUND = sys.maxsize
"""As ``at``: the newest round, however many there are."""
AUTO_PACE = 0.25
"""Seconds between two rounds where the user named none: slow enough to follow, fast enough not to bore."""


class Recording(Protocol):
    """A consumer of one run's events that keeps them in a file; ``lines`` leads back to the rounds in it."""

    @property
    def path(self) -> Path | None: ...

    @property
    def lines(self) -> RoundLines | None: ...

    def add(self, event: Event) -> None: ...

    def close(self) -> None: ...


def no_recording() -> Recording | None:
    return None


def no_log(lines: int) -> Sequence[str]:
    return ()


@dataclass(frozen=True, slots=True)
class AppOptions:
    """How the app starts.

    ``request`` is the first run. ``prompts`` (name, text) stand behind the digits. ``live`` False: a recorded run,
    nothing can be sampled. ``pace`` in seconds, None: chosen by the app. ``at``: the round a recorded run opens on.
    ``breakpoints`` pause it; with ``loop`` it starts anew at its end.
    ``present``: opens as a presentation, under the line ``title``.
    ``record`` is asked for a recording at the start of each run; ``trace`` is the file a recorded run comes from, the
    first of ``recordings`` where several stand behind the digits, and ``recorded`` the way back to the rounds of the
    one that is shown, once its header has come.
    ``log_tail(n)`` gives the last n lines of what libraries wrote instead of drawing over the screen.
    """

    request: RunRequest
    prompts: tuple[tuple[str, str], ...] = ()
    live: bool = True
    pace: float | None = None
    paused: bool = False
    at: int | None = None
    breakpoints: tuple[Breakpoint, ...] = ()
    theme: str | None = None
    ascii: bool = False
    draft: str = ""
    target: str = ""
    record: Callable[[], Recording | None] = no_recording
    trace: Path | None = None
    recorded: Callable[[], RoundLines | None] | None = None
    log_tail: Callable[[int], Sequence[str]] = no_log
    recordings: tuple[Path, ...] = ()
    loop: bool = False
    present: bool = False
    title: str = ""

    @property
    def prepared(self) -> tuple[str, ...]:
        """The names of what stands behind the digits: prompts of a live pair, or recorded runs."""
        return tuple(name for name, _ in self.prompts) if self.live else tuple(path.name for path in self.recordings)
