"""How often a round waits for the device, and what it leaves out where nobody looks."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import fields, replace
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode

from specviz.core.drafters import DRAFTERS
from specviz.core.events import Drafted, Emitted, Round, Settings
from specviz.core.options import RunRequest
from specviz.core.rule import RULES
from specviz.decoder.tensors.accept import DECIDE
from specviz.decoder.tensors.device import to_host
from specviz.stats.run_stats import RunStats
from specviz.trace.codec import encode
from specviz.trace.jsonl import load_line
from tests.decoder.models import Shelf, everywhere, text_of
from tests.decoder.run_helpers import Opened, Played, opened, play, setting

WAITS = {
    Tensor.tolist,
    Tensor.item,
    Tensor.__bool__,
    Tensor.__int__,
    Tensor.__float__,
    Tensor.__index__,
    Tensor.__contains__,
    Tensor.cpu,
    Tensor.nonzero,
    Tensor.masked_select,
    Tensor.equal,
    torch.nonzero,
    torch.equal,
    torch.unique,
}
"""What makes a host wait for a GPU, of what anybody might write."""
PROMPT = text_of([3, 5, 8, 3, 5])


class Waits(TorchFunctionMode):
    """Counts, while it lasts, what would wait for a GPU, by name."""

    def __init__(self) -> None:
        self.seen: Counter[str] = Counter()

    def __torch_function__(
        self, func: Callable[..., Any], types: Sequence[Any], args: Any = (), kwargs: Any = None
    ) -> Any:
        by_mask = func is Tensor.__getitem__ and isinstance(args[1], Tensor) and args[1].dtype == torch.bool
        if func in WAITS or by_mask:
            self.seen[func.__name__] += 1
        return func(*args, **(kwargs or {}))


SETTINGS = {
    "temperature 1": setting(4),
    "greedy": setting(4, 0.0),
    "cuts": setting(4, 0.7, top_k=5),
    "equality": setting(4, rule="equality"),
    "no draft": setting(0),
}


@pytest.fixture(scope="module")
def sources(shelf: Shelf) -> dict[bool, Opened]:
    """One pair, inspected and not."""
    shape: dict[str, Any] = {"seed": 2, "family": "llama", "layers": 2, "vocab": 24}
    folders = shelf.random(**shape), shelf.noisy(noise=0.05, **shape)
    return {inspect: opened(*folders, max_new_tokens=32, inspect=inspect) for inspect in (True, False)}


@pytest.mark.parametrize("inspect", [True, False])
@pytest.mark.parametrize("settings", SETTINGS.values(), ids=SETTINGS.keys())
@pytest.mark.parametrize("drafter", DRAFTERS)
def test_a_round_waits_once(sources: dict[bool, Opened], drafter: str, settings: Settings, inspect: bool) -> None:
    waits = Waits()
    asked = 0

    def ask() -> Settings:
        nonlocal asked
        asked += 1
        waits.seen.clear() if asked == 1 else None
        return replace(settings, drafter=drafter)

    with waits:
        run = play(sources[inspect], PROMPT, ask, first=replace(settings, drafter=drafter))
    assert waits.seen == {"cpu": len(run.rounds)}
    assert asked == len(run.rounds) > 5


def test_the_counter_sees_what_waits() -> None:
    probs = torch.tensor([0.5, 0.5])
    with Waits() as waits:
        bool(probs[0] > 0), float(probs[1]), probs.tolist(), probs[probs > 0.1], probs.nonzero()
    assert waits.seen == {"__bool__": 1, "__float__": 1, "tolist": 1, "__getitem__": 1, "nonzero": 1}


def test_a_tie_at_the_tenth_place_costs_a_second_look_and_is_right(shelf: Shelf) -> None:
    flat = opened(shelf.scripted(everywhere([1 / 64] * 64, 32)), max_new_tokens=4)
    with Waits() as waits:
        run = play(flat, "w1", setting(2))
    assert waits.seen["nonzero"] > 0
    assert [c.id for c in run.rounds[0].drafted[0].p_top] == [*range(10)]


def test_numbers_come_as_they_were() -> None:
    parts = {
        "ids": torch.tensor([[1, 2], [3, 2**40]]),
        "flags": torch.tensor([True, False]),
        "small": torch.tensor([0.1]),
        "large": torch.tensor(0.1, dtype=torch.float64),
        "none": torch.empty(0, dtype=torch.long),
    }
    assert to_host(parts) == {
        "ids": [[1, 2], [3, 2**40]],
        "flags": [True, False],
        "small": [float(torch.tensor(0.1))],
        "large": 0.1,
        "none": [],
    }


LEFT_OUT = {"rank_p", "rank_q", "entropy_p", "entropy_q", "p_top", "q_top", "residual_top", "raw", "detail"}


def kept(round_: Round) -> list[Any]:
    """What of a round is the same without inspection."""
    tokens: list[Drafted | Emitted] = [*round_.drafted, *round_.emitted]
    of_tokens = [[getattr(t, f.name) for f in fields(t) if f.name not in LEFT_OUT] for t in tokens]
    others = [f.name for f in fields(round_) if f.name not in ("drafted", "emitted", "timing")]
    return [of_tokens, [getattr(round_, name) for name in others]]


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("cuts", [{}, {"top_p": 0.8}], ids=str)
def test_without_inspection_everything_else_is_the_same(shelf: Shelf, rule: str, cuts: dict[str, Any]) -> None:
    shape: dict[str, Any] = {"seed": 2, "vocab": 24}
    folders = shelf.random(**shape), shelf.noisy(noise=0.3, **shape)
    settings = setting(3, 0.8, rule=rule, **cuts)
    runs: list[Played] = []
    for inspect in (True, False):
        source = opened(*folders, max_new_tokens=40, inspect=inspect)
        runs.append(play(source, PROMPT, settings, seed=5))
        assert runs[-1].header.config["inspect"] is inspect
    looked, blind = runs
    assert [kept(r) for r in blind.rounds] == [kept(r) for r in looked.rounds]
    tokens: list[Drafted | Emitted] = [t for r in blind.rounds for t in r.drafted]
    tokens += [t for r in blind.rounds for t in r.emitted]
    for token in tokens:
        assert (token.rank_p, token.entropy_p, token.p_top, token.raw) == (None, None, (), None)
    for event in blind.rounds:
        line = encode(event)
        assert line is not None and load_line(line.encode()) == event
    assert rates(blind.stats) == rates(looked.stats)


def rates(stats: RunStats) -> dict[str, Any]:
    """The summary, times aside."""
    return {key: value for key, value in stats.summary().items() if key in ("ids", "alpha", "per_position", "formula")}


def test_a_residual_that_is_p_is_told_of_the_rejected_token(shelf: Shelf, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = shelf.scripted(everywhere([0.25] * 4, 32))
    source = opened(folder, max_new_tokens=12, inspect=False)
    real = DECIDE["exact"]

    def reject_second(p: Tensor, q: Tensor | None, drafted: Tensor, uniforms: Tensor) -> Any:
        us = uniforms.clone()
        us[4:5] = 1.0  # below no chance
        return real(p, q, drafted, us)

    monkeypatch.setitem(DECIDE, "exact", reject_second)
    first = list(source.source.run(RunRequest("w1", 0, setting(3)), lambda: setting(3), lambda: False))
    round_ = next(event for event in first if isinstance(event, Round))
    assert [d.detail for d in round_.drafted] == [{}, {"residual_is_p": True}, {}]
    assert (round_.n_accepted, round_.emitted[-1].residual) == (1, 0.25)
