"""The page of tokens/round: their distribution against the formula, and why the two differ."""

from functools import partial

from specviz.render.cells import Part, bar
from specviz.render.glyphs import Glyphs
from specviz.render.numbers import fixed, pluralised, prob
from specviz.stats.formula_gap import AcceptanceRate, FormulaGap, formula_gap
from specviz.stats.numbers_table import NUMBER
from specviz.stats.rates import Rates
from specviz.ui.metrics.blocks import (
    FactRow,
    Lines,
    PageBody,
    align_decimals,
    bounds,
    fact_lines,
    heading,
    in_repertoire,
    number_facts,
    paragraph,
    stacked,
    table,
    two_columns,
)
from specviz.ui.metrics.scope import Scope

_TWO_BLOCKS = 124
_HISTOGRAM, _BAR = 46, 26


def tokens_per_round(scope: Scope) -> PageBody:
    if scope.rates.tokens_per_round is None:
        return partial(paragraph, f"No whole round{scope.yet}.")
    return partial(_page, scope.rates, formula_gap(scope.stats.table, scope.rates))


def _page(rates: Rates, why: FormulaGap, cells: int, glyphs: Glyphs) -> Lines:
    left, right = _histogram(rates, glyphs), stacked(_causes(why, glyphs), _drift(why, rates, glyphs))
    below = two_columns(left, right, _HISTOGRAM) if cells >= _TWO_BLOCKS else stacked(left, right)
    return stacked(
        fact_lines(length_facts(rates), cells, glyphs), paragraph(reading(rates, why), cells, glyphs, "strong"), below
    )


def length_facts(rates: Rates) -> list[FactRow]:
    from_16 = " (from 16 rounds on)" if rates.tokens_per_round_half_width is None else ""
    rounds = pluralised(sum(rates.histogram.values()), "uncut round")
    words = {
        "tokens_per_round": f"mean N of {rounds}, ± 95\xa0% by batch means{from_16}.",
        "formula_at_tested": f"{NUMBER['formula_at_tested'].meaning} at α tested {prob(rates.alpha_tested)},"
        " over the K of each round.",
        "formula_at_overlap": f"the same at α {rates.overlap_name} {prob(rates.alpha_overlap)}.",
    }
    styles = {"tokens_per_round": "measured", "formula_at_tested": "formula", "formula_at_overlap": "all"}
    return number_facts("tokens per round", rates, words, styles)


def reading(rates: Rates, why: FormulaGap) -> str:
    """The gap, and the first of its causes, in words."""
    gap, error = why.gap, rates.tokens_per_round_half_width
    if gap is None:
        return "No draft was tested, so the formula predicts nothing."
    if error is None:
        return "Too few rounds to distinguish a gap from chance."
    apart = f"{abs(gap):.2f}"
    if abs(gap) <= error:
        return f"The formula and the measurement agree: {apart} apart, within the ± {error:.2f} of 95\xa0%."
    side = "above" if gap > 0 else "below"
    words = f"Acceptance varies: the formula, which assumes it does not, sits {apart} {side}"
    before, after = (prob(share.rate, 2) for share in (why.first_after_rejection, why.first_after_full))
    if None in (why.first_after_rejection.rate, why.first_after_full.rate):
        return f"{words}."
    return (
        f"{words}. A first draft is accepted {before} of the time after a rejection, {after} after a full acceptance."
    )


def _histogram(rates: Rates, glyphs: Glyphs) -> Lines:
    """Two bars an N: the rounds there were, and those the formula's distribution expects."""
    lengths = sorted(rates.histogram)
    expected = [rates.expected_histogram.get(n) for n in lengths]
    most = max([1.0, *map(float, rates.histogram.values()), *(value or 0.0 for value in expected)])
    numbers = align_decimals(
        [
            *(str(rates.histogram[n]) for n in lengths),
            *("<0.1" if value and value < 0.05 else fixed(value, 1, glyphs.none) for value in expected),
        ]
    )
    index = len(str(lengths[-1]))
    lines: Lines = [
        heading("Rounds by N, their number of tokens", glyphs),
        [
            (glyphs.full, "measured"),
            (" measured  ", "head"),
            (glyphs.rest, "formula"),
            (in_repertoire(" expected by P(N = i) at α tested", glyphs), "head"),
        ],
    ]
    for row, (n, value) in enumerate(zip(lengths, expected, strict=True)):
        measured, predicted = numbers[row], numbers[row + len(lengths)]
        there = bar(rates.histogram[n] / most, _BAR, glyphs.eighths)
        foreseen = (glyphs.rest * round((value or 0.0) / most * _BAR)).ljust(_BAR)
        lines.append([(f"{n:>{index}}  ", "text"), (there, "measured"), (f"  {measured}", "text")])
        lines.append([(" " * (index + 2), "text"), (foreseen, "formula"), (f"  {predicted}", "head")])
    return lines


def _causes(why: FormulaGap, glyphs: Glyphs) -> Lines:
    """Acceptance given what was before the test: equal rates everywhere would be independence."""
    rows = [
        _share_row("position 1, after a rejection", why.first_after_rejection, glyphs),
        _share_row("position 1, after a full acceptance", why.first_after_full, glyphs),
        *(_share_row(f"position {i}", share, glyphs) for i, share in enumerate(why.later_positions, start=2)),
    ]
    head: list[Part] = [("if tested", "head"), ("α", "head"), ("95 %", "head"), ("accepted", "head")]
    title = "Does acceptance depend on earlier tests?"
    return [heading(title, glyphs), *_table([head, *rows], glyphs, right=(1, 3))]


def _share_row(name: str, share: AcceptanceRate, glyphs: Glyphs) -> list[Part]:
    return [
        (name, "text"),
        (prob(share.rate, none=glyphs.none), "tested"),
        (bounds(share.ci), "head"),
        (f"{share.accepted}/{share.tested}", "head"),
    ]


def _drift(why: FormulaGap, rates: Rates, glyphs: Glyphs) -> Lines:
    """The text in four stretches."""
    names = "rounds", "α tested", "95 %", "accepted", f"α {rates.overlap_name}", "tokens/round"
    head: list[Part] = [(name, "head") for name in names]
    rows: list[list[Part]] = [
        [
            *_share_row(" – ".join(map(str, sorted({stretch.first, stretch.last}))), stretch.share, glyphs),
            (prob(stretch.overlap, none=glyphs.none), "all"),
            (fixed(stretch.tokens_per_round, 2, glyphs.none), "measured"),
        ]
        for stretch in why.by_quarter
    ]
    return [heading("Does it drift over the text?", glyphs), *_table([head, *rows], glyphs, right=(1, 3, 4, 5))]


def _table(rows: list[list[Part]], glyphs: Glyphs, right: tuple[int, ...]) -> Lines:
    return table([[(in_repertoire(text, glyphs), style) for text, style in row] for row in rows], right)
