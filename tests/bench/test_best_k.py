"""The best K and the cost of a round, by hand; and how they are printed and drawn."""

import json
import re
from dataclasses import replace

import pytest

from specviz.bench.json_report import summarise_bench
from specviz.bench.plan import DRAFT, TARGET, Configuration, DrafterVariant, Plan, Task
from specviz.bench.report import BenchReport, ChosenK, best_by_model, best_of, report
from specviz.bench.samples import RoundCost, Sample, Spread, round_cost
from specviz.cli.commands.bench.plot import between, k_ticks, plot
from specviz.cli.commands.bench.tables import stacked
from specviz.cli.commands.bench.verdicts import BEST, COSTS, best_notes, best_row, cost_rows
from tests.bench.test_drafters import PLAN as SEVERAL
from tests.bench.test_drafters import one_repeat as of_several
from tests.bench.test_report import PLAN, TWO, one_repeat


def test_the_best_k_is_the_smallest_of_the_fastest_and_0_where_none_is_faster() -> None:
    assert best_of([(1, 1.1), (2, 1.4), (4, 1.4), (8, None)]) == ChosenK(2, 1.4)
    assert best_of([(1, 0.9), (4, 1.0)]) == ChosenK(0, 1.0)
    assert best_of([]) is None and best_of([(4, None)]) is None


def test_the_best_k_by_the_model_is_that_of_the_formulas() -> None:
    best = best_by_model(0.8, 10.0)
    assert best and (best.k, round(best.speedup, 2)) == (6, 2.47)
    edge, none = best_by_model(1.0, 1000.0), best_by_model(0.1, 2.0)
    assert edge and edge.k == 32 and edge.speedup == pytest.approx(33 * 1000 / 1032)
    assert none == ChosenK(0, 1.0)
    assert best_by_model(None, 10.0) is None and best_by_model(0.8, None) is None


def test_the_best_k_of_a_report() -> None:
    (best,) = report(PLAN, one_repeat()).best
    assert (best.alpha, best.c) == (0.5, 5.0)  # 3 of 6 tests of the predicting prompt
    assert best.model == ChosenK(1, 1.25)  # 1.5 * 5 / 6, as much as 1.75 * 5 / 7 at K = 2
    assert best.measured == ChosenK(0, 1.0), "K = 2 measured 1.00"
    assert best.measured_cost == ChosenK(0, 1.0), "and is predicted at 17.5 / 18"
    assert best_row(best) == ["model", "0 (1.00×)", "0 (1.00×)", "1 (1.25×)", ".500", "5.00"]
    assert len(best_row(best)) == len(BEST)


def test_the_best_k_of_each_drafter() -> None:
    done = report(SEVERAL, of_several())
    model, ngram, layers = done.best
    assert model.measured and model.measured.k == 2 and model.measured.speedup == pytest.approx(10 / 6)
    assert ngram.measured and ngram.measured.k == 2 and ngram.measured.speedup == pytest.approx(2.0)
    assert layers.measured == layers.model == ChosenK(0, 1.0)
    # 11 ms a plain token, E[N] at 5/6 over two drafts of 2, a verification of 10 and 1 ms
    tokens = 1 + 5 / 6 + 25 / 36
    assert model.measured_cost and model.measured_cost.k == 2
    assert model.measured_cost.speedup == pytest.approx(11 * tokens / (2 * 2 + 10 + 1))
    assert (ngram.model, ngram.c) == (None, None)
    assert best_row(ngram) == ["ngram", "2 (2.00×)", "2 (3.28×)", "–", "1.000", "–"]
    assert best_notes(done)[-1].startswith("0: do not speculate")
    told = json.loads(json.dumps(summarise_bench(done, {}), allow_nan=False))["best_k"]
    assert [row["drafter"] for row in told] == ["model", "ngram", "layers:2"]
    assert told[1]["measured"] == {"k": 2, "speedup": pytest.approx(2.0)} and told[1]["model"] is None
    assert told[2]["model"] == {"k": 0, "speedup": 1.0} and told[2]["c"] == 2.0


def test_acceptance_is_pooled_over_all_k() -> None:
    plan = replace(PLAN, ks=(2, 4))
    four = Configuration("speculative", 4)
    samples = one_repeat()
    samples += [
        replace(one, task=replace(one.task, configuration=four)) for one in samples if one.task.configuration == TWO
    ]
    calibration_prompts = next(n for n, one in enumerate(samples) if one.task == Task(0, 0, four))
    first = samples[calibration_prompts]
    samples[calibration_prompts] = replace(first, rounds=first.rounds[:1])  # "ru": one more test, rejected
    (best,) = report(plan, samples).best
    assert best.alpha == pytest.approx(3 / 7)


def test_the_cost_of_a_round_by_hand() -> None:
    cost = round_cost([[10.0, 20.0], [40.0]], [[6.0, 9.0], [30.0]])
    assert cost.round_ms == Spread(27.5, 21.25, 33.75)  # 15 and 40
    assert cost.forwards_ms == Spread(18.75, 13.125, 24.375)  # 7.5 and 30
    assert cost.outside == Spread(0.375, 0.3125, 0.4375)  # 1/2 and 1/4
    assert round_cost([[], [5.0]], [[], []]) == RoundCost(Spread(5.0, 5.0, 5.0), None, None)


