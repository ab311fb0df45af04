"""The Hugging Face hub: where a model of it is, and its files brought into the cache.

Everything happens in the calling thread and shows nothing. What cannot be had is said in a sentence within seconds:
the hub is asked once for each model, and not again once it did not answer.
"""

import queue
import shutil
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

from huggingface_hub import HfApi, constants, get_hf_file_metadata, hf_hub_url, try_to_load_from_cache
from huggingface_hub.errors import RevisionNotFoundError

from specviz.core.errors import SpecvizError
from specviz.core.events import Progress, Stage
from specviz.core.options import PairOptions, Role
from specviz.core.source import Emit
from specviz.core.units import bytes_in_words
from specviz.decoder.checkpoints.download import download, resume
from specviz.decoder.checkpoints.files import ADAPTER, CONFIG, Problem, describing, scan, why_no_model
from specviz.decoder.checkpoints.hub_errors import HubRequest, describe, is_hub_refusal, unavailable_from
from specviz.decoder.checkpoints.location import CheckpointLocation, HubUnavailable, Repository, hub_id, on_this_machine

Answer = TypeVar("Answer")

SILENCE_S = 4.0
"""Longest wait for the next piece of an answer."""
PATIENCE_S = 10.0
"""Longest wait for the hub's first answer, the look-up of its address included."""
RESUMED_FROM = 1 << 20
"""Bytes from which a file is brought so that a part of it is kept."""
HTTP_LIMIT = 50 * 10**9
"""Bytes from which the hub serves a file by a protocol of its own only."""
EMIT_EVERY_S = 0.1


@dataclass(frozen=True, slots=True)
class PairLocations:
    """Where the models of a run are; ``draft`` None where there is none."""

    draft: CheckpointLocation | None
    target: CheckpointLocation


class Locator:
    """Finds the models of ``options``, with everything of them but their weights."""

    def __init__(self, options: PairOptions, emit: Emit) -> None:
        self._options = options
        self._emit = emit
        self._found: dict[tuple[str, str | None], CheckpointLocation] = {}
        self._unavailable: HubUnavailable | None = None
        once = "Run once without it, or name a local folder."
        if options.offline:
            self._unavailable = HubUnavailable("--offline was given", once, by_choice=True)
        elif constants.is_offline_mode():
            self._unavailable = HubUnavailable("HF_HUB_OFFLINE is set", once, by_choice=True)

    def locate_pair(self) -> PairLocations:
        """Where the models are, the target alone if no draft was asked for. Raises SpecvizError."""
        target = self.locate("target")
        return PairLocations(self.locate("draft") if "draft" in self._options.roles else None, target)

    def locate(self, role: Role) -> CheckpointLocation:
        """Where the model is. Raises SpecvizError that names the model, the reason and the way out."""
        name, revision = asked = self._options.model(role)
        if asked in self._found:
            return replace(self._found[asked], role=role)
        self._emit(Progress("files", detail=name))
        location = on_this_machine(role, name)
        if location and revision:
            raise SpecvizError(f"--{role}-revision goes with a model of the hub, and {name} is here. Leave it away.")
        location = location or self._on_the_hub(HubRequest(role, name, hub_id(role, name), revision))
        self._found[asked] = location
        return location

    def _on_the_hub(self, asked: HubRequest) -> CheckpointLocation:
        if self._unavailable is not None:
            return from_cache(asked, self._unavailable)
        try:
            return self._ask(asked)
        except SpecvizError:
            raise
        except Exception as error:
            unavailable = unavailable_from(error)
            if unavailable and not is_hub_refusal(error):
                self._unavailable = unavailable
            if unavailable is None or isinstance(error, RevisionNotFoundError) or cached_folder(asked) is None:
                raise SpecvizError(describe(asked, error)) from error
            return from_cache(asked, unavailable)

    def _ask(self, asked: HubRequest) -> CheckpointLocation:
        info = with_timeout(
            PATIENCE_S,
            lambda: HfApi().model_info(asked.id, revision=asked.revision, files_metadata=True, timeout=SILENCE_S),
        )
        siblings = info.siblings or []
        files = {sibling.rfilename: sibling.size or 0 for sibling in siblings}
        blobs = {s.rfilename: (s.lfs.sha256 if s.lfs else s.blob_id) or "" for s in siblings}
        repository = Repository(asked.id, str(info.sha), blobs)
        location = CheckpointLocation(asked.role, asked.name, Path(), files, repository)
        if problem := why_no_model(files):
            raise location.error_for(problem)
        if CONFIG not in files:
            raise location.error_for(Problem(f"has no {CONFIG}"))
        folder = cached_folder(asked)
        if folder is None or folder.name != info.sha:
            get_hf_file_metadata(hf_hub_url(asked.id, CONFIG, revision=info.sha), timeout=SILENCE_S)
            folder = download(asked.id, CONFIG, asked.revision, lambda _: None, SILENCE_S).parent
        location = replace(location, folder=folder, repository=replace(repository, commit=folder.name))
        fetch(location, describing(list(files), code=self._options.trust_remote_code), "files", self._emit)
        return location


