"""p and q of one position as bars: the accepted and the resampled mass, and that they add up to p."""

from collections.abc import Sequence

from specviz.core.rule import EXACT, Rule
from specviz.core.safe_text import visible
from specviz.lab.lossless import IdMass, total
from specviz.render.cells import Part, fit, wrapped
from specviz.render.numbers import prob
from specviz.ui.widgets.cell_widget import CellWidget

STAGES = 4
"""p and q; what is accepted; what is resampled; and the first bar put together. Every further step adds a bar."""
_TOKEN, _NUMBER = 16, 6
_MIN_BAR = 10
_RESAMPLED, _ASCII_RESAMPLED = "▒", "="


class MassPanel(CellWidget, panel=True):
    """A row an id; a step reveals more of each row, and the rows do not move. Bars share one scale, but for the row of
    all other ids, which has its own."""

    PREFIX = "mass"
    DEFAULT_CSS = """
    MassPanel { width: 1fr; height: 1fr; }
    MassPanel > .mass--head { color: $secondary; }
    MassPanel > .mass--p { color: $foreground; }
    MassPanel > .mass--q { color: $token-bonus; }
    MassPanel > .mass--accepted { color: $token-accepted; }
    MassPanel > .mass--resampled { color: $token-resampled; }
    MassPanel > .mass--excess { color: $token-rejected; }
    MassPanel > .mass--drafted { color: $accent; text-style: bold; }
    MassPanel > .mass--said { color: $foreground; text-style: bold; }
    """

    _shown: tuple[tuple[IdMass, ...], int, int | None, Rule] = ((), 0, None, EXACT)

    def show(self, rows: tuple[IdMass, ...], step: int, drafted: int | None, rule: Rule) -> None:
        """``rows`` after ``step`` steps; ``drafted`` is the id that was tested."""
        if (rows, step, drafted, rule) != self._shown:
            self._shown = rows, step, drafted, rule
            self.set_titles("p = accepted + resampled", f"step {step + 1} of {STAGES + len(rows)}")
            self.redraw()

    def lines(self, width: int, height: int) -> list[list[Part]]:
        rows, step, drafted, rule = self._shown
        if not rows:
            return []
        cells = width - _TOKEN - 5 * (_NUMBER + 1) - 2
        largest = max(max(row.p, row.q) for row in rows if row.bytes is not None or len(rows) == 1)
        lines: list[list[Part]] = [self._head(cells)]
        for place, row in enumerate(rows):
            whole = largest if row.bytes is not None else max(row.p, row.q)
            lines.append(self._row(row, step, step >= STAGES - 1 + place, drafted, cells, max(whole, 1e-9)))
        lines.append(self._total(rows, step))
        said = [line for text in _said(rows, step, rule, self._glyphs.ascii) for line in wrapped(text, width)]
        lines += [[]] if height > len(lines) + len(said) else []
        lines += [[(text, "said")] for text in said]
        if height > len(lines) + 1:
            lines += [[], self._key()]
        return lines

    def _head(self, cells: int) -> list[Part]:
        titles = ("p", "q", "accept", "resamp", "sum")
        return [(fit("token", _TOKEN) + "".join(" " + title.rjust(_NUMBER) for title in titles), "head")]

    def _row(self, row: IdMass, step: int, summed: bool, drafted: int | None, cells: int, largest: float) -> list[Part]:
        ascii = self._glyphs.ascii
        name = "others, scaled" if row.bytes is None else visible(row.bytes, ascii=ascii)
        tested = row.id is not None and row.id == drafted
        mark = self._glyphs.cursor + " " if tested else "  "
        parts: list[Part] = [(mark + fit(name, _TOKEN - 2, ascii=ascii), "drafted" if tested else "text")]
        parts += self._numbers(row, step, summed)
        if cells >= _MIN_BAR:
            parts += [("  ", "text"), *self._bar(row, step, cells, largest)]
        return parts

    def _numbers(self, row: IdMass, step: int, summed: bool) -> list[Part]:
        def cell(value: float, revealed: bool, style: str) -> Part:
            return (" " + (prob(value, 3) if revealed else "").rjust(_NUMBER), style)

        return [
            cell(row.p, True, "p"),
            cell(row.q, True, "q"),
            cell(row.accepted, step >= 1, "accepted"),
            cell(row.resampled, step >= 2, "resampled"),
            cell(row.accepted + row.resampled, summed, "said"),
        ]

    def _bar(self, row: IdMass, step: int, cells: int, largest: float) -> list[Part]:
        """Up to p, and on to q where the draft gives more than the target takes."""
        signs = self._glyphs
        accepted, p, q = (round(value / largest * cells) for value in (row.accepted, row.p, row.q))
        resampled = _ASCII_RESAMPLED if signs.ascii else _RESAMPLED
        if step == 0:
            body: list[Part] = [(signs.full * p, "p"), (" " * (cells - p), "text")]
            return body if not q else _marked(body, q - 1, (signs.test, "q"))
        parts: list[Part] = [(signs.full * accepted, "accepted")]
        if step >= 2:
            parts.append((resampled * (p - accepted), "resampled"))
        else:
            parts.append((" " * (p - accepted), "text"))
        parts.append((signs.rest * max(0, q - p), "excess"))
        parts.append((" " * (cells - max(p, q)), "text"))
        return parts

    def _total(self, rows: Sequence[IdMass], step: int) -> list[Part]:
        whole = total(rows)
        return [(fit("  sum", _TOKEN), "head"), *self._numbers(whole, step, step >= STAGES + len(rows) - 1)]

    def _key(self) -> list[Part]:
        signs = self._glyphs
        resampled = _ASCII_RESAMPLED if signs.ascii else _RESAMPLED
        return [
            (f"{signs.full} ", "accepted"),
            ("accepted  ", "head"),
            (f"{resampled} ", "resampled"),
            ("resampled  ", "head"),
            (f"{signs.rest} ", "excess"),
            ("q beyond p  ", "head"),
            (f"{signs.test} ", "q"),
            ("q  ", "head"),
            (f"{signs.cursor} ", "drafted"),
            ("the tested token", "head"),
        ]


