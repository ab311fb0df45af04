"""The formulas, and under each the same with the numbers put in."""

from collections.abc import Sequence
from typing import ClassVar

from specviz.ui.glyphs import panel_css
from specviz.ui.literal import in_ascii
from specviz.ui.widgets.drawing import Part
from specviz.ui.widgets.drawn import Drawn


class FormulaPanel(Drawn):
    """As many lines as fit: formulas and numbers in pairs, numbers alone where it is low; the comparison comes last."""

    PREFIX = "formula"
    COMPONENT_CLASSES: ClassVar[set[str]] = {"formula--form", "formula--number", "formula--measured"}
    DEFAULT_CSS = (
        panel_css("FormulaPanel")
        + """
    FormulaPanel { width: 1fr; height: 1fr; }
    FormulaPanel > .formula--form { color: $secondary; }
    FormulaPanel > .formula--number { color: $foreground; text-style: bold; }
    FormulaPanel > .formula--measured { color: $plot-measured; }
    """
    )
    LABELS: ClassVar[tuple[str, ...]] = ("E[N]", "speedup", "best", "even", "ceiling")

    _shown: tuple[Sequence[tuple[str, str]], str] = ((), "")

    def on_mount(self) -> None:
        self.entitle("with the numbers put in")

    def show(self, written: Sequence[tuple[str, str]], comparison: str) -> None:
        """``written``: (formula, with numbers), as from ``lab.written``."""
        if (written, comparison) != self._shown:
            self._shown = written, comparison
            self.redraw()

    def lines(self, width: int, height: int) -> list[list[Part]]:
        written, comparison = self._shown
        lines: list[list[Part]] = []
        roomy = height >= 2 * len(written) + 2
        spaced = height >= 3 * len(written) + 1
        for label, (form, numbers) in zip(self.LABELS, written, strict=False):
            if roomy:
                lines += [[(form, "form")], [("  = " if form[0] in "Es" else "  ", "form"), (numbers, "number")]]
                lines += [[]] if spaced else []
            else:
                lines.append([(f"{label:<8}", "form"), (_close(numbers, width - 8), "number")])
        if comparison:
            lines += [[]] if roomy and not spaced else []
            lines.append([(comparison, "measured")])
        if self._glyphs.ascii:
            return [[(_ascii(text), style) for text, style in parts] for parts in lines]
        return lines


def _close(text: str, cells: int) -> str:
    """Without the blanks around signs where it is too long."""
    for sign in ("−", "+", "="):
        text = text if len(text) <= cells else text.replace(f" {sign} ", sign)
    return text


def _ascii(text: str) -> str:
    return in_ascii(text).replace("×", "x").replace("−", "-").replace("·", "*").replace("≥", ">=").replace("|", "*")
