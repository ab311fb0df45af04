"""A benchmark of several drafters: what is run, and the numbers of each by hand."""

import json
from dataclasses import replace

import pytest

from specviz.bench.json_report import summarise_bench
from specviz.bench.plan import CALIBRATION, DRAFT, MODEL, TARGET, Configuration, DrafterVariant, Plan, Task
from specviz.bench.report import report
from specviz.bench.samples import Sample, Spread, position_rates, sample
from specviz.cli.commands.bench.tables import (
    calibrated,
    drafter_rows,
    drafter_titles,
    measured_rows,
    notes,
    speedup_rows,
)
from specviz.core.events import Calibration
from specviz.stats.round_counts import count_round
from tests.bench.test_report import ASSUMED, rounds, seen, timing
from tests.rounds import round_of

NGRAM, TWO_LAYERS = DrafterVariant("ngram"), DrafterVariant("layers", 2)
ALL = MODEL, NGRAM, TWO_LAYERS
PLAN = Plan(prompts=1, ks=(2,), repeats=1, drafters=ALL)


def at(drafter: DrafterVariant) -> Configuration:
    return Configuration("speculative", 2, drafter)


def one_repeat() -> list[Sample]:
    """A plain token takes 10 ms, a round of the model 15, of n-grams 10, of the layers 20; the first is never timed."""

    def calibration(drafter: DrafterVariant, target: float, draft: float | None) -> Sample:
        return sample(Task(0, 0, replace(CALIBRATION, drafter=drafter)), (), Calibration(target, draft, 7))

    slow = timing(1000.0, 1000.0, 1000.0)
    model, ngram, layers = timing(4.0, 10.0, 1.0), timing(0.1, 9.4, 0.5), timing(9.0, 10.0, 1.0)
    return [
        calibration(MODEL, 10.0, 2.0),
        calibration(NGRAM, 11.0, None),
        calibration(TWO_LAYERS, 12.0, 6.0),
        sample(Task(0, 0, TARGET), rounds(["", ""], slow, timing(0.0, 9.5, 0.5))),
        sample(Task(0, 0, DRAFT), rounds(["", ""], slow, timing(0.0, 1.0, 0.5))),
        sample(Task(0, 0, at(MODEL)), rounds(["aa", "aa", "ar"], slow, model, model)),
        sample(Task(0, 0, at(NGRAM)), rounds(["aa", "", "a", "aa"], slow, ngram, ngram, ngram)),
        sample(Task(0, 0, at(TWO_LAYERS)), rounds(["ru", "ar"], slow, layers)),
    ]


def test_every_drafter_is_calibrated_and_run_at_every_k_in_one_shuffled_order() -> None:
    plan = Plan(prompts=2, ks=(2, 4), repeats=3, drafters=ALL)
    assert [str(each) for each in ALL] == ["model", "ngram", "layers:2"]
    assert [configuration.drafter for configuration in plan.calibrations] == list(ALL)
    assert plan.configurations(0) == [*plan.calibrations, *plan.speculative]
    assert plan.configurations(1) == [TARGET, DRAFT, *plan.speculative]
    assert len(plan.speculative) == 6
    orders = {
        tuple((t.configuration.drafter, t.configuration.k) for t in plan.tasks(1) if (t.repeat, t.prompt) == (r, 1))
        for r in range(3)
    }
    assert len(orders) == 3


def test_without_the_model_the_draft_is_not_run_alone() -> None:
    plan = Plan(prompts=1, ks=(2,), repeats=1, drafters=(NGRAM,))
    assert plan.configurations(0) == [Configuration("calibration", 0, NGRAM), TARGET, at(NGRAM)]
    assert [cells[0] for cells in measured_rows(report(plan, []))] == ["target", "K 2"]


