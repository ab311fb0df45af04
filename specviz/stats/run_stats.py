"""The numbers of a run: add events as they arrive, then query the rates as of any round."""

from array import array
from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from specviz.core.events import Calibration, Emitted, End, Event, Header, Round, Settings, Token
from specviz.maths.step_costs import StepCosts, combined_verify_times
from specviz.stats.cumulative import CumulativeCounts
from specviz.stats.incremental import IncrementalMedians
from specviz.stats.measured_cost import MeasuredCost, measured_cost
from specviz.stats.numbers_table import Segment, summarise
from specviz.stats.rates import TIMES, LiveRates, PositionRate, Rates, compute_rates, with_times
from specviz.stats.round_counts import RoundCountsArray, count_round
from specviz.stats.series import Series, SeriesBuilder

Column = NDArray[np.float64]
ENOUGH_ROUNDS = 5
"""Rounds from which a median of their times replaces the calibrated one."""

__all__ = ["LiveRates", "PositionRate", "Rates", "RunStats", "Series"]


class RunStats:
    """The numbers of one run. A change of a setting other than k begins a segment of all rates; a change of any setting
    one of tokens/round. Queries take ``last``, a round (1-based), and return the numbers as of that round; None means
    the latest one, 0 the state before the first."""

    def __init__(self) -> None:
        self.header: Header | None = None
        self.calibrations: list[Calibration] = []
        self.end: End | None = None
        self._table = CumulativeCounts()
        self._emitted = array("I")
        self._tokens: list[Token | None] = []
        self._token_indices: dict[Token | None, int] = {}
        self._measured: tuple[object, LiveRates] | None = None
        self._medians: dict[int, IncrementalMedians[str]] = {}
        self._verify_medians = IncrementalMedians(self._verify_values)
        self._draft_medians = IncrementalMedians(self._draft_values)
        self._settings: list[Settings] = []
        self._starts: list[int] = []
        self._tokens_starts: list[int] = []
        self._series = SeriesBuilder()

    @property
    def rounds(self) -> int:
        return len(self._settings)

    def add(self, event: Event) -> None:
        """Add a Header, Calibration, Round or End; ignore anything else. Raises ValueError for a round whose counts do
        not add up (see ``inconsistency``)."""
        match event:
            case Round():
                self._add_round(event)
            case Header():
                self.header = event
            case Calibration():
                self.calibrations.append(event)
            case End():
                self.end = event

    @property
    def round_counts(self) -> RoundCountsArray:
        """The counts of every round."""
        return self._table.rows

    @property
    def table(self) -> CumulativeCounts:
        """The counts of every round with their cumulative sums."""
        return self._table

    def segment_rates(self, last: int | None = None) -> Rates:
        """The rates of the segment round ``last`` belongs to, up to that round."""
        last = self._clamp(last)
        return self._measure(_begin(self._starts, last), last, _begin(self._tokens_starts, last))

    def segment_rates_fast(self, last: int | None = None) -> LiveRates:
        """``segment_rates`` without the medians: constant time in the number of rounds."""
        last = self._clamp(last)
        return self._measure_live(_begin(self._starts, last), last, _begin(self._tokens_starts, last))

    def since_k(self, last: int | None = None) -> Rates:
        """The rates of the rounds since any setting changed, up to round ``last``."""
        last = self._clamp(last)
        first = _begin(self._tokens_starts, last)
        return self._measure(first, last, first)

    def whole(self, last: int | None = None) -> Rates:
        """The rates of the whole run up to round ``last``: all segments pooled, and every K."""
        return self._measure(1, self._clamp(last), 1)

    def series(self, last: int | None = None) -> Series:
        return self._series.series(self._clamp(last))

    def settings(self, last: int | None = None) -> Settings | None:
        """The settings of round ``last``; None before the first."""
        last = self._clamp(last)
        return self._settings[last - 1] if last else None

    def verify_times(self, last: int | None = None) -> tuple[tuple[int, float], ...]:
        """(m, T_verify(m)) for every m that occurred, ascending."""
        return tuple(sorted(self._verify_medians.query(2, max(1, self._clamp(last))).items()))

    def draft_time(self, last: int | None = None) -> float | None:
        """The median of draft_ms / K_r, in milliseconds, over the drafting rounds of the segment; None without one."""
        last = self._clamp(last)
        return self._draft_medians.query(_begin(self._starts, last), last).get("step")

    def summary(self) -> dict[str, Any]:
        """The object of ``run --json``: plain JSON values, undefined numbers None, whole-run numbers pooled."""
        segments = [
            Segment(rates, self._settings[rates.first - 1], self._by_k(rates.first, rates.last))
            for rates in (self._measure(a, b, a) for a, b in _ranges(self._starts, 1, self.rounds))
        ]
        return summarise(self.whole(), segments, [self._tokens[i] for i in self._emitted], self.header, self.end)

    def _add_round(self, event: Round) -> None:
        counted = count_round(event)
        before = self._settings[-1] if self._settings else None
        changed = event.settings is not before and event.settings != before
        new_segment = before is None or (
            changed and replace(event.settings, k=before.k, k_auto=before.k_auto) != before
        )
        chosen = before is not None and event.settings.k_auto and before.k_auto
        new_tokens_segment = new_segment or (changed and not chosen)
        index = self.rounds
        self._table.add(counted)
        self._settings.append(event.settings if before is None or changed else before)
        self._emitted.extend(self._token_index(_token(e)) for e in event.emitted)
        if new_segment:
            self._starts.append(index + 1)
        if new_tokens_segment:
            self._tokens_starts.append(index + 1)
        self._series.add(counted, new_segment=new_segment, new_tokens_segment=new_tokens_segment)

    def _by_k(self, first: int, last: int) -> list[tuple[int, Rates]]:
        return [(self._settings[a - 1].k, self._measure(a, b, a)) for a, b in _ranges(self._tokens_starts, first, last)]

    def _measure(self, first: int, last: int, tokens_first: int) -> Rates:
        if first not in self._medians:
            self._medians[first] = IncrementalMedians(self._times)
        rates, medians = self._measure_live(first, last, tokens_first), self._medians[first].query(first, last)
        return with_times(rates, medians, self._measured_cost(rates, medians))

    def _measured_cost(self, rates: LiveRates, medians: Mapping[str, float]) -> MeasuredCost | None:
        """The speedups by the times since the calibration in force; those of few rounds come from the calibration."""
        settings, calibration = self.settings(rates.last), self._calibration_at(rates.last)
        alpha, interval = rates.alpha_tested, rates.alpha_tested_ci
        if settings is None or calibration is None or alpha is None or interval is None:
            return None
        target_ms, since = calibration.target_step_ms, max(2, calibration.from_round)
        verify_times = combined_verify_times(
            target_ms,
            calibration.verify_points,
            self._verify_medians.query(since, max(since - 1, rates.last), ENOUGH_ROUNDS),
        )
        drafting = self._draft_medians.query(max(rates.first, calibration.from_round), rates.last, ENOUGH_ROUNDS)
        draft_ms = drafting.get("step", rates.draft_step_ms)
        if not target_ms or draft_ms is None or not verify_times:
            return None
        costs = StepCosts(target_ms, draft_ms, verify_times, medians.get("decide_ms", 0.0))
        tests = [(at.accepted, at.tested) for at in rates.per_position]
        return measured_cost(costs, settings.k, alpha, interval, tests, rates.drafting_share)

    def _times(self, first: int, last: int) -> dict[str, Column]:
        rows = self._table.between(first, last).rows
        return {name: _known(rows[name]) for name in TIMES}

    def _verify_values(self, first: int, last: int) -> dict[int, Column]:
        rows = self._table.between(first, last).rows
        return {int(k) + 1: _known(rows["verify_ms"][rows["k"] == k]) for k in np.unique(rows["k"])}

    def _draft_values(self, first: int, last: int) -> dict[str, Column]:
        rows = self._table.between(first, last).rows
        rows = rows[rows["k"] > 0]
        return {"step": _known(rows["draft_ms"] / rows["k"])}

    def _measure_live(self, first: int, last: int, tokens_first: int) -> LiveRates:
        settings = self.settings(last)
        calibration = self._calibration_at(last)
        key = first, last, tokens_first, calibration
        if self._measured is None or self._measured[0] != key:
            part, tokens_range = self._table.between(first, last), self._table.between(tokens_first, last)
            alone_ms = self._target_alone_ms(tokens_first, last)
            self._measured = key, compute_rates(part, tokens_range, settings, calibration, alone_ms)
        return self._measured[1]

    def _target_alone_ms(self, first: int, last: int) -> float | None:
        """What the target alone would have taken for the tokens of the uncut rounds, by the calibrations in force."""
        if not self.calibrations:
            return None
        starts = [1, *(each.from_round for each in self.calibrations[1:]), last + 1]
        return sum(
            each.target_step_ms * self._table.between(max(first, begin), min(last, end - 1)).total("uncut_emitted")
            for each, begin, end in zip(self.calibrations, starts, starts[1:], strict=False)
            if max(first, begin) < min(last + 1, end)
        )

    def _token_index(self, token: Token | None) -> int:
        index = self._token_indices.setdefault(token, len(self._tokens))
        if index == len(self._tokens):
            self._tokens.append(token)
        return index

    def _calibration_at(self, last: int) -> Calibration | None:
        """The calibration in force in round ``last``, without the draft step if it was made with another drafter."""
        if not self.calibrations:
            return None
        calibration, *later = self.calibrations
        calibration = next((each for each in reversed(later) if each.from_round <= last), calibration)
        settings = self.settings(last)
        timed = calibration.drafter or (self.header.config.get("drafter") if self.header else None)
        if settings is None or timed in (None, settings.drafter):
            return calibration
        return replace(calibration, draft_step_ms=None)

    def _clamp(self, last: int | None) -> int:
        return self.rounds if last is None else max(0, min(last, self.rounds))


def _known(values: Column) -> Column:
    return values[~np.isnan(values)]


def _token(emitted: Emitted) -> Token | None:
    return None if emitted.id is None or emitted.bytes is None else Token(emitted.id, emitted.bytes)


def _begin(starts: list[int], last: int) -> int:
    """The start of the segment round ``last`` belongs to; 1 before the first round."""
    return starts[max(0, bisect_right(starts, last) - 1)] if starts else 1


def _ranges(starts: list[int], first: int, last: int) -> list[tuple[int, int]]:
    """The inclusive ranges that ``starts`` cuts the rounds from ``first`` to ``last`` into."""
    inner = [start for start in starts if first <= start <= last]
    return list(zip(inner, [start - 1 for start in inner[1:]] + [last], strict=True)) if inner else []
