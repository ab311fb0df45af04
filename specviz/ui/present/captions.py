"""The texts of a presentation: one sentence per phase, a few numbers, and its keys."""

from typing import NamedTuple

from specviz.core.events import Drafted, End, Round
from specviz.core.rule import rule_of
from specviz.core.safe_text import clip, width
from specviz.render.explanations import END_REASONS, PLAIN_REASONS, end_text, is_greedy
from specviz.render.glyphs import UNICODE, Glyphs
from specviz.render.numbers import distinguishing_digits, fixed, pluralised, prob
from specviz.render.phases import Reveal, focus_row
from specviz.render.screen_text import literal
from specviz.stats.rates import LiveRates
from specviz.ui.main.actions import RunActions
from specviz.ui.run.status_line import GAP, StatusField, Tone
from specviz.ui.shared.keys import Key

PHASE_PACE = 0.5
"""Seconds between two phases where the user named none."""

_LONGEST, _SHORTEST = 152, 12
"""Cells that external text is cut to."""
_FAR, _ROOMY = 8, 80
"""Most cells between two numbers; cells of a line on which every name is written out."""
_NAME_CELLS, _MIN_NAME = 30, 12
# fmt: off
PRESENT_KEYS: dict[str, tuple[Key[RunActions], ...]] = {
    "Reveal": (
        Key("phase(1)", ("pagedown", "right"), "pgdn →", "next phase", "Draft, verification, verdicts, last token"),
        Key("phase(-1)", ("pageup", "left"), "pgup ←", "previous phase", "One phase back"),
        Key("play", ("space",), "space", "run / pause", "Phase by phase at the current pace"),
        Key("pace(1)", ("left_parenthesis",), "(", "slower", "Wait longer on each phase; measured times exclude it"),
        Key("pace(-1)", ("right_parenthesis",), ")", "faster", "Wait less on each phase"),
    ),
    "Rounds": (
        Key("forward", ("n",), "n", "next round", "Show the whole round"),
        Key("back", ("p",), "p", "previous round", "Show the whole round"),
        Key("first", ("g", "home"), "g", "from the start", "Back to the prompt"),
        Key("prompt({key})", tuple("123456789"), "1…9", "prepared run", "Another prompt or recorded run",
            lambda s: s.can_choose(1)),
    ),
    "Screen": (
        Key("theme", ("t",), "t", "next theme", "Preview and choose a theme"),
        Key("export", ("x",), "x", "picture", "Save the screen as SVG and as text"),
        Key("present", ("z",), "z", "main screen", "All the numbers; z returns here"),
        Key("close", ("escape",), "esc", "main screen", "Only if the presentation was opened from there"),
        Key("help", ("question_mark",), "?", "keys", "All keys"),
        Key("quit", ("q",), "q", "back, or quit", "Back if opened from the main screen, otherwise quit"),
    ),
}
# fmt: on


class Caption(NamedTuple):
    """What happens, and the numbers it happens by; ``by_short``, ``said_short``: the same, shorter and shorter."""

    said: str
    by: str = ""
    by_short: tuple[str, ...] = ()
    said_short: tuple[str, ...] = ()


def caption(round: Round, reveal: Reveal | None, glyphs: Glyphs = UNICODE) -> Caption:
    """``Rejected``, ``u .77 is not below .14``: the phase for people who see it for the first time."""
    if reveal is None or reveal.last:
        return _last(round, glyphs)
    if not reveal.verified:
        return Caption("The draft proposes", f"{reveal.drafted} of {round.k}")
    if reveal.decided:
        return _test(round, focus_row(round, reveal))
    if round.k:
        by, *shorter = _rule(round)
        said = f"The target reads {'it' if round.k == 1 else f'all {round.k}'} in one pass"
        return Caption(said, by, tuple(shorter))
    why = PLAIN_REASONS[round.plain_reason] if round.plain_reason else ""
    return Caption("No draft: the target alone", why, (why.removeprefix("the "),))


def _rule(round: Round) -> tuple[str, ...]:
    if is_greedy(round):
        return "kept if it is the target's own first choice", "kept: its own first choice", "first choices kept"
    return rule_of(round.settings.rule).captions


def _test(round: Round, row: int) -> Caption:
    drafted = round.drafted[row]
    said = "Accepted" if drafted.verdict == "accepted" else "Rejected"
    return Caption(said, _why(round, drafted))


