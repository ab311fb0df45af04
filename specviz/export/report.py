"""A recorded run and the facts and numbers that every export shows."""

from collections.abc import Collection
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

from specviz.core.safe_text import safe_terminal_text, visible
from specviz.render.explanations import end_text
from specviz.render.numbers import NONE, compact, compact_spread, exact
from specviz.stats.numbers_table import numbers_in
from specviz.stats.rates import Rates
from specviz.stats.run_stats import RunStats
from specviz.trace.jsonl import Trace


def fold(trace: Trace) -> RunStats:
    stats = RunStats()
    for event in (trace.header, *trace.calibrations, *trace.rounds, trace.end):
        if event is not None:
            stats.add(event)
    return stats


class Metric(NamedTuple):
    """A number as text. ``spread``: its interval or error, or ""."""

    label: str
    value: str
    spread: str = ""


@dataclass(frozen=True)
class Recording:
    """A trace with its statistics. Numbers cover the whole run; all text is safe to print."""

    trace: Trace

    @cached_property
    def stats(self) -> RunStats:
        return fold(self.trace)

    @cached_property
    def rates(self) -> Rates:
        return self.stats.whole()

    @property
    def depth(self) -> int:
        """The largest K_r of the run."""
        return max((r.k for r in self.trace.rounds), default=0)

    @property
    def special_ids(self) -> Collection[int]:
        return self.trace.header.special_ids

    @property
    def title(self) -> str:
        """``bundled:draft > bundled:target``, or only the target."""
        names = [self._config(key) for key in ("draft", "target")]
        return " > ".join(name for name in names if name != NONE) or NONE

    @property
    def facts(self) -> list[tuple[str, str]]:
        """The settings of the run, as (name, value)."""
        keys = ("device", "dtype", "rule", "drafter", "k", "temperature", "draft_temperature", "top_k", "top_p", "seed")
        named = [("K" if key == "k" else key.replace("_", " "), self._config(key)) for key in keys]
        shown = [(name, value) for name, value in named if value != NONE]
        return [*shown, ("recorded", _line(self.trace.header.created)), ("ended", self.ended)]

    @property
    def ended(self) -> str:
        if self.trace.end is None:
            return "not ended" + (": the last record is incomplete" if self.trace.incomplete else "")
        return end_text(self.trace.end)

    @property
    def headline(self) -> list[Metric]:
        """The key numbers."""
        return [
            Metric(
                number.title(self.rates.overlap_name), compact(number, self.rates), compact_spread(number, self.rates)
            )
            for number in numbers_in("headline")
        ]

    @property
    def numbers(self) -> list[Metric]:
        """Every number of the run, named as in `specviz stats`."""
        metrics: list[Metric] = []
        for number in numbers_in("export"):
            title = number.title(self.rates.overlap_name)
            metrics.append(Metric(title, exact(number, self.rates)))
            if spread := number.spread:
                metrics.append(Metric(f"{title}, {spread.label}", exact(spread, self.rates)))
        return metrics

    @property
    def note(self) -> str:
        """A caveat about the numbers, or ""."""
        pooled = "Settings changed during the run: its numbers pool all segments."
        return pooled if len(self.stats.summary()["segments"]) > 1 else ""

    @property
    def text(self) -> str:
        """The emitted text, with no control characters except line breaks and tabs; a dash if a token is unknown."""
        text = self.stats.summary()["text"]
        return NONE if text is None else safe_terminal_text(text)

    @property
    def prompt(self) -> str:
        return safe_terminal_text(self.trace.header.prompt.text)

    def _config(self, key: str) -> str:
        value: Any = self.trace.header.config.get(key)
        return NONE if value is None else _line(f"{value:g}" if isinstance(value, float) else str(value))


def _line(text: str) -> str:
    """Untrusted text on one line."""
    return visible(text.encode("utf-8", "replace"))
