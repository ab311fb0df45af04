"""The presentation on the whole app: by keys and at a pace, live and recorded."""

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from specviz.core.events import End, Event, Notice, Settings
from specviz.core.options import RunRequest
from specviz.render.phases import phases
from specviz.session.recorder import Recorder
from specviz.trace.replay import TraceSource
from specviz.ui.app import SpecvizApp
from specviz.ui.dialogs.help import HelpScreen
from specviz.ui.present.captions import PRESENT_KEYS
from specviz.ui.present.screen import PresentScreen
from specviz.ui.run.playback import next_pace
from specviz.ui.shared.app_options import AUTO_PACE
from tests.builders import known, make_header, make_round
from tests.core.test_safe_text import NASTY, assert_safe
from tests.ui.conftest import PROMPTS, Script, hit, make_app, on_main, options, ready, until

SIZES = ((80, 24), (120, 40), (200, 50))
LARGE = SIZES[1]


def presented(script: Script | None = None, *, moving: bool = False, **changes: Any) -> SpecvizApp:
    """An app that opens as a presentation; ``moving``: phases come about over time, as they do for people."""
    app = make_app(script, present=True, **changes)
    app.animation_level = "full" if moving else "none"
    return app


def recorded(tmp_path: Path, name: str = "run.jsonl", **changes: Any) -> Path:
    """The trace of a scripted run."""
    path = tmp_path / name
    with Recorder(path) as recorder:
        for event in played(Script(**{"n_rounds": 4, **changes})):
            recorder.add(event)
    return path


def played(script: Script) -> Iterator[Event]:
    return script.run(RunRequest(PROMPTS[0][1], 0, Settings()), Settings, lambda: False)


def replayed(*paths: Path, **changes: Any) -> SpecvizApp:
    recordings = paths if len(paths) > 1 else ()
    app = SpecvizApp(
        TraceSource(*paths), options(present=True, trace=paths[0], recordings=recordings, prompts=(), **changes)
    )
    app.animation_level = "none"
    return app


def stage(app: SpecvizApp) -> PresentScreen:
    assert app.presentation is not None
    return app.presentation


def lines(app: SpecvizApp) -> list[str]:
    return [strip.text.rstrip() for strip in app.screen._compositor.render_strips()]


def place(app: SpecvizApp) -> tuple[int, int]:
    return app.timeline.shown, app.timeline.phase[0]


async def step(pilot: Pilot[None], app: SpecvizApp, key: str = "pagedown") -> None:
    """Press a key of the clicker and wait until another phase is shown."""
    before = place(app)
    app.simulate_key(key)
    await until(pilot, lambda: place(app) != before, key)
    await pilot.pause()


# -- phases by the clicker


async def test_the_clicker_walks_every_phase_and_back() -> None:
    script = Script(n_rounds=3)
    app = presented(script)
    async with app.run_test(size=LARGE) as pilot:
        await ready(pilot, app)
        assert place(app) == (0, -1), "nothing begins before the first click"
        seen = []
        for _ in range(10 + 7 + 1):
            await step(pilot, app)
            seen.append(place(app))
        assert seen == [(1, phase) for phase in range(10)] + [(2, phase) for phase in range(7)] + [(3, 0)]
        assert script.sampled == 3, "a round is sampled when it is needed, and once"
        for before in reversed(seen[:-1]):
            await step(pilot, app, "pageup")
            assert place(app) == before


async def test_arrows_step_phases_and_n_and_p_rounds() -> None:
    app = presented(Script(n_rounds=3))
    async with app.run_test(size=LARGE) as pilot:
        await ready(pilot, app)
        await step(pilot, app, "right")
        await step(pilot, app, "right")
        assert place(app) == (1, 1)
        await step(pilot, app, "left")
        assert place(app) == (1, 0)
        await step(pilot, app, "n")
        assert (app.timeline.shown, app.timeline.reveal) == (2, None)
        await step(pilot, app, "p")
        assert (app.timeline.shown, app.timeline.reveal) == (1, None)
        await hit(pilot, "g")
        assert app.timeline.shown == 0


async def test_the_black_screen_buttons_of_a_clicker_do_nothing() -> None:
    app = presented()
    async with app.run_test(size=LARGE) as pilot:
        await ready(pilot, app)
        for _ in range(3):
            await step(pilot, app)
        before, screen = place(app), lines(app)
        await hit(pilot, "b", "B", "full_stop", "comma", "f5", "shift+f5", "escape", "enter", "tab", "w", "w")
        assert (place(app), lines(app)) == (before, screen)
        assert app.screen is stage(app)
        assert not app._exit


