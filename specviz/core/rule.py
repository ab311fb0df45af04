"""The acceptance rules a run can use: one object a rule, with everything but its arithmetic.

The arithmetic is in ``specviz.maths.rules`` (numpy, the reference) and ``specviz.decoder.tensors.accept`` (torch).
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

from specviz.core.events import Drafted


def _accept_prob(drafted: Drafted) -> float | None:
    return drafted.accept_prob


def _overlap(drafted: Drafted) -> float | None:
    return drafted.overlap


def _no_mass(p: float, q: float) -> float:
    return 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """One way to accept drafted tokens. The defaults describe a rule that this version does not know.

    ``help`` and ``condition`` say when a token is accepted, the second after "a draft is accepted if"; ``captions`` say
    it in the presentation, longest first; ``summary`` is the line of ``specviz simulate``.

    ``test``: "ratio" accepts if u < min(1, p/q); "sample" if the token that the target draws by u is the drafted one.
    ``lossless``: the output follows p. ``has_residual``: a rejected token is replaced by a draw from max(0, p - q).

    ``overlap_name`` and ``overlap_formula`` describe ``overlap_of``, the agreement of p and q at a position; None:
    not measured.
    ``overlap_is_accept_prob``: that number is the exact probability that the position accepts, whatever is drafted.
    ``token_accept_prob``: the probability that the drafted token itself is accepted; None where undefined.
    ``accepted_mass``: p(x), q(x) -> the probability that a position emits x because x was drafted and accepted;
    ``accepted_words`` and ``replaced_words`` explain it and its complement, with {accepted} and {rejected} in total.
    """

    name: str
    help: str = ""
    summary: str = ""
    condition: str = ""
    captions: tuple[str, ...] = ("",)
    test: Literal["ratio", "sample", "unknown"] = "unknown"
    lossless: bool = False
    has_residual: bool = False
    overlap_name: str = "overlap"
    overlap_formula: str = "Σ min(p, q)"
    overlap_of: Callable[[Drafted], float | None] = _overlap
    overlap_is_accept_prob: bool = False
    token_accept_prob: Callable[[Drafted], float | None] = _accept_prob
    accepted_mass: Callable[[float, float], float] = _no_mass
    accepted_words: tuple[str, ...] = ()
    replaced_words: tuple[str, ...] = ()

    def position_accept_prob(self, drafted: Drafted) -> float | None:
        """The exact probability that the position accepts, kept in [0, 1]; None if it has none or it was
        not measured."""
        overlap = self.overlap_of(drafted) if self.overlap_is_accept_prob else None
        return None if overlap is None else min(1.0, max(0.0, overlap))


EXACT = Rule(
    name="exact",
    help="u < p/q",
    summary="accept with min(1, p/q), else draw from max(0, p - q)",
    condition="its u falls below min(1, p/q)",
    captions=(
        "each is kept with probability min(1, p/q)",
        "kept with probability min(1, p/q)",
        "probability min(1, p/q)",
        "min(1, p/q)",
    ),
    test="ratio",
    lossless=True,
    has_residual=True,
    overlap_is_accept_prob=True,
    accepted_mass=min,
    accepted_words=(
        "Drafted and accepted: q × min(1, p/q) = min(p, q).",
        "Together {accepted}: the accept probability. What the draft gives beyond p is rejected.",
    ),
    replaced_words=(
        "A rejection has probability {rejected}, and draws from max(0, p − q) / {rejected}:",
        "each id gets max(0, p − q) of it, exactly what it lacks.",
    ),
)
"""Algorithm 1 of Leviathan et al. 2023 (arXiv:2211.17192)."""

EQUALITY = Rule(
    name="equality",
    help="the target samples the same token",
    summary="the target draws a token itself; accept if the draft's is the same, else take the target's",
    condition="the target's own draw gives the same token",
    captions=("kept if the target's own draw is the same", "kept if it draws the same", "same draws kept"),
    test="sample",
    lossless=True,
    overlap_name="match",
    overlap_formula="Σ p·q",
    overlap_of=lambda drafted: drafted.match,
    overlap_is_accept_prob=True,
    token_accept_prob=lambda drafted: drafted.p,
    accepted_mass=lambda p, q: p * q,
    accepted_words=(
        "Drafted and equal to the target's own draw: p times q.",
        "Together {accepted}: the accept probability.",
    ),
    replaced_words=("The target drew this id and the draft another one:", "p × (1 − q), together {rejected}."),
)
"""What llama.cpp's server and mlx-lm do: the target samples at every position and keeps the draft while both agree."""

RULES: Mapping[str, Rule] = {rule.name: rule for rule in (EXACT, EQUALITY)}
"""By the name in ``Settings.rule``."""


def rule_of(name: str) -> Rule:
    """The rule of that name, also one that this version does not know."""
    return RULES.get(name) or Rule(name=name)
