"""The inspector as lines of cells for a given size: pure."""

from collections.abc import Collection, Sequence
from itertools import zip_longest

from specviz.core.events import Prompt, Round
from specviz.core.safe_text import clip, visible, width
from specviz.render.accept_line import number_bar, number_line
from specviz.render.cells import Line, beside, fit, padded, wrapped
from specviz.render.glyphs import Glyphs
from specviz.render.numbers import pluralised
from specviz.render.phases import RowStage, mark_of
from specviz.render.token_report import Fact, TokenReport, token_report
from specviz.render.top_lists import GAP, MAX_ROWS, TopList, draw_lists

NAME, VALUE, RAW = 9, 6, 6
"""Cells of a name, of its number, of the number before processing."""
_MAX_NAME = 16
_TALL = 20
"""Lines from which facts are below the lists, not beside them."""
_BROAD = 60
"""Cells from which on two columns have room."""
_MIN_ROWS = 3
_SENTENCES = 2
_FACT_COLUMN = 18
_BETWEEN = 2
"""Cells between the lists and the facts beside them."""
_TEXT_LINES = 6
_DRAWN_TOKEN = 24
_PROMPT_CELLS = 26


def report_lines(
    round: Round,
    row: int,
    cells: int,
    height: int,
    glyphs: Glyphs,
    special_ids: Collection[int] = frozenset(),
    known: RowStage = "decided",
) -> list[Line]:
    """The lines about row ``row`` of ``round``, none wider than ``cells``; more than ``height`` if need be."""
    subject = token_report(round, max(0, row), glyphs, known)
    draw = _Layout(subject, max(1, cells), height, glyphs, special_ids)
    lines = draw.columns() if height < _TALL and cells >= _BROAD else draw.stacked()
    return [padded(line, max(1, cells), ascii=glyphs.ascii) for line in lines]


