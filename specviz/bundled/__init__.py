"""The bundled demo pair and a recorded run of it, by the names users type."""

from importlib.resources import files
from pathlib import Path

from specviz.core.errors import SpecvizError

PREFIX = "bundled:"
MODELS = ("bundled:draft", "bundled:target")
TRACES = ("bundled:demo",)


def folder(name: str) -> Path:
    """The model folder of ``bundled:draft`` or ``bundled:target``: configuration, weights, tokenizer, card. Raises
    SpecvizError for any other name, and where the installation lacks the folder."""
    return _resolve(name, MODELS, "model", "{}")


def trace(name: str) -> Path:
    """The file of the recorded run ``bundled:demo``. Raises SpecvizError for any other name, and where the installation
    lacks the file."""
    return _resolve(name, TRACES, "recorded run", "{}.jsonl")


def _resolve(name: str, known: tuple[str, ...], kind: str, pattern: str) -> Path:
    if name not in known:
        raise SpecvizError(f"No {kind} called {name!r} comes with specviz. There is: {', '.join(known)}.")
    path = Path(str(files(__name__).joinpath(pattern.format(name.removeprefix(PREFIX)))))
    if not path.exists():
        raise SpecvizError(f"This installation of specviz lacks {name} ({path}). Installing it again brings it back.")
    return path
