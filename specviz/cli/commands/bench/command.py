"""`specviz bench`: plain and speculative decoding, measured and predicted."""

import json
import re
import sys
from collections.abc import Callable
from dataclasses import replace
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import click

from specviz.bench.baseline import ComparisonResult, baseline_rows, plan_comparisons, summarise_baseline
from specviz.bench.plan import DrafterVariant, Plan
from specviz.cli.shared.argument_types import Argument, NumberList, Whole
from specviz.cli.shared.loading import LoadProgress, locator
from specviz.cli.shared.run_options import RUN_OPTIONS, read_text
from specviz.core.drafters import DEFAULT_DRAFTER, DRAFTERS
from specviz.core.events import Event, Notice, Progress
from specviz.core.options import MAX_COUNT, MAX_K, RunOptions
from specviz.core.safe_text import safe_terminal_text
from specviz.render.console import say, show

if TYPE_CHECKING:
    from specviz.bench.samples import Sample
    from specviz.decoder.measuring.runner import Bench

DRAFTER_VARIANT = re.compile(r"(\w+)(?::([1-9]\d{0,3}))?", re.ASCII)
ESCAPE = re.compile(r"\\([nt\\])")
ESCAPED = {"n": "\n", "t": "\t", "\\": "\\"}


class DrafterVariants(Argument):
    """Drafters as a list, each once: ``model,ngram,layers,layers:2``."""

    name = "drafters"

    def read(self, text: str) -> tuple[DrafterVariant, ...]:
        variants = []
        for name in text.split(","):
            match = DRAFTER_VARIANT.fullmatch(name)
            spec = DRAFTERS.get(match[1]) if match else None
            if match is None or spec is None or (match[2] and not spec.variant):
                raise ValueError(f"{text!r} is not a list of {_listed('or')}, such as model,layers:2.")
            variants.append(DrafterVariant(spec.name, int(match[2]) if match[2] else None))
        return tuple(dict.fromkeys(variants))


def _listed(conjunction: str) -> str:
    """``model, ngram, layers and layers:N``."""
    variants = [f"{name}:N" for name, spec in DRAFTERS.items() if spec.variant]
    *names, last = [*DRAFTERS, *variants]
    return f"{', '.join(names)} {conjunction} {last}"


def without(options: list[Any], *names: str) -> list[Any]:
    """``options`` without the parameters ``names``."""

    def name(option: Callable[..., Any]) -> str:
        probe = option(lambda: None)
        return str(probe.__click_params__[0].name)

    return [option for option in options if name(option) not in names]


BENCH_OPTIONS = [
    click.option(
        "--k", "ks", type=NumberList(1, MAX_K, whole=True), default="1,2,4,8", help="List (1,2,4) or range (1..8)."
    ),
    click.option(
        "--drafter",
        "drafters",
        type=DrafterVariants(),
        default=DEFAULT_DRAFTER,
        help=f"List of {_listed('and')}, compared side by side.",
    ),
    click.option("--repeats", type=Whole(1, 1000), default=5, help="Repeat all measurements this often."),
    click.option(
        "--prompts",
        "prompts_file",
        metavar="FILE",
        help="One prompt per line, \\n for a line break; - is standard input.",
    ),
    click.option("--plot", is_flag=True, help="Also plot the measured and predicted speedup over K."),
    click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of the tables."),
    click.option("--max-new-tokens", type=Whole(1, MAX_COUNT), default=64, help="Tokens per run."),
    click.option(
        "--baseline",
        type=click.Choice(["hf"]),
        help="Compare with another engine at the same K: hf is assisted generation in transformers.",
    ),
    *without(RUN_OPTIONS, "k", "drafter", "max_new_tokens", "record", "force"),
    click.option("--force", is_flag=True, help="Run a pair that check refuses."),
]


def read_prompts(text: str) -> tuple[str, ...]:
    """The prompts of a file, one per non-empty line; \\n, \\t and \\\\ mean a line break, a tab and a backslash."""
    lines = (line.removesuffix("\r") for line in text.split("\n") if line.strip())
    return tuple(ESCAPE.sub(lambda escape: ESCAPED[escape[1]], line) for line in lines)


