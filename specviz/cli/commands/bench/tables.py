"""The tables of `specviz bench`: the measurements, then the speedups with their predictions and reasons."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from rich.box import Box

from specviz.bench.plan import MODEL
from specviz.bench.report import BenchReport, Measurement, Row, ScoredPrediction
from specviz.bench.samples import Spread
from specviz.cli.shared.terminal_output import room, stdout_console, stdout_table, stdout_text
from specviz.core.rule import rule_of
from specviz.core.safe_text import safe_terminal_text
from specviz.core.units import bytes_in_words

DASH = "–"
PLAIN_BOX = Box("    \n    \n -- \n    \n    \n -- \n    \n    \n", ascii=True)
"""SIMPLE in ASCII."""
ROOMY = 100
"""Terminal width from which columns have wider gaps."""
NUMBERS: list[tuple[str, Callable[[Measurement], Spread | None], bool]] = [
    ("tokens/s", lambda m: m.decoding_tokens_per_s, False),
    ("draft\nms/step", lambda m: m.draft_step_ms, False),
    ("verify\nms", lambda m: m.verify_ms, False),
    ("decide\nms", lambda m: m.decide_ms, False),
    ("α\ntested", lambda m: m.alpha_tested, True),
    ("α\noverlap", lambda m: m.alpha_overlap, True),
    ("tokens\n/round", lambda m: m.tokens_per_round, False),
]
"""(title, number, whether it is a rate)."""
POSITIONS = 4
"""Draft positions shown per drafter; twice as many on a wide terminal."""
SPEEDUPS = ("K", "speedup\nmeasured", "by the\nmodel", "\noff", "measured\ncost", "\noff")
FACTORS = {
    "acceptance": "α",
    "draft_lengths": "K_r",
    "dependence": "indep.",
    "draft_time": "draft",
    "verify_time": "verify",
    "decide_time": "decide",
    "plain_token": "plain",
    "unevenness": "uneven",
    "repeats": "rest",
}
"""Column titles of the factors."""
FACTORS_NOTE = (
    "α: acceptance differs on the measured prompts; K_r: rounds that drafted fewer than K; indep.: acceptance is not "
    "independent; draft, verify, decide: their times; plain: T_p compared with a plain token; uneven: means compared "
    "with medians; rest: medians of several repeats."
)


def print_report(report: BenchReport, config: Mapping[str, Any]) -> None:
    overlap = rule_of(config["rule"]).overlap_name
    titles = (title.replace("overlap", overlap) for title, _, _ in NUMBERS)
    print_lines([*heading(report, config), ""])
    print_numbers(["", *titles], measured_rows(report))
    if report.plan.drafters != (MODEL,):
        positions = min(report.plan.ks[-1], POSITIONS * (2 if room() >= ROOMY else 1))
        print_lines(["Drafters compared; α i: accepted / tested at draft position i."])
        print_numbers(drafter_titles(positions), drafter_rows(report, positions))
    print_numbers([*SPEEDUPS, "why, if more than 15 % off"], speedup_rows(report), text_last=True)
    if rows := factor_rows(report):
        print_lines(["Predicted / measured, split into factors:"])
        print_numbers(["", "all", *FACTORS.values()], rows)
        print_lines([FACTORS_NOTE])
    print_lines(notes(report))


def print_lines(lines: Iterable[str]) -> None:
    """Print lines, wrapped at words to the width of stdout."""
    for line in lines:
        stdout_console().print(stdout_text(line))


def print_numbers(titles: Sequence[str], rows: Sequence[Sequence[str]], *, text_last: bool = False) -> None:
    """Print a table and a blank line. The first column is left-aligned, and the last too with ``text_last``."""
    table = stdout_table(padding=(0, 0) if room() < ROOMY else (0, 1), ascii_box=PLAIN_BOX)
    for n, title in enumerate(titles):
        is_text = text_last and n == len(titles) - 1
        left = n == 0 or is_text
        table.add_column(stdout_text(title), justify="left" if left else "right", no_wrap=not is_text, overflow="fold")
    for cells in rows:
        table.add_row(*map(stdout_text, cells))
    stdout_console().print(table)
    print_lines([""])


def heading(report: BenchReport, config: Mapping[str, Any]) -> list[str]:
    """What was run, how the prompts were used, and the calibration."""
    plan, seed = report.plan, config["seed"]
    seeds = f"seed {seed}" if report.repeats == 1 else f"seeds {seed} to {seed + report.repeats - 1}"
    where = f"{config['device']} {config['dtype']} · {_count(config['threads'], 'thread')}"
    if compiled := config.get("compiled"):
        where = f"{where} · {'compiled' if len(compiled) > 1 else f'{compiled[0]} compiled'}"
    if config["draft_device"] != config["device"]:
        where = f"{where} · draft {config['draft_device']}"
    size = _count(plan.prompts, "prompt"), _count(config["max_new_tokens"], "token"), _count(report.repeats, "repeat")
    use = (
        "Predicted and measured on the same prompt."
        if plan.prompts == 1
        else f"Predicted from {_numbered(plan.calibration_prompts)}, measured on {_numbered(plan.test_prompts)}."
    )
    drafters = [str(config["draft"] if each == MODEL else each) for each in plan.drafters]
    return [
        safe_terminal_text(
            f"{', '.join(drafters)} > {config['target']} · {where} · T {config['temperature']:.2f} · {seeds}"
        ),
        f"{' × '.join(size)}, interleaved. {use}",
        " · ".join(calibrated(report)),
    ]


def calibrated(report: BenchReport) -> list[str]:
    """T_p, and T_q and c of each drafter."""
    steps = [f"T_p {_inline(report.target_step_ms, ' ms')}"]
    if len(report.steps) == 1:
        (only,) = report.steps
        return [*steps, f"T_q {_inline(only.draft_step_ms, ' ms')}", f"c {_inline(only.c, '')}"]
    drafting = [each for each in report.steps if each.draft_step_ms]
    return [*steps, *(f"T_q {each.drafter} {_inline(each.draft_step_ms, ' ms')}" for each in drafting)]


def measured_rows(report: BenchReport) -> list[list[str]]:
    """One row per configuration: its name, then the cells of NUMBERS."""
    named = [("target", report.target), ("draft", report.draft)]
    if MODEL not in report.plan.drafters:
        named.pop()
    named += [(_two_lines(report, row), row.measured_on) for row in report.rows]
    columns = [[name for name, _ in named]]
    for _, pick, is_rate in NUMBERS:
        values = [pick(measured) for _, measured in named]
        columns.append(stacked(values, is_rate=is_rate, quartiles=report.repeats > 1))
    return [list(cells) for cells in zip(*columns, strict=True)]


def drafter_titles(positions: int) -> list[str]:
    alphas = (f"α {i}" for i in range(1, positions + 1))
    return ["", *alphas, "tokens\n/round", "draft\nms/step", "c", "plain\nrounds", "speedup"]


def drafter_rows(report: BenchReport, positions: int) -> list[list[str]]:
    """One row per drafter and K, as medians: α tested at the first ``positions`` positions, tokens/round, ms per
    drafted token, c, plain rounds, measured speedup."""
    costs = {each.drafter: each.c for each in report.steps}
    return [
        [
            named(report, row),
            *(_median(rate, 2).removeprefix("0") for rate in [*row.positions, *[None] * positions][:positions]),
            _median(row.measured_on.tokens_per_round, 2),
            _median(row.measured_on.draft_step_ms, 3),
            _median(costs[row.drafter], 2),
            f"{row.plain_rounds}/{row.rounds}",
            _median(row.speedup, 2),
        ]
        for row in report.rows
    ]


def speedup_rows(report: BenchReport) -> list[list[str]]:
    """One row per K: K, measured, by the model and its error, by measured cost and its error, why."""
    measured = stacked([row.speedup for row in report.rows], quartiles=report.repeats > 1)
    return [
        [
            _two_lines(report, row).removeprefix("K "),
            cell,
            *_predicted(row.model),
            *_predicted(row.measured_cost),
            _why(row),
        ]
        for row, cell in zip(report.rows, measured, strict=True)
    ]


def factor_rows(report: BenchReport) -> list[list[str]]:
    """One row per prediction that is off by more than 15 %: its name, predicted / measured, and the factors."""
    return [
        [f"{named(report, row)} {name}", f"{scored.off:.2f}", *(f"{factor.value:.2f}" for factor in scored.factors)]
        for row in report.rows
        for name, scored in _predictions(row)
        if scored and scored.main_reason and scored.off is not None
    ]


def notes(report: BenchReport) -> list[str]:
    """The conclusion, then what the numbers mean."""
    lines = []
    if (best := report.fastest) and best.speedup:
        verdict = "Slower than the target alone at every K; the fastest" if best.slower else "Fastest"
        lines.append(f"{verdict}: {named(report, best)}, {best.speedup.median:.2f} × the target alone.")
    if report.repeats > 1:
        lines.append("Every number is the median over the repeats, with the quartiles below.")
    lines.append("off: predicted compared with measured. (×f): the error from that cause alone.")
    plain, step = report.target.token_ms, report.target_step_ms
    if plain:
        timed = (
            f"; T_p, which both predictions use instead, is a step without sampling: {step.median:.2f}" if step else ""
        )
        lines.append(
            f"Times cover decoding: draft + verify + decide. A plain token takes {plain.median:.2f} ms{timed}."
        )
    inspected = report.target.inspected_token_ms
    inspected_speedups = [(row, row.inspected_speedup) for row in report.rows]
    speedups = [f"{speedup.median:.2f} at {named(report, row)}" for row, speedup in inspected_speedups if speedup]
    if inspected and speedups:
        lines.append(
            f"With specviz inspecting every round, it takes {inspected.median:.2f} ms, and the speedup is "
            f"{', '.join(speedups)}."
        )
    return lines


def stacked(column: Sequence[Spread | None], *, is_rate: bool = False, quartiles: bool = True) -> list[str]:
    """The cells of a column, median above quartiles, with as many decimals as its largest number allows."""
    largest = max((abs(value.q3) for value in column if value), default=0.0)
    digits = 3 if is_rate else 2 if largest < 10 else 1 if largest < 100 else 0

    def figure(number: float) -> str:
        text = f"{number:.{digits}f}"
        return text.replace("-0.", "-.").removeprefix("0") if is_rate else text

    def cell(value: Spread | None) -> str:
        if value is None:
            return DASH
        below = f"\n{figure(value.q1)}–{figure(value.q3)}" if quartiles else ""
        return f"{figure(value.median)}{below}"

    return [cell(value) for value in column]


def named(report: BenchReport, row: Row) -> str:
    """``K 4``, or ``layers:2 K 4`` if there are several drafters."""
    return f"K {row.k}" if len(report.plan.drafters) == 1 else f"{row.drafter} K {row.k}"


def _two_lines(report: BenchReport, row: Row) -> str:
    """The same on two lines if there are two names."""
    return named(report, row).replace(" K ", "\nK ")


def _median(value: Spread | None, digits: int) -> str:
    return DASH if value is None else f"{value.median:.{digits}f}"


def _predictions(row: Row) -> tuple[tuple[str, ScoredPrediction | None], ...]:
    return ("model", row.model), ("cost", row.measured_cost)


def _predicted(scored: ScoredPrediction | None) -> tuple[str, str]:
    if scored is None:
        return DASH, DASH
    off = DASH if scored.off is None else f"{100 * (scored.off - 1):+.0f} %"
    return f"{scored.prediction.speedup:.2f}", off


def _why(row: Row) -> str:
    reasons = [f"{name}: {scored.main_reason}" for name, scored in _predictions(row) if scored and scored.main_reason]
    return "\n".join([*(["slower than the target alone"] if row.slower else []), *reasons])


def _inline(value: Spread | None, unit: str) -> str:
    return f"{value.median:.2f}{unit} [{value.q1:.2f} {value.q3:.2f}]" if value else DASH


def _numbered(prompts: range) -> str:
    first, last = prompts.start + 1, prompts.stop
    return f"prompt {first}" if first == last else f"prompts {first} to {last}"


def _count(n: int, what: str) -> str:
    return f"{n} {what}" if n == 1 else f"{n} {what}s"


def memory(peak: int | None) -> str:
    return DASH if peak is None else bytes_in_words(peak)


def memory_kind(config: Mapping[str, Any]) -> str:
    """What a peak of memory counts."""
    return "tensors on the GPU" if str(config["device"]).startswith("cuda") else "the whole process"
