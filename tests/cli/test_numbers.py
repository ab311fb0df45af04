"""A metric declared in the table is in every output it names."""

import json
from collections import Counter

import pytest

from specviz.cli.commands.stats import stats
from specviz.export.markdown import to_markdown
from specviz.export.report import Recording
from specviz.render.numbers import compact, exact
from specviz.stats.numbers_table import NUMBERS, numbers_in
from specviz.stats.run_stats import RunStats
from specviz.trace.jsonl import read
from specviz.ui.metrics.acceptance import acceptance
from specviz.ui.metrics.speed import speed
from specviz.ui.metrics.tokens_per_round import tokens_per_round
from tests.recordings import SMALL
from tests.ui.metrics import page, small

RUN = Recording(read(SMALL))
CHANCE = RUN.rates.overlap_name


def test_stats_and_exports_print_every_number(capsys: pytest.CaptureFixture[str]) -> None:
    assert stats([str(SMALL)], as_json=False) == 0
    table, markdown = capsys.readouterr().out.splitlines(), to_markdown(RUN)
    for number in numbers_in("stats"):
        title, value = number.title(CHANCE), exact(number, RUN.rates)
        assert any(line.startswith(title) and line.split()[-1] == value for line in table), title
    for number in numbers_in("export"):
        assert f"| {number.title(CHANCE)} | {exact(number, RUN.rates)} |" in markdown
    assert [metric.label for metric in RUN.headline] == [number.title(CHANCE) for number in numbers_in("headline")]


def test_the_metrics_screen_prints_every_number_of_its_blocks() -> None:
    lines = [line for make in (acceptance, tokens_per_round, speed) for line in page(make, small(), 100)]
    rates = small().stats.segment_rates()
    for number in NUMBERS:
        if number.block:
            shown = f"{number.short_title(CHANCE)} ", compact(number, rates)
            assert any(line.startswith(shown[0]) and f" {shown[1]}" in line for line in lines), shown


def test_every_path_of_json_is_declared_once_and_filled() -> None:
    each = [n for number in NUMBERS for n in (number, number.spread) if n is not None]
    assert set(Counter(n.json for n in each if n.json).values()) == {1}
    summary = json.loads(json.dumps(RUN.stats.summary()))
    for number in each:
        value = summary
        for name in filter(None, number.json.split(".")):
            value = value[name]
        if number.json and number.form:
            expected = number.value(RUN.rates)
            assert value == (list(expected) if isinstance(expected, tuple) else expected), number.json


def test_what_is_undefined_is_a_dash_everywhere() -> None:
    rates = RunStats().whole()
    for number in NUMBERS:
        if number.form and number.value(rates) is None:
            assert exact(number, rates) == compact(number, rates) == "–"
