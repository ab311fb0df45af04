"""What the names and the JSON of a model's files show, without torch and without network."""

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
    """Why a model cannot be used: the part of the sentence after its name, and a suggestion if there is one."""

    what: str
    suggestion: str = ""


@dataclass(frozen=True, slots=True)
class Weights:
    """The files that transformers reads a model's weights from."""

    format: Literal["safetensors", "pickle"]
    files: tuple[str, ...]


def scan(folder: Path) -> dict[str, int]:
    """The files directly inside ``folder`` and their bytes, without broken links."""
    return {path.name: path.stat().st_size for path in sorted(folder.iterdir()) if path.is_file()}


def is_gguf(path: Path) -> bool:
    if path.suffix.lower() == ".gguf":
        return True
    with path.open("rb") as file:
        return file.read(len(GGUF_MAGIC)) == GGUF_MAGIC


def describing(names: Collection[str], *, code: bool) -> list[str]:
    """Those of ``names`` that describe a model without its weights; ``code``: with its Python files."""
    endings = (*DESCRIBING, ".py") if code else DESCRIBING
    return [n for n in names if n.endswith(endings) and ("/" not in n or n.startswith("additional_chat_templates/"))]


def tokenizer_files(names: Collection[str]) -> list[str]:
    """Those of ``names`` that a tokenizer may be built from, without chat templates."""
    others = {CONFIG, "generation_config.json", SAFETENSORS + INDEX, PICKLE + INDEX}
    candidates = [name for name in sorted(names) if name.endswith(DESCRIBING) and "/" not in name]
    return [name for name in candidates if name not in others and not name.endswith(".jinja")]


def read_json(folder: Path, name: str) -> dict[str, Any]:
    """The object in a file, {} without the file. Raises ValueError where the file holds something else."""
    try:
        value = json.loads((folder / name).read_text("utf-8"))
    except FileNotFoundError:
        return {}
    if not isinstance(value, dict):
        raise ValueError("it is not a JSON object")
    return value


def weights(names: Collection[str], folder: Path, *, pickle: bool) -> Weights | None:
    """The weights among ``names``: safetensors if there are any, else pickle files if ``pickle``. The index of weights
    in several files is read from ``folder``. Raises ValueError for an unusable index."""
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
        raise ValueError(f"{index} lists no weights")
    return tuple(sorted(set(map(str, table.values()))))


def custom_code(folder: Path) -> dict[str, str]:
    """The classes a model has custom code for, and where: {"AutoConfig": "configuration_x.XConfig", ...}."""
    references: dict[str, str] = {}
    for name in (CONFIG, "tokenizer_config.json"):
        auto_map = read_json(folder, name).get("auto_map")
        for kind, reference in auto_map.items() if isinstance(auto_map, dict) else ():
            listed = reference if isinstance(reference, list) else [reference]
            if first := next((r for r in listed if isinstance(r, str)), None):
                references[str(kind)] = first
    return references


def has_weights(names: Collection[str]) -> bool:
    return any(stem + end in names for stem in (SAFETENSORS, PICKLE) for end in ("", INDEX))


def model_problem(names: Collection[str]) -> Problem | None:
    """What the files are instead of a model, by their names: GGUF, or an adapter."""
    if has_weights(names):
        return None
    if gguf := [name for name in names if name.lower().endswith(".gguf")]:
        return Problem(
            f"has only GGUF weights ({gguf[0]}), which specviz cannot read",
            "Use the model they were converted from: a folder or hub id with safetensors.",
        )
    if ADAPTER in names:
        return Problem(
            f"is only an adapter ({ADAPTER}), not a model",
            "Merge it into its base model and save the result (in peft: merge_and_unload, then save_pretrained).",
        )
    return None


def weights_problem(names: Collection[str], folder: Path, *, pickle: bool) -> Problem | None:
    """Why the files ``names``, local or on the hub, do not include usable weights."""
    try:
        usable = weights(names, folder, pickle=pickle)
        if usable is None and (pickled := weights(names, folder, pickle=True)):
            return Problem(
                f"has its weights only as pickle ({pickled.files[0]}), which can run code when loaded",
                "Pass --allow-pickle to load it; a model with safetensors is safer.",
            )
    except ValueError as error:
        return Problem(f"has an unusable index of weights ({error})")
    if usable is None:
        return Problem(f"has a {CONFIG} but no weights ({SAFETENSORS})")
    missing = [name for name in usable.files if name not in names]
    if missing:
        return Problem(f"lacks {len(missing)} of its {len(usable.files)} weight files ({missing[0]})")
    return None


def missing_tokenizer_file(names: Collection[str]) -> str | None:
    """The file without which no tokenizer can be built from ``names``; None if none is missing."""
    if any(name in TOKENIZER or name.endswith(TOKENIZER_ENDINGS) for name in names):
        return None
    return "merges.txt" if "vocab.json" in names else "tokenizer.json"
