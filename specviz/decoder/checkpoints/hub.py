"""The Hugging Face hub: locating its models and downloading their files into the cache.

Everything runs in the calling thread and prints nothing. A failure is reported within seconds: the hub is asked once
for each model, and not again once it did not answer.
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
from specviz.decoder.checkpoints.files import ADAPTER, CONFIG, Problem, describing, model_problem, scan
from specviz.decoder.checkpoints.hub_errors import HubRequest, describe, is_hub_refusal, unavailable_from
from specviz.decoder.checkpoints.location import CheckpointLocation, HubUnavailable, Repository, find_local, hub_id

Answer = TypeVar("Answer")

READ_TIMEOUT_S = 4.0
"""Longest wait for the next part of a response."""
CONNECT_TIMEOUT_S = 10.0
"""Longest wait for the hub's first answer, DNS included."""
RESUMED_FROM = 1 << 20
"""Bytes from which a file is downloaded resumably."""
HTTP_LIMIT = 50 * 10**9
"""Bytes from which the hub serves a file only by its own protocol."""
EMIT_EVERY_S = 0.1


@dataclass(frozen=True, slots=True)
class PairLocations:
    """Where the models of a run are; ``draft`` None where there is none."""

    draft: CheckpointLocation | None
    target: CheckpointLocation


class Locator:
    """Finds the models of ``options`` and downloads everything but their weights."""

    def __init__(self, options: PairOptions, emit: Emit) -> None:
        self._options = options
        self._emit = emit
        self._located: dict[tuple[str, str | None], CheckpointLocation] = {}
        self._unavailable: HubUnavailable | None = None
        if options.offline or constants.is_offline_mode():
            reason = "--offline was given" if options.offline else "HF_HUB_OFFLINE is set"
            self._unavailable = HubUnavailable(reason, "Run once without it, or use a local folder.", by_choice=True)

    def locate_pair(self) -> PairLocations:
        """Where the models are; only the target if no draft was requested. Raises SpecvizError."""
        target = self.locate("target")
        return PairLocations(self.locate("draft") if "draft" in self._options.roles else None, target)

    def locate(self, role: Role) -> CheckpointLocation:
        """Where the model is. Raises SpecvizError with the model, the reason and a suggestion."""
        name, revision = key = self._options.model(role)
        if key in self._located:
            return replace(self._located[key], role=role)
        self._emit(Progress("files", detail=name))
        location = find_local(role, name)
        if location and revision:
            raise SpecvizError(f"--{role}-revision is for models on the hub, and {name} is local. Remove it.")
        location = location or self._on_the_hub(HubRequest(role, name, hub_id(role, name), revision))
        self._located[key] = location
        return location

    def _on_the_hub(self, request: HubRequest) -> CheckpointLocation:
        if self._unavailable is not None:
            return from_cache(request, self._unavailable)
        try:
            return self._ask(request)
        except SpecvizError:
            raise
        except Exception as error:
            unavailable = unavailable_from(error)
            if unavailable and not is_hub_refusal(error):
                self._unavailable = unavailable
            if unavailable is None or isinstance(error, RevisionNotFoundError) or cached_folder(request) is None:
                raise SpecvizError(describe(request, error)) from error
            return from_cache(request, unavailable)

    def _ask(self, request: HubRequest) -> CheckpointLocation:
        info = with_timeout(
            CONNECT_TIMEOUT_S,
            lambda: HfApi().model_info(
                request.id, revision=request.revision, files_metadata=True, timeout=READ_TIMEOUT_S
            ),
        )
        siblings = info.siblings or []
        files = {sibling.rfilename: sibling.size or 0 for sibling in siblings}
        blobs = {s.rfilename: (s.lfs.sha256 if s.lfs else s.blob_id) or "" for s in siblings}
        repository = Repository(request.id, str(info.sha), blobs)
        location = CheckpointLocation(request.role, request.name, Path(), files, repository)
        if problem := model_problem(files):
            raise location.error_for(problem)
        if CONFIG not in files:
            raise location.error_for(Problem(f"has no {CONFIG}"))
        folder = cached_folder(request)
        if folder is None or folder.name != info.sha:
            get_hf_file_metadata(hf_hub_url(request.id, CONFIG, revision=info.sha), timeout=READ_TIMEOUT_S)
            folder = download(request.id, CONFIG, request.revision, lambda _: None, READ_TIMEOUT_S).parent
        location = replace(location, folder=folder, repository=replace(repository, commit=folder.name))
        fetch(location, describing(list(files), code=self._options.trust_remote_code), "files", self._emit)
        return location


