"""Results of a benchmark: the best K of each drafter, and the cost of a round outside its forward passes."""

from collections.abc import Mapping
from typing import Any

from specviz.bench.report import BenchReport, BestK, ChosenK
from specviz.bench.samples import RoundCost
from specviz.cli.commands.bench.tables import DASH, memory, memory_kind, named, print_lines, print_numbers, stacked
from specviz.core.options import MAX_K
from specviz.maths.formula_table import best_k_label

BEST = ("best K", "measured", "by measured cost", "by the model", "at α", "at c")
COSTS = ("", "round\nms", "forwards\nms", "share\noutside", "peak\nmemory")


def print_verdicts(report: BenchReport, config: Mapping[str, Any]) -> None:
    costs = cost_rows(report)
    if any(cell != DASH for cells in costs for cell in cells[1:]):
        print_lines([""])
        print_numbers(COSTS, costs)
        print_lines(cost_notes(config))
    print_lines([""])
    print_numbers(BEST, list(map(best_row, report.best)))
    print_lines(best_notes(report))


def cost_rows(report: BenchReport) -> list[list[str]]:
    """One row for the target alone and for each drafter and K, the cells under COSTS."""
    named_costs = [
        ("target", report.cost, report.peak),
        *((named(report, row), row.cost, row.peak) for row in report.rows),
    ]
    costs = [cost or RoundCost(None, None, None) for _, cost, _ in named_costs]
    quartiles = report.repeats > 1
    columns = [
        [name for name, _, _ in named_costs],
        stacked([cost.round_ms for cost in costs], quartiles=quartiles),
        stacked([cost.forwards_ms for cost in costs], quartiles=quartiles),
        stacked([cost.outside for cost in costs], is_rate=True, quartiles=quartiles),
        [memory(peak) for _, _, peak in named_costs],
    ]
    return [list(cells) for cells in zip(*columns, strict=True)]


def cost_notes(config: Mapping[str, Any]) -> list[str]:
    return [
        "round: overhead included, on one of the measured prompts per repeat; forwards: the forward passes of the same "
        f"rounds alone; share outside: the rest. Peak memory: {memory_kind(config)}, with all models loaded."
    ]


def best_row(best: BestK) -> list[str]:
    return [
        str(best.drafter),
        *map(_choice, (best.measured, best.measured_cost, best.model)),
        DASH if best.alpha is None else f"{best.alpha:.3f}".removeprefix("0"),
        DASH if best.c is None else f"{best.c:.2f}",
    ]


def best_notes(report: BenchReport) -> list[str]:
    ks = ", ".join(map(str, report.plan.ks))
    notes = [
        f"Measured and by measured cost: among K = {ks}; by the model: among K = 0 to {MAX_K}, with α pooled over K."
    ]
    choices = (each for best in report.best for each in (best.measured, best.measured_cost, best.model))
    if any(choice and choice.k == 0 for choice in choices):
        notes.append("0: do not speculate; the target alone is at least as fast.")
    return notes


def _choice(choice: ChosenK | None) -> str:
    return DASH if choice is None else f"{best_k_label(choice.k)} ({choice.speedup:.2f}×)"
