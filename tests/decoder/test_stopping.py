"""Where a text ends: end ids, stop strings, the budget and the context, wherever in a block they fall."""

from itertools import chain
from typing import Any

import pytest

from specviz.core.errors import SpecvizError
from specviz.core.events import Round, Settings
from specviz.stats.run_stats import RunStats
from tests.decoder.models import Shelf, everywhere, one_hot, text_of
from tests.decoder.run_helpers import Feeds, greedy, opened, play, setting


def verdicts(round_: Round) -> dict[str, int]:
    counts = {name: round_.count(name) for name in ("accepted", "rejected", "untested", "ignored")}
    return {name: n for name, n in counts.items() if n}


def script(shelf: Shelf, choices: list[int], *, vocab: int = 16, places: int = 64, **saving: Any) -> str:
    """A model whose greedy text behind a prompt of one token is ``choices``, then id 0 for ever."""
    return shelf.scripted(one_hot((choices + [0] * places)[:places], vocab), **saving)


@pytest.mark.parametrize("place", range(1, 7))
def test_c01_an_end_token_at_any_draft_place_ends_the_text(shelf: Shelf, place: int) -> None:
    shape: dict[str, Any] = {"seed": 30, "context": 64, "layers": 2, "width": 32}
    reference = greedy(shelf.random(**shape), [7], 12)
    end = reference[place - 1]
    assert end not in reference[: place - 1]
    pair = opened(shelf.random(**shape, saving={"eos": f"w{end}"}))
    run = play(pair, "w7", setting(6, 0.0))
    assert run.ids == reference[:place]
    assert (run.end.reason, run.end.detail, run.header.end_ids) == ("end_of_text", f"id {end} w{end}", (end,))
    (last,) = run.rounds
    assert verdicts(last) == {"accepted": place} | ({"ignored": 6 - place} if place < 6 else {})
    assert [token.origin for token in last.emitted] == ["accepted"] * place
    assert last.cut
    assert pair.pair.target.length == len(run.prompt + run.ids) - 1
    assert pair.pair.draft.length <= len(run.prompt + run.ids) - 1


def test_c01_an_end_token_as_bonus_ends_an_uncut_round(shelf: Shelf) -> None:
    run = play(opened(script(shelf, [1, 2, 3, 9], eos="w9")), "w5", setting(3, 0.0))
    (last,) = run.rounds
    assert run.ids == [1, 2, 3, 9]
    assert (last.emitted[-1].origin, last.stop, last.cut) == ("bonus", "end_of_text", False)


def test_c18_an_end_token_cuts_the_block_and_its_statistics(shelf: Shelf) -> None:
    run = play(opened(script(shelf, [1, 2, 9, 3, 4], eos="w9")), "w5", setting(5, 0.0))
    (last,) = run.rounds
    assert verdicts(last) == {"accepted": 3, "ignored": 2}
    assert (last.n_accepted, last.tested, len(last.emitted), last.stop, last.cut) == (3, 3, 3, "end_of_text", True)
    rates = run.stats.whole()
    assert (rates.accepted, rates.tested, rates.ignored, rates.tokens, rates.alpha_tested) == (3, 3, 2, 3, 1.0)
    assert rates.tokens_per_round is None
    assert not any(rates.histogram.values())


def test_c18_a_rejection_behind_an_accepted_end_token_is_ignored(shelf: Shelf) -> None:
    target, draft = script(shelf, [1, 2, 9, 3, 4], eos="w9"), script(shelf, [1, 2, 9, 4, 4], eos="w9")
    (last,) = play(opened(target, draft), "w5", setting(5, 0.0)).rounds
    assert verdicts(last) == {"accepted": 3, "ignored": 2}


