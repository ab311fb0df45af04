"""The charts: cases C76 and C77, sampling, titles, and what a drawing costs."""

import math
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from textual.pilot import Pilot

from specviz.core.events import Settings
from specviz.render.chart import DOTS_X, DOTS_Y, Grid, round_ticks
from specviz.render.chart_painter import paint
from specviz.render.glyphs import UNICODE
from specviz.stats.run_stats import RunStats, Series
from specviz.ui.charts.run_charts import AlphaPlot, TokensPlot
from tests.builders import make_header, make_round, make_run
from tests.ui.gallery import Gallery, in_gallery, inside, lines_of

Values = Sequence[float | None]


def series_of(values: Values, **changes: Any) -> Series:
    """The same values in every curve."""
    made = Series(
        rounds=range(1, len(values) + 1),
        alpha_tested=values,
        alpha_tested_low=values,
        alpha_tested_high=values,
        alpha_overlap=values,
        tokens_per_round=values,
        formula_at_tested=values,
        formula_at_overlap=values,
        n=[1] * len(values),
        segment_starts=[],
        tokens_segment_starts=[],
    )
    return replace(made, **changes)


NO_RATES = RunStats().segment_rates()
SERIES: list[Values] = [
    [],
    [0.5],
    [0.0, 0.0, 0.0],
    [1.0, 1.0, 1.0],
    [math.nan, math.nan],
    [0.5, math.nan, 0.7],
    [math.inf],
    [-math.inf, 0.5],
    [None, None],
    [None, 0.5, None, 0.7, None],
    [0.5] * 5000,
]


@pytest.mark.parametrize("ascii", [False, True])
def test_any_series_draws_in_any_size(ascii: bool) -> None:
    async def scenario(app: Gallery, pilot: Pilot[None]) -> None:
        for plot in (app.query_one(AlphaPlot), app.query_one(TokensPlot)):
            for values in SERIES:
                plot.show(series_of(values), NO_RATES, shown=len(values))
                for size in ((1, 1), (5, 3), (12, 4), (40, 10), (200, 50)):
                    strips = plot.strips(*size)
                    assert len(strips) <= size[1]
                    assert all(strip.cell_length == size[0] for strip in strips)

    in_gallery(scenario, ascii=ascii)


def test_empty_data_says_so() -> None:
    async def scenario(app: Gallery, pilot: Pilot[None]) -> None:
        for values in ([], [None], [math.nan, math.nan], [math.inf]):
            app.query_one(AlphaPlot).show(series_of(values), NO_RATES, shown=len(values))
            assert inside(app.query_one(AlphaPlot))[0] == "no draft tested yet"
            app.query_one(TokensPlot).show(series_of(values), NO_RATES, shown=len(values))
            assert inside(app.query_one(TokensPlot))[0] == "no round yet"

    in_gallery(scenario)


def test_alpha_always_runs_from_0_to_1_and_fits_its_widget() -> None:
    async def scenario(app: Gallery, pilot: Pilot[None]) -> None:
        plot = app.query_one(AlphaPlot)
        for values in ([0.5], [1.0] * 30, [0.0] * 30):
            plot.show(series_of(values), NO_RATES, shown=len(values))
            lines = inside(plot)
            assert lines[0].startswith("1.0┤")
            assert [line for line in lines if line.startswith("0.0┤")]
            assert len(lines) == plot.content_size.height
            assert max(map(len, lines)) <= plot.content_size.width

    in_gallery(scenario, size=(200, 50))


def test_two_charts_updated_in_turn_do_not_touch_each_other() -> None:
    async def scenario(app: Gallery, pilot: Pilot[None]) -> None:
        app.begin(make_header(), make_run(30, 4, 1))
        alpha, tokens = app.query_one(AlphaPlot), app.query_one(TokensPlot)
        app.show(30)
        first = inside(alpha), inside(tokens)
        for turn in range(20):
            app.show(5 + turn)
            inside(alpha), inside(tokens)
        app.show(30)
        assert (inside(alpha), inside(tokens)) == first

    in_gallery(scenario)


