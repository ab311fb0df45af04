"""What is run by specviz and by another engine in turns, and what came of it."""

import random
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Duel:
    """What is run twice, once by each; ``repeat`` and ``prompt`` count from 0."""

    repeat: int
    prompt: int
    k: int
    ours_first: bool


def duels(prompts: Sequence[int], ks: Sequence[int], repeats: int, seed: int) -> list[Duel]:
    """Repeat by repeat, in an order that is shuffled anew; either goes first as often as the other."""
    order = random.Random(seed)
    found = []
    for repeat in range(repeats):
        pairs = [(prompt, k) for prompt in prompts for k in ks]
        for n, (prompt, k) in enumerate(order.sample(pairs, len(pairs))):
            found.append(Duel(repeat, prompt, k, ours_first=(n + repeat) % 2 == 0))
    return found


@dataclass(frozen=True, slots=True)
class Pace:
    """``tokens`` in ``ms``, both behind the first round. ``peak``: bytes in use at most, None where nobody knows."""

    tokens: int
    ms: float
    peak: int | None


@dataclass(frozen=True, slots=True)
class Fought:
    """``round_ms``: of our whole rounds but the first; ``forwards_ms``: their forwards once more, with nothing around
    them, empty where that cannot be had. ``same``: how many tokens are the same from the start; ``of``: how many there
    are in the shorter text."""

    duel: Duel
    ours: Pace
    theirs: Pace
    same: int
    of: int
    round_ms: tuple[float, ...]
    forwards_ms: tuple[float, ...]
