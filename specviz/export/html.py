"""A run as one self-contained HTML page.

The text works without the script, which only fills the inspector, from text nodes. The page's Content-Security-Policy
allows nothing but that script, so text that was mistaken for markup could still not run.
"""

import json
from base64 import b64encode
from collections.abc import Sequence
from hashlib import sha256
from html import escape
from importlib.resources import files
from string import Template
from typing import Any

from specviz import __version__
from specviz.export.charts import charts, css
from specviz.export.palette import Palette, Palettes
from specviz.export.report import Metric, Recording
from specviz.export.text import Piece, pieces
from specviz.export.token_json import Names, columns, inspection, sentence
from specviz.render.explanations import timing, title
from specviz.render.glyphs import SIGNS


def to_html(run: Recording, palettes: Palettes) -> str:
    """The page. It follows the reader's preference for light or dark unless a theme is chosen."""
    script, style = _file("page.js"), _style(palettes)
    text = pieces(run.trace)
    chosen = None if palettes.chosen is None else palettes.chosen.dark
    return Template(_file("page.html")).substitute(
        policy=f"default-src 'none'; script-src '{_hash(script)}'; style-src '{_hash(style)}'; base-uri 'none'; "
        "form-action 'none'",
        version=escape(__version__),
        title=escape(run.title),
        style=style,
        facts=" ".join(f"<span>{name} <bdi>{escape(value)}</bdi></span>" for name, value in run.facts),
        auto=_checked(chosen is None),
        light=_checked(chosen is False),
        dark=_checked(chosen is True),
        headline="".join(f"<div>{_number(number)}</div>" for number in run.headline),
        note=f'<p class="note">{escape(run.note)}</p>\n' if run.note else "",
        legend="".join(f'<span class="{s.kind}">{s.unicode} {s.kind}</span>' for s in SIGNS),
        text=_text(run, text),
        charts="".join(charts(run.stats.series(), run.rates)),
        numbers="".join(f"<div>{_number(number)}</div>" for number in run.numbers),
        data=_data(run, text),
        script=script,
    )


def _text(run: Recording, text: Sequence[Piece]) -> str:
    return "".join(_token(run, piece) for piece in text)


def _token(run: Recording, piece: Piece) -> str:
    """A token's span. Its leading space comes before the span, so that the mark of its origin touches the word."""
    text = piece.text
    space = " " if text.startswith(" ") and piece.kind not in ("accepted", "prompt") else ""
    name = " ".join([piece.kind, *(["ghost"] if piece.ghost else []), *([] if text else ["part"])])
    if not piece.round:
        return f'<span class="{name}">{escape(text)}</span>'
    why = escape(sentence(run.trace.rounds[piece.round - 1], piece.row)).replace("\n", "&#10;")
    opening = f'<span id="r{piece.round}.{piece.row}" class="{name}" title="{why}">'
    if piece.ghost:
        return f"{opening}{escape(text)}</span>"
    return f"{space}{opening}{escape(text[len(space) :])}</span>"


def _data(run: Recording, text: Sequence[Piece]) -> str:
    names = Names()
    tokens = {
        f"r{piece.round}.{piece.row}": inspection(run.trace.rounds[piece.round - 1], piece.row, names)
        for piece in text
        if piece.round
    }
    rounds = {
        r.index: {"k": r.k, "title": title(r), "timing": timing(r), "columns": columns(r)} for r in run.trace.rounds
    }
    return script_json({"names": names.texts, "rounds": rounds, "tokens": tokens})


def script_json(value: Any) -> str:
    """JSON for a script element: nothing in it can close the element or open another."""
    text = json.dumps(value, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _number(number: Metric) -> str:
    spread = f"<small>{escape(number.spread)}</small>" if number.spread else ""
    return f"<dt>{escape(number.label)}</dt><dd>{escape(number.value)}{spread}</dd>"


def _style(palettes: Palettes) -> str:
    page = Template(_file("page.css")).substitute(
        light_colors=_variables(palettes.light), dark_colors=_variables(palettes.dark)
    )
    return page + css({name: f"var(--{name})" for name in palettes.light.colors})


def _variables(palette: Palette) -> str:
    scheme = f"color-scheme: {'dark' if palette.dark else 'light'};"
    return scheme + "".join(f"--{name}:{color};" for name, color in palette.colors.items())


def _file(name: str) -> str:
    return files(__package__).joinpath(name).read_text("utf-8")


def _hash(text: str) -> str:
    return f"sha256-{b64encode(sha256(text.encode()).digest()).decode()}"


def _checked(yes: bool) -> str:
    return " checked" if yes else ""
