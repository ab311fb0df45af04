"""`specviz export`: formats, files, and what it refuses."""

from collections.abc import Callable
from pathlib import Path

import pytest

from specviz.cli.main import EXPORTS, main
from specviz.export.formats import FORMATS, parse_size
from specviz.trace.codec import encode
from tests.recordings import run

START = {"html": b"<!DOCTYPE html>", "md": b"# Speculative", "csv": b"round,position", "cast": b"{", "svg": b"<svg "}


@pytest.fixture
def trace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "talk.jsonl"
    path.write_text("".join(f"{encode(event, {})}\n" for event in run()))
    return path


def test_formats_are_those_of_the_option() -> None:
    assert tuple(FORMATS) == EXPORTS


@pytest.mark.parametrize("form", START)
def test_the_ending_names_the_format(form: str, trace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["export", str(trace), "-o", f"out.{form.upper()}"]) == 0
    assert Path(f"out.{form.upper()}").read_bytes().startswith(START[form])
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith(f"out.{form.upper()}: {form}, ")


def test_without_a_name_the_page_stands_here(trace: Path) -> None:
    assert main(["export", str(trace)]) == 0
    assert Path("talk.html").read_bytes().startswith(START["html"])


def test_the_option_goes_before_the_ending(trace: Path) -> None:
    assert main(["export", str(trace), "-o", "talk.txt", "--as", "md"]) == 0
    assert Path("talk.txt").read_bytes().startswith(START["md"])


def test_standard_output(trace: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    assert main(["export", str(trace), "-o", "-", "--as", "csv"]) == 0
    said = capfdbinary.readouterr()
    assert said.out.startswith(START["csv"])
    assert said.err == b""


def test_a_file_is_kept_unless_forced(trace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    kept = Path("talk.md")
    kept.write_text("mine")
    assert main(["export", str(trace), "-o", "talk.md"]) == 2
    assert kept.read_text() == "mine"
    assert capsys.readouterr().err == (
        "specviz: talk.md exists: choose another file with -o, or use --force to overwrite it.\n"
    )
    assert main(["export", str(trace), "-o", "talk.md", "--force"]) == 0
    assert kept.read_bytes().startswith(START["md"])


@pytest.mark.parametrize("link", [None, Path.symlink_to, Path.hardlink_to])
def test_the_trace_itself_is_never_overwritten(
    link: Callable[[Path, Path], None] | None, trace: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before, name = trace.read_bytes(), Path("talk.jsonl" if link is None else "other.csv")
    if link is not None:
        link(name, trace)
    assert main(["export", str(trace), "-o", str(name), "--as", "csv", "--force"]) == 2
    assert trace.read_bytes() == before
    assert capsys.readouterr().err == f"specviz: {name} is the trace itself: choose another file with -o.\n"


def test_an_old_file_stays_until_the_new_one_is_complete(
    trace: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    kept = Path("talk.md")
    kept.write_text("mine")
    kept.chmod(0o640)

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("os.replace", full)
        assert main(["export", str(trace), "-o", "talk.md", "--force"]) == 2
    assert "talk.md cannot be written (No space left on device)" in capsys.readouterr().err
    assert kept.read_text() == "mine"
    assert sorted(path.name for path in Path().iterdir()) == ["talk.jsonl", "talk.md"]
    assert main(["export", str(trace), "-o", "talk.md", "--force"]) == 0
    assert kept.stat().st_mode & 0o777 == 0o640
    assert main(["export", str(trace), "-o", "new.md", "--force"]) == 0
    assert main(["export", str(trace), "-o", "plain.md"]) == 0
    assert Path("new.md").stat().st_mode == Path("plain.md").stat().st_mode


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (("-o", "talk.doc"), "-o talk.doc has no known extension: use one of html, md, csv"),
        (("-o", "talk"), "has no known extension"),
        (("-o", "-"), "-o - needs --as with one of html"),
        (("-o", "a.csv", "--theme", "dark"), "--theme applies to html, svg, png, cast, gif, not to csv."),
        (("-o", "a.svg", "--pace", "2"), "--pace applies to cast, gif, not to svg."),
        (("-o", "a.html", "--size", "90x30"), "--size applies to cast, gif, not to html."),
        (("-o", "a.cast", "--size", "20x5"), "'20x5' is not a size such as 100x30; the minimum is 60x18."),
        (("-o", "a.svg", "--theme", "nope"), "There is no theme 'nope'. Available: dark,"),
        (("-o", "none/a.md"), "none/a.md cannot be written (No such file or directory): choose another"),
    ],
)
def test_what_it_refuses(args: tuple[str, ...], said: str, trace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["export", str(trace), *args]) == 2
    error = capsys.readouterr().err
    assert said in error
    assert "Traceback" not in error
    assert sorted(path.name for path in trace.parent.iterdir()) == ["talk.jsonl"]


def test_no_trace(trace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["export", "none.jsonl"]) == 2
    assert "none.jsonl: there is no such file." in capsys.readouterr().err


def test_a_cut_trace_is_said(trace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    trace.write_bytes(trace.read_bytes()[:-40])
    assert main(["export", str(trace), "-o", "a.md"]) == 0
    assert "the last record of" in capsys.readouterr().err
    assert "not ended: the last record is incomplete" in Path("a.md").read_text("utf-8")


def test_size() -> None:
    assert parse_size("120x40") == (120, 40)
    for text in ("120", "120x", "x40", "59x40", "120x17", "9999x40", "120X40 "):
        with pytest.raises(ValueError, match="is not a size such as"):
            parse_size(text)
