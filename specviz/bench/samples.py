"""The runs of a benchmark: their rounds counted, and the numbers of each repeat with their spread."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np

from specviz.bench.plan import Configuration, DrafterVariant, Plan, Task
from specviz.core.events import Calibration, Round
from specviz.stats.round_counts import RoundCounts, count_round


@dataclass(frozen=True, slots=True)
class Sample:
    """One run, counted. ``forwards_ms``: the forwards of each round timed again on their own, empty if not timed.
    ``peak``: the most bytes in use, None if unknown."""

    task: Task
    rounds: tuple[RoundCounts, ...]
    calibration: Calibration | None
    forwards_ms: tuple[float, ...] = ()
    peak: int | None = None


def sample(
    task: Task,
    rounds: Iterable[Round],
    calibration: Calibration | None = None,
    forwards_ms: tuple[float, ...] = (),
    peak: int | None = None,
) -> Sample:
    return Sample(task, tuple(map(count_round, rounds)), calibration, forwards_ms, peak)


@dataclass(frozen=True, slots=True)
class Spread:
    """Median and quartiles over the repeats, with linear interpolation."""

    median: float
    q1: float
    q3: float


def spread(values: Iterable[float | None]) -> Spread | None:
    """The spread of the values that are defined; None without any."""
    defined = [value for value in values if value is not None]
    if not defined:
        return None
    q1, median, q3 = np.quantile(defined, [0.25, 0.5, 0.75])
    return Spread(float(median), float(q1), float(q3))


@dataclass(frozen=True, slots=True)
class RoundCost:
    """``round_ms``: the whole round, inspection included; ``forwards_ms``: its forwards on their own; ``outside``: the
    share of the round that is not spent in forwards. Means over the rounds of a repeat."""

    round_ms: Spread | None
    forwards_ms: Spread | None
    outside: Spread | None


def round_cost(rounds: Sequence[Sequence[float]], forwards: Sequence[Sequence[float]]) -> RoundCost:
    """``rounds``: milliseconds of the rounds of each repeat; ``forwards``: of their forwards, empty if unknown."""
    counts, round_ms, forwards_ms = list(map(len, rounds)), list(map(sum, rounds)), list(map(sum, forwards))
    return RoundCost(
        spread(map(ratio, round_ms, counts)),
        spread(ratio(ms or None, n) for ms, n in zip(forwards_ms, counts, strict=True)),
        spread(1 - b / a if a and b else None for a, b in zip(round_ms, forwards_ms, strict=True)),
    )


Numbers = dict[str, float | None]
"""The fields of a Measurement for one repeat."""


def numbers(runs: Sequence[Sequence[RoundCounts]], k: int) -> Numbers:
    """The numbers of all runs of one configuration, each run a sequence of rounds."""
    all_rounds = [round_ for rounds in runs for round_ in rounds]
    uncut = [round_ for rounds in runs for round_ in rounds[1:] if round_.uncut]
    n, tokens = len(uncut), sum(r.emitted for r in uncut)
    spent = sum(r.draft_ms + r.verify_ms + r.decide_ms for r in uncut)
    total = sum(r.total_ms for r in uncut)
    return {
        "decoding_tokens_per_s": ratio(1000.0 * tokens, spent),
        "draft_step_ms": median([r.draft_ms / r.k for r in uncut if r.k]),
        "verify_ms": median([r.verify_ms for r in uncut if r.k == k]),
        "decide_ms": median([r.decide_ms for r in uncut]),
        "inspect_ms": median([r.inspect_ms for r in uncut]),
        "alpha_tested": ratio(sum(r.accepted for r in all_rounds), sum(r.accepted + r.rejected for r in all_rounds)),
        "alpha_overlap": ratio(
            sum(r.accept_prob_sum for r in all_rounds), sum(r.n_with_accept_prob for r in all_rounds)
        ),
        "tokens_per_round": ratio(tokens, n),
        "token_ms": ratio(spent, tokens),
        "inspected_token_ms": ratio(total, tokens),
        "round_ms": ratio(spent, n),
    }


def position_rates(runs: Sequence[Sequence[RoundCounts]], k: int) -> tuple[float | None, ...]:
    """accepted / tested at draft positions 1, ..., ``k``, over all rounds."""
    all_rounds = [round_ for rounds in runs for round_ in rounds]
    accepted, tested = (
        [sum(length >= i for length in lengths) for i in range(1, k + 1)]
        for lengths in ([r.accepted for r in all_rounds], [r.accepted + r.rejected for r in all_rounds])
    )
    return tuple(map(ratio, accepted, tested))


@dataclass(frozen=True, slots=True)
class Steps:
    """A drafter's one-token step T_q and c = T_p / T_q from the same calibrations; None if it does not run a model."""

    drafter: DrafterVariant
    draft_step_ms: Spread | None
    c: Spread | None


