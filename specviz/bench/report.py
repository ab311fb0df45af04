"""A benchmark's numbers: medians with quartiles, predictions, and why predictions are off.

Every number is measured once per repeat, over all its prompts, and shown as the median of the repeats with quartiles.
Times are milliseconds, over the uncut rounds after each run's first; acceptance is counted over all rounds. The time of
a token is decoding time: draft + verify + decide. ``inspected`` numbers include the inspection of every round.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields

from specviz.bench.attribution import Costs, Factor, Observation, Prediction, factors, main_reason
from specviz.bench.plan import DRAFT, MODEL, TARGET, Configuration, DrafterVariant, Plan
from specviz.bench.samples import Numbers, RoundCost, Sample, SampleSet, Spread, Steps, ratio, spread
from specviz.core.drafters import drafter_spec
from specviz.core.options import MAX_K
from specviz.maths import formulas


@dataclass(frozen=True, slots=True)
class Measurement:
    """One configuration on one half of the prompts. ``draft_step_ms`` (a round's draft time over its K_r),
    ``verify_ms`` (of rounds that drafted K), ``decide_ms`` and ``inspect_ms`` are medians over rounds. ``round_ms`` is
    all decoding time over all rounds, ``token_ms`` over all tokens, and ``decoding_tokens_per_s`` its inverse
    (``tokens_per_s`` of a run includes inspection)."""

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


@dataclass(frozen=True, slots=True)
class ScoredPrediction:
    """``off``: predicted / measured, the product of ``factors``. ``main_reason``: a sentence, if more than 15 % off.
    All None or empty if nothing was measured."""

    prediction: Prediction
    off: float | None
    factors: tuple[Factor, ...]
    main_reason: str | None


@dataclass(frozen=True, slots=True)
class Row:
    """A drafter at one K, measured on the calibration prompts (``predicted_on``) and on the test prompts
    (``measured_on``). The rest is about the test prompts: ``speedup`` is the plain target's time per token over the
    speculative one in the same repeat; ``positions``: accepted / tested by draft position; ``plain_rounds`` of the
    ``rounds`` drafted nothing; ``cost`` of a round and its forwards; ``peak``: the most bytes in use."""

    k: int
    predicted_on: Measurement
    measured_on: Measurement
    speedup: Spread | None
    inspected_speedup: Spread | None
    model: ScoredPrediction | None
    measured_cost: ScoredPrediction | None
    drafter: DrafterVariant = MODEL
    positions: tuple[Spread | None, ...] = ()
    rounds: int = 0
    plain_rounds: int = 0
    cost: RoundCost | None = None
    peak: int | None = None

    @property
    def slower(self) -> bool:
        return self.speedup is not None and self.speedup.median < 1.0


@dataclass(frozen=True, slots=True)
class ChosenK:
    """A K and its speedup. K = 0 is the target alone: do not speculate."""

    k: int
    speedup: float


@dataclass(frozen=True, slots=True)
class BestK:
    """The K with the largest speedup, the smallest of equals; None if no speedup is known. ``measured`` and
    ``measured_cost``: among the K that were run. ``model``: E[N] c / (c + K) over K = 0, ..., 32 (32 means 32 or more)
    at ``c`` and at ``alpha``, α tested of the calibration prompts over all K."""

    drafter: DrafterVariant
    measured: ChosenK | None
    model: ChosenK | None
    measured_cost: ChosenK | None
    alpha: float | None
    c: float | None


@dataclass(frozen=True, slots=True)
class BenchReport:
    """``repeats``: the complete ones. ``target_step_ms`` is T_p and ``steps`` the rest of the calibrations, by drafter:
    medians over the calibration prompts, then over repeats. ``target`` and ``draft``: each alone on the test prompts;
    ``cost`` and ``peak`` (the most bytes in use) are the target's. ``rows``: by drafter; ``best``: the best K of each.
    """

    plan: Plan
    repeats: int
    target_step_ms: Spread | None
    steps: tuple[Steps, ...]
    target: Measurement
    draft: Measurement
    rows: tuple[Row, ...]
    cost: RoundCost
    peak: int | None
    best: tuple[BestK, ...]

    @property
    def fastest(self) -> Row | None:
        """The row with the largest measured speedup, the smallest K of equals."""
        measured = [row for row in self.rows if row.speedup]
        return max(measured, key=lambda row: row.speedup.median if row.speedup else 0.0, default=None)


def report(plan: Plan, samples: Iterable[Sample]) -> BenchReport:
    """The report of all complete repeats."""
    runs = SampleSet(plan, samples)
    target_step = runs.target_step()
    steps = {each.drafter: runs.steps(each) for each in plan.calibrations}
    plain = runs.numbers(TARGET, plan.test_prompts)
    target = measurement(plain)
    rows = []
    for configuration in plan.speculative:
        predicted_numbers, measured_numbers = (
            runs.numbers(configuration, half) for half in (plan.calibration_prompts, plan.test_prompts)
        )
        predicted_on, measured_on = measurement(predicted_numbers), measurement(measured_numbers)
        speedup, inspected = (
            spread(ratio(a[name], b[name]) for a, b in zip(plain, measured_numbers, strict=True))
            for name in ("token_ms", "inspected_token_ms")
        )
        observation = _observation(
            configuration, target, measured_on, runs.drafts(configuration, plan.test_prompts), speedup
        )
        step, c = target_step.median if target_step else None, steps[configuration.drafter].c
        model, cost = (
            _scored(prediction, observation, speedup)
            for prediction in (
                by_model(configuration.k, predicted_on, step, c.median if c else None),
                by_measured_cost(configuration.k, predicted_on, step),
            )
        )
        rows.append(
            Row(
                configuration.k,
                predicted_on,
                measured_on,
                speedup,
                inspected,
                model,
                cost,
                configuration.drafter,
                runs.positions(configuration, plan.test_prompts),
                *runs.rounds(configuration, plan.test_prompts),
                runs.round_cost(configuration, plan.test_prompts),
                runs.peak(configuration, plan.test_prompts),
            )
        )
    alphas = {each: runs.alpha(each, plan.calibration_prompts) for each in plan.drafters}
    return BenchReport(
        plan=plan,
        repeats=len(runs.repeats),
        target_step_ms=target_step,
        steps=tuple(steps.values()),
        target=target,
        draft=measurement(runs.numbers(DRAFT, plan.test_prompts)),
        rows=tuple(rows),
        cost=runs.round_cost(TARGET, plan.test_prompts),
        peak=runs.peak(TARGET, plan.test_prompts),
        best=tuple(
            _best(each, [row for row in rows if row.drafter == each], alphas[each], steps[each].c)
            for each in plan.drafters
        ),
    )


def measurement(repeats: Sequence[Numbers]) -> Measurement:
    return Measurement(*(spread(each[field.name] for each in repeats) for field in fields(Measurement)))


def _best(drafter: DrafterVariant, rows: Sequence[Row], alpha: Spread | None, c: Spread | None) -> BestK:
    at, ratio = alpha.median if alpha else None, c.median if c else None
    return BestK(
        drafter,
        measured=best_of((row.k, row.speedup.median if row.speedup else None) for row in rows),
        model=best_by_model(at, ratio),
        measured_cost=best_of(
            (row.k, row.measured_cost.prediction.speedup if row.measured_cost else None) for row in rows
        ),
        alpha=at,
        c=ratio,
    )


def best_of(speedups: Iterable[tuple[int, float | None]]) -> ChosenK | None:
    """The (K, speedup) with the largest speedup; K = 0 if none is above 1."""
    known = [(k, speedup) for k, speedup in speedups if speedup is not None]
    if not known:
        return None
    return ChosenK(*max([(0, 1.0), *known], key=lambda one: (one[1], -one[0])))


def best_by_model(alpha: float | None, c: float | None) -> ChosenK | None:
    return None if alpha is None or c is None else ChosenK(*formulas.best_k(alpha, c, MAX_K))


def by_model(k: int, measured: Measurement, target_step_ms: float | None, c: float | None) -> Prediction | None:
    """E[N](α, K) c / (c + K): every step and the verification at calibrated cost (Theorem 3.8)."""
    if measured.alpha_tested is None or not target_step_ms or not c:
        return None
    costs = Costs(draft=k * target_step_ms / c, verify=target_step_ms, decide=0.0)
    return Prediction(k, measured.alpha_tested.median, target_step_ms, costs, by_model=True)


def by_measured_cost(k: int, measured: Measurement, target_step_ms: float | None) -> Prediction | None:
    """T_p E[N](α, K) / (K T_q' + T_verify(K + 1) + T_decide): with costs measured on the calibration prompts."""
    costs = _median_costs(k, measured)
    if measured.alpha_tested is None or not target_step_ms or not costs:
        return None
    return Prediction(k, measured.alpha_tested.median, target_step_ms, costs, by_model=False)


def _median_costs(k: int, measured: Measurement) -> Costs | None:
    draft, verify, decide = measured.draft_step_ms, measured.verify_ms, measured.decide_ms
    return Costs(k * draft.median, verify.median, decide.median) if draft and verify and decide else None


def _observation(
    configuration: Configuration,
    target: Measurement,
    measured: Measurement,
    drafts: Mapping[int, int],
    speedup: Spread | None,
) -> Observation | None:
    alpha, tokens, round_ms = measured.alpha_tested, measured.tokens_per_round, measured.round_ms
    costs = _median_costs(configuration.k, measured)
    plain, verify, decide = target.token_ms, target.verify_ms, target.decide_ms
    if not (alpha and tokens and costs and round_ms and plain and verify and decide and speedup):
        return None
    return Observation(
        alpha=alpha.median,
        drafts=drafts,
        tokens_per_round=tokens.median,
        costs=costs,
        mean_round_ms=round_ms.median,
        token_ms=verify.median + decide.median,
        mean_token_ms=plain.median,
        speedup=speedup.median,
        shortage=drafter_spec(configuration.drafter.name).draft_limit,
    )


def _scored(
    prediction: Prediction | None, observation: Observation | None, speedup: Spread | None
) -> ScoredPrediction | None:
    if prediction is None:
        return None
    off = prediction.speedup / speedup.median if speedup else None
    parts = factors(prediction, observation) if observation else ()
    return ScoredPrediction(prediction, off, parts, main_reason(parts))
