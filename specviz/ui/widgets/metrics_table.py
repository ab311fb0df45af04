"""Drafted tokens in an order, and ids by how often they were rejected, as the lines of a table. Pure."""

import heapq
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from specviz.drafted_tokens import DraftedRow, RejectedId
from specviz.tokens import visible
from specviz.ui.glyphs import Glyphs
from specviz.ui.widgets.drawing import Part, fit
from specviz.ui.widgets.metrics_layout import Line
from specviz.ui.widgets.numbers import fixed, prob, ratio

LIMIT = 500
"""Rows shown of an order."""
_DRAFTED, _IDS = 65, 45
"""Cells of a line besides its token, and its verdict."""
_VERDICT, _TOKEN, _MOST_TOKEN = 10, 10, 28
"""Cells of a verdict in words; cells a token should have, and at most."""

Place = tuple[int, int]
"""A round (1-based) and a row in it."""
Order = Literal["ratio", "lost", "overlap", "ids"]
ORDERS: tuple[Order, ...] = ("ratio", "lost", "overlap", "ids")
Rank = Callable[[DraftedRow], float | None]
_RANKS: Mapping[str, Rank] = {
    "ratio": lambda row: row.ratio,
    "lost": lambda row: None if row.lost is None else -row.lost,
    "overlap": lambda row: row.overlap,
}


@dataclass(frozen=True, slots=True)
class Listing:
    """The head of a table, its lines with the place each leads to, and what it shows in words."""

    head: Sequence[Part]
    lines: Sequence[Line]
    places: Sequence[Place]
    words: str


def ordered(rows: Iterable[DraftedRow], order: Order, limit: int = LIMIT) -> tuple[list[DraftedRow], int]:
    """The first ``limit`` rows of an order, and how many there are; rows without the number are left out, ties stand as
    they were drafted."""
    rank = _RANKS[order]
    ranked = [(value, index, row) for index, row in enumerate(rows) if (value := rank(row)) is not None]
    return [row for _, _, row in heapq.nsmallest(limit, ranked)], len(ranked)


def dearest(rows: Iterable[DraftedRow]) -> dict[int, Place]:
    """Where each id's most costly rejection is, the first one of equals."""
    found: dict[int, tuple[float, Place]] = {}
    for row in rows:
        if row.verdict == "rejected":
            lost = row.lost or 0.0
            if row.id not in found or lost > found[row.id][0]:
                found[row.id] = lost, (row.round, row.row)
    return {id: place for id, (_, place) in found.items()}


def drafted_listing(
    rows: Sequence[DraftedRow], order: Order, cells: int, glyphs: Glyphs, chance: str = "overlap"
) -> Listing:
    """A row a drafted token; ``chance`` is what the accept chance of a position is called."""
    shown, total = ordered(rows, order)
    verdict = _VERDICT if cells >= _DRAFTED + _VERDICT + _TOKEN else 1
    token = _token_cells(cells, _DRAFTED + verdict)
    head = (
        f"{'round':>6}  {'i':>2}  {'token':{token}}  {'verdict' if verdict > 1 else '':{verdict}}  {'q':>5}  {'p':>5}"
        f"  {'p/q':>4}  {chance:>7}  {'u':>5}  {'accept':>6}  {'lost':>5}"
    )
    what = "rejections" if order == "lost" else "drafted tokens"
    return Listing(
        head=[(head, "head")],
        lines=[_drafted_line(row, order, token, verdict, glyphs) for row in shown],
        places=[(row.round, row.row) for row in shown],
        words=f"{_part(len(shown), total)} {what}; lost: expected tokens a rejection cost",
    )


def _drafted_line(row: DraftedRow, order: Order, token: int, verdict: int, glyphs: Glyphs) -> Line:
    none = glyphs.none
    name = fit(visible(row.bytes, ascii=glyphs.ascii), token, ascii=glyphs.ascii)
    word = f"{glyphs.mark(row.verdict)} {row.verdict:8}"[:verdict]
    numbers = {
        "": f"  {prob(row.q):>5}  {prob(row.p):>5}",
        "ratio": f"  {ratio(row.p, row.q, none):>4}",
        "overlap": f"  {prob(row.overlap):>7}",
        "test": f"  {prob(row.u):>5}  {prob(row.accept_prob, none=none):>6}",
        "lost": f"  {fixed(row.lost, 2, none):>5}",
    }
    return [
        (f"{row.round:>6}  {row.row + 1:>2}", "head"),
        (f"  {name}", "text"),
        (f"  {word}", row.verdict),
        *((text, "text" if kind == order else "head") for kind, text in numbers.items()),
    ]


def id_listing(ids: Sequence[RejectedId], places: Mapping[int, Place], cells: int, glyphs: Glyphs) -> Listing:
    """A row an id; each leads to its most costly rejection."""
    shown = ids[:LIMIT]
    token = _token_cells(cells, _IDS)
    head = f"{'id':>7}  {'token':{token}}  {'rejected':>8}  {'tested':>6}  {'drafted':>7}  {'lost':>7}"
    return Listing(
        head=[(head, "head")],
        lines=[
            [
                (f"{each.id:>7}", "head"),
                ("  " + fit(visible(each.bytes, ascii=glyphs.ascii), token, ascii=glyphs.ascii), "text"),
                (f"  {each.rejected:>8}", "rejected"),
                (f"  {each.tested:>6}  {each.drafted:>7}", "head"),
                (f"  {each.lost:>7.2f}", "text"),
            ]
            for each in shown
        ],
        places=[places[each.id] for each in shown],
        words=f"{_part(len(shown), len(ids))} rejected ids; lost: expected tokens all its rejections cost",
    )


def _part(shown: int, total: int) -> str:
    if not total:
        return "no"
    return f"all {total:,}" if shown == total else f"the first {shown:,} of {total:,}"


def _token_cells(cells: int, others: int) -> int:
    return max(1, min(_MOST_TOKEN, cells - others))
