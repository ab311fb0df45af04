"""Whole runs: floods, failures, quitting, recording, notices, sizes, hostile text. No model, no sleeping."""

import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from itertools import count
from pathlib import Path

import pytest

from specviz.core.errors import SpecvizError
from specviz.core.events import End, Event, Header, Notice, Progress, Round
from specviz.ui.main.screen import MIN_HEIGHT, MIN_WIDTH, MainScreen
from specviz.ui.run.event_queue import MAX_QUEUED, EventQueue
from specviz.ui.widgets.bars import FailurePanel, LoadingPanel
from tests.builders import make_header, make_round
from tests.ui.conftest import Script, hit, make_app, mode, on_main, ready, sampled, until

SIZE = (120, 40)


def screen_lines(app) -> list[str]:  # type: ignore[no-untyped-def]
    """What stands on the screen, a string a line."""
    return ["".join(segment.text for segment in strip) for strip in app.screen._compositor.render_strips()]


def on_screen(app) -> str:  # type: ignore[no-untyped-def]
    return "\n".join(screen_lines(app))


def counted_updates(screen: MainScreen) -> Iterator[int]:
    """How often the screen was brought up to date from now on, each time that is asked."""
    updated: list[None] = []
    update = screen.update

    def counted() -> None:
        updated.append(None)
        update()

    screen.update = counted  # type: ignore[method-assign]
    return (len(updated) for _ in count())


async def test_a_flood_of_ten_thousand_rounds_arrives_whole_and_paints_seldom() -> None:
    template = [make_round(i, i, marks) for i, marks in enumerate(("✓✓✗·", "✓✓✓✓", "✗···"), start=1)]
    script = Script(n_rounds=10_000, make=lambda i, s: replace(template[i % 3], index=i, start=i))
    app = make_app(script, paused=False)
    async with app.run_test(size=SIZE) as pilot:
        paints = counted_updates(app.main)
        await until(pilot, lambda: app.timeline.over and len(app.queue) == 0)
        await pilot.pause()
        assert app.timeline.total == 10_000
        assert app.timeline.shown == 10_000
        assert next(paints) < 500
        await hit(pilot, "g")
        assert app.timeline.shown == 1


async def test_keys_are_answered_during_a_flood() -> None:
    script = Script(n_rounds=100_000)
    app = make_app(script, paused=False)
    async with app.run_test(size=SIZE) as pilot:
        await until(pilot, lambda: app.timeline.total > 50)
        await hit(pilot, "space")
        assert mode(app.playback) == "paused"
        await until(pilot, lambda: len(app.queue) == 0)
        assert app.timeline.total < 100_000
        assert app.timeline.at_end


async def test_a_setting_changed_during_a_flood_is_told_without_a_picture_of_everything() -> None:
    script = Script()
    app = make_app(script, paused=False)
    script.gate.clear()
    async with app.run_test(size=SIZE) as pilot:
        await until(pilot, lambda: app.timeline.ready and app.playback.is_fast)
        await pilot.pause()
        updates = counted_updates(app.main)
        await hit(pilot, "minus", "right_square_bracket", "plus", "plus")
        await until(pilot, lambda: "K 4→5 next" in on_screen(app) and "T 1.00→1.10 next" in on_screen(app))
        assert next(updates) == 0
        await hit(pilot, "space", "plus")
        await until(pilot, lambda: "K 4→6 next" in on_screen(app))
        assert next(updates) == 2
        script.gate.set()


def test_a_source_far_ahead_of_the_screen_waits_for_it() -> None:
    queue = EventQueue(lambda: None, lambda: None)

    def pour() -> None:
        for index in range(MAX_QUEUED + 100):
            queue.deliver(1, Progress("draft", index))

    source = threading.Thread(target=pour, daemon=True)
    source.start()
    while len(queue) < MAX_QUEUED:
        source.join(0.001)
    source.join(0.05)
    assert source.is_alive()
    assert len(queue) == MAX_QUEUED
    arrived = list(queue.drain(MAX_QUEUED))
    source.join(10)
    arrived += queue.drain(MAX_QUEUED)
    assert [event for _, event in arrived] == [Progress("draft", index) for index in range(MAX_QUEUED + 100)]


# -- failures


