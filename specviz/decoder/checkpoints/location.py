"""Where a model is: a folder of this machine, what comes with specviz, or a commit on the hub and its cache."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from specviz import bundled
from specviz.core.errors import SpecvizError
from specviz.core.options import Role
from specviz.decoder.checkpoints.files import CONFIG, Problem, has_weights, is_gguf, scan, why_no_model

HUB_PREFIX = "hub:"
HUB_ID = re.compile(r"[\w-][\w.-]*(/[\w-][\w.-]*)?", re.ASCII)


@dataclass(frozen=True, slots=True)
class HubUnavailable:
    """Why the hub is not asked, in a clause, and what can be done about it, in a sentence."""

    reason: str
    suggestion: str
    by_choice: bool = False


@dataclass(frozen=True, slots=True)
class Repository:
    """A commit on the hub. ``blobs``: under which name the cache keeps a file's content, where that is known."""

    id: str
    commit: str
    blobs: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class CheckpointLocation:
    """Where a model is: the folder its files are read from.

    ``files``: every file there or to be had, with its bytes. ``repository``: where those come from that are not there
    yet; None for a folder of this machine and for what only the cache has, which ``unavailable`` tells apart.
    """

    role: Role
    name: str
    folder: Path
    files: Mapping[str, int]
    repository: Repository | None = None
    unavailable: HubUnavailable | None = None
    note: str | None = None

    def missing(self, names: Iterable[str]) -> dict[str, int]:
        """Those of ``names`` that are still to come, with their bytes."""
        return {name: self.files.get(name, 0) for name in names if not (self.folder / name).is_file()}

    def error_for(self, problem: Problem) -> SpecvizError:
        """The error that says ``problem`` of this model, with its way out or the one that this kind of location has."""
        what, suggestion = problem.what, problem.suggestion
        if not suggestion and self.unavailable:
            what, suggestion = f"{what} in the cache, and {self.unavailable.reason}", self.unavailable.suggestion
        elif not suggestion:
            suggestion = (
                "Choose another model or revision." if self.repository else "Check that the folder is complete."
            )
        return SpecvizError(f"--{self.role} {self.name} {what}. {suggestion}")


def on_this_machine(role: Role, name: str) -> CheckpointLocation | None:
    """The bundled model or the folder of that name; None where it must be a model of the hub.

    Raises SpecvizError for a folder or a file that holds no model, and for a name that can be neither.
    """
    if name.startswith(bundled.PREFIX):
        return CheckpointLocation(role, name, bundled.folder(name), scan(bundled.folder(name)))
    if name.startswith(HUB_PREFIX):
        return None
    path = Path(name).expanduser()
    try:
        if path.is_file():
            raise _a_file(role, name, path)
        if path.is_dir():
            return _a_folder(role, name, path)
    except OSError as error:
        raise SpecvizError(f"--{role} {name} cannot be read: {error.strerror}. Check its permissions.") from error
    if name.startswith((".", "~", "/")) or name.count("/") > 1:
        raise SpecvizError(f"--{role} {name}: there is no such folder. Check the path.")
    return None


def hub_id(role: Role, name: str) -> str:
    """The id on the hub that ``name`` stands for. Raises SpecvizError where it cannot be one."""
    id = name.removeprefix(HUB_PREFIX)
    if not HUB_ID.fullmatch(id):
        raise SpecvizError(
            f"--{role} {name} is neither a folder here nor an id of the hub (NAME or OWNER/NAME). Check the name."
        )
    return id


def _a_file(role: Role, name: str, path: Path) -> SpecvizError:
    if is_gguf(path):
        suggestion = "Name the model it was made from: a folder or hub id with safetensors."
        return SpecvizError(f"--{role} {name} is a GGUF file, which specviz does not read. {suggestion}")
    hub = f", or write {HUB_PREFIX}{name} for the model of the hub" if HUB_ID.fullmatch(name) else " or a hub id"
    return SpecvizError(f"--{role} {name} is a file. Name a model folder (with {CONFIG}){hub}.")


def _a_folder(role: Role, name: str, path: Path) -> CheckpointLocation:
    files = scan(path)
    could_be_hub = HUB_ID.fullmatch(name) is not None
    location = CheckpointLocation(role, name, path, files)
    if problem := why_no_model(files):
        raise location.error_for(problem)
    if CONFIG not in files:
        lacks = f"has no {CONFIG}" + ("" if has_weights(files) else " and no weights")
        if could_be_hub:
            raise SpecvizError(
                f"--{role} {name} was taken as the local folder of that name, which {lacks}. "
                f"Name a model folder, or write {HUB_PREFIX}{name} for the model of the hub."
            )
        raise SpecvizError(f"--{role} {name}: this folder {lacks}. Name a model folder or a hub id.")
    note = (
        f"--{role} {name} is the local folder of that name; {HUB_PREFIX}{name} would be the model of the hub."
        if could_be_hub
        else None
    )
    return CheckpointLocation(role, name, path, files, note=note)
