"""Warm-up and calibration: the work before and between rounds that keeps their times honest."""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from specviz.core.events import Calibration, Event, Notice, Progress, Round, VerifyTime
from specviz.decoder.drafters.model import step_ms
from specviz.decoder.drafters.protocol import Drafter
from specviz.decoder.models.causal_model import CausalModel
from specviz.decoder.rounds.drift import Drift
from specviz.decoder.rounds.speculative import SpeculativeDecoder

IDLE_S = 0.02
"""Seconds without a forward after which the next ones are slower."""
REWARM_S = 0.05
"""Seconds of forwards after which they are not."""
VERIFY_IDS = (2, 4, 8, 16)
"""Block sizes of which calibration times a forward of the target, so that every K has a cost."""
VERIFY_REPEATS = 3
"""How often it times each."""
SLOW_STEP_MS = 100.0
"""With a slower step of the target, once."""
STARTUP_S = 0.1
"""Seconds for which other threads may be busy with the start of a run."""


def warm_up(target: CausalModel, drafter: Drafter, ids: list[int], k: int) -> None:
    """Run the shapes of a round once, a draft step and a verification, and roll them back."""
    if drafter.room(len(ids)):
        drafter.warm_up(ids[-1])
    length = target.length
    if length + k + 1 <= target.context:
        target.feed([ids[-1]] * (k + 1), keep=k + 1)
        target.roll_back_to(length)
    target.raise_if_non_finite(float(target.non_finite))


def steps_are_slow(models: Sequence[CausalModel], slow_step_bytes: int) -> bool:
    """Whether calibration takes seconds, so that round 1 should not wait for it. The first forward of such a model on a
    CPU takes no longer than later ones, so it needs no warm-up either."""
    weights = [weight for model in models for weight in model.model.parameters()]
    return all(weight.device.type == "cpu" for weight in weights) and sum(w.nbytes for w in weights) > slow_step_bytes


def keep_warm(run: SpeculativeDecoder, models: Sequence[CausalModel], rounds: Iterator[Round]) -> Iterator[Round]:
    """The ``rounds`` of ``run``, each timed as if it followed the previous one immediately. An idle processor lowers
    its clock and loses its caches: after 0.2 s, rounds of 14 ms took a third longer. So after a pause, short rounds are
    preceded by untimed dry runs, and the caches of ``models`` restored."""
    for round_ in rounds:
        left_s = time.perf_counter()
        yield round_
        was_idle = time.perf_counter() - left_s > IDLE_S
        if was_idle and round_.stop is None and (round_.timing.total_ms or 0.0) < REWARM_S * 1e3:
            until_s = time.perf_counter() + REWARM_S
            while time.perf_counter() < until_s:
                lengths = [(model, model.length) for model in models]
                run.dry_run(round_.settings)
                for model, length in lengths:
                    model.roll_back_to(length)


def absorb_startup(target: CausalModel, last_id: int) -> None:
    """Run steps for STARTUP_S, at least one, and roll them back: the screen draws its first frames meanwhile, which
    would slow down a few short steps of the calibration."""
    until_s = time.perf_counter() + STARTUP_S
    length = target.length
    while True:
        target.feed([last_id], keep=1)
        target.roll_back_to(length)
        if time.perf_counter() >= until_s:
            return


def calibrate(
    target: CausalModel,
    drafter: Drafter,
    ids: list[int],
    repeats: int,
    stopped: Callable[[], bool],
    *,
    verify_ids: Sequence[int] = VERIFY_IDS,
) -> Calibration | None:
    """T_p, T_q and T_verify of ``verify_ids``: medians of forwards on the last of ``ids``, rolled back. None once
    stopped."""
    draft_ms = drafter.step_ms(ids[-1], repeats, stopped) if drafter.room(len(ids)) else None
    target_ms = step_ms(target, ids[-1], repeats, stopped)
    if target_ms is None:
        return None
    several = 1 if target_ms > SLOW_STEP_MS else min(repeats, VERIFY_REPEATS)
    verify_times = []
    for m in verify_ids:
        if target.length + m > target.context:
            break
        ms = step_ms(target, ids[-1], several, stopped, ids=m)
        if ms is None:
            return None
        verify_times.append(VerifyTime(m, ms))
    return Calibration(target_ms, draft_ms, len(ids), tuple(verify_times))


class StepTimes:
    """The calibrations of a run: before its rounds, after the first one, or when they no longer hold."""

    def __init__(self, run: SpeculativeDecoder, repeats: int, drift_rounds: int, stopped: Callable[[], bool]) -> None:
        """``repeats``: timed steps of each model, 0 to time none. ``drift_rounds``: see ``RunOptions``."""
        self._run, self._repeats, self._stopped = run, repeats, stopped
        self._drift = Drift(drift_rounds)
        self._timed_drafter: str | None = None

    def calibration(self, drafter: str, from_round: int = 1) -> Iterator[Event]:
        """The calibration at the present length with the active ``drafter``, if requested and there is room for it."""
        run = self._run
        self._timed_drafter = drafter
        if self._repeats and run.target.length < run.target.context:
            yield Progress("calibrating")
            absorb_startup(run.target, run.ids[-1])
            timed = calibrate(run.target, run.drafter, run.ids, self._repeats, self._stopped)
            if timed is not None:
                timed = replace(timed, from_round=from_round, drafter=drafter)
                self._drift.add_calibration(timed)
                yield timed

    def with_calibrations(self, rounds: Iterator[Round]) -> Iterator[Event]:
        """The rounds, and a calibration after the first one that lacks it, of a new drafter, and after drift."""
        for round_ in rounds:
            yield round_
            self._drift.add_round(round_)
            drafter, drift = round_.settings.drafter, self._drift.found()
            if self._timed_drafter is None:
                yield from self.calibration(drafter)
            elif round_.stop is not None:
                return
            elif drafter != self._timed_drafter:
                yield from self.calibration(drafter, round_.index)
            elif drift is not None:
                since, words = drift
                yield Notice(words)
                yield from self.calibration(drafter, since)
