"""Every rate of a range of rounds.

accepted / tested is the estimate that the formula needs; accepted / drafted is what other programs print, and it falls
with K. ``None`` means undefined.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, NamedTuple

import numpy as np

from specviz.core.drafters import drafter_spec
from specviz.core.events import Calibration, Settings
from specviz.core.rule import rule_of
from specviz.maths import formulas
from specviz.maths.estimators import MIN_ROUNDS, Interval, agreement, block_means_error, contradicts, interval, wilson
from specviz.stats.cumulative import Counts, RoundRange
from specviz.stats.measured_cost import MeasuredCost


@dataclass(frozen=True, slots=True)
class PositionRate:
    """Acceptance at draft position i (1-based), two ways. ``conditional`` = accepted / tested at i. ``unconditional`` =
    reached / drafted, with reached = #(A >= i) and drafted = #(position i drafted and not ignored)."""

    position: int
    conditional: float | None
    unconditional: float | None
    accepted: int
    tested: int
    reached: int
    drafted: int


@dataclass(frozen=True, slots=True)
class LiveRates:
    """Every number of the rounds ``first`` to ``last`` (1-based, inclusive; last = first - 1: no round yet).

    Numbers of tokens/round (``tokens_per_round``, its error, the histograms, both formulas, ``speedup_measured_cost``)
    are taken over the uncut rounds from ``tokens_per_round_first`` on; ``drafts`` counts them by K_r.
    The one-token steps come from the calibration at ``at_length`` tokens, in milliseconds.

    A mean of what was not measured in every round (overlap, match, times) is None. Medians are of the rounds that were
    timed.

    Computing them takes the same time over any number of rounds; so do the medians of ``Rates`` if a range extends the
    previous one.
    """

    first: int
    last: int
    rounds: int
    tokens: int
    plain_rounds: int
    drafted: int
    accepted: int
    rejected: int
    untested: int
    ignored: int
    tested: int
    alpha_tested: float | None
    alpha_tested_ci: Interval | None
    alpha_overlap: float | None
    alpha_overlap_ci: Interval | None
    mean_match: float | None
    accepted_over_drafted: float | None
    agreement_z: float | None
    tokens_per_round: float | None
    tokens_per_round_se: float | None
    tokens_per_round_half_width: float | None
    tokens_per_round_first: int
    drafts: dict[int, int]
    histogram: dict[int, int]
    expected_histogram: dict[int, float]
    formula_at_tested: float | None
    formula_at_overlap: float | None
    per_position: tuple[PositionRate, ...]
    target_step_ms: float | None
    draft_step_ms: float | None
    at_length: int | None
    c: float | None
    tokens_per_s: float | None
    speedup_model: float | None
    speedup_measured_cost: float | None
    times_contradict: bool
    """Whether a round took less than one calibrated target step, so that the calibration no longer holds."""
    drafting_share: float
    """The share of rounds that draft, for a drafter that may find nothing; 1 for others."""
    best_k: int | None
    break_even_alpha: float | None
    ceiling: float | None
    contradicts: bool
    """Whether acceptance contradicts its probability: |z| above 4, or an outcome of probability 0."""
    rule: str
    """In force in round ``last``."""

    @property
    def overlap_name(self) -> str:
        """What ``alpha_overlap`` is the mean of: overlap, or match under equality."""
        return rule_of(self.rule).overlap_name

    @property
    def uncut_rounds(self) -> int:
        """The rounds that tokens/round and the speedup by measured cost are taken over."""
        return sum(self.drafts.values())

    @property
    def judgeable(self) -> bool:
        """Whether there are rounds enough to call a run faster or slower than the target alone."""
        return self.uncut_rounds >= MIN_ROUNDS

    @property
    def slower(self) -> bool:
        """Whether the run is slower than the target alone: by measured cost, or by the model if nothing was measured.
        False while there are too few rounds to tell."""
        cost = self.speedup_model if self.speedup_measured_cost is None else self.speedup_measured_cost
        return self.judgeable and cost is not None and cost < 1.0

    @property
    def accepted_per_round(self) -> float | None:
        """Tokens/round less the token that ends a round."""
        return None if self.tokens_per_round is None else self.tokens_per_round - 1.0

    @property
    def formula_gap(self) -> float | None:
        """The formula at alpha tested less measured tokens/round: positive if difficulty varies."""
        if self.formula_at_tested is None or self.tokens_per_round is None:
            return None
        return self.formula_at_tested - self.tokens_per_round

    def formula_at(self, alpha: float | None) -> float | None:
        """E[N](alpha, K_r) averaged over the real K_r of ``drafts``; None without an alpha or a round."""
        return _formula(alpha, self.drafts)


