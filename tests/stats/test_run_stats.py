"""The fold: hand-written rounds with hand-computed numbers."""

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from specviz.core.events import Calibration, Notice, Settings, Timing
from specviz.core.invariants import inconsistency
from specviz.maths import formulas
from specviz.stats.run_stats import Rates, RunStats
from tests.builders import make_emitted
from tests.rounds import BASE, TIMING, accepting, fold, round_of, segmented


def counts(rates: Rates) -> tuple[int, int, int, int, int]:
    return rates.drafted, rates.accepted, rates.rejected, rates.untested, rates.ignored


# -- counts


def test_c38_counts_add_up_round_by_round() -> None:
    """Two accepted then a rejection; all four; the end as the first draft."""
    stats = RunStats()
    expected = {"aaru": (4, 2, 1, 1, 0), "aaaa": (4, 4, 0, 0, 0), "aiii": (4, 1, 0, 0, 3)}
    total = (0, 0, 0, 0, 0)
    for index, (verdicts, round_counts) in enumerate(expected.items(), start=1):
        stats.add(round_of(verdicts, index))
        total = tuple(a + b for a, b in zip(total, round_counts, strict=True))  # type: ignore[assignment]
        assert counts(fold([verdicts]).whole()) == round_counts
        assert counts(stats.whole()) == total
        assert sum(total[1:]) == total[0]
    assert stats.whole().tested == 8
    assert stats.whole().tokens == 3 + 5 + 1


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"k": 3}, "drafted 3 tokens and lists 4"),
        ({"n_accepted": 1}, "first 1 tokens were accepted"),
        ({"tested": 4}, "4 tokens were tested, the verdicts say 3"),
        ({"emitted": ()}, "accepted 2 tokens and emitted 0"),
        ({"emitted": (make_emitted(" y", "bonus"),) * 4}, "accepted 2 tokens and emitted 4"),
    ],
)
def test_a_round_that_does_not_add_up_is_refused(change: dict[str, Any], message: str) -> None:
    good = round_of("aaru")
    assert inconsistency(good) is None
    stats = RunStats()
    with pytest.raises(ValueError, match=message):
        stats.add(replace(good, **change))
    assert stats.rounds == 0


def test_an_accepted_token_behind_a_rejection_is_refused() -> None:
    with pytest.raises(ValueError, match="first 1 tokens were accepted"):
        RunStats().add(round_of("raiu", cut=False))


def test_c39_accepted_tags_are_the_accepted_counter() -> None:
    rounds = [round_of(v) for v in ("", "aaru", "aaaa", "aiii")]
    origins = [token.origin for r in rounds for token in r.emitted]
    assert origins.count("accepted") == fold(rounds).whole().accepted == 7
    assert [origins.count(o) for o in ("plain", "resampled", "bonus")] == [1, 1, 1]
    assert fold(rounds).whole().plain_rounds == 1


def test_c18_end_of_text_in_the_block_is_left_out_of_tokens_per_round() -> None:
    rates = fold([round_of("aaaii", settings=Settings(k=5))]).whole()
    assert (rates.tokens, rates.accepted, rates.ignored, rates.tested) == (3, 3, 2, 3)
    assert rates.alpha_tested == 1.0
    assert rates.tokens_per_round is None
    assert rates.histogram == {} and rates.expected_histogram == {}
    assert rates.formula_at_tested is None
    assert [(at.position, at.conditional, at.unconditional, at.drafted) for at in rates.per_position] == [
        (1, 1.0, 1.0, 1),
        (2, 1.0, 1.0, 1),
        (3, 1.0, 1.0, 1),
        (4, None, None, 0),
        (5, None, None, 0),
    ]
    with_another = fold(["aru", round_of("aaaii")]).whole()
    assert with_another.tokens_per_round == 2.0
    assert with_another.histogram == {1: 0, 2: 1, 3: 0, 4: 0}
    assert with_another.alpha_tested == 4 / 5
    assert with_another.tokens == 5


