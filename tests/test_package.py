"""What people install: the wheel, alone in a clean environment, away from the checkout."""

import json
import os
import subprocess
import sys
import sysconfig
import tomllib
import venv
import zipfile
from dataclasses import dataclass
from email.parser import HeaderParser
from pathlib import Path

import pytest

import specviz
from specviz import bundled
from specviz.core.errors import SpecvizError

ROOT = Path(__file__).parent.parent


def build_wheel(out: Path) -> Path:
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(out), str(ROOT)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    [wheel] = out.glob("*.whl")
    return wheel


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_wheel(tmp_path_factory.mktemp("dist"))


@dataclass(frozen=True)
class Installed:
    """A virtual environment that holds the wheel and borrows every dependency from this one."""

    root: Path

    @property
    def python(self) -> Path:
        return self.root / "bin" / "python"

    @property
    def site(self) -> Path:
        return Path(sysconfig.get_path("purelib", vars={"base": str(self.root), "platbase": str(self.root)}))

    def run(self, *command: str, cwd: Path, timeout: float = 120) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            command, cwd=cwd, capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=timeout, check=False
        )

    def specviz(self, *args: str, cwd: Path) -> subprocess.CompletedProcess[str]:
        return self.run(str(self.root / "bin" / "specviz"), *args, cwd=cwd)


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Installed:
    root = tmp_path_factory.mktemp("clean") / "venv"
    venv.create(root, with_pip=False, symlinks=os.name != "nt")
    there = Installed(root)
    # A path named in a .pth file is only searched: the .pth files in it, such as an editable install's, are not read.
    (there.site / "borrowed.pth").write_text(sysconfig.get_path("purelib") + "\n", encoding="utf-8")
    pip = [sys.executable, "-m", "pip", "--python", str(there.python), "install", "--quiet", "--no-deps", "--no-index"]
    done = subprocess.run([*pip, str(wheel)], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return there


def test_the_wheel_holds_what_the_program_reads(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    for model in ("draft", "target"):
        for file in ("config.json", "generation_config.json", "model.safetensors", "tokenizer.json", "README.md"):
            assert f"specviz/bundled/{model}/{file}" in names
    assert "specviz/bundled/demo.jsonl" in names
    assert "specviz/py.typed" in names
    shipped = {f"specviz/themes/{theme.name}" for theme in (ROOT / "themes").glob("*.toml")}
    assert shipped
    assert shipped <= names
    styles = {path.relative_to(ROOT).as_posix() for path in (ROOT / "specviz").rglob("*.tcss")}
    assert styles
    assert styles <= names
    assert {name.partition("/")[0] for name in names if ".dist-info/" not in name} == {"specviz"}


def test_the_metadata_says_what_it_needs(wheel: Path) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    with zipfile.ZipFile(wheel) as archive:
        [name] = [n for n in archive.namelist() if n.endswith(".dist-info/METADATA")]
        metadata = HeaderParser().parsestr(archive.read(name).decode())
        assert any(n.endswith(".dist-info/licenses/LICENSE") for n in archive.namelist())
    needed = [line for line in metadata.get_all("Requires-Dist", []) if "extra ==" not in line]
    assert metadata["Name"] == "specviz-llm"
    assert metadata["License-Expression"] == "Apache-2.0"
    assert metadata["Requires-Python"] == ">=3.11"
    assert len(needed) == len(project["dependencies"])


def test_bundled_names_are_places() -> None:
    assert all((bundled.folder(name) / "model.safetensors").is_file() for name in bundled.MODELS)
    assert all(bundled.trace(name).is_file() for name in bundled.TRACES)


@pytest.mark.parametrize("name", ["bundled:", "bundled:demo", "bundled:../bundled/draft", "draft", "bundled:nothing"])
def test_other_names_are_refused_with_those_there_are(name: str) -> None:
    with pytest.raises(SpecvizError, match=r"bundled:draft, bundled:target"):
        bundled.folder(name)


def test_the_code_that_runs_is_the_wheels(installed: Installed, tmp_path: Path) -> None:
    done = installed.run(str(installed.python), "-c", "import specviz; print(specviz.__file__)", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert installed.site in Path(done.stdout.strip()).parents


def test_version(installed: Installed, tmp_path: Path) -> None:
    done = installed.specviz("--version", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert specviz.__version__ in done.stdout


@pytest.mark.parametrize("command", ["--help", "run --help", "check --help", "replay --help", "stats --help"])
def test_help(installed: Installed, tmp_path: Path, command: str) -> None:
    done = installed.specviz(*command.split(), cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "Usage: specviz" in done.stdout


def test_python_dash_m(installed: Installed, tmp_path: Path) -> None:
    done = installed.run(str(installed.python), "-m", "specviz", "--help", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "Usage: specviz" in done.stdout


def test_the_themes_are_found(installed: Installed, tmp_path: Path) -> None:
    program = (
        "from importlib.resources import files; print(*(t.name for t in files('specviz').joinpath('themes').iterdir()))"
    )
    done = installed.run(str(installed.python), "-c", program, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert {theme.name for theme in (ROOT / "themes").glob("*.toml")} <= set(done.stdout.split())


def test_a_run_of_the_bundled_pair_is_recorded_and_counted(installed: Installed, tmp_path: Path) -> None:
    """The smallest whole use: generate, keep the trace, read it back, without a line on the wrong stream."""
    run = ("run", "--seed", "7", "--max-new-tokens", "8", "--record", "trace.jsonl", "--json")
    done = installed.specviz(*run, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    summary = json.loads(done.stdout)
    assert summary["reason"] in ("max_new_tokens", "end_of_text")
    assert 1 <= summary["tokens"] <= 8
    assert len(summary["ids"]) == summary["tokens"]
    assert summary["drafted"] == sum(summary[v] for v in ("accepted", "rejected", "untested", "ignored"))

    counted = installed.specviz("stats", "trace.jsonl", "--json", cwd=tmp_path)
    assert counted.returncode == 0, counted.stderr
    json.loads(counted.stdout)


def test_the_demo_replays_without_a_terminal_in_a_sentence(installed: Installed, tmp_path: Path) -> None:
    done = installed.specviz("replay", "bundled:demo", cwd=tmp_path)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    assert done.stderr.strip()
