"""What the pages print, against tests/data/README.md and numbers worked out here."""

from collections.abc import Callable
from dataclasses import replace
from functools import cache

import pytest
from rich.cells import cell_len

from specviz.core.events import Calibration, End, Settings, Timing
from specviz.render.glyphs import ASCII, UNICODE
from specviz.stats.formula_gap import AcceptanceRate, FormulaGap, formula_gap
from specviz.ui.metrics.acceptance import acceptance
from specviz.ui.metrics.blocks import FactRow, PageBody, align_decimals, fact_lines
from specviz.ui.metrics.page import MetricsPage
from specviz.ui.metrics.scope import Scope
from specviz.ui.metrics.speed import speed
from specviz.ui.metrics.tokens_per_round import reading, tokens_per_round
from specviz.ui.run.timeline import Timeline
from tests.builders import make_drafted, make_header, make_round, make_run
from tests.ui.metrics import calibrated, fields, page, scope, small, texts, timeline_of

PAGES = (acceptance, tokens_per_round, speed)


# -- acceptance


def test_every_rate_stands_under_its_own_name() -> None:
    lines = page(acceptance, small())
    assert fields(lines, "α tested")[:3] == [".727", "[.434", ".903]"]  # 8/11 and Wilson's interval of it
    assert fields(lines, "α overlap")[0] == ".709"  # 7.8/11
    assert fields(lines, "accepted/drafted")[:4] == [".533", "8", "of", "15"]
    assert fields(lines, "z")[0] == "+0.15"  # .2 / sqrt(1.76)
    assert fields(lines, "mean match")[0] == ".295"  # 3.25/11
    assert "15 drafted = 8 accepted + 3 rejected + 3 untested + 1 ignored" in lines


def test_other_engines_beside_what_was_measured() -> None:
    lines = page(acceptance, small())
    rows = [line for line in lines if line.startswith(("vLLM", "SGLang", "llama.cpp", "LM Studio", "EAGLE"))]
    found = {line[:33].strip(): line[33:62].split() for line in rows}
    # Since K is 3, rounds 2 to 6: 8 of 15 drafts, 12 tokens. E[N](8/15, 3) = 1 + 8/15 + 64/225 + 512/3375 = 1.969,
    # E[N](2/3, 3) = 65/27.
    assert found["vLLM       draft acceptance rate"] == [".533", "1.97", "2.50"]
    assert found["vLLM       mean acceptance length"] == ["2.60", "2.60", "2.50"]
    assert found["SGLang     spec_accept_rate"] == [".533", "1.97", "2.50"]
    assert found["SGLang     spec_accept_length"] == ["2.40", "2.40", "2.50"]
    assert found["llama.cpp  draft acceptance"] == [".533", "1.97", "2.50"]
    assert found["LM Studio  accepted / predicted"] == [".667", "2.41", "2.50"]
    assert found["EAGLE      τ"] == ["2.40", "2.40", "2.50"]
    assert "What other engines would print for rounds 2 to 6" in lines


def test_other_engines_print_for_the_whole_run_or_for_rounds_that_are_named() -> None:
    timeline = calibrated(make_run(12))
    assert "What other engines would print for this run" in page(acceptance, timeline)
    timeline.show(5)
    assert "What other engines would print for rounds 1 to 5" in page(acceptance, timeline)
    assert "What other engines would print for rounds 8 to 12" in page(acceptance, changed_at(8, temperature=0.5))


def test_positions_and_overlaps_with_their_counts() -> None:
    lines = page(acceptance, small(), 78)
    head = lines.index("By draft position")
    rows = [line.split() for line in lines[head + 2 : head + 5]]
    assert [(row[0], row[1], row[3], row[4], row[6]) for row in rows] == [
        ("1", ".80", "4/5", ".80", "4/5"),
        ("2", ".75", "3/4", ".60", "3/5"),
        ("3", ".50", "1/2", ".25", "1/4"),
    ]
    head = lines.index("Overlap of p and q")
    assert lines[head + 1] == "Σ min(p, q) at 11 tested positions"
    bins = lines[head + 2 : head + 12]
    assert [int(line.split()[-1]) for line in bins] == [0, 0, 1, 0, 0, 0, 4, 0, 4, 2]
    assert [line.count("█") for line in bins] == [0, 0, 6, 0, 0, 0, 24, 0, 24, 12]  # 24 cells are the most
    assert bins[0].startswith(".0 – .1") and bins[9].startswith(".9 – 1")


