"""The options of a run: their types, ranges and defaults, and the RunOptions they make."""

import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any, TypeVar

import click

from specviz.cli.shared.argument_types import Condition, Device, DraftLength, NonEmpty, Pace, Real, Whole, is_utf8
from specviz.core.drafters import DEFAULT_DRAFTER, DRAFTERS, WITHOUT_DRAFT_MODEL, DrafterOption, drafter_options
from specviz.core.events import Settings
from specviz.core.options import (
    BUNDLED_DRAFT,
    BUNDLED_TARGET,
    MAX_COUNT,
    MAX_K,
    MAX_SEED,
    MAX_TEMPERATURE,
    PREPARED_PROMPTS,
    PairOptions,
    RunOptions,
)
from specviz.core.rule import RULES
from specviz.render.console import say

Command = TypeVar("Command", bound=Callable[..., Any])


def _either(phrases: Iterable[str]) -> str:
    *first, last = phrases
    return f"{', '.join(first)}, or {last}"


def _drafter_option(option: DrafterOption) -> Callable[[Command], Command]:
    if option.kind == "file":
        return click.option(option.flag, metavar="FILE", help=option.help)
    return click.option(
        option.flag, type=Whole(1, option.maximum), default=option.default, metavar=option.metavar, help=option.help
    )


RUN_OPTIONS = [
    click.option("--draft", metavar="MODEL", help="Draft model: hub id, folder or bundled:draft; needs --target."),
    click.option("--target", metavar="MODEL", help="Target model; hub:ID means the hub even if a folder ID exists."),
    click.option("--draft-revision", metavar="REV", help="Branch, tag or commit of the draft model on the hub."),
    click.option("--target-revision", metavar="REV", help="Branch, tag or commit of the target model on the hub."),
    click.option("--offline", is_flag=True, help="Do not contact the hub; use its cache."),
    click.option("--trust-remote-code", is_flag=True, help="Run Python code from model repositories."),
    click.option("--allow-pickle", is_flag=True, help="Allow weights stored as pickle files."),
    click.option("--device", type=Device(), default="auto", help="auto, cpu, cuda, cuda:N or mps."),
    click.option("--draft-device", type=Device(), help="Device of the draft model.  [default: the target's]"),
    click.option(
        "--dtype",
        type=click.Choice(["auto", "float32", "bfloat16", "float16"]),
        default="auto",
        help="Type of the weights; probabilities are always at least float32.",
    ),
    click.option(
        "--compile/--no-compile",
        default=None,
        help="Compile both models: a minute at the start, then faster rounds.  [default: on CUDA]",
    ),
    click.option(
        "--drafter",
        type=click.Choice(list(DRAFTERS)),
        default=DEFAULT_DRAFTER,
        help=f"Source of the drafts: {_either(spec.phrase for spec in DRAFTERS.values())}.",
    ),
    *(_drafter_option(option) for spec in DRAFTERS.values() for option in spec.options),
    click.option(
        "--rule",
        type=click.Choice(RULES),
        default=Settings().rule,
        help=f"Acceptance rule: {' or '.join(f'{rule.name} ({rule.help})' for rule in RULES.values())}.",
    ),
    click.option(
        "--k",
        type=DraftLength(0, MAX_K),
        default=str(Settings().k),
        metavar="NUMBER|auto",
        help="Tokens drafted per round; 0: no drafting; auto: chosen round by round.",
    ),
    click.option(
        "--temperature", type=Real(0, MAX_TEMPERATURE), default=1.0, help="Temperature of both models; 0: greedy."
    ),
    click.option(
        "--draft-temperature",
        type=Real(0, MAX_TEMPERATURE),
        help="Temperature of the draft; the output stays exact.  [default: the target's]",
    ),
    click.option("--top-k", type=Whole(1, MAX_COUNT), metavar="N", help="Sample from the N most probable ids."),
    click.option(
        "--top-p",
        type=Real(0, 1, above=True),
        metavar="F",
        help="Sample from the smallest set of ids with probability F.",
    ),
    click.option("--seed", type=Whole(0, MAX_SEED), default=0, help="Random seed; the same seed gives the same run."),
    click.option("--prompt", "prompts", multiple=True, metavar="TEXT", help="Text to continue; repeatable in the app."),
    click.option("--prompt-file", metavar="FILE", help="Read the prompt from a file; - is standard input."),
    click.option("--chat", is_flag=True, help="Apply the target's chat template to the prompt."),
    click.option("--max-new-tokens", type=Whole(1, MAX_COUNT), default=256, help="Maximum length of the text."),
    click.option("--min-new-tokens", type=Whole(0, MAX_COUNT), default=0, help="Minimum length before an end token."),
    click.option("--stop", type=NonEmpty(), multiple=True, metavar="TEXT", help="Stop before this text; repeatable."),
    click.option(
        "--calibrate", type=Whole(0, 1000), default=5, help="One-token steps to time for calibration; 0: none."
    ),
    click.option(
        "--no-inspect", is_flag=True, help="Omit ranks, entropies and top lists, which rates do not need; faster."
    ),
    click.option("--record", type=click.Path(path_type=Path), metavar="FILE", help="Record the run to a trace file."),
    click.option("--force", is_flag=True, help="Run a pair that check refuses; overwrite FILE of --record."),
]
DISPLAY_OPTIONS = [
    click.option("--theme", metavar="NAME", help="Theme; `specviz themes` lists them."),
    click.option("--paused", is_flag=True, help="Open paused."),
    click.option("--present", is_flag=True, help="Open as a presentation; a key starts it unless --pace is given."),
    click.option("--title", default="", show_default=False, metavar="TEXT", help="Title line of the presentation."),
    click.option(
        "--pace",
        type=Pace(0, 3600),
        default="auto",
        help="Seconds between rounds (between phases in a presentation); 0: full speed.",
    ),
    click.option(
        "--break",
        "breakpoints",
        type=Condition(),
        multiple=True,
        metavar="CONDITION",
        help="Pause when it holds: N<=1, reject<=2, overlap<.3, p/q<.1, token=ID, text~REGEX, streak>=5, end, |z|>3; "
        "repeatable.",
    ),
    click.option("--ascii", is_flag=True, help="Use ASCII characters only."),
]


