"""Warm-up and calibration: the work before and between rounds that keeps their times honest."""

import time
from collections.abc import Callable, Iterator, Sequence

from specviz.core.events import Calibration, Event, Round
from specviz.decoder.drafters.model import step_ms
from specviz.decoder.drafters.protocol import Drafter
from specviz.decoder.models.causal_model import CausalModel
from specviz.decoder.rounds.speculative import SpeculativeDecoder

IDLE_S = 0.02
"""Seconds without a forward after which the next ones are slower."""
REWARM_S = 0.05
"""Seconds of forwards after which they are not."""
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


def insert_after_first(rounds: Iterator[Round], more: Callable[[], Iterator[Event]]) -> Iterator[Event]:
    """The rounds, with ``more`` after the first."""
    for n, round_ in enumerate(rounds):
        yield round_
        if n == 0:
            yield from more()


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
    target: CausalModel, drafter: Drafter, ids: list[int], repeats: int, stopped: Callable[[], bool]
) -> Calibration | None:
    """T_p and T_q: medians of one-token steps on the last of ``ids``, rolled back. None once stopped."""
    draft_ms = drafter.step_ms(ids[-1], repeats, stopped) if drafter.room(len(ids)) else None
    target_ms = step_ms(target, ids[-1], repeats, stopped)
    return None if target_ms is None else Calibration(target_ms, draft_ms, len(ids))
