"""The lab without a screen: sliders, the measured point, formulas with numbers."""

import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specviz.core.events import Event, Settings
from specviz.lab.model import (
    NAMES,
    STOPS,
    LabPoint,
    Name,
    SliderValues,
    cost,
    lab_point,
    slider_fraction,
    speed_curve,
    starting_values,
    token_curve,
)
from specviz.lab.model import written_formulas as written_of
from specviz.maths import formulas
from specviz.maths.formula_table import row
from specviz.stats.run_stats import RunStats
from tests.builders import make_calibration, make_header, make_round, make_run


def folded(*events: Event) -> RunStats:
    stats = RunStats()
    for event in events:
        stats.add(event)
    return stats


def test_stops_rise() -> None:
    for name in NAMES:
        assert list(STOPS[name]) == sorted(set(STOPS[name])), name
    assert STOPS["c"][-1] == math.inf
    assert (STOPS["alpha"][0], STOPS["alpha"][-1], STOPS["k"][-1]) == (0.0, 1.0, 32)


def test_a_slider_moves_by_stops_and_stays_within() -> None:
    choice = SliderValues()
    assert choice.stepped("alpha", 1).alpha == 0.81
    assert choice.stepped("alpha", -10).alpha == 0.7
    assert choice.stepped("alpha", 1000).alpha == 1.0
    assert choice.stepped("k", -1000).k == 0
    assert choice.stepped("c", 1000).c == math.inf
    assert choice.stepped("c", 1000).stepped("c", -1).c == 1000


def test_from_between_two_stops_to_the_next() -> None:
    choice = SliderValues(alpha=0.7282, c=5.4)
    assert choice.stepped("alpha", 1).alpha == 0.73
    assert choice.stepped("alpha", -1).alpha == 0.72
    assert choice.stepped("c", 1).c == 5.5
    assert choice.stepped("c", -1).c == 5.0


@given(st.sampled_from(NAMES), st.floats(0, 1))
def test_a_place_on_a_slider_and_back(name: Name, at: float) -> None:
    choice = SliderValues().at_fraction(name, at)
    assert abs(choice.fraction(name) - at) <= 0.5 / (len(STOPS[name]) - 1) + 1e-12
    assert choice.at_fraction(name, choice.fraction(name)) == choice


def test_shares_between_and_beyond_stops() -> None:
    assert slider_fraction("alpha", 0.725) == pytest.approx(0.725)
    assert slider_fraction("c", 1e6) == pytest.approx(1 - 1 / (len(STOPS["c"]) - 1))
    assert slider_fraction("c", 0.01) == 0.0
    assert slider_fraction("c", math.inf) == 1.0


def test_starting_values() -> None:
    assert starting_values(None) == SliderValues(0.8, 4, 10.0)
    assert starting_values(LabPoint(k=6, alpha=0.7, c=5.4)) == SliderValues(0.7, 6, 5.4)
    assert starting_values(LabPoint(k=40)) == SliderValues(0.8, 32, 10.0)


def test_the_point_of_a_run() -> None:
    rounds = [make_round(1, 0, "✓✗··"), make_round(2, 2, "✓✓✓✓"), make_round(3, 7, "✗···")]
    stats = folded(make_header(), make_calibration(), *rounds)
    point = lab_point(stats.segment_rates(), rounds[-1].settings, rounds, (2, 3))
    assert point is not None
    assert point.alpha == pytest.approx(5 / 7)
    assert point.tokens_per_round == pytest.approx(8 / 3)
    assert point.histogram == {1: 1, 2: 1, 3: 0, 4: 0, 5: 1}
    assert [(place.round, place.row) for place in point.positions] == [
        (1, 0), (1, 1), (2, 0), (2, 1), (2, 2), (2, 3), (3, 0)
    ]  # fmt: skip
    assert point.positions[point.at].round == 2 and point.positions[point.at].row == 3
    beyond = lab_point(stats.segment_rates(), rounds[-1].settings, rounds, (1, 3))
    assert beyond is not None and beyond.at == 1, "an untested row: the tested one before it"
    assert point.c is not None
    assert point.at_k is not None and point.at_k.ci is None, "no error under 16 rounds"


def test_a_run_without_rounds_has_no_point() -> None:
    assert lab_point(RunStats().segment_rates(), None, []) is None


