"""The n-gram drafter: what it finds, what it proposes, and that only the target decides."""

from math import sqrt
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from specviz.core.drafters import drafter_options
from specviz.core.events import Round
from specviz.decoder.drafters.ngram import NgramDrafter, TextSoFar
from specviz.decoder.tensors.accept import decide_equality, decide_exact
from specviz.decoder.tensors.sampling import RoundRandom
from tests.builders import known
from tests.decoder.models import Shelf, everywhere, one_hot, text_of
from tests.decoder.one_round_sampler import Known, first_p_value, repeated
from tests.decoder.run_helpers import Opened, Played, greedy, opened, play, setting

NGRAM = {"drafter": "ngram"}


def proposed(ids: list[int], k: int = 4, *, longest: int = 4, shortest: int = 1, vocab: int = 32) -> list[int]:
    drafter = NgramDrafter(vocab, torch.device("cpu"), longest=longest, shortest=shortest)
    drafter.prefill(ids)
    proposal = drafter.propose(ids, k, setting(k), RoundRandom(0, 1, k), lambda: False)
    assert proposal is not None
    assert (proposal.plain_reason == "no_match") == (not len(proposal.ids))
    return proposal.ids.tolist()


def brute_force(ids: list[int], k: int, longest: int, shortest: int) -> list[int]:
    for n in range(min(longest, len(ids) - 1), shortest - 1, -1):
        for start in range(len(ids) - n - 1, -1, -1):
            if ids[start : start + n] == ids[-n:]:
                return ids[start + n : start + n + k]
    return []


@given(st.lists(st.integers(0, 3), min_size=1, max_size=40), st.integers(1, 6), st.integers(1, 5), st.integers(1, 5))
def test_the_longest_then_most_recent_earlier_occurrence(ids: list[int], k: int, one: int, other: int) -> None:
    shortest, longest = sorted((one, other))
    found = proposed(ids, k, longest=longest, shortest=shortest)
    assert found == brute_force(ids, k, longest, shortest)


@given(st.lists(st.lists(st.integers(0, 2), max_size=6), min_size=1, max_size=8))
def test_an_index_that_grew_is_one_that_was_built_at_once(parts: list[list[int]]) -> None:
    grown, whole = TextSoFar(1, 3), TextSoFar(1, 3)
    for part in parts:
        grown.extend(part)
    whole.extend([i for part in parts for i in part])
    assert vars(grown) == vars(whole)


@pytest.mark.parametrize(
    ("ids", "drafted"),
    [
        ([1, 2, 3, 9, 2, 3, 8, 1, 2, 3], [9, 2, 3, 8]),  # three tokens match at the start, two of them later
        ([2, 3, 9, 2, 3, 8, 2, 3], [8, 2, 3]),  # the most recent of equal ones, up to the end of the text
        ([5, 5], [5]),  # overlapping, never the suffix itself
        ([1, 2, 3], []),
        ([1], []),
    ],
)
def test_small_texts(ids: list[int], drafted: list[int]) -> None:
    assert proposed(ids) == drafted


def test_a_lookup_touches_one_entry_for_each_length_whatever_the_text() -> None:
    class Counted(dict[tuple[int, ...], int]):
        asked = 0

        def get(self, key: tuple[int, ...], default: int | None = None) -> int | None:  # type: ignore[override]
            Counted.asked += 1
            return super().get(key, default)

    for size in (100, 20_000):
        drafter = NgramDrafter(size + 1, torch.device("cpu"), longest=4, shortest=1)
        drafter.prefill(range(size))
        drafter.text._after = Counted(drafter.text._after)
        Counted.asked = 0
        drafter.propose(range(size), 4, setting(4), RoundRandom(0, 1, 4), lambda: False)
        assert Counted.asked == 4


def looked_up(shelf: Shelf, choices: list[int], *, vocab: int = 32, eos: str | None = None, **options: Any) -> Opened:
    """A target alone, whose greedy token at place i is ``choices[i]``."""
    folder = shelf.scripted(one_hot((choices + [31] * 64)[:64], vocab), eos=eos)
    return opened(folder, alone=True, **options)


@pytest.mark.parametrize("k", [1, 4])
def test_c44_the_first_drafted_token_is_verified(shelf: Shelf, k: int) -> None:
    run = play(looked_up(shelf, [1, 1, 2, 3, 4], max_new_tokens=4), text_of([1, 1, 1]), setting(k, 0.0, **NGRAM))
    first = run.rounds[0]
    assert [(d.id, d.verdict) for d in first.drafted] == [(1, "rejected")]
    assert [(e.id, e.origin) for e in first.emitted] == [(2, "resampled")]
    assert run.ids == [2, 3, 4, 31]


def test_c45_rounds_without_a_match_are_plain_and_stay_outside_alpha(shelf: Shelf) -> None:
    prompt = [0, 1, 2, 3, 4]
    new = list(range(5, 25))
    source = looked_up(shelf, [0] * 4 + new + new, max_new_tokens=35)
    run = play(source, text_of(prompt), setting(4, 0.0, **NGRAM))
    assert run.ids == new + new[:15]
    plain, rest = run.rounds[:21], run.rounds[21:]
    assert {(r.k, r.plain_reason, len(r.emitted), r.emitted[0].origin) for r in plain} == {(0, "no_match", 1, "plain")}
    assert [[d.id for d in r.drafted] for r in rest[:2]] == [[6, 7, 8, 9], [11, 12, 13, 14]]
    assert all(r.n_accepted == r.k for r in rest if r.k)
    rates = run.stats.whole()
    assert rates.tested == rates.accepted == sum(r.k for r in rest)
    assert (rates.alpha_tested, rates.c) == (1.0, None)
    assert rates.plain_rounds == 21 + sum(not r.k for r in rest)


