"""The real command on a terminal: the bundled pair live, and a recorded run."""

import json
import re
import stat
from pathlib import Path

from specviz.cli.main import main
from tests.pty.terminal import Terminal

ALTERNATE = 1049
PAGE_DOWN, PAGE_UP, F5 = "\x1b[6~", "\x1b[5~", "\x1b[15~"


def specviz(*args: str, columns: int = 120, lines: int = 40, **environment: str) -> Terminal:
    return Terminal(["-m", "specviz", *args], columns=columns, lines=lines, env=environment)


def test_a_session_on_the_bundled_pair(home: Path) -> None:
    with specviz("--seed", "7", "--paused") as terminal:
        terminal.until_shown("specviz")
        terminal.until_shown("PAUSED")
        terminal.send("nnn")
        terminal.until_shown("PAUSED  round 3")
        terminal.until(lambda: "Round 3 " in terminal.shown, "the panels of round 3")
        three = text_panel(terminal)
        assert "Once upon a time" in three
        terminal.send("pp")
        terminal.until_shown("round 1 of 3")
        terminal.until(lambda: text_panel(terminal) != three, "the text as of round 1")
        terminal.send("++")
        terminal.send("nn")
        terminal.until_shown("round 3")
        terminal.until(lambda: text_panel(terminal) == three, "the text as of round 3 again")
        terminal.send("n")
        terminal.until_shown("PAUSED  round 4")
        terminal.until_shown("K 6")
        terminal.send("2")
        terminal.until_shown("prompt 2/3: code")
        terminal.send("q")
        assert terminal.ended() == 0
        assert terminal.modes()[ALTERNATE] is False
        assert terminal.settings == terminal.settings_before
        terminal.until_shown("specviz replay")
        assert "tokens/round" in terminal.shown or "round" not in terminal.shown
    recorded = sorted((home / "state" / "specviz" / "runs").iterdir())
    assert len(recorded) == 2
    assert stat.S_IMODE(recorded[0].stat().st_mode) == 0o600
    lines = [json.loads(line) for line in recorded[0].read_text().splitlines()]
    rounds = [line for line in lines if line["type"] == "round"]
    assert [line["settings"]["k"] for line in rounds] == [4, 4, 4, 6]
    assert lines[-1]["type"] == "end" and lines[-1]["reason"] == "user"


def text_panel(terminal: Terminal) -> str:
    """The text on the left of the first panel, to the first of the round panel."""
    rows = terminal.shown.splitlines()
    begin = next((i for i, row in enumerate(rows) if "Text" in row), 0)
    end = next((i for i, row in enumerate(rows) if "Round" in row and i > begin), 0)
    inner = (row[1 : row.index("│", 1)].rstrip() for row in rows[begin + 1 : end - 1] if row.count("│") > 1)
    return "\n".join(filter(None, inner))


def test_c71_quit_while_loading() -> None:
    with specviz() as terminal:
        terminal.until_shown("libraries")
        terminal.send("q")
        terminal.until(lambda: terminal.modes().get(ALTERNATE) is False, "normal screen")
        assert "PAUSED" not in terminal.shown
        assert terminal.ended() == 0
        assert terminal.settings == terminal.settings_before


def test_a_pair_that_cannot_work_is_refused_on_screen_and_at_the_end(tmp_path: Path) -> None:
    with specviz("--draft", "bundled:draft", "--target", str(tmp_path)) as terminal:
        terminal.until_shown("Stopped")
        terminal.send("q")
        assert terminal.ended() == 2
        assert re.search(r"specviz: --target .*config\.json", " ".join(terminal.shown.split()))


def test_c78_a_dumb_terminal_is_told_what_to_use() -> None:
    with specviz(TERM="dumb") as terminal:
        assert terminal.ended() == 2
        assert "specviz run" in terminal.shown and "Traceback" not in terminal.shown


