"""What an n-gram draft notes of the place it was copied from."""

from typing import NamedTuple

from specviz.core.drafters import MAX_NGRAM
from specviz.core.events import Drafted

KEYS = ("ngram", "source", "at")


class Copied(NamedTuple):
    """A drafted token that stood at position ``at`` of ``source``.

    Its draft begins there behind the last ``n`` tokens of the text; ``start`` is where these stand.
    """

    n: int
    source: str
    at: int
    start: int

    @property
    def words(self) -> str:
        """``copied from position 14, 4-gram, in the text``."""
        return f"copied from position {self.at}, {self.n}-gram, in the {self.source}"


def copied(drafted: Drafted, row: int) -> Copied | None:
    """Where drafted token ``row`` of a round was copied from; None where its drafter notes no such place."""
    n, source, at = map(drafted.detail.get, KEYS)
    if type(n) is not int or type(at) is not int or source not in ("text", "corpus"):
        return None
    if not 0 < n <= min(MAX_NGRAM, at - row):
        return None
    return Copied(n, source, at, at - row - n)
