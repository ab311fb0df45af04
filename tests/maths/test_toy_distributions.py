"""Toy distributions: shapes by hand, what goes together and what does not."""

import numpy as np
import pytest

from specviz.maths.rules import overlap
from specviz.maths.toy_distributions import normalised, toy_pair


def test_shapes() -> None:
    pair = toy_pair("zipf", "uniform", 4)
    assert pair.p == pytest.approx(np.array([12, 6, 4, 3]) / 25)
    assert pair.q.tolist() == [0.25] * 4
    assert toy_pair("peaked", "equal", 4).p == pytest.approx([0.7, 0.1, 0.1, 0.1])
    assert len(toy_pair("zipf", "uniform").p) == 100


def test_every_pair_is_two_distributions() -> None:
    for p in ("zipf", "uniform", "peaked"):
        for q in ("zipf", "uniform", "peaked", "equal", "disjoint"):
            for vocab in (2, 3, 100):
                for mix in (0.0, 0.5, 1.0):
                    pair = toy_pair(p, q, vocab, mix)
                    assert pair.p.sum() == pytest.approx(1.0)
                    assert pair.q.sum() == pytest.approx(1.0)
                    assert (pair.p >= 0).all() and (pair.q >= 0).all()


def test_equal_disjoint_and_between() -> None:
    equal = toy_pair("zipf", "equal", 5)
    assert overlap(equal.p, equal.q) == pytest.approx(1.0)
    apart = toy_pair("zipf", "disjoint", 5)
    assert overlap(apart.p, apart.q) == 0.0
    assert overlap(apart.p, toy_pair("zipf", "disjoint", 5, 0.3).q) == pytest.approx(0.3)
    by_hand = toy_pair(np.array([0.5, 0.5, 0.0]), "disjoint")
    assert by_hand.q.tolist() == [0.0, 0.0, 1.0]


def test_numbers_are_weights() -> None:
    assert normalised([2, 6]).tolist() == [0.25, 0.75]
    assert normalised([1e308, 1e308]).tolist() == [0.5, 0.5]
    assert toy_pair(normalised([1, 3]), normalised([1, 1]), None).p.tolist() == [0.25, 0.75]


@pytest.mark.parametrize("weights", [[], [0, 0], [1, -1], [float("nan"), 1], [float("inf"), 1]])
def test_numbers_that_are_no_distribution(weights: list[float]) -> None:
    with pytest.raises(ValueError, match="probabilit"):
        normalised(weights)


def test_what_does_not_go_together() -> None:
    two, three = normalised([1, 1]), normalised([1, 1, 1])
    with pytest.raises(ValueError, match="cannot have 2 and 3 numbers"):
        toy_pair(two, three)
    with pytest.raises(ValueError, match="2 numbers do not fit a vocabulary of 5"):
        toy_pair(two, "uniform", 5)
    with pytest.raises(ValueError, match="leaves none for a disjoint q"):
        toy_pair(two, "disjoint")
    with pytest.raises(ValueError, match="two ids or more"):
        toy_pair("zipf", "disjoint", 1)