def test_c38_c39_verdicts_add_up_and_every_token_has_its_origin(shelf: Shelf) -> None:
    target = script(shelf, [1, 1, 2, 3, 4, 5, 6, 7, 8, 9], eos="w9")
    draft = script(shelf, [1, 1, 2, 15, 4, 5, 6, 7, 8, 9], eos="w9")
    ks = chain([0], iter(lambda: 4, None))
    run = play(opened(target, draft), "w5", lambda: setting(next(ks), 0.0))
    assert run.ids == [1, 1, 2, 3, 4, 5, 6, 7, 8, 9]
    assert [verdicts(round_) for round_ in run.rounds] == [
        {},
        {"accepted": 2, "rejected": 1, "untested": 1},
        {"accepted": 4},
        {"accepted": 1, "ignored": 3},
    ]
    assert [[token.origin for token in round_.emitted] for round_ in run.rounds] == [
        ["plain"],
        ["accepted", "accepted", "resampled"],
        ["accepted"] * 4 + ["bonus"],
        ["accepted"],
    ]
    rates = run.stats.whole()
    assert (rates.drafted, rates.accepted, rates.rejected, rates.untested, rates.ignored) == (12, 7, 1, 1, 3)
    assert sum(token.origin == "accepted" for token in run.emitted) == rates.accepted
    assert rates.plain_rounds == 1


def test_c36_an_end_token_as_the_very_first_token(shelf: Shelf) -> None:
    folder = script(shelf, [9], eos="w9")
    drafted = play(opened(folder), "w5", setting(4, 0.0))
    assert (drafted.ids, verdicts(drafted.rounds[0])) == ([9], {"accepted": 1, "ignored": 3})
    assert drafted.stats.whole().tokens_per_round is None
    plain = play(opened(folder), "w5", setting(0, 0.0))
    assert plain.ids == [9]
    rates = plain.stats.whole()
    assert (rates.alpha_tested, rates.alpha_overlap, rates.formula_at_tested) == (None, None, None)
    assert rates.tokens_per_round == 1.0
    assert RunStats().whole().alpha_tested is None


def test_c19_every_end_id_of_the_target_counts(shelf: Shelf) -> None:
    target = script(shelf, [1, 9, 2, 3], eos_ids=[5, 9])
    draft = script(shelf, [1, 9, 2, 3], eos_ids=[5])
    run = play(opened(target, draft), "w7", setting(4, 0.0))
    assert run.header.end_ids == (5, 9)
    assert (run.ids, run.end.reason, run.end.detail) == ([1, 9], "end_of_text", "id 9 w9")
    assert verdicts(run.rounds[0]) == {"accepted": 2, "ignored": 2}


def test_c19_end_ids_are_the_union_of_settings_and_tokenizer(shelf: Shelf) -> None:
    folder = script(shelf, [1, 9, 2, 3], eos="w9", eos_ids=[5])
    run = play(opened(folder), "w7", setting(4, 0.0))
    assert run.header.end_ids == (5, 9)
    assert run.ids == [1, 9]


@pytest.mark.parametrize("n", range(1, 8))
def test_c16_exactly_the_tokens_asked_for(shelf: Shelf, n: int) -> None:
    folder = shelf.random(1)
    run = play(opened(folder, max_new_tokens=n), "w3 w5", setting(4, 0.0))
    assert run.ids == greedy(folder, [3, 5], n)
    assert run.end.reason == "max_new_tokens"
    left = n
    for round_ in run.rounds:
        assert round_.k == min(4, left - 1)
        left -= len(round_.emitted)
    assert [r.plain_reason for r in run.rounds if not r.k] == (["budget"] if n in (1, 6) else [])
    assert not any(round_.count("ignored") for round_ in run.rounds)


STOP_VOCABULARY = ["?", "go", "ab", " STOP", " cd", " ST", "OP", "OPx", " S", "TO", "P", "z", "ST"]


def spelled(*tokens: str) -> list[int]:
    return [STOP_VOCABULARY.index(token) for token in tokens]


