"""A run as Markdown."""

import re

import pytest

from specviz.export.markdown import code, fence, to_markdown
from tests.export.runs import hostile, recording, small, unsafe
from tests.rounds import accepting, round_of


def test_numbers_under_their_own_names() -> None:
    """Accepted 2, 0 and 4 at K 4: two a round, and one token more of each round."""
    run = recording([round_of(accepting(n, 4), i) for i, n in enumerate((2, 0, 4), 1)])
    page = to_markdown(run)
    for row in ("| accepted/round | 2.000 |", "| tokens/round | 3.000 |", "| accepted/drafted | 0.500 |"):
        assert row in page
    assert "| 1 | .67 | 2/3 | .67 | 2/3 |" in page
    assert "| α tested, 95 %, if tests were independent | " in page


def test_text_and_prompt_stand_in_code() -> None:
    page = to_markdown(small())
    assert "```text\nOnce upon a time there was\n```" in page
    assert "```text\n a little frog and a\nriver\n```" in page


@pytest.mark.parametrize(
    ("text", "span"), [("a", "`a`"), ("a`b", "``a`b``"), ("`a", "`` `a ``"), ("a``", "``` a`` ```"), ("a|b", "`a|b`")]
)
def test_code_spans(text: str, span: str) -> None:
    assert code(text) == span


def test_a_bar_does_not_end_a_cell() -> None:
    assert code("a|b", in_table=True) == r"`a\|b`"


def test_a_fence_is_longer_than_what_it_holds() -> None:
    assert fence("a\n````\nb") == "`````text\na\n````\nb\n`````"


def test_a_hostile_trace_stays_in_code() -> None:
    page = to_markdown(hostile())
    assert unsafe(page) == set()
    blocks = re.sub(r"^(`{3,})text\n.*?\n\1$", "", page, flags=re.M | re.S)
    spans = re.sub(r"(`+)(?!`).*?(?<!`)\1(?!`)", "", blocks)
    assert not [word for word in ("alert", "pwned", "HYPERLINK", "<", "no heading") if word in spans]
    heads = [line for line in blocks.splitlines() if line.startswith("#")]
    assert len(heads) == 6
