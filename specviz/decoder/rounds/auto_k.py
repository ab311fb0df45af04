"""--k auto: K of the next round, from what the rounds so far accepted and took."""

from collections import deque
from dataclasses import replace
from statistics import median

from specviz.core.events import Calibration, Event, Round, Settings
from specviz.core.options import MAX_K
from specviz.maths.step_costs import StepCosts, best_k, combined_verify_times, speedups

MEMORY = 0.95
"""What a test counts for one round later: the last twenty rounds or so decide, since passages differ."""
PRIOR_ALPHA, PRIOR_TESTS = 0.7, 3.0
"""The acceptance assumed before the first test, and for how many tests it counts."""
RECENT = 15
"""Rounds whose times count."""
FIRST_ROUNDS = 3
"""Rounds that draft as many tokens as without --k auto, so that their own times are known."""
ENOUGH_PLAIN = 5
"""Rounds without a draft whose verification, of one id, is a better target step than the calibrated one."""
PROBE_EVERY = 16
"""After so many rounds without a draft, one token is drafted to see whether acceptance has risen."""


class AutoK:
    """Add the events of a run as they happen; ``next_k`` maximises tokens per time by measured cost.

    It reads past rounds only. So the distribution of the text stays the target's: a round is exact for any K that does
    not depend on its own random numbers. It follows the clock, so a seed alone does not repeat a run.
    """

    def __init__(self, k: int) -> None:
        """``k``: until step times are known."""
        self._first_k = k
        self._accepted, self._tested = PRIOR_ALPHA * PRIOR_TESTS, PRIOR_TESTS
        self._calibration: Calibration | None = None
        self._draft_ms: deque[float] = deque(maxlen=RECENT)
        self._decide_ms: deque[float] = deque(maxlen=RECENT)
        self._verify_ms: dict[int, deque[float]] = {}
        self._plain = self._drafting = 0

    def add(self, event: Event) -> None:
        if isinstance(event, Calibration):
            self._calibration = event
            self._verify_ms.clear()
            self._draft_ms.clear()
        elif isinstance(event, Round):
            self._add_round(event)

    def settings(self, settings: Settings) -> Settings:
        """``settings`` with the K of the next round, if K is to be chosen."""
        return replace(settings, k=self.next_k()) if settings.k_auto else settings

    def next_k(self) -> int:
        """The K with the most tokens per time."""
        costs = self._costs()
        if costs is None or self._drafting < FIRST_ROUNDS:
            return self._first_k
        alpha = self._accepted / self._tested
        chosen = best_k(speedups([alpha**i for i in range(1, MAX_K + 1)], costs))
        return 1 if chosen == 0 and self._plain >= PROBE_EVERY else chosen

    def _add_round(self, event: Round) -> None:
        timing = event.timing
        self._plain = 0 if event.k else self._plain + 1
        self._drafting += event.k > 0
        self._accepted = MEMORY * self._accepted + event.n_accepted
        self._tested = MEMORY * self._tested + event.tested
        if timing.verify_ms is not None:
            self._verify_ms.setdefault(event.k + 1, deque(maxlen=RECENT)).append(timing.verify_ms)
        if event.k and timing.draft_ms is not None:
            self._draft_ms.append(timing.draft_ms / event.k)
        if event.k and timing.decide_ms is not None:
            self._decide_ms.append(timing.decide_ms)

    def _costs(self) -> StepCosts | None:
        if self._calibration is None:
            return None
        target_ms = self._calibration.target_step_ms
        if len(plain := self._verify_ms.get(1, ())) >= ENOUGH_PLAIN:
            target_ms = median(plain)
        draft_ms = median(self._draft_ms) if self._draft_ms else self._calibration.draft_step_ms
        measured = {m: median(times) for m, times in self._verify_ms.items()}
        verify = combined_verify_times(target_ms, self._calibration.verify_points, measured)
        if draft_ms is None or not verify:
            return None
        return StepCosts(target_ms, draft_ms, verify, median(self._decide_ms) if self._decide_ms else 0.0)
