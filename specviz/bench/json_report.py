"""The object of ``bench --json``.

::

    {"config": {…, "k": [K, …], "drafters": ["model", "layers:2", …], "repeats": requested},
     "prompts": n, "predicting": [first, last], "measuring": [first, last],   prompts by number, from 1
     "repeats": complete ones, "complete": whether none is missing,
     "calibration": {"target_step_ms": SPREAD, "draft_step_ms": SPREAD, "c": SPREAD,      of the first drafter
                     "drafters": {DRAFTER: {"draft_step_ms": SPREAD, "c": SPREAD}, …}},
     "target": MEASUREMENT, "draft": MEASUREMENT,              each alone, on the measuring prompts
     "target_cost": COST, "target_peak": bytes,
     "k": [{"drafter": DRAFTER, "k": K, "predicting": MEASUREMENT, "measuring": MEASUREMENT, "slower": below 1,
            "per_position": [SPREAD, …] (accepted / tested), "rounds": n, "plain_rounds": n of them without a draft,
            "cost": COST, "peak": bytes,
            "speedup": {"measured": SPREAD, "with_inspection": SPREAD,
                        "model": PREDICTION, "measured_cost": PREDICTION}}, …],
     "best_k": [{"drafter": DRAFTER, "measured": CHOICE, "model": CHOICE of K = 0 to 32 (32 means 32 or more),
                 "measured_cost": CHOICE, "alpha", "c" (of the model)}, …],
     "fastest_k": K of the largest measured speedup, "fastest_drafter": and its drafter}

CHOICE {"k", "speedup"}, K = 0 if no K is faster than the target alone. COST {"round_ms", "forwards_ms", "outside"}: the
whole round, its forwards alone, the share of the round that is not spent in forwards, each a SPREAD. A peak is of the
whole process, on CUDA of its tensors.

SPREAD {"median", "q1", "q3"} over repeats. MEASUREMENT: the fields of ``bench.report.Measurement``, each a SPREAD;
``decoding_tokens_per_s`` is of draft + verify + decide alone, unlike ``tokens_per_s`` of ``run --json``.
PREDICTION {"speedup", "alpha", "tokens_per_round", "token_ms", "draft_ms", "verify_ms", "decide_ms" (of a round),
"off" (predicted / measured), "factors" {name: value}, whose product is off, "why"}. Undefined numbers are null.
"""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from specviz.bench.report import BenchReport, Row, ScoredPrediction
from specviz.bench.samples import Spread


def summarise_bench(report: BenchReport, config: Mapping[str, Any]) -> dict[str, Any]:
    """``config``: what ``Bench.describe`` says. Plain JSON values."""
    plan = report.plan
    return {
        "config": {**config, "k": list(plan.ks), "drafters": list(map(str, plan.drafters)), "repeats": plan.repeats},
        "prompts": plan.prompts,
        "predicting": _numbered(plan.calibration_prompts),
        "measuring": _numbered(plan.test_prompts),
        "repeats": report.repeats,
        "complete": report.repeats == plan.repeats,
        "calibration": {
            "target_step_ms": _spread(report.target_step_ms),
            "draft_step_ms": _spread(report.steps[0].draft_step_ms),
            "c": _spread(report.steps[0].c),
            "drafters": {
                str(each.drafter): {"draft_step_ms": _spread(each.draft_step_ms), "c": _spread(each.c)}
                for each in report.steps
            },
        },
        "target": asdict(report.target),
        "draft": asdict(report.draft),
        "target_cost": asdict(report.cost),
        "target_peak": report.peak,
        "k": [_row(row) for row in report.rows],
        "best_k": [asdict(best) | {"drafter": str(best.drafter)} for best in report.best],
        "fastest_k": report.fastest.k if report.fastest else None,
        "fastest_drafter": str(report.fastest.drafter) if report.fastest else None,
    }


def _row(row: Row) -> dict[str, Any]:
    return {
        "drafter": str(row.drafter),
        "k": row.k,
        "predicting": asdict(row.predicted_on),
        "measuring": asdict(row.measured_on),
        "slower": row.slower,
        "per_position": list(map(_spread, row.positions)),
        "rounds": row.rounds,
        "plain_rounds": row.plain_rounds,
        "cost": asdict(row.cost) if row.cost else None,
        "peak": row.peak,
        "speedup": {
            "measured": _spread(row.speedup),
            "with_inspection": _spread(row.inspected_speedup),
            "model": _prediction(row.model),
            "measured_cost": _prediction(row.measured_cost),
        },
    }


def _prediction(scored: ScoredPrediction | None) -> dict[str, Any] | None:
    if scored is None:
        return None
    prediction = scored.prediction
    return {
        "speedup": prediction.speedup,
        "alpha": prediction.alpha,
        "tokens_per_round": prediction.tokens_per_round,
        "token_ms": prediction.token_ms,
        "draft_ms": prediction.costs.draft,
        "verify_ms": prediction.costs.verify,
        "decide_ms": prediction.costs.decide,
        "off": scored.off,
        "factors": {factor.name: factor.value for factor in scored.factors},
        "why": scored.main_reason,
    }


def _spread(spread: Spread | None) -> dict[str, float] | None:
    return None if spread is None else asdict(spread)


def _numbered(prompts: range) -> list[int]:
    return [prompts.start + 1, prompts.stop]
