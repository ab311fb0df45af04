"""Conditions that pause a run: their syntax, and the monitor that knows in which rounds they hold.

``N<=1`` tokens of the round; ``reject<=2`` a rejection at that position or before; ``overlap<0.3`` a tested position
with less overlap; ``p/q<0.1`` a tested drafted token; ``token=464`` an id drafted or emitted; ``text~frog`` a regular
expression on a token's text, or on the emitted text across tokens; ``streak>=5`` full acceptances in a row; ``end`` an
end-of-text id drafted or emitted; ``|z|>3`` the agreement of the segment.
"""

import re
import threading
from bisect import bisect_right
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from functools import partial
from itertools import islice
from math import inf
from operator import attrgetter
from typing import Any, Literal, NamedTuple, get_args

from specviz.breakpoints.conditions import (
    AcceptStreak,
    Condition,
    ZScoreAbove,
    early_rejection,
    few_tokens,
    low_tested,
    sentence,
    token_seen,
)
from specviz.breakpoints.text_search import TextSeen, compiled, quoted
from specviz.core.errors import SpecvizError
from specviz.core.events import Event, Header, Round
from specviz.trace.round_store import RoundStore

Kind = Literal["N", "reject", "overlap", "p/q", "token", "text", "streak", "end", "|z|"]
KINDS: tuple[Kind, ...] = get_args(Kind)


class Syntax(NamedTuple):
    """The syntax of a kind of condition, the condition of a value, and the numbers it takes (``needs`` describes
    them)."""

    operator: str
    example: str
    needs: str
    condition: Callable[[Any], Condition]
    whole: bool = True
    least: float = 1
    most: float = inf


SYNTAX: dict[Kind, Syntax] = {
    "N": Syntax("<=", "1", "a whole number from 1", few_tokens),
    "reject": Syntax("<=", "2", "a position from 1", early_rejection),
    "overlap": Syntax(
        "<", "0.3", "a number above 0, at most 1", partial(low_tested, "overlap", attrgetter("overlap")), False, 0, 1
    ),
    "p/q": Syntax("<", "0.1", "a number above 0", partial(low_tested, "p/q", attrgetter("ratio")), False, 0),
    "token": Syntax("=", "464", "the id of a token", lambda id: token_seen((id,), f"token {id}"), least=0),
    "text": Syntax("~", "frog", "a regular expression", TextSeen),
    "streak": Syntax(">=", "5", "a whole number from 1", AcceptStreak),
    "end": Syntax("", "", "", lambda ids: token_seen(ids, "end of text")),
    "|z|": Syntax(">", "3", "a number above 0", ZScoreAbove, False, 0),
}
AT_ONCE, AT_A_TIME = 512, 64
"""Rounds that are checked again immediately when a breakpoint changes; rounds checked per turn of the lock."""
_WRITTEN = re.compile(r"\s*(n|reject|overlap|p\s*/\s*q|token|text|streak|end|\|\s*z\s*\|)\s*(<=|>=|[<>=~≤≥]|)", re.I)
_WHOLE = re.compile(r"[0-9]{1,12}")
_NUMBER = re.compile(r"([0-9]{1,12}(\.[0-9]{0,18})?|\.[0-9]{1,18})(e[+-]?[0-9]{1,2})?", re.I)


@dataclass(frozen=True, slots=True)
class Breakpoint:
    """A condition on a round; ``str`` writes it as it is parsed. ``value`` is None for ``end``, an expression for
    ``text``, an int for N, reject, token and streak, a float for the others."""

    kind: Kind
    value: int | float | str | None = None

    def __str__(self) -> str:
        value = "" if self.value is None else str(self.value)
        return f"{self.kind}{SYNTAX[self.kind].operator}{value.removesuffix('.0') if self.kind != 'text' else value}"


def parse_breakpoint(text: str) -> Breakpoint:
    """Parse a condition. Spaces around its parts, ≤ and ≥ are accepted; what follows ``text~`` is taken literally.
    Raises ValueError with one sentence that names the mistake and the syntax."""
    written = _written(text)
    if written is None:
        raise ValueError(f"{quoted(text)} is not a valid condition. Valid forms: {', '.join(map(_example, KINDS))}.")
    kind, operator, value = written
    if operator != SYNTAX[kind].operator:
        raise ValueError(f"{quoted(text)} is not a valid condition: write {_example(kind)}.")
    return make_breakpoint(kind, value)


def names_condition(text: str) -> bool:
    """Whether the text begins like a condition, complete or not."""
    written = _written(text)
    return written is not None and SYNTAX[written[0]].operator.startswith(written[1])


