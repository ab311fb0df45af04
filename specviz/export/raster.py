"""PNG and GIF by installed converters; an error names what to install."""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path

from specviz.core.errors import SpecvizError
from specviz.core.safe_text import visible

_SECONDS = 600
_MAGICK = ("magick",) if os.name == "nt" else ("magick", "convert")
"""ImageMagick 7 and 6; on Windows, convert is another program."""


def to_png(svg: str) -> bytes:
    """The image as PNG, by rsvg-convert or ImageMagick. Raises SpecvizError if neither is installed, or it fails."""
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder, "run.svg"), Path(folder, "run.png")
        source.write_text(svg, "utf-8")
        if rsvg := shutil.which("rsvg-convert"):
            _call([rsvg, "--zoom", "2", "--output", str(target), str(source)], target)
        elif magick := next(filter(None, map(shutil.which, _MAGICK)), None):
            _call([magick, "-density", "192", str(source), str(target)], target)
        else:
            raise SpecvizError(
                "PNG needs rsvg-convert (package librsvg2-bin, or librsvg) or ImageMagick, and neither is installed. "
                "Install one, or export to SVG."
            )
        return target.read_bytes()


def to_gif(cast: str, frames: Iterable[tuple[float, str]]) -> bytes:
    """The film as GIF: by agg from ``cast``, else by rsvg-convert and ffmpeg from ``frames``, (seconds, SVG) each.
    Raises SpecvizError if these are not installed, or fail."""
    agg, rsvg, ffmpeg = map(shutil.which, ("agg", "rsvg-convert", "ffmpeg"))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        target = folder / "run.gif"
        if agg:
            source = folder / "run.cast"
            source.write_text(cast, "utf-8")
            _call([agg, str(source), str(target)], target)
        elif rsvg and ffmpeg:
            _join(ffmpeg, _stills(rsvg, folder, frames), target)
        else:
            raise SpecvizError(
                "GIF needs agg (of asciinema), or rsvg-convert (package librsvg2-bin, or librsvg) with ffmpeg. "
                "Install them, or export a cast."
            )
        return target.read_bytes()


def _stills(rsvg: str, folder: Path, frames: Iterable[tuple[float, str]]) -> Path:
    """Write every frame as a PNG, and the list of them with durations that ffmpeg reads."""
    listed = ["ffconcat version 1.0"]
    for number, (seconds, svg) in enumerate(frames):
        source, still = folder / f"{number:05}.svg", folder / f"{number:05}.png"
        source.write_text(svg, "utf-8")
        _call([rsvg, "--output", str(still), str(source)], still)
        listed += [f"file {still.name}", f"duration {max(0.02, seconds):.3f}"]
    stills = folder / "stills.txt"
    stills.write_text("\n".join([*listed, listed[-2], ""]), "utf-8")
    return stills


def _join(ffmpeg: str, stills: Path, target: Path) -> None:
    """Make one palette for all stills, so that unchanged parts compress well, then the film."""
    palette = target.with_name("palette.png")
    command = [ffmpeg, "-v", "error", "-f", "concat", "-i", str(stills)]
    _call([*command, "-vf", "palettegen", str(palette)], palette)
    _call([*command, "-i", str(palette), "-lavfi", "paletteuse=dither=none:diff_mode=rectangle", str(target)], target)


def _call(command: Sequence[str], target: Path) -> None:
    """Run a converter that must create ``target``."""
    name = Path(command[0]).name
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, timeout=_SECONDS, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise SpecvizError(f"{name} failed to create the image: {error}.") from None
    if done.returncode or not target.exists():
        messages = done.stderr.decode("utf-8", "replace").strip().splitlines() or ["no error message"]
        raise SpecvizError(f"{name} failed to create the image: {visible(messages[-1].encode())}.")
