"""Places to go to: rejections, the least overlap, and the tokens that match a query. Pure functions of the rounds.

A place is (round, row): round 1-based, row i < K_r drafted token i + 1, row K_r the round's last token.
"""

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass

from specviz.breakpoints.monitor import Breakpoint, condition, names_condition, parse_breakpoint
from specviz.core.events import Drafted, Round
from specviz.core.rule import rule_of
from specviz.core.safe_text import visible
from specviz.render.explanations import default_row, is_greedy, target_draw
from specviz.render.numbers import compact_prob, distinguishing_digits
from specviz.stats.draft_queries import Drafts, next_lowest_overlap

RoundRow = tuple[int, int]
NOWHERE: RoundRow = (0, 0)
"""Before the first round."""


@dataclass(frozen=True, slots=True)
class Hit:
    """A token that was found: where it is, its bytes, its verdict or origin, and why it is listed. ``drafted``: whether
    it has a position in a draft, else it is the round's last token."""

    round: int
    row: int
    bytes: bytes | None
    kind: str
    note: str
    drafted: bool
    q: float | None
    p: float | None

    @property
    def round_row(self) -> RoundRow:
        return self.round, self.row


class WorstFirst:
    """A walk from the worst overlap to better ones, restarted once the cursor has moved elsewhere."""

    def __init__(self) -> None:
        self._at: RoundRow | None = None

    def next(self, drafts: Drafts, shown: int, row: int) -> RoundRow | None:
        """The next place, None if nothing was tested."""
        self._at = next_lowest_overlap(drafts, (shown, row) if self._at == (shown, row) else NOWHERE)
        return self._at


Query = Breakpoint | str
"""A condition, or text that a token contains; empty for rejections."""


def parse_query(query: str) -> Query:
    """The query of an input. Raises ValueError with a sentence for an invalid or incomplete condition."""
    return parse_breakpoint(query) if names_condition(query) else query


def hits(rounds: Iterable[Round], query: Query, end_ids: Collection[int] = ()) -> list[Hit]:
    """All tokens that match ``query``, in order; a condition on a round is listed at the row worth explaining."""
    return list(iter_hits(rounds, query, end_ids))


def iter_hits(rounds: Iterable[Round], query: Query, end_ids: Collection[int] = ()) -> Iterator[Hit]:
    """``hits`` as an iterator that reads rounds as needed."""
    numbered = enumerate(rounds, start=1)
    if isinstance(query, Breakpoint):
        matches = condition(query, end_ids)
        for index, round in numbered:
            for match in sorted(matches(round), key=lambda match: match.row or 0):
                row = default_row(round) if match.row is None else match.row
                if row < round.n_rows:
                    yield _hit(index, round, row, match.words)
    elif query:
        holds = _holding(query)
        for index, round in numbered:
            for row, token in enumerate(round.rows):
                if holds(token.bytes):
                    yield _hit(index, round, row, "")
    else:
        for index, round in numbered:
            rejected = round.rejected_row
            if rejected is not None:
                yield _hit(index, round, rejected, _test(round, round.drafted[rejected]))


def _hit(index: int, round: Round, row: int, note: str) -> Hit:
    token = round.rows[row]
    drafted = isinstance(token, Drafted)
    kind = token.verdict if isinstance(token, Drafted) else token.origin
    return Hit(index, row, token.bytes, kind, note or kind, drafted, token.q, token.p)


def _test(round: Round, rejected: Drafted) -> str:
    if is_greedy(round):
        return "greedy"
    if rejected.test is None or rule_of(round.settings.rule).test != "ratio":
        return round.settings.rule if rejected.target_sample is None else f"target drew {target_draw(round, rejected)}"
    u, chance = distinguishing_digits(*rejected.test, most=3)
    return f"u {u} ≥ {chance}, overlap {compact_prob(rejected.overlap)}"


def _holding(text: str) -> Callable[[bytes | None], bool]:
    """Whether a token contains ``text``, ignoring case, in its characters or as displayed."""
    wanted = text.casefold()
    known: dict[bytes, bool] = {}

    def holds(data: bytes | None) -> bool:
        if data is None:
            return False
        found = known.get(data)
        if found is None:
            forms = data.decode("utf-8", "replace"), visible(data)
            found = known[data] = any(wanted in form.casefold() for form in forms)
        return found

    return holds
