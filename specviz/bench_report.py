"""A benchmark's numbers: samples of runs in, medians with quartiles, predictions and their faults out.

Every measured number is taken once a repeat, over all prompts it is asked of, and shown as the median of the repeats
with its quartiles. Times are milliseconds. Counted are the rounds behind each run's first, whole ones alone (the end of
the text may cut one); acceptance is counted over all rounds. A token's time is that of decoding, draft + verify +
decide; ``inspected`` numbers also hold what specviz adds: looking at every round.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields

import numpy as np

from specviz.bench_plan import CALIBRATION, DRAFT, TARGET, Configuration, Plan, Task
from specviz.bench_reasons import Assumed, Costs, Factor, Seen, factors, why
from specviz.events import Calibration, Round
from specviz.tally import Tally, tally


@dataclass(frozen=True, slots=True)
class Sample:
    """One run, counted."""

    task: Task
    rounds: tuple[Tally, ...]
    calibration: Calibration | None


def sample(task: Task, rounds: Iterable[Round], calibration: Calibration | None = None) -> Sample:
    return Sample(task, tuple(map(tally, rounds)), calibration)


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
class Measurement:
    """One configuration on one half of the prompts.

    ``draft_step_ms`` (a round's draft time over its K_r), ``verify_ms`` (of rounds that drafted K), ``decide_ms`` and
    ``inspect_ms`` are medians of rounds. ``round_ms`` is all decoding time over all rounds, ``token_ms`` over all
    tokens, ``decoding_tokens_per_s`` the inverse of that (``tokens_per_s`` of a run also counts what specviz adds).
    """

    decoding_tokens_per_s: Spread | None
    draft_step_ms: Spread | None
    verify_ms: Spread | None
    decide_ms: Spread | None
    inspect_ms: Spread | None
    alpha_tested: Spread | None
    alpha_overlap: Spread | None
    tokens_per_round: Spread | None
    token_ms: Spread | None
    inspected_token_ms: Spread | None
    round_ms: Spread | None


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
        "decoding_tokens_per_s": _ratio(1000.0 * tokens, spent),
        "draft_step_ms": _median([r.draft_ms / r.k for r in counted if r.k]),
        "verify_ms": _median([r.verify_ms for r in counted if r.k == k]),
        "decide_ms": _median([r.decide_ms for r in counted]),
        "inspect_ms": _median([r.inspect_ms for r in counted]),
        "alpha_tested": _ratio(sum(r.accepted for r in every), sum(r.accepted + r.rejected for r in every)),
        "alpha_overlap": _ratio(sum(r.chance for r in every), sum(r.chanced for r in every)),
        "tokens_per_round": _ratio(tokens, n),
        "token_ms": _ratio(spent, tokens),
        "inspected_token_ms": _ratio(total, tokens),
        "round_ms": _ratio(spent, n),
    }


@dataclass(frozen=True, slots=True)
class Prediction:
    """``off``: predicted / measured, the product of ``factors``. ``why``: in words, where it is more than 15 % off.

    All of them None or empty where nothing was measured beside it.
    """

    assumed: Assumed
    off: float | None
    factors: tuple[Factor, ...]
    why: str | None


@dataclass(frozen=True, slots=True)
class Row:
    """One K. ``first``: the half that predicts; ``second``: the half that is measured. ``speedup`` of the second: the
    plain target's time a token over the speculative one's, in the same repeat."""

    k: int
    first: Measurement
    second: Measurement
    speedup: Spread | None
    inspected_speedup: Spread | None
    model: Prediction | None
    measured_cost: Prediction | None

    @property
    def slower(self) -> bool:
        return self.speedup is not None and self.speedup.median < 1.0


@dataclass(frozen=True, slots=True)
class BenchReport:
    """``repeats``: the complete ones. ``target_step_ms`` and ``draft_step_ms`` are T_p and T_q, ``c`` their quotient:
    the median over the prompts of the first half, then over repeats. ``target`` and ``draft``: each alone, on the
    second half."""

    plan: Plan
    repeats: int
    target_step_ms: Spread | None
    draft_step_ms: Spread | None
    c: Spread | None
    target: Measurement
    draft: Measurement
    rows: tuple[Row, ...]

    @property
    def fastest(self) -> Row | None:
        """The row with the largest measured speedup, of equal ones the smallest K."""
        measured = [row for row in self.rows if row.speedup]
        return max(measured, key=lambda row: row.speedup.median if row.speedup else 0.0, default=None)


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

    def steps(self) -> list[list[Calibration]]:
        """The calibrations of each repeat."""
        runs = [self.runs(CALIBRATION, self._plan.predicting, repeat) for repeat in self.repeats]
        return [[one.calibration for one in each if one.calibration] for each in runs]


def report(plan: Plan, samples: Iterable[Sample]) -> BenchReport:
    """Everything that complete repeats say."""
    have = Samples(plan, samples)
    steps = have.steps()
    target_step = spread(_median([c.target_step_ms for c in each]) for each in steps)
    c = spread(_median([r for one in each if (r := _cost_ratio(one)) is not None]) for each in steps)
    plain = have.numbers(TARGET, plan.measuring)
    target = measurement(plain)
    rows = []
    for configuration in plan.speculative:
        firsts, seconds = (have.numbers(configuration, half) for half in (plan.predicting, plan.measuring))
        first, second = measurement(firsts), measurement(seconds)
        speedup, inspected = (
            spread(_ratio(a[name], b[name]) for a, b in zip(plain, seconds, strict=True))
            for name in ("token_ms", "inspected_token_ms")
        )
        seen = _seen(configuration.k, target, second, have.drafts(configuration, plan.measuring), speedup)
        step = target_step.median if target_step else None
        predictions = [
            _judged(assumed, seen, speedup)
            for assumed in (
                by_model(configuration.k, first, step, c.median if c else None),
                by_measured_cost(configuration.k, first, step),
            )
        ]
        rows.append(Row(configuration.k, first, second, speedup, inspected, *predictions))
    return BenchReport(
        plan=plan,
        repeats=len(have.repeats),
        target_step_ms=target_step,
        draft_step_ms=spread(
            _median([one.draft_step_ms for one in each if one.draft_step_ms is not None]) for each in steps
        ),
        c=c,
        target=target,
        draft=measurement(have.numbers(DRAFT, plan.measuring)),
        rows=tuple(rows),
    )


def measurement(repeats: Sequence[Numbers]) -> Measurement:
    return Measurement(*(spread(each[field.name] for each in repeats) for field in fields(Measurement)))


def by_model(k: int, first: Measurement, target_step_ms: float | None, c: float | None) -> Assumed | None:
    """E[N](α, K) c / (c + K): every step and the verification at their calibrated cost (Theorem 3.8)."""
    if first.alpha_tested is None or not target_step_ms or not c:
        return None
    costs = Costs(draft=k * target_step_ms / c, verify=target_step_ms, decide=0.0)
    return Assumed(k, first.alpha_tested.median, target_step_ms, costs, by_model=True)


def by_measured_cost(k: int, first: Measurement, target_step_ms: float | None) -> Assumed | None:
    """T_p E[N](α, K) / (K T_q' + T_verify(K + 1) + T_decide): what a round's parts took on the first prompts."""
    costs = _median_costs(k, first)
    if first.alpha_tested is None or not target_step_ms or not costs:
        return None
    return Assumed(k, first.alpha_tested.median, target_step_ms, costs, by_model=False)


def _median_costs(k: int, measured: Measurement) -> Costs | None:
    draft, verify, decide = measured.draft_step_ms, measured.verify_ms, measured.decide_ms
    return Costs(k * draft.median, verify.median, decide.median) if draft and verify and decide else None


def _seen(
    k: int, target: Measurement, second: Measurement, drafts: Mapping[int, int], speedup: Spread | None
) -> Seen | None:
    alpha, tokens, round_ms = second.alpha_tested, second.tokens_per_round, second.round_ms
    costs = _median_costs(k, second)
    plain, verify, decide = target.token_ms, target.verify_ms, target.decide_ms
    if not (alpha and tokens and costs and round_ms and plain and verify and decide and speedup):
        return None
    return Seen(
        alpha=alpha.median,
        drafts=drafts,
        tokens_per_round=tokens.median,
        costs=costs,
        mean_round_ms=round_ms.median,
        token_ms=verify.median + decide.median,
        mean_token_ms=plain.median,
        speedup=speedup.median,
    )


def _judged(assumed: Assumed | None, seen: Seen | None, speedup: Spread | None) -> Prediction | None:
    if assumed is None:
        return None
    off = assumed.speedup / speedup.median if speedup else None
    found = factors(assumed, seen) if seen else ()
    return Prediction(assumed, off, found, why(found))


def _cost_ratio(calibration: Calibration) -> float | None:
    return _ratio(calibration.target_step_ms, calibration.draft_step_ms)


def _ratio(part: float | None, whole: float | None) -> float | None:
    return part / whole if part is not None and whole else None


def _median(values: Sequence[float]) -> float | None:
    return float(np.median(values)) if values else None