async def test_before_the_first_round_and_behind_the_last_one_the_clicker_stays(tmp_path: Path) -> None:
    app = replayed(recorded(tmp_path))
    async with app.run_test(size=LARGE) as pilot:
        await ready(pilot, app)
        await until(pilot, lambda: app.timeline.over)
        await hit(pilot, "pageup", "left", "p")
        assert app.timeline.shown == 0
        for _ in range(4):
            await hit(pilot, "n")
        await hit(pilot, "pagedown", "right", "n", "space")
        assert (app.timeline.shown, app.timeline.reveal) == (4, None)
        assert not stage(app).playing


# -- coming and going


async def test_z_opens_it_and_z_escape_and_q_go_back_to_where_the_run_was() -> None:
    app = make_app(Script(n_rounds=6))
    app.animation_level = "none"
    async with app.run_test(size=LARGE) as pilot:
        await ready(pilot, app)
        for shown, key in enumerate(("z", "escape", "q"), start=1):
            await hit(pilot, "z")
            assert app.screen is stage(app)
            await step(pilot, app, "n")
            await hit(pilot, key)
            assert on_main(app)
            assert app.presentation is None
            assert app.timeline.shown == shown
            assert f"Round {shown} " in str(app.main.round.border_title)
        assert not app._exit


async def test_a_run_pauses_for_its_presentation() -> None:
    script = Script(n_rounds=500)
    app = make_app(script, paused=False)
    async with app.run_test(size=LARGE) as pilot:
        script.gate.clear()
        await ready(pilot, app)
        await hit(pilot, "z")
        assert (app.playback.mode, app.session.running) == ("paused", False)
        assert not stage(app).playing
        script.gate.set()


async def test_opened_by_the_command_q_quits_and_z_shows_the_main_screen() -> None:
    app = presented()
    async with app.run_test(size=LARGE) as pilot:
        await ready(pilot, app)
        await hit(pilot, "z")
        assert on_main(app)
        await hit(pilot, "z", "q")
        assert on_main(app) and not app._exit, "opened by the key this time"
    app = presented()
    async with app.run_test(size=LARGE) as pilot:
        await ready(pilot, app)
        await hit(pilot, "q")
    assert app.return_code == 0


async def test_every_key_of_the_table_is_bound_to_an_action_and_on_the_list_of_keys() -> None:
    app = presented()
    async with app.run_test(size=LARGE) as pilot:
        await ready(pilot, app)
        rows = [key for keys in PRESENT_KEYS.values() for key in keys]
        for key in rows:
            for name, action in zip(key.keys, key.actions, strict=True):
                assert any(b.action == action for b in stage(app)._bindings.key_to_bindings[name]), name
                assert callable(getattr(stage(app), f"action_{action.partition('(')[0]}"))
        assert {"b", "full_stop"}.isdisjoint(name for key in rows for name in key.keys)
        await hit(pilot, "question_mark")
        assert isinstance(app.screen, HelpScreen)
        shown = "\n".join(lines(app))
        assert all(key.label in shown for key in rows) and all(group in shown for group in PRESENT_KEYS)
        assert "breakpoints" not in shown
        await hit(pilot, "escape")
        assert len(app.screen_stack) == 2


# -- at a pace


async def test_the_pace_reveals_a_recorded_run_to_its_end_and_stops(tmp_path: Path) -> None:
    app = replayed(recorded(tmp_path), paused=False, pace=0.001)
    seen: set[tuple[int, int]] = set()
    async with app.run_test(size=LARGE) as pilot:

        def done() -> bool:
            seen.add(place(app))
            return app.timeline.over and app.timeline.shown == 4 and app.timeline.reveal is None

        await until(pilot, done)
        every = {(r.index, phase) for r in app.timeline.rounds for phase in range(len(phases(r)))}
        assert every <= seen
        assert app.playback.mode == "paused"


async def test_loop_starts_anew(tmp_path: Path) -> None:
    app = replayed(recorded(tmp_path, n_rounds=1), paused=False, pace=0.001, loop=True, hold_s=0.001)
    ends = 0
    async with app.run_test(size=LARGE) as pilot:
        for _ in range(2):
            await until(pilot, lambda: app.timeline.over and place(app) == (1, 9))
            await until(pilot, lambda: place(app) == (0, -1))
            ends += 1
    assert ends == 2


async def test_the_main_screen_loops_too(tmp_path: Path) -> None:
    path = recorded(tmp_path, n_rounds=3)
    app = SpecvizApp(TraceSource(path), options(trace=path, paused=False, pace=0.001, loop=True))
    async with app.run_test(size=LARGE) as pilot:
        for _ in range(2):
            await until(pilot, lambda: app.timeline.shown == 3)
            await until(pilot, lambda: app.timeline.shown == 1)


