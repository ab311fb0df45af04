"""A pair run by a plan: plain decoding is plain, speculation drafts K every round, and the order changes nothing."""

from dataclasses import replace
from typing import Any

import pytest

from specviz.bench.plan import CALIBRATION, DRAFT, TARGET, Configuration, DrafterVariant, Plan, Task
from specviz.core.drafters import drafter_options
from specviz.core.errors import SpecvizError
from specviz.core.events import Calibration, Round, Settings
from specviz.core.options import PairOptions, RunOptions, RunRequest
from specviz.decoder.measuring.runner import Bench, Measured, open_bench
from tests.builders import known
from tests.decoder.models import Shelf, text_of
from tests.decoder.run_helpers import check_round, opened, play, setting

FOUR = Configuration("speculative", 4)
PROMPTS = (("one", text_of([1, 2, 3])), ("two", text_of([9, 8])))


def bench(target: str, draft: str, **options: Any) -> Bench:
    chosen = {"prompts": PROMPTS, "max_new_tokens": 20, "calibrate": 2, **options}
    source = open_bench(RunOptions(PairOptions(draft, target), Settings(), **chosen), lambda _: None)
    return source


def ids(rounds: tuple[Round, ...]) -> list[int]:
    return [known(token.id) for round_ in rounds for token in round_.emitted]


def decisions(measured: Measured) -> list[tuple[Any, ...]]:
    return [(round_.drafted, round_.emitted, round_.stop) for round_ in measured.rounds]


@pytest.fixture
def pair(shelf: Shelf) -> tuple[str, str]:
    """(target, draft): the draft is often right."""
    return shelf.random(1), shelf.noisy(1, 0.3)


def test_plain_decoding_is_the_model_alone(pair: tuple[str, str]) -> None:
    target, draft = pair
    source = bench(target, draft, seed=5)
    tasks = [Task(0, 0, TARGET), Task(0, 1, DRAFT), Task(2, 0, TARGET)]
    one, two, third = source.measure(tasks)
    for measured, model, prompt, seed in ((one, target, 0, 5), (two, draft, 1, 5), (third, target, 0, 7)):
        alone = play(opened(model, max_new_tokens=20), PROMPTS[prompt][1], setting(k=0), seed=seed)
        assert ids(measured.rounds) == alone.ids
        assert len(measured.rounds) == 20
        assert {(round_.k, round_.plain_reason) for round_ in measured.rounds} == {(0, "k_zero")}
        assert measured.calibration is None


def test_speculation_drafts_k_tokens_up_to_the_end(pair: tuple[str, str]) -> None:
    (measured,) = bench(*pair).measure([Task(0, 0, FOUR)])
    for round_ in measured.rounds:
        check_round(round_)
    assert {round_.k for round_ in measured.rounds} == {4}
    assert 20 <= len(ids(measured.rounds)) <= 24
    assert sum(len(round_.emitted) for round_ in measured.rounds[:-1]) < 20
    longer = play(opened(*pair, max_new_tokens=60), PROMPTS[0][1], setting(k=4))
    assert ids(measured.rounds) == longer.ids[: len(ids(measured.rounds))]


def test_the_order_of_tasks_changes_no_run(pair: tuple[str, str]) -> None:
    source = bench(*pair)
    tasks = Plan(prompts=2, ks=(1, 4), repeats=2).tasks(seed=0)
    source.warm_up([TARGET, DRAFT, CALIBRATION, FOUR])
    there = {measured.task: decisions(measured) for measured in source.measure(tasks)}
    back = {measured.task: decisions(measured) for measured in source.measure(reversed(tasks))}
    assert there == back and len(there) == len(tasks)
    assert there[Task(0, 1, FOUR)] != there[Task(1, 1, FOUR)]


def test_a_calibration_times_both_models_and_runs_nothing(pair: tuple[str, str]) -> None:
    (measured,) = bench(*pair).measure([Task(0, 0, CALIBRATION)])
    assert measured.rounds == ()
    assert measured.calibration is not None and measured.calibration.at_length == 3
    assert measured.calibration.target_step_ms > 0
    assert measured.calibration.draft_step_ms is not None and measured.calibration.draft_step_ms > 0


@pytest.mark.parametrize("long", [True, False])
def test_a_run_that_is_timed_as_a_whole_times_no_steps_in_between(pair: tuple[str, str], long: bool) -> None:
    source = bench(*pair, slow_step_bytes=0 if long else 2**30)
    request = RunRequest(text_of([1, 2]), 0, Settings())
    kinds = {type(event) for event in source.source.run(request, Settings, lambda: False)}
    assert Round in kinds and Calibration not in kinds


def test_the_draft_alone_has_its_own_temperature(pair: tuple[str, str]) -> None:
    target, draft = pair
    source = open_bench(
        RunOptions(PairOptions(draft, target), setting(k=4, draft_temperature=0.0), PROMPTS), lambda _: None
    )
    (measured,) = source.measure([Task(0, 0, DRAFT)])
    assert {round_.settings.temperature for round_ in measured.rounds} == {0.0}


