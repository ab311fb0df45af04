"""The two status lines as pure functions: what is shown, in which words, and what goes first when room is shorter."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePath
from typing import Any, Literal

from specviz.core.drafters import drafter_spec
from specviz.core.events import End, Progress, Settings, Stage
from specviz.core.safe_text import clip, width
from specviz.maths.estimators import MIN_ROUNDS
from specviz.render.explanations import END_REASONS
from specviz.render.numbers import plus_minus, prob, speedup_text
from specviz.render.screen_text import literal
from specviz.stats.run_stats import LiveRates
from specviz.ui.run.playback import Mode, Playback
from specviz.ui.shared.app_options import AppOptions

Tone = Literal["plain", "strong", "quiet", "accent", "warning", "error"]

STAGES: dict[Stage, str] = {
    "files": "model files",
    "import": "libraries",
    "tokenizer": "tokenizer",
    "corpus": "n-gram corpus",
    "draft": "draft model",
    "target": "target model",
    "compiling": "compiling, for the first time a minute or more",
    "warm-up": "warm-up",
    "calibrating": "timing one step of each",
    "recording": "recorded rounds",
}
GAP = 2
FEW_TESTS = 30
"""A rate of fewer tests is shown with their number."""
DTYPES = {"float32": "fp32", "float16": "fp16", "bfloat16": "bf16"}


@dataclass(frozen=True, slots=True)
class StatusField:
    """A piece of a status line: its forms from longest to shortest, and its rank (low: the first to get room)."""

    forms: tuple[str, ...]
    rank: int
    tone: Tone = "plain"
    right: bool = False


def rate(value: float | None) -> str:
    """A number in [0, 1] in four cells, rounded to neither end."""
    if value is None:
        return "–   "
    return ">.99" if 0.9995 <= value < 1 else prob(value)


def interval(bounds: tuple[float, float] | None) -> str:
    low, high = bounds or (None, None)
    return f"[{rate(low)} {rate(high)}]"


def spread(mean: float | None, bounds: tuple[float, float] | None) -> str:
    """± the half width of an interval, measured on the side that was not clipped."""
    if mean is None or bounds is None:
        return "±–   "
    return f"±{rate(max(mean - bounds[0], bounds[1] - mean))}"


def number(value: float | None, digits: int = 2, width: int = 4) -> str:
    return "–".rjust(width) if value is None else f"{value:.{digits}f}".rjust(width)


def signed(value: float | None) -> str:
    return "   –" if value is None else plus_minus(value, 1).rjust(4)


def short_error(value: float | None) -> str:
    """± half the width of a 95 % interval, in four cells where that is below 1."""
    if value is None:
        return "±–  "
    text = f"{value:.2f}"
    return f"±{text[1:] if text.startswith('0') else text}"


def contradiction(rates: LiveRates) -> list[StatusField]:
    """A warning where acceptance contradicts the rule."""
    if not rates.contradicts:
        return []
    z = "" if rates.agreement_z is None else f"|z| {abs(rates.agreement_z):.1f} > 4, "
    return [StatusField((f"BUG: {z}acceptance contradicts its probability", f"BUG: {z or 'acceptance'}"), 0, "error")]


def speed_fields(rates: LiveRates) -> list[StatusField]:
    """The speedup by measured cost before the model's, and a verdict once there are rounds enough for one."""
    tone: Tone = "warning" if rates.slower else "strong" if rates.judgeable else "plain"
    measured = f"measured {speedup_text(rates.speedup_measured_cost)}".ljust(14)
    if rates.times_contradict:
        measured = "step times changed"
    elif not rates.judgeable:
        measured = f"measuring {rates.uncut_rounds}/{MIN_ROUNDS}".ljust(14)
    slow = "slower than the target alone"
    forms = (f"{measured.rstrip()}: {slow}", slow) if rates.slower else (measured,)
    return [
        StatusField(forms, 1 if rates.slower else 2, tone),
        StatusField((f"model {speedup_text(rates.speedup_model)}".ljust(11), ""), 6),
    ]


