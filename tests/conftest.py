"""The world every test lives in: offline, with a home of its own and none of the developer's settings."""

import gc
import os
import re
import socket
import sys
import tempfile
from collections.abc import Callable, Iterator
from importlib.abc import MetaPathFinder
from itertools import count
from pathlib import Path
from typing import Any

import hypothesis
import pytest

from tests.bundled_run import record_bundled

hypothesis.settings.register_profile("specviz", deadline=None)
hypothesis.settings.load_profile("specviz")

LOCAL = (None, "", "127.0.0.1", "::1", "localhost")

_hub = tempfile.TemporaryDirectory(prefix="specviz-hub-")

# Read by libraries when they are first imported, so set before any test module is.
os.environ.update(
    HF_HOME=_hub.name,
    HF_HUB_OFFLINE="1",
    HF_HUB_DISABLE_TELEMETRY="1",
    TOKENIZERS_PARALLELISM="false",
    OMP_NUM_THREADS="1",  # every worker of pytest-xdist would take all cores; specviz leaves the number alone then
)


class RefuseTorch(MetaPathFinder):
    """Fails every import of the libraries that run models."""

    def find_spec(self, fullname: str, path: object, target: object = None) -> None:
        if fullname.partition(".")[0] in ("torch", "transformers"):
            raise ImportError(f"--no-torch: {fullname} was imported")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--no-torch", action="store_true", help="no test that runs models; importing torch fails")


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("--no-torch"):
        sys.meta_path.insert(0, RefuseTorch())


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """With --no-torch: whether a file imports torch."""
    if config.getoption("--no-torch") and collection_path.suffix == ".py":
        imports = re.search(r"^(from|import) (torch|transformers)", collection_path.read_text("utf-8"), re.MULTILINE)
        return True if imports else None
    return None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.getoption("--no-torch"):
        items[:] = [item for item in items if "bundled_200" not in getattr(item, "fixturenames", ())]


@pytest.hookimpl(trylast=True)
def pytest_collection_finish() -> None:
    """What was imported stays: no collection of garbage need look at its million objects again."""
    gc.freeze()


@pytest.fixture(scope="session")
def homes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Folders that are not there yet, in one of their own: pytest names a folder by looking through those beside it."""
    base = tmp_path_factory.mktemp("homes")
    return (base / str(i) for i in count())


@pytest.fixture(autouse=True)
def home(homes: Iterator[Path], monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty place for settings, state and caches, and a terminal that says nothing about itself."""
    base = next(homes)
    base.mkdir()
    for kind in ("STATE", "CONFIG", "CACHE", "DATA"):
        monkeypatch.setenv(f"XDG_{kind}_HOME", str(base / kind.lower()))
    monkeypatch.setenv("HOME", str(base))
    for name in ("NO_COLOR", "FORCE_COLOR", "COLUMNS", "LINES", "PYTHONPATH"):
        monkeypatch.delenv(name, raising=False)
    return base


@pytest.fixture(autouse=True, scope="session")
def no_network() -> Iterator[None]:
    """Whatever wants to leave this machine fails at once and by name."""
    with pytest.MonkeyPatch.context() as patch:
        for method in ("connect", "connect_ex"):
            patch.setattr(socket.socket, method, _local_only(getattr(socket.socket, method)))
        patch.setattr(socket, "getaddrinfo", _known_hosts_only(socket.getaddrinfo))
        yield


@pytest.fixture(scope="session")
def bundled_200(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The trace of a live run of the bundled pair over 200 rounds; its settings change on the way."""
    path = tmp_path_factory.mktemp("bundled") / "run.jsonl"
    record_bundled(path)
    return path


def _refuse(host: object) -> None:
    if host not in LOCAL:
        raise AssertionError(f"a test tried to reach {host!r} over the network")


def _local_only(connect: Callable[..., Any]) -> Callable[..., Any]:
    def guarded(self: socket.socket, address: Any) -> Any:
        if self.family in (socket.AF_INET, socket.AF_INET6):
            _refuse(address[0])
        return connect(self, address)

    return guarded


def _known_hosts_only(look_up: Callable[..., Any]) -> Callable[..., Any]:
    def guarded(host: Any, *args: Any, **kwargs: Any) -> Any:
        _refuse(host.decode() if isinstance(host, bytes) else host)
        return look_up(host, *args, **kwargs)

    return guarded
