"""The accessors of a round: a chain by its counts, a tree by its accepted path."""

from dataclasses import replace

import pytest

from specviz.core.events import Round
from specviz.trace.codec import encode
from specviz.trace.jsonl import load_line
from tests.rounds import round_of


def chain(verdicts: str) -> Round:
    round = round_of(verdicts)
    return replace(round, drafted=tuple(replace(d, id=row) for row, d in enumerate(round.drafted)))


def tree() -> Round:
    """Two roots, the second accepted with its second child: rows 1 and 3."""
    round = chain("rararu")
    parents = (None, None, 1, 1, 3, 0)
    drafted = tuple(replace(d, parent=parent) for d, parent in zip(round.drafted, parents, strict=True))
    return replace(round, drafted=drafted, path=(1, 3))


@pytest.mark.parametrize(
    ("verdicts", "accepted", "tested", "rejected", "unaccepted", "rows"),
    [
        ("", [], [], None, (), 1),
        ("aa", [0, 1], [0, 1], None, (), 3),
        ("aru", [0], [0, 1], 1, (1, 2), 4),
        ("ruu", [], [0], 0, (0, 1, 2), 4),
        ("aii", [0], [0], None, (1, 2), 3),
    ],
)
def test_a_chain(
    verdicts: str, accepted: list[int], tested: list[int], rejected: int | None, unaccepted: tuple[int, ...], rows: int
) -> None:
    round = chain(verdicts)
    assert [d.id for d in round.accepted_tokens] == accepted
    assert [d.id for d in round.tested_tokens] == tested
    assert round.rejected_row == rejected
    assert round.first_rejected is (None if rejected is None else round.drafted[rejected])
    assert round.n_rejected == len(tested) - len(accepted)
    assert round.unaccepted_rows == unaccepted
    assert len(round.rows) == round.n_rows == rows
    assert round.correction is (None if round.cut else round.rows[-1])
    assert round.fully_accepted == (verdicts == "aa")


def test_a_tree_is_read_by_its_path() -> None:
    round = tree()
    assert [d.id for d in round.accepted_tokens] == [1, 3]
    assert [d.id for d in round.tested_tokens] == [0, 1, 2, 3, 4]
    assert (round.rejected_row, round.n_rejected) == (0, 3)
    assert round.unaccepted_rows == (0, 2, 4, 5)
    assert round.correction is round.emitted[-1]


def test_only_a_tree_writes_parents_and_a_path() -> None:
    line = encode(chain("aru"))
    assert line is not None and '"parent"' not in line and '"path"' not in line
    assert load_line(line.encode()) == chain("aru")
