"""Token ids and their bytes, and whether two tokenizers agree on them."""

import json
import re
from codecs import charmap_encode
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import zip_longest
from typing import Any

from specviz.core.events import Candidate, Token, Top

BYTE_PIECE = re.compile(r"<0x([0-9A-Fa-f]{2})>")
PLACEHOLDER = re.compile(
    r"[<\[|]*(unused|reserved|extra|dummy|pad|placeholder|empty)[\w ]*?[_ |\-]?\d+[>\]|]*|<0x[0-9A-Fa-f]{2}>_\d+",
    re.IGNORECASE,
)


@cache
def _byte_of_char() -> dict[int, int]:
    """From the characters of byte-level BPE to bytes: printable Latin-1 is itself, the rest starts at U+0100."""
    plain = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [b for b in range(0x100) if b not in set(plain)]
    return {b: b for b in plain} | {0x100 + n: b for n, b in enumerate(others)}


def _decoder_kinds(state: Any) -> set[str]:
    """The names of the parts of a tokenizer's decoder, with "▁" for one that replaces the metaspace."""
    if not isinstance(state, dict):
        return set()
    kinds = {str(state.get("type"))}
    if state.get("type") == "Replace" and state.get("pattern", {}).get("String") == "▁":
        kinds.add("▁")
    for part in state.get("decoders") or ():
        kinds |= _decoder_kinds(part)
    return kinds


def piece_bytes(piece: str, kinds: Collection[str]) -> bytes:
    """The bytes of a vocabulary piece under the decoders ``kinds``."""
    if "ByteLevel" in kinds:
        try:
            return charmap_encode(piece, "strict", _byte_of_char())[0]
        except UnicodeEncodeError:
            return piece.encode("utf-8", "surrogatepass")
    if "ByteFallback" in kinds and (match := BYTE_PIECE.fullmatch(piece)):
        return bytes([int(match[1], 16)])
    if "Metaspace" in kinds or "▁" in kinds:
        piece = piece.replace("▁", " ")
    elif "WordPiece" in kinds:
        piece = piece.removeprefix("##") if piece.startswith("##") else f" {piece}"
    elif "BPEDecoder" in kinds:
        piece = piece.replace("</w>", " ")
    return piece.encode("utf-8", "surrogatepass")


def token_bytes(tokenizer: Any) -> list[bytes | None]:
    """The bytes of every id up to the tokenizer's largest; None for an id without an entry. Added tokens are their own
    text."""
    pieces = {i: piece for piece, i in tokenizer.get_vocab().items()}
    added = tokenizer.added_tokens_decoder
    ids = range(max([*pieces, *added], default=-1) + 1)
    backend = getattr(tokenizer, "backend_tokenizer", None)
    if backend is None:
        return [tokenizer.decode([i], skip_special_tokens=False).encode() if i < len(tokenizer) else None for i in ids]
    kinds = _decoder_kinds(json.loads(backend.decoder.__getstate__())) if backend.decoder else set()
    table = [None if (piece := pieces.get(i)) is None else piece_bytes(piece, kinds) for i in ids]
    for i, token in added.items():
        table[i] = token.content.encode("utf-8", "surrogatepass")
    return table


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """The ids a run may emit, 0 … ``size`` - 1, with their bytes; ids from ``size`` on are masked in both models."""

    bytes_of: Sequence[bytes]
    special_ids: frozenset[int]

    @property
    def size(self) -> int:
        return len(self.bytes_of)

    def token(self, i: int) -> Token:
        return Token(i, self.bytes_of[i] if i < len(self.bytes_of) else f"<id {i}>".encode())

    def top(self, ids: Sequence[int], probs: Sequence[float]) -> Top:
        """A top list in descending order, without ids of probability 0."""
        rows = sorted((-prob, i) for i, prob in zip(ids, probs, strict=True) if prob > 0)
        return tuple([Candidate(i, self.bytes_of[i], -negative) for negative, i in rows])


@dataclass(frozen=True, slots=True)
class Comparison:
    """How two tokenizers' maps from ids to bytes differ. ``clashing``: ids with different text, for which the pair is
    refused. ``special``: ids that differ, but are a special, added or placeholder token in either tokenizer, which only
    merits a note."""

    clashing: tuple[int, ...]
    special: tuple[int, ...]
    draft: Sequence[bytes | None]
    target: Sequence[bytes | None]

    def example(self, i: int) -> str:
        return f"id {i}: {_shown(self.draft, i)} in the draft, {_shown(self.target, i)} in the target"


def _shown(table: Sequence[bytes | None], i: int) -> str:
    data = table[i] if i < len(table) else None
    return "no token" if data is None else repr(data.decode("utf-8", "backslashreplace"))


def compare(draft: Any, target: Any, end_ids: frozenset[int]) -> Comparison:
    """Compare two tokenizers id by id; their sizes do not matter. A differing id only merits a note where either side
    has a special, added or placeholder token; an end id, or any other id, clashes."""
    table = token_bytes(target)
    if draft is target:
        return Comparison((), (), table, table)
    own = token_bytes(draft)
    extra = set(draft.added_tokens_decoder) | set(target.added_tokens_decoder)
    extra |= set(draft.all_special_ids) | set(target.all_special_ids)
    clashing: list[int] = []
    special: list[int] = []
    for i, (left, right) in enumerate(zip_longest(own, table)):
        if left == right:
            continue
        is_special = i in extra or any(
            side is not None and PLACEHOLDER.fullmatch(side.decode("utf-8", "replace")) for side in (left, right)
        )
        (special if is_special and i not in end_ids else clashing).append(i)
    return Comparison(tuple(clashing), tuple(special), own, table)
