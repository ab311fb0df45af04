"""Models of the hub: brought with progress, kept in part, refused in a sentence; against a hub on 127.0.0.1."""

import errno
import io
import re
import shutil
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from huggingface_hub import constants

from specviz.core.errors import SpecvizError
from specviz.core.events import Event, Notice, Progress, Settings
from specviz.core.options import PairOptions, RunOptions
from specviz.decoder.checkpoints import download
from specviz.decoder.checkpoints import hub as hub_module
from specviz.decoder.checkpoints.hub import Locator, PairLocations, fetch
from specviz.decoder.source import LiveSource
from tests.decoder.fake_hub import COMMIT, FakeHub, Model, standing_in
from tests.decoder.models import Shelf
from tests.decoder.pairs import read_pair

SECRET = "hf_SecretSecretSecret"
WITH = {"README.md": b"# x", "consolidated.safetensors": b"0" * 99, "pytorch_model.bin": b"0" * 99, "a/b.json": b"{}"}


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    return tmp_path / "hub"


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch, cache: Path) -> Iterator[FakeHub]:
    monkeypatch.setenv("HF_TOKEN", SECRET)
    with standing_in(monkeypatch, cache) as made:
        yield made


@pytest.fixture
def pair(hub: FakeHub, shelf: Shelf) -> FakeHub:
    """The hub with a draft and a target of some megabytes."""
    for role, seed in (("draft", 1), ("target", 2)):
        hub.models[f"org/{role}"] = model = Model.of(shelf.random(seed, width=256))
        model.files |= WITH
    return hub


def options(**others: object) -> PairOptions:
    return PairOptions(**{"draft": "org/draft", "target": "org/target", **others})  # type: ignore[arg-type]


def opened(asked: PairOptions | None = None) -> list[Event]:
    said: list[Event] = []
    LiveSource(RunOptions(asked or options(), Settings(), calibrate=0)).open(said.append)
    return said


def refused(asked: PairOptions | None = None) -> str:
    """What is said of a pair that cannot be had; nothing of it tells the token."""
    with pytest.raises(SpecvizError) as caught:
        opened(asked)
    assert SECRET not in str(caught.value) and "\n" not in str(caught.value)
    return str(caught.value)


def locate(asked: PairOptions) -> PairLocations:
    return Locator(asked, lambda _: None).locate_pair()


def weights_in_bytes(said: list[Event], stage: str) -> list[Progress]:
    return [e for e in said if isinstance(e, Progress) and (e.stage, e.unit) == (stage, "bytes")]


def test_a_pair_comes_from_the_hub(pair: FakeHub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hub_module, "EMIT_EVERY_S", 0.0)
    said = opened()
    for role in ("draft", "target"):
        told = weights_in_bytes(said, role)
        size = len(pair.models[f"org/{role}"].files["model.safetensors"])
        done = [progress.done for progress in told]
        assert done[0] == 0 and done[-1] == size and done == sorted(done) and len(done) > 10
        assert {progress.total for progress in told} == {size}
        assert {progress.detail for progress in told} == {"model.safetensors"}
    stages = [e.stage for e in said if isinstance(e, Progress)]
    assert list(dict.fromkeys(stages)) == ["files", "tokenizer", "draft", "target"] and stages == sorted(
        stages, key=["files", "tokenizer", "draft", "target"].index
    )
    paths = [asked.path for asked in pair.asked]
    assert not any(re.search(r"README|consolidated|\.bin|b\.json", path) for path in paths)
    first = next(i for i, asked in enumerate(pair.asked) if asked.is_weights)
    for role in ("draft", "target"):
        for file in ("config.json", "tokenizer.json"):
            assert any(
                path.endswith(f"org/{role}/resolve/{COMMIT}/{file}") or path.endswith(f"org/{role}/resolve/main/{file}")
                for path in paths[:first]
            )
    assert all(asked.authorization == f"Bearer {SECRET}" for asked in pair.asked)


def test_a_pair_that_is_refused_is_not_downloaded(pair: FakeHub, shelf: Shelf) -> None:
    from tests.decoder.models import words

    swapped = words(64)
    swapped[10], swapped[11] = swapped[11], swapped[10]
    pair.models["org/draft"] = Model.of(shelf.random(1, saving={"vocabulary": swapped}))
    assert "The tokenizers of the draft" in refused()
    assert not pair.weights_asked


