"""specviz on a GPU: shapes of real pairs with random weights, beside assisted generation and bare forwards.

    python -m benchmarks.gpu [--shapes gpt2,qwen] [--k 4] [--repeats 3] [--minutes 7]
    python -m benchmarks.gpu --device cpu --shapes tiny           does it run at all? a few seconds

Nothing is downloaded and no weights are written: see random_pairs.py. In turns in one process, on one prompt: the
target alone; rounds of specviz without and with inspection, and compiled where specviz can; assisted generation of
transformers at the same K in every round; after each run of specviz, the forwards of its rounds once more with nothing
around them. Figures are medians of the repeats, of what follows the first round. waits: how often a round makes
the host wait for the device, at most, by torch's sync debug mode, in a run of its own (for assisted generation: the
mean of a run).
"""

import gc
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import median

import torch
import transformers

from benchmarks.options import parser
from benchmarks.random_pairs import NOISY, SHAPES, Made, make
from specviz.core.events import Round, Settings
from specviz.core.options import PairOptions, RunOptions, RunRequest
from specviz.core.units import bytes_in_words
from specviz.decoder.drafters.protocol import drafter_factories
from specviz.decoder.loading.compiling import compile_models
from specviz.decoder.loading.pair import LoadedPair
from specviz.decoder.loading.weights import quiet_libraries
from specviz.decoder.measuring.assisted import assisted, forward_only_ms, run_ours
from specviz.decoder.models.causal_model import CausalModel
from specviz.decoder.pairing.placement import DTYPES
from specviz.decoder.source import LiveSource

PROMPT = " ".join(f"w{i}" for i in range(100, 164))
SYNC = "called a synchronizing CUDA operation"
ALONE, ASSISTED = "target alone", "assisted"
ACCEPTANCES = {"twin": 0.0, "noisy twin": NOISY}
TEMPERATURES = 0.0, 1.0


def eager(made: Made, options: RunOptions) -> LiveSource:
    draft, target = (
        CausalModel(model, role=of.role, name=of.name, vocab_size=made.facts.vocab_size, context=of.context)
        for model, of in zip((made.draft, made.target), made.facts.models, strict=True)
    )
    drafters = drafter_factories(options.drafting, options.settings.drafter)
    available = {name: factory for name, factory in drafters.items() if factory.can_draft(target, draft)}
    return LiveSource(options, pair=LoadedPair(made.facts, made.vocabulary, draft, target, available, ()))


def inspected(made: Made, options: RunOptions) -> LiveSource:
    return eager(made, replace(options, inspect=True))


def compiled(made: Made, options: RunOptions) -> LiveSource | None:
    """On CUDA only: on a CPU weights are constants of what is compiled, and these change from case to case."""
    if made.device.type != "cuda":
        return None
    source = eager(made, options)
    if made.fast is None:
        compile_models(source.pair.models, True, lambda _: None)
        made.fast = source.pair.models
    draft, target = made.fast
    if not (draft.compiled and target.compiled):
        return None
    return LiveSource(options, pair=replace(source.pair, draft_model=draft, target=target))


MODES: dict[str, Callable[[Made, RunOptions], LiveSource | None]] = {
    "eager": eager,
    "inspected": inspected,
    "compiled": compiled,
}
"""How specviz runs a pair, by name; what gives None cannot be run."""


@dataclass
class Row:
    """Of one mode, a number a repeat. ``waits``: of each round but the first, None on a CPU."""

    tokens_per_s: list[float] = field(default_factory=list)
    round_ms: list[float] = field(default_factory=list)
    over_bare: list[float] = field(default_factory=list)
    waits: list[float] | None = None

    def add(self, tokens_per_s: float, round_ms: float, forward_only_ms: float) -> None:
        self.tokens_per_s.append(tokens_per_s)
        self.round_ms.append(round_ms)
        self.over_bare.append(round_ms / forward_only_ms)


@dataclass(frozen=True)
class Timed:
    """One run after its first round: times of a round that drafted K and of its forwards alone."""

    tokens_per_s: float
    round_ms: float
    forward_only_ms: float
    alpha: float | None
    tokens_per_round: float


@dataclass
class Case:
    """One pair, acceptance and temperature: rows by mode, and the runs of the mode ``eager``."""

    rows: dict[str, Row] = field(default_factory=dict)
    runs: list[Timed] = field(default_factory=list)

    def row(self, name: str) -> Row:
        return self.rows.setdefault(name, Row())