async def test_an_error_in_the_worker_is_shown_and_the_rounds_stay() -> None:
    """C73."""
    log = ("INFO something", "the last line [/] \x1b[31m")
    app = make_app(Script(fail_at=3), log_tail=lambda n: log[-n:])
    async with app.run_test(size=SIZE) as pilot:
        await ready(pilot, app)
        await sampled(pilot, app, 2)
        await hit(pilot, "n")
        await until(pilot, lambda: app.timeline.failed is not None)
        await pilot.pause()
        shown = on_screen(app)
        assert "RuntimeError: boom [/] ␛[31m" in shown
        assert "the last line [/] ␛[31m" in shown
        assert "Rounds 1 to 2 are still available" in shown
        assert "\x1b" not in shown
        await hit(pilot, "p")
        assert app.timeline.shown == 1
        await hit(pilot, "escape")
        assert not app.main.query_one(FailurePanel).display
        assert on_main(app)
        await hit(pilot, "n")
        assert app.timeline.shown == 2
        assert "FAILED" in on_screen(app)
        await hit(pilot, "q")
    assert app.return_code == 1


async def test_a_source_that_cannot_open_says_so_and_gives_its_exit_code() -> None:
    app = make_app(Script(open_error=SpecvizError("No model [/x] here: give --target")))
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: app.timeline.failed is not None)
        await pilot.pause()
        assert "No model [/x] here: give --target" in on_screen(app)
        await hit(pilot, "r", "e", "1", "n", "space")
        assert on_main(app)
        await hit(pilot, "q")
    assert app.return_code == 2


async def test_after_a_failed_run_another_can_begin() -> None:
    script = Script(fail_at=2)
    app = make_app(script, paused=False)
    async with app.run_test(size=SIZE) as pilot:
        await until(pilot, lambda: app.timeline.failed is not None)
        script.fail_at = None
        await hit(pilot, "r")
        await until(pilot, lambda: app.timeline.end is not None)
        await pilot.pause()
        assert app.timeline.total == script.n_rounds
        assert not app.main.query_one(FailurePanel).is_open
        await hit(pilot, "q")
    assert app.return_code == 0


# -- quitting


class Forward:
    """A model call that lasts until it is released."""

    def __init__(self) -> None:
        self.begun = threading.Event()
        self.release = threading.Event()
        self.finished = False

    def __call__(self, stopped: object) -> None:
        self.begun.set()
        self.release.wait(60)
        self.finished = True


@pytest.mark.parametrize(("key", "paused"), [("q", False), ("q", True), ("ctrl+c", False), ("ctrl+q", False)])
async def test_quitting_does_not_wait_for_a_forward(key: str, paused: bool) -> None:
    """C71."""
    forward = Forward()
    app = make_app(Script(work=forward), paused=paused)
    async with app.run_test(size=(80, 24)) as pilot:
        await ready(pilot, app)
        if not paused:
            await until(pilot, forward.begun.is_set)
        await hit(pilot, key)
    assert not forward.finished
    assert app.return_code == (130 if key == "ctrl+c" else 0)
    forward.release.set()


async def test_quitting_does_not_wait_for_the_load() -> None:
    """C63."""
    script = Script()
    script.loading.clear()
    app = make_app(script)
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: app.timeline.progress is not None)
        await hit(pilot, "q")
    assert not script.loaded
    script.loading.set()


async def test_leaving_in_the_middle_of_a_flood_drops_what_is_late() -> None:
    """C72."""
    for times in range(4):
        app = make_app(Script(n_rounds=10_000), paused=False)
        async with app.run_test(size=(80, 24)) as pilot:
            if times % 2:
                await until(pilot, lambda: app.timeline.total > 0)  # noqa: B023
        total = app.timeline.total
        app.queue.deliver(1, End("user"))
        assert app.timeline.total == total
        app.session.close()


def test_an_event_before_the_app_runs_is_not_lost() -> None:
    app = make_app()
    app.queue.deliver(0, Progress("import"))
    assert list(app.queue.drain(9)) == [(0, Progress("import"))]


# -- recording


class Kept:
    """A recording in memory."""

    lines = None

    def __init__(self, path: Path, *, full: bool = False) -> None:
        self.path = path
        self.events: list[Event] = []
        self.closed = 0
        self._full = full

    def add(self, event: Event) -> None:
        if self._full and isinstance(event, Round):
            raise OSError(28, "No space left on device [/]")
        self.events.append(event)

    def close(self) -> None:
        self.closed += 1


async def test_every_run_has_a_recording_and_nothing_shown_is_missing_from_it() -> None:
    kept: list[Kept] = []

    def record() -> Kept:
        kept.append(Kept(Path(f"run-{len(kept)}.jsonl")))
        return kept[-1]

    app = make_app(Script(n_rounds=5), record=record)
    async with app.run_test(size=SIZE) as pilot:
        await ready(pilot, app)
        await sampled(pilot, app, 2)
        assert [type(e) for e in kept[0].events[:1]] == [Header]
        assert [e for e in kept[0].events if isinstance(e, Round)] == list(app.timeline.rounds)
        await hit(pilot, "r")
        await until(pilot, lambda: app.timeline.end is not None)
        assert app.trace_path == Path("run-1.jsonl")
    recorded = [run for run in kept if run.events]
    assert [sum(isinstance(e, Round) for e in run.events) for run in recorded] == [2, 5]
    assert all(run.closed == 1 for run in recorded)
    assert "specviz replay run-1.jsonl" in app.farewell()


