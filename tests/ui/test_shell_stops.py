"""Phases, breakpoints, finding and the inspector by their keys, on a scripted source and on a recorded run."""

from collections.abc import Iterable
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
from textual.pilot import Pilot

from specviz.breakpoints.monitor import parse_breakpoint
from specviz.core.events import Header, Round, Settings
from specviz.render.phases import phases
from specviz.session.recorder import Recorder
from specviz.trace.replay import TraceSource
from specviz.ui.app import SpecvizApp
from specviz.ui.dialogs.breakpoints import BreakpointsScreen
from specviz.ui.dialogs.find import FindScreen, GoToScreen
from specviz.ui.metrics.screen import MetricsScreen
from tests.builders import known, make_round
from tests.ui.conftest import Script, hit, make_app, mode, on_main, options, ready, sampled, stops, until
from tests.ui.test_shell_run import screen_lines

SIZE = (120, 40)


async def walk_of_phases(pilot: Pilot[None], app: SpecvizApp, rounds: int) -> list[tuple[int, int]]:
    """Press the key of the next phase until ``rounds`` rounds are shown whole."""
    seen: list[tuple[int, int]] = []
    while app.timeline.shown < rounds or app.timeline.reveal is not None:
        before = app.timeline.shown, app.timeline.phase
        app.simulate_key("full_stop")
        await until(pilot, lambda: (app.timeline.shown, app.timeline.phase) != before)  # noqa: B023
        await pilot.pause()
        seen.append((app.timeline.shown, app.timeline.phase[0]))
    return seen


def every_phase(rounds: Iterable[Round]) -> list[tuple[int, int]]:
    return [(r.index, phase) for r in rounds for phase in range(len(phases(r)))]


async def test_phases_unfold_each_new_round_and_sample_nothing_else() -> None:
    script = Script()
    app = make_app(script)
    async with app.run_test(size=SIZE) as pilot:
        await ready(pilot, app)
        seen = await walk_of_phases(pilot, app, 3)
        assert script.sampled == 3
        assert seen == every_phase(app.timeline.rounds)
        back = []
        for _ in range(len(seen)):
            await hit(pilot, "comma")
            back.append((app.timeline.shown, app.timeline.phase[0]))
        assert back[:-1] == seen[-2::-1]
        assert app.timeline.shown == 0, "before the first phase stands the prompt"
        assert script.sampled == 3


async def test_in_a_phase_the_numbers_are_those_of_the_round_before() -> None:
    app = make_app()
    async with app.run_test(size=SIZE) as pilot:
        await ready(pilot, app)
        await sampled(pilot, app, 3)
        await hit(pilot, "p")
        two = app.timeline.rates
        await hit(pilot, "full_stop")
        assert app.timeline.shown == 3
        assert app.timeline.rates == two
        await hit(pilot, "comma", "n")
        assert (app.timeline.shown, app.timeline.reveal) == (3, None)
        assert app.timeline.rates != two


async def test_moving_in_a_phase_stays_in_it_and_does_not_look_ahead() -> None:
    app = make_app()
    async with app.run_test(size=SIZE) as pilot:
        await ready(pilot, app)
        await hit(pilot, "full_stop")
        await until(pilot, lambda: app.timeline.shown == 1)
        await hit(pilot, "full_stop")
        reveal = app.timeline.reveal
        assert (reveal, app.timeline.row) == (phases(app.timeline.rounds[0])[1], 1)
        await hit(pilot, "right")
        assert (app.timeline.reveal, app.timeline.row) == (reveal, 1), "the third token is not drafted yet"
        await hit(pilot, "left")
        assert (app.timeline.reveal, app.timeline.row) == (reveal, 0)


async def test_a_phase_while_running_unfolds_the_round_being_made_and_no_second_one() -> None:
    script = Script()
    app = make_app(script)
    async with app.run_test(size=SIZE) as pilot:
        await ready(pilot, app)
        await sampled(pilot, app, 2)
        script.gate.clear()
        await hit(pilot, "space", "full_stop", "full_stop")
        assert mode(app.playback) == "paused"
        script.gate.set()
        await until(pilot, lambda: app.timeline.total >= 3 and app.timeline.reveal is not None)
        assert (app.timeline.shown, app.timeline.phase[0]) == (3, 0)
        while app.timeline.total < script.sampled:
            await pilot.pause()
        assert (app.timeline.shown, app.timeline.phase[0]) == (3, 0), "what comes behind it waits"


