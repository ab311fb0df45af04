"""Where a model is: in a local folder, bundled with specviz, or at a commit on the hub and in its cache."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from specviz import bundled
from specviz.core.errors import SpecvizError
from specviz.core.options import Role
from specviz.decoder.checkpoints.files import CONFIG, Problem, has_weights, is_gguf, model_problem, scan

HUB_PREFIX = "hub:"
HUB_ID = re.compile(r"[\w-][\w.-]*(/[\w-][\w.-]*)?", re.ASCII)


@dataclass(frozen=True, slots=True)
class HubUnavailable:
    """Why the hub is not used, as a clause, and what to do about it, as a sentence."""

    reason: str
    suggestion: str
    by_choice: bool = False


@dataclass(frozen=True, slots=True)
class Repository:
    """A commit on the hub. ``blobs``: the name of each file's content in the cache, where known."""

    id: str
    commit: str
    blobs: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class CheckpointLocation:
    """Where a model is: the folder its files are read from. ``files``: every file that is in the folder or can be
    downloaded, with its bytes. ``repository``: where missing files are downloaded from; None for a local folder, and,
    with ``unavailable``, for a model that is in the cache only."""

    role: Role
    name: str
    folder: Path
    files: Mapping[str, int]
    repository: Repository | None = None
    unavailable: HubUnavailable | None = None
    note: str | None = None

    def missing(self, names: Iterable[str]) -> dict[str, int]:
        """Those of ``names`` that are not downloaded yet, with their bytes."""
        return {name: self.files.get(name, 0) for name in names if not (self.folder / name).is_file()}

    def error_for(self, problem: Problem) -> SpecvizError:
        """``problem`` as an error about this model, with its suggestion or the usual one for this location."""
        what, suggestion = problem.what, problem.suggestion
        if not suggestion and self.unavailable:
            what, suggestion = f"{what} in the cache, and {self.unavailable.reason}", self.unavailable.suggestion
        elif not suggestion:
            suggestion = (
                "Choose another model or revision." if self.repository else "Check that the folder is complete."
            )
        return SpecvizError(f"--{self.role} {self.name} {what}. {suggestion}")


def find_local(role: Role, name: str) -> CheckpointLocation | None:
    """The bundled model or the folder of that name; None for a model of the hub. Raises SpecvizError for a folder or a
    file that holds no model, and for the path of a missing folder."""
    if name.startswith(bundled.PREFIX):
        return CheckpointLocation(role, name, bundled.folder(name), scan(bundled.folder(name)))
    if name.startswith(HUB_PREFIX):
        return None
    path = Path(name).expanduser()
    try:
        if path.is_file():
            raise _not_local_folder(role, name, path)
        if path.is_dir():
            return _local_folder(role, name, path)
    except OSError as error:
        raise SpecvizError(f"--{role} {name} cannot be read: {error.strerror}. Check its permissions.") from error
    if name.startswith((".", "~", "/")) or name.count("/") > 1:
        raise SpecvizError(f"--{role} {name}: this folder does not exist. Check the path.")
    return None


def hub_id(role: Role, name: str) -> str:
    """The hub id in ``name``. Raises SpecvizError where it is not one."""
    id = name.removeprefix(HUB_PREFIX)
    if not HUB_ID.fullmatch(id):
        raise SpecvizError(
            f"--{role} {name} is neither a local folder nor a hub id (NAME or OWNER/NAME). Check the name."
        )
    return id


def _not_local_folder(role: Role, name: str, path: Path) -> SpecvizError:
    if is_gguf(path):
        suggestion = "Use the model it was converted from: a folder or hub id with safetensors."
        return SpecvizError(f"--{role} {name} is a GGUF file, which specviz cannot read. {suggestion}")
    hub = f", or write {HUB_PREFIX}{name} for the model on the hub" if HUB_ID.fullmatch(name) else " or a hub id"
    return SpecvizError(f"--{role} {name} is a file. Use a model folder (with {CONFIG}){hub}.")


def _local_folder(role: Role, name: str, path: Path) -> CheckpointLocation:
    files = scan(path)
    could_be_hub = HUB_ID.fullmatch(name) is not None
    location = CheckpointLocation(role, name, path, files)
    if problem := model_problem(files):
        raise location.error_for(problem)
    if CONFIG not in files:
        lacks = f"has no {CONFIG}" + ("" if has_weights(files) else " and no weights")
        if could_be_hub:
            raise SpecvizError(
                f"--{role} {name} was read as the local folder of that name, which {lacks}. "
                f"Use a model folder, or write {HUB_PREFIX}{name} for the model on the hub."
            )
        raise SpecvizError(f"--{role} {name}: this folder {lacks}. Use a model folder or a hub id.")
    note = (
        f"--{role} {name} is the local folder of that name; write {HUB_PREFIX}{name} for the model on the hub."
        if could_be_hub
        else None
    )
    return CheckpointLocation(role, name, path, files, note=note)
