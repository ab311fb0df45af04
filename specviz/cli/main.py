"""The command line: arguments and exit codes."""

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from specviz import __version__
from specviz.bench.plan import MODEL, DrafterVariant
from specviz.cli.commands import formulas
from specviz.cli.commands.bench.command import BENCH_OPTIONS
from specviz.cli.shared.argument_types import Real, Whole
from specviz.cli.shared.run_options import DISPLAY_OPTIONS, RUN_OPTIONS, options, run_options
from specviz.core.errors import SpecvizError
from specviz.core.events import Settings
from specviz.core.options import RunRequest
from specviz.core.safe_text import safe_terminal_text
from specviz.render.console import forgiving_streams, plain_words, say, unicode_screen

EPILOG = (
    "Exit codes: 0 success; 1 unexpected error; 2 usage error, or unusable model or file; "
    "3 failed self-check; 130/143 interrupted by a signal."
)
CONTEXT = {"help_option_names": ["-h", "--help"], "max_content_width": 100, "show_default": True}
FOREIGN = ("--repetition-penalty", "--presence-penalty", "--frequency-penalty", "--min-p")
"""Logits processors that other programs have: refused by name."""
EXPORTS = ("html", "md", "csv", "cast", "svg", "png", "gif")
NO_RECORD = [click.option("--no-record", is_flag=True, help="Do not add this run to the last 20 kept.")]


class PlainHelp:
    """Help text limited to characters the terminal's encoding has."""

    def get_help(self, ctx: click.Context) -> str:
        return plain_words(super().get_help(ctx), sys.stdout)  # type: ignore[misc]


class PlainCommand(PlainHelp, click.Command):
    pass


class PlainGroup(PlainHelp, click.Group):
    command_class = PlainCommand


@click.group(
    cls=PlainGroup, invoke_without_command=True, context_settings=CONTEXT, epilog=EPILOG, subcommand_metavar="[COMMAND]"
)
@options([*RUN_OPTIONS, *NO_RECORD, *DISPLAY_OPTIONS])
@click.version_option(__version__, prog_name="specviz")
@click.pass_context
def specviz(ctx: click.Context, /, **params: Any) -> int:
    """Watch speculative decoding work, round by round.

    Without a command, open the app on a live run. Without options, use the bundled pair and prompts, offline.
    """
    if ctx.invoked_subcommand is not None:
        misplaced = [
            name for name in params if ctx.get_parameter_source(name) is click.core.ParameterSource.COMMANDLINE
        ]
        if misplaced:
            option = "--" + {"prompts": "prompt", "breakpoints": "break"}.get(misplaced[0], misplaced[0]).replace(
                "_", "-"
            )
            raise click.UsageError(
                f"{option} must come after the command: specviz {ctx.invoked_subcommand} {option} ..."
            )
        return 0
    from specviz.cli.commands.app import live

    run = run_options(params, one_prompt=False)
    display = _display(params, paced=not params["present"] or _on_command_line(ctx, "pace"))
    return live(run, display, params["record"], params["no_record"], piped=params["prompt_file"] == "-")


@specviz.command()
@options(RUN_OPTIONS)
@click.option("--no-record", is_flag=True, hidden=True)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of the text.")
def run(as_json: bool, **params: Any) -> int:
    """Run without the app: print the text, then a summary."""
    from specviz.cli.commands.run import run as run_once
    from specviz.session.recorder import Recorder

    chosen = run_options(params, one_prompt=True)
    record: Path | None = params["record"]
    return run_once(chosen, Recorder(record, overwrite=params["force"]) if record else None, as_json)


@specviz.command()
@options(RUN_OPTIONS)
def check(**params: Any) -> int:
    """Check a pair without loading weights; exit 0 if it can run, 2 if not."""
    from specviz.cli.commands.check import check as check_pair

    return check_pair(run_options(params, one_prompt=True))


@specviz.command()
@options(BENCH_OPTIONS)
def bench(
    drafters: tuple[DrafterVariant, ...],
    ks: tuple[int, ...],
    repeats: int,
    prompts_file: str | None,
    plot: bool,
    as_json: bool,
    baseline: str | None,
    **params: Any,
) -> int:
    """Measure plain and speculative decoding and compare with predictions.

    Half of the prompts make the predictions, the other half test them; a single prompt does both. The default is the
    20 bundled prompts.
    """
    from specviz.cli.commands.bench.command import bench as measure
    from specviz.cli.commands.bench.command import with_prompts

    if plot and as_json:
        raise click.UsageError("--plot and --json cannot be combined.")
    one = bool(params["prompts"]) or params["prompt_file"] is not None
    first = MODEL if MODEL in drafters else drafters[0]
    chosen = run_options({**params, "k": max(ks), "drafter": first.name}, one_prompt=True)
    chosen = with_prompts(chosen, prompts_file, one_given=one)
    return measure(chosen, drafters, tuple(sorted(set(ks))), repeats, as_json, baseline, plotted=plot)


