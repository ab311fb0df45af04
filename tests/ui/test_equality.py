"""The rate under the equality rule is match, by that name, everywhere; its test is what the target drew."""

from dataclasses import replace

import pytest
from textual.pilot import Pilot

from specviz.core.events import Settings
from specviz.render.explanations import sample_bytes
from specviz.render.glyphs import ASCII, UNICODE, Glyphs
from specviz.render.token_report import full_report
from specviz.stats.draft_queries import overlap_histogram
from specviz.stats.run_stats import RunStats
from specviz.ui.charts.run_charts import AlphaPlot, TokensPlot
from specviz.ui.main.round_panel import RoundPanel
from specviz.ui.main.round_rows import Columns, RoundTable
from specviz.ui.metrics.acceptance import acceptance
from specviz.ui.metrics.draft_list import drafted_listing
from specviz.ui.metrics.tokens_per_round import tokens_per_round
from specviz.ui.metrics.tokens_tab import choices
from specviz.ui.run.jumps import hits
from specviz.ui.run.status_line import rate_fields
from specviz.ui.run.timeline import Timeline
from tests.builders import id_of, make_drafted, make_emitted, make_round, make_top
from tests.stats.drafted_rows import drafted_rows
from tests.ui.gallery import Gallery, in_gallery, inside, lines_of
from tests.ui.metrics import fields, page, texts, timeline_of
from tests.ui.test_inspector import shown, value
from tests.ui.test_shell_status import line

EQUALITY = Settings(k=3, rule="equality")
FROG = id_of(" Frog")
ROUND = make_round(
    1,
    drafted=[
        make_drafted(" is", accept_prob=None, overlap=0.8, match=0.25, target_sample=id_of(" is")),
        make_drafted(" a", "rejected", p=0.03, q=0.2, accept_prob=None, overlap=0.6, match=0.05, target_sample=FROG),
        make_drafted(" nd", "untested", accept_prob=None, overlap=0.9, match=0.5, target_sample=7),
    ],
    emitted=[make_emitted(" is", "accepted", p=0.5), make_emitted(" Frog", p=0.29)],
    settings=EQUALITY,
)
"""Match .25 and .05 of the tested positions: mean .15, overlap .7."""


@pytest.mark.parametrize("text", [" is", " Frog", " river", " nd"])
def test_what_the_target_drew_is_named_wherever_the_round_knows_it(text: str) -> None:
    """Accepted, emitted alone, in a list of another position, and drafted elsewhere."""
    drafted = [
        make_drafted(" is", accept_prob=None, target_sample=id_of(" is"), p_top=()),
        make_drafted(" a", "rejected", accept_prob=None, target_sample=id_of(text), p_top=(), q_top=()),
        make_drafted(" nd", "untested", accept_prob=None, target_sample=id_of(text), p_top=(), q_top=()),
    ]
    made = make_round(1, drafted=drafted, emitted=ROUND.emitted, settings=EQUALITY)
    for row in (1, 2):
        assert sample_bytes(made, made.drafted[row]) == text.encode()
        assert full_report(made, row, UNICODE).draws[1] == ("target", text.encode(), id_of(text))
        assert "token " not in full_report(made, row, UNICODE).sentences[-1][0].replace("same token", "")


def run() -> Timeline:
    return timeline_of(replace(ROUND, index=i) for i in range(1, 5))


def table(glyphs: Glyphs = UNICODE, cells: int = 74) -> list[str]:
    drawing = RoundTable(Columns.fitting(cells, 3), glyphs)
    rows = [drawing.header(ROUND), *(drawing.row(ROUND, row, chosen=False) for row in range(4))]
    return ["".join(text for text, _ in parts).rstrip() for parts in rows]


def test_the_table_of_a_round() -> None:
    assert table() == [
        "   i   token           q     p   p/q    match  accept if equal",
        "   1 ✓ ␣is          .400  .500  1.25      .25  target drew ␣is",
        "   2 ✗ ␣a           .200  .030   .15      .05  target drew ␣Frog",
        "   3 · ␣nd          .400  .500  1.25      .50  untested",
        "     ↳ ␣Frog           –  .290               replaces 2, target's own draw",
    ]
    assert "residual" not in "".join(table())


