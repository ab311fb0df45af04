"""Numbers of screens against a second computation, on a trace written by hand and on a live run; and their speed."""

import json
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from specviz.core.events import Top
from specviz.maths import rules
from specviz.session.recorder import Recorder
from specviz.stats.draft_queries import overlap_histogram
from specviz.stats.engine_rates import engine_rates
from specviz.stats.formula_gap import formula_gap
from specviz.stats.run_stats import RunStats
from specviz.stats.speed import speed_view
from specviz.trace.jsonl import Trace, read
from tests import reference_stats
from tests.builders import known
from tests.bundled_run import ROUNDS
from tests.recordings import SMALL, folded
from tests.reference_stats import differences
from tests.stats.drafted_rows import drafted_rows, rejected_ids


def against_recomputed(path: Path, trace: Trace, stats: RunStats, last: int | None) -> list[str]:
    """Where any number as of round ``last`` differs from its second computation."""
    run, rounds, rates = reference_stats.load(path, last), trace.rounds[:last], stats.segment_rates(last)
    peers = {(peer.engine, peer.name): (peer.value, peer.predicted) for peer in engine_rates(stats.since_k(last))}
    return [
        *differences(stats.whole(last), reference_stats.whole(run), "whole run"),
        *differences(rates, reference_stats.segment_rates(run), "on screen"),
        *differences(peers, reference_stats.peer_values(run), "peers"),
        *differences(formula_gap(trace.rounds, rates), reference_stats.formula_gap(run), "formula_gap"),
        *differences(speed_view(stats, last), reference_stats.speed(run), "speed"),
        *differences(drafted_rows(rounds), reference_stats.drafted_rows(run), "drafted"),
        *differences(rejected_ids(rounds), reference_stats.rejected_ids(run), "rejected ids"),
        *differences(overlap_histogram(rounds), reference_stats.overlap_histogram(run), "overlaps"),
    ]


def test_a_live_run_reads_as_recomputed(bundled_200: Path) -> None:
    """Within the first segment, behind its end, among plain rounds, behind them, and at the end."""
    trace = read(bundled_200)
    stats = folded(trace)
    assert len(trace.rounds) == stats.rounds == ROUNDS
    for last in (0, 1, 7, 20, 21, 57, 102, 105, 150, ROUNDS):
        assert against_recomputed(bundled_200, trace, stats, last) == []
    assert (stats.segment_rates().first, stats.segment_rates().tokens_per_round_first) == (21, 105)
    assert min(stats.segment_rates().drafts) > 0 < stats.whole().drafts[0]


def test_the_small_trace_reads_as_recomputed() -> None:
    trace = read(SMALL)
    stats = folded(trace)
    for last in range(stats.rounds + 1):
        assert against_recomputed(SMALL, trace, stats, last) == []


def test_the_second_computation_is_no_mirror() -> None:
    """It finds one wrong verdict, time or overlap."""
    trace = read(SMALL)
    run, stats = reference_stats.load(SMALL), folded(trace)
    run.rounds[1]["drafted"][0]["overlap"] += 1e-6
    assert differences(stats.whole(), reference_stats.whole(run)) != []
    run = reference_stats.load(SMALL)
    run.rounds[2]["timing"]["verify_ms"] += 1
    assert differences(speed_view(stats), reference_stats.speed(run)) != []
    run = reference_stats.load(SMALL)
    run.rounds[3]["drafted"][1]["accept_prob"] = 0.25
    assert differences(drafted_rows(trace.rounds), reference_stats.drafted_rows(run)) != []


def test_the_small_trace_is_one_that_the_recorder_would_write(tmp_path: Path) -> None:
    trace = read(SMALL)
    with Recorder(tmp_path / "again.jsonl") as recorder:
        for event in (trace.header, *trace.calibrations, *trace.rounds, trace.end):
            assert event is not None
            recorder.add(event)
    again = (tmp_path / "again.jsonl").read_text().splitlines()
    assert list(map(json.loads, again)) == list(map(json.loads, SMALL.read_text().splitlines()))


