"""The page of speed: what a round costs, what it brings by the model and by the clock, and which K would be best."""

from functools import partial

from specviz.core.drafters import DEFAULT_DRAFTER, drafter_spec
from specviz.render.glyphs import Glyphs
from specviz.render.numbers import fixed, prob, times
from specviz.stats.rates import Rates
from specviz.stats.speed import SpeedView, speed_view
from specviz.ui.metrics.blocks import Fact, Layout, Lines, beside, facts, heading, paragraph, stacked
from specviz.ui.metrics.scope import Scope
from specviz.ui.metrics.speed_chart import curve_lines

_TWO_BLOCKS, _ROUND = 112, 52
EDGE = 32
"""The largest K that is looked at."""


def speed(scope: Scope) -> Layout:
    drafter = scope.settings.drafter if scope.settings else DEFAULT_DRAFTER
    if not scope.rates.rounds:
        return partial(paragraph, f"No round{scope.yet}.")
    view = speed_view(scope.stats, scope.shown)
    header = scope.stats.header
    to_come = header is not None and header.config.get("calibrate") not in (0, None)
    return partial(_page, view, scope.rates, unknown(view, drafter, scope.yet, to_come=to_come))


def _page(view: SpeedView, rates: Rates, lacking: str, cells: int, glyphs: Glyphs) -> Lines:
    two = cells >= _TWO_BLOCKS
    costs = _block("A round, in medians", round_facts(view, rates), _ROUND if two else cells, glyphs)
    steps = _block("One step of each model", step_facts(view, rates), cells - _ROUND - 4 if two else cells, glyphs)
    return stacked(
        paragraph(slower(view), cells, glyphs, "warning") if view.slower else [],
        beside(costs, steps, _ROUND) if two else stacked(costs, steps),
        _block("Speedup over the target alone", speedup_facts(view, rates), cells, glyphs),
        paragraph(lacking, cells, glyphs, "warning"),
        curve_lines(view, cells, glyphs),
    )


def _block(title: str, rows: list[Fact], cells: int, glyphs: Glyphs) -> Lines:
    return [heading(title, glyphs), *facts(rows, cells, glyphs)]


def slower(view: SpeedView) -> str:
    by = "measured cost" if view.measured_cost is not None else "model"
    value = view.measured_cost if view.measured_cost is not None else view.model
    return f"Slower than the target alone: {times(value)} by {by}."


def unknown(view: SpeedView, drafter: str, yet: str, *, to_come: bool) -> str:
    """What cannot be told, and why; empty where everything can. ``to_come``: the models were to be timed."""
    if view.target_step_ms is None:
        why = "have not been timed" if to_come else "were not timed in this run (--calibrate 0)"
        return f"The models {why}: T_p, T_q and c are unknown, so no speedup and no best K can be told."
    if free := drafter_spec(drafter).free:
        return f"{free}: c has no value, so the model has no speedup and no best K."
    if view.c is None and view.draft_step_calibrated_ms is None:
        return "The draft's step was not timed: c is unknown, so the model has no speedup and no best K."
    if view.c is None:
        return "c = T_p / T_q is beyond counting with these times, so the model has no speedup and no best K."
    if view.model is None:
        return f"No draft was tested{yet}: without an α the model has no speedup and no best K."
    return ""


def round_facts(view: SpeedView, rates: Rates) -> list[Fact]:
    step = "" if view.draft_step_ms is None else f"{_ms(view.draft_step_ms)} a drafted token"
    return [
        Fact("draft", _ms(rates.draft_ms), words=step, style="measured"),
        Fact("verify", _ms(view.verify_ms), words=_verify_words(view), style="measured"),
        Fact("decide", _ms(view.decide_ms), words="accept, reject, resample", style="measured"),
        Fact("inspect", _ms(view.inspect_ms), words="for screen and trace: in no speed"),
    ]


def _verify_words(view: SpeedView) -> str:
    if view.verify_ms is None or not view.target_step_ms:
        return "a forward of the target"
    return f"a forward of the target, {view.verify_ms / view.target_step_ms:.2f} T_p"


def step_facts(view: SpeedView, rates: Rates) -> list[Fact]:
    at = "" if rates.at_length is None else f" at {rates.at_length} tokens, calibrated"
    paper = f"; the paper's c is 1/c, {1 / view.c:.2f}" if view.c else ""
    return [
        Fact("T_p", _ms(view.target_step_ms), words=f"target{at}"),
        Fact("T_q", _ms(view.draft_step_calibrated_ms), words=f"draft{at}"),
        Fact("c", fixed(view.c, 2), words=f"T_p / T_q{paper}"),
        *(
            Fact(
                f"T_verify({m})",
                _ms(time),
                words=f"median since round 2 at {m} ids" if m > 1 else "plain rounds since round 2",
            )
            for m, time in view.verify_times
        ),
    ]


def speedup_facts(view: SpeedView, rates: Rates) -> list[Fact]:
    k = "–" if view.k is None else str(view.k)
    best = "–" if view.best_k is None else f"{'≥ ' if view.best_k >= EDGE else ''}{view.best_k}"
    return [
        Fact(
            "model",
            times(view.model),
            words=f"E[N]·c / (c + K) at α tested {prob(rates.alpha_tested)} and K {k}.",
            style=_tone(view.model),
        ),
        Fact(
            "measured cost",
            times(view.measured_cost),
            words=f"T_p·tokens / (draft + verify + decide){_cost_words(rates)}",
            style=_tone(view.measured_cost),
        ),
        Fact("best K", best, words=_best_words(view), style="accent"),
        Fact(
            "break-even α",
            prob(view.break_even_alpha),
            words=_break_even_words(view),
        ),
        Fact("ceiling", times(view.ceiling), words="max(1, min(c, 1 / (1 − α))): more than this no K gives."),
    ]


def _cost_words(rates: Rates) -> str:
    """Rounds at another K have another cost: only those since K changed count."""
    first = rates.tokens_per_round_first
    return f" since round {first}, when K changed." if first > rates.first else ": by the times these rounds took."


def _break_even_words(view: SpeedView) -> str:
    if view.k == 0:
        return "none: at K 0 nothing is drafted."
    if view.break_even_alpha is None and view.c is not None and view.c < 1:
        return "none: a draft step is dearer than a target step, so no K helps."
    return f"the α that pays for drafting {'–' if view.k is None else view.k}: below it the target alone is faster."


def _best_words(view: SpeedView) -> str:
    if view.best_speedup is None:
        return "the K of the largest speedup by the model."
    if view.best_k == 0:
        return "do not speculate: no K is faster than the target alone at this α and c."
    return f"{times(view.best_speedup)}, the most by the model at this α and c."


def _tone(value: float | None) -> str:
    return "text" if value is None else "warning" if value < 1 else "good"


def _ms(value: float | None) -> str:
    if value is None:
        return "–"
    return "<0.01 ms" if 0 < value < 0.005 else f"{value:.2f} ms"
