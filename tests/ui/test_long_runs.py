"""Runs too long to be laid out, looked through or kept at once."""

import contextlib
import threading
from collections.abc import AsyncIterator, Iterator
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot
from textual.widgets import Static

from specviz.breakpoints.monitor import BreakpointMonitor, parse_breakpoint
from specviz.core.errors import SpecvizError
from specviz.core.events import End, Event, Header, Progress, Ready, Round, Settings
from specviz.core.options import RunRequest
from specviz.core.source import RECORDED
from specviz.lab.lossless import toy_id_masses
from specviz.render import transcript_pages
from specviz.render.glyphs import UNICODE
from specviz.render.transcript import Transcript
from specviz.render.transcript_layout import TranscriptView
from specviz.session.recorder import Recorder
from specviz.trace.jsonl import read
from specviz.trace.replay import TraceSource
from specviz.trace.round_store import RoundFile, RoundStore
from specviz.ui.app import SpecvizApp
from specviz.ui.dialogs import find
from specviz.ui.dialogs.find_results import HitList
from specviz.ui.lab.lossless_screen import LosslessScreen
from specviz.ui.main.text_panel import TextPanel
from specviz.ui.run.playback import Playback
from specviz.ui.run.status_line import loading, run_fields, run_status
from specviz.ui.run.timeline import Timeline
from specviz.ui.shared.app_options import LAST_ROUND
from tests.builders import known, make_header, make_run
from tests.recordings import without_top_lists
from tests.render.test_word_wrap import text_of
from tests.ui.conftest import hit, make_app, mode, options, ready, sampled, until
from tests.ui.metrics import drawn
from tests.ui.test_timeline import Recorded, feed

RUN = make_run(400, 4, 3)


def told(upto: int = len(RUN), width: int = 40, page_tokens: int = 40) -> TranscriptView:
    made = TranscriptView(Transcript(make_header("Once").prompt, page_tokens=page_tokens), UNICODE, width)
    for round in RUN[:upto]:
        made.transcript.append(round)
    made.show_round(upto, None)
    return made


def words(made: TranscriptView) -> str:
    return "".join("".join(text_of(made)).split())


# -- pages


def test_a_text_in_pages_is_the_text() -> None:
    made = told()
    for page in range(len(made.transcript.pages)):
        made._layout.measure_pages(page, page)
    made.show_round(400, None)
    whole = told(page_tokens=10**6)
    assert len(made.transcript.pages) > 15 and len(whole.transcript.pages) == 1
    assert words(made) == words(whole)
    ended_early = made.count - whole.count
    assert 0 <= ended_early <= len(made.transcript.pages)


def test_pages_begin_with_a_marked_word_or_behind_a_line_break() -> None:
    made = told()
    for page in made.transcript.pages[1:]:
        first, before = RUN[page.first], RUN[page.first - 1]
        text = b"".join(known(token.bytes) for token in before.emitted)
        long = made.transcript.pages[made.transcript.pages.index(page) - 1].tokens >= 80
        assert long or text.endswith(b"\n") or (not first.n_accepted and known(first.emitted[0].bytes).startswith(b" "))


def test_only_the_pages_looked_at_are_laid_out() -> None:
    made = told()
    last = len(made.transcript.pages) - 1
    assert sorted(made._layout._laid) == [0, last - 1, last], "the prompt's, that of the round shown, the one before"
    made.show_round(3, None)
    assert sorted(made._layout._laid)[0] == 0
    for y in range(made.count):
        made.line(y)
    made.show_round(400, None)
    for y in range(made.count):
        made.line(y)
    assert len(made._layout._laid) == transcript_pages.CACHED_PAGES


def test_a_change_of_width_lays_out_two_pages_however_long_the_text_is() -> None:
    made = told()
    for width in (30, 50):
        made.wrap(width)
        made.show_round(400, None)
        assert len(made._layout._laid) <= 3


def test_the_rounds_around_the_one_shown_are_those_of_a_text_laid_out_alone() -> None:
    made = told()
    for index in (400, 200, 201, 37, 0, 399):
        made.show_round(index, None)
        alone = told(index)
        assert text_of(made)[-8:] == text_of(alone)[-8:], index
        if index:
            found, other = made.find(index, RUN[index - 1].k), alone.find(index, RUN[index - 1].k)
            assert found and other and found[2] == other[2]


