"""The status lines: exact words and digits, and what goes first when room is short."""

from dataclasses import replace
from pathlib import Path

import pytest

from specviz.core.events import Calibration, End, Event, Progress, Ready, Settings
from specviz.core.options import RunRequest
from specviz.core.safe_text import width
from specviz.stats.run_stats import Rates, RunStats
from specviz.ui.app import farewell
from specviz.ui.main.keys import BY_ACTION, hints
from specviz.ui.run.playback import Playback
from specviz.ui.run.status_line import (
    RunStatus,
    StatusField,
    interval,
    number,
    pair_names,
    rate,
    rate_fields,
    run_fields,
    run_status,
    short_error,
    signed,
    spaced,
    spread,
)
from specviz.ui.run.timeline import Timeline
from specviz.ui.shared.app_options import AppOptions
from tests.builders import make_calibration, make_header, make_round, make_run
from tests.ui.test_timeline import Recorded, feed


def line(fields: list[StatusField], cells: int) -> str:
    return "".join(text for text, _ in spaced(fields, cells))


def rates_of(rounds: int = 37, calibration: Calibration | None = None) -> Rates:
    stats = RunStats()
    if calibration:
        stats.add(calibration)
    for made in make_run(rounds):
        stats.add(made)
    return stats.segment_rates()


NUMBERS = replace(
    rates_of(),
    alpha_tested=0.7284,
    alpha_tested_ci=(0.6349, 0.8051),
    alpha_overlap=0.7351,
    alpha_overlap_ci=(0.6831, 0.7871),
    tokens_per_round=3.0270,
    tokens_per_round_half_width=0.2513,
    formula_at_tested=2.9301,
    formula_at_overlap=2.9644,
    c=5.37,
    speedup_model=1.684,
    speedup_measured_cost=1.2,
    agreement_z=0.08,
)
UNDEFINED = RunStats().segment_rates()


def test_the_rates_line_as_designed() -> None:
    assert line(rate_fields(NUMBERS), 118) == (
        "α tested .728 [.635 .805]  overlap .735 ±.052  tokens/round 3.03 ±.25"
        "  c 5.4  measured 1.20x  model 1.68x  z +0.1"
    )
    assert "formula 2.93 | 2.96" in line(rate_fields(NUMBERS), 140)


def test_undefined_numbers_take_the_same_cells() -> None:
    empty, full = line(rate_fields(UNDEFINED), 118), line(rate_fields(NUMBERS), 118)
    assert empty == (
        "α tested –    [–    –   ]  overlap –    ±–     tokens/round    – ±–  "
        "  c   –  measuring 0/16  model –      z    –"
    )
    assert width(empty) == width(full)


@pytest.mark.parametrize(
    ("value", "shown"),
    [(None, "–   "), (0.0, ".000"), (0.0004, "4e-4"), (0.7284, ".728"), (0.9996, ">.99"), (1.0, "1.00")],
)
def test_rate(value: float | None, shown: str) -> None:
    assert rate(value) == shown


def test_numbers() -> None:
    assert interval((0.0, 1.0)) == "[.000 1.00]"
    assert spread(0.9, (0.8, 1.0)) == "±.100"
    assert spread(0.99, (0.89, 1.0)) == "±.100"
    assert spread(None, None) == "±–   "
    assert number(33.0) == "33.00"
    assert number(3.0, 1, 3) == "3.0"
    assert signed(-12.34) == "−12.3"
    assert signed(0.04) == "+0.0"
    assert short_error(1.26) == "±1.26"
    assert short_error(0.996) == "±1.00"


def test_slower_than_the_target_is_said_whatever_the_room() -> None:
    slow = replace(NUMBERS, speedup_model=0.83, speedup_measured_cost=0.702)
    wide = line(rate_fields(slow), 180)
    assert "measured 0.70x: slower than the target alone  model 0.83x" in wide
    assert "z +0.1" in line(rate_fields(slow), 118)
    for cells in (58, 78, 118):
        shown = line(rate_fields(slow), cells)
        assert "slower than the target alone" in shown
        assert width(shown) <= cells
    only_measured = replace(NUMBERS, speedup_measured_cost=0.9)
    assert "measured 0.90x: slower than the target alone" in line(rate_fields(only_measured), 160)
    assert "slower" not in line(rate_fields(NUMBERS), 160)