def with_prompts(options: RunOptions, file: str | None, *, one_given: bool) -> RunOptions:
    """``options`` with the prompts to measure: those of ``file``, or their own if ``one_given``, or the bundled ones.
    Raises click.UsageError for a file without prompts, or with both."""
    if file is not None and one_given:
        raise click.UsageError("--prompts cannot be combined with --prompt or --prompt-file.")
    if one_given:
        return options
    if file is None:
        text = files("specviz.bundled").joinpath("prompts.txt").read_text("utf-8")
    else:
        text = read_text("--prompts", file, "the prompts, one per line").removeprefix("\ufeff")
    prompts = read_prompts(text)
    if not prompts:
        raise click.UsageError(f"--prompts {file} contains no prompts. Write one per line.")
    return replace(options, prompts=tuple((f"prompt {n}", text) for n, text in enumerate(prompts, 1)))


def bench(
    options: RunOptions,
    drafters: tuple[DrafterVariant, ...],
    ks: tuple[int, ...],
    repeats: int,
    as_json: bool,
    baseline: str | None = None,
    *,
    plotted: bool = False,
) -> int:
    """Measure, print, and return the exit code. An interrupted benchmark reports the repeats that are complete."""
    from specviz.cli.commands.bench.baseline import measure_baseline, print_baseline, refuse_unfair
    from specviz.cli.shared.terminal_output import ProgressBar

    if baseline:
        refuse_unfair(options, [drafter.name for drafter in drafters])
    source = _opened(options, drafters)
    if baseline:
        from specviz.decoder.measuring.assisted import refuse_unequal

        refuse_unequal(source.pair)
    plan = Plan(len(options.prompts), ks, repeats, options.calibrate > 0, source.drafters)
    config = source.describe()
    samples: list[Sample] = []
    results: list[ComparisonResult] = []
    code = 0
    try:
        _measure(source, plan, options.seed, samples, forward_only_tasks=not baseline)
        if baseline:
            comparisons = plan_comparisons(plan.test_prompts, ks, repeats, options.seed)
            with ProgressBar(len(comparisons), "baseline") as bar:
                measure_baseline(source, options, comparisons, results, bar.advance)
    except KeyboardInterrupt:
        code = 130
    from specviz.bench.json_report import summarise_bench
    from specviz.bench.report import report

    done = report(plan, samples)
    if code:
        say(f"Stopped: {done.repeats} of {repeats} repeats complete{'.' if done.repeats else ', nothing to show.'}")
    if not done.repeats:
        return code
    rows = baseline_rows(results)
    if as_json:
        summary = summarise_bench(done, config)
        if baseline:
            summary["baseline"] = summarise_baseline(rows, baseline, config["versions"]["transformers"])
        show(json.dumps(summary, allow_nan=False))
    else:
        from specviz.cli.commands.bench.tables import print_report
        from specviz.cli.commands.bench.verdicts import print_verdicts

        print_report(done, config)
        print_verdicts(done, config)
        if rows:
            print_baseline(rows, config)
        if plotted:
            from specviz.cli.commands.bench.plot import plot

            plot(done)
    return code


def _opened(options: RunOptions, drafters: tuple[DrafterVariant, ...]) -> "Bench":
    progress = LoadProgress()

    def show_event(event: Event) -> None:
        match event:
            case Notice(message):
                say(f"note: {safe_terminal_text(message)}")
            case Progress() if sys.stderr.isatty():
                progress.report(event)

    locations = locator(options.pair, show_event).locate_pair()
    show_event(Progress("import"))
    from specviz.decoder.measuring.runner import open_bench

    return open_bench(options, show_event, locations, drafters)


def _measure(source: "Bench", plan: Plan, seed: int, samples: "list[Sample]", *, forward_only_tasks: bool) -> None:
    """Run every task of the plan into ``samples``; ``forward_only_tasks``: repeat some with forward passes alone."""
    from specviz.bench.samples import sample
    from specviz.cli.shared.terminal_output import ProgressBar

    tasks = plan.tasks(seed)
    with ProgressBar(len(tasks), "measuring") as bar:
        source.warm_up({task.configuration: None for task in tasks}.keys())
        for done in source.measure(tasks, plan.forward_only_tasks(tasks) if forward_only_tasks else ()):
            samples.append(sample(done.task, done.rounds, done.calibration, done.forwards_ms, done.peak))
            bar.advance()