def test_a_contradiction_is_called_a_bug() -> None:
    never = [make_drafted(verdict="rejected", overlap=0.9, accept_prob=0.9) for _ in range(1)]
    timeline = timeline_of(make_round(i, drafted=never) for i in range(1, 21))
    lines = page(acceptance, timeline)
    # (0 - 20 * .9) / sqrt(20 * .9 * .1) = -18 / 1.342
    assert fields(lines, "z")[:2] == ["−13.42", "BUG:"]
    layout = acceptance(scope(timeline))(118, UNICODE)
    assert ("−13.42", "error") in [(text.strip(), style) for line in layout for text, style in line]


def test_a_contradiction_of_certain_chances_is_called_a_bug() -> None:
    """Greedy: the draft's token had the chance 1, and was rejected."""
    wrong = [make_drafted(verdict="rejected", overlap=1.0, p=1.0, q=1.0, accept_prob=1.0)]
    timeline = timeline_of([make_round(1, drafted=wrong, settings=Settings(k=1, temperature=0.0))])
    layout = acceptance(scope(timeline))(118, UNICODE)
    assert " ".join(fields(texts(layout), "z")[:6]) == "– BUG: acceptance contradicts its probability."
    assert ("–", "error") in [(text.strip(), style) for line in layout for text, style in line]


def test_a_rate_is_a_rate_where_no_round_was_whole() -> None:
    """One round, ended by its first draft: no N to predict, so nothing stands below E[N]."""
    lines = page(acceptance, timeline_of([make_round(1, verdicts="✓–––")]))
    assert fields(lines, "vLLM       draft acceptance rate")[:3] == [".250", "–", "–"]
    assert fields(lines, "LM Studio  accepted / predicted")[:3] == ["1.00", "–", "–"]
    assert fields(lines, "SGLang     spec_accept_length")[:3] == ["1.00", "1.00", "–"]


@pytest.mark.parametrize("cells", [90, 100, 110, 118])
def test_what_engines_count_is_cut_like_words_and_not_like_tokens(cells: int) -> None:
    lines = page(acceptance, small(), cells)
    (row,) = [line for line in lines if line.startswith("SGLang     spec_accept_length")]
    assert row.endswith(("…", "(rounds with a draft)"))


def test_greedy_has_no_z_and_typical_no_overlap() -> None:
    sure = [make_drafted(overlap=1.0, p=1.0, q=1.0)]
    lines = page(acceptance, timeline_of([make_round(1, drafted=sure)]))
    assert fields(lines, "z")[:2] == ["–", "every"]
    typical = Settings(k=1, rule="typical")
    lines = page(acceptance, timeline_of([make_round(1, drafted=sure, settings=typical)]))
    assert fields(lines, "α overlap")[:2] == ["–", "none:"]
    assert fields(lines, "z")[:2] == ["–", "none:"]
    assert not any("must equal" in line or "BUG" in line for line in lines)


# -- tokens per round


def test_lengths_against_the_formula() -> None:
    lines = page(tokens_per_round, small())
    assert fields(lines, "tokens/round")[:6] == ["2.50", "mean", "N", "of", "4", "uncut"]
    assert fields(lines, "accepted/round")[0] == "1.50"
    assert fields(lines, "formula, tested")[0] == "2.64"  # 3515/1331
    assert fields(lines, "formula, overlap")[0] == "2.57"  # E[N](7.8/11, 3)
    assert fields(lines, "gap")[0] == "+0.14"
    assert "Too few rounds to distinguish a gap from chance." in lines


def test_the_histogram_stands_beside_what_is_expected() -> None:
    lines = page(tokens_per_round, small(), 78)
    head = lines.index("Rounds by N, their number of tokens")
    pairs = lines[head + 2 : head + 10]
    assert [line.split()[-1] for line in pairs[0::2]] == ["1", "1", "1", "1"]
    # 4 rounds times 3/11, 24/121, 192/1331, 512/1331
    assert [line.split()[-1] for line in pairs[1::2]] == ["1.1", "0.8", "0.6", "1.5"]
    assert [line.count("░") for line in pairs[1::2]] == [18, 13, 10, 26]  # of 26 cells for 1.54
    assert [line[0] for line in pairs[0::2]] == ["1", "2", "3", "4"]


