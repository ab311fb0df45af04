"""What a benchmark runs: which configurations, on which prompts, in which order."""

import random
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Literal, TypeVar

from specviz.core.drafters import DEFAULT_DRAFTER

Item = TypeVar("Item")
Kind = Literal["calibration", "target", "draft", "speculative"]
"""Timed one-token steps of both models; the target alone; the draft alone; speculation."""


@dataclass(frozen=True, slots=True)
class Contender:
    """A drafter by name. ``variant``: the value of the option ``DrafterSpec.variant``, None: as configured."""

    drafter: str = DEFAULT_DRAFTER
    variant: int | None = None

    def __str__(self) -> str:
        return self.drafter if self.variant is None else f"{self.drafter}:{self.variant}"


MODEL = Contender()


@dataclass(frozen=True, slots=True)
class Configuration:
    """``k``: tokens drafted in a round, 0 where nothing drafts. ``contender`` drafts, or is what is calibrated."""

    kind: Kind
    k: int = 0
    contender: Contender = MODEL


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
    ``contenders``: what drafts, each at every K.

    The first half of the prompts predicts, the rest is measured; a single prompt does both.
    """

    prompts: int
    ks: tuple[int, ...]
    repeats: int
    calibrated: bool = True
    contenders: tuple[Contender, ...] = (MODEL,)

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
        return tuple(Configuration("speculative", k, each) for each in self.contenders for k in self.ks)

    @property
    def calibrations(self) -> tuple[Configuration, ...]:
        return tuple(replace(CALIBRATION, contender=each) for each in self.contenders)

    def configurations(self, prompt: int) -> list[Configuration]:
        """What is run on a prompt: calibrations where it predicts, plain decoding where it is measured, every contender
        at every K. The draft alone is measured where it is a contender."""
        calibrations = self.calibrations if self.calibrated and prompt in self.predicting else ()
        alone = [TARGET, DRAFT] if MODEL in self.contenders else [TARGET]
        return [*calibrations, *(alone if prompt in self.measuring else []), *self.speculative]

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

    def laid_bare(self, tasks: Iterable[Task]) -> frozenset[Task]:
        """Of ``tasks`` those whose forwards are to be timed once more: of the target alone and of the draft model at
        each K on one of the measured prompts, another one each repeat, which is a few runs in a hundred."""
        asked = {(TARGET.kind, MODEL), ("speculative", MODEL)}
        return frozenset(
            task
            for task in tasks
            if (task.configuration.kind, task.configuration.contender) in asked
            and task.prompt == self.measuring[task.repeat % len(self.measuring)]
        )


def _shuffled(order: random.Random, items: list[Item]) -> list[Item]:
    return order.sample(items, len(items))