@pytest.mark.parametrize(
    ("stop", "tokens", "kept", "text"),
    [
        ([" STOP"], ["ab", " STOP", " cd", "z"], 2, "ab"),
        ([" STOP"], ["ab", " ST", "OP", " cd", "z"], 3, "ab"),
        ([" STOP"], ["ab", " ST", "OPx", " cd", "z"], 3, "ab"),
        ([" STOP"], ["ab", " S", "TO", "P", " cd"], 4, "ab"),
        ([" cd", " STOP"], ["ab", " STOP", " cd", "z"], 2, "ab"),
        (["cd", "b STOP c"], ["ab", " STOP", " cd", "z"], 3, "a"),
        ([" STOP"], ["ab", "ab", "ab", "ab", "ab", "ab", " STOP", "z"], 7, "abababababab"),
        ([" STOP"], ["ab", "ab", "ab", "ab", "ab", "ab", " ST", "OP", "z"], 8, "abababababab"),
    ],
    ids=[
        "one token",
        "split over two",
        "ends inside a token",
        "split over three",
        "two strings, the first to come",
        "two strings at once",
        "the bonus token",
        "split over two rounds",
    ],
)
def test_c17_a_stop_string_ends_the_text(
    shelf: Shelf, stop: list[str], tokens: list[str], kept: int, text: str
) -> None:
    vocab = len(STOP_VOCABULARY)
    folder = script(shelf, spelled(*tokens), vocab=vocab, vocabulary=STOP_VOCABULARY)
    pair = opened(folder, stop=tuple(stop))
    run = play(pair, "go", setting(6, 0.0))
    assert run.ids == spelled(*tokens)[:kept]
    assert run.end.reason == "stop_string"
    assert run.end.detail in [*map(repr, stop)]
    last = run.rounds[-1]
    behind = last.k - last.n_accepted
    assert verdicts(last) == ({"accepted": last.n_accepted} if last.n_accepted else {}) | (
        {"ignored": behind} if behind else {}
    )
    summary = run.stats.summary()
    assert (summary["text"], summary["ids"]) == (text, run.ids)
    assert pair.pair.target.length == len(run.prompt + run.ids) - 1


def test_c17_the_prompt_is_no_part_of_a_stop_string(shelf: Shelf) -> None:
    folder = script(shelf, spelled("?", "OP", "z", "ST", "OP", "z"), vocab=13, vocabulary=STOP_VOCABULARY)
    run = play(opened(folder, stop=("STOP",)), "go ST", setting(6, 0.0))
    assert run.ids == spelled("OP", "z", "ST", "OP")


def test_c13_a_draft_context_that_fills_ends_drafting_not_the_run(shelf: Shelf) -> None:
    shape: dict[str, Any] = {"seed": 3, "family": "llama"}
    target, draft = shelf.random(**shape, context=64), shelf.random(**shape, context=32)
    prompt = [i % 60 for i in range(20)]
    pair = opened(target, draft, max_new_tokens=40)
    assert any("draft's context (32) is shorter" in notice.message for notice in pair.notices)
    run = play(pair, text_of(prompt), setting(4, 0.0))
    assert run.ids == greedy(target, prompt, 40)
    assert [round_.k for round_ in run.rounds] == [4, 4, 3] + [0] * 26
    assert {round_.plain_reason for round_ in run.rounds[3:]} == {"draft_context", "budget"}
    assert pair.pair.draft.length == 32


def test_c13_drafts_shrink_with_a_draft_that_is_often_wrong(shelf: Shelf) -> None:
    target, draft = shelf.random(1, context=64), shelf.random(2, context=32)
    prompt = [i % 60 for i in range(20)]
    run = play(opened(target, draft, max_new_tokens=40), text_of(prompt), setting(4, 0.0))
    assert run.ids == greedy(target, prompt, 40)
    for round_ in run.rounds:
        assert round_.k == max(0, min(4, 33 - round_.start, 60 - round_.start - 1))


@pytest.mark.parametrize("calibrate", [0, 2])
@pytest.mark.parametrize("length", [31, 32, 33, 34, 45])
def test_c13_a_prompt_around_or_beyond_the_draft_context(shelf: Shelf, length: int, calibrate: int) -> None:
    target, draft = shelf.random(1, context=64), shelf.random(2, context=32)
    prompt = [i % 60 for i in range(length)]
    run = play(opened(target, draft, max_new_tokens=10, calibrate=calibrate), text_of(prompt), setting(4, 0.0))
    assert run.ids == greedy(target, prompt, 10)
    assert run.rounds[0].k == max(0, 33 - length)
    assert run.rounds[-2].plain_reason == "draft_context"


