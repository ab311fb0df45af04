"""The formula lab: α, K and c as sliders, and every formula drawn and written out as they move."""

import math
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Horizontal
from textual.screen import Screen

from specviz.lab import NAMES, Choice, LabPoint, Name, begin, cost, share, speed_curve, token_curve, written
from specviz.theory_table import Row
from specviz.ui.glyphs import glyphs
from specviz.ui.lab_keys import LAB_KEYS, bindings
from specviz.ui.literal import in_ascii
from specviz.ui.parts import KeyBar, StatusLine
from specviz.ui.screens.lossless import LosslessScreen
from specviz.ui.status import Field, interval, rate
from specviz.ui.widgets.curve_plot import CurvePlot, CurveView, Measured
from specviz.ui.widgets.formulas import FormulaPanel
from specviz.ui.widgets.length_bars import LengthBars
from specviz.ui.widgets.numbers import counted, fixed, prob
from specviz.ui.widgets.slider import Slider


class LabScreen(Screen[None]):
    """Opens on the measured values of ``point``; what was measured stays on the curves while the sliders move."""

    BINDINGS: ClassVar[list[BindingType]] = bindings(LAB_KEYS)
    AUTO_FOCUS = ""
    DEFAULT_CSS = """
    LabScreen {
        layout: vertical; background: $background; color: $foreground;
        #lab-title { background: $panel; }
        #lab-sliders { height: 3; background: $surface; }
        #lab-curves, #lab-details { height: 1fr; }
        #lab-keys { background: $panel; }
    }
    """

    def __init__(self, point: LabPoint | None, *, ascii: bool) -> None:
        super().__init__()
        self.point = point
        self.choice = begin(point)
        self.selected: Name = "alpha"
        self._ascii = ascii
        self._glyphs = glyphs(ascii)
        self._title = StatusLine(id="lab-title", ascii=ascii)
        self._sliders: dict[Name, Slider] = {
            name: Slider(label, id=f"lab-{name}", ascii=ascii)
            for name, label in zip(NAMES, (self._glyphs.alpha, "K", "c"), strict=True)
        }
        self._tokens = CurvePlot(id="lab-tokens", ascii=ascii)
        self._speed = CurvePlot(id="lab-speed", ascii=ascii)
        self._lengths = LengthBars(id="lab-lengths", ascii=ascii)
        self._formulas = FormulaPanel(id="lab-formulas", ascii=ascii)
        self._keys = KeyBar(id="lab-keys", ascii=ascii)

    def compose(self) -> ComposeResult:
        yield self._title
        yield from self._sliders.values()
        with Horizontal(id="lab-curves"):
            yield self._tokens
            yield self._speed
        with Horizontal(id="lab-details"):
            yield self._lengths
            yield self._formulas
        yield self._keys

    def on_mount(self) -> None:
        self._title.show(self._title_fields())
        self._keys.show([(key, (True,) * len(key.actions)) for key in LAB_KEYS])
        self._update()

    # -- showing

    def _update(self) -> None:
        chosen, point = self.choice.row, self.point
        for name, slider in self._sliders.items():
            measured = self._measured(name)
            slider.show(
                self.choice.share(name),
                self._value(name, chosen),
                measured=None if measured is None else share(name, measured),
                note=self._note(name),
                selected=name == self.selected,
            )
        self._tokens.show(self._token_view(chosen))
        self._speed.show(self._speed_view(chosen))
        seen = point.histogram if point and point.k == chosen.k else {}
        rounds = sum(seen.values())
        shares = tuple(seen.get(n, 0) / rounds for n in range(1, chosen.k + 2)) if rounds else None
        mark = f"   {self._glyphs.times} of {counted(rounds, 'round')}" if shares else ""
        self._lengths.show(f"P(N = i)   K {chosen.k}{mark}", chosen.distribution, shares)
        self._formulas.show(written(chosen), self._comparison(chosen))

    def _title_fields(self) -> list[Field]:
        fields = [Field(("formula lab", "lab"), 0, "strong")]
        if self.point is None:
            return [*fields, Field(("no run: values to play with", ""), 1, "quiet")]
        return [*fields, Field(("starts from what the run measured", "from the run"), 1, "quiet")]

    def _value(self, name: Name, chosen: Row) -> str:
        match name:
            case "alpha":
                return prob(chosen.alpha)
            case "k":
                return str(chosen.k)
            case "c":
                return cost(chosen.c)

    def _measured(self, name: Name) -> float | None:
        return None if self.point is None else getattr(self.point, name)

    def _note(self, name: Name) -> str:
        point, value = self.point, self._measured(name)
        if point is None:
            return ""
        match name:
            case "alpha":
                return f"tested {rate(value)} {interval(point.alpha_ci)}" if value is not None else "nothing tested yet"
            case "k":
                return f"of the run: {value}"
            case "c":
                if value is None:
                    return "not measured"
                return "drafts cost nothing" if math.isinf(value) else f"measured {cost(value)}"

    def _token_view(self, chosen: Row) -> CurveView:
        point, limit = self.point, None
        if chosen.alpha < 1:
            limit = (self._words("1/(1 − α)"), 1 / (1 - chosen.alpha))
        measured = None
        if point and point.tokens_per_round is not None:
            measured = Measured(min(point.k, 32), point.tokens_per_round, point.tokens_ci)
        title = f"E[N] over K   {chosen.expected_tokens:.2f} at K {chosen.k}"
        return CurveView(title, token_curve(chosen.alpha), 1.0, chosen.k, measured=measured, limit=limit)

    def _speed_view(self, chosen: Row) -> CurveView:
        best = self._words(f"best K {'≥ ' if chosen.best_k >= 32 else ''}{chosen.best_k}: {chosen.best_speedup:.2f}×")
        return CurveView(
            f"speedup over K   {best}",
            speed_curve(chosen.alpha, chosen.c),
            0.0,
            chosen.k,
            best_k=chosen.best_k,
            measured=self._measured_speed(),
            limit=("ceiling", chosen.ceiling),
            even=("even", 1.0),
        )

    def _measured_speed(self) -> Measured | None:
        """tokens/round as measured, at the measured cost of a round: N c / (c + K)."""
        point = self.point
        if point is None or point.tokens_per_round is None or point.c is None:
            return None
        cost = 1 + point.k / point.c
        ends = point.tokens_ci
        return Measured(
            min(point.k, 32), point.tokens_per_round / cost, (ends[0] / cost, ends[1] / cost) if ends else None
        )

    def _comparison(self, chosen: Row) -> str:
        point = self.point
        if point is None or point.tokens_per_round is None:
            return ""
        error = "" if point.tokens_per_round_se is None else f" ± {point.tokens_per_round_se:.2f}"
        told = f"measured {fixed(point.tokens_per_round, 2)}{error}"
        if chosen.k != point.k:
            return f"{told} at K {point.k}"
        return f"{told}, formula {chosen.expected_tokens - point.tokens_per_round:+.2f}"

    def _words(self, text: str) -> str:
        return in_ascii(text).replace("×", "x").replace("−", "-").replace("≥", ">=") if self._ascii else text

    # -- keys and mouse

    def _choose(self, choice: Choice) -> None:
        if choice != self.choice:
            self.choice = choice
            self._update()

    def _select(self, name: Name) -> None:
        if name != self.selected:
            self.selected = name
            self._update()

    def action_select(self, steps: int) -> None:
        self._select(NAMES[(NAMES.index(self.selected) + steps) % len(NAMES)])

    def action_move(self, steps: int) -> None:
        self._choose(self.choice.moved(self.selected, steps))

    def action_k(self, steps: int) -> None:
        self._choose(self.choice.moved("k", steps))

    def action_reset(self) -> None:
        self._choose(begin(self.point))

    def action_why(self) -> None:
        self.app.push_screen(LosslessScreen(self.point, ascii=self._ascii))

    def action_close(self) -> None:
        """Put the lab away, but never the app."""
        if len(self.app.screen_stack) > 1:
            self.dismiss()

    def action_back(self) -> None:
        if len(self.app.screen_stack) > 1:
            self.dismiss()
        else:
            self.app.exit()

    @on(Slider.Slid)
    def _slid(self, message: Slider.Slid) -> None:
        name = self._name_of(message.slider)
        self._select(name)
        self._choose(self.choice.slid(name, message.share))

    @on(Slider.Nudged)
    def _nudged(self, message: Slider.Nudged) -> None:
        name = self._name_of(message.slider)
        self._select(name)
        self._choose(self.choice.moved(name, message.steps))

    def _name_of(self, slider: Slider) -> Name:
        return next(name for name, known in self._sliders.items() if known is slider)
