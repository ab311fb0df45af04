"""Sources that measure less: rounds with counts alone, and tokens without p, q and u, in every output.

Everything that counts give is shown; whatever needs a measurement is a dash, null or blank.
"""

import csv
import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import pytest
from textual.pilot import Pilot

from specviz.breakpoints.monitor import BreakpointMonitor, parse_breakpoint
from specviz.cli.main import EXPORTS, main
from specviz.core.events import Drafted, Emitted, End, Event, Round, Settings, Timing
from specviz.core.options import RunRequest
from specviz.core.rule import rule_of
from specviz.render.explanations import explain, timing, title
from specviz.render.glyphs import UNICODE
from specviz.render.phases import explain_phase, phases
from specviz.stats.run_stats import RunStats
from specviz.stats.speed import speed_view
from specviz.trace.codec import encode
from specviz.trace.jsonl import load_line
from specviz.trace.replay import TraceSource
from specviz.ui.app import SpecvizApp
from specviz.ui.metrics.acceptance import rate_facts
from specviz.ui.metrics.draft_list import drafted_listing
from specviz.ui.metrics.speed import unknown
from specviz.ui.run.jumps import hits, parse_query
from tests.builders import counted_round, make_drafted, make_round
from tests.rounds import fold
from tests.ui.conftest import Script, hit, make_app, options, ready, sampled, until

K = Settings(k=4)
SHAPES = ((4, 4), (4, 2), (4, 0), (4, 1), (0, 0), (3, 3))
"""(K_r, accepted) of the rounds, again and again: 19 drafted, 10 accepted, 13 tested, 16 tokens."""
Kind = Literal["counts", "tokens"]
KINDS: tuple[Kind, ...] = ("counts", "tokens")
INVENTED = re.compile(r"nan|inf\b|None|null|-1\b", re.IGNORECASE)


def counts(index: int, settings: Settings = K) -> Round:
    k, accepted = SHAPES[(index - 1) % len(SHAPES)]
    return counted_round(index, 24, k, accepted, settings=settings, plain_reason=None if k else "k_zero")


def tokens(index: int, settings: Settings = K) -> Round:
    """The same round with its tokens, as a serving engine may report them."""
    round = counts(index, settings)
    drafted = [Drafted(id=row, bytes=f" w{row}".encode(), verdict=d.verdict) for row, d in enumerate(round.drafted, 40)]
    last = Emitted(id=50, bytes=b" end", origin=round.emitted[-1].origin)
    accepted = [Emitted(id=d.id, bytes=d.bytes, origin="accepted") for d in drafted[: round.n_accepted]]
    return make_round(
        index, 24, drafted=drafted, emitted=[*accepted, last], settings=settings, timing=Timing(), last_u=0.5
    )


MAKE: dict[Kind, Callable[[int, Settings], Round]] = {"counts": counts, "tokens": tokens}


def script(kind: Kind) -> Script:
    return Script(12, make=MAKE[kind])


def events(kind: Kind) -> list[Event]:
    return list(script(kind).run(RunRequest("Once", 0, K), lambda: K, lambda: False))


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> Kind:
    chosen: Kind = request.param
    return chosen


@pytest.fixture
def trace(kind: Kind, tmp_path: Path) -> Path:
    path = tmp_path / f"{kind}.jsonl"
    stats = RunStats()
    lines = []
    for event in events(kind):
        stats.add(event)
        lines.append(encode(event, stats.summary()))
    path.write_text("".join(f"{line}\n" for line in lines if line))
    return path


def shown(app: SpecvizApp) -> str:
    return "\n".join(strip.text.rstrip() for strip in app.screen._compositor.render_strips())


# Rounds and numbers


@pytest.mark.parametrize(
    ("k", "accepted", "emitted", "verdicts", "last"),
    [
        (3, 3, None, "aaa", "bonus"),
        (3, 1, None, "aru", "resampled"),
        (3, 2, 2, "aai", None),
        (3, 3, 3, "aaa", None),
        (0, 0, None, "", "plain"),
    ],
)
def test_counts_determine_verdicts_and_origins(
    k: int, accepted: int, emitted: int | None, verdicts: str, last: str | None
) -> None:
    round = counted_round(1, 5, k, accepted, settings=K, emitted=emitted)
    assert "".join(d.verdict[0] for d in round.drafted) == verdicts
    assert (round.k, round.n_accepted) == (k, accepted)
    assert round.tested == accepted + verdicts.count("r")
    assert (round.correction and round.correction.origin) == last
    fold([round])


@pytest.mark.parametrize(("k", "accepted", "emitted"), [(2, 3, None), (2, 1, 3), (2, 1, 0), (2, 0, 0), (2, -1, None)])
def test_counts_that_no_round_has(k: int, accepted: int, emitted: int | None) -> None:
    with pytest.raises(ValueError, match=f"no round drafts {k} tokens"):
        counted_round(1, 0, k, accepted, settings=K, emitted=emitted)


def test_a_round_is_written_and_read_back(kind: Kind) -> None:
    for index in range(1, 7):
        round = MAKE[kind](index, K)
        line = encode(round)
        assert line is not None and load_line(line.encode()) == round


