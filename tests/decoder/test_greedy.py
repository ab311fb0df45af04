"""At temperature 0 the text is the target's own greedy text, whatever is drafted and however much of it."""

from typing import Any

import pytest

from tests.decoder.models import Shelf, text_of
from tests.decoder.run_helpers import greedy, opened, play, setting

PROMPTS = ([3], [3, 5], [3, 5, 8, 1, 0, 2, 7])
PAIRS: dict[str, tuple[dict[str, Any], float]] = {
    "gpt2, a close draft": ({"seed": 1}, 0.02),
    "gpt2, a coarse draft": ({"seed": 9}, 0.04),
    "gpt2 of two layers": ({"seed": 2, "layers": 2}, 0.02),
    "llama": ({"seed": 3, "family": "llama"}, 0.02),
    "llama, wider": ({"seed": 4, "family": "llama", "width": 32}, 0.02),
}


@pytest.mark.parametrize("name", PAIRS)
def test_c07_greedy_equality_for_every_k(shelf: Shelf, name: str) -> None:
    shape, noise = PAIRS[name]
    target, draft = shelf.random(**shape), shelf.noisy(noise=noise, **shape)
    pair = opened(target, draft, max_new_tokens=100, inspect=False)
    accepted = rejected = 0
    for prompt in PROMPTS:
        reference = greedy(target, prompt, 100)
        for k in range(1, 9):
            run = play(pair, text_of(prompt), setting(k, 0.0))
            assert run.ids == reference, (prompt, k)
            accepted += sum(r.n_accepted for r in run.rounds)
            rejected += sum(r.count("rejected") for r in run.rounds)
    assert accepted > 100 and rejected > 50, "the pair must show both outcomes"


@pytest.mark.parametrize("k", [1, 3, 8])
def test_c07_greedy_equality_with_a_stranger_as_draft(shelf: Shelf, k: int) -> None:
    target, draft = shelf.random(5, vocab=9), shelf.random(8, vocab=9, family="llama")
    run = play(opened(target, draft, max_new_tokens=60), text_of([3, 5]), setting(k, 0.0))
    assert run.ids == greedy(target, [3, 5], 60)
