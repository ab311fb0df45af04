"""A recorded run and what every export says of it."""

from collections.abc import Collection
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

from specviz.core.safe_text import safe_terminal_text, visible
from specviz.render.explanations import ending
from specviz.render.numbers import fixed, prob
from specviz.stats.rates import Rates
from specviz.stats.report_rows import ROWS
from specviz.stats.run_stats import RunStats
from specviz.trace.jsonl import Trace

NONE = "–"
_SAID_BY_FACTS = ("draft", "target", "K", "temperature", "seed", "ended")


def fold(trace: Trace) -> RunStats:
    stats = RunStats()
    for event in (trace.header, trace.calibration, *trace.rounds, trace.end):
        if event is not None:
            stats.add(event)
    return stats


class Number(NamedTuple):
    """A number under its own name; ``spread``: its interval or error, where it has one."""

    label: str
    value: str
    spread: str = ""


@dataclass(frozen=True)
class Recording:
    """A trace with its statistics. Numbers pool the whole run; every text that leaves here is safe to print."""

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
        """``bundled:draft > bundled:target``, or the target alone."""
        names = [self._config(key) for key in ("draft", "target")]
        return " > ".join(name for name in names if name != NONE) or NONE

    @property
    def facts(self) -> list[tuple[str, str]]:
        """How the run was made, as (name, value)."""
        keys = ("device", "dtype", "rule", "drafter", "k", "temperature", "draft_temperature", "top_k", "top_p", "seed")
        named = [("K" if key == "k" else key.replace("_", " "), self._config(key)) for key in keys]
        shown = [(name, value) for name, value in named if value != NONE]
        return [*shown, ("recorded", _line(self.trace.header.created)), ("ended", self.ended)]

    @property
    def ended(self) -> str:
        if self.trace.end is None:
            return "not ended" + (": the last record is incomplete" if self.trace.incomplete else "")
        return ending(self.trace.end)

    @property
    def headline(self) -> list[Number]:
        """The few numbers that stand on top."""
        r = self.rates
        error = f"±{r.tokens_per_round_se:.2f}" if r.tokens_per_round_se is not None else ""
        return [
            Number("α tested", prob(r.alpha_tested), _interval(r.alpha_tested_ci)),
            Number("α overlap", prob(r.alpha_overlap), _interval(r.alpha_overlap_ci)),
            Number("tokens/round", fixed(r.tokens_per_round, 2), error),
            Number("formula at α tested", fixed(r.formula_at_tested, 2)),
            Number("formula at α overlap", fixed(r.formula_at_overlap, 2)),
            Number("c = T_p/T_q", fixed(r.c, 1)),
            Number("speedup, model", _times(r.speedup_model)),
            Number("z (agreement)", NONE if r.agreement_z is None else f"{r.agreement_z:+.1f}"),
        ]

    @property
    def numbers(self) -> list[Number]:
        """Every number of the run, by the names of `specviz stats`."""
        numbers: list[Number] = []
        whose = ""
        for label, cell in ROWS:
            if label == "accepted/drafted":
                numbers.append(Number("accepted/round", self._accepted_per_round()))
            if label not in _SAID_BY_FACTS:
                numbers.append(Number(f"{whose}, {label.strip()}" if label[0] == " " else label, cell(self.stats)))
            whose = whose if label[0] == " " else label
        return numbers

    @property
    def note(self) -> str:
        """What to keep in mind about the numbers; empty where there is nothing."""
        pooled = "Settings changed during the run: its numbers pool all segments."
        return pooled if len(self.stats.summary()["segments"]) > 1 else ""

    @property
    def text(self) -> str:
        """What was emitted: line breaks and tabs as they are, nothing else that could drive a terminal."""
        return safe_terminal_text(str(self.stats.summary()["text"]))

    @property
    def prompt(self) -> str:
        return safe_terminal_text(self.trace.header.prompt.text)

    def _accepted_per_round(self) -> str:
        return fixed(self.rates.accepted / self.rates.rounds, 3) if self.rates.rounds else NONE

    def _config(self, key: str) -> str:
        value: Any = self.trace.header.config.get(key)
        return NONE if value is None else _line(f"{value:g}" if isinstance(value, float) else str(value))


def _line(text: str) -> str:
    """Foreign text on one line."""
    return visible(text.encode("utf-8", "replace"))


def _interval(ends: tuple[float, float] | None) -> str:
    return f"[{prob(ends[0])} {prob(ends[1])}]" if ends else ""


def _times(value: float | None) -> str:
    return NONE if value is None else f"{value:.2f}×"
