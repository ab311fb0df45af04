"""The cast: its lines, its times, and what a terminal makes of it."""

import json
import re
from typing import Any

import pyte
import pytest

from specviz.core.safe_text import width
from specviz.export.cast import to_cast
from specviz.export.film import frames
from specviz.export.palette import Palette, palettes
from specviz.theming.loader import load_themes
from tests.builders import make_round
from tests.export.runs import hostile, recording, sampled, small, unsafe

OWN = re.compile(r"\x1b\[(\?25[lh]|2J|K|\d+;1H|[\d;]+m)")


@pytest.fixture(scope="module")
def palette() -> Palette:
    return palettes("dark", load_themes()).one


def parsed(cast: str) -> tuple[dict[str, Any], list[tuple[float, str, str]]]:
    first, *rest = map(json.loads, cast.splitlines())
    return first, [tuple(event) for event in rest]


def test_the_header_and_events_follow_asciicast_2(palette: Palette) -> None:
    cast = to_cast(sampled(5), palette, columns=90, rows=24)
    header, events = parsed(cast)
    assert (header["version"], header["width"], header["height"]) == (2, 90, 24)
    assert type(header["timestamp"]) is int
    assert header["theme"]["fg"] == palette.colors["foreground"]
    assert len(header["theme"]["palette"].split(":")) == 16
    assert all(event[1] == "o" and event[2] for event in events)
    times = [at for at, _, _ in events]
    assert times == sorted(times)
    assert times[0] == 0.0
    assert cast.endswith("\n")
    assert cast.isascii()


def test_pace(palette: Palette) -> None:
    """The prompt for a round, a round for its draft (.35) and its verdicts, the end for three."""
    header, events = parsed(to_cast(small(), palette, pace=2.0))
    assert [at for at, _, _ in events] == [0.0, 2.0, 2.7, 4.0, 4.7, 6.0, 12.0]
    assert header["duration"] == 12.0


def test_a_terminal_shows_the_frames(palette: Palette) -> None:
    run = sampled(12)
    header, events = parsed(to_cast(run, palette, columns=80, rows=24))
    screen = pyte.Screen(header["width"], header["height"])
    stream = pyte.Stream(screen)
    film = list(frames(run, 80, 24))
    assert len(film) == len(events) - 1
    for frame, (_, _, output) in zip(film, events, strict=False):
        stream.feed(output)
        drawn = ["".join(text for text, _ in line).rstrip() for line in frame.lines]
        assert [line.rstrip() for line in screen.display] == drawn


def test_what_a_round_shows(palette: Palette) -> None:
    film = ["\n".join("".join(text for text, _ in line) for line in f.lines) for f in frames(small(), 100, 30)]
    prompt, drafted, decided = film[:3]
    assert "the prompt, before the first round" in prompt
    assert "Round 1 · drafted 4, not verified yet" in drafted
    assert "✗" not in drafted.partition("accepted")[0]
    assert "  3 ✗ ␣girl " in decided
    assert "u .77 ≥ .14" in decided
    assert "a little✗girl·who↳frog" in decided
    assert "round 2 of 2" in film[-1]
    assert "α tested                 .800" in film[-1]


def test_colours_are_the_palettes(palette: Palette) -> None:
    _, events = parsed(to_cast(small(), palette))
    red, green, blue = (int(palette.colors["token-bonus"][i : i + 2], 16) for i in (1, 3, 5))
    assert f"38;2;{red};{green};{blue}m" in events[4][2]


@pytest.mark.parametrize(("columns", "rows"), [(60, 18), (80, 24), (120, 40)])
def test_frames_fill_exactly_their_size(columns: int, rows: int) -> None:
    deep = recording([make_round(1, 6, "✓" * 12 + "✗" + "·" * 19), make_round(2, 20, "", last="x")])
    for frame in frames(deep, columns, rows):
        assert len(frame.lines) == rows
        assert all(sum(width(text) for text, _ in line) <= columns for line in frame.lines)


def test_no_control_of_a_trace_reaches_the_terminal(palette: Palette) -> None:
    _, events = parsed(to_cast(hostile(), palette))
    for _, _, output in events[:-1]:
        assert unsafe(OWN.sub("", output), keep="") == set()
    header, _ = parsed(to_cast(hostile(), palette))
    assert unsafe(header["title"], keep="") == set()
    assert "timestamp" not in header
