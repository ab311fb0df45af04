"""Drafted tokens in an order, and ids by how often they were rejected, as the lines of a table. Pure."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from specviz.core.safe_text import visible
from specviz.render.cells import fit
from specviz.render.glyphs import Glyphs
from specviz.render.numbers import fixed, prob, ratio
from specviz.stats.draft_queries import (
    DraftedRow,
    Drafts,
    LazyRanking,
    RejectedId,
    costliest_rejection,
    range_of,
    top_ids,
    top_rows,
)
from specviz.stats.draft_table import DraftRange, Rank
from specviz.ui.metrics.blocks import Line

LIMIT = 500
"""Rows shown of an order."""
_TOKEN, _MAX_TOKEN = 10, 28
"""Cells a token should have, and at most."""
_VERDICT = 10
"""Cells of a verdict in words; its mark takes one."""
_GAP = "  "
_DRAFTED = {
    **{"round": 6, "i": 2, "token": 0, "verdict": 1, "q": 5, "p": 5},
    **{"p/q": 4, "overlap": 7, "u": 5, "accept": 6, "lost": 5},
}
_IDS = {"id": 7, "token": 0, "rejected": 8, "tested": 6, "drafted": 7, "lost": 7}
"""Cells of each column; a token takes the rest."""
_SPARED = ("u", "accept", "q", "p", "overlap", "lost", "i", "round"), ("drafted", "tested", "lost")
"""Columns dropped, in this order, where a token has too little room."""

TokenPosition = tuple[int, int]
"""A round (1-based) and a row in it."""
Order = Literal["ratio", "lost", "overlap", "ids"]
ORDERS: tuple[Order, ...] = ("ratio", "lost", "overlap", "ids")


_ORDERED = {"ratio": "p/q", "lost": "lost", "overlap": "overlap"}
"""The column that an order is by: it stays."""


@dataclass(frozen=True, slots=True, eq=False)
class TokenListing:
    """A table: its header, and the key, cells and target position of each line. ``words`` describes it."""

    head: Line
    keys: NDArray[np.int64]
    line: Callable[[int], Line]
    position: Callable[[int], TokenPosition]
    words: str

    def __len__(self) -> int:
        return len(self.keys)

    @property
    def lines(self) -> list[Line]:
        return [self.line(index) for index in range(len(self))]

    @property
    def positions(self) -> list[TokenPosition]:
        return [self.position(index) for index in range(len(self))]


def drafted_listing(drafts: Drafts, order: Rank, cells: int, glyphs: Glyphs, chance: str = "overlap") -> TokenListing:
    """One row per tested token. ``chance`` is the name of a position's accept probability."""
    part = range_of(drafts)
    shown = top_rows(part, order, LIMIT)
    in_words = _DRAFTED | {"verdict": _VERDICT}
    every = in_words if _room(in_words, cells) >= _TOKEN else _DRAFTED
    columns = _fitting(every, [name for name in _SPARED[0] if name != _ORDERED[order]], cells)
    what = "rejections" if order == "lost" else "tested tokens"
    without = "" if order == "lost" else _without(part, shown.total)
    named = {chance if name == "overlap" else name: width for name, width in columns.items()}

    def position(index: int) -> TokenPosition:
        row = shown[index]
        return row.round, row.row

    return TokenListing(
        head=[(_GAP.join(_head(name, width) for name, width in named.items()), "head")],
        keys=shown.keys,
        line=lambda index: _drafted_line(shown[index], _ORDERED[order], columns, glyphs),
        position=position,
        words=_note(f"{_part(shown)} {what}{without}", "lost: expected tokens a rejection cost", cells),
    )


def _without(part: DraftRange, ranked: int) -> str:
    """How many drafted tokens are not among the ``ranked`` ones, and why."""
    untested = part.count("untested")
    reasons = (untested, "that had no test"), (len(part) - untested - ranked, "that were not measured")
    left_out = [f"{count:,} {why}" for count, why in reasons if count]
    return f" without {' and '.join(left_out)}" if left_out else ""


def _drafted_line(row: DraftedRow, ordered: str, columns: Mapping[str, int], glyphs: Glyphs) -> Line:
    none = glyphs.none
    cells = {
        "round": str(row.round),
        "i": str(row.row + 1),
        "token": visible(row.bytes, ascii=glyphs.ascii),
        "verdict": f"{glyphs.mark(row.verdict)} {row.verdict}",
        "q": prob(row.q),
        "p": prob(row.p),
        "p/q": ratio(row.p, row.q, none),
        "overlap": prob(row.overlap),
        "u": prob(row.u),
        "accept": prob(row.accept_prob, none=none),
        "lost": fixed(row.lost, 2, none),
    }
    styles = {"token": "text", "verdict": row.verdict, ordered: "text"}
    return _line(cells, styles, columns, glyphs)


def id_listing(drafts: Drafts, cells: int, glyphs: Glyphs) -> TokenListing:
    """One row per id; each leads to its most costly rejection."""
    part = range_of(drafts)
    shown = top_ids(part, LIMIT)
    columns = _fitting(_IDS, _SPARED[1], cells)
    return TokenListing(
        head=[(_GAP.join(_head(name, width) for name, width in columns.items()), "head")],
        keys=shown.keys,
        line=lambda index: _id_line(shown[index], columns, glyphs),
        position=lambda index: costliest_rejection(part, int(shown.keys[index])),
        words=_note(f"{_part(shown)} rejected ids", "lost: expected tokens all its rejections cost", cells),
    )


def _id_line(rejected: RejectedId, columns: Mapping[str, int], glyphs: Glyphs) -> Line:
    cells = {
        "id": str(rejected.id),
        "token": visible(rejected.bytes, ascii=glyphs.ascii),
        "rejected": str(rejected.rejected),
        "tested": str(rejected.tested),
        "drafted": str(rejected.drafted),
        "lost": f"{rejected.lost:.2f}",
    }
    return _line(cells, {"token": "text", "rejected": "rejected", "lost": "text"}, columns, glyphs)


def _fitting(columns: Mapping[str, int], spared: Iterable[str], cells: int) -> dict[str, int]:
    """The columns that fit beside a token of ``_TOKEN`` cells, and how many it has."""
    kept = dict(columns)
    for name in spared:
        if _room(kept, cells) >= _TOKEN:
            break
        del kept[name]
    return kept | {"token": max(1, min(_MAX_TOKEN, _room(kept, cells)))}


def _room(columns: Mapping[str, int], cells: int) -> int:
    """Cells that are left for the token."""
    return cells - sum(columns.values()) - len(_GAP) * (len(columns) - 1)


def _head(name: str, cells: int) -> str:
    if name == "verdict":
        return fit(name if cells > 1 else "", cells)
    return fit(name, cells, right=name != "token")


def _line(texts: Mapping[str, str], styles: Mapping[str, str], columns: Mapping[str, int], glyphs: Glyphs) -> Line:
    line: Line = []
    for name, cells in columns.items():
        text = texts[name]
        if name == "token":
            text = fit(text, cells, ascii=glyphs.ascii)
        elif name == "verdict":
            text = text[:cells].ljust(cells)
        else:
            text = text.rjust(cells)
        line.append(((_GAP if line else "") + text, styles.get(name, "head")))
    return line


def _note(words: str, more: str, cells: int) -> str:
    """``more`` only where there is room for it."""
    both = f"{words}; {more}"
    return both if len(both) <= cells else words


def _part(shown: LazyRanking[Any]) -> str:
    if not shown.total:
        return "no"
    return f"all {shown.total:,}" if len(shown) == shown.total else f"the first {len(shown):,} of {shown.total:,}"