def _marked(parts: list[Part], at: int, mark: Part) -> list[Part]:
    """One cell of a row of parts replaced."""
    cells = [(char, style) for text, style in parts for char in text]
    cells[min(at, len(cells) - 1)] = mark
    return cells


def _said(rows: Sequence[IdMass], step: int, rule: Rule, ascii: bool) -> list[str]:
    whole = total(rows)
    accepted, rejected = prob(whole.accepted), prob(1.0 - whole.accepted)

    def words(templates: Sequence[str]) -> list[str]:
        texts = [text.format(accepted=accepted, rejected=rejected) for text in templates]
        return [text.replace("−", "-").replace("×", "x") for text in texts] if ascii else texts

    if step == 0:
        return [
            "The target gives each id p; the draft proposes it with probability q:",
            "some too often (q beyond p), and the others too rarely.",
        ]
    if step == 1:
        return words(rule.accepted_words)
    if step == 2:
        return words(rule.replaced_words)
    done = min(step - STAGES + 2, len(rows))
    row = rows[done - 1]
    exact = abs(round(row.accepted, 3) + round(row.resampled, 3) - round(row.accepted + row.resampled, 3)) < 1e-9
    kept = f"{prob(row.accepted)} + {prob(row.resampled)} = {prob(row.accepted + row.resampled)} = p"
    kept += "" if exact else "   (before rounding)"
    if done < len(rows):
        return [kept, "Accepted and resampled mass add up to p."]
    return [
        kept,
        "Every bar is p again: the text is distributed as the target's, whatever q was.",
        f"In all: {accepted} accepted + {prob(whole.resampled)} resampled = {prob(whole.accepted + whole.resampled)}.",
    ]
