"""Every number of the inspector and the metrics screen, read back from their text: on a trace worked out by hand, and
on a live run of 200 rounds that is computed a second time from the lines of its trace alone."""

import math
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path

import pytest
from textual.pilot import Pilot

from specviz.core.events import Round
from specviz.render.glyphs import UNICODE
from specviz.trace.jsonl import Trace, read
from specviz.trace.replay import TraceSource
from specviz.ui.app import SpecvizApp
from specviz.ui.inspector.layout import report_lines
from specviz.ui.metrics.acceptance import acceptance
from specviz.ui.metrics.blocks import PageBody
from specviz.ui.metrics.draft_list import ORDERS, Order, TokenListing, drafted_listing, id_listing
from specviz.ui.metrics.scope import Scope
from specviz.ui.metrics.speed import speed
from specviz.ui.metrics.tokens_per_round import tokens_per_round
from specviz.ui.run.timeline import Timeline
from tests import reference_stats
from tests.recordings import SMALL
from tests.reference_stats import Line, Recorded
from tests.ui.conftest import hit, options, ready, sampled
from tests.ui.gallery import inside
from tests.ui.metrics import Host, in_metrics, page, scope, texts, timeline_of
from tests.ui.screen_parser import Expected, mismatches, numbers, unwrapped
from tests.ui.screen_parser_inspector import (
    bars_ok,
    facts_of,
    head_of,
    last_facts_of,
    line_mismatches,
    lists_of,
    sentence_numbers,
    sentences_of,
    taken_apart,
    verdict_of,
)
from tests.ui.screen_parser_pages import (
    acceptance_mismatches,
    lengths_mismatches,
    speed_mismatches,
    tokens_expected,
    tokens_ordered,
    tokens_printed,
)

CELLS = 200
Check = Callable[[Sequence[str], Recorded], list[str]]
PAGES: tuple[tuple[Callable[[Scope], PageBody], Check], ...] = (
    (acceptance, acceptance_mismatches),
    (tokens_per_round, lengths_mismatches),
    (speed, speed_mismatches),
)
SHOWN = (2, 16, 20, 21, 57, 100, 102, 103, 105, 107, 150, 200)
"""The first segment, the second at K 4, 0 and 6, and what stands at their edges."""


@cache
def trace_of(path: Path) -> Trace:
    return read(path)


def as_of(path: Path, shown: int) -> Timeline:
    trace = trace_of(path)
    timeline = timeline_of(trace.rounds, *trace.calibrations)
    timeline.show(shown)
    return timeline


def listing(of: Scope, order: Order) -> TokenListing:
    if order == "ids":
        return id_listing(of.drafts, CELLS, UNICODE)
    return drafted_listing(of.drafts, order, CELLS, UNICODE)


# -- a live run


@pytest.mark.parametrize("shown", SHOWN)
def test_the_pages_of_a_live_run_print_what_its_trace_says(shown: int, bundled_200: Path) -> None:
    timeline, run = as_of(bundled_200, shown), reference_stats.load(bundled_200, shown)
    for make, check in PAGES:
        assert check(page(make, timeline, CELLS), run) == [], make.__name__


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("shown", [2, 20, 105, 200])
def test_the_table_of_tokens_prints_what_its_trace_says(order: Order, shown: int, bundled_200: Path) -> None:
    run = reference_stats.load(bundled_200, shown)
    listed = listing(scope(as_of(bundled_200, shown)), order)
    assert tokens_printed(texts(listed.lines), order) == tokens_expected(run, order)
    if order != "ids":
        assert list(listed.positions) == [(row["round"], row["row"]) for row in tokens_ordered(run, order)]


def full_report(round: Round, row: int) -> list[str]:
    return texts(report_lines(round, row, 140, 60, UNICODE))


