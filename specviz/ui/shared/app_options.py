"""The options that the command line passes to the app."""

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from specviz.breakpoints.monitor import Breakpoint
from specviz.core.events import Event
from specviz.core.options import RunRequest
from specviz.trace.round_store import RoundFile

LAST_ROUND = sys.maxsize
"""As ``at``: the newest round, however many there are."""
AUTO_PACE = 0.25
"""Seconds between two rounds where the user named none: slow enough to follow, fast enough not to bore."""


class Recording(Protocol):
    """A consumer of one run's events that keeps them in a file; ``lines`` leads back to the rounds in it."""

    @property
    def path(self) -> Path | None: ...

    @property
    def lines(self) -> RoundFile | None: ...

    def add(self, event: Event) -> None: ...

    def close(self) -> None: ...


@dataclass(frozen=True, slots=True)
class AppOptions:
    """How the app starts. ``request`` is the first run. The digits choose among ``prompts`` (name, text), or among
    ``recordings``, the files of several recorded runs. ``pace``: seconds between rounds, None for the app's choice.
    ``at``: the round a recorded run opens on. ``breakpoints`` pause the run. ``loop``: it starts again when it ends.
    ``present``: the app opens as a presentation under the line ``title``, in which a phase is animated for at most
    ``phase_s`` seconds and the end of a run stays for at least ``hold_s`` seconds before it restarts. ``record`` makes
    the recording of each run. ``trace`` is the file of a recorded run, and ``recorded`` gives access to the rounds of
    the one shown, after its header has been read. ``log_tail(n)`` returns the last n lines that libraries wrote; they
    are not drawn over the screen."""

    request: RunRequest
    prompts: tuple[tuple[str, str], ...] = ()
    pace: float | None = None
    paused: bool = False
    at: int | None = None
    breakpoints: tuple[Breakpoint, ...] = ()
    theme: str | None = None
    ascii: bool = False
    draft: str = ""
    target: str = ""
    record: Callable[[], Recording | None] = lambda: None
    trace: Path | None = None
    recorded: Callable[[], RoundFile | None] | None = None
    log_tail: Callable[[int], Sequence[str]] = lambda lines: ()
    recordings: tuple[Path, ...] = ()
    loop: bool = False
    present: bool = False
    title: str = ""
    phase_s: float = 0.45
    hold_s: float = 2.0
