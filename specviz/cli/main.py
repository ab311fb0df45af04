"""The command line: arguments and exit codes. The only package that knows both the decoder and the screen."""

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
from specviz.cli.shared.run_options import DISPLAY_OPTIONS, RUN_OPTIONS, Real, Whole, options, run_options
from specviz.core.errors import SpecvizError
from specviz.core.events import Settings
from specviz.core.options import RunRequest
from specviz.core.safe_text import safe_terminal_text
from specviz.render.console import forgiving_streams, plain_words, say, unicode_screen

EPILOG = (
    "Exit codes: 0 done; 1 unexpected error; 2 usage, or a model or file that cannot be used; "
    "3 a self-check failed; 130/143 by signal."
)
CONTEXT = {"help_option_names": ["-h", "--help"], "max_content_width": 100}
FOREIGN = ("--repetition-penalty", "--presence-penalty", "--frequency-penalty", "--min-p")
"""Score processors of other programs: refused by name, never dropped silently."""
EXPORTS = ("html", "md", "csv", "cast", "svg", "png", "gif")
NO_RECORD = [click.option("--no-record", is_flag=True, help="Do not keep this run among the last 20.")]


class PlainHelp:
    """Help in what the terminal's encoding can write."""

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
def specviz(ctx: click.Context, /, **given: Any) -> int:
    """See speculative decoding work, round by round.

    Without a command: the app, live. Without options: the bundled pair and its prompts, with no network.
    """
    if ctx.invoked_subcommand is not None:
        set_here = [name for name in given if ctx.get_parameter_source(name) is click.core.ParameterSource.COMMANDLINE]
        if set_here:
            option = "--" + {"prompts": "prompt", "breakpoints": "break"}.get(set_here[0], set_here[0]).replace(
                "_", "-"
            )
            raise click.UsageError(f"{option} stands before {ctx.invoked_subcommand}: put options behind the command.")
        return 0
    from specviz.cli.commands.app import live

    run = run_options(given, one_prompt=False)
    display = _display(given, paced=not given["present"] or _given(ctx, "pace"))
    return live(run, display, given["record"], given["no_record"], piped=given["prompt_file"] == "-")


@specviz.command()
@options(RUN_OPTIONS)
@click.option("--no-record", is_flag=True, hidden=True)
@click.option("--json", "as_json", is_flag=True, help="One JSON object on stdout instead of the text.")
def run(as_json: bool, **given: Any) -> int:
    """The same run without the app: the text, then a summary."""
    from specviz.cli.commands.run import run as run_once
    from specviz.session.recorder import Recorder

    chosen = run_options(given, one_prompt=True)
    record: Path | None = given["record"]
    return run_once(chosen, Recorder(record, overwrite=given["force"]) if record else None, as_json)


@specviz.command()
@options(RUN_OPTIONS)
def check(**given: Any) -> int:
    """Look the pair over without reading weights; exit 0 if it can run, 2 if not."""
    from specviz.cli.commands.check import check as check_pair

    return check_pair(run_options(given, one_prompt=True))


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
    **given: Any,
) -> int:
    """Measure plain and speculative decoding beside what is predicted.

    Half of the prompts predict, the other half is measured; one prompt does both. Without prompts: the 20 that come
    with specviz.
    """
    from specviz.cli.commands.bench.command import bench as measure
    from specviz.cli.commands.bench.command import with_prompts

    if plot and as_json:
        raise click.UsageError("--plot is for people and --json for programs: leave one of them away.")
    one = bool(given["prompts"]) or given["prompt_file"] is not None
    first = MODEL if MODEL in drafters else drafters[0]
    chosen = run_options({**given, "k": max(ks), "drafter": first.name}, one_prompt=True)
    asked = with_prompts(chosen, prompts_file, given=one)
    return measure(asked, drafters, ks, repeats, as_json, baseline, plotted=plot)