def test_replay_opens_on_the_last_round_or_on_the_one_named(tmp_path: Path) -> None:
    trace = tmp_path / "t.jsonl"
    assert main(["run", "--seed", "7", "--max-new-tokens", "24", "--record", str(trace)]) == 0
    rounds = sum(
        line.startswith('{"type": "round"') or '"type":"round"' in line for line in trace.read_text().splitlines()
    )
    with specviz("replay", str(trace)) as terminal:
        terminal.until_shown(f"round {rounds} of {rounds}")
        terminal.send("p")
        terminal.until_shown(f"round {rounds - 1} of {rounds}")
        terminal.send("q")
        assert terminal.ended() == 0
        terminal.until_shown("specviz replay")
    with specviz("replay", str(trace), "--at", "2", columns=80, lines=24) as terminal:
        terminal.until_shown(f"round 2 of {rounds}")
        terminal.send("\x03")
        assert terminal.ended() == 130
    with specviz("replay", str(trace), "--pace", "0.05") as terminal:
        terminal.until_shown(f"round {rounds} of {rounds}")
        terminal.send("q")
        assert terminal.ended() == 0


def test_a_prepared_talk_is_presented_at_its_pace_and_the_digits_choose(tmp_path: Path) -> None:
    first, second = tmp_path / "a.jsonl", tmp_path / "b.jsonl"
    for trace, seed in ((first, "7"), (second, "8")):
        assert main(["run", "--seed", seed, "--max-new-tokens", "8", "--record", str(trace)]) == 0
    talk = ("replay", str(first), str(second), "--present", "--title", "My talk [/]", "--theme", "light")
    with specviz(*talk) as terminal:
        terminal.until_shown("My talk [/]")
        terminal.until_shown("bundled:draft proposes, bundled:target decides")
        terminal.send(PAGE_DOWN)
        terminal.until_shown("The draft proposes  1 of 4")
        terminal.send(f"b.{F5}{PAGE_DOWN}")
        terminal.until_shown("The draft proposes  2 of 4")
        terminal.send(PAGE_UP)
        terminal.until_shown("The draft proposes  1 of 4")
        terminal.send("2")
        terminal.until_shown("proposes, bundled:target decides")
        terminal.send("q")
        assert terminal.ended() == 0
        assert "b.jsonl" in "".join(terminal.shown.split())
    with specviz("replay", str(first), "--present", "--pace", "0.01", columns=80, lines=24) as terminal:
        terminal.until_shown("End  token budget used up")
        terminal.send("\x03")
        assert terminal.ended() == 130
    with specviz("replay", str(first), "--present", "--pace", "0.01", "--loop") as terminal:
        for shown in ("End  token budget used up", "The draft proposes", "End  token budget used up"):
            terminal.until_shown(shown)
        terminal.send("q")
        assert terminal.ended() == 0


def test_a_live_presentation_waits_for_the_first_click() -> None:
    with specviz("--present", "--no-record", "--seed", "7", "--calibrate", "0") as terminal:
        terminal.until_shown("proposes, bundled:target decides")
        terminal.until(lambda: "Once upon a time" in terminal.shown, "loaded")
        assert "round 1" not in terminal.shown
        terminal.send(PAGE_DOWN)
        terminal.until_shown("The draft proposes  1 of 4")
        terminal.send("z")
        terminal.until_shown("PAUSED  round 1")
        terminal.send("zq")
        terminal.until_shown("PAUSED  round 1")
        terminal.send("q")
        assert terminal.ended() == 0


def test_a_trace_that_is_none_is_refused_before_the_screen_opens(tmp_path: Path) -> None:
    with specviz("replay", "bundled:demo", str(tmp_path / "none.jsonl"), "--present") as terminal:
        assert terminal.ended() == 2
        assert ALTERNATE not in terminal.modes()
        assert "none.jsonl" in "".join(terminal.shown.split())
    assert main(["replay", *["bundled:demo"] * 10]) == 2


COLOURED_AND_PLAIN = """
import os, sys
from specviz.cli.main import main
codes = [main(sys.argv[1:])]
print("without colours")
os.environ["NO_COLOR"] = "1"
sys.exit(any([*codes, main(sys.argv[1:])]))
"""


def test_run_on_a_terminal_marks_tokens_by_origin() -> None:
    command = "run", "--seed", "7", "--max-new-tokens", "30"
    with Terminal(["-c", COLOURED_AND_PLAIN, *command], columns=120, lines=40) as terminal:
        assert terminal.ended() == 0
        coloured, plain = terminal.output.split(b"without colours")
        assert "↳".encode() in coloured and b"\x1b[36m" in coloured
        assert "↳".encode() in plain and b"\x1b[36m" not in plain