@dataclass(frozen=True, slots=True)
class Rates(LiveRates):
    """With the medians per round in milliseconds, and the speedups that follow from measured times."""

    draft_ms: float | None
    verify_ms: float | None
    decide_ms: float | None
    inspect_ms: float | None
    at_measured_cost: MeasuredCost | None


TIMES = ("draft_ms", "verify_ms", "decide_ms", "inspect_ms")


def with_times(rates: LiveRates, medians: Mapping[str, float], cost: MeasuredCost | None) -> Rates:
    """``rates`` with the medians of the ``TIMES`` of their rounds and the speedups by measured cost."""
    values: dict[str, Any] = {each.name: getattr(rates, each.name) for each in fields(rates)}
    return Rates(**values | {name: medians.get(name) for name in TIMES}, at_measured_cost=cost)


def compute_rates(
    part: RoundRange,
    tokens_range: RoundRange,
    settings: Settings | None,
    calibration: Calibration | None,
    target_alone_ms: float | None,
) -> LiveRates:
    """The rates of the rounds of ``part``; tokens/round over ``tokens_range``, which may begin later and ends with it.

    ``settings`` are those of the last round, None without one; the model's speedup is for their k.
    ``target_alone_ms``: what the target alone would have taken for the tokens of the uncut rounds of ``tokens_range``.
    """
    drafted, accepted, rejected = part.count("k"), part.count("accepted"), part.count("rejected")
    tested, n_with_accept_prob = accepted + rejected, part.count("n_with_accept_prob")
    tokens = part.count("emitted")
    alpha_tested = _ratio(accepted, tested)
    measured = not part.count("n_without_accept_prob")
    alpha_overlap = mean_share(part.total("accept_prob_sum"), n_with_accept_prob) if measured else None
    overlap_error = block_means_error(part.rounds, part.blocks("accept_prob_sum"), part.blocks("n_with_accept_prob"))

    acceptance = (part.count("n_accepted_with_prob"), part.total("accept_prob_sum"), part.total("accept_prob_variance"))

    lengths = part.lengths()
    tokens_lengths = lengths if tokens_range.first == part.first else tokens_range.lengths()
    uncut, uncut_tokens = tokens_range.count("uncut"), tokens_range.count("uncut_emitted")
    drafts = {k: int(count) for k, count in enumerate(tokens_lengths["uncut_k"]) if count}
    accepted_counts = tokens_lengths["uncut_accepted"][: max(drafts, default=-1) + 1]
    spent_ms = tokens_range.total("spent_ms")
    token_blocks, round_blocks = tokens_range.blocks("uncut_emitted"), tokens_range.blocks("uncut")
    tokens_error = block_means_error(tokens_range.rounds, token_blocks, round_blocks)
    timed = any(drafts) and not tokens_range.count("uncut_untimed")

    target_step = calibration.target_step_ms if calibration else None
    draft_step = calibration.draft_step_ms if calibration else None
    free = settings is not None and drafter_spec(settings.drafter).free is not None
    c = None if free else _cost_ratio(target_step, draft_step)
    measured_speedup = _ratio(target_alone_ms, spent_ms) if timed and target_alone_ms else None
    tokens_per_round = _ratio(uncut_tokens, uncut)
    possible = measured_speedup is None or tokens_per_round is None or measured_speedup <= tokens_per_round
    predicted = _predict(alpha_tested, settings.k if settings else None, c)
    return LiveRates(
        first=part.first,
        last=part.last,
        rounds=part.rounds,
        tokens=tokens,
        plain_rounds=part.count("plain"),
        drafted=drafted,
        accepted=accepted,
        rejected=rejected,
        untested=part.count("untested"),
        ignored=part.count("ignored"),
        tested=tested,
        alpha_tested=alpha_tested,
        alpha_tested_ci=wilson(accepted, tested),
        alpha_overlap=alpha_overlap,
        alpha_overlap_ci=interval(alpha_overlap, overlap_error),
        mean_match=None if part.count("n_without_match") else mean_share(part.total("match"), tested),
        accepted_over_drafted=_ratio(accepted, drafted),
        agreement_z=agreement(*acceptance) if measured else None,
        tokens_per_round=tokens_per_round,
        drafting_share=1.0 - drafts.get(0, 0) / uncut if uncut and free else 1.0,
        tokens_per_round_se=tokens_error and tokens_error.se,
        tokens_per_round_half_width=tokens_error and tokens_error.half_width,
        tokens_per_round_first=tokens_range.first,
        drafts=drafts,
        histogram={n: int(count) for n, count in enumerate(accepted_counts, start=1)},
        expected_histogram=expected_lengths(alpha_tested, drafts),
        formula_at_tested=_formula(alpha_tested, drafts),
        formula_at_overlap=_formula(alpha_overlap, drafts),
        per_position=_per_position(lengths),
        target_step_ms=target_step,
        draft_step_ms=draft_step,
        at_length=calibration.at_length if calibration else None,
        c=c,
        tokens_per_s=None if part.count("untimed") else _ratio(1000.0 * tokens, part.total("total_ms")),
        speedup_model=predicted.speedup,
        speedup_measured_cost=measured_speedup if possible else None,
        times_contradict=not possible,
        best_k=predicted.best_k,
        break_even_alpha=predicted.break_even_alpha,
        ceiling=predicted.ceiling,
        contradicts=measured and contradicts(*acceptance),
        rule=settings.rule if settings else Settings().rule,
    )


