"""The bundled pair in the app: whatever a person presses, the run is the one that nobody touched, and its trace
stops, unfolds and explains alike."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from textual.pilot import Pilot

from specviz.breakpoints.monitor import parse_breakpoint
from specviz.core.events import Event, Header, Round, Settings, Timing
from specviz.core.options import PairOptions, RunOptions, RunRequest
from specviz.core.source import LIVE, Emit, Source
from specviz.decoder.source import LiveSource
from specviz.render.phases import phases
from specviz.session.recorder import Recorder
from specviz.trace.jsonl import read
from specviz.trace.replay import TraceSource
from specviz.ui.app import SpecvizApp
from tests.builders import known
from tests.ui.conftest import hit, options, ready, stops, until

SIZE = (120, 40)
SETTINGS = Settings(k=4)
REQUEST = RunRequest("Once upon a time there was", 3, SETTINGS)
CONDITIONS = ("N<=1", "reject<=2", "overlap<0.45", "p/q<0.2", "token=454", "text~the", "streak>=1", "end", "|z|>1")


class Loaded:
    """A source that is opened already, and whose header calls `` no`` an end of text, so that the condition holds."""

    capabilities = LIVE

    def __init__(self, source: LiveSource) -> None:
        self._source = source

    def open(self, emit: Emit) -> None:
        pass

    def run(
        self, request: RunRequest, settings: Callable[[], Settings], stopped: Callable[[], bool]
    ) -> Iterator[Event]:
        for event in self._source.run(request, settings, stopped):
            yield replace(event, end_ids=(454,)) if isinstance(event, Header) else event


@dataclass(frozen=True)
class Untouched:
    source: Source
    rounds: Sequence[Round]


@pytest.fixture(scope="module")
def untouched() -> Untouched:
    live = LiveSource(RunOptions(PairOptions(), SETTINGS, max_new_tokens=40, calibrate=0))
    live.open(lambda _event: None)
    events = live.run(REQUEST, lambda: SETTINGS, lambda: False)
    return Untouched(Loaded(live), [event for event in events if isinstance(event, Round)])


def timeless(rounds: Sequence[Round]) -> list[Round]:
    """Everything about the rounds but their times: ids, uniforms, probabilities, verdicts."""
    return [replace(r, timing=Timing(0, 0, 0, 0, 0)) for r in rounds]


def live_app(untouched: Untouched, path: Path, *conditions: str) -> SpecvizApp:
    return SpecvizApp(
        untouched.source,
        options(request=REQUEST, record=lambda: Recorder(path), breakpoints=tuple(map(parse_breakpoint, conditions))),
    )


def recorded_app(path: Path, *conditions: str) -> SpecvizApp:
    return SpecvizApp(TraceSource(path), options(trace=path, breakpoints=tuple(map(parse_breakpoint, conditions))))


@pytest.mark.parametrize("condition", CONDITIONS)
async def test_every_breakpoint_stops_a_live_run_and_its_trace_alike(
    condition: str, untouched: Untouched, tmp_path: Path
) -> None:
    path = tmp_path / "run.jsonl"
    app = live_app(untouched, path, condition)
    live = await stops(app)
    assert timeless(app.timeline.rounds) == timeless(untouched.rounds)
    assert await stops(recorded_app(path, condition)) == live
    assert live, "the condition was chosen to hold somewhere"


async def walk(app: SpecvizApp, rounds: int) -> list[tuple[int, int, str, str]]:
    """Unfold so many rounds by the key: (round, phase, title and first lines of the table) at every press."""
    seen = []
    async with app.run_test(size=SIZE) as pilot:
        await ready(pilot, app)
        await hit(pilot, "enter")
        while not (app.timeline.shown == rounds and app.timeline.reveal is None):
            before = app.timeline.shown, app.timeline.phase
            app.simulate_key("full_stop")
            await until(pilot, lambda: (app.timeline.shown, app.timeline.phase) != before)  # noqa: B023
            await pilot.pause()
            seen.append((app.timeline.shown, app.timeline.phase[0], _title(app), _cells(app)))
        await _finish(pilot, app)
    return seen


def _title(app: SpecvizApp) -> str:
    return str(app.main.round.border_title)


def _cells(app: SpecvizApp) -> str:
    panel = app.main.round
    return "\n".join(panel.render_line(y).text for y in range(6))


async def _finish(pilot: Pilot[None], app: SpecvizApp) -> None:
    app.simulate_key("space")
    await until(pilot, lambda: app.timeline.over and app.timeline.at_end)


async def test_phases_show_a_live_run_and_its_trace_alike_and_change_nothing(
    untouched: Untouched, tmp_path: Path
) -> None:
    path = tmp_path / "run.jsonl"
    app = live_app(untouched, path)
    live = await walk(app, 5)
    assert timeless(app.timeline.rounds) == timeless(untouched.rounds)
    assert [(index, phase) for index, phase, *_ in live] == [
        (r.index, phase) for r in untouched.rounds[:5] for phase in range(len(phases(r)))
    ]
    assert await walk(recorded_app(path), 5) == live


async def test_a_presentation_changes_nothing_and_leaves_no_wait_in_the_trace(
    untouched: Untouched, tmp_path: Path
) -> None:
    """The times of all rounds together are less than the waits between their phases alone."""
    path, pace = tmp_path / "run.jsonl", 0.04
    app = SpecvizApp(
        untouched.source, options(request=REQUEST, record=lambda: Recorder(path), present=True, paused=False, pace=pace)
    )
    async with app.run_test(size=SIZE) as pilot:
        await until(pilot, lambda: app.timeline.total >= 12)
        for _ in range(len(untouched.rounds)):
            await hit(pilot, "n")
        await until(pilot, lambda: app.timeline.over)
    assert timeless(app.timeline.rounds) == timeless(untouched.rounds)
    rounds = read(path).rounds
    waited = pace * sum(len(phases(round)) for round in rounds[:11])
    assert sum(known(round.timing.total_ms) for round in rounds[:11]) / 1000 < waited


async def test_switching_drafters_by_key_changes_no_greedy_id(untouched: Untouched, tmp_path: Path) -> None:
    greedy = replace(REQUEST, settings=Settings(k=4, temperature=0.0, draft_temperature=0.0))
    events = untouched.source.run(greedy, lambda: greedy.settings, lambda: False)
    reference = [token.id for event in events if isinstance(event, Round) for token in event.emitted]
    path = tmp_path / "run.jsonl"
    app = SpecvizApp(untouched.source, options(request=greedy, record=lambda: Recorder(path)))
    async with app.run_test(size=SIZE) as pilot:
        await ready(pilot, app)
        while not app.timeline.over:
            before = app.timeline.total
            app.simulate_key("n")
            await until(pilot, lambda: app.timeline.total > before or app.timeline.over)  # noqa: B023
            await hit(pilot, "o")
    rounds = app.timeline.rounds
    assert [token.id for round in rounds for token in round.emitted] == reference
    turns = ("model", "ngram", "layers")
    assert [round.settings.drafter for round in rounds] == [turns[i % 3] for i in range(len(rounds))]
    assert len(rounds) >= 4 and app.timeline.stats.segment_rates().first == len(rounds), "a segment each"
    restart = recorded_app(path)
    async with restart.run_test(size=SIZE) as pilot:
        await until(pilot, lambda: restart.timeline.over)
    told = restart.timeline.rounds
    assert [(r.settings, r.emitted[-1].id, len(r.emitted)) for r in told] == [
        (r.settings, r.emitted[-1].id, len(r.emitted)) for r in rounds
    ]


async def test_looking_closer_changes_no_id_no_uniform_and_no_random_state(
    untouched: Untouched, tmp_path: Path
) -> None:
    app = live_app(untouched, tmp_path / "run.jsonl")
    async with app.run_test(size=SIZE) as pilot:
        await ready(pilot, app)
        await hit(pilot, "enter")
        while not app.timeline.over:
            before = app.timeline.total
            app.simulate_key("n")
            await until(pilot, lambda: app.timeline.total > before or app.timeline.over)  # noqa: B023
            await hit(pilot, "left", "left", "p", "f", "F", "w", "m", "q", "G", "comma", "full_stop", "up", "G")
            assert app.main.inspector.display
        assert timeless(app.timeline.rounds) == timeless(untouched.rounds)
