"""What comes out is distributed as the target alone would have it, and the tests that say so can fail."""

from typing import Any

import pytest
import torch

from specviz.core.events import Settings
from specviz.decoder.tensors import accept
from tests.decoder.models import Shelf
from tests.decoder.one_round_sampler import Behind, agreement_z, first_p_value, p_values, repeated
from tests.decoder.run_helpers import opened, setting

N = 20_000
K = 2
SETTINGS = {
    "temperature 1": setting(K),
    "temperature 0.7, top-k": setting(K, 0.7, top_k=6),
    "top-p": setting(K, 1.0, top_p=0.9),
}
PROMPT = "here?\n\n"


def tiny(shelf: Shelf, settings: Settings) -> Behind:
    shape: dict[str, Any] = {"seed": 32, "spread": 0.3, "vocab": 16}
    pair = opened(shelf.random(**shape), shelf.noisy(noise=0.3, **shape)).pair
    return Behind(pair.target, pair.draft, [3, 5, 8], settings)


def bundled(settings: Settings) -> Behind:
    pair = opened("bundled:target", "bundled:draft").pair
    ids = pair.facts.target.tokenizer(PROMPT)["input_ids"]
    return Behind(pair.target, pair.draft, ids, settings)


@pytest.mark.parametrize("settings", SETTINGS.values(), ids=SETTINGS.keys())
@pytest.mark.parametrize("name", ["tiny", "bundled"])
def test_the_text_is_the_targets_own(shelf: Shelf, name: str, settings: Settings) -> None:
    place = tiny(shelf, settings) if name == "tiny" else bundled(settings)
    outcomes = repeated(place, K, range(N))
    values = p_values(place, outcomes)
    assert min(values.values()) > 1e-4, values
    assert abs(agreement_z(place, outcomes)) < 3.3


class RawTested:
    """A drafter that samples from the processed q and hands over the raw one (C03)."""

    def __init__(self, place: Behind) -> None:
        self.q = place.q
        self._place = place
        self.learn = place.learn

    def block(self, drafted: tuple[int, ...]) -> tuple[torch.Tensor, torch.Tensor]:
        raw = torch.stack([self._place.raw_q(drafted[:i]) for i in range(len(drafted))])
        return self._place.block(drafted)[0], raw


def test_the_test_sees_a_raw_q_that_was_never_sampled(shelf: Shelf) -> None:
    place = tiny(shelf, SETTINGS["temperature 0.7, top-k"])
    outcomes = repeated(RawTested(place), K, range(4_000))
    assert first_p_value(place, outcomes) < 1e-6


def test_the_test_sees_a_residual_that_is_p(shelf: Shelf, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(accept, "residual", lambda p, q: (p.double(), torch.ones(1), torch.tensor([False])))
    place = tiny(shelf, SETTINGS["temperature 1"])
    assert first_p_value(place, repeated(place, K, range(4_000))) < 1e-6


def test_the_test_sees_a_uniform_used_twice(shelf: Shelf) -> None:
    def decide(p: Any, q: Any, drafted: Any, slots: torch.Tensor) -> accept.Outcome:
        kept = int(accept.decide_exact(p, q, drafted, slots).n_accepted)
        again = slots.clone()
        again[0] = slots[2 * (kept + 1)] if kept < len(drafted) else slots[0]
        return accept.decide_exact(p, q, drafted, again)

    place = tiny(shelf, SETTINGS["temperature 1"])
    assert first_p_value(place, repeated(place, K, range(4_000), decide)) < 1e-6