def wrong(lines: Sequence[str], line: Line, row: int) -> list[object]:
    """What an inspector prints of a row and should not, beside what it should."""
    shown = taken_apart(lines)
    drafted = line["drafted"][row] if row < line["k"] else None
    token = drafted or line["emitted"][-1]
    raw = drafted and drafted["raw"]
    pairs: list[tuple[object, object]] = [
        (
            [text.removesuffix(" special token") for text in shown.head],
            head_of(token, drafted["verdict"] if drafted else token["origin"]),
        ),
        (shown.facts, facts_of(drafted) if drafted else last_facts_of(line)),
        (shown.lists, lists_of(line, row)),
        (shown.raw_lists, lists_of(line, row, raw=True) if raw else {}),
        (sentence_numbers(shown.sentences), sentences_of(line, row)),
        (line_mismatches(shown.line, drafted) if drafted else shown.line, []),
        (drafted is None or verdict_of(drafted) in " ".join(shown.sentences), True),
        (bars_ok(shown), True),
        ([text for text in shown.rest if numbers(text)], []),
    ]
    return [(row, printed, due) for printed, due in pairs if printed != due]


def rows_of(line: Line) -> range:
    return range(line["k"] + (len(line["emitted"]) > line["n_accepted"]))


def test_the_inspector_prints_what_the_trace_says_of_every_token_of_a_live_run(bundled_200: Path) -> None:
    run, seen = reference_stats.load(bundled_200), set()
    for round, line in zip(trace_of(bundled_200).rounds, run.rounds, strict=True):
        for row in rows_of(line):
            assert wrong(full_report(round, row), line, row) == [], (round.index, row)
            token = line["drafted"][row] if row < line["k"] else line["emitted"][-1]
            seen.add((token.get("verdict") or token["origin"], token["raw"] is not None))
    assert seen == {
        *((kind, raw) for kind in ("accepted", "rejected", "untested", "resampled", "bonus") for raw in (True, False)),
        ("plain", False),
    }


def test_what_reads_the_screen_finds_one_wrong_digit(bundled_200: Path) -> None:
    """A hundredth more in one number of the trace, and the screen does not print that."""
    round, timeline = trace_of(bundled_200).rounds[4], as_of(bundled_200, 20)
    for name in ("p", "q", "u", "draft_u", "overlap", "match", "entropy_p", "entropy_q", "rank_p", "rank_q", "id"):
        line = reference_stats.load(bundled_200).rounds[4]
        line["drafted"][0][name] += 1 if isinstance(line["drafted"][0][name], int) else 0.01
        assert wrong(full_report(round, 0), line, 0) != [], name
    for name in ("p_top", "q_top", "residual_top"):
        line = reference_stats.load(bundled_200).rounds[4]
        line["drafted"][0][name][9][2] += 0.01
        assert wrong(full_report(round, 0), line, 0) != [], name
    run = reference_stats.load(bundled_200, 20)
    run.rounds[9]["timing"]["draft_ms"] += 100_000  # more than the tripled tokens make up for on any machine
    run.rounds[9]["drafted"][0]["overlap"] += 0.1
    run.rounds[9]["emitted"] = run.rounds[9]["emitted"] * 3
    for make, check in PAGES:
        assert check(page(make, timeline, CELLS), run) != [], make.__name__


# -- a run worked out by hand: tests/data/README.md

PLACES = {
    "A": ((0, 0.5, 0.25, 0.25), (0, 0.5, 0.25, 0.25)),
    "B": ((0.1, 0.2, 0.6, 0.1), (0.1, 0.4, 0.4, 0.1)),
    "C": ((0.2, 0.3, 0.1, 0.4), (0.1, 0.6, 0.2, 0.1)),
    "D": ((0.6, 0.1, 0.1, 0.2), (0, 0.8, 0.2, 0)),
}
RESIDUALS = {"A": PLACES["A"][0], "B": (0, 0, 1, 0), "C": (0.25, 0, 0, 0.75), "D": (0.75, 0, 0, 0.25)}
OVERLAPS, MATCHES = {"A": 1.0, "B": 0.8, "C": 0.6, "D": 0.2}, {"A": 0.375, "B": 0.34, "C": 0.26, "D": 0.1}
DRAFTED = {
    2: (("B", 2, 0.4, "1"), ("C", 2, 0.7, ".500"), ("D", 2, None, ".500")),
    3: (("B", 2, 0.9, "1"), ("A", 1, 0.2, "1"), ("C", 3, 0.6, "1")),
    4: (("D", 1, 0.5, ".125"), ("B", 1, None, ".500"), ("C", 2, None, ".500")),
    5: (("A", 2, 0.8, "1"), ("B", 1, 0.25, ".500"), ("C", 1, 0.5, ".500")),
    6: (("C", 3, 0.15, "1"), ("B", 0, 0.35, "1"), ("D", 2, None, ".500")),
}
"""Of each round: place, id, u of the accept test where one was held, the accept probability as it is printed."""
BYTES = [b"<|end|>".hex(), b" a".hex(), b" cat".hex(), b" sat".hex()]