class SampleSet:
    """The samples of all complete repeats."""

    def __init__(self, plan: Plan, samples: Iterable[Sample]) -> None:
        self._all = list(samples)
        self._plan = plan
        expected = sum(len(plan.configurations(prompt)) for prompt in range(plan.prompts))
        counts = Counter(one.task.repeat for one in self._all)
        self.repeats = [repeat for repeat in range(plan.repeats) if counts[repeat] == expected]

    def runs(self, configuration: Configuration, prompts: range) -> list[list[Sample]]:
        """The samples of each repeat."""
        selected = [one for one in self._all if one.task.configuration == configuration and one.task.prompt in prompts]
        return [[one for one in selected if one.task.repeat == repeat] for repeat in self.repeats]

    def numbers(self, configuration: Configuration, prompts: range) -> list[Numbers]:
        """One per repeat."""
        return [
            numbers([one.rounds for one in samples], configuration.k) for samples in self.runs(configuration, prompts)
        ]

    def drafts(self, configuration: Configuration, prompts: range) -> dict[int, int]:
        """The number of uncut rounds after the first, by K_r."""
        samples = chain.from_iterable(self.runs(configuration, prompts))
        return dict(Counter(round_.k for one in samples for round_ in one.rounds[1:] if round_.uncut))

    def positions(self, configuration: Configuration, prompts: range) -> tuple[Spread | None, ...]:
        rates = [
            position_rates([one.rounds for one in samples], configuration.k)
            for samples in self.runs(configuration, prompts)
        ]
        return tuple(map(spread, zip(*rates, strict=True)))

    def rounds(self, configuration: Configuration, prompts: range) -> tuple[int, int]:
        """(all rounds, rounds without a draft) over the repeats."""
        samples = chain.from_iterable(self.runs(configuration, prompts))
        ks = [round_.k for one in samples for round_ in one.rounds]
        return len(ks), ks.count(0)

    def alpha(self, drafter: DrafterVariant, prompts: range) -> Spread | None:
        """α tested of one drafter over all K."""
        by_k = [self.runs(each, prompts) for each in self._plan.speculative if each.drafter == drafter]
        repeats = [chain.from_iterable(samples) for samples in zip(*by_k, strict=True)]
        return spread(numbers([one.rounds for one in samples], 0)["alpha_tested"] for samples in repeats)

    def round_cost(self, configuration: Configuration, prompts: range) -> RoundCost:
        """Over the runs whose forwards were timed again."""
        repeats = [
            [
                (round_.total_ms, ms)
                for one in samples
                if one.forwards_ms
                for round_, ms in zip(one.rounds[1:], one.forwards_ms[1:], strict=True)
                if round_.uncut
            ]
            for samples in self.runs(configuration, prompts)
        ]
        return round_cost([[a for a, _ in times] for times in repeats], [[b for _, b in times] for times in repeats])

    def peak(self, configuration: Configuration, prompts: range) -> int | None:
        """The largest of all runs."""
        return largest(one.peak for one in chain.from_iterable(self.runs(configuration, prompts)))

    def calibrations(self, configuration: Configuration) -> list[list[Calibration]]:
        """The calibrations of each repeat."""
        runs = self.runs(configuration, self._plan.calibration_prompts)
        return [[one.calibration for one in samples if one.calibration] for samples in runs]

    def steps(self, configuration: Configuration) -> Steps:
        """The one-token step of one drafter."""
        repeats = self.calibrations(configuration)
        drafts = (median(one.draft_step_ms for one in repeat) for repeat in repeats)
        ratios = (median(ratio(one.target_step_ms, one.draft_step_ms) for one in repeat) for repeat in repeats)
        return Steps(configuration.drafter, spread(drafts), spread(ratios))

    def target_step(self) -> Spread | None:
        """T_p from all calibrations."""
        by_drafter = [self.calibrations(configuration) for configuration in self._plan.calibrations]
        repeats = [chain.from_iterable(calibrations) for calibrations in zip(*by_drafter, strict=True)]
        return spread(median(one.target_step_ms for one in repeat) for repeat in repeats)


def ratio(part: float | None, whole: float | None) -> float | None:
    return part / whole if part is not None and whole else None


def median(values: Iterable[float | None]) -> float | None:
    """The median of the values that are defined; None without any."""
    defined = [value for value in values if value is not None]
    return float(np.median(defined)) if defined else None


def largest(values: Iterable[int | None]) -> int | None:
    """The largest of the values that are defined; None without any."""
    return max((value for value in values if value is not None), default=None)
