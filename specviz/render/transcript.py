"""The text of a run, token by token: the model that every text panel is laid out from."""

from array import array
from bisect import bisect_right
from collections.abc import Sequence
from typing import Literal, NamedTuple

from specviz.core.events import Emitted, Origin, Prompt, Round, Token
from specviz.core.safe_text import TextDecoder, visible
from specviz.render.transcript_pages import PAGE_TOKENS, TextPage
from specviz.trace.round_store import RoundStore


class RoundText(NamedTuple):
    """The text of a round: its pieces, K_r, the origin of its last token ("" if cut), which of its tokens are special,
    and the bytes of an incomplete character at its end."""

    pieces: tuple[str, ...]
    k: int
    last: Origin | Literal[""]
    special: tuple[int, ...]
    pending: bytes

    def kind(self, at: int) -> str:
        return self.last if self.last and at == len(self.pieces) - 1 else "accepted"


class Transcript:
    """Prompt and rounds as pieces of text, in pages. Emitted text is decoded as one stream, so a character split over
    tokens appears with the token that completes it. Only the text of a round is kept here; ``rounds`` stores the
    rounds. ``revision`` counts changes of earlier text."""

    def __init__(
        self,
        prompt: Prompt,
        special_ids: frozenset[int] = frozenset(),
        rounds: RoundStore | None = None,
        *,
        ascii: bool = False,
        page_tokens: int = PAGE_TOKENS,
    ) -> None:
        """``rounds`` None: they are kept here. A page has from ``page_tokens`` to twice as many tokens."""
        self._page_tokens = page_tokens
        self.prompt = prompt
        self.special_ids = special_ids
        self._decoder = TextDecoder(ascii=ascii)
        self.prompt_pieces = [self._decode(token) for token in prompt.tokens] or [
            self._decoder.feed(prompt.text.encode())
        ]
        self._pending = self._decoder.pending
        self._own = rounds is None
        self.rounds = RoundStore() if rounds is None else rounds
        self.round_texts: list[RoundText] = []
        self.pages = [TextPage(0)]
        self.revision = 0
        self._starts = array("Q")
        self._length = len(prompt.tokens)
        self._same: dict[str, str] = {}

    def append(self, round: Round) -> None:
        pieces = tuple([self._same.setdefault(piece, piece) for piece in map(self._decode, round.emitted)])
        special = tuple(at for at, token in enumerate(round.emitted) if token.id in self.special_ids)
        last: Origin | Literal[""] = "" if round.cut else round.emitted[-1].origin
        if self._own:
            self.rounds.append(round)
        self._turn_page(round.n_accepted, pieces)
        self._starts.append(self._length)
        self._length += len(round.emitted)
        self.round_texts.append(RoundText(pieces, round.k, last, special, self._decoder.pending))
        page = self.pages[-1]
        page.rounds += 1
        page.tokens += len(pieces)
        page.cells += sum(map(len, pieces)) + 1
        page.breaks += sum(piece.count("\n") for piece in pieces)

    def finish(self) -> None:
        """No tokens follow: an incomplete character is shown as lost."""
        rest = self._decoder.finish()
        if not rest:
            return
        if self.round_texts and self.round_texts[-1].pieces:
            text = self.round_texts[-1]
            self.round_texts[-1] = text._replace(pieces=(*text.pieces[:-1], text.pieces[-1] + rest))
        else:
            self.prompt_pieces[-1] += rest
        self.revision += 1

    def page_of(self, round: int) -> int:
        """The page that a round (0: the prompt) is on."""
        return bisect_right(self.pages, round - 1, key=lambda page: page.first) - 1 if round else 0

    def pending_before(self, round: int) -> bytes:
        """The bytes of an incomplete character at the end of the text before a round."""
        return self.round_texts[round - 2].pending if round > 1 else self._pending

    def token_at(self, position: int) -> tuple[int, int] | None:
        """The (round, row) of the token at ``position`` from the start of the prompt; None where there is none."""
        if position < len(self.prompt.tokens):
            return 0, position
        index = bisect_right(self._starts, position)
        if not index:
            return None
        text, at = self.round_texts[index - 1], position - self._starts[index - 1]
        if at >= len(text.pieces):
            return None
        return index, at if text.kind(at) == "accepted" else text.k

    def _decode(self, token: Token | Emitted) -> str:
        if token.bytes is None:
            return visible(None)
        text = self._decoder.feed(token.bytes)
        return text if text or token.bytes else f"[{token.id}]" if token.id in self.special_ids else ""

    def _turn_page(self, accepted: int, pieces: Sequence[str]) -> None:
        """Begin a page where this one is long and its last line ends anyway, or a marked word can begin a line."""
        tokens = self.pages[-1].tokens
        if tokens < self._page_tokens:
            return
        ended = self.round_texts[-1].pieces[-1:]
        fits = (ended and ended[0].endswith("\n")) or (not accepted and pieces and pieces[0].startswith(" "))
        if fits or tokens >= 2 * self._page_tokens:
            self.pages.append(TextPage(len(self.round_texts)))


EMPTY_PROMPT = Prompt("", ())
"""The prompt before the first run."""