def _why(round: Round, drafted: Drafted) -> str:
    kept = drafted.verdict == "accepted"
    if is_greedy(round):
        return f"it is {'' if kept else 'not '}the target's first choice"
    if rule_of(round.settings.rule).test == "sample":
        return f"the target drew {'the same' if kept else 'another'}"
    if drafted.test is None:
        return ""
    u, chance = distinguishing_digits(*drafted.test)
    return f"u {u} is {'' if kept else 'not '}below {chance}"


def _last(round: Round, glyphs: Glyphs) -> Caption:
    last = round.correction
    if last is None:
        return Caption("The text ends inside the draft", END_REASONS[round.stop] if round.stop else "")
    gained = pluralised(round.n_emitted, "token")
    by = f"{gained} from one pass", (gained, f"+{round.n_emitted}")
    if last.origin == "bonus":
        what = "It was accepted" if round.k == 1 else f"All {round.k} were accepted"
        return Caption(f"{what}, so one more is free", *by)
    if last.origin == "resampled":
        how = "the target's first choice" if is_greedy(round) else f"drawn from max(0, p {glyphs.minus} q)"
        return Caption(f"Replaced: {how}", *by)
    return Caption("Sampled by the target", *by)


def pair(draft: str, target: str, doing: str) -> Caption:
    """Before the first round: who takes part."""
    said = [_pair(draft, target, cells) for cells in range(_NAME_CELLS, _MIN_NAME - 1, -1)]
    return Caption(said[0], doing, said_short=tuple(said[1:]))


def _pair(draft: str, target: str, cells: int) -> str:
    draft, target = (clip(literal(name), cells, count=False) for name in (draft, target))
    return f"{draft} proposes, {target} decides" if draft else target


def at_the_end(end: End, glyphs: Glyphs = UNICODE) -> Caption:
    return Caption("End", end_text(end, glyphs))


def caption_fields(shown: Caption, *, tone: Tone = "strong", ascii: bool = False) -> list[StatusField]:
    fields = [StatusField((shown.said, *shown.said_short), 0, tone)]
    if shown.by:
        said = shown.by, *shown.by_short
        forms = said if shown.by_short else _cut(shown.by, ascii)
        fields.append(StatusField((*forms, ""), 1, "quiet"))
    return fields


def title_fields(title: str, where: str, *, ascii: bool = False) -> list[StatusField]:
    """The speaker's own line, and the round at its other end."""
    return [StatusField(_cut(literal(title), ascii), 1, "accent"), StatusField((where,), 0, "quiet", right=True)]


def _cut(text: str, ascii: bool) -> tuple[str, ...]:
    """External text, from whole to shortest."""
    shorter = range(min(width(text), _LONGEST) - 1, _SHORTEST, -1)
    return text, *(clip(text, cells, ascii=ascii, count=False) for cells in shorter)


def figure_fields(rates: LiveRates, cells: int, glyphs: Glyphs = UNICODE) -> list[StatusField]:
    """The numbers of a presentation on a line of ``cells``, always in the same positions; a speedup only where the
    models were timed, and the formula only where it fits beside it."""
    none = glyphs.none
    figures = [
        (f"{glyphs.alpha} tested", prob(rates.alpha_tested, none=none).ljust(4)),
        ("tokens/round", fixed(rates.tokens_per_round, 2, none).ljust(5)),
        ("formula", fixed(rates.formula_at_tested, 2, none).ljust(5)),
    ]
    speedups = [("measured", rates.speedup_measured_cost), ("model", rates.speedup_model)]
    if rates.target_step_ms is not None:
        roomy = "speedup, " if cells >= _ROOMY else ""
        for name, value in speedups:
            figures.append((roomy + name, (none if value is None else f"{value:.2f}{glyphs.times}").ljust(5)))

    def taken() -> int:
        return sum(len(name) + len(value) + 2 * GAP for name, value in figures)

    last, formula = figures[-1], figures[2]
    for spare in (last, formula):
        if cells and spare in figures and taken() - GAP > cells:
            figures.remove(spare)
    gap = " " * max(0, min(_FAR, (cells - taken()) // len(figures)))
    return [
        field
        for name, value in figures
        for field in (StatusField((name,), 0, "quiet"), StatusField((f"{value}{gap}",), 0, "strong"))
    ]