def test_what_is_settled_stays_where_it_is() -> None:
    """Scrolling up by a screen at a time: the lines at the bottom of it are the same before and behind the settling."""
    made, height, top = told(), 10, 0
    top = made.count - height
    seen: list[str] = []
    while top > 0:
        bottom = top + height - 1
        line = text_of(made)[bottom]
        stepped = made.measure_pages(top - height, bottom)
        top += stepped
        assert text_of(made)[bottom + stepped] == line
        seen.append(line)
        top -= height
    assert len(seen) > 12
    assert made.measure_pages(0, made.count) == 0, "everything above is known by now"


async def test_a_long_text_scrolls_to_its_beginning_and_back(tmp_path: Path) -> None:
    from tests.ui.gallery import Gallery

    app = Gallery()
    async with app.run_test(size=(80, 30)) as pilot:
        app.begin(make_header("Once"), RUN, page_tokens=40)
        app.show(400, 0)
        await pilot.pause()
        panel = app.query_one(TextPanel)
        for _ in range(400):
            if panel.scroll_offset.y == 0:
                break
            panel.scroll_relative(y=-7, animate=False, force=True, immediate=True)
            await pilot.pause()
        first = "".join(span.text for span in panel._view.line(0))
        assert panel.scroll_offset.y == 0 and first.startswith("Once")
        panel.scroll_end(animate=False, force=True, immediate=True)
        await pilot.pause()
        assert panel.scroll_offset.y == panel._view.count - panel._height


# -- a recording that is still being read


def record(path: Path, rounds: int = len(RUN)) -> None:
    everything: list[Event] = [make_header(), *RUN[:rounds], End("user")]
    with Recorder(path) as recorder:
        for event in everything:
            recorder.add(event)


def long_recording(folder: Path) -> tuple[Path, TraceSource]:
    """A recording of RUN too long to be looked over at once, and its source, opened."""
    path = folder / "run.jsonl"
    record(path)
    source = TraceSource(path, compact=True, whole_up_to=20_000)
    source.open(lambda _: None)
    return path, source


def reading() -> Playback:
    made = Playback(Recorded(), Timeline(follow=False), RunRequest("a", 0, Settings()), capabilities=RECORDED)
    made.begin(made.request, at=400)
    made.accept(0, Progress("recording", 0, 400, "rounds"))
    feed(made, make_header(), Ready(), *RUN[:120])
    return made


def fields(made: Playback) -> list[str]:
    return [field.forms[0] for field in run_fields(run_status(made, options()))]


def test_while_a_recording_is_read_it_says_how_far_and_shows_the_newest_round() -> None:
    made = reading()
    assert "reading 120 of 400" in fields(made)
    assert made.timeline.shown == 0
    made.catch_up()
    assert made.timeline.shown == 120
    feed(made, *RUN[120:], End("user"))
    assert (made.timeline.shown, made.timeline.expected_rounds) == (400, None)
    assert not any("reading" in field for field in fields(made))
    assert "recorded rounds" in loading(Progress("recording"))


def test_whoever_goes_elsewhere_meanwhile_stays_there() -> None:
    made = reading()
    made.seek(7)
    made.catch_up()
    feed(made, *RUN[120:], End("user"))
    assert made.timeline.shown == 7


def test_what_is_still_being_read_can_be_played() -> None:
    made = reading()
    made.catch_up()
    assert made.can_toggle
    made.toggle()
    assert mode(made) == "playing" and made.play_on()
    feed(made, RUN[120])
    assert made.play_on() and made.timeline.shown == 121


async def test_a_long_recording_is_shown_while_it_is_read_and_read_back_from_its_file(tmp_path: Path) -> None:
    path, source = long_recording(tmp_path)
    whole = read(path).rounds
    assert source.rounds == 400
    app = SpecvizApp(source, options(trace=path, at=400, recorded=lambda: source.lines))
    async with app.run_test(size=(120, 40)) as pilot:
        await until(pilot, lambda: app.timeline.end is not None and app.timeline.shown == 400)
        await pilot.pause()
        for index in (1, 399, 17, 400):
            app.playback.seek(index)
            app.main.update()
            assert app.timeline.round == whole[index - 1] and whole[index - 1].drafted[0].p_top, "with its lists"
        await hit(pilot, "enter", "left", "escape")
        app.playback.seek(1, 0)
        await hit(pilot, "f", "w", "m", "t", "q")
        assert [without_top_lists(each) for each in app.timeline.rounds.iter_compact()] == list(
            map(without_top_lists, whole)
        )


