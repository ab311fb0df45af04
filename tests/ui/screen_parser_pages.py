"""What the pages of the metrics screen have to print: line by line, from the second computation of a trace alone."""

import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

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
    mean, error, gap = rates["tokens_per_round"], rates["tokens_per_round_half_width"], why["gap"]
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
                *_share(part["share"]),
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
    if abs(gap) <= error:
        return [("The formula and the measurement agree", [plain(abs(gap)), plain(error)])]
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
    k, best, since, at = str(view["k"]), view["best_k"], rates["tokens_per_round_first"], view["at_measured_cost"]
    said_best = ["–" if best is None else f"≥ {best}" if best == 32 else str(best)]
    by_model: list[Expected] = [
        ("model", [times(view["model"]), chance(rates["alpha_tested"]), k]),
        ("best K", [*said_best, *([times(view["best_speedup"])] if best else [])]),
        ("break-even α", ["–", *(["0"] if k == "0" else [])] if pays is None else [chance(pays), k]),
        ("ceiling", [times(view["ceiling"])]),
    ]
    by_cost: list[Expected] = [
        ("measured cost", [times(view["measured_cost"]), *([str(since)] if since > rates["first"] else [])]),
        *_cost_facts(at),
    ]
    start = 2 * lines[0].startswith("Slower")
    end, model = (_index(lines, words) for words in ("Speedup over", "The same by"))
    curves = next((i for i, line in enumerate(lines) if line.startswith("Speedup by")), len(lines))
    left, right = blocks(lines[start:end], "One step of each model")
    said = [line for line in lines[end:model] if line.startswith("Verifying ")]
    measured = [line for line in lines[end:model] if line not in said]
    return [
        *([] if bool(start) == view["slower"] else [f"{lines[0]!r}: slower is {view['slower']}"]),
        *(mismatches(lines[:start], slower) if start else []),
        *mismatches(unwrapped(left), round_),
        *mismatches(unwrapped(right), steps),
        *mismatches(unwrapped(measured), by_cost),
        *_parting_mismatches(said, at),
        *mismatches(unwrapped(lines[model:curves]), by_model),
        *_curves_mismatches(lines[curves:], view, at),
    ]


def _index(lines: Sequence[str], words: str) -> int:
    return next(i for i, line in enumerate(lines) if line.startswith(words))


def _cost_facts(at: Line | None) -> list[Expected]:
    if at is None:
        names = "measured best K", "speedup at measured best K", "measured break-even α", "measured ceiling"
        return [(name, ["–"]) for name in names]
    best, pays = at["best_k"], at["break_even_alpha"]
    low, high = (max(range(33), key=lambda k: (at[name][k], -k)) for name in ("low", "high"))
    ends = [str(low), str(high)] if low < high else []
    return [
        ("measured best K", [f"≥ {best}" if best == 32 else str(best), *(ends if best else [])]),
        ("speedup at measured best K", [times(at["curve"][best]), plain(at["low"][best]), plain(at["high"][best])]),
        ("measured break-even α", ["–" if pays is None else chance(pays)]),
        ("measured ceiling", [times(at["ceiling"])]),
    ]


def _parting_mismatches(said: Sequence[str], at: Line | None) -> list[str]:
    """The sentence where a verification costs something else than the one step of the model."""
    if at is None or at["k"] == 0:
        return [*said]
    k, costs = at["k"], at["costs"]
    ids, ms = [1, *(m for m, _ in costs["verify_ms"])], [costs["target_ms"], *(ms for _, ms in costs["verify_ms"])]
    beyond = max(0.0, (ms[-1] - ms[-2]) / (ids[-1] - ids[-2])) * max(0, k + 1 - ids[-1])
    steps = (float(np.interp(k + 1, ids, ms)) + beyond) / costs["target_ms"]
    parts = not 1 / 1.15 < steps < 1.15
    if len(said) != parts:
        return [f"{said}: {steps} target steps"]
    return mismatches(said, [("Verifying", [str(k + 1), plain(steps, 1), "1"])]) if parts else []


def _curves_mismatches(lines: Sequence[str], view: Line, at: Line | None) -> list[str]:
    """Two charts of columns, side by side or one above the other."""
    charts = [("Speedup by measured cost over K", at["curve"] if at else [], at["best_k"] if at else 0)]
    charts.append(("Speedup by the model over K", [value for _, value in view["curve"]], view["best_k"]))
    wrong = []
    for title, curve, best in charts:
        found = [(y, line.index(title)) for y, line in enumerate(lines) if title in line]
        if bool(found) != bool(curve):
            wrong.append(f"{title}: {curve}")
        elif found and curve:
            (y, x), beside = found[0], sum("Speedup by" in part for part in re.split(r"  +", lines[found[0][0]])) > 1
            cut = [line[x : x + 100 if beside and not x else None].rstrip() for line in lines[y + 1 : y + 12]]
            wrong += _chart_mismatches(cut, curve, view["k"], best, 2 if beside else 3)
    return wrong


def _chart_mismatches(lines: Sequence[str], curve: Sequence[float], k: int, best: int, step: int) -> list[str]:
    """33 columns of eight lines, ``step`` cells each, marks below, an axis and a key."""
    top = max(1.0, *curve)
    level = min(7, int(8 / top))
    labels = [[f"{plain(top)}x"], *(["1.00x"] if row == level else [] for row in range(6, -1, -1))]
    wrong = [f"{line!r}: {want}" for line, want in zip(lines[:8], labels, strict=True) if numbers(line[:6]) != want]
    for column, value in enumerate(curve):
        cells = "".join(line.ljust(110)[6 + step * column] for line in lines[:8]).replace("┄", " ")
        height = sum(" ▁▂▃▄▅▆▇█".index(cell) for cell in cells)
        if abs(height - 64 * value / top) > 0.5:
            wrong.append(f"K {column}: {cells!r} is {height}, not {64 * value / top}")
    marks = {6 + step * k: "↑"}
    marks[6 + step * best + (k == best and step > 1)] = "*"
    if {i: cell for i, cell in enumerate(lines[8]) if cell != " "} != marks:
        wrong.append(f"{lines[8]!r} is not {marks}")
    key = [f"↑ K {k}", f"* best K {best}"]
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
