"""A benchmark's numbers: samples of runs in, medians with quartiles, predictions and their faults out.

Every measured number is taken once a repeat, over all prompts it is asked of, and shown as the median of the repeats
with its quartiles. Times are milliseconds. Counted are the rounds behind each run's first, whole ones alone (the end of
the text may cut one); acceptance is counted over all rounds. A token's time is that of decoding, draft + verify +
decide; ``inspected`` numbers also hold what specviz adds: looking at every round.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields

from specviz.bench.attribution import Assumed, Costs, Factor, Seen, factors, why
from specviz.bench.best_k import BestK, best_by_model, best_of
from specviz.bench.plan import DRAFT, MODEL, TARGET, Configuration, Contender, Plan
from specviz.bench.samples import Numbers, RoundCost, Sample, Samples, Spread, Steps, ratio, sample, spread
from specviz.core.drafters import drafter_spec

__all__ = ["BenchReport", "Measurement", "Prediction", "Row", "Sample", "Spread", "Steps", "report", "sample", "spread"]


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
    """A drafter at one K. ``first``: the half that predicts; ``second``: the half that is measured. ``speedup`` of the
    second: the plain target's time a token over the speculative one's, in the same repeat; ``positions``: its
    acceptance by draft position, accepted / tested; ``plain_rounds`` of its ``rounds`` drafted nothing; ``cost`` of a
    round and its forwards; ``peak``: bytes in use at most."""

    k: int
    first: Measurement
    second: Measurement
    speedup: Spread | None
    inspected_speedup: Spread | None
    model: Prediction | None
    measured_cost: Prediction | None
    contender: Contender = MODEL
    positions: tuple[Spread | None, ...] = ()
    rounds: int = 0
    plain_rounds: int = 0
    cost: RoundCost | None = None
    peak: int | None = None

    @property
    def slower(self) -> bool:
        return self.speedup is not None and self.speedup.median < 1.0


@dataclass(frozen=True, slots=True)
class BenchReport:
    """``repeats``: the complete ones. ``target_step_ms`` is T_p and ``steps`` the rest of the calibrations, by drafter:
    the median over the prompts of the first half, then over repeats. ``target`` and ``draft``: each alone, on the
    second half, with the target's ``cost`` of a round and ``peak``, the bytes in use at most. ``rows``: drafter by
    drafter; ``best``: the best K of each."""

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
    def draft_step_ms(self) -> Spread | None:
        """Of the first drafter."""
        return self.steps[0].draft_step_ms

    @property
    def c(self) -> Spread | None:
        """Of the first drafter."""
        return self.steps[0].c

    @property
    def fastest(self) -> Row | None:
        """The row with the largest measured speedup, of equal ones the smallest K."""
        measured = [row for row in self.rows if row.speedup]
        return max(measured, key=lambda row: row.speedup.median if row.speedup else 0.0, default=None)


def report(plan: Plan, samples: Iterable[Sample]) -> BenchReport:
    """Everything that complete repeats say."""
    have = Samples(plan, samples)
    target_step = have.target_step()
    steps = {each.contender: have.steps(each) for each in plan.calibrations}
    plain = have.numbers(TARGET, plan.measuring)
    target = measurement(plain)
    rows = []
    for configuration in plan.speculative:
        firsts, seconds = (have.numbers(configuration, half) for half in (plan.predicting, plan.measuring))
        first, second = measurement(firsts), measurement(seconds)
        speedup, inspected = (
            spread(ratio(a[name], b[name]) for a, b in zip(plain, seconds, strict=True))
            for name in ("token_ms", "inspected_token_ms")
        )
        seen = _seen(configuration, target, second, have.drafts(configuration, plan.measuring), speedup)
        step, c = target_step.median if target_step else None, steps[configuration.contender].c
        model, cost = (
            _judged(assumed, seen, speedup)
            for assumed in (
                by_model(configuration.k, first, step, c.median if c else None),
                by_measured_cost(configuration.k, first, step),
            )
        )
        rows.append(
            Row(
                configuration.k,
                first,
                second,
                speedup,
                inspected,
                model,
                cost,
                configuration.contender,
                have.positions(configuration, plan.measuring),
                *have.rounds(configuration, plan.measuring),
                have.round_cost(configuration, plan.measuring),
                have.peak(configuration, plan.measuring),
            )
        )
    alphas = {each: have.alpha(each, plan.predicting) for each in plan.contenders}
    return BenchReport(
        plan=plan,
        repeats=len(have.repeats),
        target_step_ms=target_step,
        steps=tuple(steps.values()),
        target=target,
        draft=measurement(have.numbers(DRAFT, plan.measuring)),
        rows=tuple(rows),
        cost=have.round_cost(TARGET, plan.measuring),
        peak=have.peak(TARGET, plan.measuring),
        best=tuple(
            _best(each, [row for row in rows if row.contender == each], alphas[each], steps[each].c)
            for each in plan.contenders
        ),
    )


def measurement(repeats: Sequence[Numbers]) -> Measurement:
    return Measurement(*(spread(each[field.name] for each in repeats) for field in fields(Measurement)))


def _best(contender: Contender, rows: Sequence[Row], alpha: Spread | None, c: Spread | None) -> BestK:
    at, ratio = alpha.median if alpha else None, c.median if c else None
    return BestK(
        contender,
        measured=best_of((row.k, row.speedup.median if row.speedup else None) for row in rows),
        model=best_by_model(at, ratio),
        measured_cost=best_of(
            (row.k, row.measured_cost.assumed.speedup if row.measured_cost else None) for row in rows
        ),
        alpha=at,
        c=ratio,
    )


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
    configuration: Configuration,
    target: Measurement,
    second: Measurement,
    drafts: Mapping[int, int],
    speedup: Spread | None,
) -> Seen | None:
    alpha, tokens, round_ms = second.alpha_tested, second.tokens_per_round, second.round_ms
    costs = _median_costs(configuration.k, second)
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
        wanting=drafter_spec(configuration.contender.drafter).draft_limit,
    )


def _judged(assumed: Assumed | None, seen: Seen | None, speedup: Spread | None) -> Prediction | None:
    if assumed is None:
        return None
    off = assumed.speedup / speedup.median if speedup else None
    found = factors(assumed, seen) if seen else ()
    return Prediction(assumed, off, found, why(found))
