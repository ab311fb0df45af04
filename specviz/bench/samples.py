"""What the runs of a benchmark say together: their rounds counted, and numbers of each repeat with their spread."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from specviz.bench.plan import Configuration, Contender, Plan, Task
from specviz.core.events import Calibration, Round
from specviz.stats.round_counts import Tally, tally


@dataclass(frozen=True, slots=True)
class Sample:
    """One run, counted. ``forwards_ms``: of each round its forwards once more with nothing around them, empty where
    that was not timed. ``peak``: bytes in use at most, None where nobody knows."""

    task: Task
    rounds: tuple[Tally, ...]
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
    return Sample(task, tuple(map(tally, rounds)), calibration, forwards_ms, peak)


@dataclass(frozen=True, slots=True)
class Spread:
    """Median and quartiles over the repeats, quartiles interpolated linearly."""

    median: float
    q1: float
    q3: float


def spread(values: Iterable[float | None]) -> Spread | None:
    """Over the values that are defined; None without any."""
    defined = [value for value in values if value is not None]
    if not defined:
        return None
    q1, median, q3 = np.quantile(defined, [0.25, 0.5, 0.75])
    return Spread(float(median), float(q1), float(q3))


@dataclass(frozen=True, slots=True)
class RoundCost:
    """``round_ms`` with everything in it, inspection too; ``forwards_ms``: its forwards with nothing around them;
    ``outside``: the share of the round that they are not. Sums of a repeat's rounds over their number."""

    round_ms: Spread | None
    forwards_ms: Spread | None
    outside: Spread | None


def round_cost(whole: Sequence[Sequence[float]], bare: Sequence[Sequence[float]]) -> RoundCost:
    """``whole``: milliseconds of the rounds of each repeat; ``bare``: of their forwards, empty where not known."""
    counts, wholes, bares = list(map(len, whole)), list(map(sum, whole)), list(map(sum, bare))
    return RoundCost(
        spread(map(ratio, wholes, counts)),
        spread(ratio(ms or None, n) for ms, n in zip(bares, counts, strict=True)),
        spread(1 - b / a if a and b else None for a, b in zip(wholes, bares, strict=True)),
    )


Numbers = dict[str, float | None]
"""The fields of a Measurement, of one repeat."""


def numbers(runs: Sequence[Sequence[Tally]], k: int) -> Numbers:
    """What the runs of one configuration say together, each a sequence of rounds."""
    every = [round_ for rounds in runs for round_ in rounds]
    counted = [round_ for rounds in runs for round_ in rounds[1:] if round_.uncut]
    n, tokens = len(counted), sum(r.emitted for r in counted)
    spent = sum(r.draft_ms + r.verify_ms + r.decide_ms for r in counted)
    total = sum(r.total_ms for r in counted)
    return {
        "decoding_tokens_per_s": ratio(1000.0 * tokens, spent),
        "draft_step_ms": median([r.draft_ms / r.k for r in counted if r.k]),
        "verify_ms": median([r.verify_ms for r in counted if r.k == k]),
        "decide_ms": median([r.decide_ms for r in counted]),
        "inspect_ms": median([r.inspect_ms for r in counted]),
        "alpha_tested": ratio(sum(r.accepted for r in every), sum(r.accepted + r.rejected for r in every)),
        "alpha_overlap": ratio(sum(r.chance for r in every), sum(r.chanced for r in every)),
        "tokens_per_round": ratio(tokens, n),
        "token_ms": ratio(spent, tokens),
        "inspected_token_ms": ratio(total, tokens),
        "round_ms": ratio(spent, n),
    }


def position_rates(runs: Sequence[Sequence[Tally]], k: int) -> tuple[float | None, ...]:
    """accepted / tested at draft positions 1 to ``k``, over all rounds."""
    every = [round_ for rounds in runs for round_ in rounds]
    accepted, tested = (
        [sum(length >= i for length in lengths) for i in range(1, k + 1)]
        for lengths in ([r.accepted for r in every], [r.accepted + r.rejected for r in every])
    )
    return tuple(map(ratio, accepted, tested))


@dataclass(frozen=True, slots=True)
class Steps:
    """A drafter's one-token step T_q, and c = T_p / T_q of the same calibrations; None where that is no model's."""

    contender: Contender
    draft_step_ms: Spread | None
    c: Spread | None