def cached_folder(request: HubRequest) -> Path | None:
    """The folder of the requested revision in the cache, complete or not."""
    for file in (CONFIG, ADAPTER):
        path = try_to_load_from_cache(request.id, file, revision=request.revision)
        if isinstance(path, str):
            return Path(path).parent
    return None


def from_cache(request: HubRequest, unavailable: HubUnavailable) -> CheckpointLocation:
    """The copy in the cache, without the hub. Raises SpecvizError where there is none."""
    folder, model = cached_folder(request), f"--{request.role} {request.name}"
    if folder is None:
        revision = f" at revision {request.revision}" if request.revision else ""
        raise SpecvizError(f"{model}{revision} is not in the cache, and {unavailable.reason}. {unavailable.suggestion}")
    note = None if unavailable.by_choice else f"{model} was loaded from the cache: {unavailable.reason}."
    location = CheckpointLocation(request.role, request.name, folder, scan(folder), unavailable=unavailable, note=note)
    if problem := model_problem(location.files):
        raise location.error_for(problem)
    return location


def fetch(location: CheckpointLocation, names: Iterable[str], stage: Stage, emit: Emit) -> None:
    """Download the files ``names`` of ``location`` that are missing from its folder, with progress. An interrupted
    download is kept and resumed next time. Raises SpecvizError."""
    repository = location.repository
    todo = location.missing(names)
    if repository is None or not todo:
        return
    progress = ByteProgress(stage, sum(todo.values()), emit)
    try:
        for number, (name, size) in enumerate(todo.items(), 1):
            progress.begin(f"{name} ({number} of {len(todo)})" if len(todo) > 1 else name)
            if (blob := repository.blobs.get(name)) and RESUMED_FROM <= size < HTTP_LIMIT:
                url = hf_hub_url(repository.id, name, revision=repository.commit)
                resume(url, _blobs(location) / blob, size, progress.on_bytes)
            download(repository.id, name, repository.commit, progress.on_bytes, READ_TIMEOUT_S)
            progress.end(size)
    except Exception as error:
        request = HubRequest(location.role, location.name, repository.id, None)
        raise SpecvizError(describe(request, error, progress.summary)) from error


class ByteProgress:
    """Counts the bytes of several files and reports them a few times a second."""

    def __init__(self, stage: Stage, total: int, emit: Emit) -> None:
        self._stage = stage
        self._total = total
        self._emit = emit
        self._complete = self._partial = 0
        self._detail = ""
        self._emitted_at = 0.0

    def begin(self, detail: str) -> None:
        self._detail = detail
        self._report()

    def on_bytes(self, n: int) -> None:
        self._partial += n
        if time.monotonic() - self._emitted_at >= EMIT_EVERY_S:
            self._report()

    def end(self, size: int) -> None:
        self._complete, self._partial = self._complete + size, 0
        self._report()

    @property
    def done(self) -> int:
        return min(self._complete + self._partial, self._total)

    @property
    def summary(self) -> str:
        return f"{bytes_in_words(self.done)} of {bytes_in_words(self._total)}"

    def _report(self) -> None:
        self._emitted_at = time.monotonic()
        self._emit(Progress(self._stage, self.done, self._total, "bytes", self._detail))


def check_disk_space(files_of: Iterable[tuple[CheckpointLocation, Iterable[str]]]) -> None:
    """Raise SpecvizError where the disk has no room for the files that are still to be downloaded."""
    todo = {location.folder: (location, location.missing(names)) for location, names in files_of if location.repository}
    need = sum(
        _bytes_missing(location, file, size) for location, files in todo.values() for file, size in files.items()
    )
    if not need:
        return
    free = shutil.disk_usage(next(iter(todo))).free
    if free < need:
        names = [f"--{location.role} {location.name}" for location, files in todo.values() if files]
        named, needs = " and ".join(names), "needs" if len(names) == 1 else "need"
        raise SpecvizError(
            f"{named} still {needs} {bytes_in_words(need)}, but the cache disk ({constants.HF_HUB_CACHE}) has only "
            f"{bytes_in_words(free)} free. Free some space, or set HF_HOME to a folder on another disk."
        )


def _bytes_missing(location: CheckpointLocation, file: str, size: int) -> int:
    blob = location.repository.blobs.get(file) if location.repository else None
    part = _blobs(location) / f"{blob}.incomplete"
    return max(0, size - (part.stat().st_size if blob and part.is_file() else 0))


def _blobs(location: CheckpointLocation) -> Path:
    """The folder of the cache with the content of the files."""
    return location.folder.parent.parent / "blobs"


def with_timeout(seconds: float, call: Callable[[], Answer]) -> Answer:
    """What ``call`` returns or raises; TimeoutError after ``seconds``, without stopping the call itself."""
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