def test_c56a_what_is_cached_loads_without_a_network(pair: FakeHub, monkeypatch: pytest.MonkeyPatch) -> None:
    opened()
    asked = len(pair.asked)
    said = opened(options(offline=True))
    assert len(pair.asked) == asked
    assert not [e for e in said if isinstance(e, Notice) and "cache" in e.message]
    pair.close()
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    opened()


def test_a_second_run_asks_only_whether_there_is_something_new(pair: FakeHub) -> None:
    opened()
    pair.asked.clear()
    opened()
    assert [asked.path for asked in pair.asked] == ["/api/models/org/target", "/api/models/org/draft"]


def test_the_cache_serves_where_the_hub_cannot_be_reached(pair: FakeHub) -> None:
    opened()
    pair.close()
    said = opened()
    notes = [e.message for e in said if isinstance(e, Notice)]
    assert f"--draft org/draft was loaded from the cache: the hub ({pair.url}) cannot be reached." in notes
    assert f"--target org/target was loaded from the cache: the hub ({pair.url}) cannot be reached." in notes


def test_the_cache_serves_what_the_hub_no_longer_shows(pair: FakeHub) -> None:
    opened()
    pair.models["org/target"].hidden = (401, "RepoNotFound")
    assert "--target org/target was loaded from the cache: the hub refuses access to it." in [
        e.message for e in opened() if isinstance(e, Notice)
    ]


def test_c55_a_gated_model_is_refused_and_the_other_not_downloaded(pair: FakeHub) -> None:
    pair.models["org/target"].error = (403, "GatedRepo")
    assert refused() == (
        f"--target org/target is gated: request access at {pair.url}/org/target and log in "
        "(hf auth login, or HF_TOKEN)."
    )
    pair.models["org/target"].error = None
    pair.models["org/draft"].error = (401, "GatedRepo")
    assert refused().startswith("--draft org/draft is gated: request access")
    assert not pair.weights_asked


def test_missing_repositories_revisions_and_logins(pair: FakeHub) -> None:
    assert refused(options(draft="org/drfat")) == (
        "--draft org/drfat: the hub has no such model, or it is private. Check the name, or log in "
        "(hf auth login, or HF_TOKEN)."
    )
    assert refused(options(target_revision="v9")) == (
        "--target org/target has no revision v9 on the hub. Check --target-revision."
    )
    pair.models["org/draft"].error = (403, "")
    assert refused() == (
        "--draft org/draft is not accessible with this login. Log in again, or with another account "
        "(hf auth login, or HF_TOKEN)."
    )
    assert not pair.weights_asked


def test_c56c_offline_with_nothing_cached(pair: FakeHub, monkeypatch: pytest.MonkeyPatch) -> None:
    suggestion = "Run once without it, or use a local folder."
    assert refused(options(offline=True)) == (
        f"--target org/target is not in the cache, and --offline was given. {suggestion}"
    )
    assert refused(options(offline=True, target_revision="v9")) == (
        f"--target org/target at revision v9 is not in the cache, and --offline was given. {suggestion}"
    )
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    assert refused() == f"--target org/target is not in the cache, and HF_HUB_OFFLINE is set. {suggestion}"
    assert not pair.asked


def test_c56b_offline_with_a_file_missing(pair: FakeHub, cache: Path) -> None:
    opened()
    folder = cache / "models--org--draft" / "snapshots" / COMMIT
    suggestion = "in the cache, and --offline was given. Run once without it, or use a local folder."
    (folder / "model.safetensors").unlink()
    assert refused(options(offline=True)) == (
        f"--draft org/draft has a config.json but no weights (model.safetensors) {suggestion}"
    )
    (folder / "tokenizer.json").unlink()
    assert (
        refused(options(offline=True)) == f"--draft org/draft has no tokenizer (tokenizer.json is missing) {suggestion}"
    )
    opened()


def test_no_network_and_a_hub_that_fails(pair: FakeHub, monkeypatch: pytest.MonkeyPatch) -> None:
    pair.down = 503
    assert refused() == (
        "--target org/target is not in the cache, and the hub answers with error 503. "
        "Try again later, or use a local folder."
    )
    pair.down = None
    pair.models["org/target"].error = (503, "")
    assert "the hub answers with error 503" in refused()
    pair.models["org/target"].error = None
    cannot = (
        f"--target org/target is not in the cache, and the hub ({pair.url}) cannot be reached. "
        "Check the network, or use a local folder."
    )
    monkeypatch.setattr(hub_module, "READ_TIMEOUT_S", 0.3)
    pair.silent = 1.0
    assert refused() == cannot
    monkeypatch.setattr(hub_module, "CONNECT_TIMEOUT_S", 0.2)
    assert refused() == cannot
    pair.close()
    assert refused() == cannot