def standing_at(app: SpecvizApp, phase: int) -> bool:
    drawn = app.main.plots._plots is not None and app.main.plots._timer is None
    return drawn and app.timeline.shown == 3 and app.timeline.phase[0] == phase


async def test_nothing_on_screen_tells_of_later_phases() -> None:
    """Two runs alike up to a phase look alike up to it, the last round's end and its breakpoint included."""

    accepted = make_round(3, 17, "✓✓✓✗")
    first, second, *others = accepted.drafted
    rejected = replace(
        accepted,
        drafted=(
            first,
            replace(second, verdict="rejected", u=0.999),
            *(replace(d, verdict="untested") for d in others),
        ),
        emitted=(accepted.emitted[0], replace(accepted.emitted[-1], bytes=b" else")),
        n_accepted=1,
        tested=2,
        stop="max_new_tokens",
    )

    async def screens(third: Round) -> list[str]:
        def make(index: int, settings: Settings) -> Round:
            return third if index == 3 else make_round(index, 8 + 3 * index, "✓✓✗·", settings=settings)

        app = make_app(Script(n_rounds=3, make=make), breakpoints=(parse_breakpoint("N<=2"),))
        seen = []
        async with app.run_test(size=SIZE) as pilot:
            await ready(pilot, app)
            await sampled(pilot, app, 2)
            for phase in range(6):
                app.simulate_key("full_stop")
                await until(pilot, partial(standing_at, app, phase))
                await pilot.pause()
                seen.append("\n".join(screen_lines(app)))
        return seen

    for one, other in zip(await screens(rejected), await screens(accepted), strict=True):
        assert one.splitlines() == other.splitlines()


async def test_a_jump_to_a_rejection_shows_its_round_whole() -> None:
    app = make_app()
    async with app.run_test(size=SIZE) as pilot:
        await ready(pilot, app)
        await sampled(pilot, app, 3)
        await hit(pilot, "p", "full_stop", "f")
        assert app.timeline.reveal is None


async def test_conditions_changed_while_rounds_are_under_way_leave_screen_and_worker_agreed() -> None:
    script = Script(n_rounds=100_000)
    app = make_app(script)
    async with app.run_test(size=SIZE) as pilot:
        await ready(pilot, app)
        await hit(pilot, "space")
        await until(pilot, lambda: len(app.queue) > 0)
        app.playback.monitor.change((parse_breakpoint("N<=9"),))
        await until(pilot, lambda: mode(app.playback) == "paused")
        assert not app.session.running
        await hit(pilot, "space")
        await until(pilot, lambda: not app.session.running)
        app.playback.monitor.change(())
        await until(pilot, lambda: mode(app.playback) == "paused")


async def test_a_run_pauses_at_the_round_that_hits_and_says_why() -> None:
    script = Script(n_rounds=12)
    app = make_app(script, breakpoints=(parse_breakpoint("reject<=1"),))
    async with app.run_test(size=SIZE) as pilot:
        await ready(pilot, app)
        await hit(pilot, "space")
        await until(pilot, lambda: mode(app.playback) == "paused")
        assert (app.timeline.shown, script.sampled) == (2, 2), "the third pattern is rejected at once"
        status = app.main.status_run.render().plain
        assert "PAUSED" in status
        assert "break: rejection" in status
        await hit(pilot, "space")
        await until(pilot, lambda: mode(app.playback) == "paused" and app.timeline.shown == 7)
        assert script.sampled == 7
        await hit(pilot, "p")
        assert "break:" not in app.main.status_run.render().plain


async def test_the_end_waits_where_a_breakpoint_hit_the_last_round() -> None:
    script = Script(n_rounds=3)
    script.header = Header("", "", {}, 50_000, (0,), script.header.prompt)
    app = make_app(script, breakpoints=(parse_breakpoint("N<=9"),))
    async with app.run_test(size=SIZE) as pilot:
        await ready(pilot, app)
        for expected in (1, 2, 3):
            await hit(pilot, "space")
            await until(pilot, lambda: mode(app.playback) == "paused" and app.timeline.total == expected)  # noqa: B023
        assert app.timeline.end is None
        await hit(pilot, "space")
        await until(pilot, lambda: app.timeline.end is not None)


