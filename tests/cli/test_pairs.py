"""Pairs that people bring, through the command line: what cannot work is said in a sentence, by name, at once."""

import json
import re
import shutil
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
import transformers
from safetensors.torch import load_file
from transformers import BertConfig, T5Config, WhisperConfig

from specviz.cli.main import main
from specviz.cli.shared.loading import LoadProgress
from specviz.core.errors import SpecvizError
from specviz.core.events import Progress, Settings
from specviz.core.options import PairOptions, RunOptions
from specviz.decoder.source import LiveSource
from tests.cli.conftest import Specviz
from tests.decoder.fake_hub import FakeHub, Model, standing_in, taken_for_the_real_one
from tests.decoder.models import Shelf
from tests.pty.terminal import Terminal

ALTERNATE = 1049
SECRET = "hf_SecretSecretSecret"
PROMPT = ["--prompt", "w1 w2", "--max-new-tokens", "4"]
CODE = {
    "configuration_tiny.py": (
        "from transformers import GPT2Config\n\n\nclass TinyConfig(GPT2Config):\n    model_type = 'tiny_own'\n"
    ),
    "modeling_tiny.py": (
        "from transformers import GPT2LMHeadModel\n\nfrom .configuration_tiny import TinyConfig\n\n\n"
        "class TinyModel(GPT2LMHeadModel):\n    config_class = TinyConfig\n"
    ),
}


def edit_json(path: Path, **changes: object) -> None:
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


@pytest.fixture
def folder(shelf: Shelf, tmp_path: Path) -> Path:
    """A whole model, to be damaged."""
    path = tmp_path / "model"
    shutil.copytree(shelf.random(1), path)
    return path


def refused(capfd: pytest.CaptureFixture[str], *args: str) -> str:
    """The sentence that `run` and `check` refuse a pair with."""
    assert main(["run", *PROMPT, *args]) == 2
    said = [line for line in capfd.readouterr().err.splitlines() if not line.startswith("note: ")]
    assert len(said) == 1 and said[0].startswith("specviz: ")
    sentence = said[0].removeprefix("specviz: ")
    assert main(["check", *args]) == 2
    out = capfd.readouterr().out
    assert sentence in out and "This pair is refused." in out
    return sentence


def as_target(shelf: Shelf, target: object) -> list[str]:
    return ["--draft", shelf.random(2), "--target", str(target)]


@pytest.mark.parametrize(
    ("config", "reason"),
    [
        (T5Config(num_layers=1), "t5 is an encoder-decoder model"),
        (WhisperConfig(encoder_layers=1), "whisper is an encoder-decoder model"),
        (BertConfig(num_hidden_layers=1), "bert is an encoder-only model"),
    ],
    ids=["t5", "whisper", "bert"],
)
@pytest.mark.parametrize("role", ["draft", "target"])
def test_c60_other_kinds_of_model_are_refused_from_the_config_alone(
    config: T5Config, reason: str, role: str, tmp_path: Path, shelf: Shelf, capfd: pytest.CaptureFixture[str]
) -> None:
    config.save_pretrained(tmp_path)
    other = "draft" if role == "target" else "target"
    said = refused(capfd, f"--{role}", str(tmp_path), f"--{other}", shelf.random(2))
    assert said == f"--{role} {tmp_path} cannot be used: {reason}. Use a decoder-only language model."


