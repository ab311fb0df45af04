"""A picture of the screen: SVG, in the colours and attributes on screen, and the same as plain text.

Every character is in its cell, whatever font the reader has; nothing is loaded from elsewhere.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any, Self

from rich.cells import split_graphemes
from rich.color import Color, blend_rgb
from rich.segment import Segment
from rich.style import Style
from rich.terminal_theme import DEFAULT_TERMINAL_THEME, SVG_EXPORT_THEME, TerminalTheme

if TYPE_CHECKING:
    from textual.app import App

CELL_WIDTH, CELL_HEIGHT, BASELINE, FONT_SIZE = 10.0, 20.0, 15.0, 16.6
_DIM = 0.4
"""Share of the background in a dim text's colour."""

Lines = Sequence[Sequence[Segment]]


@dataclass(frozen=True, slots=True)
class Picture:
    svg: str
    text: str

    @classmethod
    def of(cls, app: "App[Any]") -> Self:
        """The screen of a running app as it is now."""
        lines = [list(strip) for strip in app.screen._compositor.render_strips()]
        theme = SVG_EXPORT_THEME if app.current_theme.dark else DEFAULT_TERMINAL_THEME
        return cls(svg(lines, app.size.width, theme), text(lines))


def text(lines: Lines) -> str:
    """The characters alone, without trailing blanks."""
    rows = ("".join(segment.text for segment in line).rstrip() for line in lines)
    return "\n".join(rows).rstrip("\n") + "\n"


def svg(lines: Lines, cells: int, theme: TerminalTheme) -> str:
    """Lines of so many ``cells`` as SVG; ``theme`` gives the colours that the terminal would choose itself."""
    width, height = cells * CELL_WIDTH, len(lines) * CELL_HEIGHT
    classes: dict[str, str] = {}
    rects: list[str] = []
    glyphs: list[str] = []
    for row, line in enumerate(lines):
        x, y = 0.0, row * CELL_HEIGHT
        for segment in line:
            if segment.control:
                continue
            style = segment.style or Style.null()
            ink, paper = _colours(style, theme)
            size = segment.cell_length * CELL_WIDTH
            if paper != theme.background_color.hex:
                rects.append(f'<rect x="{x:g}" y="{y:g}" width="{size:g}" height="{CELL_HEIGHT:g}" fill="{paper}"/>')
            name = classes.setdefault(_rules(style, ink), f"s{len(classes)}")
            for piece, at, length in _pieces(segment.text, bool(style.underline or style.strike)):
                place = f'x="{x + at * CELL_WIDTH:g}" y="{y + BASELINE:g}" textLength="{length * CELL_WIDTH:g}"'
                glyphs.append(f'<text class="{name}" {place}>{escape(piece)}</text>')
            x += size
    rules = "".join(f".{name} {{ {rule} }}\n" for rule, name in classes.items())
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" '
        f'width="{width:g}" height="{height:g}">\n'
        f"<style>\ntext {{ font: {FONT_SIZE:g}px 'DejaVu Sans Mono', 'Fira Code', Menlo, Consolas, monospace; "
        f"white-space: pre }}\nrect {{ shape-rendering: crispEdges }}\n{rules}</style>\n"
        f'<rect width="100%" height="100%" fill="{theme.background_color.hex}"/>\n'
        + "\n".join((*rects, *glyphs))
        + "\n</svg>\n"
    )


def _pieces(run: str, lined: bool) -> Iterator[tuple[str, int, int]]:
    """(text, cell it begins at, cells): words of plain characters together, every other character for itself.
    ``lined``: a line runs through or beneath, so blanks are drawn as well."""
    at = 0
    for word in _words(run, lined):
        size = sum(cells for *_, cells in split_graphemes(word)[0])
        if word.strip(" ") or lined:
            yield word, at, size
        at += size


def _words(run: str, lined: bool) -> Iterator[str]:
    word = ""
    for start, end, _ in split_graphemes(run)[0]:
        piece = run[start:end]
        plain = piece.isascii() and (lined or piece != " ")
        if not plain:
            if word:
                yield word
            yield piece
            word = ""
        else:
            word += piece
    if word:
        yield word


def _rules(style: Style, ink: str) -> str:
    lines = [name for name, on in (("underline", style.underline), ("line-through", style.strike)) if on]
    rules = [f"fill: {ink}"]
    if style.bold:
        rules.append("font-weight: bold")
    if style.italic:
        rules.append("font-style: italic")
    if lines:
        rules.append(f"text-decoration: {' '.join(lines)}")
    return "; ".join(rules)


def _colours(style: Style, theme: TerminalTheme) -> tuple[str, str]:
    """(foreground, background) as #rrggbb."""
    ink, paper = _rgb(style.color, theme, True), _rgb(style.bgcolor, theme, False)
    if style.reverse:
        ink, paper = paper, ink
    if style.dim:
        ink = blend_rgb(ink, paper, _DIM)
    return ink.hex, paper.hex


def _rgb(color: Color | None, theme: TerminalTheme, foreground: bool) -> Any:
    if color is None or color.is_default:
        return theme.foreground_color if foreground else theme.background_color
    return color.get_truecolor(theme, foreground)
