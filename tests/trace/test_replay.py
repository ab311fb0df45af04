"""A recorded run as a source."""

import subprocess
import sys
from dataclasses import replace
from itertools import count
from pathlib import Path

import pytest

from specviz import bundled
from specviz.core.errors import SpecvizError
from specviz.core.events import Calibration, End, Event, Notice, Ready, Round, Settings
from specviz.core.options import RunRequest
from specviz.core.source import Source
from specviz.session.recorder import Recorder
from specviz.trace.codec import encode
from specviz.trace.replay import TraceSource, read_trace
from tests.recordings import header, round_, run

REQUEST = RunRequest("", 0, Settings())


def recorded(path: Path, events: list[Event]) -> Path:
    with Recorder(path) as recorder:
        for event in events:
            recorder.add(event)
    return path


def opened(path: Path) -> tuple[Source, list[Event]]:
    source: Source = TraceSource(path)
    told: list[Event] = []
    source.open(told.append)
    return source, told


def replayed(source: Source) -> list[Event]:
    return list(source.run(REQUEST, Settings, lambda: False))


def test_a_run_is_replayed_as_it_was(tmp_path: Path) -> None:
    source, told = opened(recorded(tmp_path / "run.jsonl", run()))
    events = run()
    assert told == []
    assert replayed(source) == [events[0], events[1], Ready(), *events[2:]]
    assert replayed(source) == replayed(source), "as often as it is asked for"


def test_record_replay_record_gives_the_same_file(tmp_path: Path) -> None:
    first = recorded(tmp_path / "first.jsonl", run())
    second = recorded(tmp_path / "second.jsonl", replayed(opened(first)[0]))
    assert second.read_bytes() == first.read_bytes()


def test_a_stored_summary_is_not_believed(tmp_path: Path) -> None:
    lines = [encode(event, {"tokens": 10**6}) or "" for event in run()]
    path = tmp_path / "run.jsonl"
    path.write_text("\n".join(lines))
    events = replayed(opened(path)[0])
    assert events[-1] == End("max_new_tokens")
    again = recorded(tmp_path / "again.jsonl", events)
    assert '"tokens": 6,' in again.read_text()


def test_a_cut_recording_is_told_of_and_replayed(tmp_path: Path) -> None:
    path = recorded(tmp_path / "run.jsonl", run())
    path.write_bytes(path.read_bytes()[:-100])
    source, told = opened(path)
    assert [type(event) for event in told] == [Notice]
    assert isinstance(told[0], Notice) and "incomplete" in told[0].message and "run.jsonl" in told[0].message
    events = replayed(source)
    assert len([event for event in events if isinstance(event, Round)]) == 3
    assert events[-1] == End("user", "the recording stops here")


def test_header_only(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    path.write_text(encode(header()) or "")
    source, told = opened(path)
    assert told == []
    assert replayed(source) == [header(), Ready(), End("user", "the recording stops here")]


def test_stopped_means_no_further_event_and_no_end(tmp_path: Path) -> None:
    source, _ = opened(recorded(tmp_path / "run.jsonl", run()))
    calls = count()
    events = list(source.run(REQUEST, Settings, lambda: next(calls) >= 4))
    assert [type(event) for event in events] == [type(header()), Calibration, Ready, Round]


def test_the_request_chooses_among_several_recordings(tmp_path: Path) -> None:
    first = recorded(tmp_path / "first.jsonl", run())
    second = recorded(tmp_path / "second.jsonl", [header(), round_(1), End("end_of_text")])
    source = TraceSource(first, second)
    told: list[Event] = []
    source.open(told.append)
    assert source.names == (str(first), str(second))
    one, two = (list(source.run(replace(REQUEST, recording=n), Settings, lambda: False)) for n in (0, 1))
    assert one == replayed(opened(first)[0])
    assert two == [header(), Ready(), round_(1), End("end_of_text")]
    assert replayed(source) == one, "the first, where nothing is said"
    assert told == []


def test_all_recordings_are_checked_before_one_is_shown(tmp_path: Path) -> None:
    good, bad = recorded(tmp_path / "good.jsonl", run()), tmp_path / "bad.jsonl"
    bad.write_text("x")
    with pytest.raises(SpecvizError, match=r"bad\.jsonl, line 1"):
        TraceSource(good, bad).open(lambda event: None)
    good.write_bytes(good.read_bytes()[:-100])
    told: list[Event] = []
    TraceSource(good, recorded(tmp_path / "whole.jsonl", run())).open(told.append)
    assert [type(event) for event in told] == [Notice]


def test_what_is_no_trace_is_refused_on_opening(tmp_path: Path) -> None:
    for name in (tmp_path / "none.jsonl", "bundled:other"):
        with pytest.raises(SpecvizError):
            TraceSource(name).open(lambda event: None)
    with pytest.raises(RuntimeError):
        next(iter(TraceSource(tmp_path).run(REQUEST, Settings, lambda: False)))


def test_the_bundled_demo_is_found_in_the_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert len(read_trace("bundled:demo").rounds) > 50
    monkeypatch.setattr(bundled, "files", lambda package: tmp_path)
    with pytest.raises(SpecvizError, match=r"lacks bundled:demo"):
        read_trace("bundled:demo")
    recorded(tmp_path / "demo.jsonl", run())
    assert len(read_trace("bundled:demo").rounds) == 3
    (tmp_path / "demo.jsonl").write_text("x")
    with pytest.raises(SpecvizError, match=r"^bundled:demo, line 1"):
        read_trace("bundled:demo")


def test_replaying_loads_no_model_library() -> None:
    code = (
        "import sys, specviz.trace.replay, specviz.session.recorder; "
        "print(sorted({m.split('.')[0] for m in sys.modules}))"
    )
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert not [name for name in ("torch", "transformers", "textual", "plotext") if f"'{name}'" in loaded]
