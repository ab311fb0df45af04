"""`specviz lab` on a terminal."""

import re
from pathlib import Path

import pytest

from specviz.cli.main import main
from tests.pty.terminal import Terminal

ALTERNATE = 1049


@pytest.mark.parametrize(("columns", "lines"), [(80, 24), (120, 40)])
def test_a_session(columns: int, lines: int) -> None:
    with Terminal(["-m", "specviz", "lab", "bundled:demo"], columns=columns, lines=lines) as terminal:
        terminal.until_shown("starts from what the run measured")
        terminal.until_shown("of the run: 4")
        before = re.search(r"α +(\.\d{3})", terminal.shown)
        assert before
        terminal.send("\x1b[C")
        terminal.until(lambda: re.search(r"α +\.69", terminal.shown), "alpha moved to the next stop")
        terminal.send("+")
        terminal.until_shown("P(N = i)   K 5")
        row = next(y for y, line in enumerate(terminal.shown.splitlines()) if re.match(r" .?.? ?c ", line))
        knob = terminal.shown.splitlines()[row].index("█")
        terminal.send(f"\x1b[<0;{knob - 4};{row + 1}M\x1b[<0;{knob - 4};{row + 1}m")
        terminal.until(lambda: re.search(r"> c", terminal.shown), "c taken by the mouse")
        terminal.send("w")
        terminal.until_shown("tested position 1 of")
        terminal.send("...")
        terminal.until_shown("= p")
        terminal.send("q")
        terminal.until_shown("formula lab")
        terminal.send("q")
        assert terminal.ended() == 0
        assert terminal.modes()[ALTERNATE] is False
        assert terminal.settings == terminal.settings_before


def test_without_a_trace_in_ascii_and_ctrl_c() -> None:
    with Terminal(["-m", "specviz", "lab", "--ascii", "--theme", "light"]) as terminal:
        terminal.until_shown("no run: values to play with")
        terminal.until_shown("best K 6: 2.47x")
        terminal.send("\x03")
        assert terminal.ended() == 130


def test_a_file_that_is_no_trace(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_text("{}\n")
    with Terminal(["-m", "specviz", "lab", str(path)]) as terminal:
        assert terminal.ended() == 2
        assert "specviz: " in terminal.shown


def test_no_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["lab"]) == 2
    assert "specviz theory" in capsys.readouterr().err