@specviz.command()
@click.argument("traces", nargs=-1, required=True, metavar="TRACE...")
@click.option("--at", type=Whole(1), metavar="N", help="Open on round N instead of the last.")
@click.option("--loop", is_flag=True, help="Play, and start anew at the end.")
@options(DISPLAY_OPTIONS)
@click.pass_context
def replay(ctx: click.Context, /, traces: tuple[str, ...], at: int | None, loop: bool, **given: Any) -> int:
    """The app on recorded runs: files, or bundled:demo.

    Opens paused on the last round, a presentation before the first; --pace and --break play from the first. Several
    runs stand behind the digits 1 to 9.
    """
    from specviz.cli.commands.app import replay as replay_traces

    if len(traces) > 9:
        raise click.UsageError(f"{len(traces)} traces were given; there are nine digits to choose by.")
    paced = _given(ctx, "pace") or loop or bool(given["breakpoints"])
    return replay_traces(traces, _display(given, at=at, paced=paced, loop=loop))


@specviz.command()
@click.argument("traces", nargs=-1, required=True, metavar="TRACE...")
@click.option("--json", "as_json", is_flag=True, help="A JSON object a line, one for each trace.")
def stats(traces: tuple[str, ...], as_json: bool) -> int:
    """The numbers of recorded runs, side by side."""
    from specviz.cli.commands.stats import stats as compare

    return compare(traces, as_json)


@specviz.command()
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
def themes(as_json: bool) -> int:
    """All themes and their files, and what is wrong with those left out."""
    from specviz.cli.commands.themes import themes as list_themes

    return list_themes(as_json)


@specviz.command()
@click.argument("trace")
@click.option("-o", "--output", metavar="FILE", help="Where to write; - is standard output.  [default: here]")
@click.option("--as", "form", type=click.Choice(EXPORTS), help="The format.  [default: FILE's ending, else html]")
@click.option("--theme", metavar="NAME", help="Colours of a theme, by name.")
@click.option("--pace", type=Real(0.05, 3600), help="Of cast and gif: seconds a round stays.  [default: 1]")
@click.option("--size", metavar="COLSxROWS", help="Of cast and gif.  [default: 100x30]")
@click.option("--force", is_flag=True, help="Overwrite FILE.")
def export(trace: str, output: str | None, form: str | None, size: str | None, force: bool, **given: Any) -> int:
    """A recorded run as a page, a picture, a table or a film."""
    from specviz.export.formats import Look, parse_size
    from specviz.export.formats import export as write

    try:
        cells = parse_size(size) if size is not None else None
    except ValueError as error:
        raise click.UsageError(f"--size: {error}") from None
    return write(trace, output, form, Look(given["theme"], given["pace"], cells), overwrite=force)


formulas.add_to(specviz)


def _given(ctx: click.Context, name: str) -> bool:
    return ctx.get_parameter_source(name) is click.core.ParameterSource.COMMANDLINE


def _display(given: dict[str, Any], *, at: int | None = None, paced: bool = True, loop: bool = False) -> Any:
    from specviz.ui.shared.app_options import AppOptions

    return AppOptions(
        request=RunRequest("", 0, Settings()),
        pace=given["pace"],
        paused=given["paused"] or not paced,
        at=at,
        breakpoints=given["breakpoints"],
        theme=given["theme"],
        loop=loop,
        present=given["present"],
        title=given["title"],
        ascii=given["ascii"] or not unicode_screen(),
    )


def main(args: Sequence[str] | None = None) -> int:
    """Run the command line; the process's exit code. Errors are one or two sentences on stderr."""
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
        say(f"specviz: {error.strerror or error}: the output cannot be written.")
        return 1
    except Exception as error:
        if "SPECVIZ_TRACEBACK" in os.environ:
            raise
        say(f"specviz: unexpected {type(error).__name__}: {safe_terminal_text(str(error))}")
        say("Set SPECVIZ_TRACEBACK=1 to see where.")
        return 1


def _sentence(error: click.ClickException) -> str:
    """What was wrong, naming the option."""
    if isinstance(error, click.NoSuchOption) and error.option_name in FOREIGN:
        return (
            f"{error.option_name} is not supported: both models are sampled by temperature, top-k and top-p alone, "
            "place by place alike. Leave it away."
        )
    param = getattr(error, "param", None)
    if isinstance(error, click.BadParameter) and param is not None and not isinstance(error, click.MissingParameter):
        return f"{param.opts[0] if param.opts[0].startswith('-') else param.human_readable_name}: {error.message}"
    return error.format_message()