def make_breakpoint(kind: Kind, value: str) -> Breakpoint:
    """A breakpoint from its kind and typed value. Raises ValueError with one sentence that names the condition."""
    form = SYNTAX[kind]
    if kind == "end":
        return Breakpoint(kind)
    if kind == "text":
        compiled(value)
        return Breakpoint(kind, value)
    number = value.strip()
    if (_WHOLE if form.whole else _NUMBER).fullmatch(number):
        read = int(number) if form.whole else float(number)
        if (read >= form.least if form.whole else read > form.least) and read <= form.most:
            return Breakpoint(kind, read)
    raise ValueError(f"{kind}{form.operator} needs {form.needs}, not {quoted(number)}.")


def condition(wanted: Breakpoint, end_ids: Collection[int] = ()) -> Condition:
    """A new condition for one run, whose end-of-text ids are ``end_ids``."""
    return SYNTAX[wanted.kind].condition(end_ids if wanted.kind == "end" else wanted.value)


class BreakpointMonitor:
    """Knows which rounds of a run hit a breakpoint. Every method may be called from any thread. Rounds are counted from
    1 in the order they were added, as their ``index`` is. ``store`` returns the store for the rounds of a run, at its
    first round; they are read back when the breakpoints change."""

    def __init__(
        self,
        breakpoints: Iterable[Breakpoint] = (),
        store: Callable[[], RoundStore] = RoundStore,
        *,
        thread_above: int = AT_ONCE,
    ) -> None:
        self._thread_above = thread_above
        self._lock = threading.Lock()
        self._store = store
        self._end_ids: tuple[int, ...] = ()
        self._rounds: RoundStore | None = None
        self._count = 0
        self.change(breakpoints)

    def change(self, breakpoints: Iterable[Breakpoint]) -> None:
        """Replace the breakpoints. Earlier rounds are checked again: immediately if there are few, otherwise on a
        thread, and always before the next round is added."""
        wanted = tuple(dict.fromkeys(breakpoints))
        with self._lock:
            self._begin(wanted)
        if self._count <= self._thread_above:
            self._catch_up()
        elif wanted:
            threading.Thread(target=self._catch_up, name="specviz-breakpoints", daemon=True).start()

    def add(self, event: Event) -> bool:
        """Add the next event; a Header begins a run. True for a Round that hits a breakpoint."""
        if isinstance(event, Round):
            with self._lock:
                if self._rounds is None:
                    self._rounds = self._store()
                self._count = index = self._count + 1
                self._rounds.append(event, index - 1)
                if self._checked == index - 1:
                    self._check(event)
            self._catch_up()
            return bool(self.hit(index))
        if isinstance(event, Header):
            with self._lock:
                self._end_ids = event.end_ids
                self._rounds, self._count = None, 0
                self._begin(self.breakpoints)
        return False

    def hit(self, index: int) -> tuple[str, ...]:
        """What round ``index`` hit, one sentence per breakpoint: ``p/q .12 < .2 at position 3``."""
        return self._hits.get(index, ())

    def next_hit(self, index: int) -> int | None:
        """The first round after ``index`` that hits a breakpoint, among those checked so far."""
        rounds = self._hit_rounds
        at = bisect_right(rounds, index)
        return rounds[at] if at < len(rounds) else None

    @property
    def hits(self) -> list[int]:
        """The rounds that hit a breakpoint, ascending."""
        return list(self._hit_rounds)

    def _begin(self, breakpoints: tuple[Breakpoint, ...]) -> None:
        self._conditions = [condition(wanted, self._end_ids) for wanted in breakpoints]
        self.breakpoints = breakpoints
        self._checked = 0 if breakpoints else self._count
        self._hits: dict[int, tuple[str, ...]] = {}
        self._hit_rounds: list[int] = []

    def _catch_up(self) -> None:
        """Check the rounds that the conditions have not seen, a few at a time."""
        while (rounds := self._rounds) is not None and self._checked < self._count:
            with self._lock:
                if rounds is self._rounds:
                    try:
                        for round in islice(rounds.iter_compact(self._checked), AT_A_TIME):
                            self._check(round)
                    except SpecvizError:
                        self._checked += 1  # a round that cannot be read back is skipped

    def _check(self, round: Round) -> None:
        self._checked += 1
        seen = [matches for each in self._conditions if (matches := each(round))]
        if seen:
            self._hits[self._checked] = tuple(sentence(matches, round) for matches in seen)
            self._hit_rounds.append(self._checked)


def _written(text: str) -> tuple[Kind, str, str] | None:
    """(kind, operator, what follows) of a text that begins with a condition's name and an operator, or is ``end``."""
    begun = _WRITTEN.match(text)
    if begun is None:
        return None
    name = re.sub(r"\s", "", begun[1]).casefold()
    kind = next(kind for kind in KINDS if kind.casefold() == name)
    operator, rest = begun[2].replace("≤", "<=").replace("≥", ">="), text[begun.end() :]
    return (kind, operator, rest) if operator or (kind == "end" and not rest.strip()) else None


def _example(kind: Kind) -> str:
    return f"{kind}{SYNTAX[kind].operator}{SYNTAX[kind].example}"
