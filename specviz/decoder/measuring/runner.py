"""A pair run by a plan: plain and speculative decoding in turns, in one process, by the same decoder."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from specviz.bench.plan import Configuration, DrafterVariant, Task
from specviz.core.drafters import DRAFTERS
from specviz.core.events import Calibration, Round, Settings
from specviz.core.options import MAX_SEED, RunOptions
from specviz.core.source import Emit
from specviz.decoder.checkpoints.hub import PairLocations
from specviz.decoder.drafters.protocol import Drafter, DrafterFactory, Proposal, drafter_factories, drafter_factory
from specviz.decoder.loading.pair import LoadedPair, load_pair
from specviz.decoder.measuring.assisted import can_time_forwards, forward_only_ms
from specviz.decoder.models.causal_model import UNLIMITED, CausalModel
from specviz.decoder.rounds.speculative import SpeculativeDecoder, naming_the_round
from specviz.decoder.rounds.warm_up import calibrate
from specviz.decoder.source import LiveSource, run_config
from specviz.decoder.tensors.device import peak_memory
from specviz.decoder.tensors.sampling import RoundRandom

WARM_UP_TOKENS = 16


@dataclass(frozen=True, slots=True)
class Measured:
    """The result of a task: rounds, or the one-token steps of a calibration. ``forwards_ms``: the forwards of each
    round timed again on their own, if requested and possible. ``peak``: the most bytes in use, None if unknown."""

    task: Task
    rounds: tuple[Round, ...]
    calibration: Calibration | None
    forwards_ms: tuple[float, ...] = ()
    peak: int | None = None


class NoDrafter:
    """Never drafts and costs nothing: plain decoding is rounds of the target alone."""

    def prefill(self, ids: Sequence[int]) -> None:
        pass

    def room(self, length: int) -> int:
        return UNLIMITED

    def propose(
        self, ids: Sequence[int], k: int, settings: Settings, uniforms: RoundRandom, stopped: Callable[[], bool]
    ) -> Proposal | None:
        raise AssertionError("plain decoding drafts nothing")

    def commit(self, ids: Sequence[int]) -> None:
        pass

    def warm_up(self, last_id: int) -> None:
        pass

    def step_ms(self, last_id: int, repeats: int, stopped: Callable[[], bool]) -> float | None:
        return None


class Bench:
    """A loaded pair, run by tasks instead of requests. See ``open_bench``."""

    def __init__(
        self, pair: LoadedPair, options: RunOptions, factories: Mapping[DrafterVariant, DrafterFactory | None]
    ) -> None:
        """``factories``: of each drafter, None if it cannot draft for this pair."""
        self.pair = pair
        self._options = options
        self._factories = factories

    @property
    def drafters(self) -> tuple[DrafterVariant, ...]:
        """Each once, with the value of its variant."""
        return tuple(self._factories)

    @property
    def source(self) -> LiveSource:
        """The same pair for whole runs; they are timed from outside, so none is interrupted by a calibration."""
        return LiveSource(replace(self._options, calibrate=0), pair=self.pair)

    def describe(self) -> Mapping[str, Any]:
        """The options, devices, dtypes, threads and library versions, JSON-able."""
        return run_config(self.pair, self._options, self._options.settings, self._options.seed)

    def warm_up(self, configurations: Collection[Configuration]) -> None:
        """Run each configuration for a few tokens of the first prompt, so that no first use is timed."""
        prompt = self._encode(0)
        for configuration in configurations:
            self._run_task(Task(0, 0, configuration), prompt, WARM_UP_TOKENS)

    def measure(self, tasks: Iterable[Task], forward_only_tasks: Collection[Task] = ()) -> Iterator[Measured]:
        """Run the tasks in their order, after encoding every prompt. Repeat r has the seed ``seed + r``, the same for
        all that is compared. ``forward_only_tasks``: tasks whose forwards are timed again, each right after its run."""
        prompts = [self._encode(n) for n in range(len(self._options.prompts))]
        for task in tasks:
            ids = prompts[task.prompt]
            with peak_memory(self.pair.target.device) as most:
                measured = replace(self._run_task(task, ids, self._options.max_new_tokens), peak=most())
            if task in forward_only_tasks and can_time_forwards(self.pair):
                measured = replace(measured, forwards_ms=tuple(forward_only_ms(self.pair, ids, measured.rounds)))
            yield measured

    def _encode(self, n: int) -> list[int]:
        return list(self.pair.encode(self._options.prompts[n][1], chat=self._options.chat).ids)

    def _run_task(self, task: Task, prompt: list[int], tokens: int) -> Measured:
        pair, configuration = self.pair, task.configuration
        settings = replace(self._options.settings, k=configuration.k, drafter=configuration.drafter.name)
        match configuration.kind:
            case "calibration":
                run = self._prefilled(task, prompt, tokens, self._drafters(configuration.drafter, len(prompt)))
                timed = calibrate(
                    pair.target, run.drafter, prompt, self._options.calibrate, lambda: False, verify_ids=()
                )
                return Measured(task, (), timed)
            case "target":
                run = self._prefilled(task, prompt, tokens, {settings.drafter: NoDrafter()})
            case "draft" if pair.draft_model is None or len(prompt) > pair.draft_model.context:
                return Measured(task, (), None)
            case "draft":
                run = self._prefilled(task, prompt, tokens, {settings.drafter: NoDrafter()}, model=pair.draft)
                settings = replace(settings, temperature=settings.draft_temperature)
            case "speculative":
                drafters = self._drafters(configuration.drafter, len(prompt))
                run = self._prefilled(task, prompt, tokens + configuration.k, drafters)
        return Measured(task, tuple(_rounds(run, settings, tokens)), None)

    def _drafters(self, variant: DrafterVariant, prompt_length: int) -> dict[str, Drafter]:
        factory = self._factories.get(variant)
        return {variant.name: factory.build(self.pair.context(prompt_length, self._options))} if factory else {}

    def _prefilled(
        self,
        task: Task,
        prompt: list[int],
        max_new_tokens: int,
        drafters: Mapping[str, Drafter],
        *,
        model: CausalModel | None = None,
    ) -> SpeculativeDecoder:
        seed = (self._options.seed + task.repeat) % (MAX_SEED + 1)
        run = self.pair.decoder(prompt, seed, self._options, drafters, model=model, max_new_tokens=max_new_tokens)
        with naming_the_round("Before round 1"):
            run.prefill(task.configuration.drafter.name)
        return run


def open_bench(
    options: RunOptions, emit: Emit, locations: PairLocations | None = None, drafters: Sequence[DrafterVariant] = ()
) -> Bench:
    """Load the pair of ``options`` for ``drafters``, which draft in turns; by default the drafter of ``options``.
    Raises SpecvizError."""
    drafters = drafters or (DrafterVariant(options.settings.drafter),)
    factories = drafter_factories(options.drafting, options.settings.drafter)
    factories |= {
        str(each): drafter_factory(each.name, _with_variant(options.drafting, each), selected=True) for each in drafters
    }
    pair = load_pair(options, emit, locations, factories)
    resolved = {_resolved(each, pair): pair.drafters.get(str(each)) for each in drafters}
    return Bench(pair, options, resolved)


def _with_variant(drafting: Mapping[str, Any], variant: DrafterVariant) -> Mapping[str, Any]:
    option = DRAFTERS[variant.name].variant
    return drafting if option is None or variant.variant is None else {**drafting, option: variant.variant}


def _resolved(variant: DrafterVariant, pair: LoadedPair) -> DrafterVariant:
    """``variant`` with the value that its variant has for this pair."""
    factory, option = pair.drafters.get(str(variant)), DRAFTERS[variant.name].variant
    return variant if factory is None or option is None else replace(variant, variant=factory.options[option])


def _rounds(run: SpeculativeDecoder, settings: Settings, tokens: int) -> Iterator[Round]:
    """Rounds until at least ``tokens`` tokens are emitted. The budget of the run has room for K more, so that no round
    near the end drafts fewer tokens, which would count against large K alone."""
    emitted = 0
    for round_ in run.rounds(lambda: settings, lambda: False):
        yield round_
        emitted += len(round_.emitted)
        if emitted >= tokens:
            return
