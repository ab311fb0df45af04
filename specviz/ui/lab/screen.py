"""The formula lab: α, K and c as sliders, and every formula drawn and written out as they move."""

import math
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Horizontal
from textual.screen import Screen

from specviz.core.options import MAX_K
from specviz.lab.model import (
    NAMES,
    LabPoint,
    Name,
    SliderValues,
    cost,
    measured_cost_curve,
    slider_fraction,
    speed_curve,
    starting_values,
    token_curve,
    values_origin,
    written_formulas,
)
from specviz.maths.formula_table import Row, best_k_label
from specviz.maths.step_costs import best_k as best_of
from specviz.render.glyphs import glyphs
from specviz.render.numbers import fixed, pluralised, prob
from specviz.render.screen_text import in_ascii
from specviz.ui.charts.curve_plot import CurvePlot, CurveView, MeasuredPoint
from specviz.ui.lab.formulas import FormulaPanel
from specviz.ui.lab.keys import LAB_KEYS, bindings
from specviz.ui.lab.length_bars import LengthBars
from specviz.ui.lab.lossless_screen import LosslessScreen
from specviz.ui.lab.slider import Slider
from specviz.ui.run.status_line import StatusField, interval, rate
from specviz.ui.widgets.bars import KeyBar, StatusLine


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
        self.choice = starting_values(point)
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
        chosen = self.choice.row
        for name, slider in self._sliders.items():
            measured = self._measured(name)
            slider.show(
                self.choice.fraction(name),
                self._value(name, chosen),
                measured=None if measured is None else slider_fraction(name, measured),
                note=self._note(name),
                selected=name == self.selected,
            )
        self._tokens.show(self._token_view(chosen))
        self._speed.show(self._speed_view(chosen))
        self._show_lengths(chosen)
        self._formulas.show(written_formulas(chosen), self._comparison())

    def _show_lengths(self, chosen: Row) -> None:
        """At the run's K the rounds are marked, and expected by the K_r they had."""
        point = self.point
        rounds = sum(point.histogram.values()) if point and point.k == chosen.k else 0
        if point is None or not rounds:
            self._lengths.show(f"P(N = i)   K {chosen.k}", chosen.distribution, None)
            return
        ns, chances, sign = range(1, chosen.k + 2), chosen.distribution, ""
        if point.mixed:
            expected = point.expected_histogram(chosen.alpha)
            chances, sign = tuple(expected.get(n, 0.0) / rounds for n in ns), self._words("≤ ")
        shares = tuple(point.histogram.get(n, 0) / rounds for n in ns)
        mark = f"{self._glyphs.times} of {pluralised(rounds, 'round')}"
        self._lengths.show(f"P(N = i)   K {sign}{chosen.k}   {mark}", chances, shares)

    def _title_fields(self) -> list[StatusField]:
        fields = [StatusField(("formula lab", "lab"), 0, "strong")]
        return [*fields, StatusField((values_origin(self.point), ""), 1, "quiet")]

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
                otherwise = f", mean {fixed(point.mean_k, 2)}" if point.mixed else ""
                return f"of the run: {value}{otherwise}"
            case "c":
                if value is None:
                    return "not measured"
                return "drafts cost nothing" if math.isinf(value) else f"measured {cost(value)}"

    def _token_view(self, chosen: Row) -> CurveView:
        point, limit = self.point, None
        if chosen.alpha < 1:
            limit = (self._words("1/(1 − α)"), 1 / (1 - chosen.alpha))
        measured = None
        if point and point.at_k:
            measured = MeasuredPoint(min(point.k, MAX_K), point.at_k.value, point.at_k.ci)
        title = f"E[N] over K   {chosen.expected_tokens:.2f} at K {chosen.k}"
        return CurveView(title, token_curve(chosen.alpha), 1.0, chosen.k, measured=measured, limit=limit)

    def _speed_view(self, chosen: Row) -> CurveView:
        """By measured cost, if the run has step times, before the paper's model."""
        point, by_cost, best_k = self.point, None, chosen.best_k
        title = model = f"{best_k_label(chosen.best_k)}: {chosen.best_speedup:.2f}×"
        if point and point.costs:
            by_cost = measured_cost_curve(chosen.alpha, point.costs)
            best_k = best_of(by_cost)
            title = f"{best_k_label(best_k)}: {by_cost[best_k]:.2f}× measured, {model} model"
        return CurveView(
            self._words(f"speedup{'' if by_cost else ' over K'}   best K {title}"),
            by_cost or speed_curve(chosen.alpha, chosen.c),
            0.0,
            chosen.k,
            best_k=best_k,
            measured=self._measured_speed(),
            limit=None if by_cost else ("ceiling", chosen.ceiling),
            even=("even", 1.0),
            model=speed_curve(chosen.alpha, chosen.c) if by_cost else (),
        )

    def _measured_speed(self) -> MeasuredPoint | None:
        """The speedup by measured cost; without step times, the model's at measured tokens/round, N c / (c + K)."""
        point = self.point
        if point is None:
            return None
        if point.speedup is not None:
            return MeasuredPoint(min(point.k, MAX_K), point.speedup)
        if point.at_k is None or point.c is None:
            return None
        cost, ends = 1 + point.k / point.c, point.at_k.ci
        interval = (ends[0] / cost, ends[1] / cost) if ends else None
        return MeasuredPoint(min(point.k, MAX_K), point.at_k.value / cost, interval, "model at measured tokens/round")

    def _comparison(self) -> tuple[str, ...]:
        """The run's tokens a round beside the formula for the same rounds."""
        point = self.point
        if point is None or point.tokens_per_round is None:
            return ()
        error = "" if point.half_width is None else f" ± {point.half_width:.2f}"
        at = f"mean K {fixed(point.mean_k, 2)}" if point.mixed else f"K {point.k}"
        lines = [f"measured {fixed(point.tokens_per_round, 2)}{error} at {at}"]
        if point.formula_at_tested is not None:
            gap = point.formula_at_tested - point.tokens_per_round
            lines.append(f"formula {point.formula_at_tested:.2f} at tested α ({gap:+.2f})")
        if point.plain_rounds:
            lines.append(f"{point.plain_rounds} of {pluralised(sum(point.drafts.values()), 'round')} plain (K 0)")
        return tuple(lines)

    def _words(self, text: str) -> str:
        return (
            in_ascii(text).replace("×", "x").replace("−", "-").replace("≥", ">=").replace("≤", "<=")
            if self._ascii
            else text
        )

    # -- keys and mouse

    def _choose(self, choice: SliderValues) -> None:
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
        self._choose(self.choice.stepped(self.selected, steps))

    def action_k(self, steps: int) -> None:
        self._choose(self.choice.stepped("k", steps))

    def action_reset(self) -> None:
        self._choose(starting_values(self.point))

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
        self._choose(self.choice.at_fraction(name, message.share))

    @on(Slider.Nudged)
    def _nudged(self, message: Slider.Nudged) -> None:
        name = self._name_of(message.slider)
        self._select(name)
        self._choose(self.choice.stepped(name, message.steps))

    def _name_of(self, slider: Slider) -> Name:
        return next(name for name, known in self._sliders.items() if known is slider)
