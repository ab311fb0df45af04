"""`specviz themes`: every theme with its file, every bad file with all that is wrong with it."""

import json
import re
from pathlib import Path

import pytest

from specviz.cli.main import main
from specviz.theming import loader

GOOD = (loader.shipped_folder() / "light.toml").read_text("utf-8")


@pytest.fixture
def mine() -> Path:
    """A folder of the user's with a good theme and one with three errors."""
    folder = loader.user_folder()
    folder.mkdir(parents=True)
    (folder / "ocean.toml").write_text(GOOD.replace('name = "light"', 'name = "ocean"'), "utf-8")
    bad = GOOD.replace('name = "light"', 'name = "reef"').replace("dark = false", "dark = 0")
    bad = bad.replace('border = "#bdb7aa"', 'border = "\\u001b[31m"').replace("measured =", "mesured =")
    (folder / "reef\x1b[2J.toml").write_text(bad, "utf-8")
    return folder


def test_lines(mine: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["themes"]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    assert "\x1b" not in out
    lines = out.splitlines()
    assert lines[0].split() == ["theme", "background", "from", "file"]
    rows = {line.split()[0]: line for line in lines[1 : 1 + len(loader.load_themes().named)]}
    assert rows["dark"].split() == ["dark", "(default)", "dark", "specviz", str(loader.shipped_folder() / "dark.toml")]
    assert rows["terminal"].split()[1:5] == ["dark,", "16", "colours", "specviz"]
    assert rows["ocean"].split() == ["ocean", "light", "you", str(mine / "ocean.toml")]
    assert "reef" not in rows
    assert f"Your own themes go in {mine}:" in lines
    told = lines[next(i for i, line in enumerate(lines) if line.startswith("reef is not loaded: ")) + 1 :]
    number = {key: GOOD.split("\n").index(text) + 1 for key, text in WRONG.items()}
    assert told == [
        f"  line {number['dark']}, dark: 0 is not true or false",
        f"  line {number['border']}, colors.border: '\\x1b[31m' is not a colour such as \"#56b4e9\"",
        f"  line {number['measured']}, plots.mesured: unknown key; measured is missing",
    ]


WRONG = {"dark": "dark = false", "border": 'border = "#bdb7aa"', "measured": 'measured = "#0058b8"'}


def test_json(mine: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["themes", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["folder"], told["default"]) == (str(mine), "dark")
    by_name = {theme["name"]: theme for theme in told["themes"]}
    assert next(iter(by_name)) == "dark"
    assert by_name["ocean"] == {
        "name": "ocean",
        "dark": False,
        "ansi": False,
        "shipped": False,
        "file": str(mine / "ocean.toml"),
        "hard_to_read": [],
    }
    assert by_name["terminal"]["ansi"]
    assert by_name["terminal"]["shipped"]
    (bad,) = told["bad"]
    assert bad["name"] == "reef"
    assert [problem["key"] for problem in bad["problems"]] == ["dark", "colors.border", "plots.mesured"]
    assert [problem["line"] for problem in bad["problems"]] == [GOOD.split("\n").index(t) + 1 for t in WRONG.values()]


def test_a_theme_that_is_hard_to_read_is_kept_and_told_of(mine: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Grey #949494 has a luminance of .2961, so 1.05/.3461 = 3.03 on white; #959595 has 2.99."""
    grey = GOOD.replace('name = "light"', 'name = "grey"')
    for ground in ("background", "surface", "panel"):
        grey = re.sub(rf'^{ground} = "[^"]*"', f'{ground} = "#ffffff"', grey, flags=re.M)
    grey = re.sub(r'^secondary = "[^"]*"', 'secondary = "#949494"', grey, flags=re.M)
    grey = re.sub(r'^accent = "[^"]*"', 'accent = "#959595"', grey, flags=re.M)
    grey = re.sub(r'^prompt = "[^"]*"', 'prompt = "#747474"', grey, flags=re.M)
    (mine / "grey.toml").write_text(grey, "utf-8")
    assert main(["themes"]) == 0
    lines = capsys.readouterr().out.splitlines()
    at = lines.index("In grey:")
    assert lines[at + 1] == "  colors.accent is hard to read on background (2.99:1), surface (2.99:1), panel (2.99:1)"
    assert lines[at + 2].startswith("  tokens.prompt, drawn dim, is hard to read on background (2.")
    assert [line for line in lines if line.startswith("In ")] == ["In grey:"], "no shipped theme, nor ocean"
    assert main(["themes", "--json"]) == 0
    named = {theme["name"]: theme for theme in json.loads(capsys.readouterr().out)["themes"]}
    assert len(named["grey"]["hard_to_read"]) == 2


def test_before_there_is_a_folder(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["themes"]) == 0
    out = capsys.readouterr().out
    assert f"Your own themes go in {loader.user_folder()} (create it first):" in out
    assert "not loaded" not in out