def broken_at(pair: FakeHub, *offsets: int) -> Model:
    model = pair.models["org/target"]
    model.breaks_after = list(offsets)
    return model


def bring_target(asked: PairOptions | None = None) -> list[Progress]:
    location = locate(asked or options()).target
    said: list[Event] = []
    fetch(location, ["model.safetensors"], "target", said.append)
    whole = (location.folder / "model.safetensors").read_bytes()
    assert whole and location.folder.name == COMMIT
    return weights_in_bytes(said, "target")


def test_a_broken_connection_is_taken_up_where_it_broke(pair: FakeHub, cache: Path) -> None:
    broken_at(pair, 200_000, 300_000)
    told = bring_target()
    assert [asked.range for asked in pair.weights_asked] == [None, "bytes=200000-", "bytes=500000-"]
    assert told[-1].done == told[-1].total


def test_what_has_come_is_kept_and_gone_on_with(pair: FakeHub, cache: Path) -> None:
    model = broken_at(pair, 200_000, 0)
    with pytest.raises(SpecvizError) as caught:
        bring_target()
    size = len(model.files["model.safetensors"])
    assert str(caught.value) == (
        f"The connection to the hub broke at 200 kB of {size / 1e6:.1f} MB of --target org/target. "
        "The partial download is kept; run again to resume it."
    )
    (part,) = cache.rglob("*.incomplete")
    assert part.stat().st_size == 200_000
    pair.asked.clear()
    told = bring_target()
    assert [asked.range for asked in pair.weights_asked] == ["bytes=200000-"]
    assert told[0].done == 0 and any(progress.done >= 200_000 for progress in told)
    assert not list(cache.rglob("*.incomplete"))


def test_a_server_that_restarts_a_file_is_followed(pair: FakeHub, cache: Path) -> None:
    broken_at(pair, 200_000).ranges = False
    assert bring_target()[-1].done == len(pair.models["org/target"].files["model.safetensors"])


def test_a_part_of_something_else_is_thrown_away(pair: FakeHub, cache: Path) -> None:
    model = broken_at(pair, 200_000, 0)
    with pytest.raises(SpecvizError):
        bring_target()
    (part,) = cache.rglob("*.incomplete")
    part.write_bytes(b"x" * 200_000)
    pair.asked.clear()
    bring_target()
    assert [asked.range for asked in pair.weights_asked] == ["bytes=200000-", None]
    folder = cache / "models--org--target" / "snapshots" / COMMIT
    assert (folder / "model.safetensors").read_bytes() == model.files["model.safetensors"]


def test_more_than_was_announced_is_refused(pair: FakeHub, cache: Path) -> None:
    model = pair.models["org/target"]
    model.spoiled["model.safetensors"] = model.files["model.safetensors"] + b"more"
    with pytest.raises(SpecvizError, match="--target org/target does not have the size that the hub announced"):
        bring_target()


def test_a_file_that_another_program_is_bringing(pair: FakeHub, monkeypatch: pytest.MonkeyPatch) -> None:
    location = locate(options()).target
    assert location.repository
    blob = location.folder.parent.parent / "blobs" / location.repository.blobs["model.safetensors"]
    with download._blob_lock(blob), pytest.raises(SpecvizError) as caught:
        fetch(location, ["model.safetensors"], "target", lambda _: None)
    assert str(caught.value) == (
        "--target org/target is being downloaded by another program. Wait for it to finish, then run again."
    )