def measure(made: Made, k: int, temperature: float, repeats: int, tokens: int, until: float) -> Case:
    """At least one repeat, and no other that would not be done by ``until``, by the clock of ``time.monotonic``."""
    case, settings = Case(), Settings(k=k, temperature=temperature, draft_temperature=temperature)
    options = RunOptions(PairOptions(), settings, max_new_tokens=tokens, calibrate=0, inspect=False)
    short = sources_of(made, replace(options, max_new_tokens=24))
    for name, source in short.items():
        case.row(name).waits = waits_of(source, settings)
    case.row(ALONE).waits = waits_of(short["eager"], replace(settings, k=0))
    case.row(ASSISTED).waits = waits_of_assisted(short["eager"], settings)
    sources = sources_of(made, options)
    for repeat in range(repeats):
        begun = time.monotonic()
        alone = timed(sources["eager"], repeat, replace(settings, k=0))
        case.row(ALONE).add(alone.tokens_per_s, alone.round_ms, alone.forward_only_ms)
        for name in turned(list(sources), repeat):
            run = timed(sources[name], repeat, settings)
            case.row(name).add(run.tokens_per_s, run.round_ms, run.forward_only_ms)
            if name == "eager":
                case.runs.append(run)
        theirs = assisted(sources["eager"], PROMPT, k, temperature=temperature, seed=repeat)
        pace = theirs.throughput()
        rate, round_ms = 1e3 * pace.tokens / pace.ms, pace.ms / (len(theirs.arrivals) - 1)
        case.row(ASSISTED).add(rate, round_ms, case.runs[-1].forward_only_ms)
        if 2 * time.monotonic() - begun > until:
            break
    return case


def sources_of(made: Made, options: RunOptions) -> dict[str, LiveSource]:
    return {name: source for name, way in MODES.items() if (source := way(made, options)) is not None}


def timed(source: LiveSource, seed: int, settings: Settings) -> Timed:
    prompt, rounds, ours = run_ours(source, PROMPT, seed, settings)
    bare = forward_only_ms(source.pair, prompt, rounds)
    whole = [n for n, round_ in enumerate(rounds) if n and round_.k == settings.k]
    tested = sum(round_.tested for round_ in rounds)
    pace = ours.throughput()
    return Timed(
        1e3 * pace.tokens / pace.ms,
        sum(ours.arrivals[n][0] - ours.arrivals[n - 1][0] for n in whole) * 1e3 / len(whole),
        sum(bare[n] for n in whole) / len(whole),
        sum(round_.n_accepted for round_ in rounds) / tested if tested else None,
        sum(len(rounds[n].emitted) for n in whole) / len(whole),
    )


def turned(names: list[str], by: int) -> list[str]:
    at = by % len(names)
    return names[at:] + names[:at]


@contextmanager
def waits(device: torch.device) -> Iterator[Callable[[], int | None]]:
    """A function that says how often the host has waited for ``device`` since the last call; None on a CPU."""
    if device.type != "cuda":
        yield lambda: None
        return
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        torch.cuda.set_sync_debug_mode("warn")

        def since() -> int:
            seen = sum(SYNC in str(warning.message) for warning in caught)
            caught.clear()
            return seen

        try:
            yield since
        finally:
            torch.cuda.set_sync_debug_mode("default")


def waits_of(source: LiveSource, settings: Settings) -> list[float] | None:
    """Of every round but the first, over a whole run."""
    found: list[float] = []
    with waits(source.pair.target.device) as since:
        for event in source.run(RunRequest(PROMPT, 0, settings), lambda: settings, lambda: False):
            seen = since()
            if isinstance(event, Round) and seen is not None:
                found.append(seen)
    return found[1:] or None


def waits_of_assisted(source: LiveSource, settings: Settings) -> list[float] | None:
    """Their mean over all rounds of a run, reading the prompt included."""
    with waits(source.pair.target.device) as since:
        text = assisted(source, PROMPT, settings.k, temperature=settings.temperature)
        seen = since()
    return None if seen is None else [seen / len(text.arrivals)]


