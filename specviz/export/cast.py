"""The paced replay as an asciinema recording, asciicast version 2."""

import json
from collections.abc import Iterator
from contextlib import suppress
from datetime import datetime

from specviz.export.ansi_svg import ansi
from specviz.export.film import Frame, frames
from specviz.export.palette import Palette
from specviz.export.report import Recording

COLUMNS, ROWS, PACE = 100, 30, 1.0
_HIDE_CURSOR, _CLEAR, _SHOW_CURSOR = "\x1b[?25l", "\x1b[2J", "\x1b[?25h"
_PALETTE = (
    *("background", "error", "success", "warning", "primary", "token-resampled", "accent", "foreground"),
    *("border", "error", "success", "warning", "primary", "token-resampled", "accent", "foreground"),
)
"""Theme colours used for a terminal's sixteen."""


def to_cast(run: Recording, palette: Palette, pace: float = PACE, columns: int = COLUMNS, rows: int = ROWS) -> str:
    """A header line and one line per event, [seconds, "o", output]; ``pace`` is the seconds per round. The only escapes
    are those of `ansi`, cursor moves and clearing."""
    film = list(frames(run, columns, rows))
    header = {
        "version": 2,
        "width": columns,
        "height": rows,
        **_timestamp(run.trace.header.created),
        "duration": round(sum(frame.share for frame in film) * pace, 3),
        "title": run.title,
        "env": {"TERM": "xterm-256color"},
        "theme": {
            "fg": palette.colors["foreground"],
            "bg": palette.colors["background"],
            "palette": ":".join(palette.colors[name] for name in _PALETTE),
        },
    }
    events = [json.dumps([seconds, "o", output]) for seconds, output in _events(film, palette, pace, columns)]
    return "\n".join([json.dumps(header), *events]) + "\n"


def _events(film: list[Frame], palette: Palette, pace: float, columns: int) -> Iterator[tuple[float, str]]:
    """Output that rewrites only the changed lines of each frame."""
    seconds = 0.0
    before: list[str] = []
    for frame in film:
        lines = [ansi(line, palette, columns) for line in frame.lines]
        changed = [i for i, line in enumerate(lines) if i >= len(before) or line != before[i]]
        output = "".join(f"\x1b[{i + 1};1H{lines[i]}\x1b[K" for i in changed)
        yield round(seconds, 3), output if before else _HIDE_CURSOR + ansi([], palette, columns) + _CLEAR + output
        before = lines
        seconds += frame.share * pace
    yield round(seconds, 3), f"\x1b[{len(before)};1H\x1b[0m{_SHOW_CURSOR}\r\n"


def _timestamp(created: str) -> dict[str, int]:
    with suppress(ValueError, OverflowError):
        return {"timestamp": int(datetime.fromisoformat(created).timestamp())}
    return {}
