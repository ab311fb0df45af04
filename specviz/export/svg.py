"""A run, or a frame of its film, as an SVG image without scripts or references."""

from html import escape

from specviz.core.safe_text import width
from specviz.export.ansi_svg import CELL_HEIGHT, CELL_WIDTH, Line, cut, svg_css, svg_text
from specviz.export.charts import HEIGHT, WIDTH, charts, css
from specviz.export.film import Frame
from specviz.export.palette import Palette
from specviz.export.report import Recording
from specviz.export.text import text_lines
from specviz.render.glyphs import SIGNS

COLUMNS = 112
_MARGIN = 24
_MAX_LINES = 80
_CARD_HEIGHT = 58
_GAP = 20
_AROUND_TEXT, _VALUE = 24, 2
"""Pixels of a card around its text; width of a digit of a value, in cells of its label."""


def to_svg(run: Recording, palette: Palette) -> str:
    """The title, the key numbers, the text by origin (its last lines if it is long) and the four charts."""
    broad = _MARGIN * 2 + COLUMNS * CELL_WIDTH
    text = _text(run)
    inner = broad - 2 * _MARGIN
    head: list[Line] = [cut([(run.title, "strong")], COLUMNS), *_facts(run)]
    under = 28 + len(head) * CELL_HEIGHT
    cards = _cards(run, inner, under)
    top = under + _CARD_HEIGHT + 34
    picture, below = _charts(run, inner, top + len(text) * CELL_HEIGHT + _GAP)
    legend: Line = [
        part for s in SIGNS for part in ((f"{s.unicode} ", "text"), (s.kind, s.kind), ("  ", "text"))
    ]  # fmt: skip
    body = [
        svg_text(head, _MARGIN, 34),
        cards,
        svg_text([legend], _MARGIN, top - 12),
        svg_text(text, _MARGIN, top + 14),
        picture,
    ]
    return _document(broad, below + _MARGIN, palette, run.title, "".join(body))


def frame_svg(frame: Frame, palette: Palette, columns: int) -> str:
    """A frame of the film, as a terminal would show it."""
    body = svg_text(frame.lines, 10, 10 + CELL_HEIGHT * 0.75)
    return _document(columns * CELL_WIDTH + 20, len(frame.lines) * CELL_HEIGHT + 20, palette, "", body)


def _document(across: float, down: float, palette: Palette, title: str, body: str) -> str:
    size = f'width="{across:.0f}" height="{down:.0f}"'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {across:.0f} {down:.0f}" {size}>'
        f"<title>{escape(title)}</title><style>{svg_css(palette)}\n{css(palette.colors)}</style>"
        f'<rect width="100%" height="100%" fill="{palette.colors["background"]}"/>{body}</svg>\n'
    )


def _facts(run: Recording) -> list[Line]:
    """The settings of the run, wrapped between facts."""
    lines = [""]
    for name, value in run.facts:
        fact = f"{name} {value}"
        if lines[-1] and width(lines[-1]) + width(fact) + 3 > COLUMNS:
            lines.append("")
        lines[-1] += f" · {fact}" if lines[-1] else fact
    return [cut([(line, "quiet")], COLUMNS) for line in lines]


def _text(run: Recording) -> list[Line]:
    lines = text_lines(run.trace, COLUMNS)
    if len(lines) <= _MAX_LINES:
        return lines
    left_out = len(lines) - _MAX_LINES + 1
    return [[(f"… {left_out} earlier lines", "quiet")], *lines[left_out:]]


def _cards(run: Recording, inner: float, y: float) -> str:
    """The key numbers side by side, each as wide as its longest text needs."""
    numbers = run.headline
    needed = [max(width(n.label), _VALUE * width(n.value), width(n.spread)) for n in numbers]
    share = (inner - len(numbers) * _AROUND_TEXT) / sum(needed)
    out: list[str] = []
    x: float = _MARGIN
    for number, cells in zip(numbers, needed, strict=True):
        step = _AROUND_TEXT + cells * share
        out.append(f'<rect x="{x:.0f}" y="{y}" width="{step - 8:.0f}" height="{_CARD_HEIGHT}" rx="5" class="card"/>')
        out += [
            f'<text class="{name}" x="{x + 8:.0f}" y="{y + dy}">{escape(text)}</text>'
            for name, dy, text in (
                ("label", 16, number.label),
                ("value", 37, number.value),
                ("label", 52, number.spread),
            )
            if text
        ]
        x += step
    return f'<g class="cards">{"".join(out)}</g>'


def _charts(run: Recording, inner: float, y: float) -> tuple[str, float]:
    """The charts in two columns starting at ``y``, and the y where they end."""
    wide = (inner - _GAP) / 2
    height = HEIGHT * wide / WIDTH
    out: list[str] = []
    for i, chart in enumerate(charts(run.stats.series(), run.rates)):
        x = _MARGIN + (i % 2) * (wide + _GAP)
        top = y + (i // 2) * (height + _GAP)
        place = f'x="{x:.0f}" y="{top:.0f}" width="{wide:.0f}" height="{height:.0f}" '
        out.append(chart.replace("<svg ", f"<svg {place}", 1))
    return "".join(out), y + 2 * height + _GAP
