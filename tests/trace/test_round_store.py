"""Rounds that are read back from where they stand, and recordings that are read while they are shown."""

import os
import tempfile
import threading
from dataclasses import replace
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from specviz.core.errors import SpecvizError
from specviz.core.events import End, Event, Header, Notice, Progress, Ready, Round, Settings
from specviz.core.options import RunRequest
from specviz.session.recorder import Recorder, SpooledRounds
from specviz.trace.codec import encode
from specviz.trace.jsonl import load_line
from specviz.trace.replay import TraceSource, last_index
from specviz.trace.round_store import RoundStore
from tests.recordings import RAW, drafted, emitted, header, in_a_row, round_, without_top_lists

REQUEST = RunRequest("", 0, Settings())


def long_run(length: int) -> list[Round]:
    """Rounds of different shapes, with everything that a bare round lacks."""
    whole = replace(drafted("accepted", id=9), raw=RAW, detail={"reach": 3})
    shapes = [
        round_(1),
        round_(1, ("accepted",), drafted=(whole,), emitted=(emitted("accepted", raw=RAW), emitted("bonus"))),
        round_(1, ()),
    ]
    return in_a_row(*(replace(shapes[i % 3], index=i + 1) for i in range(length)))


def recorded(path: Path, run: list[Round]) -> Recorder:
    made = Recorder(path)
    everything: list[Event] = [header(), *run, End("user")]
    for event in everything:
        made.add(event)
    return made


def kept_in(store: RoundStore) -> int:
    return len(store._recent) + len(store._unspilled)


few = partial(RoundStore, cache_size=4)


def test_without_a_file_every_round_is_kept() -> None:
    run, store = long_run(20), few()
    for each in run:
        store.append(each)
    assert list(store) == run == store[:] and len(store) == 20
    assert (store[0], store[-1], store[19], store[3:5]) == (run[0], run[19], run[19], run[3:5])
    for at in (20, -21):
        with pytest.raises(IndexError):
            store[at]


def test_old_rounds_come_back_whole_from_the_recording(tmp_path: Path) -> None:
    run = long_run(30)
    store = few(recorded(tmp_path / "run.jsonl", run).lines)
    for each in run:
        store.append(each)
        assert kept_in(store) <= 4
    for at in (0, 29, 7, 7, 8, 0, 15):
        assert store[at] == run[at]
        assert kept_in(store) <= 4
    assert list(store) == run
    assert [without_top_lists(each) for each in store.iter_compact()] == [without_top_lists(each) for each in run]


def test_what_the_recording_lacks_stays_in_memory(tmp_path: Path) -> None:
    run = long_run(30)
    made = Recorder(tmp_path / "run.jsonl")
    made.add(header())
    for each in run[:10]:
        made.add(each)
    made.close()
    store = few(made.lines)
    for each in run:
        store.append(each)
    assert list(store) == run
    assert kept_in(store) == 20, "the ten recorded ones are not kept besides"


def test_bare_rounds_are_not_kept_at_all(tmp_path: Path) -> None:
    run = long_run(9)
    store = few(recorded(tmp_path / "run.jsonl", run).lines, compact=True)
    for each in run:
        store.append(without_top_lists(each))
    assert kept_in(store) == 0
    assert store[8] == run[8], "whole, though it came without its lists"


@pytest.mark.parametrize("harm", ["shorter", "other", "gone"])
def test_a_file_that_changed_is_told_of(tmp_path: Path, harm: str) -> None:
    run, path = long_run(9), tmp_path / "run\x1b.jsonl"
    lines = recorded(path, run).lines
    store = few(lines, compact=True)
    for each in run:
        store.append(without_top_lists(each))
    if harm == "shorter":
        os.truncate(path, 10)
    elif harm == "other":
        path.write_bytes(path.read_bytes().replace(b'"index": 3', b'"index": 4'))
    else:
        assert lines is not None
        lines.close()
    with pytest.raises(SpecvizError, match="round 3 cannot be read back: the file was changed") as caught:
        store[2]
    assert str(caught.value).isprintable()


