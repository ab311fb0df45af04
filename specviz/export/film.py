"""A run as a film of text frames: the draft of each round, then its decisions."""

from collections.abc import Iterator
from dataclasses import dataclass

from specviz.core.events import Drafted, Round
from specviz.core.safe_text import clip, visible, width
from specviz.export.ansi_svg import Line, Part, cut
from specviz.export.report import Recording
from specviz.export.text import text_lines
from specviz.render import word_wrap
from specviz.render.explanations import default_row, explain, is_greedy, title
from specviz.render.glyphs import SIGNS, UNICODE
from specviz.render.numbers import distinguishing_digits, fixed, prob, ratio
from specviz.render.transcript import Transcript
from specviz.render.transcript_layout import TranscriptView
from specviz.stats.rates import Rates

MIN_COLUMNS, MIN_ROWS = 60, 18
_DRAFTING = 0.35
"""Share of a round's time that shows only its draft."""
_LAST = 3.0
"""Duration of the last frame, in rounds."""
_MIN_TEXT = 5
_FIXED = 9
"""Lines that are neither text nor rows of the table."""
_TOKEN = 18


@dataclass(frozen=True, slots=True)
class Frame:
    """``share``: its duration, in rounds."""

    share: float
    lines: tuple[Line, ...]


def frames(run: Recording, columns: int, rows: int) -> Iterator[Frame]:
    """Frames of exactly ``rows`` lines, none wider than ``columns`` cells: the prompt, two per round, the end."""
    film = _Film(run, columns, rows)
    yield film.frame(1.0, 0, None, drafting=False)
    for round in run.trace.rounds:
        if round.k:
            yield film.frame(_DRAFTING, round.index - 1, round, drafting=True)
        film.view.transcript.append(round)
        yield film.frame(1.0 - _DRAFTING if round.k else 1.0, round.index, round, drafting=False)
    yield film.ending()


class _Film:
    def __init__(self, run: Recording, columns: int, rows: int) -> None:
        self._run = run
        self._columns = columns
        self._rows = rows
        self._table = max(1, min(run.depth + 1, rows - _FIXED - _MIN_TEXT))
        transcript = Transcript(run.trace.header.prompt, frozenset(run.special_ids))
        self.view = TranscriptView(transcript, UNICODE, columns - 2)

    def frame(self, share: float, shown: int, round: Round | None, *, drafting: bool) -> Frame:
        self.view.show_round(shown, None)
        text = [_indented(self.view.line(y)) for y in range(max(0, self.view.count - self._rows), self.view.count)]
        return self._compose(share, shown, text, self._round(round, drafting))

    def ending(self) -> Frame:
        """The end of the text without dropped drafts, and the key numbers."""
        lines: list[Line] = [[("The run as recorded", "strong"), (f": {self._run.ended}", "text")]]
        lines += [[(f"{number.label:<22}{number.value:>7}  {number.spread}", "text")] for number in self._run.headline]
        text: list[Line] = [[(" ", "text"), *line] for line in text_lines(self._run.trace, self._columns - 2)]
        return self._compose(_LAST, len(self._run.trace.rounds), text, lines)

    def _compose(self, share: float, shown: int, text: list[Line], below: list[Line]) -> Frame:
        above = [self._names(shown), _rates(self._run.stats.segment_rates(shown), self._columns), []]
        below = below[: self._table + 4]
        below += [[] for _ in range(self._table + 4 - len(below))]
        below.append(_legend())
        room = self._rows - len(above) - len(below) - 1
        text = text[-room:] + [[] for _ in range(room - len(text))]
        lines = [*above, *text, [], *below]
        return Frame(share, tuple(cut(line, self._columns) for line in lines))

    def _names(self, shown: int) -> Line:
        total = len(self._run.trace.rounds)
        position = f"round {shown} of {total} "
        name = clip(f" {self._run.title}", self._columns - len(position) - 1)
        return [(name, "strong"), (" " * (self._columns - width(name) - len(position)) + position, "head")]

    def _round(self, round: Round | None, drafting: bool) -> list[Line]:
        if round is None:
            return [[(" the prompt, before the first round", "quiet")]]
        heading = f"Round {round.index} · drafted {round.k}, not verified yet" if drafting else title(round)
        lines: list[Line] = [[(f" {heading}", "strong")], [(_HEAD, "head")]]
        for row in range(min(round.k, self._table)):
            lines.append(_drafted(round, row, drafting))
        if not drafting and (last := round.correction) and len(lines) < self._table + 2:
            mark = UNICODE.mark(last.origin)
            lines.append([("    ", "text"), (f"{mark} {_name(last.bytes)}", last.origin), *_last(last.p)])
        lines += [[] for _ in range(self._table + 2 - len(lines))]
        if not drafting:
            lines += [[(f" {line}", "text")] for line in explain(round, default_row(round)).split("\n")[:2]]
        return lines


_HEAD = f"  i   {'token':<{_TOKEN}}      q      p    p/q  overlap   test"


def _drafted(round: Round, row: int, drafting: bool) -> Line:
    d = round.drafted[row]
    number: Part = (f" {row + 1:>2} ", "head")
    if drafting:
        return [number, (f"  {_name(d.bytes)}", "text"), (f"  {prob(d.q):>5}", "text")]
    mark, name = UNICODE.mark(d.verdict), _name(d.bytes)
    blank = name[len(name.rstrip()) :]
    numbers = f"  {prob(d.q):>5}  {prob(d.p):>5}  {ratio(d.p, d.q):>5}  {prob(d.overlap):>7}   {_test(round, d)}"
    return [number, (f"{mark} ", _plain(d.verdict)), (name.rstrip(), d.verdict), (blank + numbers, "text")]


def _last(p: float | None) -> Line:
    return [(f"      –  {prob(p):>5}", "text")]


def _test(round: Round, d: Drafted) -> str:
    if d.verdict in ("untested", "ignored"):
        return d.verdict
    if is_greedy(round) or d.test is None:
        return d.verdict
    u, chance = distinguishing_digits(*d.test)
    return f"u {u} {'<' if d.test[0] < d.test[1] else '≥'} {chance}"


def _plain(kind: str) -> str:
    """The style of a mark, which is never struck through."""
    return "text" if kind == "rejected" else kind


def _name(data: bytes | None) -> str:
    text = clip(visible(data), _TOKEN)
    return text + " " * (_TOKEN - width(text))


def _rates(rates: Rates, columns: int) -> Line:
    """The rates as of a round, as many as fit."""
    interval = f" [{prob(rates.alpha_tested_ci[0])} {prob(rates.alpha_tested_ci[1])}]" if rates.alpha_tested_ci else ""
    text = ""
    for part in (
        f" α tested {prob(rates.alpha_tested)}{interval:<12}",
        f"  overlap {prob(rates.alpha_overlap):>4}",
        f"  tokens/round {fixed(rates.tokens_per_round, 2):>4}",
        f"  formula {fixed(rates.formula_at_tested, 2):>4} | {fixed(rates.formula_at_overlap, 2)}",
    ):
        text += part if width(text + part) <= columns else ""
    return [(text, "text")]


def _legend() -> Line:
    parts: list[Part] = [(" ", "text")]
    for sign in SIGNS:
        if sign.kind != "prompt":
            parts += [(sign.unicode, _plain(sign.kind)), (f" {sign.kind}  ", "head")]
    return parts


def _indented(line: word_wrap.SpanLine) -> Line:
    return [
        (" ", "text"),
        *((span.text, _plain(span.kind) if span.role.endswith("mark") else span.kind) for span in line),
    ]
