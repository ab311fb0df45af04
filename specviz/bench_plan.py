"""What a benchmark runs: which configurations, on which prompts, in which order."""

import random
from dataclasses import dataclass
from typing import Literal, TypeVar

Item = TypeVar("Item")
Kind = Literal["calibration", "target", "draft", "speculative"]
"""Timed one-token steps of both models; the target alone; the draft alone; speculation."""


@dataclass(frozen=True, slots=True)
class Configuration:
    """``k``: tokens drafted in a round, 0 where nothing drafts."""

    kind: Kind
    k: int = 0


@dataclass(frozen=True, slots=True)
class Task:
    """One run. ``repeat`` and ``prompt`` count from 0; a repeat has a seed of its own."""

    repeat: int
    prompt: int
    configuration: Configuration


CALIBRATION, TARGET, DRAFT = (Configuration(kind) for kind in ("calibration", "target", "draft"))


@dataclass(frozen=True, slots=True)
class Plan:
    """``prompts`` and ``repeats`` are counts, ``ks`` ascending. ``calibrated``: one-token steps are timed.

    The first half of the prompts predicts, the rest is measured; a single prompt does both.
    """

    prompts: int
    ks: tuple[int, ...]
    repeats: int
    calibrated: bool = True

    @property
    def predicting(self) -> range:
        return range(max(1, self.prompts // 2))

    @property
    def measuring(self) -> range:
        return range(self.prompts // 2, self.prompts)

    @property
    def same_prompt(self) -> bool:
        return self.prompts == 1

    @property
    def speculative(self) -> tuple[Configuration, ...]:
        return tuple(Configuration("speculative", k) for k in self.ks)

    def configurations(self, prompt: int) -> list[Configuration]:
        """What is run on a prompt: calibration where it predicts, plain decoding where it is measured, every K."""
        calibration = [CALIBRATION] if self.calibrated and prompt in self.predicting else []
        plain = [TARGET, DRAFT] if prompt in self.measuring else []
        return [*calibration, *plain, *self.speculative]

    def tasks(self, seed: int) -> list[Task]:
        """Every run, repeat by repeat and prompt by prompt, both the prompts and what is run on each in an order that
        is shuffled anew, so that no configuration always follows the same one or always comes late."""
        order = random.Random(seed)
        tasks = []
        for repeat in range(self.repeats):
            for prompt in _shuffled(order, list(range(self.prompts))):
                for configuration in _shuffled(order, self.configurations(prompt)):
                    tasks.append(Task(repeat, prompt, configuration))
        return tasks


def _shuffled(order: random.Random, items: list[Item]) -> list[Item]:
    return order.sample(items, len(items))
