"""The gap of the independence assumption and its causes, by hand."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from specviz.core.events import Round, Settings
from specviz.maths.estimators import wilson
from specviz.stats.formula_gap import AcceptanceRate, FormulaGap, formula_gap
from specviz.trace.jsonl import read
from tests.recordings import SMALL, folded
from tests.rounds import BASE, accepting, fold, round_of


def numbered(items: Sequence[str | Round]) -> list[Round]:
    made = (round_of(item) if isinstance(item, str) else item for item in items)
    return [replace(r, index=i) for i, r in enumerate(made, start=1)]


def of(*items: str | Round) -> FormulaGap:
    rounds = numbered(items)
    return formula_gap(rounds, fold(rounds).segment_rates())


def counts(share: AcceptanceRate) -> tuple[int, int]:
    return share.accepted, share.tested


def test_acceptance_of_point_seven_everywhere_at_k_5() -> None:
    """10,000 rounds in the shares of chance .7: conditional .70 flat, unconditional .70 .49 .34 .24 .17, no gap."""
    reached = [10_000, 7000, 4900, 3430, 2401, 1681, 0]
    shapes = [round_of(accepting(n, 5), settings=Settings(k=5)) for n in range(6)]
    run = [shapes[n] for n in range(6) for _ in range(reached[n] - reached[n + 1])]
    rounds = [replace(r, index=i) for i, r in enumerate(run, start=1)]
    rates = fold(rounds).segment_rates()
    assert [f"{at.conditional:.2f}" for at in rates.per_position] == ["0.70"] * 5
    assert [f"{at.unconditional:.2f}" for at in rates.per_position] == ["0.70", "0.49", "0.34", "0.24", "0.17"]
    found = formula_gap(rounds, rates)
    assert [f"{share.rate:.2f}" for share in found.later_positions] == ["0.70"] * 4
    assert [counts(share) for share in found.later_positions] == [
        (4900, 7000),
        (3430, 4900),
        (2401, 3430),
        (1681, 2401),
    ]
    assert found.gap == pytest.approx(0, abs=1e-3)


def test_the_gap_of_easy_and_hard_rounds() -> None:
    """One round accepts all, one nothing: 5 + 1 tokens over 2 rounds; the formula at 4/5 takes them for alike."""
    found = of("aaaa", "ruuu")
    assert found.measured == 3.0
    assert found.formula == pytest.approx(3.3616)
    assert found.gap == pytest.approx(0.3616)


def test_position_1_by_how_the_round_before_ended() -> None:
    """Behind a rejection: accepted, rejected, accepted; behind a bonus: accepted, rejected."""
    found = of("ru", "aa", "aa", "ru", "ru", "aa")
    assert counts(found.first_after_rejection) == (2, 3)
    assert counts(found.first_after_full) == (1, 2)
    assert found.first_after_full == AcceptanceRate(1, 2, 0.5, wilson(1, 2))


def test_the_first_round_and_neighbours_of_plain_rounds_count_for_neither() -> None:
    found = of("aa", "", "ru", "", "aa", "")
    assert counts(found.first_after_rejection) == counts(found.first_after_full) == (0, 0)
    assert found.first_after_full == AcceptanceRate(0, 0, None, None)


def test_a_round_behind_a_change_of_temperature_is_a_first_round() -> None:
    hot = replace(BASE, temperature=1.5)
    found = of("aaaa", round_of("ruuu", settings=hot), round_of("aruu", settings=hot))
    assert counts(found.first_after_rejection) == (1, 1)
    assert counts(found.first_after_full) == (0, 0)
    assert [(at.first, at.last) for at in found.by_quarter] == [(2, 2), (3, 3)]


def test_only_rounds_of_the_rates_are_looked_at() -> None:
    """Of the whole run or of its beginning, whatever more is handed over."""
    rounds = numbered(["aaaa", "ruuu", "aaaa", "aaaa", "ruuu", "ruuu"])
    stats = fold(rounds)
    assert formula_gap(rounds, stats.segment_rates(3)) == formula_gap(rounds[:3], stats.segment_rates(3))
    assert formula_gap(rounds[:3], stats.segment_rates(3)).by_quarter[-1].last == 3


def test_a_table_says_the_same_of_every_range() -> None:
    """As of any round, stepping back too, and behind changes of temperature: as from the rounds themselves."""
    hot = replace(BASE, temperature=1.5)
    warm = round_of("aaru", settings=hot, overlaps=[0.1, 0.3, 0.7, 0.9])
    shapes: list[str | Round] = ["aaru", "aaaa", "", "ruuu", "aiii", warm]
    rounds = numbered([shapes[(i * i + i // 9) % (5 if i < 150 else 6)] for i in range(300)])
    stats = fold(rounds)
    assert len({stats.segment_rates(last).first for last in range(1, 301)}) > 40
    for last in (300, 299, 1, 150, 153, 64, 65, 66, 2, 128, 0):
        rates = stats.segment_rates(last)
        told, summed = formula_gap(rounds, rates), formula_gap(stats.table, rates)
        assert replace(summed, by_quarter=()) == replace(told, by_quarter=())
        for one, other in zip(summed.by_quarter, told.by_quarter, strict=True):
            assert replace(one, overlap=None) == replace(other, overlap=None)
            assert one.overlap == pytest.approx(other.overlap, abs=1e-12)


def test_later_positions_given_that_they_were_tested() -> None:
    found = of("aaru", "aaaa", "ruuu", "aiii", round_of("a", settings=replace(BASE, k=1)))
    assert [counts(share) for share in found.later_positions] == [(2, 2), (1, 2), (1, 1)]
    assert [share.rate for share in found.later_positions] == [1.0, 0.5, 1.0]


def test_drift_over_quarters() -> None:
    """Ten rounds: 2, 3, 2, 3 of them, from easy to hard."""
    hard = round_of("ru", overlaps=[0.25, 0.75])
    easy = round_of("aa", overlaps=[1.0, 0.5])
    found = of(easy, easy, easy, easy, hard, hard, hard, hard, hard, round_of("", plain_reason="no_match"))
    shown: list[Any] = [
        (at.first, at.last, *counts(at.share), at.overlap, at.tokens_per_round) for at in found.by_quarter
    ]
    assert shown == [
        (1, 2, 4, 4, 0.75, 3.0),
        (3, 5, 4, 5, pytest.approx(3.25 / 5), pytest.approx(7 / 3)),
        (6, 7, 0, 2, 0.25, 1.0),
        (8, 10, 0, 2, 0.25, 1.0),
    ]


def test_drift_takes_the_accept_chance_of_the_rule_and_uncut_rounds() -> None:
    equality, typical = replace(BASE, rule="equality"), replace(BASE, rule="typical")
    found = of(round_of("aiii", settings=equality, matches=[0.125] * 4))
    assert [(at.overlap, at.tokens_per_round) for at in found.by_quarter] == [(0.125, None)]
    assert [at.overlap for at in of(round_of("aaaa", settings=typical)).by_quarter] == [None]


@pytest.mark.parametrize(("rounds", "parts"), [(0, 0), (1, 1), (3, 3), (4, 4), (5, 4), (403, 4)])
def test_quarters_are_as_even_as_can_be(rounds: int, parts: int) -> None:
    by_quarter = of(*["aaru"] * rounds).by_quarter
    assert len(by_quarter) == parts
    sizes = [at.last - at.first + 1 for at in by_quarter]
    assert sum(sizes) == rounds and max(sizes, default=0) - min(sizes, default=0) <= 1
    assert [at.first for at in by_quarter[1:]] == [at.last + 1 for at in by_quarter[:-1]]


def test_nothing_before_the_first_round() -> None:
    found = formula_gap([], fold([]).segment_rates())
    assert (found.measured, found.formula, found.gap, found.later_positions, found.by_quarter) == (
        None,
        None,
        None,
        (),
        (),
    )


def test_plain_rounds_alone_have_no_gap() -> None:
    found = of("", "")
    assert (found.measured, found.formula, found.gap) == (1.0, None, None)


def test_the_small_trace() -> None:
    trace = read(SMALL)
    found = formula_gap(trace.rounds, folded(trace).segment_rates())
    assert found.gap == pytest.approx(3515 / 1331 - 2.5)
    assert counts(found.first_after_rejection) == (3, 3)
    assert counts(found.first_after_full) == (0, 1)
    assert [counts(share) for share in found.later_positions] == [(3, 4), (1, 2)]
    shown: list[Any] = [
        (at.first, at.last, *counts(at.share), at.overlap, at.tokens_per_round) for at in found.by_quarter
    ]
    assert shown == [
        (1, 1, 0, 0, None, 1.0),
        (2, 3, 4, 5, pytest.approx(3.8 / 5), 3.0),
        (4, 4, 0, 1, 0.2, 1.0),
        (5, 6, 4, 5, pytest.approx(3.8 / 5), 3.0),
    ]