def test_the_small_trace_keeps_the_rule() -> None:
    """Its lists hold all four ids, so every number of a drafted token follows from them, and every verdict and draw."""
    for round_ in read(SMALL).rounds:
        places = [(vector(d.p_top), vector(d.q_top)) for d in round_.drafted]
        for d, (p, q) in zip(round_.drafted, places, strict=True):
            assert (d.p, d.q, d.accept_prob) == (p[known(d.id)], q[known(d.id)], rules.accept_prob(p, q, known(d.id)))
            assert (d.overlap, d.match) == pytest.approx((rules.overlap(p, q), rules.match(p, q)))
            residual, fell_back = rules.residual(p, q)
            assert vector(d.residual_top) == pytest.approx(residual)
            assert d.detail == ({"residual_is_p": True} if fell_back else {})
            assert (d.rank_p, d.rank_q) == (1 + (p > p[d.id]).sum(), 1 + (q > q[d.id]).sum())
            assert (d.entropy_p, d.entropy_q) == pytest.approx((entropy(p), entropy(q)))
            assert rules.inverse_cdf(q, known(d.draft_u)) == d.id
        last = round_.emitted[-1]
        behind = vector(last.p_top) if last.origin in ("bonus", "plain") else np.full(4, 0.25)
        decided = rules.decide_exact(
            [*(p for p, _ in places), behind],
            [q for _, q in places],
            [known(d.id) for d in round_.drafted],
            [known(d.u) for d in round_.drafted],
            known(round_.last_u),
        )
        if round_.cut:
            assert decided.n_accepted >= round_.n_accepted
        else:
            assert (decided.n_accepted, decided.last_id, decided.last_origin) == (
                round_.n_accepted,
                last.id,
                last.origin,
            )
        if last.origin == "resampled":
            assert decided.residual is not None
            assert last.residual == pytest.approx(decided.residual[last.id])


def vector(top: Top) -> NDArray[np.float64]:
    probs = np.zeros(4)
    for candidate in top:
        probs[candidate.id] = candidate.prob
    return probs


def entropy(probs: NDArray[np.float64]) -> float:
    above = probs[probs > 0]
    return float(-(above * np.log(above)).sum())


def test_the_small_trace_is_what_its_notes_say() -> None:
    stats = folded(read(SMALL))
    rates, whole = stats.segment_rates(), stats.whole()
    assert (rates.drafted, rates.accepted, rates.rejected, rates.untested, rates.ignored) == (15, 8, 3, 3, 1)
    assert (rates.tested, rates.tokens, rates.plain_rounds) == (11, 13, 1)
    exact = {
        "alpha_tested": 8 / 11,
        "alpha_overlap": 7.8 / 11,
        "mean_match": 3.25 / 11,
        "accepted_over_drafted": 8 / 15,
        "agreement_z": 0.2 / 1.76**0.5,
        "tokens_per_round": 2.5,
        "formula_at_tested": 3515 / 1331,
        "draft_ms": 6.0,
        "verify_ms": 12.0,
        "decide_ms": 1.0,
        "inspect_ms": 0.5,
        "c": 5.0,
        "tokens_per_s": 100.0,
        "speedup_model": 3515 / 1331 * 5 / 8,
        "best_k": 3,
        "ceiling": 11 / 3,
        "speedup_measured_cost": 1.25,
    }
    for name, value in exact.items():
        assert getattr(rates, name) == pytest.approx(value, abs=1e-12), name
    assert rates.break_even_alpha is not None
    assert sum(rates.break_even_alpha**i for i in (1, 2, 3)) == pytest.approx(3 / 5)
    assert [(at.accepted, at.tested, at.reached, at.drafted) for at in rates.per_position] == [
        (4, 5, 4, 5),
        (3, 4, 3, 5),
        (1, 2, 1, 4),
    ]
    assert (rates.histogram, whole.histogram) == ({1: 1, 2: 1, 3: 1, 4: 1}, {1: 2, 2: 1, 3: 1, 4: 1})
    assert (rates.drafts, whole.drafts) == ({3: 4}, {0: 1, 3: 4})
    expected = [4 * share for share in (3 / 11, 24 / 121, 192 / 1331, 512 / 1331)]
    assert list(rates.expected_histogram.values()) == pytest.approx(expected)
    assert whole.tokens_per_round == pytest.approx(2.2)
    assert whole.formula_at_tested == pytest.approx((4 * 3515 / 1331 + 1) / 5)
    assert whole.speedup_measured_cost == pytest.approx(110 / 91)
    assert rates.tokens_per_round_se is None and rates.alpha_overlap_ci is None  # under 16 rounds
