"""What the pages of the metrics screen have to print: line by line, from the second computation of a trace alone."""

import re
from collections.abc import Callable, Sequence
from typing import Any

from specviz.core.safe_text import visible
from tests import reference_stats
from tests.reference_stats import Line, Recorded
from tests.ui.screen_parser import (
    Expected,
    blocks,
    chance,
    eighths,
    interval,
    milliseconds,
    mismatches,
    numbers,
    plain,
    quotient,
    signed,
    times,
    unwrapped,
)

MARKS = {"accepted": "✓", "rejected": "✗", "untested": "·", "ignored": "–"}


def segment(run: Recorded) -> Recorded:
    """The rounds the screen counts: from the last change of anything but K on."""
    return Recorded(run.rounds[reference_stats.segment_rates(run)["first"] - 1 :], run.calibration)


# -- acceptance


def acceptance_mismatches(lines: Sequence[str], run: Recorded) -> list[str]:
    rates = reference_stats.segment_rates(run)
    bins = reference_stats.overlap_histogram(segment(run))
    counts = [str(rates[name]) for name in ("drafted", "accepted", "rejected", "untested", "ignored")]
    since = sorted({rates["tokens_per_round_first"], rates["last"]})
    rounds = f"round{'s' * (len(since) - 1)} {' to '.join(map(str, since))}"
    top: list[Expected] = [
        (
            "α tested",
            [chance(rates["alpha_tested"]), *interval(rates["alpha_tested_ci"]), counts[1], str(rates["tested"])],
        ),
        ("α overlap", [chance(rates["alpha_overlap"]), *interval(rates["alpha_overlap_ci"])]),
        ("accepted/drafted", [chance(rates["accepted_over_drafted"]), counts[1], counts[0]]),
        ("z", ["–" if rates["agreement_z"] is None else signed(rates["agreement_z"])]),
        ("mean match", [chance(rates["mean_match"])]),
        (f"{counts[0]} drafted", counts),
        (f"What other engines would print for {rounds}", [*map(str, since)]),
        *(
            (engine, _peer(value, predicted, name, rates["tokens_per_round"]))
            for (engine, name), (value, predicted) in reference_stats.peer_values(run).items()
        ),
    ]
    positions = [
        (
            f"{at['position']} ",
            [
                str(at["position"]),
                chance(at["conditional"], 2),
                str(at["accepted"]),
                str(at["tested"]),
                chance(at["unconditional"], 2),
                str(at["reached"]),
                str(at["drafted"]),
            ],
        )
        for at in rates["per_position"]
    ]
    edges = [(f".{b}", f".{b + 1}" if b < 9 else "1") for b in range(10)]
    overlaps = [
        ("Σ min(p, q) at", [str(sum(bins))]),
        *((low, [low, "–", high, str(count)]) for (low, high), count in zip(edges, bins, strict=True)),
    ]
    at = next(i for i, line in enumerate(lines) if line.startswith("By draft position"))
    left, right = blocks(lines[at:], "Overlap of p and q")
    return [
        *mismatches(unwrapped(lines[:at]), top),
        *mismatches(left, positions),
        *mismatches(right, overlaps),
        *_bars([line.split()[3] if count else "" for line, count in zip(right[2:], bins, strict=True)], bins),
    ]


def _peer(value: float | None, predicted: float | None, name: str, measured: float | None) -> list[str]:
    length = "length" in name or name == "τ"
    return [plain(value) if length else chance(value), plain(value if length else predicted), plain(measured)]


def _bars(bars: Sequence[str], values: Sequence[float]) -> list[str]:
    """Bars whose lengths are not those of the values, on a scale where the largest fills its cells."""
    lengths = [eighths(bar) for bar in bars]
    return [
        f"bar {bars[i]!r} for {value} of {max(values)}"
        for i, value in enumerate(values)
        if abs(lengths[i] - max(lengths) * value / max(values)) > 0.5
    ]


# -- tokens/round


