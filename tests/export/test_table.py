"""Drafted tokens as CSV."""

import csv
import io
import re
from pathlib import Path

import pytest

from specviz.export.csv import COLUMNS, guarded, to_csv
from tests.export.runs import HOSTILE, hostile, small, unsafe
from tests.recordings import round_

DOCS = Path(__file__).parents[2] / "docs" / "exports.md"


def rows(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text, newline="")))


def test_columns_are_those_of_the_documentation() -> None:
    part = DOCS.read_text("utf-8").partition("## The columns")[2]
    named = [name for line in re.findall(r"^\| (`.*?) \|", part, re.M) for name in re.findall("`([a-z_]+)`", line)]
    assert named == list(COLUMNS)


def test_a_row_by_hand() -> None:
    table = rows(to_csv(small().trace))
    assert [row["verdict"] for row in table] == ["accepted"] * 2 + ["rejected", "untested"] + ["accepted"] * 2
    row = table[2]
    expected = {"round": "1", "position": "3", "at": "8", "drafted": "4", "token": "␣girl", "bytes": "0x206769726c"}
    assert expected.items() <= row.items()
    assert (row["p"], row["q"], row["u"], row["overlap"]) == ("0.031", "0.22", "0.77", "0.38")
    assert float(row["accept_prob"]) == float(row["ratio"]) == 0.031 / 0.22
    assert float(row["tv"]) == 0.62
    assert (row["raw_p"], row["target_sample"], row["top_k"]) == ("", "", "")


def test_bytes_are_exact() -> None:
    table = rows(to_csv(hostile().trace))
    assert [bytes.fromhex(row["bytes"][2:]) for row in table[::2]] == [text.encode() for text in HOSTILE]


@pytest.mark.parametrize("text", ["=1+1", "+1", "-1", "@A1", "\tx", "\rx", "＝1"])
def test_no_cell_begins_a_formula(text: str) -> None:
    assert guarded(text) == f"'{text}"
    assert guarded(f"a{text}") == f"a{text}"


def test_hostile_cells() -> None:
    text = to_csv(hostile().trace)
    assert unsafe(text) == set()
    table = rows(text)
    assert len(table) == 2 * len(HOSTILE)
    assert not [cell for row in table for cell in row.values() if cell[:1] in tuple("=+-@")]
    assert [table[2 * i]["token"] for i in range(6, 10)] == ["'=HYPERLINK(1)", "'+1", "'-1", "'@SUM(A1)"]


def test_numbers_come_back_as_they_were() -> None:
    run = small()
    trace = type(run.trace)(run.trace.header, (), (round_(1),), None)
    drafted = round_(1).drafted
    for row, token in zip(rows(to_csv(trace)), drafted, strict=True):
        assert float(row["p"]) == token.p
        assert float(row["entropy_q"]) == token.entropy_q
