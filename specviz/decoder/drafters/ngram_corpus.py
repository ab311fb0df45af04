"""A text file in which n-grams are looked up: tokenised and sorted once, then cached for the user."""

import contextlib
import hashlib
import json
import os
import shutil
import tempfile
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from platformdirs import user_cache_path

from specviz.core.drafters import MAX_NGRAM
from specviz.core.errors import SpecvizError
from specviz.core.events import Notice, Progress
from specviz.core.source import Emit

Ids = NDArray[np.uint32]
VERSION = 1
"""Of the cached format; part of the key."""
PIECE = 1 << 16
"""Characters that are tokenised together, up to the next end of a line."""


class Corpus:
    """Ids [n], and the order [n] of their positions, sorted by the MAX_NGRAM ids from each position on."""

    name = "corpus"

    def __init__(self, ids: Ids, order: Ids) -> None:
        self._ids = ids
        self._order = order

    def __len__(self) -> int:
        return len(self._ids)

    def after(self, gram: tuple[int, ...]) -> int | None:
        """The position after the last occurrence of ``gram``, of at most MAX_NGRAM ids, that is followed by an id. A
        binary search, then a pass over every occurrence."""
        n = len(gram)

        def ids_of(row: int) -> tuple[int, ...]:
            position = int(self._order[row])
            return tuple(self._ids[position : position + n].tolist())

        rows = range(len(self._order))
        first = bisect_left(rows, gram, key=ids_of)
        last = bisect_right(rows, gram, lo=first, key=ids_of)
        positions = self._order[first:last]
        positions = positions[positions < len(self._ids) - n]
        return int(positions.max()) + n if len(positions) else None

    def read(self, start: int, n: int) -> list[int]:
        ids: list[int] = self._ids[start : start + n].tolist()
        return ids


def open_corpus(file: str, tokenizer: Any, emit: Emit) -> Corpus:
    """The corpus in ``file``, from the cache if the same tokenizer has read the same content before. Raises
    SpecvizError if it cannot be read or has no tokens."""
    path = Path(file).expanduser()
    try:
        data = path.read_bytes()
    except OSError as error:
        raise SpecvizError(f"--ngram-corpus {file} cannot be read: {error.strerror}. Name a text file.") from None
    folder = corpora_folder() / _key(data, tokenizer)
    with contextlib.suppress(OSError, ValueError):
        return _load(folder)
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise SpecvizError(f"--ngram-corpus {file} is not UTF-8 text (byte {error.start}). Name a text file.") from None
    ids = _tokenised(text, tokenizer, emit)
    if not len(ids):
        raise SpecvizError(f"--ngram-corpus {file} has no tokens. Name a text file that is not empty.")
    order = suffix_order(ids, MAX_NGRAM, lambda done, total: emit(Progress("corpus", done, total, "sorting passes")))
    try:
        _save(folder, ids, order)
    except OSError as error:
        emit(
            Notice(
                f"The n-gram corpus cannot be cached in {folder.parent} ({error.strerror}). It is read again next time."
            )
        )
    return Corpus(ids, order)


def corpora_folder() -> Path:
    return user_cache_path("specviz", appauthor=False) / "corpora"


def suffix_order(ids: Ids, depth: int, passed: Callable[[int, int], None] = lambda done, total: None) -> Ids:
    """The positions of ``ids`` [n], sorted by ``depth`` ids from each on, then by position (prefix doubling)."""
    rank = ids.astype(np.uint64) + 1
    order = np.arange(len(ids))
    passes = max(1, (depth - 1).bit_length())
    for done in range(passes):
        passed(done, passes)
        span = 1 << done
        following = np.zeros_like(rank)
        following[:-span] = rank[span:]
        keys = rank << np.uint64(32) | following
        order = np.argsort(keys, kind="stable")
        keys = keys[order]
        rank[order] = np.concatenate([[1], 1 + np.cumsum(keys[1:] != keys[:-1])]).astype(np.uint64)
    passed(passes, passes)
    return order.astype(np.uint32)


def _tokenised(text: str, tokenizer: Any, emit: Emit) -> Ids:
    total, done = len(text.encode()), 0
    parts = [np.empty(0, np.uint32)]
    emit(Progress("corpus", 0, total, "bytes"))
    for piece in _pieces(text):
        parts.append(np.array(tokenizer(piece, add_special_tokens=False, verbose=False)["input_ids"], np.uint32))
        done += len(piece.encode())
        emit(Progress("corpus", done, total, "bytes"))
    return np.concatenate(parts)


def _pieces(text: str) -> Iterator[str]:
    start = 0
    while start < len(text):
        end = text.find("\n", start + PIECE) + 1 or len(text)
        yield text[start:end]
        start = end


def _key(data: bytes, tokenizer: Any) -> str:
    backend = getattr(tokenizer, "backend_tokenizer", None)
    reads = backend.to_str() if backend is not None else json.dumps(sorted(tokenizer.get_vocab().items()))
    digests = hashlib.sha256(data).digest() + hashlib.sha256(reads.encode("utf-8", "surrogatepass")).digest()
    return hashlib.sha256(f"{VERSION} {MAX_NGRAM} ".encode() + digests).hexdigest()[:32]


def _load(folder: Path) -> Corpus:
    """Raises OSError if there is none, ValueError if it is damaged."""
    ids, order = (np.load(folder / f"{name}.npy", mmap_mode="r").view(np.ndarray) for name in ("ids", "order"))
    if not len(ids) == len(order) > 0 or {ids.dtype, order.dtype} != {np.dtype(np.uint32)}:
        raise ValueError("not a corpus")
    return Corpus(ids, order)


def _save(folder: Path, ids: Ids, order: Ids) -> None:
    """Write to a temporary folder and rename it, so that the cache never holds half a corpus."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    temporary = Path(tempfile.mkdtemp(dir=folder.parent))
    try:
        np.save(temporary / "ids.npy", ids)
        np.save(temporary / "order.npy", order)
        shutil.rmtree(folder, ignore_errors=True)
        os.replace(temporary, folder)
    except OSError:
        shutil.rmtree(temporary, ignore_errors=True)
        raise
