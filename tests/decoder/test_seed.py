"""The same seed gives the same run, another one another, and nothing but its settings moves a round's numbers."""

import json
import queue
from collections import Counter
from dataclasses import asdict, replace

import numpy as np
import pytest
from scipy.stats import kstest

from specviz.core.events import Calibration, End, Event, Round, Settings, Timing
from specviz.core.options import PairOptions, RunOptions, RunRequest
from specviz.decoder.rounds import warm_up
from specviz.decoder.rounds.speculative import SpeculativeDecoder
from specviz.decoder.source import LiveSource
from specviz.decoder.tensors.sampling import RoundRandom
from specviz.session.worker import Session
from tests.builders import known
from tests.decoder.models import Shelf
from tests.decoder.run_helpers import Played, opened, play, setting

PROMPT = "w3 w5"
SETTINGS = setting(4)
NO_TIMES = Timing(0.0, 0.0, 0.0, 0.0, 0.0)


def folders(shelf: Shelf) -> tuple[str, str]:
    return shelf.random(1), shelf.noisy(1, 0.1)


@pytest.mark.parametrize("index", [1, 2, 1000])
@pytest.mark.parametrize("seed", [0, 7, 2**64 - 1])
def test_uniforms_are_the_written_ones(seed: int, index: int) -> None:
    raw = np.random.Philox(key=np.array([seed, index], dtype=np.uint64)).random_raw(65)
    expected = [(int(word) >> 11) / 2**53 for word in raw]
    for k in (0, 1, 32):
        uniforms = RoundRandom(seed, index, k)
        assert uniforms.values[0] == expected[0]
        assert [uniforms.values[2 * i - 1] for i in range(1, k + 1)] == expected[1 : 2 * k + 1 : 2]
        assert [uniforms.values[2 * i] for i in range(1, k + 1)] == expected[2 : 2 * k + 1 : 2]


def test_a_round_records_the_uniforms_of_its_slots(shelf: Shelf) -> None:
    run = play(opened(*folders(shelf)), PROMPT, SETTINGS, seed=7)
    for round_ in run.rounds:
        uniforms = RoundRandom(7, round_.index, 32)
        assert round_.last_u == uniforms.values[0]
        for i, token in enumerate(round_.drafted, 1):
            assert (token.draft_u, token.u) == (uniforms.values[2 * i - 1], uniforms.values[2 * i])


def test_spare_uniforms_are_none_of_the_slots() -> None:
    uniforms = RoundRandom(7, 1, 32)
    spare = uniforms.extra(3)
    taken = {uniforms.values[0], *uniforms.drafts(32), *uniforms.tests(32)}
    some = [next(spare) for _ in range(10)]
    assert len({*some, *taken}) == 75
    assert all(0 <= u < 1 for u in some)


def stepped(source: LiveSource, seed: int) -> Played:
    """The same run through a session, one permit a round."""
    events: queue.Queue[tuple[int, Event]] = queue.Queue()
    session = Session(source, lambda run, event: events.put((run, event)))
    session.start()
    run_id = session.begin(RunRequest(PROMPT, seed, SETTINGS), paused=True)
    seen: list[Event] = []
    while not seen or not isinstance(seen[-1], End):
        if not seen or isinstance(seen[-1], Round) or type(seen[-1]).__name__ == "Ready":
            session.step()
        run, event = events.get(timeout=30)
        if run == run_id:
            seen.append(event)
    session.close()
    return Played(seen)


def test_a_rehearsal_leaves_no_trace(shelf: Shelf) -> None:
    """Behind a rest the models are woken by rounds that are taken back: the run is the same to the last bit."""
    target, draft = folders(shelf)
    pair = opened(target, draft, max_new_tokens=40)
    run = play(pair, PROMPT, SETTINGS, seed=7)
    dry_run, rehearsed = SpeculativeDecoder.dry_run, []

    def counted(self: SpeculativeDecoder, settings: Settings) -> None:
        rehearsed.append(settings)
        dry_run(self, settings)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(SpeculativeDecoder, "dry_run", counted)
        patch.setattr(warm_up, "IDLE_S", -1.0)
        patch.setattr(warm_up, "REWARM_S", 0.03)
        again = play(pair, PROMPT, SETTINGS, seed=7)
    assert rehearsed
    assert [replace(r, timing=NO_TIMES) for r in again.rounds] == [replace(r, timing=NO_TIMES) for r in run.rounds]


def test_c32_the_same_seed_gives_the_same_run_free_or_stepped(shelf: Shelf) -> None:
    target, draft = folders(shelf)
    pair = opened(target, draft, max_new_tokens=40)
    run = play(pair, PROMPT, SETTINGS, seed=7)
    assert play(pair, PROMPT, SETTINGS, seed=8).ids != run.ids
    assert play(pair, PROMPT, SETTINGS, seed=7).decisions() == run.decisions()
    assert play(opened(target, draft, max_new_tokens=40), PROMPT, SETTINGS, seed=7).decisions() == run.decisions()
    options = RunOptions(PairOptions(draft, target), SETTINGS, calibrate=0, max_new_tokens=40)
    assert stepped(LiveSource(options), 7).decisions() == run.decisions()