class _Predicted(NamedTuple):
    speedup: float | None = None
    best_k: int | None = None
    break_even_alpha: float | None = None
    ceiling: float | None = None


def _predict(alpha: float | None, k: int | None, c: float | None) -> _Predicted:
    if k is None or c is None:
        return _Predicted()
    break_even = formulas.break_even_alpha(k, c)
    if alpha is None:
        return _Predicted(break_even_alpha=break_even)
    return _Predicted(
        formulas.speedup(alpha, k, c), formulas.best_k(alpha, c)[0], break_even, formulas.ceiling(alpha, c)
    )


def _formula(alpha: float | None, drafts: Mapping[int, int]) -> float | None:
    rounds = sum(drafts.values())
    if alpha is None or not rounds:
        return None
    return sum(count * formulas.expected_tokens(alpha, k) for k, count in drafts.items()) / rounds


def expected_lengths(alpha: float | None, drafts: Mapping[int, int]) -> dict[int, float]:
    """sum_r P(N = i | K_r) for i = 1, ..., largest K_r + 1; ``drafts`` counts rounds by K_r."""
    if alpha is None:
        return {}
    expected = dict.fromkeys(range(1, max(drafts, default=-1) + 2), 0.0)
    for k, count in drafts.items():
        for n, chance in enumerate(formulas.tokens_distribution(alpha, k), start=1):
            expected[n] += count * chance
    return expected


def _per_position(lengths: Mapping[str, Counts]) -> tuple[PositionRate, ...]:
    drafting = np.flatnonzero(lengths["k"])
    depth = int(drafting[-1]) if len(drafting) else 0

    def at_least(counts: Counts) -> list[int]:
        """#(length >= i) for i = 1, ..., depth: tested and accepted positions are a prefix of the draft, ignored ones
        its tail."""
        return [int(n) for n in counts[depth::-1].cumsum()[::-1][1:]]

    accepted, tested, drafted = (at_least(lengths[name]) for name in ("accepted", "tested", "kept"))
    return tuple(
        PositionRate(i, _ratio(a, t), _ratio(a, d), a, t, a, d)
        for i, (a, t, d) in enumerate(zip(accepted, tested, drafted, strict=True), start=1)
    )


def _ratio(part: float, whole: float) -> float | None:
    return part / whole if whole > 0 else None


def mean_share(part: float, whole: float) -> float | None:
    """A mean of numbers in [0, 1], clamped against the rounding errors of cumulative sums."""
    mean = _ratio(part, whole)
    return None if mean is None else min(1.0, max(0.0, mean))


def _cost_ratio(target_step: float | None, draft_step: float | None) -> float | None:
    """T_p / T_q; None if a step is missing or took no time, or if the ratio is not finite."""
    if not target_step or not draft_step:
        return None
    c = target_step / draft_step
    return c if 0 < c < math.inf else None