def with_costs() -> list[Sample]:
    """Plain rounds of 13.5 ms and forwards of 12, rounds of 26 and 18.2; the first of a run counts nowhere."""

    def with_forwards(one: Sample) -> Sample:
        match one.task.prompt, one.task.configuration:
            case 1, configuration if configuration == TARGET:
                return replace(one, forwards_ms=(900.0, 12.0, 12.0), peak=7_000_000)
            case 1, configuration if configuration == TWO:
                return replace(one, forwards_ms=(900.0, 18.0, 18.4), peak=9_000_000)
            case 1, configuration if configuration == DRAFT:
                return replace(one, peak=99_000_000)
        return replace(one, peak=88_000_000)

    return list(map(with_forwards, one_repeat()))


def test_what_of_a_round_is_not_its_forwards() -> None:
    done = report(PLAN, with_costs())
    (row,) = done.rows
    assert row.cost and row.cost.round_ms == Spread(26.0, 26.0, 26.0)
    assert row.cost.outside and row.cost.outside.median == pytest.approx(0.3)
    assert done.cost.outside and done.cost.outside.median == pytest.approx(1 - 12 / 13.5)
    assert (done.peak, row.peak) == (7_000_000, 9_000_000)
    assert cost_rows(done) == [["target", "13.5", "12.0", ".111", "7.0 MB"], ["K 2", "26.0", "18.2", ".300", "9.0 MB"]]
    assert len(COSTS) == 5
    told = json.loads(json.dumps(summarise_bench(done, {}), allow_nan=False))
    assert told["k"][0]["cost"]["forwards_ms"]["median"] == pytest.approx(18.2)
    assert (told["target_peak"], told["k"][0]["peak"]) == (7_000_000, 9_000_000)


def test_what_was_not_timed_is_a_dash() -> None:
    assert cost_rows(report(PLAN, one_repeat())) == [["target", *"––––"], ["K 2", *"––––"]]


def test_a_share_below_nothing_is_printed_like_one_above() -> None:
    assert stacked([Spread(-0.05, -0.1, 0.02)], is_rate=True) == ["-.050\n-.100–.020"]


def test_one_measured_prompt_a_repeat_is_laid_bare() -> None:
    plan = Plan(prompts=4, ks=(1, 4), repeats=3, drafters=(DrafterVariant(), DrafterVariant("ngram")))
    tasks = plan.tasks(seed=0)
    bare = plan.forward_only_tasks(tasks)
    asked = [TARGET, Configuration("speculative", 1), Configuration("speculative", 4)]
    assert bare == {Task(r, prompt, one) for r, prompt in ((0, 2), (1, 3), (2, 2)) for one in asked}
    assert bare <= set(tasks)


def drawn(done: BenchReport, capsys: pytest.CaptureFixture[str]) -> list[str]:
    plot(done)
    return capsys.readouterr().out.splitlines()


def speedups(*medians: float) -> BenchReport:
    """K = 1, 2, ... measured at ``medians``, .2 from quartile to quartile on either side, nothing predicted."""
    (row,) = report(PLAN, one_repeat()).rows
    spreads = [Spread(median, median - 0.2, median + 0.2) for median in medians]
    rows = tuple(
        replace(row, k=k, speedup=spread, model=None, measured_cost=None) for k, spread in enumerate(spreads, 1)
    )
    return replace(report(PLAN, one_repeat()), plan=replace(PLAN, ks=tuple(range(1, len(rows) + 1))), rows=rows)


def test_marks_stand_at_their_k_and_speedup(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    lines = drawn(speedups(1.0, 1.5, 0.5), capsys)
    labels = {match[1]: n for n, line in enumerate(lines) if (match := re.match(r" *([\d.]+)┤", line))}
    under = next(line for line in lines if re.fullmatch(r" +0 +1 +2 +3", line))
    for k, speedup in enumerate(("1", "1.5", "0.5"), 1):
        column = under.index(f" {k}") + 1
        assert lines[labels[speedup]][column] == "o"
        assert lines[labels[speedup] + 1][column] == lines[labels[speedup] - 1][column] == "│"
    assert max(map(len, lines)) <= 80 and "predicted" not in "".join(lines)


def test_each_drafter_has_a_chart(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("NO_COLOR", "1")
    lines = drawn(report(SEVERAL, of_several()), capsys)
    titles = [line for line in lines if "speedup over K" in line]
    assert [title.partition(":")[0] for title in titles] == ["model", "ngram", "layers"]
    text = "\n".join(lines)
    assert "\x1b" not in text and text.count("predicted by the model") == 2, "n-grams have no c"
    assert not re.search("[⠁-⣿]", text), "no line through a single K"


def test_lines_go_straight_from_one_measured_k_to_the_next() -> None:
    assert between({2: 1.0, 4: 2.0, 5: 0.5}, 6) == [None, None, 1.0, 1.5, 2.0, 0.5, None]
    assert between({1: 1.0}, 2) == [None, 1.0, None] and between({}, 1) == [None, None]


@pytest.mark.parametrize(("most", "ks"), [(8, range(9)), (20, range(0, 21, 2)), (32, range(0, 33, 2))])
def test_every_k_that_there_is_room_for_is_named(most: int, ks: range) -> None:
    assert k_ticks(72, most) == {str(k): k + 1 for k in ks}
