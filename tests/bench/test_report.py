"""The numbers of a benchmark, by hand."""

import json
import math
from collections.abc import Sequence
from dataclasses import fields, replace
from typing import Any

import pytest

from specviz.bench.attribution import Costs, Factor, Observation, Prediction, factors, main_reason
from specviz.bench.json_report import summarise_bench
from specviz.bench.plan import CALIBRATION, DRAFT, TARGET, Configuration, Plan, Task
from specviz.bench.report import BenchReport, Measurement, report
from specviz.bench.samples import Sample, Spread, sample, spread
from specviz.core.events import Calibration, Round, Timing
from tests.rounds import round_of

TWO = Configuration("speculative", 2)
PLAN = Plan(prompts=2, ks=(2,), repeats=1)


def timing(draft: float, verify: float, decide: float, inspect: float = 1.0) -> Timing:
    return Timing(draft, verify, decide, inspect, draft + verify + decide + inspect)


def rounds(verdicts: Sequence[str], *times: Timing) -> list[Round]:
    """One time for all rounds, or one each."""
    each = times * len(verdicts) if len(times) == 1 else times
    return [round_of(v, n, timing=t) for n, (v, t) in enumerate(zip(verdicts, each, strict=True), 1)]


def one_repeat(repeat: int = 0, *, plain: Timing | None = None) -> list[Sample]:
    """Prompt 0 predicts from alpha 3/6 and T_p 10, T_q 2; on prompt 1 alpha is 4/5 and all times are longer.

    The first round of every run takes a second, which nothing may show.
    """
    slow = timing(1000.0, 1000.0, 1000.0)
    first, second, alone = timing(6.0, 11.0, 1.0), timing(8.0, 15.0, 2.0), plain or timing(0.0, 12.0, 0.5)
    return [
        sample(Task(repeat, 0, CALIBRATION), (), Calibration(10.0, 2.0, 7)),
        sample(Task(repeat, 0, TWO), rounds(["ru", "ar", "aa", "ru"], slow, first, first, first)),
        sample(Task(repeat, 1, TARGET), rounds(["", "", ""], slow, alone, alone)),
        sample(Task(repeat, 1, DRAFT), rounds(["", ""], slow, timing(0.0, 4.0, 1.0))),
        sample(Task(repeat, 1, TWO), rounds(["aa", "aa", "ru"], slow, second, second)),
    ]


def test_a_plan_predicts_on_one_half_and_measures_on_the_other() -> None:
    plan = Plan(prompts=5, ks=(1, 4), repeats=2)
    assert (list(plan.calibration_prompts), list(plan.test_prompts)) == ([0, 1], [2, 3, 4])
    one, four = plan.speculative
    assert plan.configurations(1) == [CALIBRATION, one, four]
    assert plan.configurations(2) == [TARGET, DRAFT, one, four]
    assert replace(plan, calibrated=False).configurations(1) == [one, four]
    tasks = plan.tasks(seed=3)
    assert tasks == plan.tasks(seed=3) != plan.tasks(seed=4)
    assert [task.repeat for task in tasks] == [0] * 18 + [1] * 18
    every = {Task(r, p, c) for r in range(2) for p in range(5) for c in plan.configurations(p)}
    assert len(tasks) == len(every) and set(tasks) == every
    orders = {tuple(task.configuration for task in tasks if (task.repeat, task.prompt) == (r, 2)) for r in range(2)}
    assert len(orders) == 2


def test_a_single_prompt_predicts_and_is_measured() -> None:
    plan = Plan(prompts=1, ks=(2,), repeats=1)
    assert list(plan.calibration_prompts) == list(plan.test_prompts) == [0]
    assert plan.configurations(0) == [CALIBRATION, TARGET, DRAFT, TWO]


def test_quartiles_are_interpolated_and_undefined_values_left_out() -> None:
    assert spread([4.0, None, 1.0, 2.0, 3.0]) == Spread(2.5, 1.75, 3.25)
    assert spread([7.0]) == Spread(7.0, 7.0, 7.0)
    assert spread([None]) is None


def test_measured_numbers_by_hand() -> None:
    done = report(PLAN, one_repeat())
    (row,) = done.rows
    expected = {
        "decoding_tokens_per_s": 80.0,  # 4 tokens in 2 rounds of 25 ms
        "draft_step_ms": 4.0,
        "verify_ms": 15.0,
        "decide_ms": 2.0,
        "inspect_ms": 1.0,
        "alpha_tested": 0.8,
        "alpha_overlap": 0.75,
        "tokens_per_round": 2.0,
        "token_ms": 12.5,
        "inspected_token_ms": 13.0,
        "round_ms": 25.0,
    }
    assert {name: getattr(row.measured_on, name).median for name in expected} == pytest.approx(expected)
    assert set(expected) == {field.name for field in fields(Measurement)}
    assert row.predicted_on.alpha_tested == Spread(0.5, 0.5, 0.5)
    assert done.target.decoding_tokens_per_s and done.target.decoding_tokens_per_s.median == 80.0
    assert done.target.draft_step_ms is None and done.target.alpha_tested is None
    assert done.draft.token_ms and done.draft.token_ms.median == 5.0
    assert [s and s.median for s in (done.target_step_ms, done.steps[0].draft_step_ms, done.steps[0].c)] == [
        10.0,
        2.0,
        5.0,
    ]
    assert row.speedup == Spread(1.0, 1.0, 1.0)
    assert row.inspected_speedup and row.inspected_speedup.median == pytest.approx(13.5 / 13.0)
    assert not row.slower and done.fastest is row


