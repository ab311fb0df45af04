"""A run as Markdown. Untrusted text is put in code spans and blocks, where it cannot act as markup."""

import re
from collections.abc import Iterable, Sequence

from specviz.export.report import Recording
from specviz.render.numbers import NONE, prob


def to_markdown(run: Recording) -> str:
    rates = run.rates
    positions = [
        (str(at.position), prob(at.conditional, 2), f"{at.accepted}/{at.tested}", prob(at.unconditional, 2),
         f"{at.reached}/{at.drafted}")
        for at in rates.per_position
    ]  # fmt: skip
    expected = rates.expected_histogram
    histogram = [
        (str(n), str(count), f"{expected[n]:.1f}" if n in expected else NONE) for n, count in rates.histogram.items()
    ]
    numbers = [(number.label, number.value) for number in run.numbers]
    parts = [
        f"# Speculative decoding: {code(run.title)}",
        table(("", ""), [(name, code(value, in_table=True)) for name, value in run.facts]),
        "## Numbers",
        *([run.note] if run.note else []),
        table(("", "whole run"), numbers, right=1),
        "## Acceptance by position",
        table(("i", "if tested", "", "of all rounds", ""), positions, right=5),
        "## Tokens per round (N), compared with P(N = i) at α tested",
        table(("N", "rounds", "expected"), histogram, right=3),
        "## Prompt",
        fence(run.prompt),
        "## Text",
        fence(run.text),
    ]
    return "\n\n".join(parts) + "\n"


def table(head: Sequence[str], rows: Iterable[Sequence[str]], right: int = 0) -> str:
    """A table whose last ``right`` columns are right-aligned. The cells are Markdown."""
    alignment = ["---"] * (len(head) - right) + ["---:"] * right
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (head, alignment, *rows))


def code(text: str, *, in_table: bool = False) -> str:
    """One line of untrusted text as a code span."""
    ticks = "`" * (_longest_ticks(text) + 1)
    space = " " if text[:1] == "`" or text[-1:] == "`" else ""
    return f"{ticks}{space}{text.replace('|', chr(92) + '|') if in_table else text}{space}{ticks}"


def fence(text: str) -> str:
    """Untrusted text as a code block."""
    ticks = "`" * max(3, _longest_ticks(text) + 1)
    return f"{ticks}text\n{text}\n{ticks}"


def _longest_ticks(text: str) -> int:
    return max(map(len, re.findall("`+", text)), default=0)
