"""A simulation compared with the formulas and with p."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from specviz.core.rule import EXACT
from specviz.maths.chi_square import Fit, chi_square, total_variation
from specviz.maths.formulas import tokens_distribution
from specviz.maths.rule_variants import VARIANTS, RuleVariant
from specviz.maths.rules import tempered
from specviz.maths.simulation import Outcome, simulate
from specviz.maths.toy_distributions import ToyPair

TEMPERATURES = (0.25, 0.5, 0.7, 1.0, 1.5, 2.0)


@dataclass(frozen=True, slots=True, eq=False)
class Simulated:
    """``fit``: all tokens against p. ``exact_distance``: exact total variation between p and the rule's output."""

    rule: RuleVariant
    varying: bool
    outcome: Outcome
    fit: Fit
    exact_distance: float

    @property
    def expected_lengths(self) -> list[float]:
        """Rounds with N = 1, ..., K + 1 tokens, expected by P(N = i) at the exact accept probability."""
        out = self.outcome
        alpha = 1.0 if out.alpha_chance is None else min(1.0, out.alpha_chance)
        return [out.rounds * chance for chance in tokens_distribution(alpha, out.k)]

    @property
    def formula_off(self) -> float | None:
        """The formula less tokens/round in standard errors; None without a standard error."""
        out = self.outcome
        if out.formula is None or not out.tokens_per_round_se:
            return None
        return (out.formula - out.tokens_per_round) / out.tokens_per_round_se

    @property
    def chi_square_text(self) -> str:
        if self.fit.statistic is None:
            return "an id of probability 0 was drawn (chi-square is infinite, p = 0)"
        if self.fit.p_value is None:
            return "one bin only, 0 degrees of freedom: nothing to test, p = –"
        return f"chi-square {self.fit.statistic:.1f}, {self.fit.dof} degrees of freedom, p = {self.fit.p_value:.3g}"

    def as_json(self) -> dict[str, Any]:
        out = self.outcome
        return {
            "rule": self.rule.name,
            "keeps_distribution": self.rule.lossless,
            "words": self.rule.summary,
            "alpha": {
                "sum_min": out.alpha_overlap,
                "one_minus_tv": out.alpha_distance,
                "accept_chance": out.alpha_chance,
                "accepted_over_tested": out.alpha_tested,
                "ci95": None if out.alpha_tested_ci is None else list(out.alpha_tested_ci),
                "z": out.z,
            },
            "accepted": out.accepted,
            "tested": out.tested,
            "tokens": out.tokens,
            "tokens_per_round": {"mean": out.tokens_per_round, "se": out.tokens_per_round_se},
            "expected_tokens_per_round": out.mean_tokens,
            "formula": out.formula,
            "formula_off_by_se": self.formula_off,
            "histogram_n": {str(n): int(count) for n, count in enumerate(out.lengths[1:], 1)},
            "expected_histogram_n": {str(n): count for n, count in enumerate(self.expected_lengths, 1)},
            "total_variation": self.fit.total_variation,
            "total_variation_by_chance": self.fit.noise,
            "total_variation_exact": self.exact_distance,
            "chi_square": {"statistic": self.fit.statistic, "dof": self.fit.dof, "p_value": self.fit.p_value},
        }


@dataclass(frozen=True, slots=True, eq=False)
class AtTemperature:
    """The exact rule with a draft at ``temperature``, the target at 1."""

    temperature: float
    run: Simulated

    def as_json(self) -> dict[str, Any]:
        out = self.run.outcome
        return {
            "temperature": self.temperature,
            "sum_min": out.alpha_overlap,
            "accepted_over_tested": out.alpha_tested,
            "tokens_per_round": out.tokens_per_round,
            "expected_tokens_per_round": out.mean_tokens,
            "p_value": self.run.fit.p_value,
        }


def simulated(
    pair: ToyPair,
    rule: RuleVariant,
    *,
    k: int,
    rounds: int,
    seed: int = 0,
    varying: bool = False,
    progress: Callable[[int], None] = lambda rounds: None,
) -> Simulated:
    """``simulate``, with its output tested against p."""
    outcome = simulate(pair, rule, k=k, rounds=rounds, seed=seed, varying=varying, progress=progress)
    fit = chi_square(outcome.emitted, pair.p)
    assert fit is not None, "a round emits at least one token"
    return Simulated(rule, varying, outcome, fit, total_variation(outcome.distribution, pair.p))


def at_temperatures(
    pair: ToyPair, *, k: int, rounds: int, seed: int = 0, progress: Callable[[int], None] = lambda rounds: None
) -> list[AtTemperature]:
    """The exact rule at each of ``TEMPERATURES`` of the draft: acceptance changes, the output does not."""

    def run(temperature: float) -> Simulated:
        tempered_pair = ToyPair(pair.p, tempered(pair.q, temperature))
        return simulated(tempered_pair, VARIANTS[EXACT.name], k=k, rounds=rounds, seed=seed, progress=progress)

    return [AtTemperature(temperature, run(temperature)) for temperature in TEMPERATURES]
