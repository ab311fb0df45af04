"""Random runs against a second, naive reading of the definitions."""

import math
from dataclasses import replace
from statistics import median
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import t as student_t

from specviz.core.events import Calibration, Round, Settings, Timing
from specviz.stats.run_stats import Rates
from tests.builders import known
from tests.rounds import BASE, accepting, fold, round_of

sixty_fourths = st.integers(0, 64).map(lambda n: n / 64)
milliseconds = st.integers(0, 200).map(lambda n: n / 8)


@st.composite
def random_round(draw: st.DrawFn, at: Settings) -> Round:
    k = draw(st.integers(0, at.k))
    n = draw(st.integers(0, k))
    verdicts = accepting(n, k)
    if n and draw(st.integers(0, 5)) == 0:
        verdicts = "a" * n + "i" * (k - n)
    return round_of(
        verdicts,
        settings=at,
        cut=None if "i" in verdicts or "r" in verdicts or not n else draw(st.integers(0, 4)) == 0,
        overlaps=draw(st.lists(sixty_fourths, min_size=k, max_size=k)),
        matches=draw(st.lists(sixty_fourths, min_size=k, max_size=k)),
        timing=Timing(*(draw(milliseconds) for _ in range(5))),
    )


@st.composite
def random_run(draw: st.DrawFn) -> list[Round]:
    rounds: list[Round] = []
    at = BASE
    for _ in range(draw(st.integers(1, 4))):
        at = replace(
            at,
            k=draw(st.integers(0, 4)),
            temperature=draw(st.sampled_from([1.0, 1.0, 0.5])),
            rule=draw(st.sampled_from(["exact", "exact", "equality", "typical"])),
        )
        rounds += draw(st.lists(random_round(at), max_size=25))
    return [replace(r, index=i) for i, r in enumerate(rounds, start=1)]


def naive_error(per_round: list[list[float]]) -> tuple[float, int] | None:
    """Batch means, block by block."""
    rounds = len(per_round)
    if rounds < 16:
        return None
    blocks: list[list[float]] = []
    left, remaining = list(per_round), math.isqrt(rounds)
    while remaining:
        size = math.ceil(len(left) / remaining)
        blocks.append([value for values in left[:size] for value in values])
        left, remaining = left[size:], remaining - 1
    blocks = [block for block in blocks if block]
    if len(blocks) < 2:
        return None
    every = [value for block in blocks for value in block]
    mean = sum(every) / len(every)
    squares = sum(len(block) * (sum(block) / len(block) - mean) ** 2 for block in blocks)
    s = math.sqrt(squares / len(every) * len(blocks) / (len(blocks) - 1))
    return s / math.sqrt(len(blocks)), len(blocks) - 1


def chances(r: Round) -> list[float]:
    tested = [d for d in r.drafted if d.verdict in ("accepted", "rejected")]
    if r.settings.rule == "exact":
        return [known(d.overlap) for d in tested]
    return [known(d.match) for d in tested] if r.settings.rule == "equality" else []