def cached_folder(asked: HubRequest) -> Path | None:
    """The cache's folder of the revision asked for, complete or not."""
    for file in (CONFIG, ADAPTER):
        found = try_to_load_from_cache(asked.id, file, revision=asked.revision)
        if isinstance(found, str):
            return Path(found).parent
    return None


def from_cache(asked: HubRequest, unavailable: HubUnavailable) -> CheckpointLocation:
    """The cache's copy, for want of the hub. Raises SpecvizError where there is none."""
    folder = cached_folder(asked)
    if folder is None:
        at = f" at revision {asked.revision}" if asked.revision else ""
        raise SpecvizError(
            f"--{asked.role} {asked.name}{at} is not in the cache, and {unavailable.reason}. {unavailable.suggestion}"
        )
    note = None if unavailable.by_choice else f"--{asked.role} {asked.name} is the cache's copy: {unavailable.reason}."
    location = CheckpointLocation(asked.role, asked.name, folder, scan(folder), unavailable=unavailable, note=note)
    if problem := why_no_model(location.files):
        raise location.error_for(problem)
    return location


def fetch(location: CheckpointLocation, names: Iterable[str], stage: Stage, emit: Emit) -> None:
    """Bring the files ``names`` of ``location`` into its folder, telling how far that is.

    What has come stays when this is broken off, and is gone on with the next time. Raises SpecvizError.
    """
    repository = location.repository
    todo = location.missing(names)
    if repository is None or not todo:
        return
    meter = ByteProgress(stage, sum(todo.values()), emit)
    try:
        for number, (name, size) in enumerate(todo.items(), 1):
            meter.begin(f"{name} ({number} of {len(todo)})" if len(todo) > 1 else name)
            if (blob := repository.blobs.get(name)) and RESUMED_FROM <= size < HTTP_LIMIT:
                url = hf_hub_url(repository.id, name, revision=repository.commit)
                resume(url, _blobs(location) / blob, size, meter.on_bytes)
            download(repository.id, name, repository.commit, meter.on_bytes, SILENCE_S)
            meter.end(size)
    except Exception as error:
        asked = HubRequest(location.role, location.name, repository.id, None)
        raise SpecvizError(describe(asked, error, meter.words)) from error


class ByteProgress:
    """Counts the bytes of several files and tells of them, some times a second."""

    def __init__(self, stage: Stage, total: int, emit: Emit) -> None:
        self._stage = stage
        self._total = total
        self._emit = emit
        self._whole = self._part = 0
        self._detail = ""
        self._told_at = 0.0

    def begin(self, detail: str) -> None:
        self._detail = detail
        self._tell()

    def on_bytes(self, n: int) -> None:
        self._part += n
        if time.monotonic() - self._told_at >= EMIT_EVERY_S:
            self._tell()

    def end(self, size: int) -> None:
        self._whole, self._part = self._whole + size, 0
        self._tell()

    @property
    def done(self) -> int:
        return min(self._whole + self._part, self._total)

    @property
    def words(self) -> str:
        return f"{bytes_in_words(self.done)} of {bytes_in_words(self._total)}"

    def _tell(self) -> None:
        self._told_at = time.monotonic()
        self._emit(Progress(self._stage, self.done, self._total, "bytes", self._detail))


def refuse_without_room(wanted: Iterable[tuple[CheckpointLocation, Iterable[str]]]) -> None:
    """Raise SpecvizError where the disk has no room for the files still to come of all locations."""
    todo = {location.folder: (location, location.missing(names)) for location, names in wanted if location.repository}
    need = sum(
        _still_to_come(location, file, size) for location, files in todo.values() for file, size in files.items()
    )
    if not need:
        return
    free = shutil.disk_usage(next(iter(todo))).free
    if free < need:
        named = " and ".join(f"--{location.role} {location.name}" for location, files in todo.values() if files)
        raise SpecvizError(
            f"{bytes_in_words(need)} are still to come for {named}, and the disk of the cache "
            f"({constants.HF_HUB_CACHE}) has {bytes_in_words(free)} left. "
            "Free some, or set HF_HOME to a folder elsewhere."
        )


def _still_to_come(location: CheckpointLocation, file: str, size: int) -> int:
    blob = location.repository.blobs.get(file) if location.repository else None
    part = _blobs(location) / f"{blob}.incomplete"
    return max(0, size - (part.stat().st_size if blob and part.is_file() else 0))


def _blobs(location: CheckpointLocation) -> Path:
    """Where the cache keeps the content of the files of a snapshot."""
    return location.folder.parent.parent / "blobs"


def with_timeout(seconds: float, call: Callable[[], Answer]) -> Answer:
    """What ``call`` returns or raises; TimeoutError if that takes longer. The call itself is then left to its fate."""
    answers: queue.SimpleQueue[tuple[Answer | None, Exception | None]] = queue.SimpleQueue()

    def work() -> None:
        try:
            answers.put((call(), None))
        except Exception as error:
            answers.put((None, error))

    threading.Thread(target=work, name="specviz-hub", daemon=True).start()
    try:
        answer, error = answers.get(timeout=seconds)
    except queue.Empty:
        raise TimeoutError(f"no answer within {seconds:g} s") from None
    if error is not None:
        raise error
    return answer  # type: ignore[return-value]