def rate_fields(rates: LiveRates) -> list[StatusField]:
    """The second line: the rates of the current segment, each under its own name."""
    few = f" = {rates.accepted}/{rates.tested}" if 0 < rates.tested < FEW_TESTS else ""
    tested = f"α tested {rate(rates.alpha_tested)}{few}"
    overlap = f"{rates.overlap_name} {rate(rates.alpha_overlap)}"
    tokens = f"tokens/round {number(rates.tokens_per_round)}"
    formula = f"formula {number(rates.formula_at_tested)} | {number(rates.formula_at_overlap)}"
    fields = [
        StatusField((f"{tested} {interval(rates.alpha_tested_ci)}", tested), 2, "strong"),
        StatusField((f"{overlap} {spread(rates.alpha_overlap, rates.alpha_overlap_ci)}", overlap, ""), 5),
        StatusField((f"{tokens} {short_error(rates.tokens_per_round_half_width)}", tokens, ""), 2, "strong"),
        StatusField((formula, ""), 7),
        StatusField((f"c {number(rates.c, 1, 3)}", ""), 7),
        *speed_fields(rates),
        *contradiction(rates),
        StatusField((f"z {signed(rates.agreement_z)}", ""), 4),
    ]
    if rates.first > 1:
        fields.insert(0, StatusField((f"since round {rates.first}", f"from {rates.first}"), 2, "accent"))
    return fields


@dataclass(frozen=True, slots=True)
class RunStatus:
    """What the first line shows of a run."""

    draft: str
    target: str
    device: str
    dtype: str
    rule: str
    seed: int | None
    shown: Settings
    next: Settings
    pace: float
    mode: Mode
    is_live: bool
    index: int
    total: int
    progress: Progress | None
    ready: bool
    end: End | None
    failed: bool
    draft_device: str = ""
    draft_dtype: str = ""
    phase: int | None = None
    """The phase the round is shown up to, 1-based; None where it is shown whole."""
    hits: tuple[str, ...] = ()
    """The breakpoints that the round shown hits, as text."""
    expected_rounds: int | None = None
    """The likely number of rounds of a recording while it is being read."""
    timing: bool = False
    """Whether the models are being timed between two rounds."""


def run_status(playback: Playback, options: AppOptions) -> RunStatus:
    """What the first line shows of the run as it is now."""
    timeline, capabilities = playback.timeline, playback.capabilities
    config: Mapping[str, Any] = timeline.header.config if timeline.header else {}

    def known(key: str, before: str = "") -> str:
        value = config.get(key)
        return before if value is None else str(value)

    shown = timeline.settings or playback.request.settings
    return RunStatus(
        draft=drafter_spec(shown.drafter).label(config, options.draft),
        target=known("target", options.target),
        device=known("device"),
        dtype=known("dtype"),
        rule=known("rule", shown.rule),
        seed=playback.request.seed if capabilities.can_restart else config.get("seed"),
        shown=shown,
        next=playback.settings if capabilities.can_change_settings and timeline.at_end else shown,
        pace=playback.pace,
        mode=playback.mode,
        is_live=capabilities.is_live,
        index=timeline.shown,
        total=timeline.total,
        progress=timeline.progress,
        ready=timeline.ready,
        end=timeline.end if timeline.reveal is None else None,
        failed=timeline.failed is not None,
        draft_device=known("draft_device"),
        draft_dtype=known("draft_dtype"),
        phase=timeline.phase[0] + 1 if timeline.reveal else None,
        hits=playback.monitor.hit(timeline.shown) if timeline.reveal is None else (),
        expected_rounds=timeline.expected_rounds,
        timing=timeline.timing,
    )


def run_fields(view: RunStatus) -> list[StatusField]:
    """The first line: the pair, the settings, and the position in the run."""
    target, draft = computing(view.device, view.dtype), computing(view.draft_device, view.draft_dtype)
    where = f"{draft} > {target}" if draft and draft != target else target
    return [
        StatusField(("specviz", ""), 9, "accent"),
        StatusField((*pair_names(view.draft, view.target), ""), 4),
        StatusField((where, ""), 6, "quiet"),
        StatusField((f"rule {literal(view.rule)}", ""), 7, "quiet"),
        *drafting(view.shown.drafter, view.next.drafter),
        changing("K", draft_length(view.shown), "auto" if view.next.k_auto else f"{view.next.k}"),
        changing("T", temperatures(view.shown), temperatures(view.next)),
        *([StatusField((f"seed {view.seed}",), 2)] if view.seed is not None else []),
        StatusField((pace(view.pace), ""), 5, "quiet"),
        *state(view),
    ]


def computing(device: str, dtype: str) -> str:
    """Device and dtype of a model."""
    return " ".join(filter(None, (literal(device), DTYPES.get(dtype, literal(dtype)))))


def draft_length(settings: Settings) -> str:
    return f"auto {settings.k}" if settings.k_auto else f"{settings.k}"