def prompt_lines(prompt: Prompt, cells: int, glyphs: Glyphs, special_ids: Collection[int] = frozenset()) -> list[Line]:
    """The tokens of a prompt with their ids, in columns, read line by line."""
    cells = max(1, cells)
    if not prompt.tokens:
        return [padded([("the prompt is empty", "quiet")], cells, ascii=glyphs.ascii)]
    number = max(len(str(token.id)) for token in prompt.tokens)
    abreast = max(1, (cells + GAP) // (_PROMPT_CELLS + GAP))
    size = max(1, (cells - GAP * (abreast - 1)) // abreast)
    room = max(1, size - number - 1)
    entries: list[Line] = []
    for token in prompt.tokens:
        name = clip(visible(token.bytes, ascii=glyphs.ascii), room, ascii=glyphs.ascii)
        style = "special" if token.id in special_ids else "text"
        entries.append([(f"{token.id:>{number}} ", "head"), (name, style)])
    rows = [entries[start : start + abreast] for start in range(0, len(entries), abreast)]
    lines = [beside([[entry] for entry in row], [size] * len(row), GAP, ascii=glyphs.ascii)[0] for row in rows]
    return [padded(line, cells, ascii=glyphs.ascii) for line in lines]


class _Layout:
    """One token's parts put together, in one of two arrangements."""

    def __init__(
        self, subject: TokenReport, cells: int, height: int, glyphs: Glyphs, special_ids: Collection[int]
    ) -> None:
        self.subject = subject
        self.cells = cells
        self.height = height
        self.glyphs = glyphs
        self.special_ids = special_ids
        self.reserved = 1 + subject.replaces
        self.raw = any(has_raw(facts) for facts in subject.groups)

    def stacked(self) -> list[Line]:
        """Everything stacked, with blank lines between the parts where they fit."""
        subject, cells, ascii = self.subject, self.cells, self.glyphs.ascii
        title, cut = self._title(cells)
        abreast = max(1, min(3, (cells + GAP) // (_FACT_COLUMN + GAP)))
        tests = [subject.tests[start::abreast] for start in range(min(abreast, len(subject.tests)))]
        parts = [
            [title, *self._identity(), *(self._whole_text() if cut else [])],
            self._sentences(),
            number_line(subject.test, cells, self.glyphs) if subject.test else self._draws(),
            self._lists(subject.lists, cells, MAX_ROWS),
            draw_groups(subject.groups, cells, abreast, GAP, raw=self.raw, ascii=ascii),
            draw_groups(tests, cells, abreast, GAP, raw=self.raw, ascii=ascii),
            self._notes(),
        ]
        parts = [part for part in parts if part]
        spare = self.height - sum(len(part) for part in parts)
        lines: list[Line] = []
        for i, part in enumerate(parts):
            if i and spare > 0:
                lines.append([])
                spare -= 1
            lines += part
        raw = self._lists(subject.raw_lists, cells, MAX_ROWS)
        return [*lines, [], *raw] if raw else lines

    def columns(self) -> list[Line]:
        """The sentence on top, lists on the left, facts on the right."""
        subject, cells, ascii = self.subject, self.cells, self.glyphs.ascii
        title, cut = self._title(cells // 2)
        room = cells - sum(width(text) for text, _ in title) - 3
        title += [(f" {self.glyphs.dot} {text}", "head") for text in self._identity_texts(room)]
        test = [number_bar(subject.test, cells, self.glyphs)] if subject.test else self._draws()
        top = [title, *self._sentences(), *test]

        facts = [*subject.tests[:3], *_in_turn(subject.groups), *subject.tests[3:]]
        right = column_cells(self.raw)
        left = cells - right - _BETWEEN - 1
        rows = max(_MIN_ROWS, min(MAX_ROWS, self.height - len(top) - 1 - self.reserved))
        body = beside(
            [self._lists(subject.lists, left, rows), draw_column(facts, right, raw=self.raw, ascii=ascii)],
            [left, right],
            _BETWEEN,
            ascii=ascii,
        )
        return [*top, *body, *self._notes(), *(self._whole_text() if cut else [])]

    def _title(self, cells: int) -> tuple[Line, bool]:
        """Mark, token and verdict in about ``cells`` cells; whether the token had to be cut."""
        subject, ascii = self.subject, self.glyphs.ascii
        token = subject.token
        if token is None:
            return [("no further token", "strong")], False
        special = token.id in self.special_ids
        mark, word, tag = (
            f"{mark_of(subject.kind, self.glyphs)} ",
            f"  {subject.kind}",
            "  special token" if special else "",
        )
        whole = visible(token.bytes, ascii=ascii)
        name = clip(whole, max(1, cells - width(mark + word + tag)), ascii=ascii)
        style = "special" if special else f"name:{subject.kind}"
        kind = f"mark:{subject.kind}"
        return [(mark, kind), (name, style), (word, kind), (tag, "strong")], name != whole

    def _identity_texts(self, room: int) -> list[str]:
        token = self.subject.token
        if token is None:
            return []
        if token.id is None or token.bytes is None:
            return ["token not recorded"]
        identity = f"id {token.id}"
        return [identity, _hex(token.bytes, room - len(identity) - 3, self.glyphs)]

    def _identity(self) -> list[Line]:
        texts = self._identity_texts(self.cells)
        return [[(f" {self.glyphs.dot} ".join(texts), "head")]] if texts else []

    def _whole_text(self) -> list[Line]:
        """All of a token that the title had to cut, within reason."""
        token, ascii = self.subject.token, self.glyphs.ascii
        if token is None:
            return []
        name = clip(visible(token.bytes, ascii=ascii), _TEXT_LINES * self.cells, ascii=ascii)
        return [[(line, "text")] for line in wrapped(name, self.cells)[: _TEXT_LINES + 1]]

    def _sentences(self) -> list[Line]:
        lines: list[Line] = [
            [(line, style)] for text, style in self.subject.sentences for line in wrapped(text, self.cells)
        ]
        return lines + [[] for _ in range(_SENTENCES - len(lines))]

    def _draws(self) -> list[Line]:
        """What draft and target drew, one below the other."""
        ascii = self.glyphs.ascii
        names = [
            clip(visible(data, ascii=ascii), _DRAWN_TOKEN, ascii=ascii) if data is not None else ""
            for _, data, _ in self.subject.draws
        ]
        room = max(map(width, names), default=0)
        return [
            [(f"{who:<6} drew  ", "head"), (fit(name, room), "text"), ("" if id is None else f"  id {id}", "head")]
            for (who, _, id), name in zip(self.subject.draws, names, strict=True)
        ]

    def _lists(self, lists: Sequence[TopList], cells: int, rows: int) -> list[Line]:
        return draw_lists(lists, cells, self.glyphs, rows=rows, reserved=self.reserved, special_ids=self.special_ids)

    def _notes(self) -> list[Line]:
        """What the drafter noted, and what the numbers are."""
        subject = self.subject
        if not subject.groups:
            return []
        notes = [f" {self.glyphs.dot} ".join(subject.details)] if subject.details else []
        notes.append(f"{'raw: at temperature 1, no top-k or top-p; ' if self.raw else ''}entropies in nats")
        return [[(line, "quiet")] for note in notes for line in wrapped(note, self.cells)]


def _hex(data: bytes, room: int, glyphs: Glyphs) -> str:
    """How many bytes, and as many of them as fit ``room`` cells."""
    if not data:
        return "no bytes"
    count = pluralised(len(data), "byte")
    fitting = (room - len(count)) // 3
    if len(data) > fitting:
        fitting = max(0, fitting - 1)
    written = data[:fitting].hex(" ").upper() + ("" if len(data) <= fitting else f" {glyphs.ellipsis}")
    return f"{count} {written.strip()}"


def _in_turn(groups: Sequence[Sequence[Fact]]) -> list[Fact]:
    """The first of each group, then the second of each, and so on."""
    return [fact for row in zip_longest(*groups) for fact in row if fact is not None]


def has_raw(facts: Sequence[Fact]) -> bool:
    return any(fact.raw for fact in facts)


def column_cells(raw: bool) -> int:
    """Cells of a single column."""
    return NAME + VALUE + (RAW if raw else 0)


def draw_column(facts: Sequence[Fact], cells: int, *, raw: bool = False, ascii: bool = False) -> list[Line]:
    """One fact a line in ``cells`` cells; with ``raw`` there is room for a second number beside the first."""
    after = VALUE + (RAW if raw else 0)
    room = max(1, min(cells - after, _MAX_NAME))
    lines: list[Line] = []
    if has_raw(facts):
        lines.append([(" " * (room + VALUE), "text"), (f"{'raw':>{RAW}}", "head")])
    for fact in facts:
        name = fact.name if width(fact.name) <= room else fact.short_name or fact.name
        line: Line = [(fit(name, room, ascii=ascii), "head"), (f"{fact.value:>{VALUE}}", "text")]
        if raw:
            line.append((f"{fact.raw:>{RAW}}", "quiet"))
        lines.append(line)
    return lines


def draw_groups(
    groups: Sequence[Sequence[Fact]], cells: int, abreast: int, gap: int, *, raw: bool = False, ascii: bool = False
) -> list[Line]:
    """Columns of facts, ``abreast`` side by side, the others below."""
    size = max(1, (cells - gap * (abreast - 1)) // abreast)
    lines: list[Line] = []
    for start in range(0, len(groups), abreast):
        block = groups[start : start + abreast]
        columns = [draw_column(facts, size, raw=raw, ascii=ascii) for facts in block]
        lines += beside(columns, [size] * len(columns), gap, ascii=ascii)
    return lines