async def test_a_run_that_cannot_be_recorded_goes_on_under_a_notice() -> None:
    app = make_app(Script(n_rounds=3), record=lambda: Kept(Path("x.jsonl"), full=True), paused=False)
    async with app.run_test(size=SIZE) as pilot:
        await until(pilot, lambda: app.timeline.end is not None)
        await until(pilot, lambda: "no longer recorded" in on_screen(app))
        assert app.timeline.total == 3
        assert "No space left on device [/]" in on_screen(app)


# -- notices, loading


async def test_notices_are_said_once_and_a_forced_pair_stays_in_the_banner() -> None:
    opening = (Notice("vocab 64/72 [/]"), Notice("Forced pair [/b]: ids differ", permanent=True))
    script = Script(opening=opening, header=make_header(config={"notes": ["vocab 64/72 [/]", "another"]}))
    app = make_app(script, paused=False)
    async with app.run_test(size=SIZE) as pilot:
        await until(pilot, lambda: app.timeline.end is not None)
        await pilot.pause()
        said = sorted(notification.message for notification in app._notifications)
        assert said == ["another", "vocab 64/72 [/]"]
        assert "! Forced pair [/b]: ids differ" in on_screen(app)
        await hit(pilot, "r")
        await until(pilot, lambda: app.timeline.end is not None)
        assert "! Forced pair [/b]: ids differ" in on_screen(app)
        assert len(app._notifications) == 2


async def test_loading_is_told_stage_by_stage() -> None:
    script = Script(opening=(Progress("import"), Progress("target", 3, 12, "tensors")))
    script.loading.clear()
    app = make_app(script)
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: app.timeline.progress == Progress("target", 3, 12, "tensors"))
        await pilot.pause()
        await until(pilot, lambda: "target model" in on_screen(app))
        shown = on_screen(app)
        for words in (
            "bundled:draft > bundled:target",
            "✓ libraries",
            "✓ draft model",
            "› target model",
            "3 of 12 tensors",
            "· warm-up",
        ):
            assert words in shown, words
        script.loading.set()
        await ready(pilot, app)
        assert not app.main.query_one(LoadingPanel).display


# -- sizes


@pytest.mark.parametrize("width_height", [(80, 24), (120, 40)])
async def test_all_main_panels_are_seen(width_height: tuple[int, int]) -> None:
    app = make_app()
    async with app.run_test(size=width_height) as pilot:
        await ready(pilot, app)
        await sampled(pilot, app, 3)
        for selector in ("#status-run", "#status-rates", "#text", "#round", "#strip", "#legend", "#keys"):
            region = app.main.query_one(selector).region
            assert region.area > 0, selector
            assert region.bottom <= width_height[1], selector
        assert app.main.query_one("#text").content_region.height >= 6
        assert app.main.query_one("#round").content_region.height >= 10
        lines = screen_lines(app)
        assert "α tested" in lines[1]
        assert "Round 3 · K 4" in on_screen(app)
        assert "draft 4 ×" in on_screen(app)


async def test_every_size_while_rounds_arrive() -> None:
    """C75."""
    app = make_app(Script(n_rounds=100_000), paused=False, pace=0.03)
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: app.timeline.total > 0)
        for size in ((80, 24), (70, 24), (40, 12), (20, 5), (1, 1), (120, 40)):
            await pilot.resize_terminal(*size)
            before = app.timeline.total
            await until(pilot, lambda: app.timeline.total > before)  # noqa: B023
            for _ in range(3):
                view = app.main.view
                app.simulate_key("v")
                await until(pilot, lambda: app.main.view != view)  # noqa: B023
                assert app.main.has_class("-too-small") == (size[0] < MIN_WIDTH or size[1] < MIN_HEIGHT)
            if size == (40, 12):
                await until(pilot, lambda: "too small" in on_screen(app))
        await until(pilot, lambda: "α tested" in on_screen(app))


async def test_the_large_view_narrows_to_text_and_comes_back() -> None:
    app = make_app()
    async with app.run_test(size=SIZE) as pilot:
        await ready(pilot, app)
        await until(pilot, lambda: app.main.query("#alpha"))
        assert app.main.plots.region.width > 0
        await pilot.resize_terminal(80, 24)
        await until(pilot, lambda: app.main.plots.region.width == 0)
        await hit(pilot, "v")
        await until(pilot, lambda: app.main.plots.region.width == 80)
        await hit(pilot, "v")
        await pilot.resize_terminal(*SIZE)
        await until(pilot, lambda: app.main.query_one("#text").region.width > 0)