def table(case: Case) -> Iterator[str]:
    """A line a mode, under its titles."""
    alone = median(case.rows[ALONE].tokens_per_s)
    yield f"  {'':<14}{'tokens/s':>10}{'x alone':>9}{'round ms':>10}{'/ bare':>8}{'waits':>7}"
    for name in (ALONE, *MODES, ASSISTED):
        row = case.rows.get(name)
        if row is None:
            yield f"  {name:<14}not measured: only where it can be compiled on CUDA"
            continue
        waited = f"{max(row.waits):.3g}" if row.waits else "-"
        yield _line(name, median(row.tokens_per_s), alone, median(row.round_ms), median(row.over_bare), waited)
    bare = median(run.forward_only_ms for run in case.runs)
    yield _line("bare forwards", 1e3 * median(run.tokens_per_round for run in case.runs) / bare, alone, bare, 1.0, "-")


def _line(name: str, speed: float, alone: float, round_ms: float, over_bare: float, waited: str) -> str:
    return f"  {name:<14}{speed:>10.1f}{speed / alone:>9.2f}{round_ms:>10.2f}{over_bare:>8.2f}{waited:>7}"


def free_bytes(device: torch.device) -> int:
    if device.type == "cuda":
        return int(torch.cuda.mem_get_info(device)[0])
    lines = Path("/proc/meminfo").read_text().splitlines()
    return next(int(line.split()[1]) << 10 for line in lines if line.startswith("MemAvailable"))


def report(
    names: Sequence[str],
    device: torch.device,
    dtype: torch.dtype,
    k: int,
    repeats: int,
    tokens: int,
    seconds: float,
    temperatures: Sequence[float] = TEMPERATURES,
    free_bytes: Callable[[torch.device], int] = free_bytes,
) -> Iterator[str]:
    """Line by line, as it is measured; repeats end early where ``seconds`` would not do for all cases."""
    end, left = time.monotonic() + seconds, len(ACCEPTANCES) * len(temperatures) * len(names)
    for name in names:
        shapes = SHAPES[name]()
        need, free = shapes.weight_bytes(dtype), free_bytes(device)
        if 1.1 * need > free:
            words = bytes_in_words(need), bytes_in_words(free)
            yield f"{shapes.title}: not measured, {words[0]} of weights do not fit {words[1]} of free memory"
            left -= len(ACCEPTANCES) * len(temperatures)
            continue
        made = make(shapes, device, dtype)
        for acceptance, noise in ACCEPTANCES.items():
            made.disturb(noise)
            for temperature in temperatures:
                now = time.monotonic()
                case = measure(made, k, temperature, repeats, tokens, now + (end - now) / left)
                left -= 1
                yield (
                    f"{shapes.title}, {acceptance}, K {k}, T {temperature:g}: "
                    f"alpha tested {median(run.alpha or 0.0 for run in case.runs):.3f}, "
                    f"{median(run.tokens_per_round for run in case.runs):.2f} tokens/round, "
                    f"medians of {len(case.runs)}"
                )
                yield from table(case)
        del made
        gc.collect()
        if device.type == "cuda":
            torch.cuda.empty_cache()


def main(args: Sequence[str] | None = None) -> int:
    arguments = parser(__doc__, device="cuda", k=4, tokens=128, repeats=3)
    arguments.add_argument("--shapes", default="gpt2,qwen", help=f"list of {', '.join(SHAPES)}")
    arguments.add_argument("--dtype", choices=DTYPES, help="by default bfloat16 on a GPU, float32 on a CPU")
    arguments.add_argument("--minutes", type=float, default=7.0, help="time limit; it may reduce the repeats")
    parsed = arguments.parse_args(args)
    names, device = parsed.shapes.split(","), torch.device(parsed.device)
    if unknown := [name for name in names if name not in SHAPES]:
        arguments.error(f"--shapes: there is no {unknown[0]!r}, only {', '.join(SHAPES)}")
    if device.type == "cuda" and not torch.cuda.is_available():
        print("not measured: no CUDA device (--device cpu --shapes tiny shows that the script runs)")
        return 2
    quiet_libraries()
    dtype = DTYPES[parsed.dtype or ("float32" if device.type == "cpu" else "bfloat16")]
    where = torch.cuda.get_device_name(device) if device.type == "cuda" else f"CPU, {torch.get_num_threads()} threads"
    print(f"{where}, {dtype}, torch {torch.__version__}, transformers {transformers.__version__}", flush=True)
    for line in report(names, device, dtype, parsed.k, parsed.repeats, parsed.tokens, 60 * parsed.minutes):
        print(line, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
