"""A pair run by a plan: plain and speculative decoding in turns, in one process, through the same rounds."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from specviz.bench.plan import Configuration, Contender, Task
from specviz.core.events import Calibration, Event, Round, Settings
from specviz.core.options import MAX_SEED, RunOptions, RunRequest
from specviz.decoder.checkpoints.hub import PairLocations
from specviz.decoder.drafters.early_exit import LayersDrafter
from specviz.decoder.drafters.protocol import Drafter, Proposal
from specviz.decoder.measuring.assisted import bare_ms, has_bare
from specviz.decoder.measuring.peak_memory import peak
from specviz.decoder.models.causal_model import UNLIMITED, CausalModel
from specviz.decoder.pairing.prompt import read_prompt
from specviz.decoder.rounds.loop import Speculation, placed
from specviz.decoder.rounds.stopping import Ending
from specviz.decoder.rounds.warm_up import calibrate
from specviz.decoder.source import LiveSource, Pair
from specviz.decoder.tensors.randomness import Uniforms

WARM_UP_TOKENS = 16


@dataclass(frozen=True, slots=True)
class Measured:
    """What one task gave: rounds, or the one-token steps of a calibration. ``forwards_ms``: of each round its forwards
    once more, where that was asked for and can be had. ``peak``: bytes in use at most, None where nobody knows."""

    task: Task
    rounds: tuple[Round, ...]
    calibration: Calibration | None
    forwards_ms: tuple[float, ...] = ()
    peak: int | None = None


class Nobody:
    """A drafter that never drafts and costs nothing: plain decoding is rounds of the target alone."""

    def prefill(self, ids: Sequence[int]) -> None:
        pass

    def room(self, length: int) -> int:
        return UNLIMITED

    def propose(
        self, ids: Sequence[int], k: int, settings: Settings, uniforms: Uniforms, stopped: Callable[[], bool]
    ) -> Proposal | None:
        raise AssertionError("plain decoding drafts nothing")

    def commit(self, ids: Sequence[int]) -> None:
        pass

    def warm_up(self, last_id: int) -> None:
        pass

    def step_ms(self, last_id: int, repeats: int, stopped: Callable[[], bool]) -> float | None:
        return None


class Bench(LiveSource):
    """The live source, run by tasks instead of requests. ``open`` comes first; every prompt is read before any runs."""

    def __init__(
        self, options: RunOptions, locations: PairLocations | None = None, contenders: Sequence[Contender] = ()
    ) -> None:
        """``contenders``: what is to draft in turns; without any the drafter of ``options``."""
        super().__init__(options, locations)
        self._contenders = tuple(contenders) or (Contender(options.settings.drafter),)

    @property
    def contenders(self) -> tuple[Contender, ...]:
        """Each once, those that leave the target early with the layer they do it after."""
        pair = self._opened()
        exits = {Contender("layers"): Contender("layers", pair.exit_layer)}
        return tuple(dict.fromkeys(exits.get(each, each) for each in self._contenders))

    @property
    def _exits(self) -> tuple[int | None, ...]:
        return tuple(
            self._options.drafting["exit_layer"] if each.variant is None else each.variant
            for each in self._contenders
            if each.drafter == "layers"
        )

    def _calibrated(self, *_: object) -> Iterator[Event]:
        """Nothing: calibrations are tasks of their own here, and a run between them is timed as a whole."""
        yield from ()

    def describe(self) -> Mapping[str, Any]:
        """The options, device, numbers, threads and library versions of it all, JSON-able."""
        pair, options = self._opened(), self._options
        return self._config(pair, RunRequest(options.prompts[0][1], options.seed, options.settings))

    def warm_up(self, configurations: Collection[Configuration]) -> None:
        """Run each configuration for a few tokens of the first prompt, so that no first use of anything is timed."""
        prompt = self._read(0)
        for configuration in configurations:
            self._take(Task(0, 0, configuration), prompt, WARM_UP_TOKENS)

    def measure(self, tasks: Iterable[Task], laid_bare: Collection[Task] = ()) -> Iterator[Measured]:
        """Run the tasks in their order. Repeat r has the seed ``seed + r``, the same for all that is compared.
        ``laid_bare``: those whose forwards are timed once more, each right behind its run."""
        pair = self._opened()
        prompts = [self._read(n) for n in range(len(self._options.prompts))]
        for task in tasks:
            ids = prompts[task.prompt]
            with peak(pair.target.device) as most:
                measured = replace(self._take(task, ids, self._options.max_new_tokens), peak=most())
            if task in laid_bare and has_bare(pair):
                measured = replace(measured, forwards_ms=tuple(bare_ms(pair, ids, measured.rounds)))
            yield measured

    def _opened(self) -> Pair:
        if self._pair is None:
            raise RuntimeError("open() comes before measuring")
        return self._pair

    def _read(self, n: int) -> list[int]:
        pair = self._opened()
        text = self._options.prompts[n][1]
        return list(read_prompt(pair.facts.target, text, pair.vocabulary.size, chat=self._options.chat).ids)

    def _take(self, task: Task, prompt: list[int], tokens: int) -> Measured:
        pair, options, configuration = self._opened(), self._options, task.configuration
        suppressed_until = len(prompt) + options.min_new_tokens
        for model in pair.models:
            model.suppress(pair.facts.end_ids, suppressed_until)
        seed = (options.seed + task.repeat) % (MAX_SEED + 1)
        contender = configuration.contender
        settings = replace(options.settings, k=configuration.k, drafter=contender.drafter)
        drafters = self._drafters(pair, suppressed_until)
        if contender.variant:
            drafters["layers"] = LayersDrafter(pair.target, contender.variant, keep_logits=options.inspect)
        nobody = {contender.drafter: Nobody()}
        match configuration.kind:
            case "calibration":
                run = self._run(pair.target, drafters, prompt, seed, tokens, contender.drafter)
                timed = calibrate(pair.target, run.drafter, prompt, options.calibrate, lambda: False)
                return Measured(task, (), timed)
            case "target":
                run = self._run(pair.target, nobody, prompt, seed, tokens, contender.drafter)
            case "draft" if pair.second is None or len(prompt) > pair.second.context:
                return Measured(task, (), None)
            case "draft":
                run = self._run(pair.draft, nobody, prompt, seed, tokens, contender.drafter)
                settings = replace(settings, temperature=settings.draft_temperature)
            case "speculative":
                run = self._run(pair.target, drafters, prompt, seed, tokens + configuration.k, contender.drafter)
        return Measured(task, tuple(_rounds(run, settings, tokens)), None)

    def _run(
        self,
        model: CausalModel,
        drafters: Mapping[str, Drafter],
        prompt: list[int],
        seed: int,
        budget: int,
        drafter: str,
    ) -> Speculation:
        pair, stop = self._opened(), tuple(text.encode() for text in self._options.stop)
        ending = Ending(pair.facts.end_ids, stop, budget, model.context_of(len(prompt)))
        run = Speculation(model, drafters, pair.vocabulary, prompt, seed, ending, inspect=self._options.inspect)
        with placed("Before round 1"):
            run.prefill(drafter)
        return run


def _rounds(run: Speculation, settings: Settings, tokens: int) -> Iterator[Round]:
    """Rounds until there are at least ``tokens`` tokens. The run's budget leaves room for K more, so that no round near
    the end drafts fewer for want of it, which would count against large K alone."""
    emitted = 0
    for round_ in run.rounds(lambda: settings, lambda: False):
        yield round_
        emitted += len(round_.emitted)
        if emitted >= tokens:
            return
