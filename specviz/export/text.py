"""The text of a run: token by token, decoded as one stream, and wrapped to lines."""

from typing import NamedTuple

from specviz.core.events import Emitted, Round, Token
from specviz.core.safe_text import TextDecoder, visible
from specviz.export.ansi_svg import Line
from specviz.render.glyphs import UNICODE
from specviz.render.word_wrap import Flow, Span
from specviz.trace.jsonl import Trace

_LOST = "\ufffd"


class Piece(NamedTuple):
    """Safe text of a token: ``kind`` is a verdict, an origin or "prompt"; ``ghost``: drafted but not in the text.
    ``round`` is 0 for the prompt; ``row`` is the index of the drafted token, or k for the last token. The text is empty
    if a later token completes the character."""

    text: str
    kind: str
    round: int = 0
    row: int = 0
    ghost: bool = False


def pieces(trace: Trace) -> list[Piece]:
    """Prompt and rounds in reading order; dropped drafts come before the token that replaced them."""
    special = trace.header.special_ids
    decoder = TextDecoder()

    def text(token: Token | Emitted) -> str:
        if token.bytes is None:
            return visible(None)
        return decoder.feed(token.bytes) or ("" if token.bytes or token.id not in special else f"[{token.id}]")

    prompt = trace.header.prompt
    result = [Piece(text(token), "prompt") for token in prompt.tokens]
    if not result and prompt.text:
        result = [Piece(decoder.feed(prompt.text.encode("utf-8", "replace")), "prompt")]
    for round in trace.rounds:
        emitted = [
            Piece(text(token), token.origin, round.index, row if token.origin == "accepted" else round.k)
            for row, token in enumerate(round.emitted)
        ]
        kept = min(round.n_accepted, len(emitted))
        result += [*emitted[:kept], *_ghosts(round), *emitted[kept:]]
    rest = decoder.finish()
    last = next((i for i in reversed(range(len(result))) if not result[i].ghost), None)
    if rest and last is not None:
        result[last] = result[last]._replace(text=result[last].text + rest)
    return result


def text_lines(trace: Trace, columns: int) -> list[Line]:
    """Lines of at most ``columns`` cells, without dropped drafts; a mark replaces a token's leading space."""
    flow = Flow(columns)
    for piece in pieces(trace):
        if piece.ghost:
            continue
        like = Span("", 0, piece.kind, piece.round, piece.row)
        mark = "" if piece.kind in ("accepted", "prompt") else UNICODE.mark(piece.kind)
        text = piece.text
        if mark:
            spaced = text.startswith(" ")
            flow.add_mark(mark, like, breakable=spaced)
            text = text[1:] if spaced else text
        flow.add(text, like)
    return [[(span.text, span.kind) for span in line] for line in (*flow.lines, flow.open)]


def _ghosts(round: Round) -> list[Piece]:
    decoder = TextDecoder(keep="")
    ghosts: list[Piece] = []
    for row in round.unaccepted_rows:
        drafted = round.drafted[row]
        text = decoder.feed(drafted.bytes)
        if not text or _LOST in text:
            decoder, text = TextDecoder(keep=""), visible(drafted.bytes)
        ghosts.append(Piece(text, drafted.verdict, round.index, row, True))
    return ghosts
