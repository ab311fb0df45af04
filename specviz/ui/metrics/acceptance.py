"""The page of acceptance rates: each with its interval and meaning, and what other programs would print instead."""

from functools import partial

from specviz.core.rule import Rule, rule_of
from specviz.render.cells import Part, bar
from specviz.render.glyphs import Glyphs
from specviz.render.numbers import fixed, pluralised, prob
from specviz.stats.draft_queries import overlap_histogram
from specviz.stats.engine_rates import EngineRate, engine_rates
from specviz.stats.numbers_table import NUMBER
from specviz.stats.rates import Rates
from specviz.ui.charts.positions import lines_of
from specviz.ui.metrics.blocks import (
    FactRow,
    Lines,
    PageBody,
    clipped,
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

Engines = tuple[EngineRate, ...]
_TWO_BLOCKS = 96
"""Cells from which positions and overlaps are side by side."""
_MIN_POSITIONS, _POSITIONS, _BAR = 40, 58, 24


def acceptance(scope: Scope) -> PageBody:
    rule = rule_of(scope.rates.rule)
    if not scope.rates.drafted:
        return partial(paragraph, f"No token was drafted{scope.yet}.")
    peers = engine_rates(scope.stats.since_k(scope.shown))
    return partial(_page, scope.rates, rule, peers, scope.peers_title, overlap_histogram(scope.drafts))


def _page(
    rates: Rates, rule: Rule, peers: Engines, of_rounds: str, bins: tuple[int, ...], cells: int, glyphs: Glyphs
) -> Lines:
    positions = lines_of(rates, len(rates.per_position), max(_MIN_POSITIONS, min(cells, _POSITIONS)), glyphs)
    left, right = [heading("By draft position", glyphs), *positions], _chances(bins, rule, glyphs)
    below = two_columns(left, right, _POSITIONS) if cells >= _TWO_BLOCKS else stacked(left, right)
    return stacked(
        fact_lines(rate_facts(rates, rule), cells, glyphs),
        paragraph(_balance(rates), cells, glyphs, "head"),
        [heading(f"What other engines would print for {of_rounds}", glyphs), *_peers(rates, peers, cells, glyphs)],
        below,
    )


def rate_facts(rates: Rates, rule: Rule) -> list[FactRow]:
    """Every rate with its interval and its definition."""
    counts = {
        "alpha_tested": f"{rates.accepted} of {pluralised(rates.tested, 'test')}: ",
        "accepted_over_drafted": f"{rates.accepted} of {pluralised(rates.drafted, 'draft')}. ",
    }
    words = {key: count + NUMBER[key].meaning for key, count in counts.items()}
    words |= {"alpha_overlap": _overlap_words(rates, rule), "agreement_z": _agreement_words(rates, rule)}
    styles = {"alpha_tested": "tested", "alpha_overlap": "all", "agreement_z": "error" if rates.contradicts else "text"}
    agreement = number_facts("agreement", rates, words, styles)
    match = NUMBER["mean_match"].label
    return [
        *number_facts("acceptance", rates, words, styles),
        *(fact for fact in agreement if rule.overlap_name != "match" or fact.label != match),
    ]


def _overlap_words(rates: Rates, rule: Rule) -> str:
    if not rule.overlap_is_accept_prob:
        return "none: this rule has no exact accept probability."
    known = "" if rates.alpha_overlap_ci else " (from 16 rounds on)"
    return f"mean {rule.overlap_formula}: the exact accept probability. 95\xa0% by batch means{known}."


def _agreement_words(rates: Rates, rule: Rule) -> str:
    if rates.agreement_z is not None:
        words = NUMBER["agreement_z"].meaning
    elif rule.overlap_is_accept_prob and rates.tested and rates.alpha_overlap is None:
        words = "none: the accept probability of some tests was not recorded."
    elif rule.overlap_is_accept_prob:
        words = "every test was certain: acceptance must match exactly."
    else:
        words = "none: this rule has no exact accept probability to compare with."
    return f"BUG: acceptance contradicts its probability. {words}" if rates.contradicts else words


def _balance(rates: Rates) -> str:
    kinds = ("accepted", "rejected", "untested", "ignored")
    return f"{rates.drafted} drafted = " + " + ".join(f"{getattr(rates, kind)} {kind}" for kind in kinds)


def _peers(rates: Rates, peers: Engines, cells: int, glyphs: Glyphs) -> Lines:
    """A rate claims an E[N] through the formula; a length is its own claim about N."""
    names = [in_repertoire(peer.name, glyphs) for peer in peers]
    rows: list[list[Part]] = [[(name, "head") for name in ("engine", "its name", "value", "its E[N]", "measured")]]
    for peer, name in zip(peers, names, strict=True):
        value = fixed(peer.value, 2, glyphs.none) if peer.is_length else prob(peer.value, none=glyphs.none)
        claimed = fixed(peer.value if peer.is_length else peer.predicted, 2, glyphs.none)
        texts = peer.engine, name, value, claimed
        rows.append([*((text, "text") for text in texts), (fixed(rates.tokens_per_round, 2, glyphs.none), "measured")])
    lines = table(rows, right=(2, 3, 4))
    used = sum(len(text) for text, _ in lines[0])
    room = cells - used - 3
    if room >= 24:
        words = ["", *(in_repertoire(peer.definition, glyphs) for peer in peers)]
        lines = [
            [*line, ("   " + clipped(text, room, glyphs), "head")] for line, text in zip(lines, words, strict=True)
        ]
    return lines


def _chances(bins: tuple[int, ...], rule: Rule, glyphs: Glyphs) -> Lines:
    """How alike p and q were: one bar a tenth of the overlap, or of the match under equality."""
    most, total = max(bins), sum(bins)
    lines: Lines = [
        heading(f"{rule.overlap_name.capitalize()} of p and q", glyphs),
        [(in_repertoire(f"{rule.overlap_formula} at {pluralised(total, 'tested position')}", glyphs), "head")],
    ]
    count = len(str(most))
    for index, number in enumerate(bins):
        low, high = (prob(edge / len(bins), 1) if edge < len(bins) else "1" for edge in (index, index + 1))
        share = number / most if most else 0.0
        lines.append(
            [
                (in_repertoire(f"{low} – {high.ljust(2)} ", glyphs), "head"),
                (bar(share, _BAR, glyphs.eighths), "all"),
                (f" {number:>{count}}", "text"),
            ]
        )
    return lines