def test_counts_give_their_rates_and_nothing_else(kind: Kind) -> None:
    rates = fold([MAKE[kind](index, K) for index in range(1, 7)]).whole()
    assert (rates.drafted, rates.accepted, rates.tested, rates.tokens) == (19, 10, 13, 16)
    assert rates.alpha_tested == 10 / 13 and rates.accepted_over_drafted == 10 / 19
    assert rates.tokens_per_round == 16 / 6
    assert rates.formula_at_tested is not None
    first = rates.per_position[0]
    assert (first.accepted, first.tested) == (4, 5)
    for name in ("alpha_overlap", "alpha_overlap_ci", "agreement_z", "mean_match", "formula_at_overlap"):
        assert getattr(rates, name) is None, name
    for name in ("tokens_per_s", "draft_ms", "verify_ms", "decide_ms", "inspect_ms", "speedup_measured_cost"):
        assert getattr(rates, name) is None, name


def test_a_mean_over_some_of_the_rounds_is_not_given() -> None:
    whole = make_round(1, verdicts="✓✗··", settings=K)
    measured, partly = fold([whole, whole]), fold([whole, counts(2), whole])
    assert measured.whole().alpha_overlap == pytest.approx((0.82 + 0.38) / 2)
    rates, series = partly.whole(), partly.series()
    assert (rates.alpha_overlap, rates.agreement_z, rates.mean_match, rates.tokens_per_s) == (None,) * 4
    assert rates.alpha_tested == 4 / 7
    assert rates.verify_ms == measured.whole().verify_ms, "the median of the rounds that were timed"
    assert list(series.alpha_overlap) == [pytest.approx(0.6), None, None]


# Command line


def test_stats(kind: Kind, trace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["stats", str(trace)]) == 0
    table = dict(re.split(r"\s{2,}", line.strip(), maxsplit=1) for line in capsys.readouterr().out.splitlines()[2:])
    expected = {"accepted": "20", "drafted": "38", "α tested": "0.769", "tokens/round": "2.667"}
    dashes = dict.fromkeys(("α overlap", "z (agreement)", "mean match", "formula at α overlap", "verify ms"), "–")
    for name, value in (expected | dashes).items():
        assert table[name].split()[-1] == value, name
    assert not any(INVENTED.search(value) for name, value in table.items() if name not in ("draft", "target"))


def test_stats_as_json(kind: Kind, trace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["stats", "--json", str(trace)]) == 0
    data: dict[str, Any] = json.loads(capsys.readouterr().out)
    assert (data["drafted"], data["accepted"], data["tested"], data["tokens"]) == (38, 20, 26, 32)
    assert data["alpha"]["accepted_over_tested"] == 20 / 26
    for name in ("mean_overlap", "mean_overlap_ci95", "mean_match", "agreement_z"):
        assert data["alpha"][name] is None
    assert data["timing"]["tokens_per_s"] is data["timing"]["verify_ms"] is None
    assert data["speedup"]["measured_cost"] is data["formula"]["at_mean_overlap"] is None
    if kind == "counts":
        assert data["text"] is None and data["ids"] == [None] * 32
    else:
        assert data["text"].startswith(" w40 w41 w42 w43 end") and data["ids"][4] == 50


@pytest.mark.parametrize("form", [form for form in EXPORTS if form != "gif"])
def test_every_export(form: str, kind: Kind, trace: Path, tmp_path: Path) -> None:
    """A GIF has the frames of a cast, drawn by another program."""
    file = tmp_path / f"out.{form}"
    assert main(["export", str(trace), "-o", str(file)]) == 0
    data = file.read_bytes()
    assert data
    if form == "csv":
        rows = list(csv.DictReader(data.decode().splitlines()))
        assert len(rows) == 38
        assert [row["verdict"] for row in rows[4:8]] == ["accepted", "accepted", "rejected", "untested"]
        for row in rows:
            assert not any(row[name] for name in ("p", "q", "ratio", "u", "overlap", "tv", "match", "accept_prob"))
            assert bool(row["id"]) == (kind == "tokens")
    elif form == "md":
        assert "| α tested | 0.769 |" in data.decode() and "| α overlap | – |" in data.decode()
    elif form in ("html", "svg", "cast"):
        assert not re.search(r"\bnan\b|\bNaN\b", data.decode())
    if form in ("md", "csv", "svg"):
        assert not re.search(r"\bNone\b", data.decode())


# Text of a round


def test_sentences(kind: Kind) -> None:
    name = "–" if kind == "counts" else "␣w42"
    round = MAKE[kind](2, K)
    assert explain(round, 2).split("\n")[0] == f"{name} rejected by the rule exact"
    assert title(round) == "Round 2 · K 4 · 2 of 3 tested accepted · 3 tokens"
    assert timing(round, UNICODE) == "draft 4 × – ms · verify – ms · decide – ms"
    for index in range(1, 7):
        round = MAKE[kind](index, K)
        for reveal in phases(round):
            for row in range(round.n_rows):
                said = explain_phase(round, reveal, row=row) + explain(round, row)
                assert not INVENTED.search(said), said