def changing(name: str, now: str, then: str) -> StatusField:
    if now.split()[0] == then:
        return StatusField((f"{name} {now}",), 1)
    return StatusField((f"{name} {now}→{then} next", f"{name} {now}→{then}"), 1, "accent")


def drafting(now: str, then: str) -> list[StatusField]:
    """The change of drafter, if one is pending; the current one is named before the target."""
    if now == then:
        return []
    field = changing("drafter", literal(now), literal(then))
    return [replace(field, forms=(*field.forms, f"→{literal(then)}"))]


def temperatures(settings: Settings) -> str:
    if settings.draft_temperature == settings.temperature:
        return f"{settings.temperature:.2f}"
    return f"{settings.temperature:.2f}/{settings.draft_temperature:.2f}"


def pace(seconds: float) -> str:
    return "full speed" if seconds == 0 else f"pace {seconds:g} s"


def pair_names(draft: str, target: str) -> tuple[str, ...]:
    """draft > target, in full and by their last parts."""
    full = f"{literal(draft)} > {literal(target)}" if draft else literal(target)
    if draft.startswith("bundled:") and target.startswith("bundled:"):
        return full, "bundled pair"
    names = [clip(literal(PurePath(name).name or name), 18) for name in (draft, target) if name]
    shorter = " > ".join(names)
    return (full, shorter) if len(shorter) < len(full) else (full,)


def state(view: RunStatus) -> list[StatusField]:
    """The state of the run, the round, and the key to the newest one."""
    at_end = view.index == view.total
    known_total = not at_end or view.end is not None or not view.is_live
    place = f"round {view.index} of {view.total}" if known_total else f"round {view.index}"
    word: str
    tone: Tone = "strong"
    if view.failed and at_end:
        word, tone = "FAILED", "error"
    elif not view.ready and not view.total:
        word, place = loading(view.progress), ""
    elif view.mode == "running":
        word, tone = "running", "accent"
    elif view.mode == "playing":
        word, tone = "playing", "accent"
    elif view.end is not None and at_end:
        word = f"ended: {END_REASONS[view.end.reason]}"
    else:
        word = "PAUSED"
    fields = [StatusField((word,), 0, tone, right=True)]
    if view.expected_rounds is not None:
        read = f"reading {view.total:,} of {view.expected_rounds:,}"
        fields.insert(
            0,
            StatusField(
                (read, f"reading {100 * view.total // max(1, view.expected_rounds)} %"), 0, "accent", right=True
            ),
        )
    if view.timing:
        fields.insert(0, StatusField(("timing steps", "timing", ""), 1, "accent", right=True))
    if view.hits:
        said = literal(", ".join(view.hits))
        fields.insert(
            0, StatusField((f"break: {said}", f"break: {clip(said, 24)}", f"break: {clip(said, 12)}"), 1, "accent")
        )
    if view.phase:
        place = f"{place}, phase {view.phase}"
    if place:
        fields.append(StatusField((place,), 0, right=True))
    if not at_end and view.mode == "paused":
        fields.append(StatusField(("G: end", ""), 3, "quiet", right=True))
    return fields


def loading(progress: Progress | None) -> str:
    return "starting" if progress is None else f"loading {STAGES[progress.stage]}"


def chosen(fields: Sequence[StatusField], cells: int) -> list[tuple[StatusField, str]]:
    """The longest forms that fit into ``cells``, granted in the order of rank, kept in the order given."""
    forms = {index: field.forms[-1] for index, field in enumerate(fields)}

    def used() -> int:
        shown = [width(form) for form in forms.values() if form]
        return sum(shown) + GAP * (len(shown) - 1)

    for index in sorted(forms, key=lambda i: fields[i].rank):
        for form in fields[index].forms:
            before = forms[index]
            forms[index] = form
            if used() <= cells:
                break
            forms[index] = before
    return [(fields[index], form) for index, form in forms.items() if form]


def spaced(fields: Sequence[StatusField], cells: int) -> list[tuple[str, Tone]]:
    """The line as (text, tone) runs: fields of the right side pushed to the right edge."""
    runs: list[tuple[str, Tone]] = []
    picked = chosen(fields, cells)
    total = sum(width(form) for _, form in picked) + GAP * (len(picked) - 1)
    pushed = False
    for index, (field, form) in enumerate(picked):
        if index:
            slack = max(0, cells - total) if field.right and not pushed else 0
            runs.append((" " * (GAP + slack), "plain"))
        pushed = pushed or field.right
        runs.append((form, field.tone))
    return runs
