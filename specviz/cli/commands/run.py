"""`specviz run`: a run without the app. Prints the text as it is generated, then a summary; or one JSON object."""

import contextlib
import json
import signal
import sys
from collections.abc import Iterator
from types import FrameType

from specviz.cli.shared.loading import DeferredSource, LoadProgress
from specviz.core.events import Emitted, End, Event, Failed, Header, Notice, Progress, Round
from specviz.core.options import RunOptions, RunRequest
from specviz.core.safe_text import TextDecoder, safe_terminal_text
from specviz.render.console import colours, marked, say, show, speaks_unicode
from specviz.render.numbers import exact
from specviz.session.recorder import Recorder
from specviz.session.worker import failure
from specviz.stats.numbers_table import NUMBER
from specviz.stats.run_stats import RunStats


class Printer:
    """Prints a run as it happens: the text on stdout, marked by origin on a terminal and plain in a pipe; notes, stages
    and errors on stderr. ``as_json`` suppresses the text."""

    def __init__(self, as_json: bool) -> None:
        self._text_hidden = as_json
        self._marked = sys.stdout.isatty()
        self._unicode = speaks_unicode(sys.stdout)
        self._colour = colours(sys.stdout)
        self._decoder = TextDecoder(keep="\n\t")
        self._loading = LoadProgress()
        self._started = False

    def add(self, event: Event) -> None:
        match event:
            case Notice(message):
                say(f"note: {safe_terminal_text(message)}")
            case Progress() if sys.stderr.isatty() and not self._mid_line:
                self._loading.report(event)
            case Failed(message):
                self._finish()
                say(f"specviz: {safe_terminal_text(message)}")
            case Header(prompt=prompt):
                self._started = True
                if self._marked and not self._text_hidden:
                    show(safe_terminal_text(prompt.text), nl=False)
            case Round(emitted=emitted) if not self._text_hidden:
                for token in emitted:
                    show(self._shown(token), nl=False)
                sys.stdout.flush()
            case End():
                self._finish()

    @property
    def _mid_line(self) -> bool:
        """Whether the terminal's current line holds generated text."""
        return self._started and self._marked and not self._text_hidden

    def _shown(self, token: Emitted) -> str:
        text = self._decoder.feed(token.bytes)
        return marked(token, text, unicode=self._unicode, colour=self._colour) if self._marked else text

    def _finish(self) -> None:
        if self._started and not self._text_hidden:
            show(self._decoder.finish())


class SigTerm(BaseException):
    """SIGTERM was received."""


def run(options: RunOptions, recorder: Recorder | None, as_json: bool) -> int:
    """Run once, print, and return the exit code. An interrupted run counts as ended by the user; it is still recorded
    and summarised."""
    stats = RunStats()
    printer = Printer(as_json)
    consumers = [consumer for consumer in (recorder, printer) if consumer]
    code = 0

    def dispatch(event: Event) -> None:
        stats.add(End("error", event.message) if isinstance(event, Failed) else event)
        for consumer in consumers:
            consumer.add(event)

    source = DeferredSource(options)
    request = RunRequest(options.prompts[0][1], options.seed, options.settings)
    with recorder or contextlib.nullcontext(), _terminable():
        try:
            source.open(dispatch)
            for event in source.run(request, lambda: options.settings, lambda: False):
                dispatch(event)
        except (KeyboardInterrupt, SigTerm) as signalled:
            code = 130 if isinstance(signalled, KeyboardInterrupt) else 143
            dispatch(End("user"))
        except BrokenPipeError:
            raise
        except Exception as error:
            failed = failure(error)
            code = failed.exit_code
            dispatch(failed)
    if recorder and recorder.problem:
        say(recorder.problem)
    if as_json and stats.header:
        show(json.dumps(stats.summary(), allow_nan=False))
    elif stats.rounds and not as_json:
        show()
        for line in summary_lines(stats):
            show(line)
    return code


@contextlib.contextmanager
def _terminable() -> Iterator[None]:
    """Turn SIGTERM into an exception inside the block, so that nothing recorded is lost."""

    def stop(_number: int, _frame: FrameType | None) -> None:
        raise SigTerm

    before = signal.signal(signal.SIGTERM, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def summary_lines(stats: RunStats) -> list[str]:
    """A run in a few lines, every rate under its own name."""
    rates = stats.whole()
    end = stats.end
    reason = (end.reason.replace("_", " ") if end else "stopped") + (f" ({end.detail})" if end and end.detail else "")

    def value(key: str) -> str:
        return exact(NUMBER[key], rates)

    def named(key: str) -> str:
        return f"{NUMBER[key].short_title(rates.overlap_name)} {value(key)}"

    ends = rates.alpha_tested_ci
    interval = f" [{ends[0]:.3f} {ends[1]:.3f}]" if ends else ""
    times = " · ".join(f"{named(key)} ms" for key in ("draft_ms", "verify_ms", "decide_ms"))
    return [
        f"{rates.tokens} tokens in {rates.rounds} rounds ({rates.plain_rounds} plain)"
        f", ended: {safe_terminal_text(reason)}",
        f"{named('alpha_tested')}{interval} = {rates.accepted}/{rates.tested} accepted/tested"
        f" · {named('alpha_overlap')} · {named('agreement_z')}",
        f"{named('accepted_over_drafted')} = {rates.accepted}/{rates.drafted}"
        f" ({rates.rejected} rejected, {rates.untested} untested, {rates.ignored} ignored)",
        f"{named('tokens_per_round')} · {named('accepted_per_round')}"
        f" · formula {value('formula_at_tested')} at α tested,"
        f" {value('formula_at_overlap')} at α {rates.overlap_name}",
        f"{value('tokens_per_s')} tokens/s · {times} · {named('c')}",
        f"speedup {value('speedup_measured_cost')} by measured cost, {value('speedup_model')} by the model"
        f" · best K {value('at_measured_cost.best_k')}, {value('best_k')} by the model"
        f" · {named('break_even_alpha')}" + " · slower than the target alone" * rates.slower,
    ]