async def test_breakpoints_are_set_by_the_form_and_hold_for_what_was_recorded_too() -> None:
    script = Script(n_rounds=12)
    app = make_app(script)
    async with app.run_test(size=SIZE) as pilot:
        await ready(pilot, app)
        await sampled(pilot, app, 6)
        await hit(pilot, "b")
        assert isinstance(app.screen, BreakpointsScreen)
        await pilot.press("1", "enter")
        assert on_main(app)
        assert [str(b) for b in app.playback.monitor.breakpoints] == ["N<=1"]
        await hit(pilot, "g", "space")
        await until(pilot, lambda: mode(app.playback) == "paused")
        assert len(app.timeline.rounds[app.timeline.shown - 1].emitted) == 1


async def test_finding_by_keys() -> None:
    app = make_app()
    async with app.run_test(size=SIZE) as pilot:
        await ready(pilot, app)
        await sampled(pilot, app, 8)
        await hit(pilot, "g")
        rejected = [(r.index, r.n_accepted) for r in app.timeline.rounds if r.tested > r.n_accepted]
        seen = []
        for _ in rejected:
            await hit(pilot, "f")
            seen.append((app.timeline.shown, app.timeline.row))
        assert sorted(set(seen)) == [place for place in rejected if place != (1, app.timeline.rounds[0].n_accepted)]
        await hit(pilot, "F")
        assert (app.timeline.shown, app.timeline.row) == seen[-3] if seen[-1] == seen[-2] else seen[-2]
        await hit(pilot, "w")
        worst = min(known(d.overlap) for r in app.timeline.rounds for d in r.tested_tokens)
        assert app.timeline.rounds[app.timeline.shown - 1].drafted[app.timeline.row].overlap == worst
        await hit(pilot, "colon")
        assert isinstance(app.screen, GoToScreen)
        await pilot.press("5", "enter")
        assert (on_main(app), app.timeline.shown) == (True, 5)
        await hit(pilot, "slash")
        assert isinstance(app.screen, FindScreen)
        await pilot.press("enter")
        assert on_main(app)


async def test_the_inspector_stays_open_while_moving_and_changes_nothing() -> None:
    app = make_app()
    async with app.run_test(size=SIZE) as pilot:
        await ready(pilot, app)
        await sampled(pilot, app, 3)
        await hit(pilot, "enter")
        assert app.main.inspector.display
        assert not app.main.plots.display
        first = app.main.inspector.border_title
        await hit(pilot, "left")
        assert app.main.inspector.border_title != first
        await hit(pilot, "p", "full_stop", "space")
        assert app.main.inspector.display
        await hit(pilot, "space", "escape")
        assert not app.main.inspector.display
        assert app.main.plots.display


@pytest.mark.parametrize("size", [(80, 24), (120, 40), (60, 20)])
async def test_a_click_on_a_row_opens_the_inspector(size: tuple[int, int]) -> None:
    app = make_app()
    async with app.run_test(size=size) as pilot:
        await ready(pilot, app)
        await sampled(pilot, app, 2)
        await pilot.click(app.main.text, offset=(4, 1))
        await pilot.click(app.main.round, offset=(8, 2))
        assert app.main.inspector.display
        assert app.main.inspector.size.height > 4


async def test_metrics_jump_to_a_token() -> None:
    app = make_app()
    async with app.run_test(size=SIZE) as pilot:
        await ready(pilot, app)
        await sampled(pilot, app, 6)
        await hit(pilot, "m")
        assert isinstance(app.screen, MetricsScreen)
        await hit(pilot, "q")
        assert on_main(app)
        await hit(pilot, "m", "escape")
        assert on_main(app)


async def test_a_recorded_run_stops_where_the_live_one_did(tmp_path: Path) -> None:
    breakpoints = (parse_breakpoint("N<=1"), parse_breakpoint("streak>=1"))
    path = tmp_path / "run.jsonl"
    app = make_app(Script(n_rounds=9), breakpoints=breakpoints, record=lambda: Recorder(path))
    live = await stops(app)
    recorded = SpecvizApp(TraceSource(path), options(trace=path, breakpoints=breakpoints))
    assert await stops(recorded) == live
    assert len(live) > 3
