"""The text of a run as wrapped lines: emitted tokens, and the shown round with its dropped drafts."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Literal

from specviz.core.events import Emitted, Round
from specviz.core.safe_text import TextDecoder, visible
from specviz.render.explanations import ngram_source
from specviz.render.glyphs import Glyphs
from specviz.render.phases import WAITING, Reveal, mark_of, row_stage
from specviz.render.transcript import RoundText, Transcript
from specviz.render.transcript_pages import PageLayout, PageLines, TextPage
from specviz.render.word_wrap import Flow, Span, SpanLine

_LOST = "\ufffd"
_LAYOUTS = 2
"""Cached widths: toggling a panel switches the text between two."""

CopyRole = Literal["copied", "matched"]
"""Of an earlier token: it is the one that was drafted again, or belongs to the match before it."""
NO_SOURCE: Mapping[tuple[int, int], CopyRole] = MappingProxyType({})


class TranscriptView:
    """A transcript laid out page by page; showing a round lays out that round alone. A mark replaces a token's leading
    space, or precedes a token without one."""

    def __init__(self, transcript: Transcript, glyphs: Glyphs, width: int) -> None:
        self.transcript = transcript
        self._glyphs = glyphs
        self._newline = visible(b"\n", ascii=glyphs.ascii)
        self._layouts: dict[int, PageLayout] = {}
        self._revision = transcript.revision
        self._cached_round: tuple[int, Round] | None = None
        self.shown = self._base = 0
        self.wrap(width)

    def wrap(self, width: int) -> None:
        """Lay the text out for ``width`` cells, or reuse the cached layout of that width."""
        width = max(1, width)
        known = width in self._layouts
        self._layout = self._layouts.pop(width) if known else PageLayout(width, self.transcript.pages, self._lay_page)
        self._layouts[width] = self._layout
        if len(self._layouts) > _LAYOUTS:
            del self._layouts[next(iter(self._layouts))]
        self.show_round(0, None)

    @property
    def width(self) -> int:
        return self._layout.width

    def show_round(self, shown: int, row: int | None, reveal: Reveal | None = None) -> int:
        """Show the text as of round ``shown`` (0: the prompt), with ``reveal`` only what that phase shows of it.
        Returns the first line that may have changed."""
        texts = self.transcript.round_texts
        if self._revision != self.transcript.revision:
            self._revision = self.transcript.revision
            self._layouts.clear()
            self.wrap(self.width)
        before = self._base
        self.shown = shown = max(0, min(shown, len(texts)))
        number = self.transcript.page_of(shown)
        moved = self._layout.measure_pages(number - 1, number - 1)
        place = max(0, shown - 1 - self.transcript.pages[number].first)
        self._start = number, self._layout.page(number).places[place]
        self._base = self._layout.base(number) + self._start[1].lines
        self._tail = Flow(self.width, self._start[1])
        if shown:
            self._lay_shown(texts[shown - 1], row, reveal)
        return 0 if moved else min(before, self._base)

    def measure_pages(self, top: int, bottom: int) -> int:
        """Lay out the pages between two lines and the one before, whose lengths were estimates. Returns the number of
        lines by which the text at ``bottom`` moved down."""
        current = self._start[0]
        last = min(self._layout.at(bottom), current)
        base = self._layout.base(last)
        if not self._layout.measure_pages(self._layout.at(top) - 1, min(last, current - 1)):
            return 0
        self._base = self._layout.base(current) + self._start[1].lines
        return self._layout.base(last) - base

    @property
    def count(self) -> int:
        """Lines of the text as shown."""
        return self._base + len(self._tail.lines) + bool(self._tail.open)

    def line(self, y: int) -> SpanLine:
        if y < 0 or y >= self.count:
            return ()
        if y < self._base:
            number = min(self._layout.at(y), self._start[0])
            return self._layout.page(number).line(y - self._layout.base(number))
        y -= self._base
        return self._tail.lines[y] if y < len(self._tail.lines) else self._tail.open

    def source(self, row: int | None) -> Mapping[tuple[int, int], CopyRole]:
        """The (round, row) of the tokens that drafted token ``row`` of the shown round was copied from."""
        if not self.shown or row is None or row >= self.transcript.round_texts[self.shown - 1].k:
            return NO_SOURCE
        place = ngram_source(self._round.drafted[row], row)
        if place is None or place.source != "text":
            return NO_SOURCE
        parts: dict[tuple[int, int], CopyRole] = {}
        for position in range(place.start, place.at + 1):
            if token := self.transcript.token_at(position):
                parts[token] = "copied" if position == place.at else "matched"
        return parts

    def find(self, round: int, row: int) -> tuple[int, int, int] | None:
        """(first line, last line, column on the first) of a token of the shown round."""
        found: tuple[int, int, int] | None = None
        for y in range(self._base, self.count):
            x = 0
            for span in self.line(y):
                if span.round == round and span.row == row:
                    found = (found[0], y, found[2]) if found else (y, y, x)
                x += span.width
        return found

    def _lay_page(self, page: TextPage, laid: PageLines) -> None:
        if not laid.places:
            if page.first == 0:
                self._lay_prompt(laid.flow)
            laid.places.append(laid.flow.state())
        begun = page.first + len(laid.places) - 1
        for index, text in enumerate(self.transcript.round_texts[begun : page.first + page.rounds], start=begun + 1):
            for at in range(len(text.pieces)):
                self._lay_emitted(laid.flow, index, text, at, "")
            laid.places.append(laid.flow.state())

    def _lay_prompt(self, flow: Flow) -> None:
        tokens = self.transcript.prompt.tokens or (None,)
        for row, (token, piece) in enumerate(zip(tokens, self.transcript.prompt_pieces, strict=True)):
            special = token is not None and token.id in self.transcript.special_ids
            flow.add(piece, Span("", 0, "prompt", 0, row, "special" if special else "text"))

    @property
    def _round(self) -> Round:
        """The shown round, read once: it may come from a file."""
        if self._cached_round is None or self._cached_round[0] != self.shown:
            self._cached_round = self.shown, self.transcript.rounds[self.shown - 1]
        return self._cached_round[1]

    def _lay_shown(self, text: RoundText, cursor: int | None, reveal: Reveal | None) -> None:
        """The shown round: accepted tokens, dropped drafts, the last token."""
        round = self._round
        known = round.n_accepted if reveal is None or reveal.last else reveal.decided
        accepted = min(known, round.n_accepted, len(round.emitted))
        for at in range(accepted):
            self._lay_with_cursor(round, text, at, cursor)
        self._lay_dropped(round, accepted, reveal)
        if not round.cut and (reveal is None or reveal.last):
            self._lay_with_cursor(round, text, round.n_accepted, cursor)

    def _lay_with_cursor(self, round: Round, text: RoundText, at: int, cursor: int | None) -> None:
        """A token of the shown round; one without a cell for the cursor is shown as its bytes."""
        if not text.pieces[at] and cursor == (at if text.kind(at) == "accepted" else round.k):
            shown = visible(round.emitted[at].bytes, ascii=self._glyphs.ascii)
            text = text._replace(pieces=(*text.pieces[:at], shown, *text.pieces[at + 1 :]))
        self._lay_emitted(self._tail, self.shown, text, at, self._newline)

    def _lay_dropped(self, round: Round, accepted: int, reveal: Reveal | None) -> None:
        """Drafted tokens that are not in the text, decoded as a continuation of the text."""
        decoder = TextDecoder(ascii=self._glyphs.ascii, keep="")
        for row in range(accepted, round.k):
            drafted, known = round.drafted[row], row_stage(round, reveal, row)
            if known == "hidden":
                return
            if row == accepted and b"\x80" <= (drafted.bytes or b"")[:1] < b"\xc0":
                decoder.feed(self._text_before(round.emitted[:accepted]))
            text = decoder.feed(drafted.bytes)
            if _LOST in text:
                decoder = TextDecoder(ascii=self._glyphs.ascii, keep="")
                text = decoder.feed(drafted.bytes)
            if not text or _LOST in text:
                text = visible(drafted.bytes, ascii=self._glyphs.ascii)
            kind = drafted.verdict if known == "decided" else WAITING
            self._lay_marked(self._tail, text, Span("", 0, kind, self.shown, row, "ghost"), "")

    def _text_before(self, accepted: Sequence[Emitted]) -> bytes:
        """The bytes at the end of the text, up to and including ``accepted``, that may begin a character."""
        return self.transcript.pending_before(self.shown) + b"".join(token.bytes or b"" for token in accepted)

    def _lay_emitted(self, flow: Flow, index: int, text: RoundText, at: int, newline: str) -> None:
        kind = text.kind(at)
        role = "special" if at in text.special else "text"
        if kind == "accepted":
            flow.add(text.pieces[at], Span("", 0, kind, index, at, role), newline_sign=newline)
        else:
            self._lay_marked(flow, text.pieces[at], Span("", 0, kind, index, text.k, role), newline)

    def _lay_marked(self, flow: Flow, text: str, like: Span, newline: str) -> None:
        spaced = text.startswith(" ")
        mark = Span("", 0, like.kind, like.round, like.row, "ghost-mark" if like.role == "ghost" else "mark")
        flow.add_mark(mark_of(like.kind, self._glyphs), mark, breakable=spaced)
        flow.add(text[1:] if spaced else text, like, newline_sign=newline)
