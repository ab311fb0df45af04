"""Weights are read while it is found out whether the pair is one; a tokenizer of the same files is read once."""

import shutil
import threading
from pathlib import Path
from typing import Any, NoReturn

import pytest
import torch
from transformers import PreTrainedModel

from specviz.core.errors import SpecvizError
from specviz.core.events import Event, Progress, Settings
from specviz.core.options import PairOptions, RunOptions
from specviz.core.source import Emit
from specviz.decoder.checkpoints.hub import Locator
from specviz.decoder.loading import pair as pair_loading
from specviz.decoder.loading import weights as loading
from specviz.decoder.loading.background import BackgroundTask, Cancelled
from specviz.decoder.loading.weights import load_weights
from specviz.decoder.pairing.compatibility import with_tokenizers
from specviz.decoder.pairing.model_info import ModelFiles, read_files
from specviz.decoder.pairing.placement import Placement
from specviz.decoder.source import LiveSource
from specviz.decoder.tensors.device import peak_memory
from tests.decoder.models import Shelf, random, save_model, save_tokenizer, words
from tests.decoder.pairs import read_pair
from tests.decoder.run_helpers import opened, play, setting

PATIENCE_S = 20.0
CPU = torch.device("cpu")


def source(draft: str, target: str) -> LiveSource:
    return LiveSource(RunOptions(PairOptions(draft, target), Settings(), calibrate=0))


# Work task other work


def test_events_come_where_the_work_is_waited_for() -> None:
    said: list[tuple[Event, threading.Thread]] = []

    def work(emit: Emit) -> int:
        emit(Progress("draft", 1, 2))
        emit(Progress("draft", 2, 2))
        return 3

    with BackgroundTask(work) as task:
        task.start()
        assert task.wait(lambda event: said.append((event, threading.current_thread()))) == 3
    here = threading.current_thread()
    assert said == [(Progress("draft", 1, 2), here), (Progress("draft", 2, 2), here)]


def test_work_that_has_not_begun_is_done_where_it_is_waited_for() -> None:
    with BackgroundTask(lambda _: threading.current_thread()) as task:
        assert task.wait(lambda _: None) is threading.current_thread()


def test_an_error_comes_where_the_work_is_waited_for() -> None:
    def work(_: Emit) -> NoReturn:
        raise SpecvizError("no")

    with pytest.raises(SpecvizError, match=r"^no$"), BackgroundTask(work) as task:
        task.start()
        task.wait(lambda _: None)


def test_cancelled_work_stops_at_its_next_event() -> None:
    begun, left, ended = threading.Event(), threading.Event(), []

    def work(emit: Emit) -> None:
        begun.set()
        left.wait(PATIENCE_S)
        try:
            emit(Progress("draft"))
        except Cancelled:
            ended.append(True)
            raise

    with pytest.raises(KeyboardInterrupt), BackgroundTask(work) as task:
        task.start()
        begun.wait(PATIENCE_S)
        threading.Timer(0.01, left.set).start()
        raise KeyboardInterrupt
    assert ended == [True]


# Weights task tokenizers


def test_weights_are_read_while_tokenizers_are(shelf: Shelf, monkeypatch: pytest.MonkeyPatch) -> None:
    reading = threading.Event()

    def weights(files: ModelFiles, placement: Placement) -> PreTrainedModel:
        reading.set()
        return load_weights(files, placement)

    def wait(*files: Any) -> Any:
        assert reading.wait(PATIENCE_S)
        return with_tokenizers(*files)

    monkeypatch.setattr(loading, "load_weights", weights)
    monkeypatch.setattr(pair_loading, "with_tokenizers", wait)
    assert play(opened(shelf.random(1), shelf.noisy(1, 0.1)), "w3", setting(2)).ids


def test_weights_still_to_come_are_left_until_the_pair_is_known(shelf: Shelf, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ModelFiles, "is_local", False)
    monkeypatch.setattr(loading, "load_weights", lambda *_: pytest.fail("weights were read"))
    monkeypatch.setattr(pair_loading, "with_tokenizers", refusing)
    with pytest.raises(SpecvizError, match=r"^no pair$"):
        source(shelf.random(1), shelf.random(2)).open(lambda _: None)


def refusing(*_: Any) -> NoReturn:
    raise SpecvizError("no pair")


