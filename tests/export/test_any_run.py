"""Whatever a trace may hold can be exported."""

import csv
import io
from xml.etree import ElementTree

from hypothesis import given, settings

from specviz.core.events import Header, Round
from specviz.export.cast import to_cast
from specviz.export.csv import COLUMNS, to_csv
from specviz.export.html import to_html
from specviz.export.markdown import to_markdown
from specviz.export.palette import palettes
from specviz.export.report import Recording
from specviz.export.svg import to_svg
from specviz.theming.loader import load_themes
from specviz.trace.jsonl import Trace
from tests.export.runs import unsafe
from tests.recordings import headers, rounds

PALETTES = palettes(None, load_themes())


@given(headers, rounds())
@settings(max_examples=30, deadline=None)
def test_every_format_takes_it_and_nothing_unsafe_comes_out(header: Header, round: Round) -> None:
    run = Recording(Trace(header, (), (round,), None))
    table = to_csv(run.trace)
    picture = to_svg(run, PALETTES.dark)
    for text in (to_html(run, PALETTES), to_markdown(run), table, picture):
        assert unsafe(text, keep="\n\t\u200d") == set()
    ElementTree.fromstring(picture)
    assert [len(row) for row in csv.reader(io.StringIO(table, newline=""))] == [len(COLUMNS)] * (round.k + 1)
    assert to_cast(run, PALETTES.dark).isascii()