def top(probs: Sequence[float]) -> list[tuple[int, str, float]]:
    order = sorted((id for id in range(4) if probs[id]), key=lambda id: (-probs[id], id))
    return [(id, BYTES[id], probs[id]) for id in order]


def entropy(probs: Sequence[float]) -> float:
    return -sum(x * math.log(x) for x in probs if x)


def by_hand(line: Line) -> Line:
    """The line of a round with everything about its drafts from the tables of the README; the other uniforms stay."""
    drafted = []
    for old, (place, id, u, _) in zip(line["drafted"], DRAFTED.get(line["index"], ()), strict=True):
        p, q = PLACES[place]
        known = {
            "id": id,
            "bytes": BYTES[id],
            "p": p[id],
            "q": q[id],
            "u": old["u"] if u is None else u,
            "overlap": OVERLAPS[place],
            "match": MATCHES[place],
            "entropy_p": entropy(p),
            "entropy_q": entropy(q),
            "rank_p": 1 + sum(x > p[id] for x in p),
            "rank_q": 1 + sum(x > q[id] for x in q),
            "p_top": top(p),
            "q_top": top(q),
            "residual_top": top(RESIDUALS[place]),
            "detail": {"residual_is_p": True} if place == "A" else {},
        }
        drafted.append({name: old[name] for name in ("draft_u", "verdict", "raw")} | known)
    return {**line, "drafted": drafted}


def test_the_inspector_prints_what_was_worked_out_by_hand() -> None:
    rounds = trace_of(SMALL).rounds
    for round, line in zip(rounds, map(by_hand, reference_stats.load(SMALL).rounds), strict=True):
        for row in rows_of(line):
            assert wrong(full_report(round, row), line, row) == []
            if row < line["k"]:
                shown = taken_apart(full_report(round, row))
                assert shown.facts["accept prob"] == [DRAFTED[line["index"]][row][3]]


def test_one_rejection_number_by_number() -> None:
    """Round 4: place D, id 1."""
    shown = taken_apart(full_report(trace_of(SMALL).rounds[3], 0))
    assert shown.head == ["✗ ␣a rejected", "id 1 · 2 bytes 20 61"]
    assert shown.sentences == [
        "␣a rejected: u .50 ≥ min(1, .100/.800) = .12",
        "↳ ␣sat drawn from max(0, p − q) with probability .25",
    ]
    assert shown.facts == {
        "p": [".100"],
        "rank p": ["3"],
        "entropy p": ["1.089"],  # .6 ln 1/.6 + 2 · .1 ln 10 + .2 ln 5
        "q": [".800"],
        "rank q": ["1"],
        "entropy q": ["0.500"],  # .8 ln 1/.8 + .2 ln 5
        "overlap": [".200"],
        "TV": [".800"],
        "match": [".100"],
        "p/q": [".125"],
        "accept prob": [".125"],
        "u − accept": ["+.375"],
        "u": [".500"],
        "draft u": [".400"],
    }
    assert shown.lists == {
        "p target": [(" ", "<|end|>", ".600"), ("↳", "␣sat", ".200"), ("✗", "␣a", ".100"), (" ", "␣cat", ".100")],
        "q draft": [("✗", "␣a", ".800"), (" ", "␣cat", ".200")],
        "residual": [(" ", "<|end|>", ".750"), ("↳", "␣sat", ".250"), ("✗", "not listed", ".000")],
    }


