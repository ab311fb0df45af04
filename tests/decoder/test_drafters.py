"""What holds of every drafter under every rule: greedy text, frequencies, caches, and taking over from another."""

from collections import Counter
from itertools import cycle, permutations

import pytest
import torch

from specviz.core.drafters import DRAFTERS
from specviz.core.errors import SpecvizError
from specviz.core.events import Round, Settings, token_ids
from specviz.core.options import RunRequest
from specviz.core.rule import RULES
from specviz.decoder.rounds.speculative import SpeculativeDecoder
from specviz.decoder.rounds.stopping import StoppingCriteria
from specviz.decoder.tensors.sampling import to_probs
from tests.builders import known
from tests.decoder.family_models import FAMILIES, random_of
from tests.decoder.models import Shelf, noisy, save_model, text_of
from tests.decoder.one_round_sampler import p_value
from tests.decoder.run_helpers import Opened, fresh_logits, greedy, opened, play, setting
from tests.decoder.test_rollback import assert_exact, cached

FOLDERS = ("gpt2", "llama", "GPT-NeoX")
PROMPT = [3, 5, 8, 3, 5]
ROUNDING = 1e-4
"""Of logits that reach from 0 to -30."""


def folders(shelf: Shelf, family: str) -> tuple[str, str]:
    """Target and draft of three families, of two layers each."""
    if family in ("gpt2", "llama"):
        shape = {"seed": 2, "family": family, "layers": 2, "vocab": 24}
        return shelf.random(**shape), shelf.noisy(noise=0.05, **shape)  # type: ignore[arg-type]
    made = FAMILIES[family]
    target = shelf.folder(("family", family), lambda path: save_model(path, random_of(made)))
    draft = shelf.folder(("noisy family", family), lambda path: save_model(path, noisy(random_of(made), 3, 0.12)))
    return target, draft


@pytest.mark.parametrize("family", FOLDERS)
@pytest.mark.parametrize("drafter", DRAFTERS)
def test_c07_greedy_equality_for_every_k_and_rule(shelf: Shelf, family: str, drafter: str) -> None:
    target, draft = folders(shelf, family)
    source = opened(target, draft, max_new_tokens=20, inspect=False)
    reference = greedy(target, PROMPT, 20)
    verdicts: Counter[str] = Counter()
    for rule in RULES:
        for k in range(1, 7):
            run = play(source, text_of(PROMPT), setting(k, 0.0, drafter=drafter, rule=rule))
            assert run.ids == reference, (rule, k)
            verdicts.update(d.verdict for round_ in run.rounds for d in round_.drafted)
    assert verdicts["rejected"] > 0
    assert verdicts["accepted"] > 0 or drafter == "layers"


def rounds_of(source: Opened, settings: Settings, seeds: range) -> list[Round]:
    """The first round behind PROMPT of every seed, by the whole decoder."""
    pair = source.pair
    ending = StoppingCriteria(frozenset(), (), 100, pair.target.context)
    context = pair.context(0, source.source.options)
    drafters = {name: factory.build(context) for name, factory in pair.drafters.items()}
    run = SpeculativeDecoder(pair.target, drafters, pair.vocabulary, PROMPT, 0, ending, inspect=False)
    run.prefill(settings.drafter)
    made = []
    for seed in seeds:
        run._seed = seed
        made.append(next(run.rounds(lambda: settings, lambda: False)))
        run.ids[:] = PROMPT
        pair.target.roll_back_to(len(PROMPT) - 1)
        run.drafter.prefill(PROMPT)
    return made


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("drafter", ["ngram", "layers"])
def test_the_text_is_the_targets_own(shelf: Shelf, drafter: str, rule: str) -> None:
    target = shelf.random(2, layers=2, vocab=16, spread=0.3)
    settings = setting(2, 0.8, drafter=drafter, rule=rule)
    made = rounds_of(opened(target, alone=True, inspect=False), settings, range(700))
    texts = [token_ids(round_.emitted) for round_ in made]

    def own(ids: list[int]) -> torch.Tensor:
        logits = fresh_logits(target, ids)
        return to_probs(logits - logits.max(), 0.8, None, None)

    assert {r.k for r in made} == {2}
    assert p_value([text[0] for text in texts], own(PROMPT)) > 1e-4
    first, n = Counter(text[0] for text in texts if len(text) > 1).most_common(1)[0]
    assert n > 40
    seconds = [text[1] for text in texts if text[0] == first and len(text) > 1]
    assert p_value(seconds, own([*PROMPT, first])) > 1e-4
    tested = [d for r in made for d in r.drafted[: r.tested]]
    chances = [known(d.overlap if rule == "exact" else d.match) for d in tested]
    surplus = sum(d.verdict == "accepted" for d in tested) - sum(chances)
    assert abs(surplus) < 3.3 * sum(o * (1 - o) for o in chances) ** 0.5