def naive(rounds: list[Round], spans: list[Round]) -> dict[str, Any]:
    """The definitions read one by one; ``spans`` are the rounds of tokens/round, cut ones included."""
    tested = [d for r in rounds for d in r.drafted if d.verdict in ("accepted", "rejected")]
    n_accepted_with_prob = sum(d.verdict == "accepted" for d in tested)
    o = [chance for r in rounds for chance in chances(r)]
    uncut = [r for r in spans if len(r.emitted) == r.n_accepted + 1]
    alpha, overlap = n_accepted_with_prob / len(tested) if tested else None, sum(o) / len(o) if o else None
    variance = sum(x * (1 - x) for x in o)
    scored = sum(r.n_accepted for r in rounds if chances(r))
    error = naive_error([chances(r) for r in rounds])
    half = error[0] * student_t.ppf(0.975, error[1]) if error else 0.0
    error_of_tokens = naive_error([[r.n_accepted + 1.0] if r in uncut else [] for r in spans])
    spent = sum(known(t.draft_ms) + known(t.verify_ms) + known(t.decide_ms) for t in (r.timing for r in uncut))
    total = sum(known(r.timing.total_ms) for r in rounds)
    positions = range(1, 1 + max((r.k for r in rounds), default=0))

    def formula(at: float | None) -> float | None:
        if at is None or not uncut:
            return None
        return sum(sum(at**i for i in range(r.k + 1)) for r in uncut) / len(uncut)

    def at_position(i: int) -> tuple[int, int, int, int, int]:
        here = [r.drafted[i - 1].verdict for r in rounds if r.k >= i]
        accepted = here.count("accepted")
        reached = sum(r.n_accepted >= i for r in rounds)
        return i, accepted, accepted + here.count("rejected"), reached, len(here) - here.count("ignored")

    return {
        "rounds": len(rounds),
        "tokens": sum(len(r.emitted) for r in rounds),
        "tested": len(tested),
        "alpha_tested": alpha,
        "alpha_overlap": overlap,
        "alpha_overlap_ci": None
        if error is None or overlap is None
        else (max(0, overlap - half), min(1, overlap + half)),
        "mean_match": sum(known(d.match) for d in tested) / len(tested) if tested else None,
        "agreement_z": (scored - sum(o)) / math.sqrt(variance) if variance >= 1e-3 else None,
        "tokens_per_round": sum(r.n_accepted + 1 for r in uncut) / len(uncut) if uncut else None,
        "tokens_per_round_se": error_of_tokens and error_of_tokens[0],
        "histogram": {n: sum(r.n_accepted + 1 == n for r in uncut) for n in range(1, 2 + max(r.k for r in uncut))}
        if uncut
        else {},
        "formula_at_tested": formula(alpha),
        "formula_at_overlap": formula(overlap),
        "per_position": [at_position(i) for i in positions],
        "verify_ms": median([known(r.timing.verify_ms) for r in rounds]) if rounds else None,
        "tokens_per_s": 1000 * sum(len(r.emitted) for r in rounds) / total if total else None,
        # a round that takes less than the 10 ms of a target step contradicts the calibration
        "speedup_measured_cost": 10 * sum(len(r.emitted) for r in uncut) / spent
        if spent >= 10 * len(uncut) and any(r.k for r in uncut)
        else None,
    }


def assert_reads_as(rates: Rates, expected: dict[str, Any]) -> None:
    for name, value in expected.items():
        actual: Any = getattr(rates, name)
        if name == "per_position":
            actual = [(at.position, at.accepted, at.tested, at.reached, at.drafted) for at in actual]
            assert actual == value
            continue
        assert actual == (value if value is None else pytest.approx(value, abs=1e-9)), name


@settings(max_examples=60)
@given(random_run(), st.data())
def test_random_runs_read_as_defined(rounds: list[Round], data: st.DataObject) -> None:
    stats = fold(rounds, Calibration(10.0, 3.0, 5))
    last = data.draw(st.integers(0, len(rounds)))
    prefix = rounds[:last]

    def current(same: Any) -> list[Round]:
        begin = next((i for i in range(last, 0, -1) if same(prefix[i - 1]) != same(prefix[-1])), 0)
        return prefix[begin:]

    segment = current(lambda r: replace(r.settings, k=0))
    assert_reads_as(stats.segment_rates(last), naive(segment, current(lambda r: r.settings)))
    assert_reads_as(stats.whole(last), naive(prefix, prefix))
    assert stats.segment_rates(last) == fold(prefix, Calibration(10.0, 3.0, 5)).segment_rates()


@settings(max_examples=25)
@given(random_run())
def test_series_are_the_on_screen_rates_of_every_prefix(rounds: list[Round]) -> None:
    stats = fold(rounds)
    series = stats.series()
    for i, last in enumerate(series.rounds):
        rates = stats.segment_rates(last)
        low, high = rates.alpha_tested_ci or (None, None)
        shown = {
            "alpha_tested": rates.alpha_tested,
            "alpha_tested_low": low,
            "alpha_tested_high": high,
            "alpha_overlap": rates.alpha_overlap,
            "tokens_per_round": rates.tokens_per_round,
            "formula_at_tested": rates.formula_at_tested,
            "formula_at_overlap": rates.formula_at_overlap,
        }
        for name, value in shown.items():
            assert getattr(series, name)[i] == (value if value is None else pytest.approx(value, abs=1e-12)), name
        assert (rates.first == last > 1) == (last in series.segment_starts)
        assert (rates.tokens_per_round_first == last > 1) == (last in series.tokens_segment_starts)
    middle = len(rounds) // 2
    assert stats.series(middle).alpha_tested == series.alpha_tested[:middle]
