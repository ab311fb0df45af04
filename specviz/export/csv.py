"""Drafted tokens as CSV, one per row; docs/exports.md describes the columns."""

import csv
import io
from collections.abc import Callable, Mapping
from typing import Any

from specviz.core.events import Drafted, Round
from specviz.core.safe_text import visible
from specviz.trace.jsonl import Trace

COLUMNS: Mapping[str, Callable[[Round, int, Drafted], Any]] = {
    "round": lambda r, i, d: r.index,
    "position": lambda r, i, d: i + 1,
    "at": lambda r, i, d: r.start + i,
    "drafted": lambda r, i, d: r.k,
    "verdict": lambda r, i, d: d.verdict,
    "id": lambda r, i, d: d.id,
    "token": lambda r, i, d: None if d.bytes is None else guarded(visible(d.bytes)),
    "bytes": lambda r, i, d: None if d.bytes is None else "0x" + d.bytes.hex(),
    "p": lambda r, i, d: d.p,
    "q": lambda r, i, d: d.q,
    "ratio": lambda r, i, d: d.ratio,
    "accept_prob": lambda r, i, d: d.accept_prob,
    "u": lambda r, i, d: d.u,
    "draft_u": lambda r, i, d: d.draft_u,
    "overlap": lambda r, i, d: d.overlap,
    "tv": lambda r, i, d: None if d.overlap is None else 1.0 - d.overlap,
    "match": lambda r, i, d: d.match,
    "entropy_p": lambda r, i, d: d.entropy_p,
    "entropy_q": lambda r, i, d: d.entropy_q,
    "rank_p": lambda r, i, d: d.rank_p,
    "rank_q": lambda r, i, d: d.rank_q,
    "target_sample": lambda r, i, d: d.target_sample,
    "raw_p": lambda r, i, d: d.raw and d.raw.p,
    "raw_q": lambda r, i, d: d.raw and d.raw.q,
    "raw_overlap": lambda r, i, d: d.raw and d.raw.overlap,
    "k": lambda r, i, d: r.settings.k,
    "temperature": lambda r, i, d: r.settings.temperature,
    "draft_temperature": lambda r, i, d: r.settings.draft_temperature,
    "top_k": lambda r, i, d: r.settings.top_k,
    "top_p": lambda r, i, d: r.settings.top_p,
    "drafter": lambda r, i, d: guarded(_line(r.settings.drafter)),
    "rule": lambda r, i, d: r.settings.rule,
}
_FORMULA = frozenset("=+-@\t\r＝＋－＠")
"""First characters that make a spreadsheet read a cell as a formula."""


def to_csv(trace: Trace) -> str:
    """A header line and one line per drafted token. Numbers have round-trip precision; undefined ones are empty."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(COLUMNS)
    for round in trace.rounds:
        for i, drafted in enumerate(round.drafted):
            writer.writerow([cell(round, i, drafted) for cell in COLUMNS.values()])
    return out.getvalue()


def guarded(text: str) -> str:
    """``text`` as a cell that no spreadsheet evaluates: formulas are prefixed with an apostrophe."""
    return f"'{text}" if text[:1] in _FORMULA else text


def _line(text: str) -> str:
    return visible(text.encode("utf-8", "replace"))
