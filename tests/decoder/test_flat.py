"""A round does the same outside forwards however much text is behind it: counted in calls, not in time."""

import sys
from types import FrameType

import pytest
import torch

from specviz.core.events import Round
from specviz.core.options import RunRequest
from tests.decoder.models import Shelf, text_of
from tests.decoder.run_helpers import opened, setting


class Calls:
    """Calls of Python and C functions outside the forwards of a module, while the block lasts."""

    def __init__(self, *modules: torch.nn.Module) -> None:
        self.seen = 0
        self._inside = 0
        for module in modules:
            module.register_forward_pre_hook(lambda *_: self._enter(1))
            module.register_forward_hook(lambda *_: self._enter(-1))

    def _enter(self, step: int) -> None:
        self._inside += step

    def _note(self, _frame: FrameType, event: str, _argument: object) -> None:
        self.seen += event in ("call", "c_call") and not self._inside

    def __enter__(self) -> "Calls":
        sys.setprofile(self._note)
        return self

    def __exit__(self, *_: object) -> None:
        sys.setprofile(None)


@pytest.mark.parametrize("inspect", [True, False])
def test_a_round_makes_as_many_calls_behind_much_text_as_behind_little(shelf: Shelf, inspect: bool) -> None:
    source = opened(shelf.random(1, context=256), max_new_tokens=120, inspect=inspect)
    settings, by_length = setting(3), {}
    with Calls(*(model.model for model in source.pair.models)) as calls:
        before = 0
        for event in source.source.run(RunRequest(text_of([1, 2]), 0, settings), lambda: settings, lambda: False):
            if isinstance(event, Round) and event.n_accepted == event.k == 3 and event.stop is None:
                by_length[event.start] = calls.seen - before
            before = calls.seen
    assert min(by_length) < 10 and max(by_length) > 100, "its own draft is always right"
    near, far = list(by_length.values())[2:12], list(by_length.values())[-10:]
    assert sorted(far)[5] - sorted(near)[5] < 10, "one call a token would be some ninety"
