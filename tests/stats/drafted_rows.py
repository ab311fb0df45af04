"""Every drafted token, and every rejected id, as the rankings have them."""

from specviz.stats.draft_queries import DraftedRow, Drafts, RejectedId, drafted_row, range_of, top_ids


def drafted_rows(drafts: Drafts) -> list[DraftedRow]:
    """Every drafted token, in order."""
    selected = range_of(drafts)
    return [drafted_row(selected.table, *values) for values in selected.rows.tolist()]


def rejected_ids(drafts: Drafts) -> list[RejectedId]:
    """All of ``top_ids``."""
    return list(top_ids(drafts))
