"""The random numbers of a run, by a counter-based generator: a number depends on seed, round and slot alone."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

SEED_LIMIT = 2**64
MAX_REDRAWS = 100


class RoundRandom:
    """Uniforms in [0, 1) of round ``index`` under ``seed``.

    ``values`` float64 [2K + 1], by slot: 0 draws the last token (residual, bonus or plain), 2i - 1 draws draft i, 2i
    tests it, i from 1. They are 53-bit numbers from Philox keyed by (seed, index), so a change of K, stepping or
    inspecting changes no value. ``redraws``: how many values were replaced because they drew an id of probability 0.
    """

    def __init__(self, seed: int, index: int, k: int) -> None:
        self._key = np.array([seed, index], dtype=np.uint64)
        self.values = _unit(np.random.Philox(key=self._key).random_raw(2 * k + 1))
        self._extra: dict[int, Iterator[float]] = {}
        self.redraws = 0

    def drafts(self, k: int) -> NDArray[np.float64]:
        """The values that draw drafts 1 to ``k``."""
        return self.values[1 : 2 * k : 2]

    def tests(self, k: int) -> NDArray[np.float64]:
        """The values that test drafts 1 to ``k``."""
        return self.values[2 : 2 * k + 1 : 2]

    def extra(self) -> Iterator[float]:
        """Uniforms beyond every slot, for redraws."""
        generator = np.random.Philox(key=self._key, counter=np.array([0, 0, 0, 1], dtype=np.uint64))
        while True:
            yield float(_unit(generator.random_raw(1))[0])

    def redraw(self, slot: int) -> None:
        """Replace the value of ``slot``. Raises RuntimeError after MAX_REDRAWS."""
        if self.redraws == MAX_REDRAWS:
            raise RuntimeError(f"an id of probability 0 was drawn {MAX_REDRAWS} times")
        self.values[slot] = next(self._extra.setdefault(slot, self.extra()))
        self.redraws += 1


def _unit(raw: NDArray[np.uint64]) -> NDArray[np.float64]:
    return (raw >> np.uint64(11)).astype(np.float64) * 2.0**-53
