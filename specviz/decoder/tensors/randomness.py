"""The randomness of a run: for each round one vector of uniforms from a counter-based generator."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

SEED_LIMIT = 2**64
MAX_REDRAWS = 100


class Uniforms:
    """Uniforms in [0, 1) of round ``index`` under ``seed``, by slot.

    Philox keyed by (seed, index); raw 64-bit outputs >> 11 are 53-bit uniforms. Slot 0: the last token
    (residual, bonus or plain); slot 2i-1: draft i; slot 2i: the accept test of draft i (i from 1).
    A slot's value depends on nothing else, so neither K nor stepping nor inspecting moves any other.
    ``redraws``: how many slots were given another value, since theirs drew an id of probability 0.
    """

    def __init__(self, seed: int, index: int, k: int) -> None:
        self._key = np.array([seed, index], dtype=np.uint64)
        self.slots = _unit(np.random.Philox(key=self._key).random_raw(2 * k + 1))
        self._spares: dict[int, Iterator[float]] = {}
        self.redraws = 0

    @property
    def last(self) -> float:
        return float(self.slots[0])

    def draft(self, i: int) -> float:
        return float(self.slots[2 * i - 1])

    def test(self, i: int) -> float:
        return float(self.slots[2 * i])

    def drafts(self, k: int) -> NDArray[np.float64]:
        """Those of drafts 1 to ``k``."""
        return self.slots[1 : 2 * k : 2]

    def tests(self, k: int) -> NDArray[np.float64]:
        """Those of the accept tests 1 to ``k``."""
        return self.slots[2 : 2 * k + 1 : 2]

    def spare(self) -> Iterator[float]:
        """Uniforms beyond every slot, for redraws."""
        far = np.random.Philox(key=self._key, counter=np.array([0, 0, 0, 1], dtype=np.uint64))
        while True:
            yield float(_unit(far.random_raw(1))[0])

    def redraw(self, slot: int) -> None:
        """Give ``slot`` the next of the spare uniforms. Raises RuntimeError once that has been done too often."""
        if self.redraws == MAX_REDRAWS:
            raise RuntimeError(f"an id of probability 0 was drawn {MAX_REDRAWS} times")
        self.slots[slot] = next(self._spares.setdefault(slot, self.spare()))
        self.redraws += 1


def _unit(raw: NDArray[np.uint64]) -> NDArray[np.float64]:
    return (raw >> np.uint64(11)).astype(np.float64) * 2.0**-53