def test_what_is_rarely_expected_is_not_never_expected() -> None:
    """One round at K 2, at α 101/102: P(N = 1) = 1/102, P(N = 2) = 101/102², P(N = 3) = 101²/102²."""
    rounds = [make_round(i, verdicts="✗" if i == 1 else "✓") for i in range(1, 101)]
    last = make_round(101, verdicts="✓✓", settings=Settings(k=2))
    lines = page(tokens_per_round, timeline_of([*rounds, last]), 78)
    head = lines.index("Rounds by N, their number of tokens")
    assert [line.split()[-1] for line in lines[head + 3 : head + 8 : 2]] == ["<0.1", "<0.1", "1.0"]


def test_causes_and_drift() -> None:
    lines = page(tokens_per_round, small(), 78)
    assert fields(lines, "position 1, after a rejection") == ["1.00", "[.439", "1.00]", "3/3"]
    assert fields(lines, "position 1, after a full acceptance") == [".000", "[.000", ".793]", "0/1"]
    assert fields(lines, "position 2")[0::3] == [".750", "3/4"]
    assert fields(lines, "position 3")[0::3] == [".500", "1/2"]
    head = lines.index("Does it drift over the text?")
    assert [line.split() for line in lines[head + 2 : head + 6]] == [
        ["1", "–", "0/0", "–", "1.00"],
        ["2", "–", "3", ".800", "[.376", ".964]", "4/5", ".760", "3.00"],
        ["4", ".000", "[.000", ".793]", "0/1", ".200", "1.00"],
        ["5", "–", "6", ".800", "[.376", ".964]", "4/5", ".760", "3.00"],
    ]


def measured(gap: float, error: float | None, rejection: float | None = 0.5, full: float | None = 0.9) -> str:
    timeline = calibrated(make_run(20))
    rates = replace(scope(timeline).rates, tokens_per_round_half_width=error)
    why = formula_gap(timeline.rounds, rates)

    def share(rate: float | None) -> AcceptanceRate:
        return AcceptanceRate(0, 0, rate, None)

    changed: FormulaGap = replace(why, gap=gap, first_after_rejection=share(rejection), first_after_full=share(full))
    return reading(rates, changed)


def test_the_gap_is_read() -> None:
    above = "Acceptance varies: the formula, which assumes it does not, sits 0.21 above"
    causes = "A first draft is accepted .50 of the time after a rejection, .90 after a full acceptance."
    assert measured(0.21, 0.2) == f"{above}. {causes}"
    assert measured(-0.21, 0.2) == f"{above.replace('above', 'below')}. {causes}"
    assert measured(0.21, 0.2, rejection=None) == f"{above}."
    agree = "The formula and the measurement agree: 0.19 apart, within the ± 0.20 of 95\xa0%."
    assert measured(0.19, 0.2) == agree
    assert measured(0.21, None) == "Too few rounds to distinguish a gap from chance."


# -- speed


def test_times_and_speedups() -> None:
    lines = page(speed, small(), 78)
    assert fields(lines, "draft ")[:4] == ["6.00", "ms", "2.00", "ms"]
    assert fields(lines, "verify")[:2] == ["12.00", "ms"] and fields(lines, "verify")[-2:] == ["1.20", "T_p"]
    assert fields(lines, "decide ")[:2] == ["1.00", "ms"]
    assert fields(lines, "inspect")[:2] == ["0.50", "ms"]
    assert fields(lines, "T_p ")[:2] == ["10.00", "ms"]
    assert fields(lines, "T_q")[:2] == ["2.00", "ms"]
    assert fields(lines, "T_verify(4)")[:2] == ["12.00", "ms"]
    assert fields(lines, "c ")[0] == "5.00" and fields(lines, "c ")[-1] == "0.20"
    assert fields(lines, "model ")[0] == "1.65x"  # 3515/1331 * 5/8
    assert fields(lines, "measured cost")[0] == "1.25x"
    assert fields(lines, "best K")[0] == "3"
    assert fields(lines, "break-even α")[0] == ".389"
    assert fields(lines, "ceiling")[0] == "3.67x"  # 11/3
    assert not any("lower than the target alone" in line for line in lines)