async def test_space_runs_and_pauses_and_a_click_takes_over() -> None:
    script = Script(n_rounds=50)
    app = presented(script, pace=0.001)
    async with app.run_test(size=LARGE) as pilot:
        await ready(pilot, app)
        await hit(pilot, "space")
        await until(pilot, lambda: app.timeline.shown >= 2)
        await hit(pilot, "space")
        assert not stage(app).playing
        await hit(pilot, "space")
        await until(pilot, lambda: app.timeline.shown >= 4)
        await step(pilot, app)
        assert not stage(app).playing
        assert script.sampled <= app.timeline.shown + 1, "no round is sampled ahead of the reveal"


async def test_the_pace_keys_walk_the_paces_and_say_so() -> None:
    app = presented(pace=None)
    async with app.run_test(size=LARGE) as pilot:
        await ready(pilot, app)
        assert stage(app).pace == 0.5
        await hit(pilot, "left_parenthesis")
        assert "pace 1 s" in lines(app)[1]
        await hit(pilot, "right_parenthesis", "right_parenthesis", "right_parenthesis")
        assert stage(app).pace == 0.1
        await step(pilot, app)
        assert "pace" not in "\n".join(lines(app)), "only until the next phase"
        assert app.playback.pace == AUTO_PACE, "the main screen's own is left alone"
    assert (next_pace(0.4, 1), next_pace(0.4, -1), next_pace(4.0, 1), next_pace(0.0, -1)) == (0.5, 0.25, 4.0, 0.0)


async def test_a_breakpoint_pauses_the_reveal_at_the_end_of_its_round() -> None:
    from specviz.breakpoints.monitor import parse_breakpoint

    app = presented(Script(n_rounds=6), pace=0.001, breakpoints=(parse_breakpoint("N<=1"),))
    async with app.run_test(size=LARGE) as pilot:
        await ready(pilot, app)
        await hit(pilot, "space")
        await until(pilot, lambda: app.timeline.shown == 2 and app.timeline.reveal is None and not stage(app).playing)
        await hit(pilot, "space")
        await until(pilot, lambda: app.timeline.shown > 2)


async def test_a_phase_comes_about_over_time_and_the_text_takes_the_tokens_when_it_stands() -> None:
    app = presented(Script(n_rounds=2), moving=True, phase_s=60.0)
    async with app.run_test(size=LARGE) as pilot:
        await ready(pilot, app)
        progress: list[float] = []
        for _ in range(10):
            await step(pilot, app)
        assert app.timeline.round is not None
        name = known(app.timeline.round.emitted[-1].bytes).decode().strip()

        def text() -> str:
            return "\n".join(lines(app)[3:8])

        assert stage(app).progress < 1.0
        assert name not in text()

        def stands() -> bool:
            progress.append(stage(app).progress)
            return progress[-1] == 1.0

        stage(app)._lasting = 0.3
        stage(app)._begun = time.monotonic()
        await until(pilot, stands)
        await pilot.pause()
        assert name in text()
        assert progress[-1] == max(progress)


async def test_a_verdict_is_said_when_u_has_fallen_and_not_before() -> None:
    app = presented(Script(n_rounds=1), moving=True, phase_s=60.0)
    async with app.run_test(size=LARGE) as pilot:
        await ready(pilot, app)
        for _ in range(6):
            await step(pilot, app)
        said = [line_with(app, "Test 1 of 4"), line_with(app, "Accepted")]
        assert said == [True, False]
        stage(app)._lasting = 0.01
        await until(pilot, lambda: stage(app).progress == 1.0)
        await pilot.pause()
        assert [line_with(app, "Test 1 of 4"), line_with(app, "Accepted")] == [False, True]


def line_with(app: SpecvizApp, text: str) -> bool:
    return any(text in line for line in lines(app))


# -- the trace


@pytest.mark.parametrize("moving", [False, True])
async def test_the_trace_of_a_presented_run_is_that_of_one_nobody_looked_at(tmp_path: Path, moving: bool) -> None:
    """The pace enters no time: a scripted run gives the same times, so the files are equal byte for byte."""
    alone = recorded(tmp_path, "alone.jsonl")
    path = tmp_path / "presented.jsonl"
    app = presented(Script(n_rounds=4), moving=moving, record=lambda: Recorder(path), paused=False, pace=0.05)
    async with app.run_test(size=LARGE) as pilot:
        await until(pilot, lambda: app.timeline.over)
    assert path.read_bytes() == alone.read_bytes()


# -- prepared runs