def test_what_the_tokenizers_say_comes_before_what_the_weights_say(shelf: Shelf, tmp_path: Path) -> None:
    folders = [Path(shutil.copytree(shelf.random(1), tmp_path / name)) for name in ("draft", "target")]
    for folder in folders:
        (folder / "model.safetensors").write_bytes(b"none")
    with pytest.raises(SpecvizError, match=rf"^The weights of --draft {folders[0]} cannot be loaded"):
        source(*map(str, folders)).open(lambda _: None)
    (folders[1] / "tokenizer.json").unlink()
    (folders[1] / "tokenizer_config.json").unlink()
    with pytest.raises(SpecvizError, match=rf"^--target {folders[1]} has no tokenizer"):
        source(*map(str, folders)).open(lambda _: None)


def test_a_refused_pair_stops_the_reading(shelf: Shelf, monkeypatch: pytest.MonkeyPatch) -> None:
    refused = threading.Event()
    said: list[str] = []

    def weights(files: ModelFiles, _: Placement) -> NoReturn:
        said.append(files.role)
        refused.wait(PATIENCE_S)
        raise SpecvizError("nobody hears it")

    def refuse(*_: Any) -> NoReturn:
        refused.set()
        raise SpecvizError("no pair")

    monkeypatch.setattr(loading, "load_weights", weights)
    monkeypatch.setattr(pair_loading, "with_tokenizers", refuse)
    with pytest.raises(SpecvizError, match=r"^no pair$"):
        source(shelf.random(1), shelf.random(2)).open(lambda _: None)
    assert "target" not in said
    assert "specviz-task" not in {thread.name for thread in threading.enumerate()}


# Memory


def files_of(folder: str) -> ModelFiles:
    options = PairOptions(folder, folder)
    return read_files(Locator(options, lambda _: None).locate("target"), options)


def span(model: PreTrainedModel) -> int:
    """Bytes from the first to the last of the weights in memory."""
    weights = list(model.parameters())
    return int(max(w.data_ptr() + w.nbytes for w in weights) - min(w.data_ptr() for w in weights))


def test_weights_as_they_are_stored_are_the_file_itself(shelf: Shelf) -> None:
    folder = shelf.random(1, family="llama")
    kept = load_weights(files_of(folder), Placement(CPU, torch.float32))
    assert span(kept) <= (Path(folder) / "model.safetensors").stat().st_size
    cast = load_weights(files_of(folder), Placement(CPU, torch.bfloat16))
    stored = kept.state_dict()
    assert all(torch.equal(weight, stored[name].bfloat16()) for name, weight in cast.state_dict().items())


def test_a_cast_takes_no_memory_beside_its_weights(shelf: Shelf) -> None:
    folder = shelf.folder(
        "wide", lambda path: save_model(path, random(1, family="llama", width=512, layers=8).bfloat16())
    )
    load_weights(files_of(folder), Placement(CPU, torch.float32))
    with peak_memory(CPU) as most:
        before = most()
        model = load_weights(files_of(folder), Placement(CPU, torch.float32))
        after = most()
    size = sum(weight.nbytes for weight in model.parameters())
    assert size > 50e6
    if before is not None and after is not None:  # only Linux counts
        assert after - before <= 1.15 * size


# Tokenizers


def two_folders(tmp_path: Path) -> tuple[Path, Path]:
    folders = tmp_path / "draft", tmp_path / "target"
    for seed, folder in enumerate(folders):
        save_model(folder, random(seed))
    return folders


def test_a_tokenizer_of_the_same_files_is_read_once(tmp_path: Path) -> None:
    draft, target = two_folders(tmp_path)
    (draft / "chat_template.jinja").write_text("{{ messages }}")
    pair = read_pair(PairOptions(str(draft), str(target)))
    assert pair.draft is not None
    assert pair.draft.tokenizer is pair.target.tokenizer
    assert next(f for f in pair.findings if f.subject == "tokenizer").status == "pass"


def test_a_tokenizer_of_other_files_is_compared(tmp_path: Path) -> None:
    draft, target = two_folders(tmp_path)
    save_tokenizer(draft, [*words(63), "other"])
    pair = read_pair(PairOptions(str(draft), str(target)))
    assert pair.draft is not None
    assert pair.draft.tokenizer is not pair.target.tokenizer
    assert "id 63: 'other' in the draft, 'w63' in the target" in pair.refusals[0].text


def test_one_file_more_makes_it_another_tokenizer(tmp_path: Path) -> None:
    draft, target = two_folders(tmp_path)
    (draft / "special_tokens_map.json").write_text('{"eos_token": "w5"}')
    pair = read_pair(PairOptions(str(draft), str(target)))
    assert pair.draft is not None
    assert pair.draft.tokenizer is not pair.target.tokenizer