@pytest.mark.parametrize("room", [1, 2**20])
def test_a_run_that_is_not_recorded_is_within_reach_and_leaves_no_file(
    room: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In memory, and beyond that in a file without a name."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    run, made = long_run(12), SpooledRounds(room)
    store = few(made.lines)
    made.add(header())
    for each in run:
        made.add(each)
        store.append(each)
    made.add(End("user"))
    made.close()
    assert made.path is None
    assert list(store) == run and kept_in(store) == 4
    assert list(tmp_path.iterdir()) == []


# A recording that is read while it is shown


def opened(path: Path, **options: Any) -> tuple[TraceSource, list[Event]]:
    source = TraceSource(path, **{"compact": True} | options)
    told: list[Event] = []
    source.open(told.append)
    return source, told


def opened_long(path: Path) -> tuple[TraceSource, list[Event]]:
    """As a long recording, of which only the beginning is read."""
    return opened(path, whole_up_to=3000)


def events(source: TraceSource) -> list[Event]:
    return list(source.run(REQUEST, Settings, lambda: False))


def test_bare_rounds_and_the_way_back(tmp_path: Path) -> None:
    run = long_run(5)
    recorded(tmp_path / "run.jsonl", run)
    source, told = opened(tmp_path / "run.jsonl")
    assert events(source) == [header(), Ready(), *map(without_top_lists, run), End("user")]
    assert told == [] and source.rounds == 5
    assert source.lines is not None
    assert [source.lines.round(place) for place in range(5)] == run
    assert events(opened(tmp_path / "run.jsonl", compact=False)[0])[2:-1] == run


def test_of_a_long_recording_the_end_tells_how_long_it_is(tmp_path: Path) -> None:
    run = long_run(40)
    recorded(tmp_path / "run.jsonl", run)
    source, told = opened_long(tmp_path / "run.jsonl")
    assert told == [] and source.rounds == 40
    progress = Progress("recording", 0, 40, "rounds")
    assert events(source) == [progress, header(), Ready(), *map(without_top_lists, run), End("user")]
    assert last_index(tmp_path / "none.jsonl") == 0


def test_each_of_several_recordings_says_how_long_it_is_and_has_its_own_way_back(tmp_path: Path) -> None:
    short, long = long_run(2), long_run(40)
    recorded(tmp_path / "short.jsonl", short)
    recorded(tmp_path / "long.jsonl", long)
    source = TraceSource(tmp_path / "short.jsonl", tmp_path / "long.jsonl", compact=True, whole_up_to=20_000)
    told: list[Event] = []
    source.open(told.append)
    assert told == []
    first, second = (list(source.run(replace(REQUEST, recording=n), Settings, lambda: False)) for n in (0, 1))
    assert first == [header(), Ready(), *map(without_top_lists, short), End("user")]
    assert second == [
        Progress("recording", 0, 40, "rounds"),
        header(),
        Ready(),
        *map(without_top_lists, long),
        End("user"),
    ]
    assert source.lines is not None and source.lines.round(39) == long[39]
    events(source)
    assert source.lines.round(1) == short[1] and len(source.lines) == 2


def test_rounds_without_inspection_are_read_fast_too(tmp_path: Path) -> None:
    lean = replace(
        drafted("accepted"), entropy_p=None, entropy_q=None, rank_p=None, rank_q=None, p_top=(), q_top=(), raw=None
    )
    last = replace(emitted("bonus"), rank_p=None, entropy_p=None, p_top=())
    run = round_(1, ("accepted",), drafted=(lean,), emitted=(replace(last, origin="accepted"), last))
    line = (encode(run) or "").encode()
    assert load_line(line) == run and load_line(line, compact=True) == without_top_lists(run)


def test_a_bad_line_far_behind_is_refused_with_its_number_when_it_is_met(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    recorded(path, long_run(40))
    lines = path.read_bytes().splitlines()
    lines[30] = lines[30].replace(b'"last_u": 0.5', b'"last_u": 7')
    path.write_bytes(b"\n".join(lines))
    source, _ = opened_long(path)
    met: list[Event] = []
    with pytest.raises(SpecvizError, match=r"run\.jsonl, line 31: last_u must be a number from 0 to 1"):
        met.extend(iter(source.run(REQUEST, Settings, lambda: False)))
    steps = iter(source.run(REQUEST, Settings, lambda: False))
    assert [type(next(steps)) for _ in range(32)] == [Progress, Header, Ready, *[Round] * 29]


def test_what_stands_behind_the_end_of_a_long_recording_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    recorded(path, long_run(40))
    path.write_bytes(path.read_bytes() + (encode(round_(41)) or "").encode())
    with pytest.raises(SpecvizError, match="line 43: a record follows the end record"):
        events(opened_long(path)[0])


def test_a_cut_end_far_behind_is_told_when_it_is_met(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    recorded(path, long_run(40))
    path.write_bytes(path.read_bytes()[:-2000])
    source, told = opened_long(path)
    assert told == []
    *_, notice, end = events(source)
    assert isinstance(notice, Notice) and "incomplete" in notice.message
    assert end == End("user", "the recording stops here")


def test_a_pipe_is_read_once_and_shown_like_a_file(tmp_path: Path) -> None:
    recorded(tmp_path / "run.jsonl", long_run(5))
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_bytes, args=((tmp_path / "run.jsonl").read_bytes(),))
    writer.start()
    source, _ = opened(pipe)
    writer.join()
    assert events(source)[2:-1] == list(map(without_top_lists, long_run(5)))
    assert source.lines is not None and source.lines.round(1) == long_run(2)[1]


def test_reading_stops_when_it_is_told_to(tmp_path: Path) -> None:
    recorded(tmp_path / "run.jsonl", long_run(40))
    calls = count()
    source, _ = opened_long(tmp_path / "run.jsonl")
    assert len(list(source.run(REQUEST, Settings, lambda: next(calls) >= 12))) == 12
