"""How often each token was drafted, tested and rejected, over rows that become more: only what comes in is counted."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from specviz.stats.drafted import REJECTED, Rows

TokenNumbers = NDArray[np.void]
"""By the token's place: ``drafted``, ``tested``, ``rejected``, and the tokens ``lost`` by all its rejections."""
_DTYPE = np.dtype([("drafted", np.int64), ("tested", np.int64), ("rejected", np.int64), ("lost", np.float64)])


class TokenCounts:
    """The numbers of the rows that were asked for last."""

    def __init__(self, rows: Callable[[int, int], Rows]) -> None:
        """``rows``: (begin, end) -> the rows from ``begin`` on and before ``end``."""
        self._rows = rows
        self._begin = self._end = 0
        self._numbers: TokenNumbers = np.zeros(256, _DTYPE)

    def over(self, begin: int, end: int, tokens: int) -> TokenNumbers:
        """Of the rows ``begin`` to ``end`` for each of so many tokens; all are counted where they do not go on from
        those before."""
        if begin != self._begin or end < self._end:
            self._numbers[:] = 0
            self._begin = self._end = begin
        if tokens > len(self._numbers):
            self._numbers = np.concatenate([self._numbers, np.zeros(max(tokens, len(self._numbers)), _DTYPE)])
        rows = self._rows(self._end, end)
        token, verdict = rows["token"], rows["verdict"]
        rejected = token[verdict == REJECTED]
        np.add.at(self._numbers["drafted"], token, 1)
        np.add.at(self._numbers["tested"], token[verdict <= REJECTED], 1)
        np.add.at(self._numbers["rejected"], rejected, 1)
        np.add.at(self._numbers["lost"], rejected, np.nan_to_num(rows["lost"][verdict == REJECTED]))
        self._end = end
        return self._numbers[:tokens]
