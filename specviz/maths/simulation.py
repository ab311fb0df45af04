"""Rounds of speculative decoding on two toy distributions, many at once.

Every position of a round has the same p [V] and q [V]. With ``varying`` difficulty a whole round is either easy (it
drafts from p itself, with probability ``mix``) or hard (it drafts from the given q). The draft is the same on average
and the output still follows p, but acceptances within a round are no longer independent.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from specviz.maths import rules
from specviz.maths.estimators import Interval, StandardError, agreement, wilson
from specviz.maths.formulas import expected_tokens
from specviz.maths.rule_variants import RuleVariant
from specviz.maths.rules import Probs
from specviz.maths.toy_distributions import ToyPair

CHUNK = 100_000
"""The number of rounds in memory at a time."""


@dataclass(frozen=True, slots=True, eq=False)
class Outcome:
    """The counts of ``rounds`` rounds. ``lengths`` [K + 2] counts rounds by their tokens N; ``emitted`` [V] counts
    tokens by id. ``chance`` and ``variance`` are the sums of o and o (1 - o) over tested positions, o the rule's exact
    accept probability; ``overlap`` and ``distance`` are those of sum min(p, q) and TV(p, q). ``mean_tokens`` and
    ``distribution`` [V] are closed-form expectations: of the tokens of a round, and of the token frequencies."""

    k: int
    rounds: int
    accepted: int
    tested: int
    chance: float
    variance: float
    overlap: float
    distance: float
    lengths: NDArray[np.int64]
    emitted: NDArray[np.int64]
    mean_tokens: float
    distribution: Probs

    @property
    def alpha_tested(self) -> float | None:
        return self.accepted / self.tested if self.tested else None

    @property
    def alpha_tested_ci(self) -> Interval | None:
        return wilson(self.accepted, self.tested)

    @property
    def alpha_chance(self) -> float | None:
        """The rule's exact accept probability, averaged over the tested positions."""
        return self.chance / self.tested if self.tested else None

    @property
    def alpha_overlap(self) -> float | None:
        """The mean of sum min(p, q) over the tested positions."""
        return self.overlap / self.tested if self.tested else None

    @property
    def alpha_distance(self) -> float | None:
        """1 - the mean of TV(p, q) over the tested positions."""
        return max(0.0, 1.0 - self.distance / self.tested) if self.tested else None

    @property
    def z(self) -> float | None:
        return agreement(self.accepted, self.chance, self.variance)

    @property
    def tokens(self) -> int:
        return int(self.emitted.sum())

    @property
    def tokens_per_round(self) -> float:
        return self.tokens / self.rounds

    @property
    def tokens_per_round_se(self) -> float | None:
        """s / sqrt(rounds), as rounds are independent here; None for a single round."""
        if self.rounds < 2:
            return None
        values = np.arange(len(self.lengths))
        squares = float((self.lengths * (values - self.tokens_per_round) ** 2).sum())
        return math.sqrt(squares / (self.rounds - 1) / self.rounds)

    @property
    def tokens_per_round_half_width(self) -> float | None:
        """Half the width of the 95 % interval of tokens/round."""
        error = self.tokens_per_round_se
        return None if error is None else StandardError(error, self.rounds - 1).half_width

    @property
    def formula(self) -> float | None:
        """E[N] at the exact accept probability: what independent, equally likely acceptances would give."""
        return None if self.alpha_chance is None else expected_tokens(min(1.0, self.alpha_chance), self.k)


def simulate(
    pair: ToyPair,
    rule: RuleVariant,
    *,
    k: int,
    rounds: int,
    seed: int = 0,
    varying: bool = False,
    progress: Callable[[int], None] = lambda rounds: None,
    chunk: int = CHUNK,
) -> Outcome:
    """Play ``rounds`` rounds that draft ``k`` tokens each, up to ``chunk`` of them together. ``progress`` is called
    with the number of rounds that were just played. The outcome depends on the arguments only."""
    drafts = [pair.given, pair.p] if varying else [pair.q]
    shares = [1.0 - pair.mix, pair.mix] if varying else [1.0]
    chances = np.array([rule.accepted_mass(pair.p, q).sum() for q in drafts])
    overlaps = np.array([rules.overlap(pair.p, q) for q in drafts])
    distances = np.array([np.abs(pair.p - q).sum() / 2 for q in drafts])
    random = np.random.Generator(np.random.Philox(key=seed))
    accepted, tested = 0, np.zeros(len(drafts), dtype=np.int64)
    lengths = np.zeros(k + 2, dtype=np.int64)
    emitted = np.zeros(len(pair.p), dtype=np.int64)
    done = 0
    while done < rounds:
        size = min(chunk, rounds - done)
        for kind, part in enumerate(random.multinomial(size, shares)):
            n_accepted, n_tested = _play(rule, pair.p, drafts[kind], k, int(part), random, lengths, emitted)
            accepted += n_accepted
            tested[kind] += n_tested
        done += size
        progress(size)
    expected = [_expectation(rule, pair.p, q, k) for q in drafts]
    mean_tokens = sum(weight * tokens for weight, (tokens, _) in zip(shares, expected, strict=True))
    mass = np.zeros_like(pair.p)
    for weight, (tokens, share) in zip(shares, expected, strict=True):
        mass += weight * tokens * share
    return Outcome(
        k=k,
        rounds=rounds,
        accepted=accepted,
        tested=int(tested.sum()),
        chance=float(tested @ chances),
        variance=float(tested @ (chances * np.maximum(0.0, 1.0 - chances))),
        overlap=float(tested @ overlaps),
        distance=float(tested @ distances),
        lengths=lengths,
        emitted=emitted,
        mean_tokens=mean_tokens,
        distribution=mass / mean_tokens,
    )


def _play(
    rule: RuleVariant,
    p: Probs,
    q: Probs,
    k: int,
    rounds: int,
    random: np.random.Generator,
    lengths: NDArray[np.int64],
    emitted: NDArray[np.int64],
) -> tuple[int, int]:
    """Play rounds that share p and q; count lengths and tokens, return (accepted, tested)."""

    def count(ids: rules.Ids) -> None:
        emitted[:] += np.bincount(ids, minlength=len(emitted))

    alive, accepted, tested = rounds, 0, 0
    for position in range(k):
        drafted = rules.draws(q, random.random(alive))
        if position < rule.n_untested:
            count(drafted)
            continue
        u, last_u = random.random((2, alive))
        passed = rule.accepts(p, q, drafted, u)
        n_passed = int(passed.sum())
        tested += alive
        accepted += n_passed
        count(drafted[passed])
        failed = ~passed
        count(rule.replaces(p, q, u[failed], last_u[failed]))
        lengths[position + 1] += alive - n_passed
        alive = n_passed
    count(rules.draws(rule.bonus(p), random.random(alive)))
    lengths[k + 1] += alive
    return accepted, tested


def _expectation(rule: RuleVariant, p: Probs, q: Probs, k: int) -> tuple[float, Probs]:
    """The mean tokens of a round and the share [V] of each id among them, in closed form."""
    kept = rule.accepted_mass(p, q)
    chance, tested_share = float(kept.sum()), kept + rule.replaced_mass(p, q)
    reached, tokens, mass = 1.0, 0.0, np.zeros_like(p)
    for position in range(k):
        tokens += reached
        mass += reached * (q if position < rule.n_untested else tested_share)
        reached *= 1.0 if position < rule.n_untested else chance
    tokens += reached
    mass += reached * rule.bonus(p)
    return tokens, mass / tokens