ENGINES = [".533", "1.97", "2.50"], ["2.60", "2.60", "2.50"]
BY_HAND: dict[Callable[[Scope], PageBody], list[Expected]] = {
    acceptance: [
        ("α tested", [".727", ".434", ".903", "8", "11"]),
        ("α overlap", [".709"]),
        ("accepted/drafted", [".533", "8", "15"]),
        ("z", ["+0.15"]),
        ("mean match", [".295"]),
        ("15 drafted", ["15", "8", "3", "3", "1"]),
        ("What other engines would print for rounds 2 to 6", ["2", "6"]),
        *(("vLLM", numbers_) for numbers_ in ENGINES),
        ("SGLang", ENGINES[0]),
        ("SGLang", ["2.40", "2.40", "2.50"]),
        *(("llama.cpp", numbers_) for numbers_ in ENGINES),
        ("LM Studio", [".667", "2.41", "2.50"]),
        ("EAGLE", ["2.40", "2.40", "2.50"]),
        ("1 ", ["1", ".80", "4", "5", ".80", "4", "5"]),
        ("2 ", ["2", ".75", "3", "4", ".60", "3", "5"]),
        ("3 ", ["3", ".50", "1", "2", ".25", "1", "4"]),
        ("Σ min(p, q) at 11", ["11"]),
        *((f".{b}", [f".{b}", "–", f".{b + 1}" if b < 9 else "1", n]) for b, n in enumerate("0010004042")),
    ],
    tokens_per_round: [
        ("tokens/round", ["2.50", "4"]),
        ("accepted/round", ["1.50"]),
        ("formula, tested", ["2.64", ".727"]),
        ("formula, overlap", ["2.57", ".709"]),
        ("gap", ["+0.14"]),
        ("1 ", ["1", "1"]),
        ("", ["1.1"]),
        ("2 ", ["2", "1"]),
        ("", ["0.8"]),
        ("3 ", ["3", "1"]),
        ("", ["0.6"]),
        ("4 ", ["4", "1"]),
        ("", ["1.5"]),
        ("position 1, after a rejection", ["1", "1.00", ".439", "1.00", "3", "3"]),
        ("position 1, after a full acceptance", ["1", ".000", ".000", ".793", "0", "1"]),
        ("position 2", ["2", ".750", ".301", ".954", "3", "4"]),
        ("position 3", ["3", ".500", ".095", ".905", "1", "2"]),
        ("1", ["1", "–", "0", "0", "–", "1.00"]),
        ("2 – 3", ["2", "–", "3", ".800", ".376", ".964", "4", "5", ".760", "3.00"]),
        ("4", ["4", ".000", ".000", ".793", "0", "1", ".200", "1.00"]),
        ("5 – 6", ["5", "–", "6", ".800", ".376", ".964", "4", "5", ".760", "3.00"]),
    ],
    speed: [
        ("draft", ["6.00", "2.00"]),
        ("verify", ["12.00", "1.20"]),
        ("decide", ["1.00"]),
        ("inspect", ["0.50"]),
        ("T_p", ["10.00", "3"]),
        ("T_q", ["2.00", "3"]),
        ("c ", ["5.00", "0.20"]),
        ("T_verify(4)", ["4", "12.00", "2", "4"]),
        ("measured cost", ["1.25x", "2"]),
        ("measured best K", ["3", "1", "6"]),  # 2.683 tokens * 10 / (3 * 2 + 12 + 1)
        ("speedup at measured best K", ["1.41x", "0.91", "1.85"]),
        ("measured break-even α", [".509"]),
        ("measured ceiling", ["3.43x"]),
        ("Verifying", ["4", "1.2", "1"]),
        ("model", ["1.65x", ".727", "3"]),
        ("best K", ["3", "1.65x"]),
        ("break-even α", [".389", "3"]),
        ("ceiling", ["3.67x"]),
        ("1.41x", ["1.41x"]),
        ("1.00x", ["1.00x"]),
        ("K 0", ["0", "4", "8", "12", "16", "20", "24", "28", "32"]),
        ("↑ K 3", ["3", "3"]),
        ("1.65x", ["1.65x"]),
        ("1.00x", ["1.00x"]),
        ("K 0", ["0", "4", "8", "12", "16", "20", "24", "28", "32"]),
        ("↑ K 3", ["3", "3"]),
    ],
}


