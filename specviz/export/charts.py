"""The charts of a run as SVG: pure functions of its numbers. Colours come from CSS classes; see charts.css."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from importlib.resources import files
from string import Template

from specviz.render.numbers import fixed, prob
from specviz.stats.rates import PositionRate, Rates
from specviz.stats.series import Series

WIDTH, HEIGHT = 460, 232
_LEFT, _RIGHT, _TOP, _BOTTOM = 38, 12, 50, 26
_MAX_POINTS = 600
"""Most points of a line: more would not be visible."""
_MAX_LABELLED = 5
"""Most positions for which counts fit next to the bars."""
_TICK_STEPS = (1, 2, 5)

Values = Sequence[float | None]


def css(colors: Mapping[str, str]) -> str:
    """The style sheet of the charts; ``colors`` by names such as ``plot-band``, as CSS colours."""
    text = files(__package__).joinpath("charts.css").read_text("utf-8")
    return Template(text).substitute({name.replace("-", "_"): color for name, color in colors.items()})


@dataclass(frozen=True, slots=True)
class Axes:
    """Maps values to pixels: x from ``first`` to ``last`` over the width, y from ``low`` to ``high`` upwards."""

    first: float
    last: float
    low: float
    high: float

    def x(self, value: float) -> float:
        span = self.last - self.first
        return _LEFT + (value - self.first) / (span or 1.0) * (WIDTH - _LEFT - _RIGHT)

    def y(self, value: float) -> float:
        share = (value - self.low) / (self.high - self.low)
        return HEIGHT - _BOTTOM - min(1.0, max(0.0, share)) * (HEIGHT - _TOP - _BOTTOM)

    def at(self, x: float, y: float) -> str:
        return f"{self.x(x):.1f} {self.y(y):.1f}"


def charts(series: Series, rates: Rates) -> list[str]:
    """All four, in the order of the main screen."""
    return [alpha(series, rates), tokens(series, rates), positions(rates.per_position), histogram(rates)]


def alpha(series: Series, rates: Rates) -> str:
    """Running α tested with its 95 % band, and α overlap."""
    rounds = len(series.rounds)
    axes = Axes(1, max(2, rounds), 0.0, 1.0)
    starts = series.segment_starts
    body = [
        _y_axis(axes, {0.0: "0", 0.5: ".5", 1.0: "1"}),
        _rounds_axis(axes, rounds),
        _band(axes, series.alpha_tested_low, series.alpha_tested_high, starts),
        _uprights(axes, starts),
        _line(axes, "overlap", series.alpha_overlap, starts),
        _line(axes, "tested", series.alpha_tested, starts),
    ]
    key = (("tested", "α tested"), ("band", "95 % if tests were independent"), ("overlap", "α overlap"))
    title = f"Acceptance: α tested {prob(rates.alpha_tested)}, α overlap {prob(rates.alpha_overlap)}"
    return _chart(title, key, body, empty=not rates.tested)


def tokens(series: Series, rates: Rates) -> str:
    """Running tokens/round against the formula at both alphas."""
    rounds = len(series.rounds)
    high = max(2, series.longest, len(rates.per_position) + 1)
    axes = Axes(1, max(2, rounds), 1.0, float(high))
    step = _step(high - 1, 5)
    starts = series.tokens_segment_starts
    body = [
        _y_axis(axes, {float(n): str(n) for n in range(1, high + 1, step)}),
        _rounds_axis(axes, rounds),
        _uprights(axes, starts),
        _line(axes, "formula-2", series.formula_at_overlap, starts),
        _line(axes, "formula", series.formula_at_tested, starts),
        _line(axes, "measured", series.tokens_per_round, starts),
    ]
    key = (("measured", "measured"), ("formula", "formula at α tested"), ("formula-2", "formula at α overlap"))
    formulas = f"{fixed(rates.formula_at_tested, 2)} | {fixed(rates.formula_at_overlap, 2)}"
    title = f"tokens/round {fixed(rates.tokens_per_round, 2)}, formula {formulas}"
    return _chart(title, key, body, empty=rates.tokens_per_round is None)


def positions(rates: Sequence[PositionRate]) -> str:
    """Acceptance by draft position, of the tests there and of all rounds."""
    axes = Axes(0.5, len(rates) + 0.5, 0.0, 1.0)
    labelled = len(rates) <= _MAX_LABELLED
    body = [_y_axis(axes, {0.0: "0", 0.5: ".5", 1.0: "1"})]
    for at in rates:
        for name, offset, value, part, whole in (
            ("tested", -0.36, at.conditional, at.accepted, at.tested),
            ("overlap", 0.02, at.unconditional, at.reached, at.drafted),
        ):
            if value is None:
                continue
            body.append(_bar(axes, name, at.position + offset, 0.34, value))
            if labelled:
                x = axes.x(at.position + offset + 0.17)
                inside = value > 0.8
                y = axes.y(value) + (12 if inside else -4)
                body.append(_text(x, y, f"{part}/{whole}", "middle", "count on" if inside else "count"))
        if labelled or at.position % _step(len(rates), 16) == 0:
            body.append(_text(axes.x(at.position), HEIGHT - _BOTTOM + 15, str(at.position), "middle"))
    key = (("tested-bar", "if tested"), ("overlap-bar", "of all rounds"))
    return _chart("Acceptance by draft position", key, body, empty=not rates)


def histogram(rates: Rates) -> str:
    """How many rounds emitted N tokens, compared with the number expected from P(N = i) at α tested."""
    most = max([1.0, *map(float, rates.histogram.values()), *rates.expected_histogram.values()])
    step = _step(math.ceil(most), 4)
    high = step * math.ceil(most / step)
    axes = Axes(0.5, len(rates.histogram) + 0.5, 0.0, float(high))
    spacing = _step(len(rates.histogram), 12)
    body = [_y_axis(axes, {float(n): str(n) for n in range(0, high + 1, step)})]
    for n, count in rates.histogram.items():
        body.append(_bar(axes, "measured", n - 0.3, 0.6, count))
        if n % spacing == 0:
            body.append(_text(axes.x(n), HEIGHT - _BOTTOM + 15, str(n), "middle"))
        if (expected := rates.expected_histogram.get(n)) is not None:
            level = f'd="M{axes.at(n - 0.42, expected)}L{axes.at(n + 0.42, expected)}"'
            body.append(f'<path class="halo" {level}/><path class="mark" {level}/>')
    key = (("measured-bar", "rounds with N tokens"), ("mark", "expected: P(N = i) at α tested"))
    return _chart("Tokens per round (N)", key, body, empty=not any(rates.histogram.values()))


def _chart(title: str, key: Sequence[tuple[str, str]], body: Sequence[str], *, empty: bool) -> str:
    x = float(_LEFT)
    legend: list[str] = []
    for name, text in key:
        legend.append(_sample(name, x) + _text(x + 24, 35, text))
        x += 24 + 6.2 * len(text) + 18
    shown = [_text(_LEFT, HEIGHT / 2, "no data yet")] if empty else [*legend, *body]
    return (
        f'<svg class="chart" xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img">'
        f"<title>{escape(title)}</title>{_text(0, 14, title, name='title')}{''.join(shown)}</svg>"
    )


def _sample(name: str, x: float) -> str:
    """The sample of a series in the legend."""
    if name == "band":
        return f'<rect class="band" x="{x:.0f}" y="26" width="18" height="11"/>'
    if name.endswith("-bar"):
        return f'<rect class="bar {name.removesuffix("-bar")}" x="{x:.0f}" y="26" width="18" height="11"/>'
    return f'<path class="{"mark" if name == "mark" else f"line {name}"}" d="M{x:.0f} 31.5h18"/>'


def _text(x: float, y: float, text: str, anchor: str = "start", name: str = "") -> str:
    named = f' class="{name}"' if name else ""
    return f'<text{named} x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(text)}</text>'


def _y_axis(axes: Axes, ticks: Mapping[float, str]) -> str:
    rules = "".join(f"M{_LEFT} {axes.y(value):.1f}H{WIDTH - _RIGHT}" for value in ticks)
    labels = "".join(_text(_LEFT - 6, axes.y(value) + 4, text, "end") for value, text in ticks.items())
    return f'<path class="grid" d="{rules}"/>{labels}'


def _rounds_axis(axes: Axes, rounds: int) -> str:
    step = _step(rounds, 6)
    ticks = [1, *(r for r in range(step, rounds + 1, step) if r > 1 + step / 3)]
    labels = "".join(_text(axes.x(r), HEIGHT - _BOTTOM + 15, str(r), "middle") for r in ticks)
    return labels + _text(WIDTH - _RIGHT, HEIGHT - 1, "round", "end")


def _uprights(axes: Axes, starts: Sequence[int]) -> str:
    """Vertical lines where settings changed."""
    rules = "".join(f"M{axes.x(start):.1f} {_TOP}V{HEIGHT - _BOTTOM}" for start in starts)
    return f'<path class="segment" d="{rules}"/>' if rules else ""


def _bar(axes: Axes, name: str, x: float, width: float, value: float) -> str:
    left, right, top, bottom = axes.x(x), axes.x(x + width), axes.y(value), axes.y(axes.low)
    size = f'width="{right - left:.1f}" height="{bottom - top:.1f}"'
    return f'<rect class="bar {name}" x="{left:.1f}" y="{top:.1f}" {size}/>'


def _line(axes: Axes, name: str, values: Values, starts: Sequence[int]) -> str:
    path = "".join(
        "M" + "L".join(axes.at(r, v) for r, v in run) + ("h.1" if len(run) == 1 else "")
        for run in _runs(values, starts)
    )
    return f'<path class="line {name}" d="{path}"/>' if path else ""


def _band(axes: Axes, low: Values, high: Values, starts: Sequence[int]) -> str:
    path = "".join(
        "M" + "L".join([axes.at(r, v) for r, v in above] + [axes.at(r, v) for r, v in reversed(below)]) + "Z"
        for below, above in zip(_runs(low, starts), _runs(high, starts), strict=True)
    )
    return f'<path class="band" d="{path}"/>' if path else ""


def _runs(values: Values, starts: Sequence[int]) -> Iterator[list[tuple[int, float]]]:
    """Contiguous runs of (round, value), thinned; a segment or an undefined value starts a new one."""
    stride = max(1, math.ceil(len(values) / _MAX_POINTS))
    begins = set(starts)
    run: list[tuple[int, float]] = []
    for r, value in enumerate(values, start=1):
        if (value is None or r in begins) and run:
            yield _thinned(run, stride)
            run = []
        if value is not None:
            run.append((r, value))
    if run:
        yield _thinned(run, stride)


def _thinned(run: list[tuple[int, float]], stride: int) -> list[tuple[int, float]]:
    return [*run[:-1:stride], run[-1]]


def _step(count: int, most: int) -> int:
    """The smallest of 1, 2, 5, 10, 20 … that cuts ``count`` into at most ``most`` steps."""
    power = 1
    while True:
        for step in _TICK_STEPS:
            if count <= step * power * most:
                return step * power
        power *= 10
