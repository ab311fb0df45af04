"""The page of speed: the cost of a round, the speedup by the model and as measured, and the best K."""

from functools import partial

from specviz.core.drafters import DEFAULT_DRAFTER, drafter_spec
from specviz.render.glyphs import Glyphs
from specviz.render.numbers import prob, speedup_text, two_decimal_ms
from specviz.stats.numbers_table import NUMBER
from specviz.stats.rates import Rates
from specviz.stats.speed import SpeedView, speed_view
from specviz.ui.metrics.blocks import (
    FactRow,
    Lines,
    PageBody,
    fact_lines,
    heading,
    number_facts,
    paragraph,
    stacked,
    two_columns,
)
from specviz.ui.metrics.scope import Scope
from specviz.ui.metrics.speed_chart import curve_lines

_TWO_BLOCKS, _ROUND = 112, 52


def speed(scope: Scope) -> PageBody:
    drafter = scope.settings.drafter if scope.settings else DEFAULT_DRAFTER
    if not scope.rates.rounds:
        return partial(paragraph, f"No round{scope.yet}.")
    view = speed_view(scope.stats, scope.shown)
    header = scope.stats.header
    calibrate = header.config.get("calibrate") if header else None
    return partial(_page, view, scope.rates, unknown(view, drafter, scope.yet, calibrate))