def options(groups: list[Any]) -> Callable[[Command], Command]:
    """Decorator that adds all of ``groups`` to a command."""

    def decorate(command: Command) -> Command:
        for option in reversed(groups):
            command = option(command)
        return command

    return decorate


def run_options(params: dict[str, Any], *, one_prompt: bool) -> RunOptions:
    """The RunOptions of the parsed options. Raises click.UsageError if they cannot be combined."""
    temperature = params["temperature"]
    draft_temperature = params["draft_temperature"]
    if params["k"] is None and not params["calibrate"]:
        raise click.UsageError("--k auto weighs K by step times, which --calibrate 0 leaves out. Remove one of them.")
    settings = Settings(
        k=Settings().k if params["k"] is None else params["k"],
        temperature=temperature,
        draft_temperature=temperature if draft_temperature is None else draft_temperature,
        top_k=params["top_k"],
        top_p=params["top_p"] if params["top_p"] != 1.0 else None,
        drafter=params["drafter"],
        rule=params["rule"],
        k_auto=params["k"] is None,
    )
    named = {field.name: params[field.name] for field in fields(PairOptions)}
    pair = PairOptions(**named | {"draft": _draft(params), "target": params["target"] or BUNDLED_TARGET})
    return RunOptions(
        pair=pair,
        settings=settings,
        prompts=_prompts(params["prompts"], params["prompt_file"], one_prompt),
        seed=params["seed"],
        max_new_tokens=params["max_new_tokens"],
        min_new_tokens=params["min_new_tokens"],
        stop=params["stop"],
        calibrate=params["calibrate"],
        chat=params["chat"],
        drafting=_drafting(params),
        inspect=not params["no_inspect"],
    )


def _draft(params: dict[str, Any]) -> str | None:
    """The draft model: the one given with the target, else the bundled one, else None if the drafter needs none."""
    draft, target, drafter = params["draft"], params["target"], params["drafter"]
    if draft is not None and target is None:
        raise click.UsageError("--draft needs --target: name both models, or neither to use the bundled pair.")
    if draft is None and drafter in WITHOUT_DRAFT_MODEL:
        return None
    if draft is None and target is not None:
        raise click.UsageError(
            "--target needs --draft: name both models, or neither to use the bundled pair. "
            f"{' and '.join(f'--drafter {name}' for name in WITHOUT_DRAFT_MODEL)} need no draft model."
        )
    return draft or BUNDLED_DRAFT


def _drafting(params: dict[str, Any]) -> Mapping[str, Any]:
    for spec in DRAFTERS.values():
        if message := spec.check(params):
            raise click.UsageError(message)
        for option in spec.options:
            value = params[option.name]
            if option.kind == "file" and value is not None and not Path(value).expanduser().is_file():
                raise click.UsageError(f"{option.flag} {value}: no such file.")
    return drafter_options(**{name: params[name] for name in drafter_options()})


def _prompts(texts: tuple[str, ...], file: str | None, one: bool) -> tuple[tuple[str, str], ...]:
    if file is not None:
        if texts:
            raise click.UsageError("--prompt and --prompt-file cannot be combined.")
        return (("file", read_text("--prompt-file", file, "the prompt")),)
    if not all(map(is_utf8, texts)):
        raise click.UsageError("--prompt is not UTF-8 text. Encode it as UTF-8, or use --prompt-file.")
    if one and len(texts) > 1:
        raise click.UsageError(f"--prompt was given {len(texts)} times, but this command takes one.")
    if len(texts) > 9:
        raise click.UsageError(f"--prompt was given {len(texts)} times; the app takes at most 9.")
    named = tuple((f"prompt {n}", text) for n, text in enumerate(texts, 1))
    return named or PREPARED_PROMPTS


def read_text(option: str, file: str, what: str) -> str:
    """The UTF-8 text of ``file``, or of standard input for ``-``; ``what`` a person at a terminal is to type there.
    Raises click.UsageError."""
    if file == "-" and sys.stdin and sys.stdin.isatty():
        say(f"Type {what}, then press ctrl+D on an empty line.")
    try:
        data = sys.stdin.buffer.read() if file == "-" else Path(file).read_bytes()
        return data.decode("utf-8")
    except OSError as error:
        raise click.UsageError(f"{option} {file} cannot be read: {error.strerror}.") from None
    except UnicodeDecodeError as error:
        raise click.UsageError(f"{option} {file} is not UTF-8 text (byte {error.start}).") from None
