"""Where the charts put things, by hand: x from 38 to 448, y from 206 (low) up to 50 (high)."""

import re

import pytest

from specviz.export.charts import alpha, charts, css, histogram, positions, tokens
from specviz.stats.run_stats import RunStats
from tests.rounds import fold, segmented


def lines(svg: str, name: str) -> list[list[tuple[float, float]]]:
    """The stretches of a series as points; the first path of that name is its sample in the legend."""
    paths = re.findall(rf'<path class="{name}" d="([^"]*)"', svg)
    assert len(paths) == 2
    return [
        [(float(x), float(y)) for x, y in (point.split() for point in run.removesuffix("h.1").split("L"))]
        for run in paths[1].split("M")[1:]
    ]


def of(stats: RunStats) -> list[str]:
    return charts(stats.series(), stats.whole())


def test_running_alpha() -> None:
    """Accepted of tested: 2/2, then 2/3, then 5/6 of them."""
    stats = fold(["aa", "ru", "aaa"])
    svg = alpha(stats.series(), stats.whole())
    assert lines(svg, "line tested") == [[(38.0, 50.0), (243.0, pytest.approx(102.0)), (448.0, pytest.approx(76.0))]]


def test_a_segment_breaks_the_lines() -> None:
    svg = alpha(segmented().series(), segmented().whole())
    assert [len(run) for run in lines(svg, "line tested")] == [3, 3]
    assert svg.count('class="segment"') == 1


def test_tokens_a_round_and_the_limit() -> None:
    """N = 3 then 1, K = 2: the running mean is 3, then 2, on an axis from 1 to 3."""
    stats = fold(["aa", "ru"])
    svg = tokens(stats.series(), stats.whole())
    assert lines(svg, "line measured") == [[(38.0, 50.0), (448.0, 128.0)]]
    assert "tokens/round 2.00, formula" in svg


def test_positions_count_what_they_show() -> None:
    """Position 1: 2 of 3 tested; position 2: 1 of 2 tested, and of all three rounds 1."""
    svg = positions(fold(["aa", "ar", "ru"]).whole().per_position)
    assert re.findall(r'class="count[^"]*"[^>]*>([^<]*)<', svg) == ["2/3", "2/3", "1/2", "1/3"]
    heights = [float(h) for h in re.findall(r'<rect class="bar \w+"[^>]*height="([\d.]+)"', svg)]
    assert heights[2:] == pytest.approx([104.0, 104.0, 78.0, 52.0], abs=0.06)


def test_histogram_against_what_is_expected() -> None:
    """α = 2/4 at K = 2 over two rounds: P(N = 1, 2, 3) = .5, .25, .25, so 1, .5 and .5 rounds of the top of 1."""
    stats = fold(["aa", "ru", "r"])
    svg = histogram(stats.whole())
    marks = re.findall(r'class="mark" d="M([\d.]+) ([\d.]+)L', svg)
    expected = stats.whole().expected_histogram
    assert [206 - 156 * n / 2 for n in expected.values()] == pytest.approx([float(y) for _, y in marks], abs=0.06)
    assert [float(h) for h in re.findall(r'class="bar measured"[^>]*height="([\d.]+)"', svg)] == [11, 156, 0, 78]


def test_without_a_round_nothing_is_drawn() -> None:
    for svg in of(RunStats()):
        assert "no data yet" in svg
        assert "nan" not in svg.lower()


def test_plain_rounds_have_no_alpha() -> None:
    drawn = of(fold(["", ""]))
    assert "no data yet" in drawn[0]
    assert lines(drawn[1], "line measured") == [[(38.0, 206.0), (448.0, 206.0)]]


def test_long_runs_are_thinned_and_keep_their_end() -> None:
    stats = fold(["aa", "ru"] * 2000)
    run = lines(alpha(stats.series(), stats.whole()), "line tested")[0]
    assert len(run) < 700
    assert run[-1][0] == 448.0


def test_the_style_sheet_needs_every_colour() -> None:
    with pytest.raises(KeyError):
        css({"foreground": "#000000"})