def test_predictions_and_their_factors_by_hand() -> None:
    (row,) = report(PLAN, one_repeat()).rows
    assert row.model and row.measured_cost
    assert row.model.prediction.tokens_per_round == 1.75  # 1 + .5 + .25
    assert row.model.prediction.speedup == pytest.approx(1.75 * 5 / (5 + 2))
    assert row.model.off == pytest.approx(1.25)
    assert {factor.name: factor.value for factor in row.model.factors} == pytest.approx(
        {
            "acceptance": 1.75 / 2.44,  # E[N] at .5 over E[N] at .8
            "draft_lengths": 1.0,
            "dependence": 2.44 / 2.0,
            "draft_time": 18 / 14,  # 4 + 10 assumed, then 8 + 10, 8 + 15, 8 + 15 + 2
            "verify_time": 23 / 18,
            "decide_time": 25 / 23,
            "plain_token": 10 / 12.5,
            "unevenness": 1.0,
            "repeats": 1.0,
        }
    )
    assert row.model.main_reason == "drafting 2 tokens took 2.00 × 2 calibrated steps (×1.29)"
    assert row.measured_cost.prediction.speedup == pytest.approx(10 * 1.75 / (2 * 3 + 11 + 1))
    assert row.measured_cost.off == pytest.approx(17.5 / 18)
    assert row.measured_cost.main_reason is None  # 3 % off
    for judged in (row.model, row.measured_cost):
        assert math.prod(factor.value for factor in judged.factors) == pytest.approx(judged.off)


def test_repeats_are_compared_each_within_itself() -> None:
    plan = replace(PLAN, repeats=3)
    alone = [timing(0.0, ms, 0.5) for ms in (12.0, 24.5, 37.0)]
    done = report(plan, [one for n, plain in enumerate(alone) for one in one_repeat(n, plain=plain)])
    (row,) = done.rows
    assert done.repeats == 3
    assert row.speedup == Spread(2.0, 1.5, 2.5)  # 12.5, 25 and 37.5 ms over 12.5
    assert done.target.token_ms == Spread(25.0, 18.75, 31.25)
    assert row.model and math.prod(f.value for f in row.model.factors) == pytest.approx(row.model.off)


def test_only_complete_repeats_count() -> None:
    plan = replace(PLAN, repeats=3)
    slower = one_repeat(1, plain=timing(0.0, 99.0, 1.0))
    done = report(plan, [*one_repeat(0), *slower[:-1]])
    assert done.repeats == 1
    assert done.target.token_ms == Spread(12.5, 12.5, 12.5)
    nothing = report(plan, slower[:-1])
    assert nothing.repeats == 0 and nothing.rows[0].speedup is None and nothing.fastest is None


def test_rounds_that_the_end_of_the_text_cuts_are_no_rounds_of_any_time() -> None:
    plan = Plan(prompts=1, ks=(2,), repeats=1, calibrated=False)
    whole, cut = timing(8.0, 15.0, 2.0), timing(500.0, 500.0, 500.0)
    samples = [
        sample(Task(0, 0, TARGET), rounds(["", ""], timing(0.0, 10.0, 0.0))),
        sample(Task(0, 0, DRAFT), rounds(["", ""], timing(0.0, 1.0, 0.0))),
        sample(Task(0, 0, TWO), rounds(["ru", "aa", "ai"], whole, whole, cut)),
    ]
    done = report(plan, samples)
    (row,) = done.rows
    assert row.measured_on.tokens_per_round == Spread(3.0, 3.0, 3.0)
    assert row.measured_on.alpha_tested == Spread(0.75, 0.75, 0.75)  # the cut round's test is a test
    assert row.speedup and row.speedup.median == pytest.approx(10.0 / (25.0 / 3))
    assert row.model is None and row.measured_cost is None and done.steps[0].c is None


def seen(**changes: Any) -> Observation:
    """What was measured where all that ``assumed`` says came true."""
    base = Observation(
        alpha=0.5,
        drafts={4: 10},
        tokens_per_round=1.9375,
        costs=Costs(8.0, 10.0, 2.0),
        mean_round_ms=20.0,
        token_ms=10.0,
        mean_token_ms=10.0,
        speedup=0.96875,
    )
    return replace(base, **changes)


ASSUMED = Prediction(k=4, alpha=0.5, token_ms=10.0, costs=Costs(8.0, 10.0, 2.0), by_model=False)