def test_c33_seeds_matter_and_uniforms_are_uniform(shelf: Shelf) -> None:
    pair = opened(shelf.random(1), shelf.random(2), max_new_tokens=30)
    runs = [play(pair, PROMPT, setting(2, 1.5), seed=seed) for seed in range(1, 21)]
    assert len({tuple(run.ids) for run in runs}) > 15
    us = [u for run in runs for r in run.rounds for t in r.drafted for u in (t.u, t.draft_u)]
    us += [r.last_u for run in runs for r in run.rounds]
    assert all(0 <= known(u) < 1 for u in us)
    assert kstest(us, "uniform").pvalue > 1e-4


def test_calibration_changes_nothing(shelf: Shelf) -> None:
    target, draft = folders(shelf)
    untimed = play(opened(target, draft, calibrate=0), PROMPT, SETTINGS, seed=7)
    timed = play(opened(target, draft, calibrate=5), PROMPT, SETTINGS, seed=7)
    assert timed.decisions() == untimed.decisions()
    calibration = timed.only(Calibration)
    assert calibration.at_length == 2
    assert calibration.target_step_ms > 0
    assert calibration.draft_step_ms > 0
    assert not any(isinstance(event, Calibration) for event in untimed.events)


def test_settings_take_effect_with_the_round_that_asks_for_them(shelf: Shelf) -> None:
    pair = opened(*folders(shelf), max_new_tokens=40)
    plan = [
        setting(4),
        setting(4),
        setting(2, 0.5),
        setting(2, 0.5, top_k=3),
        setting(3, 0.0),
        setting(0),
        setting(5, 1.0, top_p=0.5),
    ]
    asked: list[Settings] = []

    def ask() -> Settings:
        asked.append(plan[min(len(asked), len(plan) - 1)])
        return asked[-1]

    run = play(pair, PROMPT, ask, seed=7)
    assert [round_.settings for round_ in run.rounds] == asked
    steady = play(pair, PROMPT, setting(4), seed=7)
    assert run.decisions()[:2] == steady.decisions()[:2]
    assert [round_.k for round_ in run.rounds[:7]] == [4, 4, 2, 2, 3, 0, 5]
    assert all(token.p == 1.0 for token in run.rounds[4].emitted)
    assert all(len(token.p_top) <= 3 for token in run.rounds[3].emitted)


def test_c84_every_number_is_finite_or_none(shelf: Shelf) -> None:
    pair = opened(shelf.random(1), shelf.random(2), calibrate=1)
    for settings in (setting(4, 0.7, top_k=2), setting(3, 1.0, top_p=0.3), setting(4, 0.0), setting(0, 2.0)):
        run = play(pair, PROMPT, settings)
        for event in run.events:
            json.dumps(asdict(event), default=bytes.hex, allow_nan=False)
        supports = [t for r in run.rounds for t in r.drafted if len(t.q_top) <= 2]
        assert not settings.top_k or supports
        json.dumps(run.stats.summary(), allow_nan=False)


def test_raw_distributions_are_told_where_processing_changed_them(shelf: Shelf) -> None:
    pair = opened(*folders(shelf))
    for settings in (setting(2), setting(2, top_p=1.0)):
        run = play(pair, PROMPT, settings)
        assert all(token.raw is None for token in run.emitted)
        assert all(token.raw is None for round_ in run.rounds for token in round_.drafted)
    flat = play(pair, PROMPT, setting(2))
    for settings in (setting(2, 0.5), setting(2, top_k=3), setting(2, draft_temperature=0.5)):
        run = play(pair, PROMPT, settings)
        first, same = run.rounds[0].drafted[0].raw, flat.rounds[0].drafted[0]
        assert first is not None
        assert (first.overlap, first.entropy_p, first.entropy_q) == (same.overlap, same.entropy_p, same.entropy_q)
        assert (first.p_top, first.q_top) == (same.p_top, same.q_top)


def test_top_lists_are_sorted_and_complete(shelf: Shelf) -> None:
    run = play(opened(*folders(shelf)), PROMPT, SETTINGS)
    for token in (token for round_ in run.rounds for token in round_.drafted):
        for top in (token.p_top, token.q_top, token.residual_top):
            assert 0 < len(top) <= 10
            assert list(top) == sorted(top, key=lambda c: (-c.prob, c.id))
            assert max(Counter(c.id for c in top).values()) == 1
        assert token.rank_q is not None
        assert token.rank_q == 1 + sum(c.prob > known(token.q) for c in token.q_top) or known(token.rank_q) > 10