def _page(view: SpeedView, rates: Rates, lacking: str, cells: int, glyphs: Glyphs) -> Lines:
    two = cells >= _TWO_BLOCKS
    costs = _block("Median times of a round", round_facts(view, rates), _ROUND if two else cells, glyphs)
    steps = _block("One step of each model", step_facts(view, rates), cells - _ROUND - 4 if two else cells, glyphs)
    at, best = view.at_measured_cost, view.best_k
    measured_best = at.best_k if at else None
    beside = two and at is not None and bool(view.curve)
    room = (cells - 4) // 2 if beside else cells
    curves = (
        curve_lines("Speedup by measured cost over K", at.curve if at else (), view.k, measured_best, room, glyphs),
        curve_lines("Speedup by the model over K", [value for _, value in view.curve], view.k, best, room, glyphs),
    )
    return stacked(
        paragraph(slower(view), cells, glyphs, "warning") if view.slower else [],
        two_columns(costs, steps, _ROUND) if two else stacked(costs, steps),
        _block("Speedup over the target alone, by measured cost", measured_facts(view, rates), cells, glyphs),
        paragraph(parting(view, rates), cells, glyphs, "strong"),
        _block("The same by the paper's model", speedup_facts(view, rates), cells, glyphs),
        paragraph(lacking, cells, glyphs, "warning"),
        two_columns(*curves, cells // 2) if beside else stacked(*curves),
    )


def _block(title: str, rows: list[FactRow], cells: int, glyphs: Glyphs) -> Lines:
    return [heading(title, glyphs), *fact_lines(rows, cells, glyphs)]


def slower(view: SpeedView) -> str:
    by = "measured cost" if view.measured_cost is not None else "model"
    value = view.measured_cost if view.measured_cost is not None else view.model
    return f"Slower than the target alone: {speedup_text(value)} by {by}."


def unknown(view: SpeedView, drafter: str, yet: str, calibrate: int | None) -> str:
    """Which numbers are unknown and why; empty where none is. ``calibrate``: the option, None where not recorded."""
    if view.target_step_ms is None:
        why = "have not been timed" if calibrate else "were not timed in this run (--calibrate 0)"
        if calibrate is None:
            why = "have no recorded step times"
        return f"The models {why}: T_p, T_q and c are unknown, so there is no speedup and no best K."
    if free := drafter_spec(drafter).free:
        return f"{free}: c has no value, so the model has no speedup and no best K."
    if view.c is None and view.draft_step_calibrated_ms is None:
        return "The draft's step was not timed: c is unknown, so the model has no speedup and no best K."
    if view.c is None:
        return "c = T_p / T_q is not finite with these times, so the model has no speedup and no best K."
    if view.model is None:
        return f"No draft was tested{yet}: without an α the model has no speedup and no best K."
    return ""


def round_facts(view: SpeedView, rates: Rates) -> list[FactRow]:
    words = {}
    if view.draft_step_ms is not None:
        words["draft_ms"] = f"{two_decimal_ms(view.draft_step_ms)} per drafted token"
    if view.verify_ms is not None and view.target_step_ms:
        words["verify_ms"] = f"{NUMBER['verify_ms'].meaning}, {view.verify_ms / view.target_step_ms:.2f} T_p"
    return number_facts("times", rates, words, dict.fromkeys(("draft_ms", "verify_ms", "decide_ms"), "measured"))


def step_facts(view: SpeedView, rates: Rates) -> list[FactRow]:
    at = "" if rates.at_length is None else f" at {rates.at_length} tokens, calibrated"
    paper = f"; the paper's c is 1/c, {1 / view.c:.2f}" if view.c else ""
    words = {key: NUMBER[key].meaning + at for key in ("target_step_ms", "draft_step_ms")}
    words["c"] = NUMBER["c"].meaning + paper
    return [
        *number_facts("model steps", rates, words, {}),
        *(
            FactRow(
                f"T_verify({m})",
                two_decimal_ms(time),
                words=f"median since round 2 at {m} ids" if m > 1 else "plain rounds since round 2",
            )
            for m, time in view.verify_times
        ),
    ]


def measured_facts(view: SpeedView, rates: Rates) -> list[FactRow]:
    at = view.at_measured_cost
    words = {"speedup_measured_cost": NUMBER["speedup_measured_cost"].meaning + _cost_words(rates)}
    if at is not None:
        low, high = at.best_k_interval
        words["at_measured_cost.best_k"] = (
            "do not speculate: no K is faster than the target alone."
            if at.best_k == 0
            else f"{low} to {high} at the ends of α's 95\xa0%."
            if low < high
            else "the same at both ends of α's 95\xa0%."
        )
    tone = _tone(rates.speedup_measured_cost) if rates.judgeable else "text"
    return number_facts(
        "measured cost", rates, words, {"speedup_measured_cost": tone, "at_measured_cost.best_k": "accent"}
    )


def parting(view: SpeedView, rates: Rates) -> str:
    """Where measured cost and model part, or why there is no measured cost."""
    if rates.times_contradict:
        return "A round took less time than one target step did when steps were timed: these times no longer hold."
    return view.at_measured_cost.sentence if view.at_measured_cost else ""


def speedup_facts(view: SpeedView, rates: Rates) -> list[FactRow]:
    k = "–" if view.k is None else str(view.k)
    words = {
        "speedup_model": f"{NUMBER['speedup_model'].meaning} at α tested {prob(rates.alpha_tested)} and K {k}.",
        "best_k": _best_words(view),
        "break_even_alpha": _break_even_words(view),
    }
    return number_facts("speedup", rates, words, {"speedup_model": "text", "best_k": "accent"})


def _cost_words(rates: Rates) -> str:
    """Rounds at another K have another cost: only those since K changed count."""
    first = rates.tokens_per_round_first
    return f" since round {first}, when K changed." if first > rates.first else ": by the times these rounds took."


def _break_even_words(view: SpeedView) -> str:
    if view.k == 0:
        return "none: at K 0 nothing is drafted."
    if view.break_even_alpha is None and view.c is not None and view.c < 1:
        return "none: a draft step costs more than a target step, so no K helps."
    return f"the α that pays for drafting {'–' if view.k is None else view.k}: below it the target alone is faster."


def _best_words(view: SpeedView) -> str:
    if view.best_speedup is None:
        return NUMBER["best_k"].meaning
    if view.best_k == 0:
        return "do not speculate: with no K is it faster than the target alone at this α and c."
    return f"{speedup_text(view.best_speedup)}, the model's maximum at this α and c."


def _tone(value: float | None) -> str:
    return "text" if value is None else "warning" if value < 1 else "good"
