"""Getting models ready for what is timed, and keeping them so: warm-up, calibration, rehearsals."""

import time
from collections.abc import Callable, Iterator, Sequence

from specviz.core.events import Calibration, Event, Round, Settings
from specviz.decoder.drafters.model import step_ms
from specviz.decoder.drafters.protocol import Drafter
from specviz.decoder.models.causal_model import CausalModel

RESTED = 0.02
"""Seconds without a model call behind which the next ones are slower for it."""
WAKING = 0.05
"""Seconds of work behind which they are not."""
SETTLING = 0.1
"""Seconds for which others may be busy with the beginning of a run."""
LONG_STEPS = 2**30
"""Bytes of weights that a processor takes a tenth of a second or more to go through."""


def warm_up(target: CausalModel, drafter: Drafter, ids: list[int], k: int) -> None:
    """Run the shapes of a round once, draft step and verification, and roll them back."""
    if drafter.room(len(ids)):
        drafter.warm_up(ids[-1])
    length = target.length
    if length + k + 1 <= target.context:
        target.feed([ids[-1]] * (k + 1), keep=k + 1)
        target.roll_back_to(length)
    target.raise_if_non_finite(float(target.non_finite))


def have_long_steps(models: Sequence[CausalModel]) -> bool:
    """Whether calibration takes seconds, for which nobody should wait to see round 1. First forwards of such models on
    a processor take no longer than later ones, so there is nothing to warm up either."""
    weights = [weight for model in models for weight in model.model.parameters()]
    return all(weight.device.type == "cpu" for weight in weights) and sum(w.nbytes for w in weights) > LONG_STEPS


def behind_first(rounds: Iterator[Round], more: Callable[[], Iterator[Event]]) -> Iterator[Event]:
    """The rounds, and ``more`` between the first and the second, or at the end if there is no second."""
    for n, round_ in enumerate(rounds):
        yield round_
        if n == 0:
            yield from more()


def kept_warm(rounds: Iterator[Round], rehearse: Callable[[Settings], None]) -> Iterator[Round]:
    """The same rounds, each timed as if it came at once behind the one before.

    A processor that has rested comes back with a low clock and other things in its caches: with 0.2 s between them,
    rounds of 14 ms took a third longer. So behind a rest short rounds are rehearsed until that is over, outside every
    timing.
    """
    for round_ in rounds:
        left = time.perf_counter()
        yield round_
        rested = time.perf_counter() - left > RESTED
        if rested and round_.stop is None and (round_.timing.total_ms or 0.0) < WAKING * 1e3:
            awake = time.perf_counter() + WAKING
            while time.perf_counter() < awake:
                rehearse(round_.settings)


def settle(target: CausalModel, last_id: int) -> None:
    """Work for SETTLING seconds, at least a step, and take it back: whoever draws what has just begun does it now, and
    a few short steps would all fall into that."""
    until = time.perf_counter() + SETTLING
    length = target.length
    while True:
        target.feed([last_id], keep=1)
        target.roll_back_to(length)
        if time.perf_counter() >= until:
            return


def calibrate(
    target: CausalModel, drafter: Drafter, ids: list[int], repeats: int, stopped: Callable[[], bool]
) -> Calibration | None:
    """T_p and T_q: one-token steps on the last token of ``ids``, rolled back; no uniform is used. None once stopped."""
    draft_ms = drafter.step_ms(ids[-1], repeats, stopped) if drafter.room(len(ids)) else None
    target_ms = step_ms(target, ids[-1], repeats, stopped)
    return None if target_ms is None else Calibration(target_ms, draft_ms, len(ids))
