"""Where a text parts from the target's own greedy text, and whether a tie of rounded logits explains it."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import floor, log2
from typing import Any

import torch

TIE_STEPS = 4
"""The bound: logits at most this many steps of the dtype apart are a tie. A forward of K + 1 ids and one of a single
id add the same products in another order, which moves a score by a step or two."""


@dataclass(frozen=True)
class Parting:
    """``place``: the first differing one, from 0 behind the prompt. ``gap``: the target's own score of its token less
    that of ours; ``step``: the distance of neighbouring numbers of the dtype at the larger of both."""

    place: int
    ours: int
    own: int
    gap: float
    step: float

    @property
    def is_tie(self) -> bool:
        return 0 <= self.gap <= TIE_STEPS * self.step

    def __str__(self) -> str:
        verdict = "a tie" if self.is_tie else "no tie"
        return (
            f"place {self.place}: id {self.ours} instead of {self.own}, score gap {self.gap:.2g}, "
            f"{verdict} (bound {TIE_STEPS * self.step:.4g})"
        )


@torch.inference_mode()
def parting(model: Any, prompt: Sequence[int], ours: Sequence[int], dtype: torch.dtype) -> Parting | None:
    """The first place where ``ours`` is not what ``model`` says by itself, None if there is none; logits of ``model``
    from one forward of the whole text without a cache, steps of ``dtype``."""
    logits = model(input_ids=torch.tensor([[*prompt, *ours[:-1]]]), use_cache=False).logits
    behind = logits[0, len(prompt) - 1 :].double()
    for place, (a, b) in enumerate(zip(ours, behind.argmax(-1).tolist(), strict=True)):
        if a != b:
            logits = behind[place]
            best = max(abs(float(logits[a])), abs(float(logits[b])))
            step = torch.finfo(dtype).eps * 2.0 ** floor(log2(best))
            return Parting(place, a, b, float(logits[b] - logits[a]), step)
    return None