class Samples:
    """The samples of all complete repeats, by configuration and repeat."""

    def __init__(self, plan: Plan, samples: Iterable[Sample]) -> None:
        self._all = list(samples)
        self._plan = plan
        whole = sum(len(plan.configurations(prompt)) for prompt in range(plan.prompts))
        come = Counter(one.task.repeat for one in self._all)
        self.repeats = [repeat for repeat in range(plan.repeats) if come[repeat] == whole]

    def runs(self, configuration: Configuration, prompts: range, repeat: int) -> list[Sample]:
        return [
            one
            for one in self._all
            if one.task.configuration == configuration and one.task.repeat == repeat and one.task.prompt in prompts
        ]

    def numbers(self, configuration: Configuration, prompts: range) -> list[Numbers]:
        """One a repeat."""
        each = [self.runs(configuration, prompts, repeat) for repeat in self.repeats]
        return [numbers([one.rounds for one in runs], configuration.k) for runs in each]

    def drafts(self, configuration: Configuration, prompts: range) -> dict[int, int]:
        """How many counted rounds drafted K_r tokens, by K_r."""
        runs = [one for repeat in self.repeats for one in self.runs(configuration, prompts, repeat)]
        return dict(Counter(round_.k for one in runs for round_ in one.rounds[1:] if round_.uncut))

    def positions(self, configuration: Configuration, prompts: range) -> tuple[Spread | None, ...]:
        each = [self.runs(configuration, prompts, repeat) for repeat in self.repeats]
        rates = [position_rates([one.rounds for one in runs], configuration.k) for runs in each]
        return tuple(map(spread, zip(*rates, strict=True)))

    def rounds(self, configuration: Configuration, prompts: range) -> tuple[int, int]:
        """(all rounds, those without a draft) over the repeats."""
        runs = [one for repeat in self.repeats for one in self.runs(configuration, prompts, repeat)]
        ks = [round_.k for one in runs for round_ in one.rounds]
        return len(ks), ks.count(0)

    def alpha(self, contender: Contender, prompts: range) -> Spread | None:
        """α tested of one that drafts, all K together."""
        at_any_k = [each for each in self._plan.speculative if each.contender == contender]
        runs = [[one for each in at_any_k for one in self.runs(each, prompts, repeat)] for repeat in self.repeats]
        return spread(numbers([one.rounds for one in each], 0)["alpha_tested"] for each in runs)

    def round_cost(self, configuration: Configuration, prompts: range) -> RoundCost:
        """Of the runs whose forwards were timed once more."""
        whole, bare = [], []
        for repeat in self.repeats:
            timed = [one for one in self.runs(configuration, prompts, repeat) if one.forwards_ms]
            both = [
                (round_.total_ms, ms)
                for one in timed
                for round_, ms in list(zip(one.rounds, one.forwards_ms, strict=True))[1:]
                if round_.uncut
            ]
            whole.append([a for a, _ in both])
            bare.append([b for _, b in both])
        return round_cost(whole, bare)

    def peak(self, configuration: Configuration, prompts: range) -> int | None:
        """The largest of all its runs."""
        runs = [one for repeat in self.repeats for one in self.runs(configuration, prompts, repeat)]
        return max((one.peak for one in runs if one.peak is not None), default=None)

    def calibrations(self, configuration: Configuration) -> list[list[Calibration]]:
        """Those of each repeat."""
        runs = [self.runs(configuration, self._plan.predicting, repeat) for repeat in self.repeats]
        return [[one.calibration for one in each if one.calibration] for each in runs]

    def steps(self, configuration: Configuration) -> Steps:
        """What the calibrations of one drafter say."""
        each = self.calibrations(configuration)
        drafts = (median([one.draft_step_ms for one in come if one.draft_step_ms is not None]) for come in each)
        ratios = (median([r for one in come if (r := _cost_ratio(one)) is not None]) for come in each)
        return Steps(configuration.contender, spread(drafts), spread(ratios))

    def target_step(self) -> Spread | None:
        """T_p by all calibrations."""
        each = [self.calibrations(configuration) for configuration in self._plan.calibrations]
        return spread(
            median([one.target_step_ms for come in repeat for one in come]) for repeat in zip(*each, strict=True)
        )


def _cost_ratio(calibration: Calibration) -> float | None:
    return ratio(calibration.target_step_ms, calibration.draft_step_ms)


def ratio(part: float | None, whole: float | None) -> float | None:
    return part / whole if part is not None and whole else None


def median(values: Sequence[float]) -> float | None:
    return float(np.median(values)) if values else None
