"""A hub of our own on 127.0.0.1: what the real one answers, as far as its client asks, and what can go wrong."""

import hashlib
import json
import re
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest
from huggingface_hub import constants
from huggingface_hub.utils import close_session

COMMIT = "0123456789abcdef0123456789abcdef01234567"


@dataclass
class Model:
    """A repository. ``error``: (status, code) of every answer about files, as of a gated one; ``hidden``: of all."""

    files: dict[str, bytes]
    revisions: tuple[str, ...] = ("main",)
    commit: str = COMMIT
    error: tuple[int, str] | None = None
    hidden: tuple[int, str] | None = None
    breaks_after: list[int] = field(default_factory=list)
    """For each coming answer with weights: the bytes after which the connection breaks."""
    ranges: bool = True
    bare: bool = False
    """List names only, as a mirror of the hub may."""
    spoiled: dict[str, bytes] = field(default_factory=dict)

    @classmethod
    def of(cls, folder: str, **others: Any) -> "Model":
        return cls({path.name: path.read_bytes() for path in Path(folder).iterdir()}, **others)


@dataclass
class Asked:
    method: str
    path: str
    range: str | None
    authorization: str | None

    @property
    def is_weights(self) -> bool:
        return self.method == "GET" and self.path.endswith((".safetensors", ".bin"))


class FakeHub:
    """``asked``: every request so far. ``down``: the status of every answer. ``silent``: seconds before any answer."""

    def __init__(self) -> None:
        self.models: dict[str, Model] = {}
        self.asked: list[Asked] = []
        self.down: int | None = None
        self.silent = 0.0
        self.slow = 0.0
        hub = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                hub.answer(self)

            do_HEAD = do_GET

            def log_message(self, *_: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    @property
    def weights_asked(self) -> list[Asked]:
        return [asked for asked in self.asked if asked.is_weights]

    def close(self) -> None:
        """Answer no more, on connections that are open neither."""
        close_session()
        self._server.shutdown()
        self._server.server_close()

    def answer(self, to: BaseHTTPRequestHandler) -> None:
        path = unquote(urlsplit(to.path).path)
        self.asked.append(Asked(to.command, path, to.headers["Range"], to.headers["Authorization"]))
        time.sleep(self.silent)
        if self.down:
            return _send(to, self.down, b"down")
        if match := re.fullmatch(r"/api/models/(.+?)(?:/revision/(.+))?", path):
            return self._api(to, match[1], match[2] or "main")
        if match := re.fullmatch(r"/(.+)/resolve/([^/]+)/(.+)", path):
            return self._file(to, match[1], match[2], match[3])
        return _send(to, 404, b"")

    def _model(self, to: BaseHTTPRequestHandler, id: str, revision: str) -> Model | None:
        model = self.models.get(id)
        if model is None:
            _refuse(to, 404, "RepoNotFound")
        elif model.hidden:
            _refuse(to, *model.hidden)
        elif revision not in (*model.revisions, model.commit):
            _refuse(to, 404, "RevisionNotFound")
        else:
            return model
        return None

    def _api(self, to: BaseHTTPRequestHandler, id: str, revision: str) -> None:
        if model := self._model(to, id, revision):
            siblings = []
            for name, data in model.files.items():
                sibling: dict[str, Any] = {"rfilename": name}
                if not model.bare:
                    sibling |= {"size": len(data), "blobId": _git(data)}
                if not model.bare and name.endswith((".safetensors", ".bin")):
                    sibling["lfs"] = {"sha256": _sha256(data), "size": len(data), "pointerSize": 130}
                siblings.append(sibling)
            _send(to, 200, json.dumps({"id": id, "sha": model.commit, "siblings": siblings}).encode())

    def _file(self, to: BaseHTTPRequestHandler, id: str, revision: str, name: str) -> None:
        model = self._model(to, id, revision)
        if model is None:
            return None
        if model.error:
            return _refuse(to, *model.error)
        if name not in model.files:
            return _refuse(to, 404, "EntryNotFound", model.commit)
        data = model.files[name]
        weights = name.endswith((".safetensors", ".bin"))
        headers = {
            "X-Repo-Commit": model.commit,
            "ETag": f'"{_sha256(data) if weights else _git(data)}"',
            "Accept-Ranges": "bytes",
        }
        data = model.spoiled.pop(name, data) if to.command == "GET" else data
        begin = 0
        if to.headers["Range"] and model.ranges:
            begin = int(to.headers["Range"].removeprefix("bytes=").removesuffix("-"))
            headers["Content-Range"] = f"bytes {begin}-{len(data) - 1}/{len(data)}"
        breaks = model.breaks_after.pop(0) if to.command == "GET" and weights and model.breaks_after else None
        status = 206 if "Content-Range" in headers else 200
        return _send(to, status, data[begin:], headers, breaks_after=breaks, slow=self.slow)


def _git(data: bytes) -> str:
    return hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest()


def _sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _refuse(to: BaseHTTPRequestHandler, status: int, code: str, commit: str = COMMIT) -> None:
    headers = {"X-Error-Code": code, "X-Error-Message": f"no: {code}", "X-Repo-Commit": commit}
    _send(to, status, b'{"error": "no"}', headers)


def _send(
    to: BaseHTTPRequestHandler,
    status: int,
    body: bytes,
    headers: dict[str, str] | None = None,
    *,
    breaks_after: int | None = None,
    slow: float = 0.0,
) -> None:
    to.send_response(status)
    for name, value in {
        "Content-Type": "application/json",
        "Content-Length": str(len(body)),
        **(headers or {}),
    }.items():
        to.send_header(name, value)
    to.end_headers()
    if to.command == "HEAD":
        return
    try:
        for begin in range(0, len(body[:breaks_after]), 1 << 16):
            to.wfile.write(body[:breaks_after][begin : begin + (1 << 16)])
            time.sleep(slow)
    except OSError:
        pass
    if breaks_after is not None:
        to.close_connection = True


def taken_for_the_real_one(hub: FakeHub, monkeypatch: pytest.MonkeyPatch, cache: Path) -> None:
    """Let the client in this process ask ``hub``, with its cache at ``cache``."""
    for name, value in (
        ("ENDPOINT", hub.url),
        ("HUGGINGFACE_CO_URL_TEMPLATE", hub.url + "/{repo_id}/resolve/{revision}/{filename}"),
        ("HF_HUB_OFFLINE", False),
        ("HF_HUB_CACHE", str(cache)),
    ):
        monkeypatch.setattr(constants, name, value)
    close_session()


@contextmanager
def standing_in(monkeypatch: pytest.MonkeyPatch, cache: Path) -> Iterator[FakeHub]:
    """A hub that the client in this process takes for the real one, with an empty cache."""
    hub = FakeHub()
    taken_for_the_real_one(hub, monkeypatch, cache)
    try:
        yield hub
    finally:
        hub.close()