def test_only_the_segment_counts() -> None:
    rounds = [make_round(1, 0, "✓✓✓✓"), make_round(2, 5, "✗···", settings=Settings(temperature=0.5))]
    stats = folded(make_header(), *rounds)
    point = lab_point(stats.segment_rates(), rounds[-1].settings, rounds)
    assert point is not None
    assert (point.alpha, point.c) == (0.0, None)
    assert [place.round for place in point.positions] == [2]


def test_drafts_without_a_model_cost_nothing() -> None:
    rounds = [make_round(1, 0, "✓✗··", settings=Settings(drafter="ngram"))]
    stats = folded(make_header(), make_calibration(), *rounds)
    point = lab_point(stats.segment_rates(), rounds[-1].settings, rounds)
    assert point is not None and point.c == math.inf


def test_an_interval_with_enough_rounds() -> None:
    rounds = make_run(40, 4, 3)
    stats = folded(make_header(), *rounds)
    point = lab_point(stats.segment_rates(), rounds[-1].settings, rounds)
    assert point is not None and point.at_k is not None and point.at_k.ci is not None
    assert point.at_k.value == point.tokens_per_round and point.at_k.half_width == pytest.approx(point.half_width)
    assert point.at_k.ci[0] < point.at_k.value < point.at_k.ci[1]
    assert replace(point.at_k, half_width=None).ci is None


def test_short_and_plain_rounds() -> None:
    """K is 4; one round drafted 2 and two drafted nothing. Accepted 1 + 4 + 2 of 8 tested."""
    set_to = Settings(k=4)
    rounds = [
        make_round(1, 0, "✓✗··", settings=set_to),
        make_round(2, 2, "✓✓✓✓", settings=set_to),
        make_round(3, 7, "", plain_reason="no_match", settings=set_to),
        make_round(4, 8, "✓✓", settings=set_to),
        make_round(5, 11, "", plain_reason="no_match", settings=set_to),
    ]
    rates = folded(make_header(), make_calibration(), *rounds).segment_rates()
    point = lab_point(rates, rounds[-1].settings, rounds)
    assert point is not None and point.alpha == pytest.approx(7 / 8)
    assert (point.drafts, point.plain_rounds, point.mixed, point.mean_k) == ({0: 2, 2: 1, 4: 2}, 2, True, 2.0)
    formula = (2 * formulas.expected_tokens(7 / 8, 4) + formulas.expected_tokens(7 / 8, 2) + 2) / 5
    assert point.formula_at_tested == pytest.approx(formula)
    assert point.expected_histogram(7 / 8) == rates.expected_histogram
    assert point.at_k is not None and point.at_k.value == 3.5, "2 and 5 tokens"
    plain = lab_point(rates, replace(rounds[-1].settings, k=3), rounds)
    assert plain is not None and plain.at_k is None


def test_curves() -> None:
    assert token_curve(0.5)[:3] == (1.0, 1.5, 1.75)
    assert speed_curve(0.8, 10)[6] == pytest.approx(formulas.best_k(0.8, 10)[1])
    assert len(token_curve(1.0)) == len(speed_curve(0.2, 0.1)) == 33


def test_written_out() -> None:
    told = dict(written_of(row(0.8, 4, 10)))
    assert told["E[N] = (1 − α^(K+1))/(1 − α)"] == "(1 − .800^5)/(1 − .800) = 3.36"
    assert told["speedup = E[N]·c/(c + K)"] == "3.36·10/(10 + 4) = 2.40×"
    assert told["best K = argmax speedup"] == "K 6: 2.47×"
    assert told["break-even: E[N] = 1 + K/c"] == ".287 at K 4"
    assert told["ceiling = max(1, min(c, 1/(1 − α)))"] == "5.00×"
    values = [value for _, value in written_of(row(1.0, 0, math.inf))]
    assert values == ["0 + 1 = 1.00", "E[N] = 1.00×", "K ≥ 32: 33.00×", "none: nothing is drafted", "inf×"]
    assert "none: c < 1, no K helps" in [value for _, value in written_of(row(0.5, 4, 0.5))]
    assert [cost(c) for c in (5.432, 0.1, 150.0, 999.9, math.inf)] == ["5.43", "0.1", "150", "1000", "inf"]
