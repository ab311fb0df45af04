"""A run on its way into a file, and the folder of recorded runs."""

import json
import os
import resource
import stat
import subprocess
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from specviz.core.errors import SpecvizError
from specviz.core.events import Event, Failed, Header, Notice, Progress, Ready
from specviz.session.recorder import KEPT, Recorder, new_run_path, recorded_runs, runs_folder
from specviz.stats.run_stats import RunStats
from specviz.trace.codec import encode
from specviz.trace.jsonl import read
from tests.recordings import header, round_, run


def record(path: Path, events: Iterable[Event], *, overwrite: bool = False) -> Recorder:
    with Recorder(path, overwrite=overwrite) as recorder:
        for event in events:
            recorder.add(event)
    return recorder


def last_line(path: Path) -> dict[str, object]:
    found: dict[str, object] = json.loads(path.read_text("utf-8").splitlines()[-1])
    return found


def test_a_run_becomes_a_trace_with_its_numbers(tmp_path: Path) -> None:
    events = run()
    path = tmp_path / "run.jsonl"
    recorder = record(path, [Progress("draft"), Notice("x"), events[0], events[1], Ready(), *events[2:]])
    lines = path.read_text("utf-8").splitlines()
    assert lines[:-1] == [encode(event) for event in events[:-1]]
    stats = RunStats()
    for event in events:
        stats.add(event)
    assert last_line(path)["summary"] == json.loads(json.dumps(stats.summary()))
    assert last_line(path)["reason"] == "max_new_tokens"
    assert recorder.problem is None


def test_only_the_owner_may_read_it(tmp_path: Path) -> None:
    old = os.umask(0)
    try:
        record(tmp_path / "new.jsonl", run())
        (tmp_path / "old.jsonl").touch(0o644)
        record(tmp_path / "old.jsonl", run(), overwrite=True)
    finally:
        os.umask(old)
    for name in ("new.jsonl", "old.jsonl"):
        assert stat.S_IMODE((tmp_path / name).stat().st_mode) == 0o600


def test_a_round_is_in_the_file_as_soon_as_it_is_decided(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    recorder = Recorder(path)
    for n, event in enumerate(run()[:3], 1):
        recorder.add(event)
        assert path.read_bytes().count(b"\n") == n
        assert path.read_bytes().endswith(b"\n")
    recorder.close()


def test_a_closed_recording_was_ended_by_the_user(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    recorder = record(path, run()[:4])
    recorder.close()
    recorder.add(round_(3))
    trace = read(path)
    assert len(trace.rounds) == 2
    assert trace.end is not None and trace.end.reason == "user"


def test_a_failure_keeps_the_rounds_before_it(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    record(path, [*run()[:4], Failed("Logits are not finite.", "Traceback", 2)])
    trace = read(path)
    assert len(trace.rounds) == 2
    assert trace.end is not None
    assert (trace.end.reason, trace.end.detail) == ("error", "Logits are not finite.")


def test_what_comes_behind_the_end_is_another_run(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    record(path, [*run(), header(), round_(1), Failed("late")])
    assert len(read(path).rounds) == 3
    superseded = tmp_path / "superseded.jsonl"
    record(superseded, [*run()[:3], header(), round_(1)])
    trace = read(superseded)
    assert len(trace.rounds) == 1
    assert trace.end is not None and trace.end.reason == "user"


def test_an_old_file_is_refused_and_left_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    path.write_text("precious")
    with pytest.raises(SpecvizError, match=r"run\.jsonl exists.*--force"):
        Recorder(path)
    assert path.read_text() == "precious"
    record(path, [Failed("no such model")], overwrite=True)
    assert path.read_text() == "precious"
    record(path, run(), overwrite=True)
    assert len(read(path).rounds) == 3


def test_overwriting_a_longer_file_leaves_nothing_of_it(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    path.write_bytes(b"x\n" * 100_000)
    record(path, run(), overwrite=True)
    assert len(read(path).rounds) == 3


def test_nothing_is_left_of_a_run_that_never_began(tmp_path: Path) -> None:
    record(tmp_path / "run.jsonl", [Progress("draft"), Failed("no such model")])
    record(tmp_path / "run.jsonl", [])
    assert list(tmp_path.iterdir()) == []


def test_places_that_cannot_be_written(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "file").touch()
    for path, message in (
        (tmp_path, "is not a regular file"),
        (tmp_path / "pipe", "is not a regular file"),
        (tmp_path / "none" / "run.jsonl", "the folder does not exist"),
        (tmp_path / "file" / "run.jsonl", "cannot be written"),
        (Path("a\0b"), "cannot be written"),
    ):
        for overwrite in (False, True):
            with pytest.raises(SpecvizError, match=message):
                Recorder(path, overwrite=overwrite)


@contextmanager
def files_end_at(size: int) -> Iterator[None]:
    """No file can grow beyond ``size`` bytes, as on a full disk."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_a_full_disk_ends_the_recording_but_not_the_run(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    recorder = Recorder(path)
    for event in run()[:3]:
        recorder.add(event)
    with files_end_at(path.stat().st_size + 100):
        for event in run()[3:]:
            recorder.add(event)
    recorder.close()
    assert recorder.problem is not None
    assert "this run is no longer recorded" in recorder.problem and "run.jsonl" in recorder.problem
    trace = read(path)
    assert len(trace.rounds) == 1
    assert trace.incomplete


# The folder of runs


def test_new_runs_have_paths_of_their_own(home: Path) -> None:
    paths = {new_run_path() for _ in range(50)}
    assert len(paths) == 50
    assert {path.parent for path in paths} == {runs_folder()}
    assert home in runs_folder().parents
    assert stat.S_IMODE(runs_folder().stat().st_mode) == 0o700


def test_two_processes_never_share_a_path() -> None:
    code = "from specviz.session.recorder import new_run_path\nfor _ in range(20): print(new_run_path())"
    started = [subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) for _ in range(2)]
    paths = [path for process in started for path in process.communicate()[0].split()]
    assert len(set(paths)) == len(paths) == 40


def test_the_last_runs_are_kept_and_nothing_else_is_touched() -> None:
    others = [runs_folder() / name for name in ("talk.jsonl", "run-1.jsonl", "run-20250101-000000-000000-abcdef.txt")]
    made = []
    for _ in range(KEPT + 5):
        made.append(new_run_path())
        record(made[-1], run())
        for other in others:
            other.touch()
    assert recorded_runs() == made[: -KEPT - 1 : -1]
    assert {*runs_folder().iterdir()} == {*made[-KEPT:], *others}


def test_a_folder_that_cannot_be_made_names_the_way_out(home: Path) -> None:
    runs_folder().parent.parent.mkdir(parents=True, exist_ok=True)
    runs_folder().parent.touch()
    assert recorded_runs() == []
    with pytest.raises(SpecvizError, match="--no-record"):
        new_run_path()


def test_a_recorder_takes_a_new_path(home: Path) -> None:
    path = new_run_path()
    record(path, run())
    assert recorded_runs() == [path]
    assert isinstance(read(path).header, Header)