def test_c16_a_budget_that_is_no_multiple_of_the_block() -> None:
    """12 tokens at K = 4: two full rounds and one that may add two, by a shorter draft or by ignoring the surplus."""
    shorter = fold(["aaaa", "aaaa", "a"]).whole()
    assert (shorter.tokens, shorter.drafted, shorter.accepted, shorter.ignored) == (12, 9, 9, 0)
    assert shorter.tokens_per_round == 4.0
    assert shorter.formula_at_tested == pytest.approx((5 + 5 + 2) / 3)
    assert shorter.expected_histogram == {1: 0, 2: 1, 3: 0, 4: 0, 5: 2} == shorter.histogram
    surplus = fold(["aaaa", "aaaa", "aaii"]).whole()
    assert (surplus.tokens, surplus.drafted, surplus.accepted, surplus.ignored) == (12, 12, 10, 2)
    assert surplus.tokens_per_round == 5.0
    assert surplus.alpha_tested == shorter.alpha_tested == 1.0
    one = fold([""]).whole()
    assert (one.tokens, one.drafted, one.plain_rounds) == (1, 0, 1)


UNDEFINED_WITHOUT_A_DRAFT = [
    "alpha_tested",
    "alpha_tested_ci",
    "alpha_overlap",
    "alpha_overlap_ci",
    "mean_match",
    "accepted_over_drafted",
    "agreement_z",
    "formula_at_tested",
    "formula_at_overlap",
    "speedup_model",
    "best_k",
    "ceiling",
]


@pytest.mark.parametrize("rounds", [[], [""], [""] * 20])
def test_c36_nothing_is_defined_without_a_draft(rounds: list[str]) -> None:
    stats = fold(rounds, Calibration(10.0, 2.0, 8))
    for rates in (stats.segment_rates(), stats.segment_rates(0), stats.whole()):
        assert {name: getattr(rates, name) for name in UNDEFINED_WITHOUT_A_DRAFT} == dict.fromkeys(
            UNDEFINED_WITHOUT_A_DRAFT
        )
        assert rates.per_position == () and rates.expected_histogram == {}
    assert stats.segment_rates().tokens_per_round == (1.0 if rounds else None)
    assert stats.segment_rates().histogram == ({1: len(rounds)} if rounds else {})
    before = stats.segment_rates(0)
    assert (before.first, before.last, before.rounds, before.tokens_per_round) == (1, 0, 0, None)
    assert before.tokens_per_s is before.draft_ms is before.speedup_measured_cost is None


def test_c37_tokens_per_round_is_accepted_per_round_plus_one() -> None:
    rates = fold([accepting(n, 4) for n in (2, 0, 4)]).whole()
    assert rates.accepted / rates.rounds == 2.0
    assert rates.tokens_per_round == 3.0
    assert rates.histogram == {1: 1, 2: 0, 3: 1, 4: 0, 5: 1}


# -- rates


def test_rates_of_a_short_run_by_hand() -> None:
    """6 of 8 tests accepted, at K_r = 4, 1, 0, 4."""
    rates = fold(
        [
            round_of("aaru", overlaps=[0.9, 0.8, 0.1, 1.0], matches=[0.6, 0.5, 0.1, 0.9]),
            round_of("r", overlaps=[0.5], matches=[0.2]),
            "",
            round_of("aaaa", overlaps=[1.0, 1.0, 0.5, 0.7], matches=[0.4, 0.4, 0.4, 0.4]),
        ]
    ).whole()
    assert rates.alpha_tested == 6 / 8
    assert rates.accepted_over_drafted == 6 / 9
    assert rates.alpha_overlap == pytest.approx((0.9 + 0.8 + 0.1 + 0.5 + 1 + 1 + 0.5 + 0.7) / 8)
    assert rates.mean_match == pytest.approx((0.6 + 0.5 + 0.1 + 0.2 + 1.6) / 8)
    variance = 0.09 + 0.16 + 0.09 + 0.25 + 0 + 0 + 0.25 + 0.21
    assert rates.agreement_z == pytest.approx((6 - 5.5) / math.sqrt(variance))
    assert rates.alpha_overlap_ci is None, "none under 16 rounds"
    assert rates.tokens_per_round == (3 + 1 + 1 + 5) / 4
    assert rates.histogram == {1: 2, 2: 0, 3: 1, 4: 0, 5: 1}
    a = 0.75
    assert rates.formula_at_tested == pytest.approx((2 * (1 + a + a**2 + a**3 + a**4) + (1 + a) + 1) / 4)
    assert rates.expected_histogram == pytest.approx(
        {1: 3 * (1 - a) + 1, 2: 2 * a * (1 - a) + a, 3: 2 * a**2 * (1 - a), 4: 2 * a**3 * (1 - a), 5: 2 * a**4}
    )
    assert sum(rates.expected_histogram.values()) == pytest.approx(4)
    first, second, third, fourth = rates.per_position
    assert (first.accepted, first.tested, first.reached, first.drafted) == (2, 3, 2, 3)
    assert (second.conditional, second.unconditional) == (1.0, 1.0)
    assert (third.conditional, third.unconditional) == (0.5, 0.5)
    assert (fourth.accepted, fourth.tested, fourth.drafted) == (1, 1, 2)
    assert (fourth.conditional, fourth.unconditional) == (1.0, 0.5)