def test_a_full_disk(pair: FakeHub, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(shutil, "disk_usage", lambda _: shutil._ntuple_diskusage(10**9, 10**9, 12_345))
        said = refused()
    assert re.fullmatch(
        r"--draft org/draft and --target org/target still need [\d.]+ MB, but the cache disk "
        rf"\({re.escape(str(cache))}\) has only 12 kB free. "
        r"Free some space, or set HF_HOME to a folder on another disk.",
        said,
    )
    assert not pair.weights_asked

    def full(*_: object) -> Iterator[tuple[bytes, int]]:
        yield b"x" * 100, 0
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(download, "_chunks", full)
    assert refused() == (
        f"--draft org/draft: the disk of the cache ({cache}) is full. "
        "Free some space, or set HF_HOME to a folder on another disk."
    )


def test_a_cache_that_cannot_be_written_to(pair: FakeHub, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def read_only(*_: object, **__: object) -> None:
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(hub_module, "download", read_only)
    assert refused() == (f"--target org/target: the cache ({cache}) is not writable. Set HF_HOME to a writable folder.")


def test_a_mirror_that_lists_names_only_is_left_to_the_client(pair: FakeHub) -> None:
    pair.models["org/target"].bare = True
    location = locate(options()).target
    fetch(location, ["model.safetensors"], "target", lambda _: None)
    assert (location.folder / "model.safetensors").read_bytes() == pair.models["org/target"].files["model.safetensors"]


def test_c51_a_terminal_without_a_descriptor_fails_no_load(pair: FakeHub, monkeypatch: pytest.MonkeyPatch) -> None:
    class NoDescriptor(io.StringIO):
        def fileno(self) -> int:
            return -1

        def write(self, text: str) -> int:
            raise ValueError("I/O operation on closed file")

    monkeypatch.setattr(sys, "stderr", NoDescriptor())
    problems: list[BaseException] = []

    def work() -> None:
        try:
            opened()
        except BaseException as error:
            problems.append(error)

    threads = [threading.Thread(target=work), threading.Thread(target=work)]
    for thread in threads:
        thread.start()
        thread.join()
    assert not problems


def test_a_revision_is_pinned(pair: FakeHub, shelf: Shelf) -> None:
    model = pair.models["org/target"]
    model.revisions = ("main", "v1")
    model.commit = "f" * 40
    location = locate(options(target_revision="v1")).target
    assert location.repository and location.repository.commit == location.folder.name == "f" * 40


def test_pickles_come_only_when_asked_for(hub: FakeHub, shelf: Shelf, tmp_path: Path) -> None:
    import torch
    from safetensors.torch import load_file

    folder = Path(shelf.random(1))
    files = {path.name: path.read_bytes() for path in folder.iterdir()}
    torch.save(load_file(folder / "model.safetensors"), tmp_path / "pytorch_model.bin")
    del files["model.safetensors"]
    hub.models["org/old"] = Model({**files, "pytorch_model.bin": (tmp_path / "pytorch_model.bin").read_bytes()})
    asked = options(draft="org/old", target="org/old")
    assert refused(asked) == (
        "--draft org/old has its weights only as pickle (pytorch_model.bin), which can run code when loaded. "
        "Pass --allow-pickle to load it; a model with safetensors is safer."
    )
    assert not hub.weights_asked
    opened(options(draft="org/old", target="org/old", allow_pickle=True))


def test_repositories_that_hold_no_model(hub: FakeHub) -> None:
    hub.models["org/gguf"] = Model({"model-q4.gguf": b"GGUF", "README.md": b""})
    hub.models["org/adapter"] = Model({"adapter_config.json": b"{}", "adapter_model.safetensors": b""})
    hub.models["org/data"] = Model({"data.csv": b""})
    for name, said in (
        ("gguf", "--target org/gguf has only GGUF weights (model-q4.gguf), which specviz cannot read."),
        ("adapter", "--target org/adapter is only an adapter (adapter_config.json), not a model."),
        ("data", "--target org/data has no config.json. Choose another model or revision."),
    ):
        assert refused(options(target=f"org/{name}")).startswith(said)
    assert len(hub.asked) == 3


def test_c57_a_folder_of_the_same_name(
    pair: FakeHub, shelf: Shelf, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "gpt2").mkdir()
    assert refused(options(draft="gpt2")) == (
        "--draft gpt2 was read as the local folder of that name, which has no config.json and no weights. "
        "Use a model folder, or write hub:gpt2 for the model on the hub."
    )
    (tmp_path / "file").touch()
    assert refused(options(draft="file")) == (
        "--draft file is a file. Use a model folder (with config.json), or write hub:file for the model on the hub."
    )
    shutil.copytree(shelf.random(3), tmp_path / "org" / "draft")
    notes = read_pair(options(), locate(options())).notes
    assert "--draft org/draft is the local folder of that name; write hub:org/draft for the model on the hub." in notes
    here, there = locate(options(draft="./org/draft")).draft, locate(options(draft="hub:org/draft")).draft
    assert here is not None and here.note is None
    assert there is not None and there.repository is not None


def test_names_that_can_be_nothing() -> None:
    assert refused(options(target="a b")) == (
        "--target a b is neither a local folder nor a hub id (NAME or OWNER/NAME). Check the name."
    )
    assert refused(options(target="./nope")) == "--target ./nope: this folder does not exist. Check the path."
    assert refused(PairOptions(target_revision="v1")) == (
        "--target-revision is for models on the hub, and bundled:target is local. Remove it."
    )
