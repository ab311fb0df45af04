"""What the files of a model say by their names and their JSON, before any library is asked: no torch, no network."""

import json
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

CONFIG = "config.json"
ADAPTER = "adapter_config.json"
SAFETENSORS = "model.safetensors"
PICKLE = "pytorch_model.bin"
INDEX = ".index.json"
DESCRIBING = (".json", ".txt", ".model", ".tiktoken", ".jinja")
TOKENIZER = ("tokenizer.json", "tokenizer.model", "merges.txt", "vocab.txt", "spiece.model", "tekken.json")
TOKENIZER_ENDINGS = (".tiktoken", ".bpe.model", ".spm")
GGUF_MAGIC = b"GGUF"


@dataclass(frozen=True, slots=True)
class Problem:
    """Why a model cannot be used: what follows its name in a sentence, and the way out where it has one of its own."""

    what: str
    suggestion: str = ""


@dataclass(frozen=True, slots=True)
class Weights:
    """The files that transformers takes a model's weights from."""

    format: Literal["safetensors", "pickle"]
    files: tuple[str, ...]


def scan(folder: Path) -> dict[str, int]:
    """The files right inside ``folder`` and their bytes; a link to nothing is no file."""
    return {path.name: path.stat().st_size for path in sorted(folder.iterdir()) if path.is_file()}


def is_gguf(path: Path) -> bool:
    if path.suffix.lower() == ".gguf":
        return True
    with path.open("rb") as file:
        return file.read(len(GGUF_MAGIC)) == GGUF_MAGIC


def describing(names: Collection[str], *, code: bool) -> list[str]:
    """Those of ``names`` that are needed to know a model without its weights; ``code``: its Python files as well."""
    endings = (*DESCRIBING, ".py") if code else DESCRIBING
    return [n for n in names if n.endswith(endings) and ("/" not in n or n.startswith("additional_chat_templates/"))]


def of_tokenizer(names: Collection[str]) -> list[str]:
    """Those of ``names`` that a tokenizer may be made from, chat templates aside; no model's weights or settings."""
    others = {CONFIG, "generation_config.json", SAFETENSORS + INDEX, PICKLE + INDEX}
    made_from = [name for name in sorted(names) if name.endswith(DESCRIBING) and "/" not in name]
    return [name for name in made_from if name not in others and not name.endswith(".jinja")]


def read_json(folder: Path, name: str) -> dict[str, Any]:
    """The object in a file, {} where there is no such file. Raises ValueError where the file holds no object."""
    try:
        found = json.loads((folder / name).read_text("utf-8"))
    except FileNotFoundError:
        return {}
    if not isinstance(found, dict):
        raise ValueError("it holds no object")
    return found


def weights(names: Collection[str], folder: Path, *, pickle: bool) -> Weights | None:
    """The weights among ``names``: safetensors if there are any, else pickle files if ``pickle``. The index of
    weights in several files is read from ``folder``. Raises ValueError for an index that cannot be used."""
    if SAFETENSORS in names:
        return Weights("safetensors", (SAFETENSORS,))
    if SAFETENSORS + INDEX in names:
        return Weights("safetensors", _parts(folder, SAFETENSORS + INDEX))
    if pickle and PICKLE in names:
        return Weights("pickle", (PICKLE,))
    if pickle and PICKLE + INDEX in names:
        return Weights("pickle", _parts(folder, PICKLE + INDEX))
    return None


def _parts(folder: Path, index: str) -> tuple[str, ...]:
    table = read_json(folder, index).get("weight_map")
    if not isinstance(table, dict) or not table:
        raise ValueError(f"{index} names no weights")
    return tuple(sorted(set(map(str, table.values()))))


def own_code(folder: Path) -> dict[str, str]:
    """What a model brings Python of its own for, and where that is: {"AutoConfig": "configuration_x.XConfig", …}."""
    mapped: dict[str, str] = {}
    for name in (CONFIG, "tokenizer_config.json"):
        auto_map = read_json(folder, name).get("auto_map")
        for kind, reference in auto_map.items() if isinstance(auto_map, dict) else ():
            each = reference if isinstance(reference, list) else [reference]
            if first := next((r for r in each if isinstance(r, str)), None):
                mapped[str(kind)] = first
    return mapped


def has_weights(names: Collection[str]) -> bool:
    return any(stem + end in names for stem in (SAFETENSORS, PICKLE) for end in ("", INDEX))


def why_no_model(names: Collection[str]) -> Problem | None:
    """What the files are instead of a model, seen from their names: GGUF, or an adapter."""
    if has_weights(names):
        return None
    if gguf := [name for name in names if name.lower().endswith(".gguf")]:
        return Problem(
            f"holds its weights as GGUF only ({gguf[0]}), which specviz does not read",
            "Name the model that was made from: a folder or hub id with safetensors.",
        )
    if ADAPTER in names:
        return Problem(
            f"is an adapter alone ({ADAPTER}), not a model",
            "Merge it into its base model and save that (in peft: merge_and_unload, then save_pretrained).",
        )
    return None


def why_no_weights(names: Collection[str], folder: Path, *, pickle: bool) -> Problem | None:
    """Why the files ``names``, there or to be had, are no weights to be read."""
    try:
        found = weights(names, folder, pickle=pickle)
        if found is None and (pickled := weights(names, folder, pickle=True)):
            return Problem(
                f"has its weights as pickle only ({pickled.files[0]}), which can run code when it is read",
                "--allow-pickle reads it; a model with safetensors is the safer choice.",
            )
    except ValueError as error:
        return Problem(f"has an index of its weights that cannot be used ({error})")
    if found is None:
        return Problem(f"has a {CONFIG} but no weights ({SAFETENSORS})")
    missing = [name for name in found.files if name not in names]
    if missing:
        return Problem(f"lacks {len(missing)} of its {len(found.files)} files of weights ({missing[0]})")
    return None


def missing_tokenizer_file(names: Collection[str]) -> str | None:
    """The file for lack of which no tokenizer can be made from ``names``; None where there is nothing to miss."""
    if any(name in TOKENIZER or name.endswith(TOKENIZER_ENDINGS) for name in names):
        return None
    return "merges.txt" if "vocab.json" in names else "tokenizer.json"