@pytest.mark.parametrize("make", BY_HAND)
def test_the_pages_print_what_was_worked_out_by_hand(make: Callable[[Scope], PageBody]) -> None:
    lines = page(make, as_of(SMALL, 6), 95)
    assert mismatches(unwrapped(lines), BY_HAND[make]) == []


@pytest.mark.parametrize("shown", [2, 4, 5, 6])
def test_the_pages_of_the_small_trace_as_of_other_rounds(shown: int) -> None:
    """Behind round 3 the model is 1.845, halfway between two that can be printed."""
    for make, check in PAGES:
        assert check(page(make, as_of(SMALL, shown), CELLS), reference_stats.load(SMALL, shown)) == [], make.__name__


def test_the_table_prints_what_was_worked_out_by_hand() -> None:
    of = scope(as_of(SMALL, 6))

    def cells(order: Order) -> list[tuple[str, ...]]:
        return tokens_printed(texts(listing(of, order).lines), order)

    assert cells("lost") == [
        ("4", "1", "␣a", "✗ rejected", ".800", ".100", ".12", ".200", ".500", ".125", "1.75"),
        ("2", "2", "␣cat", "✗ rejected", ".200", ".100", ".50", ".600", ".700", ".500", "1.50"),
        ("5", "3", "␣a", "✗ rejected", ".600", ".300", ".50", ".600", ".500", ".500", "1.00"),
    ]
    assert cells("ids") == [("1", "␣a", "2", "4", "5", "2.75"), ("2", "␣cat", "1", "4", "7", "1.50")]
    lowest = [(row[0], row[6]) for row in cells("ratio")[:5]]
    assert lowest == [("4", ".12"), ("2", ".50"), ("5", ".50"), ("5", ".50"), ("3", "1.00")]
    assert [row[7] for row in cells("overlap")] == [".200", *[".600"] * 4, *[".800"] * 4, *["1.00"] * 2]
    for order in ORDERS:
        assert cells(order) == tokens_expected(reference_stats.load(SMALL), order)


# -- the screens


def test_the_screen_paints_these_pages(bundled_200: Path) -> None:
    timeline = as_of(bundled_200, 200)

    async def scenario(app: Host, pilot: Pilot[None]) -> None:
        for index, (make, _) in enumerate(PAGES):
            if index:
                await pilot.press("right")
            cells = app.page.scrollable_content_region.width
            painted = [line.strip() for line in app.said("#metrics-page")]
            assert [line for line in painted if line] == [line.strip() for line in page(make, timeline, cells) if line]
            since = "rounds 105 to 200, since K changed; α since round 21"
            title = since if index == 1 else "rounds 21 to 200, since the settings changed"
            assert title in app.said("#metrics-title")[0]
            assert "K 6  T 1.00" in app.said("#metrics-title")[0]
        await pilot.press("right")
        for order in ORDERS:
            if order != ORDERS[0]:
                await hit(pilot, "s")
            listed = listing(scope(timeline), order)
            first, *rows = [line for line in app.said("TokenTable") if line.strip()]
            assert first.split()[0] in ("round", "id")
            assert [row.split() for row in rows[:40]] == [line.split() for line in texts(listed.lines)[:40]]
            assert app.said(".note")[0].strip() == listed.words

    in_metrics(timeline, scenario, (160, 70))


async def test_the_app_prints_the_numbers_worked_out_by_hand() -> None:
    app = SpecvizApp(TraceSource(SMALL), options(trace=SMALL))
    lines = [by_hand(line) for line in reference_stats.load(SMALL).rounds]
    async with app.run_test(size=(230, 90)) as pilot:
        await ready(pilot, app)
        await sampled(pilot, app, len(lines))
        await hit(pilot, "g", "enter")
        seen = []
        for line in lines:
            for row in rows_of(line):
                assert app.timeline.shown == line["index"]
                while app.timeline.row != row:
                    await hit(pilot, "left" if app.timeline.row > row else "right")
                assert wrong(inside(app.main.inspector), line, row) == []
                seen.append((line["index"], row))
            await hit(pilot, "n")
    assert len(seen) == 1 + 4 + 4 + 4 + 4 + 3
