"""Why the output is p, in numbers: the probability that each id gets by acceptance and by resampling.

A recorded position holds the most probable ids of p, q and the residual, and the accept probability over all ids. That
gives exact rows for the ids whose p and q are both known, and one exact row for all other ids together.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from specviz.core.events import Drafted
from specviz.core.rule import EXACT, Rule
from specviz.maths import rules

TOP = 10
"""Entries of a full top list of a trace; a shorter one holds every id with a nonzero probability."""
TOY_P = (0.40, 0.25, 0.15, 0.10, 0.06, 0.04)
TOY_Q = (0.20, 0.35, 0.05, 0.20, 0.06, 0.14)


@dataclass(frozen=True, slots=True)
class IdMass:
    """One id of a position, or (``bytes`` None) all ids without their own row. ``accepted``: the probability that it is
    drafted and accepted; ``resampled``: that it replaces a rejected token. They sum to ``p``."""

    id: int | None
    bytes: bytes | None
    p: float
    q: float
    accepted: float

    @property
    def resampled(self) -> float:
        return max(0.0, self.p - self.accepted)


def id_masses(drafted: Drafted, rule: Rule = EXACT) -> tuple[IdMass, ...]:
    """Rows of the ids of a tested position whose p and q are both known, most of p first, then all others; none where
    the position was not measured."""
    overlap, pairs = rule.overlap_of(drafted), _known(drafted)
    if overlap is None or not pairs:
        return ()
    names = {c.id: c.bytes for top in (drafted.p_top, drafted.q_top) for c in top} | {drafted.id: drafted.bytes}
    rows = [IdMass(id, names[id], p, q, rule.accepted_mass(p, q)) for id, (p, q) in pairs.items()]
    rows.sort(key=lambda row: (-row.p, -row.q, row.id))
    return (*rows, _others(rows, overlap))


def toy_id_masses() -> tuple[IdMass, ...]:
    """A toy pair for use without a run: six ids, α = 0.7."""
    chances = rules.accept_probs(TOY_P, TOY_Q)
    rows = zip(TOY_P, TOY_Q, chances, strict=True)
    return tuple(IdMass(i, bytes([97 + i]), p, q, float(q * chance)) for i, (p, q, chance) in enumerate(rows))


def condense(rows: Sequence[IdMass], limit: int) -> tuple[IdMass, ...]:
    """At most ``limit`` rows; the last one sums the rest."""
    if len(rows) <= limit:
        return tuple(rows)
    kept, rest = rows[: max(0, limit - 1)], rows[max(0, limit - 1) :]
    return (*kept, total(rest))


def total(rows: Sequence[IdMass]) -> IdMass:
    """All ids of ``rows`` as one."""
    return IdMass(None, None, sum(r.p for r in rows), sum(r.q for r in rows), sum(r.accepted for r in rows))


def _known(drafted: Drafted) -> dict[int, tuple[float, float]]:
    """(p, q) of the ids for which both are known; none where those of the drafted token were not measured."""
    if drafted.id is None or drafted.p is None or drafted.q is None or drafted.overlap is None:
        return {}
    tops = drafted.p_top, drafted.q_top, drafted.residual_top
    p_of, q_of, residual = ({candidate.id: candidate.prob for candidate in top} for top in tops)
    rejected = 1.0 - drafted.overlap
    pairs = {drafted.id: (drafted.p, drafted.q)}
    for id in p_of.keys() | q_of.keys():
        p, q = p_of.get(id), q_of.get(id)
        if p is None and len(drafted.p_top) < TOP:
            p = 0.0
        if q is None and len(drafted.q_top) < TOP:
            q = 0.0
        if q is None and p is not None and id in residual and rejected > 0.0:
            q = max(0.0, p - rejected * residual[id])
        if p is not None and q is not None:
            pairs.setdefault(id, (p, q))
    return pairs


def _others(rows: Sequence[IdMass], accepted: float) -> IdMass:
    """The rest of p, q and the accepted mass, clamped because list entries are rounded."""
    p = max(0.0, 1.0 - sum(row.p for row in rows))
    q = max(0.0, 1.0 - sum(row.q for row in rows))
    return IdMass(None, None, p, q, max(0.0, min(p, q, accepted - sum(row.accepted for row in rows))))
