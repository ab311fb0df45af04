"""`specviz export`: a recorded run as a file for others."""

import os
import re
import sys
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import click

from specviz import bundled
from specviz.core.errors import SpecvizError
from specviz.core.safe_text import safe_terminal_text, visible
from specviz.export.cast import COLUMNS, PACE, ROWS, to_cast
from specviz.export.csv import to_csv
from specviz.export.film import MIN_COLUMNS, MIN_ROWS, frames
from specviz.export.html import to_html
from specviz.export.markdown import to_markdown
from specviz.export.palette import Palettes, palettes
from specviz.export.raster import to_gif, to_png
from specviz.export.report import Recording
from specviz.export.svg import frame_svg, to_svg
from specviz.render.console import say
from specviz.trace.replay import read_trace

_FILMS, _PICTURES = ("cast", "gif"), ("html", "svg", "png", "cast", "gif")
_BINARY = ("png", "gif")
_SUFFIXES = {"htm": "html", "markdown": "md"}
_MOST_CELLS = 500


@dataclass(frozen=True, slots=True)
class Look:
    """``theme``: None for the shipped ones; ``pace``: seconds a round stays; ``size``: columns and rows of the film."""

    theme: str | None = None
    pace: float | None = None
    size: tuple[int, int] | None = None

    @property
    def palettes(self) -> Palettes:
        from specviz.theming.loader import load_themes

        return palettes(self.theme, load_themes())


def export(trace: str, file: str | None, form: str | None, look: Look, *, overwrite: bool) -> int:
    """Write the run of ``trace`` to ``file`` (``-``: standard output; None: into this folder, named after the trace).

    Raises SpecvizError for a trace, theme or file that cannot be used, click.UsageError for options that do not fit.
    """
    form = form or _form_of(file)
    _check_options(form, look)
    target = None if file == "-" else Path(file or f"{_stem(trace)}.{form}")
    if target is not None and not overwrite and os.path.lexists(target):
        raise _exists(target)
    if target is not None and _same(target, trace):
        raise SpecvizError(f"{_shown(target)} is the trace itself: choose another file by -o.")
    if target is None and form in _BINARY and sys.stdout.isatty():
        raise click.UsageError(f"-o - would write {form} to the terminal: send it on, or name a file.")
    run = Recording(read_trace(trace))
    if run.trace.incomplete:
        say(f"note: the last record of {safe_terminal_text(trace)} is incomplete and was left out")
    data = FORMATS[form](run, look)
    if target is None:
        click.echo(data, nl=False)
    else:
        _write(target, data, overwrite)
        say(f"{_shown(target)}: {form}, {len(data) / 1000:.0f} kB")
    return 0


def _svg(run: Recording, look: Look) -> str:
    return to_svg(run, look.palettes.one)


def _cast(run: Recording, look: Look) -> str:
    columns, rows = look.size or (COLUMNS, ROWS)
    return to_cast(run, look.palettes.one, look.pace or PACE, columns, rows)


def _gif(run: Recording, look: Look) -> bytes:
    palette, (columns, rows) = look.palettes.one, look.size or (COLUMNS, ROWS)
    stills = (
        (frame.share * (look.pace or PACE), frame_svg(frame, palette, columns)) for frame in frames(run, columns, rows)
    )
    return to_gif(_cast(run, look), stills)


FORMATS: Mapping[str, Callable[[Recording, Look], bytes]] = {
    "html": lambda run, look: to_html(run, look.palettes).encode(),
    "md": lambda run, look: to_markdown(run).encode(),
    "csv": lambda run, look: to_csv(run.trace).encode(),
    "cast": lambda run, look: _cast(run, look).encode(),
    "svg": lambda run, look: _svg(run, look).encode(),
    "png": lambda run, look: to_png(_svg(run, look)),
    "gif": _gif,
}


def parse_size(text: str) -> tuple[int, int]:
    """``100x30`` as columns and rows. Raises ValueError, one sentence."""
    match = re.fullmatch(r"(\d{1,4})x(\d{1,4})", text)
    columns, rows = (int(match[1]), int(match[2])) if match else (0, 0)
    if not (MIN_COLUMNS <= columns <= _MOST_CELLS and MIN_ROWS <= rows <= _MOST_CELLS):
        raise ValueError(f"{text!r} is not a size such as 100x30, from {MIN_COLUMNS}x{MIN_ROWS} on.")
    return columns, rows


def _check_options(form: str, look: Look) -> None:
    for option, value, forms in (
        ("--theme", look.theme, _PICTURES),
        ("--pace", look.pace, _FILMS),
        ("--size", look.size, _FILMS),
    ):
        if value is not None and form not in forms:
            raise click.UsageError(f"{option} is for {', '.join(forms)}, and this is {form}.")


def _form_of(file: str | None) -> str:
    if file is None:
        return "html"
    known = ", ".join(FORMATS)
    if file == "-":
        raise click.UsageError(f"-o - needs --as with one of {known}.")
    suffix = Path(file).suffix.lower().removeprefix(".")
    form = _SUFFIXES.get(suffix, suffix)
    if form not in FORMATS:
        raise click.UsageError(f"-o {file} names no format: end it in one of {known}, or give --as.")
    return form


def _stem(trace: str) -> str:
    return trace.removeprefix(bundled.PREFIX) if trace.startswith(bundled.PREFIX) else Path(trace).stem


def _same(target: Path, trace: str) -> bool:
    """Whether writing to ``target`` would destroy what is read."""
    try:
        return os.path.samefile(target, trace)
    except (OSError, ValueError):
        return False


def _write(target: Path, data: bytes, overwrite: bool) -> None:
    """All of it or nothing: an old file stays until the new one is complete."""
    try:
        if overwrite and (target.is_file() or not target.exists()):
            _replace(target.resolve(), data)
        else:
            with target.open("wb" if overwrite else "xb") as out:
                out.write(data)
    except FileExistsError:
        raise _exists(target) from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise SpecvizError(f"{_shown(target)} cannot be written ({reason}): choose another file by -o.") from None


def _replace(target: Path, data: bytes) -> None:
    mode = target.stat().st_mode if target.exists() else None
    descriptor, name = tempfile.mkstemp(prefix=".specviz-", dir=target.parent)
    try:
        with open(descriptor, "wb") as out:
            out.write(data)
        os.chmod(name, mode & 0o777 if mode is not None else 0o666 & ~_umask())
        os.replace(name, target)
    except BaseException:
        os.unlink(name)
        raise


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def _exists(target: Path) -> SpecvizError:
    return SpecvizError(f"{_shown(target)} exists: choose another file by -o, or overwrite it with --force.")


def _shown(path: Path) -> str:
    return visible(str(path).encode("utf-8", "surrogateescape"))