def test_wilson_interval_of_the_tested_rate() -> None:
    rates = fold(["aaar"] * 20).whole()  # 60 of 80
    assert rates.alpha_tested_ci == pytest.approx((0.6452, 0.8319), abs=1e-4)


def test_the_accept_chance_is_that_of_the_rule() -> None:
    def played(rule: str) -> Rates:
        at = replace(BASE, rule=rule)
        return fold([round_of("ar", settings=at, overlaps=[0.8, 0.6], matches=[0.3, 0.1])] * 20).whole()

    assert played("exact").alpha_overlap == pytest.approx(0.7)
    assert played("equality").alpha_overlap == pytest.approx(0.2)
    assert played("equality").agreement_z == pytest.approx((20 - 8) / math.sqrt(20 * (0.21 + 0.09)))
    typical = played("typical")
    assert typical.alpha_overlap is typical.agreement_z is typical.formula_at_overlap is None
    assert typical.alpha_tested == 0.5
    assert [played(rule).mean_match for rule in ("exact", "equality", "typical")] == pytest.approx([0.2] * 3)


def test_z_is_null_where_acceptance_is_certain() -> None:
    greedy = fold([round_of("aar", overlaps=[1.0, 1.0, 0.0])] * 50).whole()
    assert greedy.agreement_z is None
    assert greedy.alpha_overlap == greedy.alpha_tested == pytest.approx(2 / 3)
    rounding = fold([round_of("aaa", overlaps=[1.0000001] * 3)] * 50).whole()
    assert rounding.agreement_z is None
    assert rounding.alpha_overlap == 1.0, "a sum above 1 by rounding is a chance of 1"
    assert rounding.formula_at_overlap == 4.0
    just_above = fold([round_of("a", overlaps=[0.998])]).whole()
    assert just_above.agreement_z == pytest.approx(0.002 / math.sqrt(0.998 * 0.002))


def test_a_pooled_run_leaves_rounds_without_a_chance_out_of_the_overlap() -> None:
    typical = replace(BASE, rule="typical")
    stats = fold([round_of("ar", overlaps=[0.8, 0.6])] * 3 + [round_of("aaa", settings=typical)] * 3)
    assert stats.whole().alpha_overlap == pytest.approx(0.7)
    assert stats.whole().agreement_z == pytest.approx((3 - 4.2) / math.sqrt(3 * 0.4))
    assert stats.whole().alpha_tested == 12 / 15
    assert stats.segment_rates().alpha_overlap is None


def test_c05_alpha_tested_is_what_the_formula_needs() -> None:
    k, alpha = 4, 0.8
    coins = np.random.default_rng(5).random((5000, k)) < alpha
    lengths = [k if row.all() else int(row.argmin()) for row in coins]
    stats = fold(round_of(accepting(n, k), overlaps=[alpha] * k) for n in lengths)
    rates = stats.segment_rates()
    assert rates.alpha_tested == pytest.approx(0.80, abs=0.01)
    assert rates.alpha_overlap == pytest.approx(0.8)
    assert rates.accepted_over_drafted == pytest.approx(0.59, abs=0.01)
    assert rates.formula_at_tested == pytest.approx(3.36, abs=0.05)
    assert rates.formula_at_overlap == pytest.approx(3.3616)
    assert rates.tokens_per_round is not None and rates.tokens_per_round_se is not None
    assert abs(rates.tokens_per_round - 3.3616) < 3 * rates.tokens_per_round_se
    spread = math.sqrt(np.var(lengths) / 5000)
    assert rates.tokens_per_round_se == pytest.approx(spread, rel=0.3)
    assert rates.agreement_z is not None and abs(rates.agreement_z) < 4
    chi = sum((rates.histogram[n] - e) ** 2 / e for n, e in rates.expected_histogram.items())
    assert chi < 23.5  # 1e-4 at 4 degrees of freedom
    for at in rates.per_position:
        assert at.conditional == pytest.approx(alpha, abs=0.03)
        assert at.unconditional == pytest.approx(alpha**at.position, abs=0.03)


