"""The arrows between the parts, seen at run time: what each part really loads, in a fresh interpreter."""

import json
import subprocess
import sys
from pathlib import Path

import specviz

MODELS = {"torch", "transformers"}
SCREEN = {"textual", "textual_plotext", "plotext"}

REPORT = """
import json, sys
print(json.dumps(sorted({name.partition(".")[0] for name in sys.modules})), file=sys.stderr)
"""


def modules(package: str) -> list[str]:
    """``package`` and every module below it, found by their files: nothing is imported."""
    top = Path(specviz.__path__[0])
    files = top.joinpath(*package.split(".")[1:]).rglob("*.py")
    names = {".".join(file.relative_to(top.parent).with_suffix("").parts).removesuffix(".__init__") for file in files}
    return sorted(names)


def loaded(program: str, *args: str) -> set[str]:
    """Top-level names in ``sys.modules`` once ``program`` has run."""
    command = [sys.executable, "-c", program + REPORT, *args]
    root = Path(specviz.__path__[0]).parent
    done = subprocess.run(
        command, cwd=root, capture_output=True, stdin=subprocess.DEVNULL, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    return set(json.loads(done.stderr.splitlines()[-1]))


def importing(names: list[str]) -> set[str]:
    return loaded("\n".join(f"import {name}" for name in names))


RUNNING = """
import json, sys
from specviz.cli.main import main
for args in json.loads(sys.argv[1]):
    assert main(args) in (0, 2), args
    assert not {"torch", "transformers"} & set(sys.modules), args
"""


UI = modules("specviz.ui")
DECODER = modules("specviz.decoder")
CLI = ["specviz.__main__", *modules("specviz.cli")]
DRAWING = {*modules("specviz.theming"), *modules("specviz.export"), "specviz.render.chart_painter"}
"""Below the screens, but with Textual's colours or plotext's axes."""
PLAIN = [name for name in modules("specviz") if name not in {*UI, *DECODER, *CLI, *DRAWING}]


def test_modules_are_found() -> None:
    assert {"specviz.ui.app"} <= set(UI)
    assert {"specviz.decoder.source"} <= set(DECODER)
    assert {
        "specviz.core.events",
        "specviz.stats.run_stats",
        "specviz.maths.formulas",
        "specviz.maths.rules",
        "specviz.trace.jsonl",
    } <= set(PLAIN)
    assert {
        "specviz.core.safe_text",
        "specviz.session.worker",
        "specviz.session.recorder",
        "specviz.trace.replay",
    } <= set(PLAIN)


def test_the_plain_part_loads_neither_models_nor_screen() -> None:
    assert importing(PLAIN).isdisjoint(MODELS | SCREEN)


def test_the_command_line_loads_either_side_only_when_it_is_asked_for() -> None:
    assert importing(CLI).isdisjoint(MODELS | SCREEN)


def test_the_screens_load_no_models() -> None:
    seen = importing(UI)
    assert seen.isdisjoint(MODELS)
    assert "textual" in seen


def test_the_decoder_loads_no_screen() -> None:
    seen = importing(DECODER)
    assert seen.isdisjoint(SCREEN)
    assert seen >= MODELS


COMMANDS = [
    "--help",
    "--version",
    "run --help",
    "replay --help",
    "stats --help",
    "check --help",
    "stats bundled:demo",
    "themes",
    "export bundled:demo -o - --as md",
    "theory",
    "theory --plot",
    "theory --derive",
    "simulate --rounds 10",
    "lab bundled:demo",  # no terminal here: it says so and leaves
    "replay bundled:demo",  # no terminal here: it says so and leaves
]


def test_commands_that_need_no_model_load_none() -> None:
    """One behind the other in one process: the first that loads a model is named."""
    assert loaded(RUNNING, json.dumps([command.split() for command in COMMANDS])).isdisjoint(MODELS)


def test_the_version_alone_loads_nothing() -> None:
    assert importing(["specviz"]).isdisjoint(MODELS | SCREEN | {"numpy", "click", "rich"})
