"""Lines of styled text, as terminal escapes and as SVG."""

import re
from collections.abc import Iterable, Mapping, Sequence
from html import escape

from specviz.core.safe_text import clip, width
from specviz.export.palette import Palette
from specviz.render.glyphs import SIGNS

Part = tuple[str, str]
"""Safe text and the name of its style: a kind of token, or one of "text", "head", "strong", "quiet"."""
Line = Sequence[Part]

_WORDS = re.compile(r"[^ ]+(?: [^ ]+)*")
CELL_WIDTH, CELL_HEIGHT, FONT_SIZE = 8.4, 18, 14
"""Pixels of a cell in SVG, and the font size whose monospaced letters are about as wide."""
_COLORS: Mapping[str, str] = {
    **{sign.kind: f"token-{sign.kind}" for sign in SIGNS},
    "text": "foreground",
    "head": "secondary",
    "strong": "foreground",
    "quiet": "secondary",
}
_ATTRIBUTES: Mapping[str, str] = {**{sign.kind: sign.attribute for sign in SIGNS}, "strong": "bold"}
_ON = {"bold": "1", "dim": "", "italic": "3", "underline": "4", "strike": "9", "none": ""}
_OFF = {"bold": "22", "dim": "", "italic": "23", "underline": "24", "strike": "29", "none": ""}
_CSS = {
    "bold": "font-weight:bold",
    "italic": "font-style:italic",
    "underline": "text-decoration:underline",
    "strike": "text-decoration:line-through",
}


def ansi(line: Line, palette: Palette, cells: int) -> str:
    """The line in colours, clipped to ``cells``, on the palette's background, which stays set at the end."""
    out = [f"\x1b[0;{_rgb(48, palette.colors['background'])}m"]
    attribute, color = "none", ""
    for text, style in cut(line, cells):
        now = _ATTRIBUTES.get(style, "none"), palette.colors[_COLORS[style]]
        codes = [_OFF[attribute], _ON[now[0]]] if now[0] != attribute else []
        codes += [_rgb(38, now[1])] if now[1] != color else []
        attribute, color = now
        wanted = ";".join(filter(None, codes))
        out.append(f"\x1b[{wanted}m{text}" if wanted else text)
    return "".join(out)


def svg_text(lines: Iterable[Line], x: float, y: float) -> str:
    """The lines as SVG text, the first with its baseline at ``y``. Each word is placed at its column with the width of
    its cells, whatever the font."""
    out: list[str] = []
    for i, line in enumerate(lines):
        column = 0
        for text, style in line:
            for run in _WORDS.finditer(text):
                left = x + (column + width(text[: run.start()])) * CELL_WIDTH
                place = f'x="{left:.1f}" y="{y + i * CELL_HEIGHT:.1f}" textLength="{width(run[0]) * CELL_WIDTH:.1f}"'
                out.append(f'<text class="c {style}" {place} lengthAdjust="spacingAndGlyphs">{escape(run[0])}</text>')
            column += width(text)
    return "".join(out)


def svg_css(palette: Palette) -> str:
    """The style sheet for `svg_text`."""
    font = '"DejaVu Sans Mono", Menlo, Consolas, "Liberation Mono", monospace'
    rules = [f".c {{ font: {FONT_SIZE}px {font}; }}"]
    for style, color in _COLORS.items():
        attribute = _CSS.get(_ATTRIBUTES.get(style, "none"), "")
        rules.append(f".c.{style} {{ fill: {palette.colors[color]}; {attribute} }}")
    return "\n".join(rules)


def cut(line: Line, cells: int) -> list[Part]:
    """The line's first ``cells`` cells."""
    kept: list[Part] = []
    for text, style in line:
        text = clip(text, cells)
        cells -= width(text)
        if text:
            kept.append((text, style))
    return kept


def _rgb(ground: int, color: str) -> str:
    red, green, blue = (int(color[i : i + 2], 16) for i in (1, 3, 5))
    return f"{ground};2;{red};{green};{blue}"
