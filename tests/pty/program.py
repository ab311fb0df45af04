"""The app around a scripted source, as the command runs it: ``python -m tests.pty.program SCENARIO LOG``."""

import logging
import os
import sys
import threading
import warnings
from collections.abc import Callable
from pathlib import Path

from textual.content import Content

from specviz.ui.app import SpecvizApp
from specviz.ui.terminal_guard import TerminalGuard
from specviz.ui.widgets.bars import StatusLine
from tests.ui.conftest import Script, options

NOISE = "NOISE-ON-THE-SCREEN"


class Loud(Script):
    """Loads like the libraries do: with something to say on every channel."""

    def open(self, emit) -> None:  # type: ignore[no-untyped-def]
        print(NOISE, "print")
        print(NOISE, "stderr", file=sys.stderr)
        warnings.warn(f"{NOISE} warning", stacklevel=1)
        logging.getLogger("library").warning("%s logging", NOISE)
        os.write(2, f"{NOISE} native\n".encode())
        super().open(emit)


def endless(stopped: Callable[[], bool]) -> None:
    """A forward that outlasts every deadline of the tests."""
    threading.Event().wait()


def broken(self: StatusLine) -> Content:
    raise RuntimeError("boom in a render [/]")


def script(scenario: str) -> Script:
    match scenario:
        case "loading":
            made = Script()
            made.loading.clear()
            return made
        case "forward":
            return Script(work=endless)
        case "worker":
            return Script(fail_at=3)
        case "noise":
            return Loud()
    return Script()


def main(scenario: str, log: Path) -> int:
    if scenario == "render":
        StatusLine.render = broken  # type: ignore[method-assign]
    if scenario == "mount":
        SpecvizApp.on_mount = broken  # type: ignore[method-assign, assignment]
    with TerminalGuard(log) as guard:
        app = SpecvizApp(script(scenario), options(paused=scenario != "worker", log_tail=guard.tail))
        app.run()
    print(app.farewell())
    return app.return_code or 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], Path(sys.argv[2])))
