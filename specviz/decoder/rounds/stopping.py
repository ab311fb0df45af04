"""What ends a text: end ids, stop strings, the token budget, the context."""

from collections.abc import Sequence
from dataclasses import dataclass

from specviz.core.events import Round, StopReason


@dataclass(frozen=True, slots=True)
class StoppingCriteria:
    """``stop`` strings are compared with the emitted bytes, so they may begin and end inside tokens. ``context``: how
    many positions the target can be fed; a text may be one longer, since its last token is not fed."""

    end_ids: frozenset[int]
    stop: tuple[bytes, ...]
    max_new_tokens: int
    context: int

    def cut(
        self, bytes_of: Sequence[bytes], before: bytes, n_before: int, length: int, ids: Sequence[int]
    ) -> tuple[int, StopReason | None]:
        """How many of the round's ``ids`` are emitted, and why the text ends with the last of them if it does.
        ``before``: the emitted bytes so far, or their tail of at least the longest stop string. ``n_before``: emitted
        tokens so far; ``length``: prompt and emitted tokens so far."""
        text = before
        for n, token in enumerate(ids, 1):
            n_bytes = len(text)
            text += bytes_of[token]
            if token in self.end_ids:
                return n, "end_of_text"
            if any(text.find(stop, max(0, n_bytes - len(stop) + 1)) >= 0 for stop in self.stop):
                return n, "stop_string"
            if n_before + n >= self.max_new_tokens:
                return n, "max_new_tokens"
            if length + n > self.context:
                return n, "context"
        return len(ids), None

    def detail(self, last: Round, emitted: bytes) -> str | None:
        """``End.detail`` of a text of these ``emitted`` bytes: which end id, which stop string, which context."""
        if last.stop == "end_of_text":
            token = last.emitted[-1]
            return f"id {token.id} {(token.bytes or b'').decode('utf-8', 'replace')}"
        if last.stop == "stop_string":
            ends = {emitted.find(stop) + len(stop): stop for stop in self.stop}
            return repr(min((end, stop) for end, stop in ends.items() if end >= len(stop))[1].decode())
        if last.stop == "context":
            return f"context limit: the target can be fed {self.context} positions"
        return None
