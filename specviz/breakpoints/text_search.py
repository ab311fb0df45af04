"""Regular expressions over tokens and over a growing text, within a budget of time.

One search may take ``PATIENCE``, all searches of a scan together ``FOR_ALL`` and ``FOR_EACH`` round more: 0.9 seconds
for 3,000 rounds. An expression that needs longer is ignored.
"""

import codecs
import re
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate
from math import prod
from time import thread_time
from typing import Any

from specviz.breakpoints.conditions import Match
from specviz.core.events import Round
from specviz.core.safe_text import clip, visible

WINDOW = 256
"""Characters of the text before a round in which a match that ends in the round may begin."""
PATIENCE = 0.05
"""Maximum seconds of one search."""
FOR_ALL, FOR_EACH = 0.3, 0.0002
"""Maximum seconds of thread time for a whole scan, plus for each of its rounds."""
MOST_CHARACTERS, MOST_NESTED, MOST_REPEATS = 256, 8, 10_000
_COUNTS = re.compile(r"\{(\d*),?(\d*)\}")
_SHOWN_CELLS = 40


def quoted(text: str) -> str:
    """User input in quotes, safe to print and shortened."""
    if not text:
        return '""'
    return f'"{clip(visible(text.encode("utf-8", "replace")), _SHOWN_CELLS)}"'


def compiled(expression: str) -> Any:
    """A pattern of the ``regex`` module, which supports all of ``re``'s syntax and, unlike it, a timeout. Raises
    ValueError if the text is not a valid expression, or if compiling or matching it could take forever."""
    import regex  # type: ignore[import-untyped]

    name = quoted(expression)
    if not expression:
        raise ValueError("text~ must be followed by a regular expression, such as text~frog.")
    repeats = prod(max(1, *(int(n[:6] or 0) for n in counts)) for counts in _COUNTS.findall(expression))
    if len(expression) > MOST_CHARACTERS or _depth(expression) > MOST_NESTED or repeats > MOST_REPEATS:
        raise ValueError(f"text~ cannot search for {name}: it is too long, too deeply nested or repeats too much.")
    try:
        return regex.compile(expression)
    except (regex.error, OverflowError, RecursionError, MemoryError) as error:
        raise ValueError(f"text~ cannot search for {name}: {error}.") from None


def _depth(expression: str) -> int:
    deepest = depth = 0
    for char in expression:
        depth += (char == "(") - (char == ")")
        deepest = max(deepest, depth)
    return deepest


class TextSeen:
    """An expression found in a drafted or emitted token, or across the tokens of the emitted text. The text excludes
    the prompt. A match counts in the round that completes it; empty matches do not count. An expression that takes too
    long is reported once and then ignored."""

    def __init__(self, expression: str, clock: Callable[[], float] = thread_time) -> None:
        """``clock``: the seconds of CPU time used so far."""
        self._clock = clock
        self._pattern = compiled(expression)
        self._name = f"text ~ {quoted(expression)}"
        self._known: dict[bytes, bool] = {}
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._before = ""
        self._left = FOR_ALL
        self._deadline = 0.0
        self._given_up = False

    def __call__(self, round: Round) -> Sequence[Match]:
        if self._given_up:
            return []
        begun = self._clock()
        self._left += FOR_EACH
        self._deadline = begun + self._left
        try:
            rows = [row for row, token in enumerate(round.rows) if self._in_token(token.bytes)]
            across = [row for row in self._in_text(round) if row not in rows]
        except TimeoutError:
            self._given_up = True
            return [Match(f"{self._name} takes too long to search for and is ignored from here on")]
        self._left -= self._clock() - begun
        matches = [Match(self._name, row) for row in rows]
        return matches + [Match(f"{self._name} across tokens, completed", row) for row in across]

    def _in_token(self, data: bytes | None) -> bool:
        if data is None:
            return False
        known = self._known.get(data)
        if known is None:
            known = self._known[data] = any(self._matches(data.decode("utf-8", "replace"), 0))
        return known

    def _in_text(self, round: Round) -> list[int]:
        """The rows of the emitted tokens that complete a match."""
        # One character more than the window lets ^ and \b see that the text did not begin there.
        before, state = self._before, self._decoder.getstate()
        text = before + self._decoder.decode(b"".join(token.bytes or b"" for token in round.emitted))
        self._before = text[-WINDOW - 1 :]
        found = self._matches(text, int(len(before) > WINDOW))
        completed = {end - len(before) for end in found if end > len(before)}
        if not completed:
            return []
        self._decoder.setstate(state)
        ends = list(accumulate(len(self._decoder.decode(token.bytes or b"")) for token in round.emitted))
        indices = {bisect_left(ends, end) for end in completed}
        return sorted(i if i < round.n_accepted else round.k for i in indices)

    def _matches(self, text: str, start: int) -> Iterator[int]:
        """The ends of the matches that are not empty. Raises TimeoutError when the time is up."""
        left = min(PATIENCE, self._deadline - self._clock())
        if left <= 0:
            raise TimeoutError
        found = self._pattern.finditer(text, start, overlapped=True, concurrent=True, timeout=left)
        return (match.end() for match in found if match.end() > match.start())
