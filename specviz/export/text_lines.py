"""The whole text of a run, wrapped."""

from specviz.export.ansi_svg import Line
from specviz.export.text_pieces import pieces
from specviz.render.glyphs import UNICODE
from specviz.render.word_wrap import Flow, Span
from specviz.trace.jsonl import Trace


def text_lines(trace: Trace, columns: int) -> list[Line]:
    """Lines of at most ``columns`` cells, without dropped drafts; a mark stands for a token's leading space."""
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
