"""The object of ``run --json``."""

import json
from dataclasses import replace

import pytest

from specviz.core.events import End
from specviz.maths import formulas
from specviz.stats.run_stats import RunStats
from tests.builders import make_emitted
from tests.rounds import header, round_of, segmented

KEYS = {
    "": "text ids reason tokens rounds plain_rounds drafted accepted rejected untested ignored tested alpha "
    "per_position tokens_per_round histogram_n formula timing speedup segments config",
    "alpha": "accepted_over_tested ci95 mean_overlap mean_overlap_ci95 mean_match accepted_over_drafted agreement_z",
    "tokens_per_round": "mean half_width95 se",
    "formula": "at_accepted_over_tested at_mean_overlap",
    "timing": "draft_ms verify_ms decide_ms inspect_ms target_step_ms draft_step_ms at_length c tokens_per_s",
    "speedup": "measured_cost at_measured_cost model best_k break_even_alpha ceiling",
}


def test_summary_has_exactly_the_public_keys() -> None:
    for stats in (RunStats(), segmented()):
        summary = stats.summary()
        for part, names in KEYS.items():
            assert list(summary[part] if part else summary) == names.split()
        names = "best_k best best_ci95 break_even_alpha ceiling curve"
        assert list(summary["speedup"]["at_measured_cost"]) == names.split()
        assert json.loads(json.dumps(summary, allow_nan=False)) == summary


def test_summary_of_nothing_is_null_and_zero() -> None:
    summary = RunStats().summary()
    assert (summary["text"], summary["ids"], summary["reason"], summary["tokens"]) == ("", [], None, 0)
    assert set(summary["alpha"].values()) == set(summary["timing"].values()) == {None}
    assert set(summary["speedup"].pop("at_measured_cost").values()) == set(summary["speedup"].values()) == {None}
    assert summary["segments"] == summary["per_position"] == []
    assert summary["config"] == summary["histogram_n"] == {}


def test_summary_carries_the_numbers_of_the_whole_run() -> None:
    stats = segmented()
    stats.add(header())
    stats.add(End("max_new_tokens"))
    summary, whole = stats.summary(), stats.whole()
    assert (summary["reason"], summary["tokens"], summary["rounds"]) == ("max_new_tokens", 16, 6)
    assert summary["drafted"] == sum(summary[name] for name in ("accepted", "rejected", "untested", "ignored"))
    assert summary["alpha"]["accepted_over_tested"] == 10 / 13
    assert summary["alpha"]["ci95"] == list(whole.alpha_tested_ci or ())
    assert summary["alpha"]["accepted_over_drafted"] == 10 / 17
    assert summary["histogram_n"] == {"1": 2, "2": 1, "3": 1, "4": 1, "5": 1}
    assert summary["per_position"][1] == {
        "position": 2,
        "conditional": 3 / 4,
        "unconditional": 3 / 6,
        "tested": 4,
        "drafted": 6,
    }
    assert summary["timing"]["c"] == 5.0
    assert summary["speedup"]["best_k"] == formulas.best_k(10 / 13, 5.0)[0]
    assert summary["config"] == {"stop": [], "k": 4}


def test_summary_tells_the_segments_apart() -> None:
    cold, hot = segmented().summary()["segments"]
    assert (cold["first"], cold["last"], cold["settings"]["temperature"], cold["settings"]["k"]) == (1, 3, 1.0, 4)
    assert (hot["first"], hot["last"], hot["settings"]["temperature"], hot["settings"]["k"]) == (4, 6, 1.5, 2)
    assert cold["alpha"]["accepted_over_tested"] == 6 / 7
    assert hot["alpha"]["accepted_over_tested"] == 4 / 6
    assert set(hot["alpha"]) == set(KEYS["alpha"].split())
    assert cold["tokens_per_round"] == {"mean": 3.0, "half_width95": None, "se": None}
    assert [(part["k"], part["first"], part["last"]) for part in hot["by_k"]] == [(2, 4, 5), (3, 6, 6)]
    assert [part["tokens_per_round"]["mean"] for part in hot["by_k"]] == [1.5, 4.0]
    assert cold["rounds"] + hot["rounds"] == 6


@pytest.mark.parametrize(
    ("pieces", "end", "text"),
    [
        ([b"caf", b"\xc3", b"\xa9"], End("max_new_tokens"), "café"),
        ([b"ab", b"\xf0\x9f"], End("user"), "ab\ufffd"),
        ([b"a\xffb"], None, "a\ufffdb"),
        ([b"ab", b" ST", b"OPx"], End("stop_string", " STOP"), "ab"),
        ([b"ab", b" STOP"], End("max_new_tokens"), "ab STOP"),
        ([b"ab", b"<end>"], End("end_of_text"), "ab"),
    ],
)
def test_summary_text_and_ids(pieces: list[bytes], end: End | None, text: str) -> None:
    stats = RunStats()
    stats.add(header(stop=[" STOP"]))
    for i, piece in enumerate(pieces):
        plain = replace(round_of("", i + 1), emitted=(make_emitted(piece, "plain", token_id=i),))
        stats.add(plain)
    if end:
        stats.add(end)
    assert stats.summary()["text"] == text
    assert stats.summary()["ids"] == list(range(len(pieces)))
