"""z on the bundled pair: accepted against the exact chance of acceptance, over thousands of tested positions.

A martingale under any dependence: standard normal if, and only if, the decoder accepts with the chances it shows.
"""

import math
from collections.abc import Iterator
from functools import cache
from itertools import product

import pytest

from specviz.core.events import Round, Settings
from specviz.core.options import PREPARED_PROMPTS, PairOptions, RunOptions, RunRequest
from specviz.decoder.source import LiveSource
from tests.builders import known

OPENINGS = ("", "It was late. ", "Then he said: ", "One day ", "In the end ")
"""Before a prepared prompt: many short texts are quicker than few long ones."""
SETTINGS = Settings()
TESTED = 2_000
Test = tuple[int, bool, float]
"""(position from 1, accepted, the exact chance of acceptance)."""


@cache
def bundled_pair() -> LiveSource:
    source = LiveSource(RunOptions(PairOptions(), SETTINGS, max_new_tokens=220, calibrate=0, inspect=False))
    source.open(lambda _event: None)
    return source


def gathered(seed: int) -> list[Test]:
    """At least ``TESTED`` tests of runs under one seed."""
    tests: list[Test] = []
    for opening, (_, prompt) in product(OPENINGS, PREPARED_PROMPTS):
        request = RunRequest(opening + prompt, seed, SETTINGS)
        for event in bundled_pair().run(request, lambda: SETTINGS, lambda: False):
            if isinstance(event, Round):
                tests += _tests(event)
            if len(tests) >= TESTED:
                return tests
    return tests


def _tests(round_: Round) -> Iterator[Test]:
    for position, drafted in enumerate(round_.drafted, 1):
        if drafted.verdict in ("accepted", "rejected"):
            yield position, drafted.verdict == "accepted", known(drafted.overlap)


def z(tests: list[Test]) -> float:
    surplus = sum(accepted - chance for _, accepted, chance in tests)
    return surplus / math.sqrt(sum(chance * (1 - chance) for _, _, chance in tests))


@pytest.mark.parametrize("seed", range(2))
def test_the_bundled_pair_agrees_with_its_own_chances(seed: int) -> None:
    tests = gathered(seed)
    assert len(tests) >= TESTED
    by_position = {i: z([test for test in tests if test[0] == i]) for i in range(1, 5)}
    assert abs(z(tests)) < 3.3, z(tests)
    assert all(abs(value) < 3.5 for value in by_position.values()), by_position
