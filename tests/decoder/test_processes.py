"""Runs in processes of their own: the same seed gives the same run there, and libraries cannot get in the way."""

import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import specviz
from tests.decoder.models import Shelf
from tests.decoder.run_helpers import opened, play, setting

RUN = """
import json, sys
from tests.decoder.run_helpers import opened, play, setting
run = play(opened(*sys.argv[1:3]), "w3 w5", setting(4), seed=7)
json.dump(run.decisions(), open(sys.argv[3], "w"), default=bytes.hex)
"""

QUIET = f"{RUN}\nprint('done')"

NOISY = f"""
import logging, multiprocessing, os, sys, threading, warnings

multiprocessing.set_start_method("spawn")

class Screen:
    "What an app puts in place of stderr: it has no file behind it."
    def write(self, text): pass
    def flush(self): pass
    def isatty(self): return True
    def fileno(self): return -1

real, sys.stderr = sys.stderr, Screen()
import huggingface_hub.utils, tqdm, tqdm.auto
from transformers import AutoModelForCausalLM

load = AutoModelForCausalLM.from_pretrained

def noisy_load(*args, **kwargs):
    for bar in (tqdm.tqdm, tqdm.auto.tqdm, huggingface_hub.utils.tqdm):
        for _ in bar(range(3), desc="fetching"): pass
    print("printed")
    print("printed", file=sys.stderr)
    warnings.warn("warned")
    logging.getLogger("transformers").warning("logged")
    os.write(2, b"written")
    return load(*args, **kwargs)

AutoModelForCausalLM.from_pretrained = noisy_load
problems = []

def work():
    try:
        exec({RUN!r})
    except BaseException as error:
        problems.append(repr(error))

thread = threading.Thread(target=work)
thread.start()
thread.join()
try:
    multiprocessing.RLock()
    problems.append("this process could have made the lock that bars ask for: the test proves nothing")
except ValueError:
    pass
sys.stderr = real
assert not problems, problems
"""


@dataclass
class Ended:
    code: int
    out: str
    err: str
    decisions: Any


@pytest.fixture(scope="module")
def ended(shelf: Shelf, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Ended]:
    """Both programs, run side by side."""
    folder = tmp_path_factory.mktemp("decisions")
    running = {
        name: subprocess.Popen(
            [sys.executable, "-c", program, *pair(shelf), str(folder / name)],
            cwd=Path(specviz.__path__[0]).parent,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for name, program in {"quiet": QUIET, "noisy": NOISY}.items()
    }
    outcomes = {}
    for name, process in running.items():
        out, err = process.communicate(timeout=150)
        file = folder / name
        outcomes[name] = Ended(process.returncode, out, err, json.loads(file.read_text()) if file.exists() else None)
    return outcomes


def pair(shelf: Shelf) -> tuple[str, str]:
    return shelf.random(1), shelf.noisy(1, 0.1)


def test_c32_the_same_seed_gives_the_same_run_in_a_new_process(shelf: Shelf, ended: dict[str, Ended]) -> None:
    here = play(opened(*pair(shelf)), "w3 w5", setting(4), seed=7).decisions()
    for process in ended.values():
        assert process.decisions == json.loads(json.dumps(here, default=bytes.hex)), process.err


def test_c52_the_libraries_say_nothing_of_their_own(ended: dict[str, Ended]) -> None:
    quiet = ended["quiet"]
    assert (quiet.code, quiet.out, quiet.err) == (0, "done\n", "")


def test_c51_c52_noisy_libraries_and_broken_bars_fail_no_load(ended: dict[str, Ended]) -> None:
    assert ended["noisy"].code == 0, ended["noisy"].err
