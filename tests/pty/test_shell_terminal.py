"""The terminal is given back as it was, whatever ends the app: seen from the other side of a pseudo-terminal."""

import signal
from pathlib import Path

import pytest

from tests.pty.program import NOISE
from tests.pty.terminal import Terminal

ALTERNATE, PASTE, CURSOR = 1049, 2004, 25
MOUSE = (1000, 1002, 1003, 1006, 1015)


def open_app(scenario: str, tmp_path: Path) -> Terminal:
    return Terminal(["-m", "tests.pty.program", scenario, str(tmp_path / "log")])


def assert_given_back(terminal: Terminal) -> None:
    modes = terminal.modes()
    assert modes[ALTERNATE] is False
    assert modes[CURSOR] is True
    assert not any(modes.get(mode, False) for mode in (*MOUSE, PASTE))
    assert terminal.settings == terminal.settings_before


@pytest.mark.parametrize(("keys", "code"), [("q", 0), ("\x03", 130), ("\x11", 0)])
def test_leaving_by_a_key(keys: str, code: int, tmp_path: Path) -> None:
    with open_app("plain", tmp_path) as terminal:
        terminal.until_shown("PAUSED")
        terminal.send("nn")
        terminal.until_shown("PAUSED  round 2")
        terminal.send(keys)
        assert terminal.ended() == code
        assert_given_back(terminal)
        terminal.until_shown("tokens/round")
        assert "Traceback" not in terminal.shown


@pytest.mark.parametrize(("scenario", "keys"), [("loading", "q"), ("forward", "q"), ("forward", "\x03")])
def test_c71_leaving_while_the_worker_is_busy(scenario: str, keys: str, tmp_path: Path) -> None:
    with open_app(scenario, tmp_path) as terminal:
        terminal.until_shown("PAUSED" if scenario == "forward" else "loading draft model")
        terminal.send("n")
        terminal.send(keys)
        terminal.until(lambda: terminal.modes().get(ALTERNATE) is False, "normal screen")
        assert terminal.ended() == (0 if keys == "q" else 130)
        assert_given_back(terminal)


@pytest.mark.parametrize(
    ("number", "code"),
    [(signal.SIGTERM, 143), (signal.SIGHUP, 129), (signal.SIGINT, 130)],
    ids=lambda value: str(value),
)
def test_c74_signals(number: signal.Signals, code: int, tmp_path: Path) -> None:
    with open_app("plain", tmp_path) as terminal:
        terminal.until_shown("PAUSED")
        terminal.signal(number)
        assert terminal.ended() == code
        assert_given_back(terminal)


def test_c74_an_error_in_the_worker(tmp_path: Path) -> None:
    with open_app("worker", tmp_path) as terminal:
        terminal.until_shown("RuntimeError: boom [/] ␛[31m")
        assert b"boom [/] \x1b[31m" not in terminal.output
        terminal.send("q")
        assert terminal.ended() == 1
        assert_given_back(terminal)


@pytest.mark.parametrize("scenario", ["render", "mount"])
def test_c74_a_crash_of_the_app(scenario: str, tmp_path: Path) -> None:
    with open_app(scenario, tmp_path) as terminal:
        assert terminal.ended() == 1
        assert_given_back(terminal)
        assert "specviz stopped on an unexpected error: RuntimeError: boom in a render [/]" in terminal.shown


def test_what_libraries_write_is_kept_off_the_screen(tmp_path: Path) -> None:
    with open_app("noise", tmp_path) as terminal:
        terminal.until_shown("PAUSED")
        terminal.send("n")
        terminal.until_shown("PAUSED  round 1")
        assert NOISE not in terminal.shown
        terminal.send("q")
        assert terminal.ended() == 0
        assert NOISE.encode() not in terminal.output
    log = (tmp_path / "log").read_text("utf-8")
    for channel in ("warning", "logging", "native"):
        assert f"{NOISE} {channel}" in log


@pytest.mark.parametrize(
    "env", [{"NO_COLOR": "1"}, {"TERM": "linux", "COLORTERM": ""}, {"TERM": "xterm", "COLORTERM": ""}]
)
def test_poor_terminals_show_the_signs(env: dict[str, str], tmp_path: Path) -> None:
    with Terminal(["-m", "tests.pty.program", "plain", str(tmp_path / "log")], env=env) as terminal:
        terminal.until_shown("PAUSED")
        terminal.send("nnn")
        terminal.until_shown("round 3")
        for sign in "✓✗↳+·":
            assert sign in terminal.shown
        terminal.send("q")
        assert terminal.ended() == 0
