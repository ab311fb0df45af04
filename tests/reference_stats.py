"""Every number of a run computed a second time, with numpy, from the lines of its trace alone.

Nothing of specviz is imported. The objects have the names that the package gives its own, so ``differences`` can hold
one against the other; what is undefined is None.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from tests.reference_formulas import (
    KS,
    batch_error,
    break_even,
    chance_of,
    curve,
    formula,
    half_width,
    mean,
    median,
    ratio,
    wilson,
)

Line = dict[str, Any]


@dataclass(frozen=True)
class Recorded:
    """The round lines up to round ``last``, and the calibration line, if any."""

    rounds: list[Line]
    calibration: Line | None


def load(path: Path, last: int | None = None) -> Recorded:
    lines = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    of = {kind: [line for line in lines if line["type"] == kind] for kind in ("calibration", "round")}
    return Recorded(of["round"][:last], *(of["calibration"] or [None])[:1])


def whole(run: Recorded) -> Line:
    """The numbers of ``Rates`` for the whole run."""
    return _rates(run, 0, 0)


def segment_rates(run: Recorded) -> Line:
    """The numbers of ``Rates`` for the segment the last round belongs to."""
    return _rates(run, _segment(run.rounds), _segment(run.rounds, by_k=True))


def formula_gap(run: Recorded) -> Line:
    """The numbers of ``FormulaGap`` for the segment the last round belongs to."""
    rounds, rates = run.rounds[_segment(run.rounds) :], segment_rates(run)
    before = [None, *("plain" if not r["k"] else r["emitted"][-1]["origin"] for r in rounds)]
    first = [[r["drafted"][0]["verdict"]] if r["tested"] else [] for r in rounds]

    def behind(origin: str) -> Line:
        return _share([v for verdicts, b in zip(first, before, strict=False) if b == origin for v in verdicts])

    measured, predicted = rates["tokens_per_round"], rates["formula_at_tested"]
    quarters = np.floor(np.arange(5) * len(rounds) / 4).astype(int) if len(rounds) >= 4 else np.arange(len(rounds) + 1)
    return {
        "measured": measured,
        "formula": predicted,
        "gap": None if measured is None or predicted is None else predicted - measured,
        "first_after_rejection": behind("resampled"),
        "first_after_full": behind("bonus"),
        "later_positions": [
            _share([r["drafted"][i]["verdict"] for r in rounds if i < r["tested"]])
            for i in range(1, max((r["k"] for r in rounds), default=0))
        ],
        "by_quarter": [_stretch(rounds[a:b]) for a, b in pairwise(quarters)],
    }


def speed(run: Recorded) -> Line:
    """The numbers of ``SpeedView``."""
    rates = segment_rates(run)
    rounds = run.rounds[_segment(run.rounds) :]
    alpha, c = rates["alpha_tested"], rates["c"]
    speedups = None if alpha is None or c is None else curve(alpha, c)
    cost = rates["speedup_measured_cost"] if rates["speedup_measured_cost"] is not None else rates["speedup_model"]
    m = np.array([r["k"] + 1 for r in run.rounds[1:]])
    verify = np.array([r["timing"]["verify_ms"] for r in run.rounds[1:]])
    return {
        "draft_step_ms": median([r["timing"]["draft_ms"] / r["k"] for r in rounds if r["k"]]),
        **{name: rates[name] for name in ("verify_ms", "decide_ms", "inspect_ms", "target_step_ms", "c", "best_k")},
        "draft_step_calibrated_ms": rates["draft_step_ms"],
        "verify_times": [(int(ids), float(np.median(verify[m == ids]))) for ids in sorted(set(m.tolist()))],
        "curve": [] if speedups is None else list(zip(KS.tolist(), speedups.tolist(), strict=True)),
        "k": rounds[-1]["settings"]["k"] if rounds else None,
        "model": rates["speedup_model"],
        "measured_cost": rates["speedup_measured_cost"],
        "best_speedup": None if speedups is None else float(speedups.max()),
        **{name: rates[name] for name in ("break_even_alpha", "ceiling")},
        "slower": cost is not None and cost < 1 and sum(rates["drafts"].values()) >= 16,
        "at_measured_cost": rates["at_measured_cost"],
    }


def peer_values(run: Recorded) -> dict[tuple[str, str], tuple[float | None, float | None]]:
    """(engine, name) -> (value, E[N] with the value for alpha, None for a length)."""
    rounds = run.rounds[_segment(run.rounds, by_k=True) :]
    spans = [r["k"] for r in rounds if _uncut(r)]
    a, k, n = (np.array([f(r) for r in rounds]) for f in (_accepted, _k, _n))
    drafted = ratio(a.sum(), k.sum())
    with_extra = None if not (k > 0).any() else 1 + float(a[k > 0].mean())
    share = ratio(a.sum(), n.sum())
    return {
        ("vLLM", "draft acceptance rate"): (drafted, formula(drafted, spans)),
        ("vLLM", "mean acceptance length"): (with_extra, None),
        ("SGLang", "spec_accept_rate"): (drafted, formula(drafted, spans)),
        ("SGLang", "spec_accept_length"): (ratio(n.sum(), (k > 0).sum()), None),
        ("llama.cpp", "draft acceptance"): (drafted, formula(drafted, spans)),
        ("llama.cpp", "mean acceptance length"): (with_extra, None),
        ("LM Studio", "accepted / predicted"): (share, formula(share, spans)),
        ("EAGLE", "τ"): (ratio(n.sum(), len(rounds)), None),
    }


def drafted_rows(run: Recorded) -> list[Line]:
    """The numbers of ``DraftedRow``, a row a drafted token."""
    return [
        {
            "round": r["index"],
            "row": i,
            "bytes": bytes.fromhex(d["bytes"]),
            **{name: d[name] for name in ("id", "verdict", "p", "q", "overlap", "u", "accept_prob")},
            "ratio": None if d["q"] == 0 else d["p"] / d["q"],
            "lost": tokens_lost(r) if d["verdict"] == "rejected" else None,
        }
        for r in run.rounds
        for i, d in enumerate(r["drafted"])
    ]


def tokens_lost(round_: Line) -> float | None:
    if round_["tested"] == round_["n_accepted"]:
        return None
    by_match = round_["settings"]["rule"] == "equality"
    behind = [d["p"] if by_match else d["accept_prob"] for d in round_["drafted"][round_["tested"] :]]
    return None if None in behind else float(1 + np.cumprod(behind).sum())


def rejected_ids(run: Recorded) -> list[Line]:
    """The numbers of ``RejectedId``, most often rejected first."""
    rows = drafted_rows(run)
    found = []
    for token in {row["id"] for row in rows if row["verdict"] == "rejected"}:
        mine = [row for row in rows if row["id"] == token]
        verdicts = [row["verdict"] for row in mine]
        found.append(
            {
                "id": token,
                "bytes": mine[0]["bytes"],
                "drafted": len(mine),
                "tested": sum(v in ("accepted", "rejected") for v in verdicts),
                "rejected": verdicts.count("rejected"),
                "lost": sum(row["lost"] or 0 for row in mine if row["verdict"] == "rejected"),
            }
        )
    return sorted(found, key=lambda row: (-row["rejected"], -row["lost"], row["id"]))


def overlap_histogram(run: Recorded, bins: int = 10) -> list[int]:
    overlaps = np.array([d["overlap"] for d in _tested(run.rounds)], float)
    which = np.minimum(np.floor(overlaps * bins), bins - 1).astype(int)
    return [int((which == b).sum()) for b in range(bins)]


def differences(actual: Any, expected: Any, place: str = "") -> list[str]:
    """Where two numbers, or nested collections of them, are further apart than 1e-9, or have other names."""
    if is_dataclass(actual) and not isinstance(actual, type):
        actual = {f.name: getattr(actual, f.name) for f in fields(actual)}
    elif hasattr(actual, "_asdict"):
        actual = actual._asdict()
    if isinstance(expected, Mapping):
        if not isinstance(actual, Mapping) or actual.keys() != expected.keys():
            return [f"{place}: {actual!r} is no {expected!r}"]
        return [d for key, value in expected.items() for d in differences(actual[key], value, f"{place}.{key}")]
    if isinstance(expected, list | tuple):
        if not isinstance(actual, Sequence) or len(actual) != len(expected):
            return [f"{place}: {actual!r} is no {expected!r}"]
        pairs = enumerate(zip(actual, expected, strict=True))
        return [d for i, (a, e) in pairs for d in differences(a, e, f"{place}[{i}]")]
    if isinstance(expected, float) and isinstance(actual, int | float):
        same = abs(actual - expected) <= 1e-9
    else:
        same = actual == expected
    return [] if same else [f"{place}: {actual!r} is not {expected!r}"]


# -- rates


def _rates(run: Recorded, first: int, tokens_first: int) -> Line:
    rounds, every_span = run.rounds[first:], run.rounds[tokens_first:]
    spans = [r for r in every_span if _uncut(r)]
    tests = _tested(rounds)
    accepted = np.array([d["verdict"] == "accepted" for d in tests], bool)
    chances = np.array([o for r in rounds for o in _chances(r)], float)
    hits = sum(r["n_accepted"] for r in rounds if _chances(r))
    variance = float((chances * (1 - chances)).sum())
    counts = {v: sum(d["verdict"] == v for r in rounds for d in r["drafted"]) for v in _VERDICTS}
    alpha, overlap = mean(accepted), mean(chances)
    error = batch_error([_chances(r) for r in rounds])
    ks = [r["k"] for r in spans]
    lengths = range(1, max(ks, default=-1) + 2)
    k = rounds[-1]["settings"]["k"] if rounds else None
    free = bool(rounds) and rounds[-1]["settings"]["drafter"] == "ngram"
    times = run.calibration or {"target_step_ms": None, "draft_step_ms": None, "at_length": None}
    target, draft = times["target_step_ms"], times["draft_step_ms"]
    c = target / draft if target and draft and not free else None
    spent = sum(r["timing"][name] for r in spans for name in ("draft_ms", "verify_ms", "decide_ms"))
    tokens = sum(map(_n, rounds))
    error_of_tokens = batch_error([[float(_n(r))] if _uncut(r) else [] for r in every_span])
    measured = ratio(target * sum(map(_n, spans)), spent) if target and any(ks) else None
    possible = measured is None or measured <= sum(map(_n, spans)) / len(spans)
    drafting = 1 - ks.count(0) / len(ks) if ks and free else 1.0
    positions = [_position(rounds, i) for i in range(1, 1 + max(map(_k, rounds), default=0))]
    interval = wilson(int(accepted.sum()), len(tests))
    return {
        "drafting_share": drafting,
        "times_contradict": not possible,
        "at_measured_cost": _measured_cost(run, rounds, positions, alpha, interval, drafting),
        "first": first + 1,
        "last": len(run.rounds),
        "rounds": len(rounds),
        "tokens": tokens,
        "plain_rounds": sum(r["k"] == 0 for r in rounds),
        "drafted": sum(map(_k, rounds)),
        **counts,
        "tested": len(tests),
        "alpha_tested": alpha,
        "alpha_tested_ci": interval,
        "alpha_overlap": overlap,
        "alpha_overlap_ci": None
        if overlap is None or error is None
        else (max(0.0, overlap - half_width(error)), min(1.0, overlap + half_width(error))),
        "mean_match": mean(np.array([d["match"] for d in tests], float)),
        "accepted_over_drafted": ratio(counts["accepted"], sum(map(_k, rounds))),
        "agreement_z": float((hits - chances.sum()) / np.sqrt(variance)) if variance >= 1e-3 else None,
        "tokens_per_round": mean(np.array([_n(r) for r in spans], float)),
        "tokens_per_round_se": error_of_tokens and error_of_tokens[0],
        "tokens_per_round_half_width": None if error_of_tokens is None else half_width(error_of_tokens),
        "tokens_per_round_first": tokens_first + 1,
        "drafts": {k: ks.count(k) for k in sorted(set(ks))},
        "histogram": {n: sum(_n(r) == n for r in spans) for n in lengths},
        "expected_histogram": {} if alpha is None else {n: sum(chance_of(n, alpha, k) for k in ks) for n in lengths},
        "formula_at_tested": formula(alpha, ks),
        "formula_at_overlap": formula(overlap, ks),
        "per_position": positions,
        **{name: median([r["timing"][name] for r in rounds]) for name in _TIMES},
        "target_step_ms": target,
        "draft_step_ms": draft,
        "at_length": times["at_length"],
        "c": c,
        "tokens_per_s": ratio(1000 * tokens, sum(r["timing"]["total_ms"] for r in rounds)),
        "speedup_measured_cost": measured if possible else None,
        **_model(alpha, k, c),
        "rule": run.rounds[-1]["settings"]["rule"] if rounds else "exact",
        "contradicts": bool(abs(hits - chances.sum()) > (4 * np.sqrt(variance) if variance >= 1e-3 else 0.5)),
    }


def _measured_cost(
    run: Recorded,
    rounds: Sequence[Line],
    positions: Sequence[Line],
    alpha: float | None,
    interval: tuple[float, float] | None,
    drafting: float,
) -> Line | None:
    """The speedups by measured cost: E[N] T_p / (K T_draft + T_verify(K + 1) + T_decide), K = 0 to 32."""
    times = run.calibration
    if times is None or alpha is None or interval is None or not rounds:
        return None
    target = times["target_step_ms"]
    by_m: dict[int, list[float]] = {}
    for r in run.rounds[1:]:
        by_m.setdefault(r["k"] + 1, []).append(r["timing"]["verify_ms"])
    own = {m: float(np.median(ms)) for m, ms in by_m.items() if len(ms) >= 5 and m > 1}
    calibrated = {each["ids"]: each["ms"] for each in times.get("verify_times", [])}
    steps = [r["timing"]["draft_ms"] / r["k"] for r in rounds if r["k"]]
    draft = float(np.median(steps)) if len(steps) >= 5 else times["draft_step_ms"]
    known = dict(own)
    if calibrated:
        at = {m: _linear(m, target, calibrated) for m in own}
        scale = float(np.median([own[m] / at[m] for m in own])) if own else 1.0
        known = {m: ms * scale for m, ms in calibrated.items()} | own
    if draft is None or not known:
        return None
    decide = float(np.median([r["timing"]["decide_ms"] for r in rounds]))
    cost = np.array([target, *(k * draft + _linear(k + 1, target, known) + decide for k in range(1, 33))])

    def speedups(at: float) -> list[float]:
        pooled = [(each["accepted"] + 10 * alpha) / (each["tested"] + 10) for each in positions]
        chances = [min(1.0, c * at / alpha) if alpha else at for c in pooled][:32]
        alive = np.cumprod([*chances, *[at] * (32 - len(chances))])
        tokens = 1 + drafting * np.cumsum(alive)
        spent = drafting * cost[1:] + (1 - drafting) * target
        return [1.0, *(tokens * target / spent).tolist()]

    k, found = rounds[-1]["settings"]["k"], speedups(alpha)
    return {
        "costs": {"target_ms": target, "draft_ms": draft, "verify_ms": sorted(known.items()), "decide_ms": decide},
        "k": k,
        "curve": found,
        "low": speedups(interval[0]),
        "high": speedups(interval[1]),
        "best_k": int(np.argmax(found)),
        "break_even_alpha": _pays(k, cost[k] / target),
        "ceiling": float(max(1.0, *(np.arange(2, 34) * target / cost[1:]))),
    }


def _linear(m: int, target: float, known: Mapping[int, float]) -> float:
    """T_verify(m) between known block sizes, and beyond the largest by the last slope unless it falls."""
    ids = [1, *(i for i in sorted(known) if i > 1)]
    ms = [target, *(known[i] for i in ids[1:])]
    beyond = max(0.0, (ms[-1] - ms[-2]) / (ids[-1] - ids[-2])) * max(0, m - ids[-1])
    return float(np.interp(m, ids, ms)) + beyond


def _pays(k: int, needed: float) -> float | None:
    """The alpha whose 1 + alpha + ... + alpha^k is ``needed``."""
    if k == 0 or needed > k + 1:
        return None
    roots = np.roots([*[1.0] * k, 1.0 - needed])
    real = roots[(abs(roots.imag) < 1e-9) & (roots.real >= -1e-12)].real
    return float(real.max()) if len(real) else 0.0


def _model(alpha: float | None, k: int | None, c: float | None) -> Line:
    found: Line = dict.fromkeys(("speedup_model", "best_k", "break_even_alpha", "ceiling"))
    if c is not None and k is not None:
        found["break_even_alpha"] = break_even(k, c)
        if alpha is not None:
            speedups = curve(alpha, c)
            found["speedup_model"] = float(speedups[k])
            found["best_k"] = int(np.argmax(speedups >= speedups.max() - 1e-12))
            found["ceiling"] = max(1.0, min(c, np.inf if alpha == 1 else 1 / (1 - alpha)))
    return found


_VERDICTS = ("accepted", "rejected", "untested", "ignored")
_TIMES = ("draft_ms", "verify_ms", "decide_ms", "inspect_ms")


def _k(r: Line) -> int:
    return int(r["k"])


def _n(r: Line) -> int:
    return len(r["emitted"])


def _accepted(r: Line) -> int:
    return sum(d["verdict"] == "accepted" for d in r["drafted"])


def _uncut(r: Line) -> bool:
    return _n(r) == _accepted(r) + 1


def _tested(rounds: Sequence[Line]) -> list[Line]:
    return [d for r in rounds for d in r["drafted"] if d["verdict"] in ("accepted", "rejected")]


def _chances(r: Line) -> list[float]:
    """The exact accept probability of each tested position under the rule in force."""
    name = {"exact": "overlap", "equality": "match"}.get(r["settings"]["rule"])
    return [min(1.0, d[name]) for d in _tested([r])] if name else []


def _segment(rounds: Sequence[Line], *, by_k: bool = False) -> int:
    """Where (0-based) the segment of the last round begins."""
    of = [{name: v for name, v in r["settings"].items() if by_k or name not in ("k", "k_auto")} for r in rounds]
    return max((i for i in range(1, len(of)) if of[i] != of[i - 1]), default=0)


def _share(verdicts: Sequence[str]) -> Line:
    hits = sum(v == "accepted" for v in verdicts)
    return {
        "accepted": hits,
        "tested": len(verdicts),
        "rate": ratio(hits, len(verdicts)),
        "ci": wilson(hits, len(verdicts)),
    }


def _stretch(rounds: Sequence[Line]) -> Line:
    return {
        "first": rounds[0]["index"],
        "last": rounds[-1]["index"],
        "share": _share([d["verdict"] for d in _tested(rounds)]),
        "overlap": mean(np.array([o for r in rounds for o in _chances(r)])),
        "tokens_per_round": mean(np.array([_n(r) for r in rounds if _uncut(r)])),
    }


def _position(rounds: Sequence[Line], i: int) -> Line:
    verdicts = [r["drafted"][i - 1]["verdict"] for r in rounds if r["k"] >= i]
    accepted, drafted = verdicts.count("accepted"), len(verdicts) - verdicts.count("ignored")
    tested = accepted + verdicts.count("rejected")
    reached = sum(_accepted(r) >= i for r in rounds)
    return {
        "position": i,
        "conditional": ratio(accepted, tested),
        "unconditional": ratio(reached, drafted),
        "accepted": accepted,
        "tested": tested,
        "reached": reached,
        "drafted": drafted,
    }