def lengths_mismatches(lines: Sequence[str], run: Recorded) -> list[str]:
    rates, why = reference_stats.segment_rates(run), reference_stats.formula_gap(run)
    mean, error, gap = rates["tokens_per_round"], rates["tokens_per_round_se"], why["gap"]
    top: list[Expected] = [
        (
            "tokens/round",
            [plain(mean), *([] if error is None else [plain(error)]), str(sum(rates["histogram"].values()))],
        ),
        ("accepted/round", [plain(mean - 1)]),
        ("formula, tested", [plain(rates["formula_at_tested"]), chance(rates["alpha_tested"])]),
        ("formula, overlap", [plain(rates["formula_at_overlap"]), chance(rates["alpha_overlap"])]),
        ("gap", ["–" if gap is None else signed(gap)]),
        *_reading(gap, error, why),
    ]
    histogram: list[Expected] = []
    for n, count in rates["histogram"].items():
        histogram += [(f"{n} ", [str(n), str(count)]), ("", [_expected(rates["expected_histogram"].get(n))])]
    causes = [
        ("position 1, after a rejection", ["1", *_share(why["first_after_rejection"])]),
        ("position 1, after a full acceptance", ["1", *_share(why["first_after_full"])]),
        *((f"position {i}", [str(i), *_share(share)]) for i, share in enumerate(why["later_positions"], start=2)),
    ]
    drift = [
        (
            str(part["first"]),
            [
                *_span(part["first"], part["last"]),
                chance(part["share"]["rate"]),
                chance(part["overlap"]),
                plain(part["tokens_per_round"]),
            ],
        )
        for part in why["by_quarter"]
    ]
    at = next(i for i, line in enumerate(lines) if line.startswith("Rounds by N"))
    left, right = blocks(lines[at:], "Does acceptance depend")
    return [
        *mismatches(unwrapped(lines[:at]), top),
        *mismatches(left, histogram),
        *mismatches(right, [*causes, *drift]),
    ]


def _reading(gap: float | None, error: float | None, why: Line) -> list[Expected]:
    if gap is None or error is None:
        return []
    if abs(gap) <= 2 * error:
        return [("The formula and the measurement agree", [plain(abs(gap)), plain(2 * error)])]
    rates = [why[name]["rate"] for name in ("first_after_rejection", "first_after_full")]
    causes = [] if None in rates else [chance(rate, 2) for rate in rates]
    return [("Acceptance varies", [plain(abs(gap)), *causes])]


def _expected(value: float | None) -> str:
    return "<0.1" if value is not None and 0 < value < 0.05 else plain(value, 1)


def _share(share: Line) -> list[str]:
    return [chance(share["rate"]), *interval(share["ci"]), str(share["accepted"]), str(share["tested"])]


def _span(first: int, last: int) -> list[str]:
    return [str(first)] if first == last else [str(first), "–", str(last)]


# -- speed


def speed_mismatches(lines: Sequence[str], run: Recorded) -> list[str]:
    rates, view = reference_stats.segment_rates(run), reference_stats.speed(run)
    cost = view["measured_cost"] if view["measured_cost"] is not None else view["model"]
    pays = view["break_even_alpha"]
    slower: list[Expected] = [("Slower than the target alone", [times(cost)])] if view["slower"] else []
    step = [] if view["draft_step_ms"] is None else [milliseconds(view["draft_step_ms"])]
    round_ = [
        ("draft", [milliseconds(rates["draft_ms"]), *step]),
        ("verify", [milliseconds(view["verify_ms"]), plain(view["verify_ms"] / view["target_step_ms"])]),
        ("decide", [milliseconds(view["decide_ms"])]),
        ("inspect", [milliseconds(view["inspect_ms"])]),
    ]
    steps = [
        ("T_p", [milliseconds(view["target_step_ms"]), str(rates["at_length"])]),
        ("T_q", [milliseconds(view["draft_step_calibrated_ms"]), str(rates["at_length"])]),
        ("c ", [plain(view["c"]), plain(1 / view["c"])]),
        *(
            (f"T_verify({m})", [str(m), milliseconds(time), "2", *([str(m)] if m > 1 else [])])
            for m, time in view["verify_times"]
        ),
    ]
    k, best, since = str(view["k"]), view["best_k"], rates["tokens_per_round_first"]
    said_best = ["–" if best is None else f"≥ {best}" if best == 32 else str(best)]
    speedups: list[Expected] = [
        ("model", [times(view["model"]), chance(rates["alpha_tested"]), k]),
        ("measured cost", [times(view["measured_cost"]), *([str(since)] if since > rates["first"] else [])]),
        ("best K", [*said_best, *([times(view["best_speedup"])] if best else [])]),
        ("break-even α", ["–", *(["0"] if k == "0" else [])] if pays is None else [chance(pays), k]),
        ("ceiling", [times(view["ceiling"])]),
    ]
    start = 2 * lines[0].startswith("Slower")
    end = next(i for i, line in enumerate(lines) if line.startswith("Speedup over"))
    curve = next((i for i, line in enumerate(lines) if line.startswith("Speedup by")), len(lines))
    left, right = blocks(lines[start:end], "One step of each model")
    return [
        *([] if bool(start) == view["slower"] else [f"{lines[0]!r}: slower is {view['slower']}"]),
        *(mismatches(lines[:start], slower) if start else []),
        *mismatches(unwrapped(left), round_),
        *mismatches(unwrapped(right), steps),
        *mismatches(unwrapped(lines[end:curve]), speedups),
        *(_curve_mismatches(lines[curve + 1 :], view) if view["curve"] else lines[curve:]),
    ]