def test_c59_gguf(shelf: Shelf, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "model.gguf"
    file.write_bytes(b"GGUF" + b"\0" * 1020)
    suggestion = "a folder or hub id with safetensors."
    assert refused(capfd, *as_target(shelf, file)) == (
        f"--target {file} is a GGUF file, which specviz cannot read. Use the model it was converted from: {suggestion}"
    )
    assert refused(capfd, *as_target(shelf, tmp_path)) == (
        f"--target {tmp_path} has only GGUF weights (model.gguf), which specviz cannot read. "
        f"Use the model they were converted from: {suggestion}"
    )
    hidden = tmp_path / "weights"
    hidden.write_bytes(file.read_bytes())
    assert "is a GGUF file" in refused(capfd, *as_target(shelf, hidden))


def test_files_and_folders_that_are_no_model(shelf: Shelf, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "model.safetensors"
    file.write_bytes(b"x" * 100)
    assert refused(capfd, *as_target(shelf, file)) == (
        f"--target {file} is a file. Use a model folder (with config.json) or a hub id."
    )
    assert refused(capfd, *as_target(shelf, tmp_path)) == (
        f"--target {tmp_path}: this folder has no config.json. Use a model folder or a hub id."
    )
    adapter = tmp_path / "adapter"
    adapter.mkdir()
    (adapter / "adapter_config.json").write_text('{"base_model_name_or_path": "gpt2"}')
    (adapter / "adapter_model.safetensors").write_bytes(b"x")
    assert refused(capfd, *as_target(shelf, adapter)) == (
        f"--target {adapter} is only an adapter (adapter_config.json), not a model. "
        "Merge it into its base model and save the result (in peft: merge_and_unload, then save_pretrained)."
    )


def test_folders_that_lack_something(shelf: Shelf, folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    target, complete = as_target(shelf, folder), "Check that the folder is complete."
    (folder / "model.safetensors").rename(folder / "weights.safetensors")
    assert refused(capfd, *target) == (
        f"--target {folder} has a config.json but no weights (model.safetensors). {complete}"
    )
    table = {"weight_map": {"a": "model-00001-of-00002.safetensors", "b": "model-00002-of-00002.safetensors"}}
    (folder / "model.safetensors.index.json").write_text(json.dumps(table))
    (folder / "model-00001-of-00002.safetensors").write_bytes(b"x")
    assert refused(capfd, *target) == (
        f"--target {folder} lacks 1 of its 2 weight files (model-00002-of-00002.safetensors). {complete}"
    )
    (folder / "model.safetensors.index.json").write_text("[]")
    assert refused(capfd, *target) == (
        f"--target {folder} has an unusable index of weights (it is not a JSON object). {complete}"
    )
    (folder / "tokenizer.json").unlink()
    assert refused(capfd, *target) == f"--target {folder} has no tokenizer (tokenizer.json is missing). {complete}"


def test_configs_that_say_nothing(shelf: Shelf, folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    config, target = folder / "config.json", as_target(shelf, folder)
    whole = config.read_text()
    for text, said in (
        ("{", "has a config.json that cannot be read (Expecting property name"),
        ("[]", "has a config.json that cannot be read (it is not a JSON object). Check that the folder is complete."),
        ("{}", "has a config.json without a model_type. Use a model that transformers can load."),
    ):
        config.write_text(text)
        assert refused(capfd, *target).startswith(f"--target {folder} {said}")
    config.write_text(whole)
    edit_json(config, model_type="gpt99")
    assert refused(capfd, *target) == (
        f"--target {folder} has the model type gpt99, which transformers {transformers.__version__} does not support. "
        "A newer version of transformers may support it."
    )


def test_pickles_are_read_only_when_asked_for(shelf: Shelf, folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    torch.save(load_file(folder / "model.safetensors"), folder / "pytorch_model.bin")
    (folder / "model.safetensors").unlink()
    target = as_target(shelf, folder)
    assert refused(capfd, *target) == (
        f"--target {folder} has its weights only as pickle (pytorch_model.bin), which can run code when loaded. "
        "Pass --allow-pickle to load it; a model with safetensors is safer."
    )
    assert main(["check", *target, "--allow-pickle"]) == 0
    assert "pickle, " in capfd.readouterr().out
    assert main(["run", *PROMPT, *target, "--allow-pickle"]) == 0


@pytest.fixture
def custom_code(folder: Path) -> Path:
    """A model with custom code."""
    for name, text in CODE.items():
        (folder / name).write_text(text)
    auto_map = {"AutoConfig": "configuration_tiny.TinyConfig", "AutoModelForCausalLM": "modeling_tiny.TinyModel"}
    edit_json(folder / "config.json", model_type="tiny_own", architectures=["TinyModel"], auto_map=auto_map)
    return folder


def test_c58_code_of_its_own_is_run_by_a_flag_and_never_by_a_question(
    shelf: Shelf, custom_code: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("builtins.input", lambda *_: pytest.fail("a question was asked"))
    target = as_target(shelf, custom_code)
    assert refused(capfd, *target) == (
        f"--target {custom_code} contains custom code (configuration_tiny.py), which runs only with "
        "--trust-remote-code. "
        "Read that code before you pass the flag: it runs with all your permissions."
    )
    assert main(["check", *target, "--trust-remote-code"]) == 0
    out = capfd.readouterr().out
    assert "configuration_tiny.py" in out and "modeling_tiny.py" in out
    assert "note, custom code: --trust-remote-code runs Python files of the target" in out


def test_c58_code_of_its_own_loads_in_a_thread(shelf: Shelf, custom_code: Path) -> None:
    caught: list[Exception] = []

    def work(trust: bool) -> None:
        pair = PairOptions(shelf.random(2), str(custom_code), trust_remote_code=trust)
        try:
            LiveSource(RunOptions(pair, Settings(), calibrate=0)).open(lambda _: None)
        except Exception as error:
            caught.append(error)

    for trust in (False, True):
        thread = threading.Thread(target=work, args=(trust,))
        thread.start()
        thread.join()
    assert [type(error) for error in caught] == [SpecvizError] and "--trust-remote-code" in str(caught[0])


def test_check_has_a_line_for_everything(
    shelf: Shelf, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    with standing_in(monkeypatch, tmp_path / "hub") as hub:
        for role, seed in (("draft", 1), ("target", 2)):
            hub.models[f"org/{role}"] = Model.of(shelf.random(seed, width=256))
        pair = ["--draft", "org/draft", "--target", "org/target"]
        assert main(["check", *pair]) == 0
        out = capfd.readouterr().out
        for subject in (
            "files",
            "custom code",
            "architecture",
            "weights",
            "device",
            "dtype",
            "chat template",
            "prompt",
        ):
            assert re.search(rf"^{subject} .*(pass|note)$", out, re.MULTILINE), subject
        size = len(hub.models["org/draft"].files["model.safetensors"]) / 1e6
        assert f"hub, {size:.1f} MB to download" in " ".join(out.split())
        assert f"a run will download 1 file of the draft org/draft, {size:.1f} MB" in out
        assert not hub.weights_asked
        assert not re.search("^compiled", out, re.MULTILINE)
        assert main(["check", *pair, "--compile"]) == 0
        assert re.search("^compiled .*pass$", capfd.readouterr().out, re.MULTILINE)
        assert main(["check", *pair, "--chat"]) == 2
        assert "refuse, chat template: --target org/target has no chat template for --chat" in capfd.readouterr().out
        assert main(["check", *pair, "--offline"]) == 2
        assert "has a config.json but no weights (model.safetensors) in the cache" in capfd.readouterr().out
        assert main(["check", "--draft", "org/none", "--target", "./none"]) == 2
        out = capfd.readouterr().out
        assert "refuse, files: --draft org/none: the hub has no such model" in out
        assert "refuse, files: --target ./none: this folder does not exist" in out


def test_without_the_app_a_download_is_told_of_now_and_then(capfd: pytest.CaptureFixture[str]) -> None:
    now = 0.0
    loading = LoadProgress(lambda: now)
    loading.report(Progress("files", detail="gpt2"))
    loading.report(Progress("import"))
    for now in range(25):
        loading.report(Progress("draft", now * 1_000_000, 60_000_000, "bytes", "model.safetensors"))
    loading.report(Progress("draft", 3, 12, "tensors"))
    loading.report(Progress("draft", 4, 12, "tensors"))
    assert capfd.readouterr().err.splitlines() == [
        "files …",
        "import …",
        "draft: 0 bytes of 60 MB, model.safetensors",
        "draft: 10 MB of 60 MB, 1.0 MB/s, 50 s left, model.safetensors",
        "draft: 20 MB of 60 MB, 1.0 MB/s, 40 s left, model.safetensors",
        "draft …",
    ]


# -- as a process


@pytest.fixture
def hub(shelf: Shelf) -> Iterator[FakeHub]:
    made = FakeHub()
    for role, seed in (("draft", 1), ("target", 2)):
        made.models[f"org/{role}"] = Model.of(shelf.random(seed, width=256))
    yield made
    made.close()


@pytest.fixture
def online(hub: FakeHub, home: Path) -> dict[str, str]:
    """The environment of a process for which that hub is the hub."""
    return {"HF_ENDPOINT": hub.url, "HF_HOME": str(home / "hf"), "HF_HUB_OFFLINE": "0", "HF_TOKEN": SECRET}


def test_c55_a_gated_model_ends_the_process(hub: FakeHub, specviz: Specviz, online: dict[str, str]) -> None:
    hub.models["org/target"].error = (403, "GatedRepo")
    done = specviz("run", "--draft", "org/draft", "--target", "org/target", **online)
    assert done.returncode == 2 and not done.stdout
    assert re.fullmatch(r"specviz: --target org/target is gated: [^\n]*\n", done.stderr.decode())
    assert SECRET.encode() not in done.stderr and not hub.weights_asked


def test_what_came_before_the_app_was_left_is_kept(
    hub: FakeHub, online: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    hub.slow = 0.2
    pair = ["--draft", "org/draft", "--target", "org/target"]
    with Terminal(["-m", "specviz", *pair], env=online) as terminal:
        terminal.until(lambda: re.search(r"of \d+\.\d MB", terminal.shown), "bytes")
        assert "model.safetensors" in terminal.shown
        terminal.send("q")
        terminal.until(lambda: terminal.modes().get(ALTERNATE) is False, "normal screen")
        assert terminal.ended() == 0
    (part,) = Path(online["HF_HOME"]).rglob("*.incomplete")
    kept = part.stat().st_size
    assert kept
    hub.slow = 0.0
    hub.asked.clear()
    taken_for_the_real_one(hub, monkeypatch, Path(online["HF_HOME"]) / "hub")
    assert main(["run", *pair, *PROMPT]) == 0
    assert [asked.range for asked in hub.weights_asked] == [f"bytes={kept}-", None]


IN_A_TERMINAL = """
import fcntl, os, sys, termios
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
os.execvp("sh", ["sh", "-c", sys.argv[1]])
"""


def in_a_terminal(command: str) -> Terminal:
    """``command`` of a shell whose controlling terminal this is."""
    return Terminal(["-c", IN_A_TERMINAL, command], columns=120, lines=40)


def test_c79_a_prompt_from_a_pipe_leaves_the_keys_to_the_terminal() -> None:
    with in_a_terminal(
        f"printf 'Hello from a pipe' | {sys.executable} -m specviz --prompt-file - --paused"
    ) as terminal:
        terminal.until_shown("PAUSED")
        assert "Hello from a pipe" in terminal.shown
        terminal.send("n")
        terminal.until_shown("PAUSED  round 1")
        terminal.send("q")
        assert terminal.ended() == 0
        assert terminal.settings == terminal.settings_before


def test_c79_a_pipe_that_nobody_asked_for_is_refused() -> None:
    with in_a_terminal(f"echo hi | {sys.executable} -m specviz") as terminal:
        assert terminal.ended() == 2
        assert "Toreadthepromptfromit,use--prompt-file-" in "".join(terminal.shown.split())


def test_c79_no_terminal_at_all_is_refused() -> None:
    command = f"echo hi | {sys.executable} -m specviz --prompt-file -"
    with Terminal(["-c", "import os, sys; os.execvp('sh', ['sh', '-c', sys.argv[1]])", command]) as terminal:
        assert terminal.ended() == 2
        assert "needsaterminaltoreadkeysfrom,andthereisnone" in "".join(terminal.shown.split())