async def test_long_and_short_recordings_stand_behind_the_digits(tmp_path: Path) -> None:
    long, short = tmp_path / "long.jsonl", tmp_path / "short.jsonl"
    record(long)
    record(short, 2)
    source = TraceSource(long, short, compact=True, whole_up_to=20_000)
    source.open(lambda _: None)
    app = SpecvizApp(
        source,
        options(
            trace=long, recordings=(long, short), prompts=(), paused=True, at=LAST_ROUND, recorded=lambda: source.lines
        ),
    )
    async with app.run_test(size=(120, 40)) as pilot:
        await until(pilot, lambda: app.timeline.over)
        for key, path, length in (("2", short, 2), ("1", long, 400), ("2", short, 2)):
            await hit(pilot, key)
            await until(pilot, lambda: app.timeline.over and app.timeline.shown == length)  # noqa: B023
            assert app.timeline.expected_rounds is None and app.timeline.round == read(path).rounds[-1]
            assert (app.timeline.progress is None) == (path is short)


async def test_a_long_recording_is_presented_without_its_rounds_being_read_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, source = long_recording(tmp_path)
    read_back: list[int] = []
    read_one = RoundFile.round

    def read_and_tell(lines: RoundFile, place: int, *, compact: bool = False) -> Round:
        read_back.append(place)
        return read_one(lines, place, compact=compact)

    monkeypatch.setattr(RoundFile, "round", read_and_tell)
    app = SpecvizApp(source, options(present=True, paused=True, trace=path, prompts=(), recorded=lambda: source.lines))
    app.animation_level = "none"
    async with app.run_test(size=(120, 40)) as pilot:
        await until(pilot, lambda: app.timeline.over)
        assert app.timeline.shown == 0 and app.presentation is not None
        await hit(pilot, "pagedown")
        await until(pilot, lambda: app.timeline.shown == 1)
        await hit(pilot, "z")
        await until(pilot, lambda: app.presentation is None)
        app.main.seek(400)
        await pilot.pause()
        assert [len(each.pieces) for each in app.main.text._view.transcript.round_texts] == [
            len(each.emitted) for each in RUN
        ]
        read_back.clear()
        await hit(pilot, "z")
        await until(pilot, lambda: app.presentation is not None)
        await pilot.pause()
        assert set(read_back) <= {398, 399}