# -- hostile text

HOSTILE = "[/] [bold] [@click=app.quit]x \x1b[2J\x1b]0;t\x07\x9b31m\u202e\u200b\r\x08 end"


async def test_hostile_text_is_shown_and_never_obeyed() -> None:
    """C64, C65: in prompt, names, notices, exception text and titles."""
    config = {"draft": HOSTILE, "target": HOSTILE, "device": HOSTILE, "dtype": HOSTILE, "notes": [HOSTILE + "!"]}
    script = Script(
        header=make_header(config=config),
        opening=(Notice(HOSTILE), Notice(HOSTILE, permanent=True), Progress("draft", 1, 2, HOSTILE)),
        fail_at=3,
        error=RuntimeError(HOSTILE),
        make=lambda i, s: make_round(i, i, "✓✗", [HOSTILE, b"\xe6\x1b[6n"], "\x1b]52;c;aGk=\x07"),
    )
    app = make_app(script, draft=HOSTILE, target=HOSTILE, prompts=((HOSTILE, HOSTILE),), log_tail=lambda n: [HOSTILE])
    app.playback.request = replace(app.options.request, prompt=HOSTILE)
    app.options = replace(app.options, request=app.playback.request)
    async with app.run_test(size=SIZE, notifications=True) as pilot:
        await until(pilot, lambda: app.timeline.ready)
        await sampled(pilot, app, 2)
        await hit(pilot, "n")
        await until(pilot, lambda: app.timeline.failed is not None)
        for keys in (["e"], ["escape", "ctrl+p"], [*"prompt"], ["escape", "question_mark"], ["escape"], ["p"], ["v"]):
            await pilot.press(*keys)
            await pilot.pause()
            shown = on_screen(app)
            bad = {char for char in shown if char != "\n" and (ord(char) < 32 or 0x7F <= ord(char) < 0xA0)}
            assert not bad, (keys, bad)
            assert "\u202e" not in shown
            assert "\u200b" not in shown
        assert app._exit is False


async def test_in_ascii_the_screen_is_ascii() -> None:
    app = make_app(Script(n_rounds=150), ascii=True, paused=False, trace=Path("t.jsonl"))
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: app.timeline.over and app.main.query("#alpha"))
        for keys in (["p"], ["v"], ["plus"], ["question_mark"], ["escape"], ["e"], ["escape"], ["S"], ["escape"]):
            await hit(pilot, *keys)
            assert sorted({char for char in on_screen(app) if not char.isascii()}) == [], keys


async def test_without_colour_the_signs_are_there(monkeypatch: pytest.MonkeyPatch) -> None:
    """C78."""
    monkeypatch.setenv("NO_COLOR", "1")
    app = make_app()
    async with app.run_test(size=SIZE) as pilot:
        await ready(pilot, app)
        await sampled(pilot, app, 5)
        shown = on_screen(app)
        for sign in ("✓", "✗", "↳", "+", "·"):
            assert sign in shown
        colors = {
            segment.style.color.get_truecolor()
            for strip in app.screen._compositor.render_strips()
            for segment in app._filters[1].apply(list(strip), app.screen.background_colors[1])
            if segment.style and segment.style.color
        }
        assert all(color.red == color.green == color.blue for color in colors)


@pytest.mark.parametrize("present", [False, True])
async def test_a_header_without_special_ids_and_notes_is_shown(present: bool) -> None:
    script = Script(header=make_header(config={"special_ids": None, "notes": None}))
    app = make_app(script, present=present)
    async with app.run_test(size=SIZE) as pilot:
        await ready(pilot, app)
        await sampled(pilot, app, 1) if not present else await hit(pilot, "pagedown")
        assert app.timeline.failed is None
        assert app.return_code is None


def test_behind_the_round_that_is_due_the_worker_waits_for_the_paint_and_behind_others_not() -> None:
    woken = threading.Event()
    queue = EventQueue(lambda: None, woken.set)
    queue.deliver(1, make_round(1))
    assert woken.is_set()
    woken.clear()
    queue.deliver(1, make_round(2))
    assert not woken.is_set(), "the screen is still to look"
    queue.paint_at = time.monotonic() + 1000
    queue.deliver(1, make_round(3))
    assert not woken.is_set()
    queue.paint_at = 0.0
    released = []

    def paint() -> None:
        woken.wait(10)
        released.append(len(queue))
        queue.end_paint()

    screen = threading.Thread(target=paint)
    screen.start()
    queue.deliver(1, make_round(4))
    screen.join()
    assert woken.is_set() and released == [4]
    queue.deliver(1, make_round(5))  # nobody paints: it does not wait for good
    assert len(queue) == 5
