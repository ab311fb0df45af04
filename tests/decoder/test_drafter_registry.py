"""A drafter is an entry of the registry and a factory: nothing else knows it."""

from collections.abc import Callable, Sequence

import pytest
import torch

from specviz.core.drafters import DRAFTERS, DrafterOption, DrafterSpec, drafter_options
from specviz.core.events import Settings
from specviz.core.rule import RULES
from specviz.decoder.drafters.protocol import DraftContext, Drafter, DrafterFactory, Proposal
from specviz.decoder.models.causal_model import UNLIMITED
from specviz.decoder.tensors.sampling import RoundRandom
from tests.decoder.models import Shelf, text_of
from tests.decoder.run_helpers import greedy, opened, play, setting

PROMPT = [3, 5]


class ConstantDrafter:
    """Always proposes ``token``: q is a point mass."""

    def __init__(self, token: int, vocab_size: int) -> None:
        self._token = token
        self._vocab_size = vocab_size

    def prefill(self, ids: Sequence[int]) -> None:
        pass

    def room(self, length: int) -> int:
        return UNLIMITED

    def propose(
        self, ids: Sequence[int], k: int, settings: Settings, random: RoundRandom, stopped: Callable[[], bool]
    ) -> Proposal | None:
        q = torch.zeros(k, self._vocab_size)
        q[:, self._token] = 1.0
        return Proposal(torch.full((k,), self._token), q, random.drafts(k).tolist())

    def commit(self, ids: Sequence[int]) -> None:
        pass

    def warm_up(self, last_id: int) -> None:
        pass

    def step_ms(self, last_id: int, repeats: int, stopped: Callable[[], bool]) -> float | None:
        return None


class ConstantDrafterFactory(DrafterFactory):
    def build(self, context: DraftContext) -> Drafter:
        return ConstantDrafter(self.options["constant_id"], context.target.vocab_size)


@pytest.fixture(autouse=True)
def constant(monkeypatch: pytest.MonkeyPatch) -> None:
    spec = DrafterSpec(
        "constant",
        factory=f"{__name__}:{ConstantDrafterFactory.__name__}",
        free="A constant draft takes no time",
        options=(DrafterOption("constant_id", "The proposed id.", default=1),),
    )
    monkeypatch.setitem(DRAFTERS, spec.name, spec)


@pytest.mark.parametrize("rule", RULES)
def test_a_registered_drafter_drafts_and_the_text_is_the_targets_own(shelf: Shelf, rule: str) -> None:
    folder = shelf.random(1, layers=2)
    source = opened(folder, alone=True, max_new_tokens=20, drafting=drafter_options(constant_id=7))
    run = play(source, text_of(PROMPT), setting(3, 0.0, drafter="constant", rule=rule))
    assert run.ids == greedy(folder, PROMPT, 20)
    assert {token.id for round_ in run.rounds for token in round_.drafted} == {7}
    assert run.header.config["drafters"] == ["ngram", "layers", "constant"]
    assert run.header.config["constant_id"] == 7
    assert run.stats.whole().c is None


def test_a_run_can_switch_to_it(shelf: Shelf) -> None:
    source = opened(shelf.random(1, layers=2), alone=True, max_new_tokens=20)
    names = iter(["ngram", "layers"])
    run = play(
        source, text_of(PROMPT), lambda: setting(2, drafter=next(names, "constant")), first=setting(2, drafter="ngram")
    )
    assert [round_.settings.drafter for round_ in run.rounds][:3] == ["ngram", "layers", "constant"]