def test_titles_name_the_numbers_and_where_a_segment_began() -> None:
    async def scenario(app: Gallery, pilot: Pilot[None]) -> None:
        rounds = [make_round(i, verdicts="✓✗") for i in (1, 2)]
        rounds += [make_round(i, verdicts="✓✓", settings=Settings(k=2, temperature=0.5)) for i in (3, 4)]
        app.begin(make_header(), rounds)
        app.show(2)
        await pilot.pause()
        assert "α  tested .500   overlap .600 ─" in lines_of(app.query_one(AlphaPlot))[0]
        assert "tokens/round 2.00  formula 1.75|1.96 ─" in lines_of(app.query_one(TokensPlot))[0]
        app.show(4)
        await pilot.pause()
        lines = lines_of(app.query_one(AlphaPlot))
        assert "α  tested 1.00   overlap .820 ─" in lines[0] and "since round 3" in lines[-1]
        assert any("┊" in line for line in inside(app.query_one(AlphaPlot)))

    in_gallery(scenario)


def test_a_chart_is_drawn_again_only_when_something_changed() -> None:
    async def scenario(app: Gallery, pilot: Pilot[None]) -> None:
        app.begin(make_header(), make_run(30, 4, 1))
        app.show(30)
        await pilot.pause()
        plot = app.query_one(AlphaPlot)
        drawn = plot._cached_strips
        assert drawn is not None
        app.show(30)
        await pilot.pause()
        assert plot._cached_strips is drawn
        app.theme = "light"
        await pilot.pause()
        app.show(29)
        await pilot.pause()
        assert plot._cached_strips is not None
        assert plot._cached_strips is not drawn
        assert [s.text for s in plot._cached_strips] != [s.text for s in drawn]

    in_gallery(scenario)


def test_looking_back_shows_the_rounds_up_to_there() -> None:
    async def scenario(app: Gallery, pilot: Pilot[None]) -> None:
        app.begin(make_header(), make_run(60, 4, 1))
        plot = app.query_one(AlphaPlot)
        series, rates = app.stats.series(), app.stats.segment_rates(37)
        plot.show(series, rates, shown=37)
        whole = inside(plot)
        plot.show(app.stats.series(37), rates, shown=37)
        assert inside(plot) == whole
        assert any(line.rstrip().endswith("37") for line in whole)

    in_gallery(scenario)


def test_ticks_are_round_numbers_with_room_between() -> None:
    assert round_ticks(37, 38) == [37, 1, 10, 20, 30]
    assert round_ticks(10, 38)[0] == 10
    assert len(round_ticks(9999, 38)) <= 7


@given(
    st.lists(st.one_of(st.none(), st.floats(0, 1)), max_size=50),
    st.integers(2, 60),
    st.integers(2, 12),
    st.sets(st.integers(2, 50), max_size=3),
)
def test_samples_stay_on_the_grid(values: list[float | None], columns: int, rows: int, breaks: set[int]) -> None:
    grid = Grid(columns, rows, max(10, len(values)), 0.0, 1.0)
    for x, y in (*grid.line(values, breaks), *grid.blobs(values, breaks, range(columns))):
        assert 0 <= x < columns * DOTS_X and 0 <= y < rows * DOTS_Y
    for x, y in (*grid.band(values, values, breaks), *grid.uprights(breaks)):
        assert 0 <= x < columns and 0 <= y < rows
    assert len({x for x, _ in grid.line(values, breaks)}) <= 2 * columns


def test_a_line_stands_at_its_values_and_breaks_at_a_segment() -> None:
    grid = Grid(columns=5, rows=4, rounds=10, low=0.0, high=1.0)
    assert grid.line([1.0] * 10, ()) == [(x, 15) for x in range(10)]
    assert grid.line([0.0] * 5 + [1.0] * 5, (6,)) == [(x, 0) for x in range(5)] + [(x, 15) for x in range(5, 10)]
    joined = grid.line([0.0] * 5 + [1.0] * 5, ())
    assert {y for x, y in joined if x == 5} == set(range(1, 16))


def test_plotext_places_cells_where_the_grid_says() -> None:
    from specviz.render.chart import Layer

    grid = Grid(columns=6, rows=3, rounds=10, low=0.0, high=1.0)
    lines = paint(grid, [Layer("a", "x", [(0, 0), (5, 2), (3, 1)])], {"1": 1.0, "0": 0.0}, UNICODE)
    text = ["".join(part for part, _ in line) for line in lines]
    assert text[:3] == ["1┤     x", " │   x  ", "0┤x     "]
    assert [part.strip() for part, style in lines[2] if style == "a"] == ["x"]


def test_the_other_widgets_do_not_load_plotext() -> None:
    code = (
        "import sys, specviz.ui.main.text_panel, specviz.ui.main.round_panel, specviz.ui.charts.positions,"
        "specviz.ui.main.round_strip, specviz.ui.main.legend;"
        "sys.exit(any(name.split('.')[0] in ('plotext', 'textual_plotext', 'torch') for name in sys.modules))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
