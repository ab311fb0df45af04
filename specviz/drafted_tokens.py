"""The drafted tokens of many rounds as rows, and what the rejected ones among them cost."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from specviz.events import Drafted, Round, Verdict
from specviz.tally import named_chance


class DraftedRow(NamedTuple):
    """A drafted token: round (1-based), its row there (0-based), and the numbers of its test.

    ``ratio`` = p / q, None where q is 0. ``overlap``: match under the equality rule. ``lost``: what its rejection cost
    (``tokens_lost``), None for others.
    """

    round: int
    row: int
    id: int
    bytes: bytes
    verdict: Verdict
    p: float
    q: float
    ratio: float | None
    overlap: float
    u: float
    accept_prob: float | None
    lost: float | None


@dataclass(frozen=True, slots=True)
class RejectedId:
    """An id that was rejected: how often drafted, tested and rejected; ``lost``: tokens, over all its rejections."""

    id: int
    bytes: bytes
    drafted: int
    tested: int
    rejected: int
    lost: float


def drafted_rows(rounds: Iterable[Round]) -> list[DraftedRow]:
    """A row for every drafted token, in order."""
    rows: list[DraftedRow] = []
    for r in rounds:
        lost = tokens_lost(r)
        for row, d in enumerate(r.drafted):
            rows.append(
                DraftedRow(
                    r.index,
                    row,
                    d.id,
                    d.bytes,
                    d.verdict,
                    d.p,
                    d.q,
                    d.p / d.q if d.q else None,
                    named_chance(d, r.settings.rule),
                    d.u,
                    d.accept_prob,
                    lost if d.verdict == "rejected" else None,
                )
            )
    return rows


def tokens_lost(round: Round) -> float | None:
    """The tokens the round's rejection cost, expected given what was drafted; None without a rejection.

    With a_j the accept chance of drafted token j itself, a rejection at i of K_r cost
    1 + sum_{j > i} prod_{m = i+1..j} a_m tokens: the rejected draft kept, what of the drafts behind it would have been,
    and the one token that follows either way. None too where the rule gives no chance behind the rejection.
    """
    if round.tested == round.n_accepted:
        return None
    lost = reached = 1.0
    for drafted in round.drafted[round.tested :]:
        chance = _chance(drafted, round.settings.rule)
        if chance is None:
            return None
        reached *= chance
        lost += reached
    return lost


def rejected_ids(rounds: Iterable[Round]) -> list[RejectedId]:
    """The ids rejected at least once, most often rejected first; then the dearer, then the lower id."""
    counts: dict[int, _Count] = {}
    for r in rounds:
        for row, d in enumerate(r.drafted):
            count = counts.get(d.id)
            if count is None:
                count = counts[d.id] = _Count(d.bytes)
            count.drafted += 1
            count.tested += row < r.tested
        if r.tested > r.n_accepted:
            count = counts[r.drafted[r.tested - 1].id]
            count.rejected += 1
            count.lost += tokens_lost(r) or 0.0
    found = [RejectedId(id, c.bytes, c.drafted, c.tested, c.rejected, c.lost) for id, c in counts.items() if c.rejected]
    return sorted(found, key=lambda token: (-token.rejected, -token.lost, token.id))


def overlap_histogram(rounds: Iterable[Round], bins: int = 10) -> tuple[int, ...]:
    """How many tested positions have b / bins <= overlap < (b + 1) / bins, for each bin b; 1 belongs to the last.

    Under the equality rule match stands for overlap.
    """
    counts = [0] * bins
    for r in rounds:
        for drafted in r.drafted[: r.tested]:
            counts[min(int(named_chance(drafted, r.settings.rule) * bins), bins - 1)] += 1
    return tuple(counts)


@dataclass(slots=True)
class _Count:
    bytes: bytes
    drafted: int = 0
    tested: int = 0
    rejected: int = 0
    lost: float = 0.0


def _chance(drafted: Drafted, rule: str) -> float | None:
    return drafted.p if rule == "equality" else drafted.accept_prob
