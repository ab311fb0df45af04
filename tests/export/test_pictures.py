"""Converters: found by name, asked in order, and their absence or failure said in a sentence."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from specviz.core.errors import SpecvizError
from specviz.export.raster import to_gif, to_png

Install = Callable[[str, str], None]
WRITES_LAST = '#!/bin/sh\nfor last; do :; done\necho "$(basename "$0") $*" > "$last"\n'
RSVG = '#!/bin/sh\nwhile [ "$1" != --output ]; do shift; done\necho "rsvg $(cat "$3")" > "$2"\n'
FAILS = "#!/bin/sh\necho 'first line' >&2\nprintf 'no such \\033[31mfont\\n' >&2\nexit 1\n"


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Install:
    """Put scripts on an otherwise empty PATH."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for name in ("sh", "cat", "basename"):
        (folder / name).symlink_to(next(p for p in (f"/bin/{name}", f"/usr/bin/{name}") if os.path.exists(p)))
    monkeypatch.setenv("PATH", str(folder))

    def put(name: str, script: str) -> None:
        (folder / name).write_text(script)
        (folder / name).chmod(0o755)

    return put


def test_png_prefers_rsvg(install: Install) -> None:
    install("rsvg-convert", RSVG)
    install("magick", WRITES_LAST)
    assert to_png("<svg/>") == b"rsvg <svg/>\n"


def test_png_by_imagemagick(install: Install) -> None:
    install("convert", WRITES_LAST)
    assert to_png("<svg/>").startswith(b"convert -density 192 ")


def test_png_without_a_converter(install: Install) -> None:
    with pytest.raises(SpecvizError, match=r"librsvg2-bin.*ImageMagick.*SVG"):
        to_png("<svg/>")


def test_a_converter_that_fails(install: Install) -> None:
    install("rsvg-convert", FAILS)
    with pytest.raises(SpecvizError, match=r"^rsvg-convert failed to create the image: no such ␛\[31mfont\.$"):
        to_png("<svg/>")


def test_a_converter_that_writes_nothing(install: Install) -> None:
    install("rsvg-convert", "#!/bin/sh\nexit 0\n")
    with pytest.raises(SpecvizError, match="no error message"):
        to_png("<svg/>")


def test_gif_prefers_agg(install: Install) -> None:
    install("agg", '#!/bin/sh\ncat "$1" > "$2"\n')
    assert to_gif("the cast", iter(())) == b"the cast"


def test_gif_of_stills(install: Install, tmp_path: Path) -> None:
    install("rsvg-convert", RSVG)
    install("ffmpeg", f'#!/bin/sh\ncat "$6" > {tmp_path}/list\n' + WRITES_LAST.removeprefix("#!/bin/sh\n"))
    film = to_gif("", [(0.35, "<a/>"), (0.0, "<b/>")])
    assert film.startswith(b"ffmpeg -v error -f concat")
    assert (tmp_path / "list").read_text().splitlines() == [
        "ffconcat version 1.0",
        "file 00000.png",
        "duration 0.350",
        "file 00001.png",
        "duration 0.020",
        "file 00001.png",
    ]


def test_gif_without_converters(install: Install) -> None:
    install("rsvg-convert", RSVG)
    with pytest.raises(SpecvizError, match=r"GIF needs agg .* ffmpeg.*cast"):
        to_gif("", iter(()))
