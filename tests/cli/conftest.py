"""The command line, called in this process or as a process of its own."""

import os
import subprocess
import sys
from collections.abc import Callable

import pytest

from tests.decoder.conftest import shelf  # noqa: F401

Specviz = Callable[..., "subprocess.CompletedProcess[bytes]"]


@pytest.fixture
def specviz() -> Specviz:
    """Run `specviz ARGS` as a process without a terminal."""

    def call(*args: str, stdin: bytes = b"", **environment: str) -> "subprocess.CompletedProcess[bytes]":
        return subprocess.run(
            [sys.executable, "-m", "specviz", *args],
            input=stdin,
            capture_output=True,
            env=os.environ | environment,
            timeout=120,
            check=False,
        )

    return call