@specviz.command()
@click.argument("traces", nargs=-1, required=True, metavar="TRACE...")
@click.option("--at", type=Whole(1), metavar="N", help="Open on round N instead of the last.")
@click.option("--loop", is_flag=True, help="Play, and restart at the end.")
@options(DISPLAY_OPTIONS)
@click.pass_context
def replay(ctx: click.Context, /, traces: tuple[str, ...], at: int | None, loop: bool, **params: Any) -> int:
    """Open the app on recorded runs: trace files, or bundled:demo.

    It opens paused on the last round, or before the first in a presentation; --pace and --break play from the first
    round. The keys 1 to 9 switch between several runs.
    """
    from specviz.cli.commands.app import replay as replay_traces

    if len(traces) > 9:
        raise click.UsageError(f"{len(traces)} traces were given; at most 9 can be opened.")
    paced = _on_command_line(ctx, "pace") or loop or bool(params["breakpoints"])
    return replay_traces(traces, _display(params, at=at, paced=paced, loop=loop))


@specviz.command()
@click.argument("traces", nargs=-1, required=True, metavar="TRACE...")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object per line and trace.")
def stats(traces: tuple[str, ...], as_json: bool) -> int:
    """Print the numbers of recorded runs side by side."""
    from specviz.cli.commands.stats import stats as compare

    return compare(traces, as_json)


@specviz.command()
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def themes(as_json: bool) -> int:
    """List the themes with their files, and what is wrong with invalid ones."""
    from specviz.cli.commands.themes import themes as list_themes

    return list_themes(as_json)


@specviz.command()
@click.argument("trace")
@click.option(
    "-o",
    "--output",
    metavar="FILE",
    help="Output file; - is standard output.  [default: named after TRACE, in this folder]",
)
@click.option("--as", "form", type=click.Choice(EXPORTS), help="Format.  [default: from FILE's extension, else html]")
@click.option("--theme", metavar="NAME", help="Theme to take the colours from.")
@click.option("--pace", type=Real(0.05, 3600), help="cast and gif: seconds per round.  [default: 1]")
@click.option("--size", metavar="COLSxROWS", help="cast and gif: size in cells.  [default: 100x30]")
@click.option("--force", is_flag=True, help="Overwrite FILE.")
def export(trace: str, output: str | None, form: str | None, size: str | None, force: bool, **params: Any) -> int:
    """Export a recorded run as a web page, document, table, image or animation."""
    from specviz.export.formats import ExportStyle, parse_size
    from specviz.export.formats import export as write

    try:
        columns_rows = parse_size(size) if size is not None else None
    except ValueError as error:
        raise click.UsageError(f"--size: {error}") from None
    return write(trace, output, form, ExportStyle(params["theme"], params["pace"], columns_rows), overwrite=force)


formulas.add_to(specviz)


def _on_command_line(ctx: click.Context, name: str) -> bool:
    return ctx.get_parameter_source(name) is click.core.ParameterSource.COMMANDLINE


def _display(params: dict[str, Any], *, at: int | None = None, paced: bool = True, loop: bool = False) -> Any:
    from specviz.ui.shared.app_options import AppOptions

    return AppOptions(
        request=RunRequest("", 0, Settings()),
        pace=params["pace"],
        paused=params["paused"] or not paced,
        at=at,
        breakpoints=params["breakpoints"],
        theme=params["theme"],
        loop=loop,
        present=params["present"],
        title=params["title"],
        ascii=params["ascii"] or not unicode_screen(),
    )


def main(args: Sequence[str] | None = None) -> int:
    """Run the command line and return the exit code. Errors are printed on stderr in one or two sentences."""
    forgiving_streams()
    try:
        return int(specviz.main(args=args, prog_name="specviz", standalone_mode=False) or 0)
    except click.ClickException as error:
        hint = getattr(error, "ctx", None)
        say(f"specviz: {safe_terminal_text(_sentence(error))}")
        if hint is not None:
            say(f"Try `{hint.command_path} --help`.")
        return 2
    except SpecvizError as error:
        say(f"specviz: {safe_terminal_text(str(error))}")
        return error.exit_code
    except (KeyboardInterrupt, click.Abort):
        return 130
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except OSError as error:
        say(f"specviz: cannot write the output: {error.strerror or error}.")
        return 1
    except Exception as error:
        if "SPECVIZ_TRACEBACK" in os.environ:
            raise
        say(f"specviz: unexpected {type(error).__name__}: {safe_terminal_text(str(error))}")
        say("Set SPECVIZ_TRACEBACK=1 to see the traceback.")
        return 1


def _sentence(error: click.ClickException) -> str:
    """The error message, with the name of the option."""
    if isinstance(error, click.NoSuchOption) and error.option_name in FOREIGN:
        return (
            f"{error.option_name} is not supported: specviz samples with temperature, top-k and top-p only. Remove it."
        )
    param = getattr(error, "param", None)
    if isinstance(error, click.BadParameter) and param is not None and not isinstance(error, click.MissingParameter):
        return f"{param.opts[0] if param.opts[0].startswith('-') else param.human_readable_name}: {error.message}"
    return error.format_message()