def test_the_curve_has_a_column_a_k_and_marks_its_own_and_the_best() -> None:
    lines = page(speed, small(), 78)
    head = lines.index("Speedup by the model over K")
    rows, marks, axis, key = lines[head + 1 : head + 9], lines[head + 9], lines[head + 10], lines[head + 11]
    assert rows[0].startswith("1.65x") and rows[3].startswith("1.00x")
    assert rows[7].count("█") == 33  # K = 0, ..., 32, each above an eighth of the best
    place = 6 + 2 * 3
    assert [row[place] for row in rows] == ["█"] * 8  # f(3) is the best
    assert (marks[place], marks[place + 1]) == ("↑", "*")
    assert axis[6 + 2 * 8] == "8"
    assert key.split("   ")[:2] == ["", ""] and "↑ K 3   * best K 3" in key


def test_measured_cost_says_since_when_it_counts() -> None:
    """At K 3 since round 2, while the rates and the medians are those of all rounds."""
    lines = page(speed, small(), 118)
    assert any(line.endswith("(draft + verify + decide) since round 2, when K changed.") for line in lines)
    assert not any("when K changed" in line for line in page(speed, calibrated(make_run(5)), 118))


def test_times_too_short_to_print_are_not_nothing() -> None:
    rounds = [make_round(i, verdicts="✓✓✗·", timing=Timing(0.008, 10.0, 0.0, 0.5, 11.0)) for i in (1, 2, 3)]
    lines = page(speed, timeline_of(rounds, Calibration(10.0, 9.0, 8)), 78)
    assert fields(lines, "draft ")[:4] == ["0.01", "ms", "<0.01", "ms"]
    assert fields(lines, "decide")[:2] == ["0.00", "ms"]


def test_at_k_0_no_alpha_pays() -> None:
    lines = page(speed, calibrated([*make_run(3), make_round(4, verdicts="")]), 118)
    assert " ".join(fields(lines, "break-even α")) == "– none: at K 0 nothing is drafted."


def test_a_slowdown_is_said_first() -> None:
    rounds = [make_round(i, verdicts="✓✗·", timing=Timing(27.0, 10.0, 0.5, 0.5, 38.0)) for i in range(1, 17)]
    lines = page(speed, timeline_of(rounds, Calibration(10.0, 9.0, 8)))
    assert lines[0] == "Slower than the target alone: 0.53x by measured cost."  # 10 * 8 tokens / (4 * 37.5)
    assert fields(lines, "measured cost")[0] == "0.53x"
    assert fields(lines, "model ")[0] == "0.51x"  # (1 + .5 + .25 + .125) * c / (c + 3), c = 10/9
    assert fields(lines, "best K")[:4] == ["0", "do", "not", "speculate:"]  # K = 1 gives 1.5 / 1.9


@pytest.mark.parametrize(
    ("calibration", "drafter", "words"),
    [
        (None, "model", "The models were not timed in this run (--calibrate 0)"),
        (Calibration(5.0, None, 8), "ngram", "An n-gram draft costs almost nothing"),
        (Calibration(5.0, None, 8), "model", "The draft's step was not timed"),
        (Calibration(5.0, 5e-324, 8), "model", "c = T_p / T_q is not finite with these times"),
    ],
)
def test_what_is_unknown_is_said(calibration: Calibration | None, drafter: str, words: str) -> None:
    rounds = [replace(r, settings=replace(r.settings, drafter=drafter)) for r in make_run(20)]
    timeline = timeline_of(rounds, calibration)
    timeline.stats.add(make_header(config={"calibrate": 0}))
    lines = page(speed, timeline)
    assert any(line.startswith(words) for line in lines)
    assert fields(lines, "model ")[0] == "–"
    assert "Speedup by the model over K" not in lines


def test_models_that_are_still_to_be_timed_are_said_to_be() -> None:
    timeline = timeline_of(make_run(1))
    timeline.stats.add(make_header(config={"calibrate": 5}))
    assert any(line.startswith("The models have not been timed: T_p, T_q") for line in page(speed, timeline))


def test_no_k_helps_where_a_draft_step_is_dearer() -> None:
    lines = page(speed, timeline_of(make_run(20), Calibration(1.0, 2.0, 8)))
    assert fields(lines, "best K")[:4] == ["0", "do", "not", "speculate:"]
    assert fields(lines, "break-even α")[:2] == ["–", "none:"]
    assert any(line.startswith("Slower than the target alone") for line in lines)


# -- which rounds, and every size


def changed_at(index: int, **changes: object) -> Timeline:
    rounds = make_run(12)
    later = Settings(k=4, **changes)  # type: ignore[arg-type]
    return timeline_of([*rounds[: index - 1], *(replace(r, settings=later) for r in rounds[index - 1 :])])


