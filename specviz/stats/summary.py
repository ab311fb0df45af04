"""The object of ``run --json``, also the summary of a trace's last line."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any, NamedTuple

from specviz.core.events import End, Header, Settings, Token
from specviz.core.safe_text import emitted_text
from specviz.stats.rates import Rates


class Span(NamedTuple):
    """A segment of rates: its numbers, the settings of its first round, and its numbers for each stretch of equal K."""

    rates: Rates
    settings: Settings
    by_k: Sequence[tuple[int, Rates]]


def summarise(
    whole: Rates, spans: Sequence[Span], emitted: Sequence[Token], header: Header | None, end: End | None
) -> dict[str, Any]:
    config = dict(header.config) if header else {}
    return {
        "text": emitted_text(emitted, end, tuple(config.get("stop") or ())),
        "ids": [token.id for token in emitted],
        "reason": end.reason if end else None,
        "tokens": whole.tokens,
        "rounds": whole.rounds,
        "plain_rounds": whole.plain_rounds,
        "drafted": whole.drafted,
        "accepted": whole.accepted,
        "rejected": whole.rejected,
        "untested": whole.untested,
        "ignored": whole.ignored,
        "tested": whole.tested,
        "alpha": _alpha(whole),
        "per_position": [
            {
                "position": at.position,
                "conditional": at.conditional,
                "unconditional": at.unconditional,
                "tested": at.tested,
                "drafted": at.drafted,
            }
            for at in whole.per_position
        ],
        "tokens_per_round": _tokens_per_round(whole),
        "histogram_n": {str(n): count for n, count in whole.histogram.items()},
        "formula": {
            "at_accepted_over_tested": whole.formula_at_tested,
            "at_mean_overlap": whole.formula_at_overlap,
        },
        "timing": {
            "draft_ms": whole.draft_ms,
            "verify_ms": whole.verify_ms,
            "decide_ms": whole.decide_ms,
            "inspect_ms": whole.inspect_ms,
            "target_step_ms": whole.target_step_ms,
            "draft_step_ms": whole.draft_step_ms,
            "at_length": whole.at_length,
            "c": whole.c,
            "tokens_per_s": whole.tokens_per_s,
        },
        "speedup": {
            "model": whole.speedup_model,
            "measured_cost": whole.speedup_measured_cost,
            "best_k": whole.best_k,
            "break_even_alpha": whole.break_even_alpha,
            "ceiling": whole.ceiling,
        },
        "segments": [_segment(span) for span in spans],
        "config": config,
    }


def _segment(span: Span) -> dict[str, Any]:
    rates = span.rates
    return {
        "first": rates.first,
        "last": rates.last,
        "settings": asdict(span.settings),
        "rounds": rates.rounds,
        "tokens": rates.tokens,
        "tested": rates.tested,
        "alpha": _alpha(rates),
        "tokens_per_round": _tokens_per_round(rates),
        "by_k": [
            {"k": k, "first": part.first, "last": part.last, "tokens_per_round": _tokens_per_round(part)}
            for k, part in span.by_k
        ],
    }


def _alpha(rates: Rates) -> dict[str, Any]:
    return {
        "accepted_over_tested": rates.alpha_tested,
        "ci95": _pair(rates.alpha_tested_ci),
        "mean_overlap": rates.alpha_overlap,
        "mean_overlap_ci95": _pair(rates.alpha_overlap_ci),
        "mean_match": rates.mean_match,
        "accepted_over_drafted": rates.accepted_over_drafted,
        "agreement_z": rates.agreement_z,
    }


def _tokens_per_round(rates: Rates) -> dict[str, float | None]:
    return {"mean": rates.tokens_per_round, "se": rates.tokens_per_round_se}


def _pair(ends: tuple[float, float] | None) -> list[float] | None:
    return None if ends is None else list(ends)