def test_a_prediction_that_holds_needs_no_reason() -> None:
    found = factors(ASSUMED, seen())
    assert [factor.value for factor in found] == pytest.approx([1.0] * 9)
    assert main_reason(found) is None and main_reason(()) is None


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        (
            {"alpha": 0.3, "tokens_per_round": 1.4251, "speedup": 0.71255},
            "acceptance was lower on these prompts: α .30 against .50 (×1.36)",
        ),
        (
            {"alpha": 0.9, "tokens_per_round": 4.0951, "speedup": 2.04755},
            "acceptance was higher on these prompts: α .90 against .50 (×0.47)",
        ),
        (
            {"tokens_per_round": 1.55, "speedup": 0.775},
            "acceptance is not independent: tokens/round 1.55 against 1.94 by the formula at the same α (×1.25)",
        ),
        (
            {"drafts": {4: 5, 0: 5}, "tokens_per_round": 1.46875, "speedup": 0.734375},
            "rounds drafted 2.00 tokens instead of 4, for lack of context (×1.32)",
        ),
        (
            {"costs": Costs(8.0, 16.0, 2.0), "mean_round_ms": 26.0, "speedup": 19.375 / 26},
            "verifying 5 ids took 16.00 ms, 10.00 assumed (×1.30)",
        ),
        (
            {"costs": Costs(8.0, 10.0, 7.0), "mean_round_ms": 25.0, "speedup": 0.775},
            "deciding took 7.00 ms, 2.00 assumed (×1.25)",
        ),
        (
            {"costs": Costs(13.0, 10.0, 2.0), "mean_round_ms": 25.0, "speedup": 0.775},
            "drafting 4 tokens took 13.00 ms, 8.00 assumed (×1.25)",
        ),
        (
            {"token_ms": 12.5, "mean_token_ms": 12.5, "speedup": 1.2109375},
            "a plain token took 1.25 × the target's calibrated step (×0.80)",
        ),
        (
            {"mean_round_ms": 30.0, "mean_token_ms": 11.0, "speedup": 11 * 1.9375 / 30},
            "times are uneven: a round took 1.50 × its median on average, a plain token 1.10 × (×1.36)",
        ),
        ({"speedup": 0.775}, "the repeats differ: their medians do not multiply to the median speedup (×1.25)"),
    ],
)
def test_the_reason_is_the_one_thing_that_changed(changes: dict[str, Any], words: str) -> None:
    found = factors(ASSUMED, seen(**changes))
    assert sum(abs(factor.value - 1.0) > 1e-9 for factor in found) == 1
    assert main_reason(found) == words


def test_the_model_speaks_of_steps() -> None:
    prediction = Prediction(k=1, alpha=0.5, token_ms=10.0, costs=Costs(2.0, 10.0, 0.0), by_model=True)
    words = {factor.name: factor.words for factor in factors(prediction, seen())}
    assert words["verify_time"] == "verifying 2 ids took 1.00 × a single step"
    assert words["draft_time"] == "drafting 1 token took 4.00 × a calibrated step"
    assert words["decide_time"] == "deciding took 2.00 ms a round, which the model leaves out"


def test_the_reason_pushes_the_way_the_prediction_is_off() -> None:
    found = (Factor("up", 1.6, "up"), Factor("down", 0.5, "down"), Factor("also", 0.9, "also"))
    assert main_reason(found) == "down (×0.50)"
    assert main_reason((Factor("up", 1.1, "up"), Factor("more", 1.04, "more"))) is None


def test_the_json_object_is_strict_and_says_what_is_undefined() -> None:
    text = json.dumps(summarise_bench(report(PLAN, one_repeat()), {"seed": 0}), allow_nan=False)
    told = json.loads(text)
    assert set(told) == {
        *("config", "prompts", "predicting", "measuring", "repeats", "complete", "calibration"),
        *("target", "draft", "target_cost", "target_peak", "k", "best_k", "fastest_k", "fastest_drafter"),
    }
    assert told["config"] == {"seed": 0, "k": [2], "drafters": ["model"], "repeats": 1}
    assert (told["predicting"], told["measuring"]) == ([1, 1], [2, 2])
    assert told["complete"] is True and told["fastest_k"] == 2
    assert told["target"]["alpha_tested"] is None
    assert told["target"]["decoding_tokens_per_s"]["median"] == 80.0
    assert "tokens_per_s" not in told["target"], "that of a run also counts what specviz adds"
    (row,) = told["k"]
    assert row["speedup"]["measured"] == {"median": 1.0, "q1": 1.0, "q3": 1.0}
    assert set(row["speedup"]["model"]) == {
        *("speedup", "alpha", "tokens_per_round", "token_ms", "draft_ms", "verify_ms", "decide_ms"),
        *("off", "factors", "why"),
    }
    assert math.prod(row["speedup"]["model"]["factors"].values()) == pytest.approx(row["speedup"]["model"]["off"])
    nothing: BenchReport = report(replace(PLAN, calibrated=False), [])
    assert json.loads(json.dumps(summarise_bench(nothing, {}), allow_nan=False))["calibration"]["c"] is None