def test_each_drafter_has_its_own_numbers() -> None:
    done = report(PLAN, one_repeat())
    model, ngram, layers = done.rows
    assert [row.drafter for row in done.rows] == list(ALL)
    assert done.target_step_ms == Spread(11.0, 11.0, 11.0)  # the median of 10, 11 and 12
    assert [(each.draft_step_ms and each.draft_step_ms.median, each.c and each.c.median) for each in done.steps] == [
        (2.0, 5.0),
        (None, None),
        (6.0, 2.0),
    ]
    assert [rate and rate.median for rate in model.positions] == [1.0, pytest.approx(2 / 3)]
    assert [rate and rate.median for rate in ngram.positions] == [1.0, 1.0]
    assert [rate and rate.median for rate in layers.positions] == [0.5, 0.0]
    assert [(row.plain_rounds, row.rounds) for row in done.rows] == [(0, 3), (1, 4), (0, 2)]
    # tokens a round without the first: (3 + 2)/2, (1 + 2 + 3)/3, 2; a token then takes 6, 5 and 10 ms
    assert [row.measured_on.tokens_per_round and row.measured_on.tokens_per_round.median for row in done.rows] == [
        2.5,
        2.0,
        2.0,
    ]
    assert [row.speedup and row.speedup.median for row in done.rows] == pytest.approx([10 / 6, 2.0, 1.0])
    assert done.fastest is ngram
    assert model.model and model.model.prediction.costs.draft == pytest.approx(2 * 11 / 5)
    assert ngram.model is None and ngram.measured_cost is not None
    assert layers.model and layers.model.prediction.costs.draft == pytest.approx(2 * 11 / 2)


def test_positions_nobody_tested_have_no_rate() -> None:
    runs = [[count_round(round_of("a")), count_round(round_of("ru", 2)), count_round(round_of("", 3))]]
    assert position_rates(runs, 3) == (0.5, None, None)
    assert position_rates([], 2) == (None, None)


def test_short_ngram_drafts_want_a_longer_match() -> None:
    done = report(PLAN, one_repeat())
    for row, wanted in zip(done.rows, ("context", "a longer match", "context"), strict=True):
        assert row.measured_cost
        words = {factor.name: factor.words for factor in row.measured_cost.factors}
        assert words["draft_lengths"].endswith(f"for lack of {wanted}")
    assert seen().shortage == "context" and ASSUMED.k == 4
    (_, ngram, _) = done.rows
    assert ngram.measured_cost and ngram.measured_cost.factors[1].words.startswith("rounds drafted 1.00 tokens")


def test_the_table_side_by_side() -> None:
    done = report(PLAN, one_repeat())
    assert drafter_titles(2) == ["", "α 1", "α 2", "tokens\n/round", "draft\nms/step", "c", "plain\nrounds", "speedup"]
    assert drafter_rows(done, 2) == [
        ["model K 2", "1.00", ".67", "2.50", "2.000", "5.00", "0/3", "1.67"],
        ["ngram K 2", "1.00", "1.00", "2.00", "0.075", "–", "1/4", "2.00"],
        ["layers:2 K 2", ".50", ".00", "2.00", "4.500", "2.00", "0/2", "1.00"],
    ]
    assert drafter_rows(done, 3)[0][1:4] == ["1.00", ".67", "–"]
    assert [cells[0] for cells in measured_rows(done)] == [
        *("target", "draft", "model\nK 2", "ngram\nK 2", "layers:2\nK 2")
    ]
    assert [cells[0] for cells in speedup_rows(done)] == ["model\nK 2", "ngram\nK 2", "layers:2\nK 2"]
    assert notes(done)[0] == "Fastest: ngram K 2, 2.00 × the target alone."
    assert [line.partition(" [")[0] for line in calibrated(done)] == [
        *("T_p 11.00 ms", "T_q model 2.00 ms", "T_q layers:2 6.00 ms")
    ]


def test_the_json_names_the_drafter_of_every_row() -> None:
    told = json.loads(json.dumps(summarise_bench(report(PLAN, one_repeat()), {}), allow_nan=False))
    assert told["config"]["drafters"] == ["model", "ngram", "layers:2"]
    assert [(row["drafter"], row["k"], row["plain_rounds"], row["rounds"]) for row in told["k"]] == [
        ("model", 2, 0, 3),
        ("ngram", 2, 1, 4),
        ("layers:2", 2, 0, 2),
    ]
    assert told["k"][2]["per_position"][0]["median"] == 0.5
    assert told["calibration"]["drafters"]["ngram"] == {"draft_step_ms": None, "c": None}
    assert told["calibration"]["drafters"]["layers:2"]["c"]["median"] == 2.0
    assert (told["fastest_drafter"], told["fastest_k"]) == ("ngram", 2)
