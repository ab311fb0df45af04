"""The folder of the user's recorded runs: the last twenty traces."""

import contextlib
import re
import secrets
from datetime import UTC, datetime
from pathlib import Path

from platformdirs import user_state_path

from specviz.core.errors import SpecvizError
from specviz.core.safe_text import visible

KEPT = 20
_NAME = re.compile(r"run-\d{8}-\d{6}-\d{6}-[0-9a-f]{6}\.jsonl")


def runs_folder() -> Path:
    return user_state_path("specviz", appauthor=False) / "runs"


def recorded_runs() -> list[Path]:
    """The recorded runs, latest first."""
    with contextlib.suppress(OSError):
        return sorted((path for path in runs_folder().iterdir() if _NAME.fullmatch(path.name)), reverse=True)
    return []


def new_run_path() -> Path:
    """A new path for the next run, named by the time in UTC; the oldest runs beyond the limit are deleted. Raises
    SpecvizError if the folder cannot be created."""
    folder = runs_folder()
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        folder.chmod(0o700)
    except OSError as error:
        shown = visible(str(folder).encode("utf-8", "surrogateescape"))
        raise SpecvizError(
            f"{shown} cannot be used to store runs ({error.strerror}): use --no-record to run without recording."
        ) from None
    for old in recorded_runs()[KEPT - 1 :]:
        with contextlib.suppress(OSError):
            old.unlink()
    return folder / f"run-{datetime.now(UTC):%Y%m%d-%H%M%S-%f}-{secrets.token_hex(3)}.jsonl"
