"""Bringing one file from the hub into its cache so that what has come is never lost.

The hub's own client throws a part away when it is stopped, and its progress bars want a terminal. A file of weights is
therefore streamed into ``<blob>.incomplete`` here, gone on with by a later run, and named ``<blob>`` once whole.
"""

import contextlib
import hashlib
import os
import socket
import ssl
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from huggingface_hub import hf_hub_download
from huggingface_hub.errors import HfHubHTTPError, LocalEntryNotFoundError
from huggingface_hub.utils import WeakFileLock, build_hf_headers, get_session, hf_raise_for_status

from specviz.decoder.checkpoints.files import Problem

OnBytes = Callable[[int], None]
"""Called with the number of bytes that came, negative where some were thrown away."""

STALL_S = 10.0
"""Longest wait for the next piece of a file."""
PROGRESS_BYTES = 1 << 20
RETRIES = 3
"""How many times in a row a connection may break after less than PROGRESS_BYTES."""
SHA256_LETTERS = 64


class TransferError(Exception):
    """A transfer that cannot go on for a reason of its own."""

    def __init__(self, what: str, suggestion: str) -> None:
        super().__init__(what)
        self.problem = Problem(what, suggestion)


def of_the_network(error: BaseException) -> bool:
    """Whether ``error`` says that the hub cannot be reached or does not speak like the hub; its HTTP statuses apart."""
    if isinstance(error, HfHubHTTPError):
        return False
    kinds = ConnectionError | TimeoutError | ssl.SSLError | socket.gaierror | LocalEntryNotFoundError
    return isinstance(error, kinds) or type(error).__module__.startswith(("httpx", "httpcore"))


def resume(url: str, blob: Path, size: int, on_bytes: OnBytes) -> None:
    """Bring the ``size`` bytes of ``url`` to ``blob`` of the cache, going on with what an earlier run has left.

    A connection that breaks is taken up again at once if it brought anything, and a few times if that was little.
    Raises what the client raises, and TransferError.
    """
    part = blob.with_name(f"{blob.name}.incomplete")
    blob.parent.mkdir(parents=True, exist_ok=True)
    with _blob_lock(blob):
        if blob.exists():
            on_bytes(size)
            return
        whole_at_once = _fill(url, part, size, on_bytes)
        if not whole_at_once and not _is_content(part, blob.name):
            part.unlink()
            on_bytes(-size)
            _fill(url, part, size, on_bytes)
        part.replace(blob)


def _fill(url: str, part: Path, size: int, on_bytes: OnBytes) -> bool:
    """Append to ``part`` until it has ``size`` bytes; whether one connection brought them all."""
    connections = poor = 0
    with part.open("ab") as file:
        have = file.seek(0, os.SEEK_END)
        if have > size:
            have = file.truncate(0)
        on_bytes(have)
        begun = have > 0
        while have < size:
            before = have
            connections += 1
            try:
                for piece, at in _pieces(url, have):
                    if at != have:
                        on_bytes(at - have)
                        have = file.truncate(at)
                    file.write(piece)
                    have += len(piece)
                    on_bytes(len(piece))
            except Exception as error:
                poor = 0 if have - before >= PROGRESS_BYTES else poor + 1
                if not of_the_network(error) or have <= before or poor > RETRIES:
                    raise
            else:
                if have <= before:
                    raise ConnectionError("nothing came")
        if have > size:
            file.truncate(0)
            raise TransferError("is not sent by the hub as it is announced", "Try again later, or name a local folder.")
    return connections <= 1 and not begun


def _pieces(url: str, have: int) -> Iterator[tuple[bytes, int]]:
    """(piece, offset of its first byte), from byte ``have`` on, or from 0 where the server ignores ranges."""
    headers = {**build_hf_headers(), "Accept-Encoding": "identity"}
    if have:
        headers["Range"] = f"bytes={have}-"
    with get_session().stream("GET", url, headers=headers, timeout=STALL_S) as response:
        hf_raise_for_status(response)
        at = have if response.status_code == 206 else 0
        for piece in response.iter_bytes():
            yield piece, at
            at += len(piece)


def _is_content(part: Path, name: str) -> bool:
    """Whether the content is the one named; files that are named by anything but their SHA-256 are believed."""
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
            what = "is being downloaded by another program at the moment"
            raise TransferError(what, "Wait for it, then start again.") from None
        yield


class _Bar:
    """Stands in for a progress bar of the hub's client."""

    def __init__(self, on_bytes: OnBytes, *_: Any, name: str = "", **options: Any) -> None:
        self._on_bytes = (lambda n: None) if name.endswith(".transfer") else on_bytes
        self.total = options.get("total")
        self.n = 0

    def __enter__(self) -> "_Bar":
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def update(self, n: float | None = 1) -> None:
        self.n += int(n or 0)
        self._on_bytes(int(n or 0))

    def __getattr__(self, _: str) -> Callable[..., None]:
        return lambda *args, **options: None


def download(repository: str, file: str, revision: str | None, on_bytes: OnBytes, timeout: float) -> Path:
    """The file in the cache, brought there by the hub's client if need be."""
    bar: Any = partial(_Bar, on_bytes)
    return Path(hf_hub_download(repository, file, revision=revision, etag_timeout=timeout, tqdm_class=bar))