def test_z_is_standard_normal_though_difficulty_comes_in_runs() -> None:
    rng = np.random.default_rng(11)
    zs = []
    for _ in range(120):
        stats, hard = RunStats(), False
        for index in range(1, 41):
            hard ^= rng.random() < 0.1
            overlaps = rng.uniform(0.1, 0.4, 3) if hard else rng.uniform(0.7, 1.0, 3)
            passed = rng.random(3) < overlaps
            n = 3 if passed.all() else int(passed.argmin())
            stats.add(round_of(accepting(n, 3), index, overlaps=overlaps.tolist()))
        zs.append(stats.whole().agreement_z)
    values = np.array(zs, dtype=float)
    assert abs(values.mean()) < 4 / math.sqrt(len(values))
    assert values.var() == pytest.approx(1.0, abs=0.5)


# -- timings and predictions


def test_c40_a_slowdown_is_told_by_model_and_by_measurement() -> None:
    """Target 10 ms, draft 9 ms, K = 4. Sixteen rounds that are exactly geometric at 1/2: 15 of 30 tests accepted."""
    lengths = [0] * 8 + [1] * 4 + [2] * 2 + [3, 4]
    timing = Timing(draft_ms=36.0, verify_ms=10.0, decide_ms=0.0, inspect_ms=5.0, total_ms=60.0)
    rates = fold(
        [round_of(accepting(n, 4), timing=timing) for n in lengths], Calibration(10.0, 9.0, 12)
    ).segment_rates()
    assert rates.alpha_tested == 0.5
    assert rates.tokens_per_round == rates.formula_at_tested == 1.9375
    assert rates.histogram == rates.expected_histogram == {1: 8, 2: 4, 3: 2, 4: 1, 5: 1}
    assert rates.c == pytest.approx(1 / 0.9)
    assert rates.speedup_model == pytest.approx((1 - 0.5**5) / (0.5 * (4 * 0.9 + 1)))
    assert rates.speedup_measured_cost == pytest.approx(10 * 31 / (16 * 46))
    assert rates.speedup_model == pytest.approx(0.42, abs=0.005)
    assert rates.best_k == 0
    assert rates.ceiling == pytest.approx(1 / 0.9)
    assert rates.break_even_alpha is not None and rates.break_even_alpha > 0.9
    assert rates.tokens_per_s == pytest.approx(1000 * 31 / (16 * 60))
    assert (rates.target_step_ms, rates.draft_step_ms, rates.at_length) == (10.0, 9.0, 12)


def test_medians_and_measured_cost_leave_the_right_rounds_out() -> None:
    def timing(draft: float, verify: float) -> Timing:
        return Timing(draft, verify, decide_ms=1.0, inspect_ms=draft / 10, total_ms=draft + verify + 9)

    rounds = [
        round_of("aar", timing=timing(3, 100)),
        round_of("aaa", timing=timing(5, 8)),
        round_of("", timing=timing(0, 5)),
        round_of("aii", timing=timing(5, 9)),
    ]
    rates = fold(rounds, Calibration(6.0, 1.5, 3)).whole()
    assert (rates.draft_ms, rates.verify_ms, rates.decide_ms, rates.inspect_ms) == (4.0, 8.5, 1.0, 0.4)
    assert rates.speedup_measured_cost == pytest.approx(6 * (3 + 4 + 1) / (104 + 14 + 6)), "without the cut round"
    assert rates.tokens_per_s == pytest.approx(1000 * 9 / (112 + 22 + 14 + 23))


def test_verify_time_by_ids_leaves_the_first_round_out() -> None:
    def at(verify: float) -> Timing:
        return replace(TIMING, verify_ms=verify)

    stats = fold(
        [
            round_of("aaa", timing=at(90)),
            round_of("aaa", timing=at(7)),
            round_of("aar", timing=at(8)),
            round_of("r", timing=at(3)),
            round_of("rui"[:2], timing=at(20)),
            round_of("aaa", timing=at(9.5)),
        ]
    )
    assert dict(stats.verify_times()).get(4) == 8.0
    assert dict(stats.verify_times(last=3)).get(4) == 7.5
    assert dict(stats.verify_times()).get(2) == 3.0
    assert dict(stats.verify_times()).get(9) is None
    assert dict(stats.verify_times(last=1)).get(4) is None
    assert dict(RunStats().verify_times()).get(1) is None