async def test_digits_choose_among_prepared_prompts() -> None:
    script = Script()
    app = presented(script)
    async with app.run_test(size=LARGE) as pilot:
        await ready(pilot, app)
        await step(pilot, app, "n")
        await hit(pilot, "2")
        await until(pilot, lambda: len(script.requests) == 2 and app.timeline.ready)
        assert script.requests[-1].prompt == PROMPTS[1][1]
        assert (app.timeline.shown, app.timeline.total, script.sampled) == (0, 0, 1), "its prompt, and it waits"
        await pilot.pause()
        assert "class Config" in "\n".join(lines(app))
        await hit(pilot, "4")
        assert len(script.requests) == 2, "there are three"


@pytest.mark.parametrize("present", [True, False])
async def test_digits_choose_among_recorded_runs(tmp_path: Path, present: bool) -> None:
    first = recorded(tmp_path, "a.jsonl", n_rounds=2)
    second = recorded(tmp_path, "b.jsonl", n_rounds=5)
    app = SpecvizApp(
        TraceSource(first, second), options(present=present, trace=first, recordings=(first, second), prompts=(), at=99)
    )
    app.animation_level = "none"
    async with app.run_test(size=LARGE) as pilot:
        await ready(pilot, app)
        for key, total, path in (("2", 5, second), ("1", 2, first), ("2", 5, second)):
            await hit(pilot, key, "3")
            await until(pilot, lambda: app.timeline.over and app.timeline.total == total)  # noqa: B023
            await pilot.pause()
            assert app.timeline.shown == (0 if present else total)
            assert app.trace_path == path
            assert present or f"run {key}/2: {path.name}" in "\n".join(lines(app))


@pytest.mark.parametrize("present", [True, False])
async def test_another_prepared_run_is_laid_out_for_its_own_k(tmp_path: Path, present: bool) -> None:
    def k_of(k: int) -> Any:
        return lambda index, settings: make_round(index, 8 + index, "✓" * k)

    wide = recorded(tmp_path, "wide.jsonl", make=k_of(32), n_rounds=2)
    narrow = recorded(tmp_path, "narrow.jsonl", make=k_of(4), n_rounds=3)
    alone = SpecvizApp(TraceSource(narrow), options(present=present, trace=narrow, prompts=(), at=1))
    both = SpecvizApp(
        TraceSource(wide, narrow), options(present=present, trace=wide, recordings=(wide, narrow), prompts=(), at=1)
    )
    laid_out = []
    for app in (both, alone):
        app.animation_level = "none"
        async with app.run_test(size=LARGE) as pilot:
            await ready(pilot, app)
            if app is both:
                await until(pilot, lambda: app.timeline.total == 2)  # noqa: B023
                await hit(pilot, "2")
            await until(pilot, lambda: app.timeline.total == 3)  # noqa: B023
            if present:
                await hit(pilot, "n")
            await pilot.pause()
            widgets = stage(app).query("#stage-chips, #stage-text") if present else app.main.query("#round, #text")
            laid_out.append((app.timeline.max_k, [widget.region for widget in widgets]))
    assert laid_out[0] == laid_out[1]
    assert laid_out[1][0] == 4


async def test_keys_right_behind_a_digit_wait_for_the_run(tmp_path: Path) -> None:
    first, second = recorded(tmp_path, "a.jsonl"), recorded(tmp_path, "b.jsonl", n_rounds=5)
    app = replayed(first, second)
    async with app.run_test(size=LARGE) as pilot:
        await ready(pilot, app)
        for keys, reached in (
            ("2nnn", (3, None)),
            ("1nnp", (1, None)),
            ("2npn", (1, None)),
            ("12n", (1, None)),
            (("1", "pagedown", "pagedown"), (1, 1)),
            (("2", "pagedown", "n", "pagedown"), (3, 0)),
        ):
            for key in keys:
                await stage(app).run_action(NAMED[key])
            await until(pilot, lambda: app.timeline.over and len(app.queue) == 0)
            await pilot.pause()
            assert (app.timeline.shown, app.timeline.reveal and app.timeline.phase[0]) == reached, keys


NAMED = {
    key: action
    for rows in PRESENT_KEYS.values()
    for row in rows
    for key, action in zip(row.keys, row.actions, strict=True)
}


async def test_a_live_run_takes_a_key_right_behind_a_digit() -> None:
    app = presented()
    async with app.run_test(size=LARGE) as pilot:
        await ready(pilot, app)
        await hit(pilot, "2", "n")
        await until(pilot, lambda: app.playback.run_id == 2 and app.timeline.shown == 1)


# -- what is said