def test_no_verdict_before_there_is_evidence() -> None:
    """Under 16 rounds nothing is slower or faster, whatever the numbers, and no alarm colour is used."""
    for rounds in range(1, 17):
        early = replace(rates_of(rounds), speedup_model=0.4, speedup_measured_cost=0.5)
        fields = rate_fields(early)
        assert any(field.tone == "warning" for field in fields) == (rounds >= 16) == early.slower
        assert ("slower" in line(fields, 200)) == (rounds >= 16)
        assert (f"measuring {rounds}/16" in line(fields, 200)) == (rounds < 16)


def test_times_that_contradict_are_said_instead_of_a_speedup() -> None:
    shown = line(rate_fields(replace(NUMBERS, speedup_measured_cost=None, times_contradict=True)), 160)
    assert "step times changed" in shown
    assert "measured" not in shown


def test_a_z_above_four_is_a_bug() -> None:
    assert "BUG: |z| 4.7 > 4" in line(rate_fields(replace(NUMBERS, agreement_z=-4.71, contradicts=True)), 78)
    assert "BUG" not in line(rate_fields(replace(NUMBERS, agreement_z=3.99)), 200)
    greedy = replace(NUMBERS, agreement_z=None, contradicts=True)
    assert "BUG: acceptance contradicts its probability" in line(rate_fields(greedy), 200)


def test_a_segment_says_since_when() -> None:
    assert line(rate_fields(replace(NUMBERS, first=12)), 140).startswith("since round 12  α tested .728")
    assert line(rate_fields(replace(NUMBERS, first=12)), 70).startswith("since round 12  α tested .728")


VIEW = RunStatus(
    draft="bundled:draft",
    target="bundled:target",
    device="cpu",
    dtype="float32",
    rule="exact",
    seed=0,
    shown=Settings(),
    next=Settings(),
    pace=0.25,
    mode="paused",
    is_live=True,
    index=37,
    total=61,
    progress=None,
    ready=True,
    end=None,
    failed=False,
)


def test_the_run_line_as_designed() -> None:
    assert line(run_fields(VIEW), 130) == (
        "specviz  bundled:draft > bundled:target  cpu fp32  rule exact  K 4  T 1.00  seed 0  pace 0.25 s"
        "     PAUSED  round 37 of 61  G: end"
    )


def test_the_models_may_be_timed_while_rounds_are_there() -> None:
    view = replace(VIEW, timing=True, mode="running", index=1, total=1)
    assert line(run_fields(view), 130).endswith("  timing steps  running  round 1")
    assert line(run_fields(replace(view, mode="paused")), 130).endswith("  timing steps  PAUSED  round 1")
    assert line(run_fields(replace(view, timing=False)), 130).endswith("  running  round 1")


def test_the_run_line_at_78_cells() -> None:
    shown = line(run_fields(VIEW), 78)
    assert shown == "bundled pair  K 4  T 1.00  seed 0  pace 0.25 s  PAUSED  round 37 of 61  G: end"


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"mode": "running", "index": 61}, "running  round 61"),
        ({"mode": "playing"}, "playing  round 37 of 61"),
        ({"index": 61}, "PAUSED  round 61"),
        ({"index": 61, "end": End("end_of_text")}, "ended: end of text  round 61 of 61"),
        ({"end": End("end_of_text")}, "PAUSED  round 37 of 61  G: end"),
        ({"index": 61, "failed": True}, "FAILED  round 61"),
        ({"failed": True}, "PAUSED  round 37 of 61  G: end"),
        ({"index": 0, "total": 0, "ready": False, "progress": None}, "starting"),
        ({"index": 0, "total": 0, "ready": False, "progress": Progress("draft", 1, 4)}, "loading draft model"),
        ({"index": 0, "total": 0, "failed": True, "ready": False}, "FAILED  round 0"),
    ],
)
def test_states(changes: dict[str, object], words: str) -> None:
    assert line(run_fields(replace(VIEW, **changes)), 130).endswith("  " + words)  # type: ignore[arg-type]