def test_without_a_draft_step_there_is_no_c() -> None:
    rates = fold(["ar", "aa"], Calibration(10.0, None, 3)).whole()
    assert rates.target_step_ms == 10.0
    assert rates.c is rates.speedup_model is rates.best_k is rates.break_even_alpha is rates.ceiling is None
    assert rates.speedup_measured_cost == pytest.approx(10 * 5 / 30)
    looked_up = replace(BASE, drafter="ngram")
    assert fold([round_of("ar", settings=looked_up)], Calibration(10.0, 2.0, 3)).whole().c is None
    uncalibrated = fold(["ar"]).whole()
    assert uncalibrated.speedup_measured_cost is uncalibrated.c is None


def test_the_model_speaks_about_the_configured_k_and_the_formula_about_the_real_one() -> None:
    rates = fold([round_of("a", settings=Settings(k=6)), round_of("r", settings=Settings(k=6))]).whole()
    assert rates.formula_at_tested == 1.5
    calibrated = fold([round_of("ar", settings=Settings(k=6))], Calibration(8.0, 1.0, 3)).whole()
    assert calibrated.speedup_model == formulas.speedup(0.5, 6, 8.0)
    assert calibrated.break_even_alpha == formulas.break_even_alpha(6, 8.0)


# -- segments


def test_k_alone_begins_a_segment_of_tokens_per_round_only() -> None:
    third = segmented().segment_rates(3)
    assert (third.first, third.last, third.tokens_per_round_first) == (1, 3, 3)
    assert third.alpha_tested == 6 / 7
    assert third.tokens_per_round == 3.0
    assert third.histogram == {1: 0, 2: 0, 3: 1}
    a = 6 / 7
    assert third.formula_at_tested == pytest.approx(1 + a + a * a)
    assert third.speedup_measured_cost == pytest.approx(10 * 3 / 15)
    assert third.speedup_model == formulas.speedup(a, 2, 5.0)


def test_temperature_begins_a_segment_of_everything() -> None:
    fifth = segmented().segment_rates(5)
    assert (fifth.first, fifth.last, fifth.tokens_per_round_first, fifth.rounds) == (4, 5, 4, 2)
    assert counts(fifth) == (4, 1, 2, 1, 0)
    assert fifth.tokens == 3
    sixth = segmented().segment_rates()
    assert (sixth.first, sixth.last, sixth.tokens_per_round_first) == (4, 6, 6)
    assert sixth.alpha_tested == 4 / 6
    assert sixth.tokens_per_round == 4.0
    assert [at.tested for at in sixth.per_position] == [3, 2, 1]


@pytest.mark.parametrize(
    "change",
    [
        {"temperature": 0.5},
        {"draft_temperature": 0.5},
        {"top_k": 5},
        {"top_p": 0.9},
        {"drafter": "ngram"},
        {"rule": "equality"},
    ],
)
def test_every_setting_but_k_begins_a_segment(change: dict[str, Any]) -> None:
    stats = fold(["aaaa", round_of("aaaa", settings=replace(BASE, k=5, **change))])
    assert stats.segment_rates().first == stats.segment_rates().tokens_per_round_first == 2
    assert stats.series().segment_starts == [2]


def test_whole_run_numbers_pool() -> None:
    whole = segmented().whole()
    assert (whole.first, whole.last, whole.tokens_per_round_first) == (1, 6, 1)
    assert counts(whole) == (4 + 4 + 2 + 2 + 2 + 3, 10, 3, 4, 0)
    assert whole.tokens_per_round == 16 / 6
    assert whole.histogram == {1: 2, 2: 1, 3: 1, 4: 1, 5: 1}
    assert segmented().whole(2) == segmented().segment_rates(2)


def test_series_restart_where_segments_begin() -> None:
    series = segmented().series()
    assert list(series.rounds) == [1, 2, 3, 4, 5, 6]
    assert series.n == [5, 1, 3, 1, 2, 4]
    assert series.segment_starts == [4]
    assert series.tokens_segment_starts == [3, 4, 6]
    assert series.alpha_tested == pytest.approx([1.0, 4 / 5, 6 / 7, 0.0, 1 / 3, 4 / 6])
    assert series.tokens_per_round == [5.0, 3.0, 3.0, 1.0, 1.5, 4.0]
    assert segmented().series(3).segment_starts == []
    assert segmented().series(3).tokens_segment_starts == [3]
    assert segmented().series(0).n == []


def test_other_events_change_nothing() -> None:
    stats = segmented()
    before = stats.whole()
    stats.add(Notice("hello"))
    assert stats.whole() == before
    assert stats.rounds == 6
