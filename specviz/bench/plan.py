"""What a benchmark runs: which configurations, on which prompts, in which order."""

import random
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Literal

from specviz.core.drafters import DEFAULT_DRAFTER

Kind = Literal["calibration", "target", "draft", "speculative"]
"""Timed one-token steps of both models; the target alone; the draft alone; speculation."""


@dataclass(frozen=True, slots=True)
class DrafterVariant:
    """A drafter by name; ``variant``: the value of its option ``DrafterSpec.variant``, None: as configured."""

    name: str = DEFAULT_DRAFTER
    variant: int | None = None

    def __str__(self) -> str:
        return self.name if self.variant is None else f"{self.name}:{self.variant}"


MODEL = DrafterVariant()


@dataclass(frozen=True, slots=True)
class Configuration:
    """``k``: tokens drafted per round, 0 without a drafter. ``drafter``: what drafts or is calibrated."""

    kind: Kind
    k: int = 0
    drafter: DrafterVariant = MODEL


@dataclass(frozen=True, slots=True)
class Task:
    """One run. ``repeat`` and ``prompt`` count from 0; each repeat has its own seed."""

    repeat: int
    prompt: int
    configuration: Configuration


CALIBRATION, TARGET, DRAFT = (Configuration(kind) for kind in ("calibration", "target", "draft"))


@dataclass(frozen=True, slots=True)
class Plan:
    """``prompts`` and ``repeats`` are counts, ``ks`` ascending. ``calibrated``: one-token steps are timed.
    ``drafters``: each runs at every K. The first half of the prompts serves to predict, the second to measure; a single
    prompt serves for both."""

    prompts: int
    ks: tuple[int, ...]
    repeats: int
    calibrated: bool = True
    drafters: tuple[DrafterVariant, ...] = (MODEL,)

    @property
    def calibration_prompts(self) -> range:
        return range(max(1, self.prompts // 2))

    @property
    def test_prompts(self) -> range:
        return range(self.prompts // 2, self.prompts)

    @property
    def speculative(self) -> tuple[Configuration, ...]:
        return tuple(Configuration("speculative", k, each) for each in self.drafters for k in self.ks)

    @property
    def calibrations(self) -> tuple[Configuration, ...]:
        return tuple(replace(CALIBRATION, drafter=each) for each in self.drafters)

    def configurations(self, prompt: int) -> list[Configuration]:
        """What runs on a prompt: calibrations on a calibration prompt, each model alone on a test prompt, and every
        drafter at every K. The draft model runs alone only if it is one of the drafters."""
        calibrations = self.calibrations if self.calibrated and prompt in self.calibration_prompts else ()
        alone = [TARGET, DRAFT] if MODEL in self.drafters else [TARGET]
        return [*calibrations, *(alone if prompt in self.test_prompts else []), *self.speculative]

    def tasks(self, seed: int) -> list[Task]:
        """Every run, by repeat and prompt. Prompts and the configurations of each are shuffled again every time, so
        that no configuration always follows the same one or always runs late."""
        order = random.Random(seed)
        tasks = []
        for repeat in range(self.repeats):
            for prompt in order.sample(range(self.prompts), self.prompts):
                configurations = self.configurations(prompt)
                order.shuffle(configurations)
                tasks += [Task(repeat, prompt, configuration) for configuration in configurations]
        return tasks

    def forward_only_tasks(self, tasks: Iterable[Task]) -> frozenset[Task]:
        """The ``tasks`` whose forwards are timed again on their own, a few percent of all: the target alone and the
        draft model at each K, on one test prompt per repeat."""
        selected = {(TARGET.kind, MODEL), ("speculative", MODEL)}
        return frozenset(
            task
            for task in tasks
            if (task.configuration.kind, task.configuration.drafter) in selected
            and task.prompt == self.test_prompts[task.repeat % len(self.test_prompts)]
        )
