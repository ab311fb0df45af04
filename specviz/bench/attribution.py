"""Why a predicted speedup is not the measured one: the quotient of the two, split into factors.

Both are tokens per round times the time of a plain token, divided by the time of a round. Each factor of the quotient
replaces one assumed value by the measured one, so their product is exactly the quotient.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass

from specviz.maths.formulas import expected_tokens

EXPLAIN_ABOVE = 0.15
"""A prediction whose relative error is larger than this is explained."""


@dataclass(frozen=True, slots=True)
class Costs:
    """Milliseconds of a round: all draft steps, the verification, the decision."""

    draft: float
    verify: float
    decide: float

    @property
    def total(self) -> float:
        return self.draft + self.verify + self.decide


@dataclass(frozen=True, slots=True)
class Prediction:
    """A predicted speedup, token_ms E[N](alpha, k) / costs.total, and its inputs. ``by_model``: the costs are those of
    Theorem 3.8 (k draft steps and one target step), not measured in rounds. ``token_ms``: the target's one-token step,
    taken as the time of a plain token."""

    k: int
    alpha: float
    token_ms: float
    costs: Costs
    by_model: bool

    @property
    def tokens_per_round(self) -> float:
        return expected_tokens(self.alpha, self.k)

    @property
    def speedup(self) -> float:
        return self.token_ms * self.tokens_per_round / self.costs.total


@dataclass(frozen=True, slots=True)
class Observation:
    """What was measured instead. ``drafts``: the number of rounds by K_r, the tokens they drafted. ``costs`` of a round
    and ``token_ms`` of a plain token are medians; the speedup is computed from ``mean_round_ms`` and ``mean_token_ms``.
    ``shortage``: what a round that drafts fewer than K tokens has too little of."""

    alpha: float
    drafts: Mapping[int, int]
    tokens_per_round: float
    costs: Costs
    mean_round_ms: float
    token_ms: float
    mean_token_ms: float
    speedup: float
    shortage: str = "context"

    @property
    def mean_k(self) -> float:
        return sum(k * count for k, count in self.drafts.items()) / sum(self.drafts.values())

    @property
    def formula(self) -> float:
        """E[N] at ``alpha``, averaged over the real K_r."""
        sums = sum(count * expected_tokens(self.alpha, k) for k, count in self.drafts.items())
        return sums / sum(self.drafts.values())


@dataclass(frozen=True, slots=True)
class Factor:
    """The factor by which one wrong assumption alone changes the prediction, and a sentence about it."""

    name: str
    value: float
    words: str


def factors(prediction: Prediction, seen: Observation) -> tuple[Factor, ...]:
    """The factors of predicted / measured, in the order of the equation

    E[N](α, K)/E[N](α', K) · E[N](α', K)/mean E[N](α', K_r) · mean E[N](α', K_r)/N̄
    · (draft + verify + decide, each assumed time replaced by the measured one in turn) · T_p/plain token
    · (mean over median of a round / mean over median of a plain token) · the rest,

    α' and N̄ measured. The rest remains because the medians of several repeats do not multiply to the median speedup.
    """
    was, now = prediction.costs, seen.costs
    totals = (was.total, now.draft + was.verify + was.decide, now.draft + now.verify + was.decide, now.total)
    at_seen = expected_tokens(seen.alpha, prediction.k)
    values = {
        "acceptance": prediction.tokens_per_round / at_seen,
        "draft_lengths": at_seen / seen.formula,
        "dependence": seen.formula / seen.tokens_per_round,
        "draft_time": totals[1] / totals[0],
        "verify_time": totals[2] / totals[1],
        "decide_time": totals[3] / totals[2],
        "plain_token": prediction.token_ms / seen.token_ms,
        "unevenness": (seen.mean_round_ms / now.total) / (seen.mean_token_ms / seen.token_ms),
        "repeats": seen.mean_token_ms * seen.tokens_per_round / seen.mean_round_ms / seen.speedup,
    }
    words = _words(prediction, seen)
    return tuple(Factor(name, value, words[name]) for name, value in values.items())


def main_reason(factors: tuple[Factor, ...]) -> str | None:
    """The largest factor in the direction of the error, if the error exceeds EXPLAIN_ABOVE; else None."""
    off = math.prod(factor.value for factor in factors)
    if not factors or abs(off - 1.0) <= EXPLAIN_ABOVE:
        return None
    sign = 1.0 if off > 1.0 else -1.0
    largest = max(factors, key=lambda factor: sign * math.log(factor.value))
    return f"{largest.words} (×{largest.value:.2f})"


def _words(prediction: Prediction, seen: Observation) -> dict[str, str]:
    was, now, k = prediction.costs, seen.costs, prediction.k
    lower = "lower" if seen.alpha < prediction.alpha else "higher"
    steps = "a calibrated step" if k == 1 else f"{k} calibrated steps"
    tokens = "1 token" if k == 1 else f"{k} tokens"
    if prediction.by_model:
        times = {
            "draft_time": f"drafting {tokens} took {now.draft / was.draft:.2f} × {steps}",
            "verify_time": f"verifying {k + 1} ids took {now.verify / was.verify:.2f} × a single step",
            "decide_time": f"deciding took {now.decide:.2f} ms a round, which the model leaves out",
        }
    else:
        times = {
            "draft_time": f"drafting {tokens} took {now.draft:.2f} ms, {was.draft:.2f} assumed",
            "verify_time": f"verifying {k + 1} ids took {now.verify:.2f} ms, {was.verify:.2f} assumed",
            "decide_time": f"deciding took {now.decide:.2f} ms, {was.decide:.2f} assumed",
        }
    return {
        "acceptance": f"acceptance was {lower} on these prompts: α {rate(seen.alpha)} against {rate(prediction.alpha)}",
        "draft_lengths": f"rounds drafted {seen.mean_k:.2f} tokens instead of {k}, for lack of {seen.shortage}",
        "dependence": f"acceptance is not independent: tokens/round {seen.tokens_per_round:.2f}"
        f" against {seen.formula:.2f} by the formula at the same α",
        **times,
        "plain_token": f"a plain token took {seen.token_ms / prediction.token_ms:.2f} × the target's calibrated step",
        "unevenness": f"times are uneven: a round took {seen.mean_round_ms / now.total:.2f} × its median on average,"
        f" a plain token {seen.mean_token_ms / seen.token_ms:.2f} ×",
        "repeats": "the repeats differ: their medians do not multiply to the median speedup",
    }


def rate(value: float) -> str:
    """A rate with two decimals as shown on screen: .60."""
    return f"{value:.2f}".removeprefix("0")