def test_a_pending_setting_is_shown_beside_the_one_in_force() -> None:
    pending = replace(VIEW, index=61, next=Settings(k=6, temperature=0.9, draft_temperature=0.9))
    assert "K 4→6 next  T 1.00→0.90 next" in line(run_fields(pending), 140)
    assert "T 1.00/0.70" in line(run_fields(replace(VIEW, shown=Settings(draft_temperature=0.7))), 140)


def test_names_are_shortened_and_harmless() -> None:
    assert pair_names("org/small", "/models/big [b]") == ("org/small > /models/big [b]", "small > big [b]")
    assert "\x1b" not in "".join(pair_names("a\x1b[2Jb", "c\x07"))
    assert pair_names("", "target") == ("target",)
    assert all(width(name) <= 40 for name in pair_names("x" * 90, "y" * 90)[1:])


@pytest.mark.parametrize("cells", [1, 5, 20, 40, 58, 78, 100, 118, 200])
def test_no_line_is_wider_than_its_room_where_the_needed_fits(cells: int) -> None:
    for fields in (run_fields(VIEW), rate_fields(NUMBERS)):
        shown = spaced(fields, cells)
        assert shown
        if cells >= 58:
            assert width("".join(text for text, _ in shown)) <= cells


def test_the_view_of_a_run() -> None:
    playback = Playback(Recorded(), Timeline(), RunRequest("a", 3, Settings()))
    playback.begin(playback.request, paused=True)
    feed(playback, make_header(), *make_run(3))
    playback.change_k(2)
    view = run_status(playback, AppOptions(playback.request))
    assert (view.device, view.dtype, view.seed, view.index, view.total) == ("cpu", "float32", 3, 3, 3)
    assert (view.shown.k, view.next.k) == (4, 6)
    playback.seek(1)
    assert run_status(playback, AppOptions(playback.request)).next.k == 4, "what comes next is said at the end only"


def test_the_footer_holds_six_to_eight_hints_that_fit_into_78_cells() -> None:
    playback = Playback(Recorded(), Timeline(), RunRequest("a", 3, Settings()))
    playback.begin(playback.request)
    states = [hints(playback)]
    events: tuple[Event, ...] = (make_header(), Ready(), make_round(1), End("end_of_text"))
    for event in events:
        feed(playback, event)
        states.append(hints(playback))
    for shown in states:
        assert 5 <= len(shown) <= 8
        text = "  ".join("/".join(hint.shown) + " " + hint.label for hint in shown)
        assert width(text) <= 78, text
        assert all(action in BY_ACTION for hint in shown for action in hint.actions)


def test_farewell_names_the_numbers_and_the_way_back() -> None:
    stats = RunStats()
    assert farewell(stats, None) == ""
    stats.add(make_calibration())
    for made in (make_round(1, verdicts="✓✓✗·"), make_round(2, verdicts="✓✓✓✓")):
        stats.add(made)
    assert farewell(stats, Path("/a b/run.jsonl")) == (
        "α tested .857 · tokens/round 4.00 · 2 rounds, 8 tokens\nspecviz replay '/a b/run.jsonl'"
    )
    assert "\x1b" not in farewell(stats, Path("/a\x1b[2J"))


@pytest.mark.parametrize(
    ("draft_device", "draft_dtype", "words"),
    [
        ("", "", "  cuda:0 bf16  "),
        ("cuda:0", "bfloat16", "  cuda:0 bf16  "),
        ("cpu", "float32", "  cpu fp32 > cuda:0 bf16  "),
        ("cuda:0", "float32", "  cuda:0 fp32 > cuda:0 bf16  "),
        ("cuda:1", "bfloat16", "  cuda:1 bf16 > cuda:0 bf16  "),
    ],
)
def test_device_and_dtype_of_both_models_where_they_differ(draft_device: str, draft_dtype: str, words: str) -> None:
    view = replace(VIEW, device="cuda:0", dtype="bfloat16", draft_device=draft_device, draft_dtype=draft_dtype)
    assert words in line(run_fields(view), 160)
