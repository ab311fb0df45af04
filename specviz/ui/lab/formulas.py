"""The formulas, and under each the same with numbers substituted."""

from collections.abc import Sequence
from typing import ClassVar

from specviz.core.safe_text import width as width_of
from specviz.render.cells import Part, wrapped
from specviz.render.screen_text import in_ascii
from specviz.ui.widgets.cell_widget import CellWidget


class FormulaPanel(CellWidget, panel=True):
    """Formulas and numbers in pairs, or numbers alone in a small panel, then the comparison. A result is never cut: its
    inputs are omitted first."""

    PREFIX = "formula"
    DEFAULT_CSS = """
    FormulaPanel { width: 1fr; height: 1fr; }
    FormulaPanel > .formula--form { color: $secondary; }
    FormulaPanel > .formula--number { color: $foreground; text-style: bold; }
    FormulaPanel > .formula--measured { color: $plot-measured; }
    """
    LABELS: ClassVar[tuple[str, ...]] = ("E[N]", "speedup", "best", "even", "ceiling")

    _shown: tuple[Sequence[tuple[str, str]], Sequence[str]] = ((), ())

    def on_mount(self) -> None:
        self.set_titles("with numbers substituted")

    def show(self, written: Sequence[tuple[str, str]], comparison: Sequence[str]) -> None:
        """``written``: (formula, with numbers), as from ``lab.written``; ``comparison``: lines."""
        if (written, comparison) != self._shown:
            self._shown = written, comparison
            self.redraw()

    def lines(self, width: int, height: int) -> list[list[Part]]:
        written, comparison = self._shown
        lines: list[list[Part]] = []
        notes = [line for text in comparison for line in wrapped(text, width)]
        wide = width >= max((len(form) for form, _ in written), default=0)
        roomy = wide and height >= 2 * len(written) + 1 + len(notes)
        spaced = roomy and height >= 3 * len(written) + len(notes)
        for label, (form, numbers) in zip(self.LABELS, written, strict=False):
            if roomy:
                lines += [
                    [(form, "form")],
                    [("  = " if form[0] in "Es" else "  ", "form"), (_close(numbers, width - 4), "number")],
                ]
                lines += [[]] if spaced else []
            else:
                lines.append([(f"{label:<8}", "form"), (_close(numbers, width - 8), "number")])
        lines += [[]] if notes and roomy and not spaced else []
        if len(lines) + len(notes) > height:
            notes = [text for text in (text.partition(" at ")[0] for text in comparison) if width_of(text) <= width]
        lines += [[(text, "measured")] for text in notes]
        if self._glyphs.ascii:
            return [[(_ascii(text), style) for text, style in parts] for parts in lines]
        return lines


def _close(text: str, cells: int) -> str:
    """Without the blanks around signs where it is too long, and with the result alone where it still is."""
    closer = text
    for sign in ("−", "+", "="):
        closer = closer if len(closer) <= cells else closer.replace(f" {sign} ", sign)
    if len(closer) <= cells:
        return closer
    _, equals, result = text.rpartition(" = ")
    return f"= {result}" if equals else text.partition(":")[0]


def _ascii(text: str) -> str:
    return in_ascii(text).replace("×", "x").replace("−", "-").replace("·", "*").replace("≥", ">=").replace("|", "*")