def test_the_title_says_which_rounds_count() -> None:
    timeline = calibrated(make_run(12))
    assert scope(timeline).title == scope(timeline).tokens_title == "all 12 rounds"
    timeline.show(5)
    assert scope(timeline).title == "rounds 1 to 5 of 12"
    timeline.show(1)
    assert scope(timeline).title == "round 1 of 12"
    timeline.show(0)
    assert scope(timeline).title == "no round yet"
    assert scope(changed_at(8, temperature=0.5)).title == "rounds 8 to 12, since the settings changed"
    assert set(scope(changed_at(8, temperature=0.5)).drafts.rows["round"].tolist()) == {8, 9, 10, 11, 12}
    assert scope(small()).title == "all 6 rounds"
    assert scope(small()).tokens_title == "rounds 2 to 6, since K changed; α since round 1"


def test_a_page_counts_up_to_the_round_shown() -> None:
    timeline = small()
    timeline.show(3)
    lines = page(acceptance, timeline)
    assert "6 drafted = 4 accepted + 1 rejected + 1 untested + 0 ignored" in lines
    assert fields(lines, "α tested")[0] == ".800"


def empty() -> Timeline:
    return timeline_of([])


def plain() -> Timeline:
    return timeline_of([make_round(i, verdicts="") for i in (1, 2)])


@cache
def deep() -> Timeline:
    return calibrated(make_run(12, 32))


@pytest.mark.parametrize("make", PAGES)
@pytest.mark.parametrize("of", [empty, plain, small, deep])
@pytest.mark.parametrize("cells", [1, 7, 30, 60, 78, 118, 198])
def test_any_run_fits_in_any_width_in_both_repertoires(
    make: Callable[[Scope], PageBody], of: Callable[[], Timeline], cells: int
) -> None:
    for glyphs in (UNICODE, ASCII):
        lines = make(scope(of()))(cells, glyphs)
        assert lines
        assert {f"page--{style}" for line in lines for _, style in line} <= MetricsPage.COMPONENT_CLASSES
        assert all(text.isprintable() for text in texts(lines))
        if glyphs.ascii:
            assert all(text.isascii() for text in texts(lines))
        if cells >= 78:
            assert max(cell_len(text) for text in texts(lines)) <= cells


def test_a_run_without_drafts_has_dashes_and_a_mean_of_one() -> None:
    lines = page(tokens_per_round, plain())
    assert fields(lines, "tokens/round")[0] == "1.00"
    assert fields(lines, "formula, tested")[0] == "–"
    assert "No draft was tested, so the formula predicts nothing." in lines
    assert page(acceptance, plain()) == ["No token was drafted yet."]
    assert page(speed, empty()) == ["No round yet."]


def test_what_is_over_has_no_yet() -> None:
    timeline = calibrated([make_round(i, verdicts="") for i in (1, 2)])
    timeline.add(End("max_new_tokens"))
    assert page(acceptance, timeline) == ["No token was drafted."]
    assert any(line.startswith("No draft was tested: without") for line in page(speed, timeline))
    timeline.show(1)
    assert page(acceptance, timeline) == ["No token was drafted yet."]
    over = calibrated([])
    over.add(End("context"))
    assert [page(make, over) for make in PAGES[1:]] == [["No whole round."], ["No round."]]


def test_a_round_in_its_phases_does_not_count_yet() -> None:
    timeline = calibrated(make_run(12))
    timeline.show(11)
    before = [page(make, timeline) for make in PAGES], scope(timeline).title
    timeline.show_phase(12, 2)
    assert ([page(make, timeline) for make in PAGES], scope(timeline).title) == before


def test_numbers_stand_on_their_points_and_words_below_each_other() -> None:
    assert align_decimals([".5", "+1.25", "–", "12"]) == ["  .5 ", "+1.25", " –   ", "12   "]
    rows = [FactRow("a", ".728", "[.6 .8]", "one two three four five six seven"), FactRow("bb", "+1.5", "", "eight")]
    assert texts(fact_lines(rows, 48, UNICODE)) == [
        "a     .728  [.6 .8]  one two three four five six",
        "                     seven",
        "bb  +1.5             eight",
    ]
    assert texts(fact_lines(rows, 30, UNICODE)) == [
        "a     .728  [.6 .8]",
        "  one two three four five six",
        "  seven",
        "bb  +1.5",
        "  eight",
    ]
