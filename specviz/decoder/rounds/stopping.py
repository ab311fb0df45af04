"""Where a text ends: end ids, stop strings, the budget, the context."""

from collections.abc import Sequence
from dataclasses import dataclass

from specviz.core.events import StopReason


@dataclass(frozen=True, slots=True)
class Ending:
    """What ends a run. Stop strings are compared with the emitted bytes, so they may begin and end inside tokens."""

    end_ids: frozenset[int]
    stop: tuple[bytes, ...]
    max_new_tokens: int
    context: int
    """Positions the target can be fed; the last token of a text is never fed, so a text may be one longer."""

    def cut(
        self, bytes_of: Sequence[bytes], before: bytes, n_before: int, length: int, ids: Sequence[int]
    ) -> tuple[int, StopReason | None]:
        """How many of the round's ``ids`` enter the text, and why it ends with the last of them if it does.

        ``before``: the emitted bytes so far (their tail, at least as long as the longest stop string);
        ``n_before``: emitted tokens so far; ``length``: prompt and emitted tokens so far.
        """
        text = before
        for n, token in enumerate(ids, 1):
            seen = len(text)
            text += bytes_of[token]
            if token in self.end_ids:
                return n, "end_of_text"
            if any(text.find(stop, max(0, seen - len(stop) + 1)) >= 0 for stop in self.stop):
                return n, "stop_string"
            if n_before + n >= self.max_new_tokens:
                return n, "max_new_tokens"
            if length + n > self.context:
                return n, "context"
        return len(ids), None
