"""The text of a run as wrapped lines: what was emitted, and the round being looked at with its ghosts."""

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Literal, NamedTuple

from specviz.events import Emitted, Prompt, Round, Token
from specviz.tokens import TextDecoder, visible
from specviz.ui.glyphs import Glyphs
from specviz.ui.phases import WAITING, Reveal, mark_of, stage
from specviz.ui.widgets.copied import copied
from specviz.ui.widgets.flow import Flow, Line, Place, Span

_LOST = "\ufffd"
_LONGEST_CHARACTER = 4
"""Bytes of UTF-8."""
_LAYOUTS = 2
"""Widths remembered: a panel that comes and goes changes the width of the text back and forth."""

Part = Literal["copied", "matched"]
"""Of a place in the text: the token that was drafted again, and what stands before it there as it does here."""
NOTHING: Mapping[tuple[int, int], Part] = MappingProxyType({})


class _Layout(NamedTuple):
    """The lines of everything, and where each round ends in them; ``places[0]``: behind the prompt."""

    flow: Flow
    places: list[Place]


class Story:
    """Prompt and rounds laid out once; any round can then be looked at by laying out that round alone.

    A mark stands for a token's leading space, or before a token that has none. Emitted text is decoded as one
    stream, so a character split over tokens appears with the token that completes it.
    """

    def __init__(self, prompt: Prompt, special_ids: frozenset[int], glyphs: Glyphs, width: int) -> None:
        self._prompt = prompt
        self._special_ids = special_ids
        self._glyphs = glyphs
        self._decoder = TextDecoder(ascii=glyphs.ascii)
        self._newline = visible(b"\n", ascii=glyphs.ascii)
        self._prompt_pieces = [self._decode(token) for token in prompt.tokens] or [
            self._decoder.feed(prompt.text.encode())
        ]
        self._pieces: list[list[str]] = []
        self._starts: list[int] = []
        self.rounds: list[Round] = []
        self._layouts: dict[int, _Layout] = {}
        self.wrap(width)

    def wrap(self, width: int) -> None:
        """Lay everything out for ``width`` cells, or go back to how it was laid out when they were as many."""
        self._layout = self._layouts.pop(width) if width in self._layouts else self._begin(width)
        self._layouts[width] = self._layout
        if len(self._layouts) > _LAYOUTS:
            del self._layouts[next(iter(self._layouts))]
        done = len(self._layout.places) - 1
        for round, pieces in zip(self.rounds[done:], self._pieces[done:], strict=True):
            self._commit(round, pieces)
        self.look(0, None)

    def _begin(self, width: int) -> _Layout:
        flow = Flow(width)
        for row, (token, piece) in enumerate(zip(self._prompt.tokens or (None,), self._prompt_pieces, strict=True)):
            special = token is not None and token.id in self._special_ids
            flow.add(piece, Span("", 0, "prompt", 0, row, "special" if special else "text"))
        return _Layout(flow, [flow.place()])

    @property
    def width(self) -> int:
        return self._layout.flow.width

    def append(self, round: Round) -> None:
        pieces = [self._decode(token) for token in round.emitted]
        self.rounds.append(round)
        self._pieces.append(pieces)
        self._starts.append(round.start)
        self._commit(round, pieces)

    def finish(self) -> None:
        """No more tokens come: a character still incomplete is shown as lost."""
        rest = self._decoder.finish()
        if not rest:
            return
        if self.rounds and self.rounds[-1].emitted:
            self._pieces[-1][-1] += rest
        else:
            self._prompt_pieces[-1] += rest
        width = self.width
        self._layouts.clear()
        self.wrap(width)

    def look(self, shown: int, row: int | None, reveal: Reveal | None = None) -> int:
        """Make the text that of round ``shown``, 0 for the prompt; with ``reveal`` that round as far as it had come.

        Returns the first line that may have changed.
        """
        before = getattr(self, "_base", 0)
        shown = max(0, min(shown, len(self.rounds)))
        self.shown = shown
        start = self._layout.places[max(0, shown - 1)]
        self._tail = Flow(self.width, start)
        self._base = start.lines
        if shown:
            self._tell(self.rounds[shown - 1], self._pieces[shown - 1], row, reveal)
        return min(before, self._base)

    @property
    def count(self) -> int:
        """Lines of the text as looked at."""
        return self._base + len(self._tail.lines) + bool(self._tail.open)

    def line(self, y: int) -> Line:
        if y < 0 or y >= self.count:
            return ()
        if y < self._base:
            return self._layout.flow.lines[y]
        y -= self._base
        return self._tail.lines[y] if y < len(self._tail.lines) else self._tail.open

    def source(self, row: int | None) -> Mapping[tuple[int, int], Part]:
        """The (round, row) of the tokens that drafted token ``row`` of the round looked at was copied from."""
        if not self.shown or row is None or row >= self.rounds[self.shown - 1].k:
            return NOTHING
        place = copied(self.rounds[self.shown - 1].drafted[row], row)
        if place is None or place.source != "text":
            return NOTHING
        parts: dict[tuple[int, int], Part] = {}
        for position in range(place.start, place.at + 1):
            if token := self._token_at(position):
                parts[token] = "copied" if position == place.at else "matched"
        return parts

    def find(self, round: int, row: int) -> tuple[int, int, int] | None:
        """(first line, last line, column on the first) of a token of the round looked at."""
        found: tuple[int, int, int] | None = None
        for y in range(self._base, self.count):
            x = 0
            for span in self.line(y):
                if span.round == round and span.row == row:
                    found = (found[0], y, found[2]) if found else (y, y, x)
                x += span.width
        return found

    def _token_at(self, position: int) -> tuple[int, int] | None:
        """The (round, row) of the token at ``position`` from the start of the prompt; None where there is none."""
        if position < len(self._prompt.tokens):
            return 0, position
        index = bisect_right(self._starts, position)
        round = self.rounds[index - 1] if index else None
        at = position - round.start if round else 0
        if round is None or at >= len(round.emitted):
            return None
        return index, at if round.emitted[at].origin == "accepted" else round.k

    def _decode(self, token: Token | Emitted) -> str:
        text = self._decoder.feed(token.bytes)
        return text if text or token.bytes else f"[{token.id}]" if token.id in self._special_ids else ""

    def _commit(self, round: Round, pieces: Sequence[str]) -> None:
        for row, (token, piece) in enumerate(zip(round.emitted, pieces, strict=True)):
            self._emitted(self._layout.flow, round, row, token, piece, "")
        self._layout.places.append(self._layout.flow.place())

    def _tell(self, round: Round, pieces: Sequence[str], cursor: int | None, reveal: Reveal | None) -> None:
        """The round looked at: accepted tokens, ghosts, the last token."""
        told = round.n_accepted if reveal is None or reveal.last else reveal.decided
        accepted = min(told, round.n_accepted, len(round.emitted))
        for row in range(accepted):
            self._emitted(self._tail, round, row, round.emitted[row], pieces[row], self._newline, cursor)
        self._ghosts(round, accepted, reveal)
        if not round.cut and (reveal is None or reveal.last):
            row = round.n_accepted
            self._emitted(self._tail, round, row, round.emitted[row], pieces[row], self._newline, cursor)

    def _ghosts(self, round: Round, accepted: int, reveal: Reveal | None) -> None:
        """Drafted tokens that are not in the text, decoded as if the text went on with them."""
        decoder = TextDecoder(ascii=self._glyphs.ascii, keep="")
        for row, drafted in enumerate(round.drafted[accepted:], start=accepted):
            known = stage(round, reveal, row)
            if known == "hidden":
                return
            if row == accepted and b"\x80" <= drafted.bytes[:1] < b"\xc0":
                decoder.feed(self._text_before(round.emitted[:accepted]))
            text = decoder.feed(drafted.bytes)
            if _LOST in text:
                decoder = TextDecoder(ascii=self._glyphs.ascii, keep="")
                text = decoder.feed(drafted.bytes)
            if not text or _LOST in text:
                text = visible(drafted.bytes, ascii=self._glyphs.ascii)
            kind = drafted.verdict if known == "decided" else WAITING
            self._marked(self._tail, text, Span("", 0, kind, round.index, row, "ghost"), "")

    def _text_before(self, accepted: Sequence[Emitted]) -> bytes:
        """The last bytes of the text up to and with ``accepted``: enough to hold the beginning of a character."""
        data = b"".join(token.bytes for token in accepted)
        at = self.shown - 1
        while at and len(data) < _LONGEST_CHARACTER:
            at -= 1
            data = b"".join(token.bytes for token in self.rounds[at].emitted) + data
        return data[-_LONGEST_CHARACTER:]

    def _emitted(
        self, flow: Flow, round: Round, at: int, token: Emitted, text: str, newline: str, cursor: int | None = None
    ) -> None:
        last = token.origin != "accepted"
        row = round.k if last else at
        if row == cursor and not text:
            text = visible(token.bytes, ascii=self._glyphs.ascii)
        role = "special" if token.id in self._special_ids else "text"
        like = Span("", 0, token.origin, round.index, row, role)
        if last:
            self._marked(flow, text, like, newline)
        else:
            flow.add(text, like, newline_sign=newline)

    def _marked(self, flow: Flow, text: str, like: Span, newline: str) -> None:
        spaced = text.startswith(" ")
        mark = Span("", 0, like.kind, like.round, like.row, "ghost-mark" if like.role == "ghost" else "mark")
        flow.add_mark(mark_of(like.kind, self._glyphs), mark, breakable=spaced)
        flow.add(text[1:] if spaced else text, like, newline_sign=newline)
