"""The commands that open an app: a live run, `specviz replay` and `specviz lab`."""

import gc
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NoReturn, TextIO

from specviz.cli.shared.loading import COLLECT, DeferredSource
from specviz.core.errors import SpecvizError
from specviz.core.options import BUNDLED_DRAFT, BUNDLED_TARGET, RunOptions, RunRequest
from specviz.core.safe_text import safe_terminal_text
from specviz.core.source import Source
from specviz.export.report import fold
from specviz.lab.model import LabPoint, lab_point
from specviz.render.console import say, show
from specviz.session.recorder import Recorder, SpooledRounds, new_run_path
from specviz.trace.replay import TraceSource, read_trace
from specviz.ui.shared.app_options import LAST_ROUND, AppOptions, Recording

SWITCH_INTERVAL = 1e-4
"""Seconds a thread may hold the interpreter lock. Every torch call releases it and needs it back immediately; with
Python's default of 5 ms, painting could delay each of the hundreds of calls of a forward pass."""
PAINTS_A_SECOND = 120
"""Maximum. A key press is shown at the next paint; Textual's default of 60 doubles that delay."""


def keys_from_the_terminal() -> None:
    """Replace a standard input that was a pipe, already read, by the controlling terminal."""
    if _is_terminal(sys.stdin):
        return
    try:
        terminal = os.open("/dev/tty", os.O_RDWR)
    except OSError:
        raise SpecvizError(
            "The prompt came from standard input, so the app needs a terminal to read keys from, and there is none. "
            "Use `specviz run --prompt-file -`."
        ) from None
    os.dup2(terminal, 0)
    os.close(terminal)


def require_terminal(instead: str, *, prompt_could_be_piped: bool = False) -> None:
    """Raise SpecvizError if the terminal cannot show the app or read keys."""
    keys, screen = _is_terminal(sys.stdin), _is_terminal(sys.stdout) and _is_terminal(sys.stderr)
    if screen and not keys and prompt_could_be_piped:
        raise SpecvizError(
            "Standard input is not a terminal, so keys cannot be read. To read the prompt from it, use "
            f"--prompt-file -; to run without keys, use `{instead}`."
        )
    if not (keys and screen):
        raise SpecvizError(f"The app needs a terminal for input and output. Without one, use `{instead}`.")
    if os.environ.get("TERM", "") in ("dumb", ""):
        raise SpecvizError(f"This terminal (TERM={os.environ.get('TERM', '')}) cannot draw the app. Use `{instead}`.")


def _is_terminal(stream: TextIO | None) -> bool:
    return stream is not None and stream.isatty()


def live(options: RunOptions, display: AppOptions, record: Path | None, no_record: bool, *, piped: bool) -> int:
    """Run the app on the pair of ``options``. ``piped``: the prompt was read from standard input."""
    if piped:
        keys_from_the_terminal()
    require_terminal("specviz run", prompt_could_be_piped=True)
    options = with_every_drafter(options)
    request = RunRequest(options.prompts[0][1], options.seed, options.settings)
    recorders = _recorders(record, no_record, overwrite=options.pair.force)
    display = replace(
        display,
        request=request,
        prompts=options.prompts,
        draft=options.pair.draft or "",
        target=options.pair.target,
        record=recorders,
    )
    return _show(DeferredSource(options), display)


def with_every_drafter(options: RunOptions) -> RunOptions:
    """``options`` with the bundled draft model if the target is the bundled one, so that the app can switch to it."""
    if options.pair.draft is not None or options.pair.target != BUNDLED_TARGET:
        return options
    return replace(options, pair=replace(options.pair, draft=BUNDLED_DRAFT))


def replay(traces: Sequence[str], display: AppOptions) -> int:
    """Run the app on recorded runs. All are checked first; the digit keys choose among several."""
    require_terminal(f"specviz stats {' '.join(traces)}")
    source = TraceSource(*traces, compact=True)
    source.open(lambda _event: None)
    gc.freeze()  # the recorded events stay: exclude them from later collections
    at = LAST_ROUND if display.at is None and display.paused and not display.present else display.at
    paths = tuple(map(Path, traces))
    display = replace(
        display, trace=paths[0], recordings=paths if len(paths) > 1 else (), recorded=lambda: source.lines, at=at
    )
    return _show(source, display)


def lab(trace: str | None, *, theme: str | None, ascii: bool) -> int:
    """Run the formula lab, alone or started from a recorded run."""
    require_terminal("specviz theory")
    point = None if trace is None else measured(trace)
    from specviz.ui.lab.app import LabApp
    from specviz.ui.terminal_guard import TerminalGuard

    with TerminalGuard():
        app = LabApp(point, theme=theme, ascii=ascii)
        app.run()
    return app.return_code or 0


def measured(name: str) -> LabPoint | None:
    """The last segment of a trace, at its first tested position. Raises SpecvizError for an invalid trace."""
    trace = read_trace(name)
    stats = fold(trace)
    rates = stats.segment_rates()
    settings = trace.rounds[-1].settings if trace.rounds else None
    point = lab_point(rates, settings, trace.rounds)
    return None if point is None else replace(point, at=0)


def _recorders(record: Path | None, no_record: bool, *, overwrite: bool) -> Callable[[], Recording]:
    """Makes a recorder for each run of the app: to FILE, then FILE-2, FILE-3 …, or to the user's folder of runs."""
    if record is None:
        return SpooledRounds if no_record else (lambda: Recorder(new_run_path()))
    made = 0

    def record_next() -> Recorder:
        nonlocal made
        made += 1
        path = record if made == 1 else record.with_name(f"{record.stem}-{made}{record.suffix}")
        return Recorder(path, overwrite=overwrite)

    if record.exists() and not overwrite:
        raise SpecvizError(f"{record} exists: choose another file, or use --force to overwrite it.")
    if not record.absolute().parent.is_dir():
        raise SpecvizError(f"{record}: its folder does not exist. Create it first.")
    return record_next


def _show(source: Source, display: AppOptions) -> int:
    os.environ.setdefault("TEXTUAL_FPS", str(PAINTS_A_SECOND))  # read when Textual is imported
    from specviz.ui.app import SpecvizApp
    from specviz.ui.terminal_guard import TerminalGuard

    sys.setswitchinterval(SWITCH_INTERVAL)
    gc.set_threshold(*COLLECT)
    with TerminalGuard() as guard:
        app = SpecvizApp(source, replace(display, log_tail=guard.tail))
        app.run()
    if message := app.farewell():
        show(message)
    failed = app.timeline.failed
    if failed is not None:
        say(f"specviz: {safe_terminal_text(failed.message)}")
    if app.session.is_alive:
        exit_immediately(app.return_code or 0)
    return app.return_code or 0


def exit_immediately(code: int) -> NoReturn:
    """End the process without waiting for a thread inside a model or an import, which may crash at shutdown."""
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)
