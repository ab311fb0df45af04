"""Which rounds the numbers of a page count, in data and in words."""

from dataclasses import dataclass

from specviz.core.events import Settings
from specviz.render.numbers import pluralised
from specviz.stats.draft_table import DraftRange, DraftTable
from specviz.stats.run_stats import Rates, RunStats


@dataclass(frozen=True, slots=True)
class Scope:
    """The rounds of the segment on screen, up to the round shown, and their rates. ``stats`` is their source,
    ``drafts`` their drafted tokens, ``shown`` the round shown, ``recorded`` the number of rounds; ``settings`` are
    those of the round shown, None before the first."""

    stats: RunStats
    shown: int
    recorded: int
    drafts: DraftRange
    rates: Rates
    settings: Settings | None

    @property
    def yet(self) -> str:
        """`` yet`` while more rounds may follow, else empty."""
        return "" if self.shown == self.recorded and self.stats.end is not None else " yet"

    @property
    def peers_title(self) -> str:
        """Which rounds count for what other engines would print: those of tokens/round."""
        first = self.rates.tokens_per_round_first
        return "this run" if first == 1 and self.shown == self.recorded else _span(first, self.shown)

    @property
    def title(self) -> str:
        """``all 61 rounds``, ``rounds 12 to 61, since the settings changed``."""
        if not self.shown:
            return "no round yet"
        if self.rates.first > 1:
            return f"{_span(self.rates.first, self.shown)}, since the settings changed"
        if self.shown < self.recorded:
            return f"{_span(1, self.shown)} of {self.recorded}"
        return "the first round" if self.shown == 1 else f"all {pluralised(self.shown, 'round')}"

    @property
    def tokens_title(self) -> str:
        """The same for tokens/round, which count from the last change of K too, while α does not."""
        first, before = self.rates.tokens_per_round_first, self.rates.first
        if first == before:
            return self.title
        return f"{_span(first, self.shown)}, since K changed; α since round {before}"


def scope_of(stats: RunStats, drafts: DraftTable, shown: int) -> Scope:
    """The scope as of round ``shown`` (0: before the first) of a run with these numbers and drafts."""
    rates = stats.segment_rates(shown)
    return Scope(
        stats=stats,
        shown=shown,
        recorded=stats.rounds,
        drafts=drafts.between(rates.first, shown),
        rates=rates,
        settings=stats.settings(shown),
    )


def _span(first: int, last: int) -> str:
    return f"round {last}" if first == last else f"rounds {first} to {last}"