@pytest.mark.parametrize("twin", [True, False])
def test_c14_no_position_beyond_the_context_is_ever_fed(shelf: Shelf, twin: bool) -> None:
    target = shelf.random(1, context=32)
    draft = target if twin else shelf.noisy(1, 0.2, context=32)
    prompt = [i % 60 for i in range(25)]
    pair = opened(target, draft, max_new_tokens=100)
    with Feeds(pair.pair.target) as of_target, Feeds(pair.pair.draft) as of_draft:
        run = play(pair, text_of(prompt), setting(8, 0.0))
    assert (run.end.reason, len(run.prompt + run.ids)) == ("context", 33)
    assert "context limit" in str(run.end.detail)
    assert run.ids == greedy(target, prompt, 8)
    assert all(round_.k <= 32 - round_.start for round_ in run.rounds)
    assert max(feed.end for feed in of_target.feeds + of_draft.feeds) == 32
    if twin:
        assert [round_.k for round_ in run.rounds] == [7]


@pytest.mark.parametrize(("context", "length"), [(32, 31), (32, 32), (1024, 1024)])
def test_c15_a_prompt_up_to_the_context_runs(shelf: Shelf, context: int, length: int) -> None:
    folder = shelf.random(1, context=context)
    prompt = [i % 60 for i in range(length)]
    run = play(opened(folder), text_of(prompt), setting(4, 0.0))
    assert run.ids == greedy(folder, prompt, context + 1 - length)
    assert run.end.reason == "context"


@pytest.mark.parametrize(("context", "length"), [(32, 33), (32, 40), (1024, 1025)])
def test_c15_a_longer_prompt_is_refused_before_any_forward(shelf: Shelf, context: int, length: int) -> None:
    pair = opened(shelf.random(1, context=context))
    with (
        Feeds(pair.pair.target) as feeds,
        pytest.raises(SpecvizError, match=f"{length} tokens, more than the target's context of {context}"),
    ):
        play(pair, text_of([i % 60 for i in range(length)]))
    assert not feeds.feeds


def test_c41_k_0_is_plain_decoding(shelf: Shelf) -> None:
    target, draft = shelf.random(1), shelf.noisy(1, 0.03)
    pair = opened(target, draft, max_new_tokens=20)
    with Feeds(pair.pair.draft) as of_draft:
        run = play(pair, "w3 w5 w6", setting(0, 0.0))
    assert run.ids == greedy(target, [3, 5, 6], 20)
    assert [(r.k, r.plain_reason, r.emitted[0].origin) for r in run.rounds] == [(0, "k_zero", "plain")] * 20
    assert len(of_draft.feeds) <= 2, "the draft is fed the prompt and one step of warm-up only"
    rates = run.stats.whole()
    assert (rates.alpha_tested, rates.tokens_per_round, rates.plain_rounds) == (None, 1.0, 20)


def test_c43_an_empty_prompt_starts_from_the_start_or_the_end_id(shelf: Shelf) -> None:
    folder = shelf.random(1, saving={"eos": "w9"})
    for prompt in ("", " "):
        run = play(opened(folder, max_new_tokens=5), prompt)
        assert run.prompt == [9]
        assert run.header.prompt.text == prompt


def test_c43_an_empty_prompt_with_no_id_to_start_from_is_refused(shelf: Shelf) -> None:
    with pytest.raises(SpecvizError, match="prompt is empty"):
        play(opened(shelf.random(1)), "", Settings())


@pytest.mark.parametrize("k", range(7))
@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_c35_an_end_id_is_barred_for_exactly_the_first_tokens(shelf: Shelf, k: int, temperature: float) -> None:
    folder = shelf.scripted(everywhere([0.6, 0.39, 0.01], 64), eos_ids=[0])
    pair = opened(folder, max_new_tokens=40, min_new_tokens=10)
    run = play(pair, "w1", setting(k, temperature))
    assert run.ids[:10] == [1] * 10 if temperature == 0 else 0 not in run.ids[:10]
    assert run.header.config["min_new_tokens"] == 10
    if temperature == 0:
        assert run.ids == [*[1] * 10, 0]
        assert run.end.reason == "end_of_text"
    assert play(opened(folder, max_new_tokens=40), "w1", setting(k, 0.0)).ids == [0]
