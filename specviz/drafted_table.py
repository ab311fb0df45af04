"""Every drafted token of a run as a row of numbers: small enough to keep for any number of rounds."""

import math
from collections.abc import Iterable
from typing import Self

import numpy as np
from numpy.typing import NDArray

from specviz.events import Drafted, Round, Verdict
from specviz.tally import named_chance

DRAFTED_DTYPE = np.dtype(
    [
        ("round", np.int32),
        ("row", np.int16),
        ("token", np.int32),
        ("verdict", np.int8),
        *((name, np.float64) for name in ("p", "q", "overlap", "chance", "u", "accept_prob", "lost")),
    ]
)
"""``round`` is 1-based, ``row`` 0-based; ``token`` a place in ``tokens``, ``verdict`` in VERDICTS. ``chance`` is
what ``chance_name`` names under the rule of the round. NaN: undefined."""
VERDICTS: tuple[Verdict, ...] = ("accepted", "rejected", "untested", "ignored")
REJECTED = 1
"""The last of the verdicts of tested tokens."""
_CODES = {verdict: code for code, verdict in enumerate(VERDICTS)}


class DraftedTable:
    """``rows`` [n] of ``DRAFTED_DTYPE`` in the order of drafting; ``tokens`` (id, bytes) of what was drafted."""

    def __init__(self) -> None:
        self._rows: NDArray[np.void] = np.zeros(256, DRAFTED_DTYPE)
        self._count = 0
        self.tokens: list[tuple[int, bytes]] = []
        self._places: dict[tuple[int, bytes], int] = {}

    @classmethod
    def of(cls, rounds: Iterable[Round]) -> Self:
        table = cls()
        for round in rounds:
            table.add(round)
        return table

    @property
    def rows(self) -> NDArray[np.void]:
        return self._rows[: self._count]

    def __len__(self) -> int:
        return self._count

    @property
    def untested(self) -> int:
        """How many had no test."""
        return int((self.rows["verdict"] > REJECTED).sum())

    def add(self, round: Round) -> None:
        if self._count + round.k > len(self._rows):
            self._rows = np.concatenate([self._rows, np.zeros(max(len(self._rows), round.k), DRAFTED_DTYPE)])
        lost = tokens_lost(round)
        cost = math.nan if lost is None else lost
        self._rows[self._count : self._count + round.k] = [
            (
                round.index,
                row,
                self._place(d.id, d.bytes),
                _CODES[d.verdict],
                d.p,
                d.q,
                d.overlap,
                named_chance(d, round.settings.rule),
                d.u,
                math.nan if d.accept_prob is None else d.accept_prob,
                cost if d.verdict == "rejected" else math.nan,
            )
            for row, d in enumerate(round.drafted)
        ]
        self._count += round.k

    def _place(self, id: int, data: bytes) -> int:
        token = id, data
        place = self._places.get(token)
        if place is None:
            place = self._places[token] = len(self.tokens)
            self.tokens.append(token)
        return place

    def between(self, first: int, last: int) -> Self:
        """The rows of the rounds ``first`` to ``last`` (1-based, inclusive), without a copy."""
        part = type(self)()
        rounds = self.rows["round"]
        part._rows = self.rows[np.searchsorted(rounds, first) : np.searchsorted(rounds, last, "right")]
        part._count, part.tokens, part._places = len(part._rows), self.tokens, self._places
        return part


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


def _chance(drafted: Drafted, rule: str) -> float | None:
    return drafted.p if rule == "equality" else drafted.accept_prob