def test_a_prompt_beyond_the_drafts_context_leaves_the_target_alone(shelf: Shelf) -> None:
    source = bench(shelf.random(1), shelf.random(2, context=4), prompts=(("long", text_of(range(6))),))
    calibration, draft, speculative = source.measure(Task(0, 0, what) for what in (CALIBRATION, DRAFT, FOUR))
    assert calibration.calibration is not None and calibration.calibration.draft_step_ms is None
    assert draft.rounds == ()
    assert {round_.plain_reason for round_ in speculative.rounds} == {"draft_context"}


def test_forwards_come_once_more_where_that_was_asked_for(pair: tuple[str, str]) -> None:
    source = bench(*pair)
    plan = Plan(prompts=2, ks=(1, 4), repeats=2)
    tasks = plan.tasks(seed=0)
    asked = plan.forward_only_tasks(tasks)
    for measured in source.measure(tasks, asked):
        assert len(measured.forwards_ms) == (len(measured.rounds) if measured.task in asked else 0)
        assert all(ms > 0 for ms in measured.forwards_ms)
        assert measured.peak is None or measured.peak > 1_000_000
    assert ids(next(iter(source.measure([Task(0, 0, FOUR)], [Task(0, 0, FOUR)]))).rounds) == ids(
        next(iter(source.measure([Task(0, 0, FOUR)]))).rounds
    )


def test_a_target_alone_has_no_forwards_to_time_once_more(shelf: Shelf) -> None:
    options = RunOptions(PairOptions(None, shelf.random(1)), Settings(drafter="ngram"), PROMPTS, calibrate=0)
    source = open_bench(replace(options, max_new_tokens=8), lambda _: None)
    (measured,) = source.measure([Task(0, 0, TARGET)], [Task(0, 0, TARGET)])
    assert measured.forwards_ms == () and measured.rounds


def test_every_prompt_is_read_before_any_is_run(shelf: Shelf) -> None:
    long = ("long", text_of([1] * 200))
    source = bench(shelf.random(1), shelf.random(2), prompts=(*PROMPTS, long))
    runs = source.measure([Task(0, 0, TARGET)])
    with pytest.raises(SpecvizError, match="200 tokens, more than the target's context of 128"):
        next(runs)


def test_drafters_take_turns_and_each_is_what_it_is_alone(shelf: Shelf) -> None:
    target, draft = shelf.random(2, layers=3, vocab=24), shelf.noisy(2, 0.05, layers=3, vocab=24)
    options = RunOptions(PairOptions(draft, target), Settings(), (("one", text_of([3, 5, 8, 3, 5])),), calibrate=1)
    asked = [
        DrafterVariant("ngram"),
        DrafterVariant("layers"),
        DrafterVariant("layers", 1),
        DrafterVariant("layers", 2),
        DrafterVariant(),
    ]
    source = open_bench(replace(options, max_new_tokens=20), lambda _: None, drafters=asked)
    assert list(map(str, source.drafters)) == ["ngram", "layers:1", "layers:2", "model"], "half of three is one"
    plan = Plan(1, (3,), 1, drafters=source.drafters)
    taken = {measured.task.configuration: measured for measured in source.measure(plan.tasks(0))}
    for drafter in source.drafters:
        measured = taken[Configuration("speculative", 3, drafter)]
        assert {round_.settings.drafter for round_ in measured.rounds} == {drafter.name}
        drafting = drafter_options(exit_layer=drafter.variant)
        settings = setting(3, drafter=drafter.name)
        alone = play(opened(target, draft, max_new_tokens=60, drafting=drafting), text_of([3, 5, 8, 3, 5]), settings)
        assert ids(measured.rounds) == alone.ids[: len(ids(measured.rounds))]
        assert [r.drafted for r in measured.rounds] == [r.drafted for r in alone.rounds[: len(measured.rounds)]]
        calibration = taken[Configuration("calibration", 0, drafter)].calibration
        assert calibration and (calibration.draft_step_ms is None) == (drafter.name == "ngram")


def test_a_layer_that_is_not_there_is_refused_before_weights_are_read(shelf: Shelf) -> None:
    options = RunOptions(PairOptions(None, shelf.random(1, layers=2)), Settings(drafter="ngram"), PROMPTS)
    stages: list[object] = []
    with pytest.raises(SpecvizError, match="--exit-layer must be from 1 to 1"):
        open_bench(
            options,
            lambda event: stages.append(getattr(event, "stage", None)),
            drafters=[DrafterVariant("ngram"), DrafterVariant("layers", 2)],
        )
    assert "target" not in stages


def test_it_describes_what_it_runs_on(pair: tuple[str, str]) -> None:
    told = bench(*pair, seed=9).describe()
    assert (told["device"], told["seed"], told["max_new_tokens"]) == ("cpu", 9, 20)