def _curve_mismatches(lines: Sequence[str], view: Line) -> list[str]:
    """33 columns of eight lines, three cells each, marks below, an axis and a key."""
    top = max(1.0, *(value for _, value in view["curve"]))
    level = int(8 / top)
    labels = [[f"{plain(top)}x"], *(["1.00x"] if row == level else [] for row in range(6, -1, -1))]
    wrong = [f"{line!r}: {want}" for line, want in zip(lines[:8], labels, strict=True) if numbers(line) != want]
    for k, value in view["curve"]:
        column = "".join(line.ljust(110)[6 + 3 * k] for line in lines[:8]).replace("┄", " ")
        height = sum(" ▁▂▃▄▅▆▇█".index(cell) for cell in column)
        if abs(height - 64 * value / top) > 0.5:
            wrong.append(f"K {k}: {column!r} is {height}, not {64 * value / top}")
    key = [f"↑ K {view['k']}", f"* best K {view['best_k']}"]
    marks = {6 + 3 * view["k"]: "↑", 6 + 3 * view["best_k"] + (view["k"] == view["best_k"]): "*"}
    if {i: cell for i, cell in enumerate(lines[8]) if cell != " "} != marks:
        wrong.append(f"{lines[8]!r} is not {marks}")
    if lines[9].split() != ["K", *map(str, range(0, 33, 4))] or re.split(r"  +", lines[10].strip())[:2] != key:
        wrong.append(f"{lines[9:]}")
    return wrong


# -- tokens


def tokens_expected(run: Recorded, order: str) -> list[tuple[str, ...]]:
    """The cells of the rows of an order."""
    if order == "ids":
        return [
            (*map(str, (t["id"], _name(t))), *(str(t[n]) for n in ("rejected", "tested", "drafted")), plain(t["lost"]))
            for t in reference_stats.rejected_ids(segment(run))
        ]
    return [
        (
            str(row["round"]),
            str(row["row"] + 1),
            _name(row),
            f"{MARKS[row['verdict']]} {row['verdict']}",
            chance(row["q"]),
            chance(row["p"]),
            quotient(row["p"], row["q"]),
            chance(row["overlap"]),
            chance(row["u"]),
            chance(row["accept_prob"]),
            plain(row["lost"]),
        )
        for row in tokens_ordered(run, order)
    ]


def tokens_ordered(run: Recorded, order: str) -> list[Line]:
    rank: Callable[[Line], Any] = {
        "ratio": lambda row: row["ratio"],
        "lost": lambda row: None if row["lost"] is None else -row["lost"],
        "overlap": lambda row: row["overlap"],
    }[order]
    rows = [row for row in reference_stats.drafted_rows(segment(run)) if row["verdict"] in ("accepted", "rejected")]
    return sorted((row for row in rows if rank(row) is not None), key=rank)[:500]


def tokens_printed(lines: Sequence[str], order: str) -> list[tuple[str, ...]]:
    """The cells of the rows, as they stand between blanks; a token may hold some, so its place is that of its head."""
    pattern = r" *(\d+)  (.+?) +(\d+) +(\d+) +(\d+) +(\S+)"
    if order != "ids":
        pattern = r" *(\d+) +(\d+)  (.+?) +([✓✗·–] \w+)" + r" +(\S+)" * 7
    found = [re.fullmatch(pattern, line) for line in lines]
    return [match.groups() if match else (line,) for match, line in zip(found, lines, strict=True)]


def _name(row: Line) -> str:
    return visible(row["bytes"])
