"""Accepted and resampled mass of a position, from what a trace keeps of it."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from specviz.core.events import Candidate, Drafted, Top
from specviz.core.rule import EQUALITY, EXACT
from specviz.lab.lossless import TOY_P, IdMass, condense, id_masses, total, toy_id_masses
from specviz.maths import rules
from tests.builders import make_drafted
from tests.maths.test_rules import Probs


def top(probs: Probs, most: int = 10) -> Top:
    order = sorted(range(len(probs)), key=lambda i: (-probs[i], i))[:most]
    return tuple(Candidate(i, f" t{i}".encode(), float(probs[i])) for i in order if probs[i] > 0)


def position(p: Probs, q: Probs, drafted: int) -> Drafted:
    left, _ = rules.residual(p, q)
    return make_drafted(
        f" t{drafted}",
        token_id=drafted,
        p=float(p[drafted]),
        q=float(q[drafted]),
        overlap=rules.overlap(p, q),
        match=rules.match(p, q),
        p_top=top(p),
        q_top=top(q),
        residual_top=top(left),
    )


@settings(deadline=None)
@given(st.integers(2, 40), st.integers(0, 2**32), st.booleans())
def test_every_row_is_exact_and_all_come_to_p(size: int, seed: int, holes: bool) -> None:
    random = np.random.default_rng(seed)
    p, q = random.dirichlet(np.full(size, 0.5)), random.dirichlet(np.full(size, 0.5))
    if holes and size > 4:
        p[random.integers(size, size=size // 2)] = 0
        q[random.integers(size, size=size // 2)] = 0
        if not (p.any() and q.any()):
            return
        p, q = p / p.sum(), q / q.sum()
    tested = position(p, q, int(rules.draws(q, random.random())))
    for rule, accepted in ((EXACT, np.minimum(p, q)), (EQUALITY, p * q)):
        rows = id_masses(tested, rule)
        assert rows[-1].bytes is None
        named = [row for row in rows if row.id is not None]
        assert len({row.id for row in named}) == len(named)
        assert tested.id in {row.id for row in named}
        for row in named:
            assert row.id is not None
            assert row.p == pytest.approx(p[row.id], abs=1e-9)
            assert row.q == pytest.approx(q[row.id], abs=1e-9)
            assert row.accepted == pytest.approx(accepted[row.id], abs=1e-9)
        whole = total(rows)
        assert [whole.p, whole.q] == pytest.approx([1, 1])
        assert whole.accepted == pytest.approx(accepted.sum(), abs=1e-9)
        assert sum(row.accepted + row.resampled for row in rows) == pytest.approx(1)


def test_q_of_an_id_outside_its_list_follows_from_the_residual() -> None:
    p = np.array([0.3, *[0.7 / 19] * 19])
    q = np.array([0.001, *[0.999 / 19] * 19])
    rows = {row.id: row for row in id_masses(position(p, q, 5))}
    assert rows[0].q == pytest.approx(0.001), "id 0 is not among the ten most probable of q"
    assert rows[0].resampled == pytest.approx(0.299)


def test_rounded_lists_never_make_a_negative() -> None:
    rounded = make_drafted(
        " a",
        token_id=0,
        p=0.6000004,
        q=0.7,
        overlap=0.6,
        p_top=(Candidate(0, b" a", 0.6), Candidate(1, b" b", 0.400001)),
        q_top=(Candidate(0, b" a", 0.7), Candidate(1, b" b", 0.3)),
        residual_top=(Candidate(1, b" b", 1.0),),
    )
    for row in id_masses(rounded):
        assert min(row.p, row.q, row.accepted, row.resampled) >= 0.0


def test_the_toy_pair() -> None:
    rows = toy_id_masses()
    assert [row.p for row in rows] == list(TOY_P)
    assert total(rows).accepted == pytest.approx(0.7)
    assert [row.resampled for row in rows] == pytest.approx([0.2, 0, 0.1, 0, 0, 0])


def test_too_many_rows_are_put_together() -> None:
    rows = toy_id_masses()
    few = condense(rows, 3)
    assert len(few) == 3
    assert few[:2] == rows[:2]
    assert [few[2].p, few[2].q] == pytest.approx([0.35, 0.45])
    assert condense(rows, 6) == rows
    assert total(condense(rows, 1)).accepted == pytest.approx(0.7)
    assert IdMass(None, None, 0.1, 0.2, 0.100001).resampled == 0.0
