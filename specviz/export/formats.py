"""`specviz export`: write a recorded run in another format."""

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
from specviz.core.safe_text import safe_terminal_text, visible_path
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
_MAX_CELLS = 500


@dataclass(frozen=True, slots=True)
class ExportStyle:
    """``theme``: None for light and dark; ``pace``: seconds per round; ``size``: columns and rows of the film."""

    theme: str | None = None
    pace: float | None = None
    size: tuple[int, int] | None = None

    @property
    def palettes(self) -> Palettes:
        from specviz.theming.loader import load_themes

        return palettes(self.theme, load_themes())


def export(trace: str, file: str | None, form: str | None, style: ExportStyle, *, overwrite: bool) -> int:
    """Write the run of ``trace`` to ``file``; ``-`` is standard output, None a file named after the trace. Raises
    SpecvizError for an unusable trace, theme or file, click.UsageError for options that cannot be combined."""
    form = form or _form_of(file)
    _check_options(form, style)
    target = None if file == "-" else Path(file or f"{Path(trace.removeprefix(bundled.PREFIX)).stem}.{form}")
    if target is not None and not overwrite and os.path.lexists(target):
        raise _exists(target)
    if target is not None and _same(target, trace):
        raise SpecvizError(f"{visible_path(target)} is the trace itself: choose another file with -o.")
    if target is None and form in _BINARY and sys.stdout.isatty():
        raise click.UsageError(f"-o - would write {form} to the terminal: redirect it, or name a file.")
    run = Recording(read_trace(trace))
    if run.trace.incomplete:
        say(f"note: the last record of {safe_terminal_text(trace)} is incomplete and was ignored")
    data = FORMATS[form](run, style)
    if target is None:
        click.echo(data, nl=False)
    else:
        _write(target, data, overwrite)
        say(f"{visible_path(target)}: {form}, {len(data) / 1000:.0f} kB")
    return 0


def _svg(run: Recording, style: ExportStyle) -> str:
    return to_svg(run, style.palettes.one)


def _cast(run: Recording, style: ExportStyle) -> str:
    columns, rows = style.size or (COLUMNS, ROWS)
    return to_cast(run, style.palettes.one, style.pace or PACE, columns, rows)


def _gif(run: Recording, style: ExportStyle) -> bytes:
    palette, (columns, rows) = style.palettes.one, style.size or (COLUMNS, ROWS)
    stills = (
        (frame.share * (style.pace or PACE), frame_svg(frame, palette, columns)) for frame in frames(run, columns, rows)
    )
    return to_gif(_cast(run, style), stills)


FORMATS: Mapping[str, Callable[[Recording, ExportStyle], bytes]] = {
    "html": lambda run, style: to_html(run, style.palettes).encode(),
    "md": lambda run, style: to_markdown(run).encode(),
    "csv": lambda run, style: to_csv(run.trace).encode(),
    "cast": lambda run, style: _cast(run, style).encode(),
    "svg": lambda run, style: _svg(run, style).encode(),
    "png": lambda run, style: to_png(_svg(run, style)),
    "gif": _gif,
}


def parse_size(text: str) -> tuple[int, int]:
    """Parse ``100x30`` as columns and rows. Raises ValueError with a sentence."""
    match = re.fullmatch(r"(\d{1,4})x(\d{1,4})", text)
    columns, rows = (int(match[1]), int(match[2])) if match else (0, 0)
    if not (MIN_COLUMNS <= columns <= _MAX_CELLS and MIN_ROWS <= rows <= _MAX_CELLS):
        raise ValueError(f"{text!r} is not a size such as 100x30; the minimum is {MIN_COLUMNS}x{MIN_ROWS}.")
    return columns, rows


def _check_options(form: str, style: ExportStyle) -> None:
    for option, value, forms in (
        ("--theme", style.theme, _PICTURES),
        ("--pace", style.pace, _FILMS),
        ("--size", style.size, _FILMS),
    ):
        if value is not None and form not in forms:
            raise click.UsageError(f"{option} applies to {', '.join(forms)}, not to {form}.")


def _form_of(file: str | None) -> str:
    if file is None:
        return "html"
    known = ", ".join(FORMATS)
    if file == "-":
        raise click.UsageError(f"-o - needs --as with one of {known}.")
    suffix = Path(file).suffix.lower().removeprefix(".")
    form = _SUFFIXES.get(suffix, suffix)
    if form not in FORMATS:
        raise click.UsageError(f"-o {file} has no known extension: use one of {known}, or add --as.")
    return form


def _same(target: Path, trace: str) -> bool:
    """Whether ``target`` is the trace that is being read."""
    try:
        return os.path.samefile(target, trace)
    except (OSError, ValueError):
        return False


def _write(target: Path, data: bytes, overwrite: bool) -> None:
    """Write atomically: an existing file stays until the new one is complete."""
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
        raise SpecvizError(
            f"{visible_path(target)} cannot be written ({reason}): choose another file with -o."
        ) from None


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
    return SpecvizError(f"{visible_path(target)} exists: choose another file with -o, or use --force to overwrite it.")