def test_c36_a_run_without_any_match(shelf: Shelf) -> None:
    run = play(looked_up(shelf, list(range(10, 40)), vocab=64, max_new_tokens=10), "w5", setting(4, 0.0, **NGRAM))
    rates = run.stats.whole()
    assert (rates.alpha_tested, rates.alpha_overlap, rates.formula_at_tested) == (None, None, None)
    assert (rates.tokens_per_round, rates.tokens) == (1.0, 10)


C46 = [3, 7, 8, 0, 9, 4, 7, 8]


def test_c46_a_draft_ends_at_an_end_id(shelf: Shelf) -> None:
    run = play(looked_up(shelf, [1] * 7 + [0, 9, 9], eos="w0"), text_of(C46), setting(4, 0.0, **NGRAM))
    (only,) = run.rounds
    assert [(d.id, d.verdict) for d in only.drafted] == [(0, "accepted")]
    assert (run.ids, run.end.reason) == ([0], "end_of_text")


def test_c46_a_barred_end_id_is_never_drafted(shelf: Shelf) -> None:
    source = looked_up(shelf, [1] * 7 + [5, 6, 1, 3, 0], eos="w0", min_new_tokens=4)
    run = play(source, text_of([3, 0, 7, 8, 0, 9, 7, 8]), setting(4, 0.0, **NGRAM))
    assert run.rounds[0].plain_reason == "no_match"
    assert run.ids == [5, 6, 1, 3, 0]
    assert [d.id for d in run.rounds[-1].drafted] == [0]


def points(run: Played) -> list[Round]:
    return [round_ for round_ in run.rounds if round_.k]


def test_c47_q_is_a_point_mass(shelf: Shelf) -> None:
    p = [0.5, 0.3, 0.2]
    source = opened(shelf.scripted(everywhere(p, 160)), alone=True, max_new_tokens=140)
    run = play(source, "w1 w1", setting(1, 1.0, draft_temperature=0.5, **NGRAM))
    assert len(points(run)) > 60
    for round_ in points(run):
        (token,) = round_.drafted
        assert (token.q, token.entropy_q, token.rank_q) == (1.0, 0.0, 1)
        assert [(c.id, c.prob) for c in token.q_top] == [(token.id, 1.0)]
        assert (token.accept_prob, token.overlap, token.match) == pytest.approx((p[known(token.id)],) * 3, abs=1e-6)
        rest = {i: chance / (1 - p[known(token.id)]) for i, chance in enumerate(p) if i != token.id}
        assert {c.id: c.prob for c in token.residual_top} == pytest.approx(rest, abs=1e-6)
        assert token.raw is not None and token.raw.q == 1.0


@pytest.mark.parametrize("decide", [decide_exact, decide_equality])
def test_c47_it_is_accepted_at_p_and_the_text_stays_exact(decide: object) -> None:
    place = Known([0.5, 0.3, 0.2], [0.0, 1.0, 0.0], 1)
    outcomes = repeated(place, 1, range(20_000), decide)  # type: ignore[arg-type]
    assert abs(np.mean([o.n_accepted for o in outcomes]) - 0.3) < 3 * sqrt(0.21 / len(outcomes))
    assert first_p_value(place, outcomes) > 1e-4


def test_every_draft_says_where_it_was_found(shelf: Shelf) -> None:
    source = opened(shelf.random(1, vocab=12), alone=True, max_new_tokens=60)
    run = play(source, text_of([3, 5, 8, 3, 5]), setting(3, 0.0, **NGRAM))
    text = run.prompt + run.ids
    for round_ in points(run):
        at, n = (int(round_.drafted[0].detail[key]) for key in ("at", "ngram"))
        assert text[at - n : at] == text[round_.start - n : round_.start]
        for i, token in enumerate(round_.drafted):
            assert {**token.detail, "residual_is_p": True} == {
                "ngram": n,
                "source": "text",
                "at": at + i,
                "residual_is_p": True,
            }
            assert at + i < round_.start and text[at + i] == token.id
    assert run.rounds[0].drafted[0].detail["at"] == 2


def test_the_lengths_that_are_looked_for(shelf: Shelf) -> None:
    folder = shelf.scripted(one_hot([31] * 64, 32))
    source = opened(folder, alone=True, max_new_tokens=3, drafting=drafter_options(ngram_max=3, ngram_min=2))
    prompt = [1, 2, 3, 4, 9, 9, 4]
    assert play(source, text_of(prompt), setting(4, 0.0, **NGRAM)).rounds[0].plain_reason == "no_match"
    again = play(source, text_of([1, 2, 3, 4, 9, 1, 2, 3, 4]), setting(4, 0.0, **NGRAM))
    assert again.rounds[0].drafted[0].detail["ngram"] == 3
    assert again.header.config["ngram_max"] == 3 and again.header.config["draft"] is None


def test_the_target_alone_is_enough(shelf: Shelf) -> None:
    folder = shelf.random(1, vocab=12)
    source = opened(folder, alone=True, max_new_tokens=40, calibrate=2)
    run = play(source, text_of([3, 5]), setting(4, 0.0, **NGRAM))
    assert run.ids == greedy(folder, [3, 5], 40)
    config = run.header.config
    assert (config["draft"], config["draft_device"], config["drafter"]) == (None, None, "ngram")
    assert config["drafters"] == ["ngram"], "of one layer nothing can be left out"
    assert source.pair.draft_model is None
    rates = run.stats.whole()
    assert rates.target_step_ms is not None and rates.draft_step_ms is None and rates.c is None
