"""A text file in which n-grams are looked up: tokenised and sorted once, then read from the user's cache."""

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
"""Of what is kept: part of the name it is kept under."""
PIECE = 1 << 16
"""Characters that are tokenised at once, up to the end of a line."""


class Corpus:
    """Ids [n] and the order [n] of their places: by the next MAX_NGRAM ids from each on."""

    name = "corpus"

    def __init__(self, ids: Ids, order: Ids) -> None:
        self._ids = ids
        self._order = order

    def __len__(self) -> int:
        return len(self._ids)

    def after(self, gram: tuple[int, ...]) -> int | None:
        """The place behind the last occurrence of ``gram``, of at most MAX_NGRAM ids, that something follows.

        It takes a binary search, and a look at every occurrence.
        """
        n = len(gram)

        def at(row: int) -> tuple[int, ...]:
            place = int(self._order[row])
            return tuple(self._ids[place : place + n].tolist())

        rows = range(len(self._order))
        first = bisect_left(rows, gram, key=at)
        last = bisect_right(rows, gram, lo=first, key=at)
        places = self._order[first:last]
        places = places[places < len(self._ids) - n]
        return int(places.max()) + n if len(places) else None

    def read(self, start: int, n: int) -> list[int]:
        ids: list[int] = self._ids[start : start + n].tolist()
        return ids


def open_corpus(file: str, tokenizer: Any, emit: Emit) -> Corpus:
    """The corpus in ``file``, from the cache if the same content was read by the same tokenizer before.

    Raises SpecvizError where it cannot be read or holds no token.
    """
    path = Path(file).expanduser()
    try:
        data = path.read_bytes()
    except OSError as error:
        raise SpecvizError(f"--ngram-corpus {file} cannot be read: {error.strerror}. Name a text file.") from None
    folder = corpora_folder() / _key(data, tokenizer)
    with contextlib.suppress(OSError, ValueError):
        return _kept(folder)
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise SpecvizError(f"--ngram-corpus {file} is not UTF-8 text (byte {error.start}). Name a text file.") from None
    ids = _tokenised(text, tokenizer, emit)
    if not len(ids):
        raise SpecvizError(f"--ngram-corpus {file} holds no token. Name a text file with some text.")
    order = suffix_order(ids, MAX_NGRAM, lambda done, total: emit(Progress("corpus", done, total, "sorting passes")))
    try:
        _keep(folder, ids, order)
    except OSError as error:
        emit(
            Notice(
                f"The n-gram corpus cannot be kept in {folder.parent} ({error.strerror}): it is read again next time."
            )
        )
    return Corpus(ids, order)


def corpora_folder() -> Path:
    return user_cache_path("specviz", appauthor=False) / "corpora"


def suffix_order(ids: Ids, depth: int, passed: Callable[[int, int], None] = lambda done, total: None) -> Ids:
    """The places of ``ids`` [n] sorted by at least ``depth`` ids from each on, equal ones by place: prefix doubling."""
    rank = ids.astype(np.uint64) + 1
    order = np.arange(len(ids))
    passes = max(1, (depth - 1).bit_length())
    for done in range(passes):
        passed(done, passes)
        span = 1 << done
        behind = np.zeros_like(rank)
        behind[:-span] = rank[span:]
        keys = rank << np.uint64(32) | behind
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


def _kept(folder: Path) -> Corpus:
    """Raises OSError where there is none, ValueError where it is damaged."""
    ids, order = (np.load(folder / f"{name}.npy", mmap_mode="r").view(np.ndarray) for name in ("ids", "order"))
    if not len(ids) == len(order) > 0 or {ids.dtype, order.dtype} != {np.dtype(np.uint32)}:
        raise ValueError("not a corpus")
    return Corpus(ids, order)


def _keep(folder: Path, ids: Ids, order: Ids) -> None:
    """Written beside and moved into place, so that what is there is whole."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    made = Path(tempfile.mkdtemp(dir=folder.parent))
    try:
        np.save(made / "ids.npy", ids)
        np.save(made / "order.npy", order)
        shutil.rmtree(folder, ignore_errors=True)
        os.replace(made, folder)
    except OSError:
        shutil.rmtree(made, ignore_errors=True)
        raise
