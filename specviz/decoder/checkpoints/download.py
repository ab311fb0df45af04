"""Downloading one file from the hub into its cache, resumably.

The hub's own client discards a partial download when it is stopped, and its progress bars need a terminal. A file of
weights is therefore streamed into ``<blob>.incomplete`` here, resumed by a later run, and renamed ``<blob>`` once it is
complete.
"""

import contextlib
import hashlib
import os
import socket
import ssl
from collections.abc import Callable, Iterator, Sized
from pathlib import Path
from typing import Any, Self, cast

from huggingface_hub import hf_hub_download
from huggingface_hub.errors import HfHubHTTPError, LocalEntryNotFoundError
from huggingface_hub.utils import WeakFileLock, build_hf_headers, get_session, hf_raise_for_status

from specviz.decoder.checkpoints.files import Problem

OnBytes = Callable[[int], None]
"""Called with the number of bytes received, negative where some were discarded."""

STALL_S = 10.0
"""Longest wait for the next chunk of a file."""
PROGRESS_BYTES = 1 << 20
RETRIES = 3
"""How many times in a row a connection may break after less than PROGRESS_BYTES."""
SHA256_LETTERS = 64


class TransferError(Exception):
    """A download that cannot continue, for a reason other than the connection."""

    def __init__(self, what: str, suggestion: str) -> None:
        super().__init__(what)
        self.problem = Problem(what, suggestion)


def is_network_error(error: BaseException) -> bool:
    """Whether the hub cannot be reached or its answer is not one of the hub; HTTP statuses do not count."""
    if isinstance(error, HfHubHTTPError):
        return False
    network_errors = ConnectionError | TimeoutError | ssl.SSLError | socket.gaierror | LocalEntryNotFoundError
    return isinstance(error, network_errors) or type(error).__module__.startswith(("httpx", "httpcore"))


def resume(url: str, blob: Path, size: int, on_bytes: OnBytes) -> None:
    """Download the ``size`` bytes of ``url`` to ``blob`` in the cache, resuming an earlier partial download. A broken
    connection is retried immediately if it delivered anything, but only a few times in a row if that was little. Raises
    what the client raises, and TransferError."""
    part = blob.with_name(f"{blob.name}.incomplete")
    blob.parent.mkdir(parents=True, exist_ok=True)
    with _blob_lock(blob):
        if blob.exists():
            on_bytes(size)
            return
        uninterrupted = _fill(url, part, size, on_bytes)
        if not uninterrupted and not _has_content(part, blob.name):
            part.unlink()
            on_bytes(-size)
            _fill(url, part, size, on_bytes)
        part.replace(blob)


def _fill(url: str, part: Path, size: int, on_bytes: OnBytes) -> bool:
    """Append to ``part`` until it has ``size`` bytes; whether a single connection delivered them all."""
    connections = failures = 0
    with part.open("ab") as file:
        n_bytes = file.seek(0, os.SEEK_END)
        if n_bytes > size:
            n_bytes = file.truncate(0)
        on_bytes(n_bytes)
        resumed = n_bytes > 0
        while n_bytes < size:
            before = n_bytes
            connections += 1
            try:
                for chunk, offset in _chunks(url, n_bytes):
                    if offset != n_bytes:
                        on_bytes(offset - n_bytes)
                        n_bytes = file.truncate(offset)
                    file.write(chunk)
                    n_bytes += len(chunk)
                    on_bytes(len(chunk))
            except Exception as error:
                failures = 0 if n_bytes - before >= PROGRESS_BYTES else failures + 1
                if not is_network_error(error) or n_bytes <= before or failures > RETRIES:
                    raise
            else:
                if n_bytes <= before:
                    raise ConnectionError("no data received")
        if n_bytes > size:
            file.truncate(0)
            raise TransferError(
                "does not have the size that the hub announced", "Try again later, or use a local folder."
            )
    return connections <= 1 and not resumed


def _chunks(url: str, start: int) -> Iterator[tuple[bytes, int]]:
    """(chunk, offset of its first byte), from byte ``start`` on, or from 0 where the server ignores ranges."""
    headers = {**build_hf_headers(), "Accept-Encoding": "identity"}
    if start:
        headers["Range"] = f"bytes={start}-"
    with get_session().stream("GET", url, headers=headers, timeout=STALL_S) as response:
        hf_raise_for_status(response)
        offset = start if response.status_code == 206 else 0
        for chunk in response.iter_bytes():
            yield chunk, offset
            offset += len(chunk)


def _has_content(part: Path, name: str) -> bool:
    """Whether the content has the SHA-256 ``name``; True where ``name`` is another kind of name."""
    if len(name) != SHA256_LETTERS:
        return True
    with part.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest() == name


@contextlib.contextmanager
def _blob_lock(blob: Path) -> Iterator[None]:
    """The lock that the hub's client takes for the same file."""
    repository = blob.parent.parent
    lock = repository.parent / ".locks" / repository.name / f"{blob.name}.lock"
    lock.parent.mkdir(parents=True, exist_ok=True)
    with contextlib.ExitStack() as stack:
        try:
            stack.enter_context(WeakFileLock(lock, timeout=1))
        except TimeoutError:
            what = "is being downloaded by another program"
            raise TransferError(what, "Wait for it to finish, then run again.") from None
        yield


class SilentBar:
    """Replaces a progress bar of tqdm, without drawing: ``report`` is called with the steps of each update and the
    total, where known."""

    def __init__(
        self, report: Callable[[int, int | None], None], iterable: Any = None, *_: Any, total: Any = None, **__: Any
    ) -> None:
        self._iterable = iterable
        self.total = total or (len(iterable) if isinstance(iterable, Sized) else None)
        self.n = 0
        self._report = report

    def __iter__(self) -> Iterator[Any]:
        for item in self._iterable or ():
            yield item
            self.update()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def update(self, n: float | None = 1) -> None:
        self.n += int(n or 0)
        self._report(int(n or 0), self.total)

    def __getattr__(self, _: str) -> Callable[..., None]:
        return lambda *args, **options: None


def download(repository: str, file: str, revision: str | None, on_bytes: OnBytes, timeout: float) -> Path:
    """The file in the cache, downloaded by the hub's client if necessary."""

    def bar(*_: Any, name: str = "", **options: Any) -> SilentBar:
        counts = not name.endswith(".transfer")
        return SilentBar(lambda n, _total: on_bytes(n) if counts else None, **options)

    return Path(hf_hub_download(repository, file, revision=revision, etag_timeout=timeout, tqdm_class=cast(Any, bar)))
