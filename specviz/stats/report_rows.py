"""Every number of a run by its name, as text."""

from collections.abc import Callable
from typing import Any

from specviz.core.safe_text import safe_terminal_text
from specviz.stats.rates import Rates
from specviz.stats.run_stats import RunStats


def _number(pick: Callable[[Rates], Any], form: str) -> Callable[[RunStats], str]:
    def cell(run: RunStats) -> str:
        value = pick(run.whole())
        return "–" if value is None else format(value, form)

    return cell


def _interval(pick: Callable[[Rates], tuple[float, float] | None]) -> Callable[[RunStats], str]:
    def cell(run: RunStats) -> str:
        ends = pick(run.whole())
        return "–" if ends is None else f"{ends[0]:.3f} … {ends[1]:.3f}"

    return cell


def _config(key: str) -> Callable[[RunStats], str]:
    return lambda run: safe_terminal_text(str((run.header.config if run.header else {}).get(key, "–")))


def _reason(run: RunStats) -> str:
    return run.end.reason.replace("_", " ") if run.end else "not ended"


ROWS: list[tuple[str, Callable[[RunStats], str]]] = [
    ("draft", _config("draft")),
    ("target", _config("target")),
    ("drafter", _config("drafter")),
    ("rule", _config("rule")),
    ("K", _config("k")),
    ("temperature", _config("temperature")),
    ("seed", _config("seed")),
    ("ended", _reason),
    ("tokens", _number(lambda r: r.tokens, "d")),
    ("rounds", _number(lambda r: r.rounds, "d")),
    ("plain rounds", _number(lambda r: r.plain_rounds, "d")),
    ("drafted", _number(lambda r: r.drafted, "d")),
    ("accepted", _number(lambda r: r.accepted, "d")),
    ("rejected", _number(lambda r: r.rejected, "d")),
    ("untested", _number(lambda r: r.untested, "d")),
    ("ignored", _number(lambda r: r.ignored, "d")),
    ("α tested", _number(lambda r: r.alpha_tested, ".3f")),
    ("  95 %, if tests were independent", _interval(lambda r: r.alpha_tested_ci)),
    ("α overlap", _number(lambda r: r.alpha_overlap, ".3f")),
    ("  95 %, batch means", _interval(lambda r: r.alpha_overlap_ci)),
    ("z (agreement)", _number(lambda r: r.agreement_z, "+.2f")),
    ("mean match", _number(lambda r: r.mean_match, ".3f")),
    ("accepted/drafted", _number(lambda r: r.accepted_over_drafted, ".3f")),
    ("tokens/round", _number(lambda r: r.tokens_per_round, ".3f")),
    ("  standard error", _number(lambda r: r.tokens_per_round_se, ".3f")),
    ("formula at α tested", _number(lambda r: r.formula_at_tested, ".3f")),
    ("formula at α overlap", _number(lambda r: r.formula_at_overlap, ".3f")),
    ("tokens/s", _number(lambda r: r.tokens_per_s, ".1f")),
    ("draft ms", _number(lambda r: r.draft_ms, ".3f")),
    ("verify ms", _number(lambda r: r.verify_ms, ".3f")),
    ("decide ms", _number(lambda r: r.decide_ms, ".3f")),
    ("inspect ms", _number(lambda r: r.inspect_ms, ".3f")),
    ("T_p ms", _number(lambda r: r.target_step_ms, ".3f")),
    ("T_q ms", _number(lambda r: r.draft_step_ms, ".3f")),
    ("c = T_p/T_q", _number(lambda r: r.c, ".2f")),
    ("speedup, model", _number(lambda r: r.speedup_model, ".2f")),
    ("speedup, measured cost", _number(lambda r: r.speedup_measured_cost, ".2f")),
    ("best K", _number(lambda r: r.best_k, "d")),
    ("break-even α", _number(lambda r: r.break_even_alpha, ".3f")),
    ("ceiling", _number(lambda r: r.ceiling, ".2f")),
]