async def test_a_line_that_is_none_ends_the_reading_with_its_number(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    record(path)
    lines = path.read_bytes().splitlines()
    lines[300] = b"{}"
    path.write_bytes(b"\n".join(lines))
    app = SpecvizApp(TraceSource(path, compact=True, whole_up_to=20_000), options(trace=path, at=400))
    app.options = options(trace=path, at=400, recorded=lambda: app.session._source.lines)  # type: ignore[attr-defined]
    async with app.run_test(size=(120, 40)) as pilot:
        await until(pilot, lambda: app.timeline.failed is not None)
        await pilot.pause()
        assert (
            app.timeline.failed is not None and "run.jsonl, line 301: its type must be" in app.timeline.failed.message
        )
        assert app.timeline.failed.exit_code == 2
        assert app.timeline.shown == app.timeline.total == 299


# -- breakpoints and finding


def test_breakpoints_look_at_long_runs_again_beside_everything_else() -> None:
    alone = BreakpointMonitor([parse_breakpoint("N<=1"), parse_breakpoint("streak>=2")])
    watching, plain = BreakpointMonitor(thread_above=8), BreakpointMonitor(thread_above=8)
    for round in RUN[:300]:
        alone.add(round)
        watching.add(round)
        plain.add(round)
    watching.change(alone.breakpoints)
    for thread in threading.enumerate():
        if thread.name == "specviz-breakpoints":
            thread.join(10)
    assert watching.hits == alone.hits != []
    plain.change(alone.breakpoints)
    assert [plain.add(round) for round in RUN[300:]] == [alone.add(round) for round in RUN[300:]]
    assert plain.hits == alone.hits, "what is behind is caught up before the next round is judged"
    first, second = alone.hits[:2]
    assert (alone.next_hit(0), alone.next_hit(first), alone.next_hit(alone.hits[-1])) == (first, second, None)


def test_rounds_taken_without_a_breakpoint_are_not_read_again() -> None:
    class Unreadable(RoundStore):
        def iter_compact(self, start: int = 0):  # type: ignore[no-untyped-def]
            raise AssertionError("read back for nothing")

    watching = BreakpointMonitor(store=Unreadable)
    watching.add(Header("", "", {}, 1, (), make_header().prompt))
    assert not any(watching.add(round) for round in RUN[:20])
    watching.change(())
    assert not watching.add(RUN[20])


async def test_a_long_run_is_looked_through_on_a_thread() -> None:
    from tests.ui.test_asking_panels import asked

    store = RoundStore()
    for round in RUN:
        store.append(round)
    places = [(round.index, round.n_accepted) for round in RUN if round.tested > round.n_accepted]
    at = places[len(places) // 2]
    panel = find.FindScreen(store, at=at, thread_above=8, tell_every=0.0)
    async with asked(panel) as (_, pilot):
        await until(pilot, lambda: len(panel._list._hits) == len(places))
        await pilot.pause()
        assert [each.round_row for each in panel._list._hits] == places
        assert panel._list.chosen is not None and panel._list.chosen.round_row == at


async def test_what_cannot_be_read_back_is_said_in_the_list() -> None:
    from tests.ui.test_asking_panels import asked

    class Gone(RoundStore):
        def iter_compact(self, start: int = 0) -> Iterator[Round]:
            yield from islice(super().iter_compact(start), 200)
            raise SpecvizError("run.jsonl: round 201 cannot be read back: the file was changed while it was shown.")

    store = Gone()
    for round in RUN:
        store.append(round)
    panel = find.FindScreen(store, thread_above=8)
    async with asked(panel) as (_, pilot):
        said = panel.query_one("#found", Static)
        await until(pilot, lambda: "round 201 cannot be read back" in str(said.content))
        assert panel.is_attached


# -- rounds that cannot be read back


def said(app: SpecvizApp) -> list[str]:
    return [each.message for each in app._notifications if "read back" in each.message]


@contextlib.asynccontextmanager
async def recorded_app(
    folder: Path, monkeypatch: pytest.MonkeyPatch, **changes: Any
) -> AsyncIterator[tuple[SpecvizApp, Pilot[None], Path]]:
    """A long recording, read to its end and shown by the app."""
    path, source = long_recording(folder)
    changes = {"paused": True, "trace": path, "prompts": (), "recorded": lambda: source.lines} | changes
    app = SpecvizApp(source, options(**changes))
    app.animation_level = "none"
    monkeypatch.setattr(app, "NOTIFICATION_TIMEOUT", 600)  # none expires while a test counts them
    async with app.run_test(size=(120, 40)) as pilot:
        await until(pilot, lambda: app.timeline.over)
        await pilot.pause()
        yield app, pilot, path


def spoil(path: Path, first: int, last: int) -> None:
    """Overwrite the lines of these rounds in place: all others stay where they are."""
    lines = path.read_bytes().splitlines(keepends=True)
    lines[first : last + 1] = [b"#" * (len(line) - 1) + b"\n" for line in lines[first : last + 1]]
    path.write_bytes(b"".join(lines))


async def test_a_round_that_cannot_be_read_back_leaves_the_one_that_can(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sentence = "run.jsonl: round 9 cannot be read back: the file was changed while it was shown."
    async with recorded_app(tmp_path, monkeypatch) as (app, pilot, path):
        app.main.seek(10)
        spoil(path, 1, 9)
        before = app.timeline.round
        assert before is not None and before.index == 10
        for key in ("p", "p", "p", "g", "g"):
            await hit(pilot, key)
            assert (app.timeline.shown, app.timeline.round) == (10, before)
        assert [message.endswith(sentence) for message in said(app)] == [True], "once for the file"
        await pilot.resize_terminal(90, 30)
        await hit(pilot, "v", "v", "enter", "right", "escape", "full_stop", "comma", "t", "escape", "comma", "left")
        await hit(pilot, "n")
        assert app.timeline.shown == 11
        await hit(pilot, "G", "f")
        assert app.timeline.shown == 400
        await hit(pilot, "m", "left", "q", "l", "q", "b", "escape")
        assert len(said(app)) == 1
        await hit(pilot, "q")
    assert app.return_code == 0
    assert "400 rounds" in app.farewell() and "read back" not in app.farewell()


async def test_playing_stops_before_what_cannot_be_read_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with recorded_app(tmp_path, monkeypatch, pace=0.0) as (app, pilot, path):
        spoil(path, 5, 400)
        app.main.seek(4)
        await hit(pilot, "space")
        await until(pilot, lambda: mode(app.playback) == "paused")
        await pilot.pause()
        assert app.timeline.shown == 4 and len(said(app)) == 1


async def test_a_presentation_stops_before_what_cannot_be_read_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with recorded_app(tmp_path, monkeypatch, present=True, pace=0.0) as (app, pilot, path):
        spoil(path, 3, 400)
        shown = app.presentation
        assert shown is not None
        await hit(pilot, "space")
        await until(pilot, lambda: not shown.playing)
        await pilot.pause()
        assert (app.timeline.shown, app.timeline.reveal, said(app)) == (2, None, [])
        await hit(pilot, "z")
        await until(pilot, lambda: app.presentation is None)
        await pilot.pause()
        assert len(said(app)) == 1, "said when the presentation is over"


async def test_a_live_run_goes_on_when_what_is_behind_cannot_be_read_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("specviz.ui.app.RoundStore", partial(RoundStore, cache_size=4))
    path = tmp_path / "run.jsonl"
    app = make_app(record=lambda: Recorder(path), breakpoints=(parse_breakpoint("streak>=1"),))
    async with app.run_test(size=(120, 40)) as pilot:
        await ready(pilot, app)
        await sampled(pilot, app, 10)
        path.write_bytes(b"")
        await hit(pilot, "g")
        assert app.timeline.shown == 10 and len(said(app)) == 1
        app.playback.monitor.change([parse_breakpoint("N<=1"), parse_breakpoint("reject<=1")])
        await sampled(pilot, app, 20)
        await hit(pilot, "space")
        await until(pilot, lambda: app.timeline.end is not None)
        await pilot.pause()
        assert app.timeline.failed is None and app.timeline.total == 20 and len(said(app)) == 1
        for key, shown in (("p", 19), ("G", 20), ("g", 20)):
            await hit(pilot, key)
            assert app.timeline.shown == shown
        await hit(pilot, "r")
        await until(pilot, lambda: app.playback.run_id == 2 and app.timeline.ready)
        await hit(pilot, "q")
    assert app.return_code == 0


def test_breakpoints_leave_out_what_cannot_be_read_back(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    with Recorder(path) as recorder:
        watching = BreakpointMonitor(store=lambda: RoundStore(recorder.lines, cache_size=4))
        events: list[Event] = [make_header(), *RUN[:40]]
        for event in events:
            recorder.add(event)
            watching.add(event)
    alone = BreakpointMonitor([parse_breakpoint("N<=1")])
    for round in RUN[:41]:
        alone.add(round)
    spoil(path, 3, 30)
    watching.change(alone.breakpoints)
    assert watching.hits == [index for index in alone.hits if not 3 <= index <= 30 and index <= 40] != []
    watching.add(RUN[40])
    assert (41 in watching.hits) == (41 in alone.hits)


async def test_a_list_of_tokens_that_cannot_be_read_back_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with recorded_app(tmp_path, monkeypatch) as (app, pilot, path):
        spoil(path, 200, 400)
        await hit(pilot, "slash")
        found = app.screen.query_one("#found", Static)
        await until(pilot, lambda: "round 200 cannot be read back" in str(found.content))
        hits = app.screen.query_one(HitList)
        assert 0 < hits.row_count < 200
        await hit(pilot, "down", "pagedown", "enter")
        assert 0 < app.timeline.shown < 200 and len(said(app)) == 1


async def test_a_tested_position_that_cannot_be_read_back_leaves_the_one_that_can(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with recorded_app(tmp_path, monkeypatch) as (app, pilot, path):
        tested_twice = next(round.index for round in RUN[300:] if round.tested > 1)
        app.main.seek(tested_twice, 0)
        spoil(path, 1, tested_twice - 1)
        await hit(pilot, "l", "w")
        page = app.screen
        assert isinstance(page, LosslessScreen)
        at, rows = page.place, page.rows
        await hit(pilot, "p", "p", "p")
        assert (page.place, page.rows) == (at, rows)
        sentence = "round cannot be read back"
        assert sentence in drawn(page.query_one("#mass-title"))[0]
        await hit(pilot, "n")
        assert page.place == at + 1 and sentence not in drawn(page.query_one("#mass-title"))[0]
        await hit(pilot, "q", "q", "left")
        assert len(said(app)) == 1
        spoil(path, 1, 400)
        app.timeline.rounds._recent.clear()
        await hit(pilot, "l", "w")
        assert isinstance(app.screen, LosslessScreen) and app.screen.rows == toy_id_masses()