@pytest.mark.parametrize("order", list(permutations(DRAFTERS)))
@pytest.mark.parametrize("family", ["gpt2", "llama"])
def test_switching_in_every_order_changes_no_greedy_id_and_every_cache_is_exact(
    shelf: Shelf, order: tuple[str, ...], family: str
) -> None:
    target, draft = folders(shelf, family)
    source = opened(target, draft, max_new_tokens=24)
    turns = cycle(name for name in order for _ in range(2))
    asked: list[str] = []

    def settings() -> Settings:
        asked.append(next(turns))
        return setting(2, 0.0, drafter=asked[-1])

    text = list(PROMPT)
    first = setting(2, 0.0, drafter=order[0])
    events = source.source.run(RunRequest(text_of(PROMPT), 0, first), settings, lambda: False)
    rounds = []
    for round_ in (event for event in events if isinstance(event, Round)):
        text += token_ids(round_.emitted)
        rounds.append(round_)
        if round_.stop is None:
            pair = source.pair
            assert pair.target.length == cached(pair.target) == len(text) - 1
            assert_exact(pair.target, target, text, ROUNDING)
            if round_.settings.drafter == "model":
                assert pair.draft.length in (len(text) - 1, len(text) - 2)
                assert_exact(pair.draft, draft, text, ROUNDING)
    assert text[len(PROMPT) :] == greedy(target, PROMPT, 24)
    assert [r.settings.drafter for r in rounds] == asked
    assert set(asked) == set(DRAFTERS)


def test_a_switch_begins_a_segment_with_a_c_of_its_drafter(shelf: Shelf) -> None:
    target, draft = folders(shelf, "gpt2")
    source = opened(target, draft, max_new_tokens=20, calibrate=2)
    turns = iter(["model", "model", "layers", "layers"])
    run = play(source, text_of(PROMPT), lambda: setting(2, 0.0, drafter=next(turns, "ngram")))
    stats = run.stats
    assert [part["settings"]["drafter"] for part in stats.summary()["segments"]] == ["model", "layers", "ngram"]
    assert stats.segment_rates(2).c is not None
    assert stats.segment_rates(4).c is not None
    assert stats.segment_rates(4).draft_step_ms != stats.segment_rates(2).draft_step_ms
    assert stats.segment_rates().c is None
    assert run.header.config["drafters"] == list(DRAFTERS)


def test_the_draft_is_the_same_behind_a_switch_as_without_one(shelf: Shelf) -> None:
    target, draft = folders(shelf, "llama")
    source = opened(target, draft, max_new_tokens=24)
    turns = iter(["ngram"] * 3 + ["layers"] * 2)
    run = play(source, text_of(PROMPT), lambda: setting(3, drafter=next(turns, "model")), seed=4)
    switched = run.rounds[5]
    text = [*run.prompt, *run.ids][: switched.start]
    for token in switched.drafted:
        q = (fresh_logits(draft, text)).softmax(-1)
        assert token.q == pytest.approx(float(q[token.id]), abs=1e-5)
        text.append(known(token.id))


def test_a_drafter_that_is_not_there_is_named(shelf: Shelf) -> None:
    source = opened(shelf.random(1), alone=True)
    with pytest.raises(SpecvizError, match=r"--drafter model cannot draft for these models\. Available: ngram\."):
        play(source, "w3 w5", setting())
