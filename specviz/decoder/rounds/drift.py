"""Whether the times of recent rounds still agree with the calibration."""

from collections import deque
from statistics import median
from typing import Literal

from specviz.core.events import Calibration, Round
from specviz.maths.step_costs import StepCosts

LARGEST_RATIO = 4 / 3
"""A step that takes a third more or a quarter less than calibrated has drifted."""
SMALLEST_MS = 0.3
"""A smaller difference is noise."""

Step = Literal["draft", "verify"]
Steps = dict[Step, tuple[float, float]]
"""(milliseconds in the round, milliseconds alone) of each step."""


class Drift:
    """Add calibrations and rounds as they happen; ``found`` says when steps should be timed again.

    After each calibration twice as many rounds pass before the next, so that a machine whose speed varies is not timed
    all the time. A step may always take longer in a round than alone: what remains after steps were timed again is
    expected from then on, and only a further change is drift.
    """

    def __init__(self, rounds: int) -> None:
        """``rounds``: how many of them are compared; 0 for none."""
        self._rounds = rounds
        self._patience, self._seen = rounds, 0
        self._calibration: Calibration | None = None
        self._expected: dict[Step, float] = {"draft": 1.0, "verify": 1.0}
        self._learns = False
        self._recent: deque[tuple[int, Steps]] = deque(maxlen=rounds)

    def add_calibration(self, calibration: Calibration) -> None:
        if self._calibration is not None:
            self._learns = True
            self._patience *= 2
        self._seen = 0
        self._calibration = calibration
        self._recent.clear()

    def add_round(self, event: Round) -> None:
        """Compare the round's steps with the calibrated ones; a round without a draft or without times says nothing."""
        timing, calibration = event.timing, self._calibration
        if calibration is None or not event.k or not timing.verify_ms or not timing.draft_ms:
            return
        steps: Steps = {}
        if calibration.verify_times:
            costs = StepCosts(calibration.target_step_ms, 0.0, calibration.verify_points)
            steps["verify"] = timing.verify_ms, costs.verify(event.k + 1)
        if calibration.draft_step_ms:
            steps["draft"] = timing.draft_ms / event.k, calibration.draft_step_ms
        self._recent.append((event.index, {step: times for step, times in steps.items() if times[1]}))
        self._seen += 1
        if self._learns and len(self._recent) == self._rounds:
            self._expected |= {step: max(1.0, ratio) for step, (ratio, _) in self._medians().items()}
            self._learns = False

    def found(self) -> tuple[int, str] | None:
        """The first of the recent rounds that differ, and a sentence; None while they agree with the calibration."""
        if self._learns or not 0 < self._rounds == len(self._recent) or self._seen < self._patience:
            return None
        changes: dict[Step, float] = {}
        for step, (ratio, alone_ms) in self._medians().items():
            expected = self._expected[step]
            change = ratio / expected
            if max(change, 1 / change) > LARGEST_RATIO and abs(ratio - expected) * alone_ms > SMALLEST_MS:
                changes[step] = change
        if not changes:
            return None
        step = max(changes, key=lambda step: max(changes[step], 1 / changes[step]))
        doing = "Verifying" if step == "verify" else "Drafting"
        words = f"{doing} now takes {changes[step]:.2g} times as long as when steps were timed: they are timed again."
        return self._recent[0][0], words

    def _medians(self) -> dict[Step, tuple[float, float]]:
        """Of each step: (how many times as long it takes in the recent rounds as alone, milliseconds alone)."""
        medians: dict[Step, tuple[float, float]] = {}
        for step in self._expected:
            times = [steps[step] for _, steps in self._recent if step in steps]
            if times:
                medians[step] = median(ms / alone for ms, alone in times), median(alone for _, alone in times)
        return medians
