"""Many formulas at once: rows against the printed values, notes where a rule of thumb fails, strict JSON."""

import json
import math

import pytest

from specviz.maths import formulas
from specviz.maths.formula_table import best_k_label, row, rows, thumb_notes


def test_a_row_holds_every_formula() -> None:
    one = row(0.8, 4, 10)
    assert f"{one.expected_tokens:.2f} {one.speedup:.2f} {one.best_speedup:.2f}" == "3.36 2.40 2.47"
    assert one.best_k == 6
    assert one.distribution == pytest.approx((0.2, 0.16, 0.128, 0.1024, 0.4096))
    assert one.ceiling == pytest.approx(5.0)
    assert one.break_even_alpha == formulas.break_even_alpha(4, 10)
    assert one.operations_factor == pytest.approx(5 / 3.3616)


def test_rows_are_all_combinations() -> None:
    table = rows((0.5, 0.8), (4, 8), (5.0, math.inf))
    assert [(r.c, r.alpha, r.k) for r in table[:3]] == [(5.0, 0.5, 4), (5.0, 0.5, 8), (5.0, 0.8, 4)]
    assert len(table) == 8


def test_json_is_strict_where_numbers_are_infinite() -> None:
    told = json.loads(json.dumps(row(1.0, 2, math.inf).as_json(), allow_nan=False))
    assert told["c"] == told["ceiling"] == "inf"
    assert told["best_k"] == 32
    assert row(0.5, 0, 0.5).as_json()["break_even_alpha"] is None
    assert best_k_label(32) == "≥ 32"
    assert best_k_label(6) == "6"


def test_the_rule_of_large_k_fails_where_the_reference_says() -> None:
    [note] = thumb_notes([0.8], [10.0])
    assert "at α = 0.8, c = 10 the best K is 6 (2.47×)" in note
    assert "K = 8 gives 2.40×, K = 16 gives 1.88×" in note


def test_no_note_where_the_rules_hold_or_say_nothing() -> None:
    assert thumb_notes([0.95, 0.99], [100.0]) == [], "K = 16 gains there"
    assert thumb_notes([0.8], [math.inf]) == [], "with free drafts more is better, and 16 is as good as 32"
    assert thumb_notes([0.5, 0.3], [10.0]) == []
    assert thumb_notes([0.7], [10.0]) == [], "the best K is 4"
    [note] = thumb_notes([0.6], [10.0])
    assert "best K is 3" in note


def test_impossible_numbers_are_refused() -> None:
    for alpha, k, c in ((1.1, 4, 5.0), (0.5, -1, 5.0), (0.5, 4, 0.0), (math.nan, 4, 5.0)):
        with pytest.raises(ValueError, match="must"):
            row(alpha, k, c)