@pytest.mark.parametrize("cells", range(28, 74))
def test_the_draw_is_named_in_any_width(cells: int) -> None:
    for row in table(cells=cells)[1:3]:
        assert len(row) <= cells
        assert row.endswith(("drew ␣is", "drew ␣Frog"))


def test_a_draw_whose_text_is_not_known_is_named_by_its_id() -> None:
    unknown = replace(ROUND.drafted[1], target_sample=7, p_top=make_top(" the", 0.9))
    made = replace(ROUND, drafted=(ROUND.drafted[0], unknown, ROUND.drafted[2]))
    drawing = RoundTable(Columns.fitting(74, 3), ASCII)
    assert "target drew token 7" in "".join(text for text, _ in drawing.row(made, 1, chosen=False))


def test_the_panel_says_what_the_target_drew() -> None:
    async def scenario(app: Gallery, pilot: Pilot[None]) -> None:
        panel = app.query_one(RoundPanel)
        panel.show(ROUND, max_k=3)
        await pilot.pause()
        assert "␣a rejected: the target's own draw at u .31 was ␣Frog" in "\n".join(inside(panel))

    in_gallery(scenario)


def test_the_inspector_puts_match_first_and_no_ratio() -> None:
    lines = shown(ROUND, 0)
    assert value(lines, "match") == ".250" and value(lines, "overlap") == ".800"
    assert next(line for line in lines if "match" in line).split()[0] == "p", "it stands on the first line of facts"
    assert value(lines, "target's u") == ".310" and value(lines, "draft u") == ".500"
    assert not any("p/q" in line or "accept prob" in line for line in lines)
    assert "overlap" in next(line for line in shown(replace(ROUND, settings=Settings(k=3)), 0) if line.startswith("p "))


def test_the_status_line() -> None:
    rates = run().rates
    assert (rates.rule, rates.overlap_name) == ("equality", "match")
    assert rates.alpha_overlap == pytest.approx(0.15)
    text = line(rate_fields(rates), 118)
    assert "match .150" in text and "overlap" not in text
    assert RunStats().segment_rates().overlap_name == "overlap"


def test_the_plots() -> None:
    async def scenario(app: Gallery, pilot: Pilot[None]) -> None:
        timeline = run()
        for plot in (app.query_one(AlphaPlot), app.query_one(TokensPlot)):
            plot.styles.height = 14
            await pilot.pause()
            plot.show(timeline.series, timeline.rates, shown=timeline.shown)
            await pilot.pause()
            drawn = "\n".join(lines_of(plot))
            assert "match" in drawn and "overlap" not in drawn
        assert "match .150" in lines_of(app.query_one(AlphaPlot))[0]

    in_gallery(scenario)


def test_the_metrics() -> None:
    lines = page(acceptance, run(), 78)
    assert fields(lines, "α match")[0] == ".150"
    assert "Match of p and q" in lines and "Σ p·q at 8 tested positions" in lines
    assert not any("overlap" in line or "mean match" in line for line in lines)
    lines = page(tokens_per_round, run())
    assert fields(lines, "formula, match")[0] == "1.18"  # 1 + .15 + .0225 + .0034
    assert "the same at α match .150." in "\n".join(lines)
    assert not any("overlap" in line for line in lines)


def test_the_drafted_tokens() -> None:
    rounds = run().rounds
    assert [row.overlap for row in drafted_rows(rounds[:1])] == [0.25, 0.05, 0.5]
    assert overlap_histogram(rounds) == (4, 0, 4, 0, 0, 0, 0, 0, 0, 0)
    (head,) = texts([list(drafted_listing(rounds, "overlap", 117, UNICODE, "match").head)])
    assert "  match" in head and "overlap" not in head
    assert [choice.label for choice in choices("match")][2] == "lowest match"


def test_rejections_are_listed_with_what_the_target_drew() -> None:
    (hit,) = hits([ROUND], "")
    assert hit.note == "target drew ␣Frog"