def said(app: SpecvizApp) -> list[str]:
    return [each.message for each in app._notifications]


async def test_notices_wait_for_the_main_screen() -> None:
    header = make_header(config={"notes": ["a note"]})
    app = presented(Script(header=header, opening=(Notice("a notice"),)), theme="nope")
    async with app.run_test(size=LARGE) as pilot:
        await ready(pilot, app)
        await step(pilot, app, "n")
        assert said(app) == []
        app.notify_literal("the answer to a key")
        await pilot.pause()
        assert said(app) == ["the answer to a key"]
        await hit(pilot, "z")
        assert [text[:8] for text in said(app)] == ["the answ", "No theme", "a notice", "a note"]
        await hit(pilot, "z")
        assert said(app) == [], "what was just said waits"
        await hit(pilot, "z")
        assert len(said(app)) == 4


# -- what is seen


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("ascii", [False, True])
async def test_nothing_moves_while_a_round_unfolds(size: tuple[int, int], ascii: bool) -> None:
    """Caption and chips aside, not a cell changes before the text takes the tokens; a chip stays where it came."""
    app = presented(Script(n_rounds=2), title="A line of my own", ascii=ascii)
    async with app.run_test(size=size) as pilot:
        await ready(pilot, app)
        await step(pilot, app)
        chips, caption = (stage(app).query_one(f"#stage-{name}").region for name in ("chips", "caption"))
        before = lines(app)
        assert before[1].strip().startswith("A line of my own")
        assert "tokens/round" in before[-1 if size[1] < 34 else -2]
        firsts = []
        while app.timeline.reveal is not None:
            now = lines(app)
            assert len(now) == size[1]
            for y, line in enumerate(now):
                if not (chips.y <= y < chips.bottom or y == caption.y):
                    assert line == before[y]
                assert not ascii or line.isascii()
            firsts.append(now[chips.y + stage_box(size) // 2].index(token(app)))
            await step(pilot, app)
        assert len(set(firsts)) == 1
        assert lines(app) != before


def stage_box(size: tuple[int, int]) -> int:
    return 3 if size == SIZES[0] else 7


def token(app: SpecvizApp) -> str:
    assert app.timeline.round is not None
    return known(app.timeline.round.drafted[0].bytes).decode().strip()


@pytest.mark.parametrize("size", [*SIZES, (60, 20), (59, 19), (300, 90)])
async def test_hostile_titles_prompts_and_tokens_are_shown_as_safe_cells(size: tuple[int, int]) -> None:
    def make(index: int, settings: Settings) -> Any:
        block = NASTY[(index - 1) * 5 : index * 5]
        return make_round(index, 8, "✓✓✗·"[: len(block)], block[:4], block[-1], settings=settings)

    script = Script(n_rounds=(len(NASTY) - 1) // 5, make=make, header=make_header("\x1b[2J[/x]\u202e"))
    app = presented(script, title="\x1b]0;x\x07[bold]\u202e[/]\n\udcff" + "x" * 300)
    async with app.run_test(size=size) as pilot:
        await ready(pilot, app)
        for _ in range(script.n_rounds):
            await step(pilot, app, "n")
            for line in lines(app):
                assert_safe(line)
        assert app._exception is None


async def test_a_failure_is_said_where_everybody_looks() -> None:
    app = presented(Script(fail_at=2))
    async with app.run_test(size=LARGE) as pilot:
        await ready(pilot, app)
        await step(pilot, app, "n")
        await hit(pilot, "n")
        await until(pilot, lambda: app.timeline.failed is not None)
        await pilot.pause()
        assert any("Stopped  RuntimeError: boom [/]" in line for line in lines(app))
        await hit(pilot, "pageup")
        assert app.timeline.reveal is not None, "what was shown can be shown again"


async def test_a_recorded_run_without_rounds_says_why(tmp_path: Path) -> None:
    app = replayed(recorded(tmp_path, n_rounds=0, end=End("error", "RuntimeError: no room")))
    async with app.run_test(size=LARGE) as pilot:
        await until(pilot, lambda: app.timeline.over)
        await pilot.pause()
        assert any("End  error: RuntimeError: no room" in line for line in lines(app))


async def test_the_stage_follows_the_size_of_the_terminal() -> None:
    app = presented()
    async with app.run_test(size=SIZES[2]) as pilot:
        await ready(pilot, app)
        await step(pilot, app, "n")
        for size in (*SIZES, (40, 10)):
            await pilot.resize_terminal(*size)
            await pilot.pause()
            shown = "\n".join(lines(app))
            assert ("too small" in shown) == (size == (40, 10))
            assert ("tokens/round" in shown) == (size != (40, 10))