def test_find_jumps_and_breakpoints(kind: Kind) -> None:
    run = [MAKE[kind](index, K) for index in range(1, 13)]
    assert [(found.round, found.row) for found in hits(run, parse_query(""))] == [
        (2, 2),
        (3, 0),
        (4, 1),
        (8, 2),
        (9, 0),
        (10, 1),
    ]
    for text in ("overlap<0.9", "p/q<0.9", "|z|>0.1"):
        assert hits(run, parse_query(text)) == []
    assert [found.round for found in hits(run, parse_query("N<=1"))] == [3, 5, 9, 11]
    words = hits(run, parse_query("w42"))
    assert len(words) == (0 if kind == "counts" else 10)
    conditions = [parse_breakpoint(text) for text in ("N<=1", "overlap<0.5", "p/q<0.5", "text~w4", "end")]
    monitor = BreakpointMonitor(conditions)
    for event in events(kind):
        monitor.add(event)
    assert list(monitor.hits) == ([3, 5, 9, 11] if kind == "counts" else list(range(1, 13)))


# Screens

VISITS = ("enter", "left", "left", "right", "v", "v", "v", "f", "F", "w", "full_stop", "comma", "comma", "g", "G")


async def walk(app: SpecvizApp, pilot: Pilot[None], kind: Kind) -> None:
    """Every screen that shows a run, each looked at for something that was not measured."""
    for key in VISITS:
        await hit(pilot, key)
        assert not re.search(r"\bnan\b", shown(app)), key
    await hit(pilot, "colon", "2", "enter")
    await until(pilot, lambda: app.timeline.shown == 2)
    assert app.timeline.row == 2
    await hit(pilot, "m")
    for tab in range(4):
        text = shown(app)
        assert not re.search(r"\bnan\b|\bNone\b", text), tab
        if tab == 0:
            assert re.search(r"α overlap\s+–", text), text
        await hit(pilot, "right")
    await hit(pilot, "q", "z")
    for key in ("right", "right", "full_stop", "full_stop", "n", "p"):
        await hit(pilot, key)
        assert not re.search(r"\bnan\b|\bNone\b", shown(app)), key
    await hit(pilot, "q", "l")
    assert not re.search(r"\bnan\b", shown(app))
    await hit(pilot, "q", "slash", "enter")
    assert app.timeline.failed is None


@pytest.mark.parametrize("size", [(80, 24), (140, 44)])
async def test_the_app_shows_a_live_run(kind: Kind, size: tuple[int, int]) -> None:
    app = make_app(script(kind))
    async with app.run_test(size=size) as pilot:
        await ready(pilot, app)
        await sampled(pilot, app, 1)
        await hit(pilot, "space")
        await until(pilot, lambda: app.timeline.end is not None)
        await walk(app, pilot, kind)


async def test_the_app_replays_a_trace(kind: Kind, trace: Path) -> None:
    app = SpecvizApp(TraceSource(trace), options(trace=trace, prompts=(), paused=False))
    async with app.run_test(size=(120, 40)) as pilot:
        await until(pilot, lambda: isinstance(app.timeline.end, End))
        await walk(app, pilot, kind)


def test_a_measured_token_beside_unmeasured_ones() -> None:
    """One drafted token with numbers among others without: neither lends its numbers to the other."""
    round = tokens(2)
    mixed = replace(round, drafted=(make_drafted(" a"), *round.drafted[1:]))
    rates = fold([mixed]).whole()
    assert rates.alpha_overlap is None and rates.alpha_tested == 2 / 3


def test_metrics_say_that_a_number_was_not_recorded(kind: Kind) -> None:
    stats = fold([MAKE[kind](index, K) for index in range(1, 7)])
    facts = {fact.label: fact for fact in rate_facts(stats.whole(), rule_of("exact"))}
    assert "the accept probability of some tests was not recorded" in str(facts["z"])
    listing = drafted_listing([MAKE[kind](index, K) for index in range(1, 7)], "ratio", 100, UNICODE)
    assert len(listing) == 0
    assert "no tested tokens without 6 that had no test and 13 that were not measured" in listing.words


def test_speed_names_no_reason_that_was_not_recorded() -> None:
    view = speed_view(fold([counts(1)]), 1)
    assert unknown(view, "model", "", None).startswith("The models have no recorded step times: T_p, T_q and c")
    assert unknown(view, "model", "", 0).startswith("The models were not timed in this run (--calibrate 0)")


async def test_a_recording_without_a_seed_shows_none_and_unmeasured_tests_have_no_worst(
    kind: Kind, trace: Path
) -> None:
    first, *rest = trace.read_text().splitlines()
    trace.write_text("\n".join([json.dumps({**json.loads(first), "config": {}}), *rest, ""]))
    app = SpecvizApp(TraceSource(trace), options(trace=trace, prompts=(), paused=False))
    async with app.run_test(size=(160, 40)) as pilot:
        await until(pilot, lambda: isinstance(app.timeline.end, End))
        await hit(pilot, "w")
        assert [note.message for note in app._notifications] == ["No tested token has a recorded overlap."]
        assert "seed" not in shown(app).splitlines()[0]
