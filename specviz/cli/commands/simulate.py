"""`specviz simulate`: simulated rounds on a toy pair, compared with the formulas and with p."""

import json
import sys
from collections.abc import Sequence

import click
import numpy as np

from specviz.cli.shared.distributions import Numbers
from specviz.cli.shared.terminal_output import ProgressBar, print_table
from specviz.core.rule import EXACT
from specviz.maths.rule_variants import VARIANTS
from specviz.maths.simulation_report import TEMPERATURES, AtTemperature, Simulated, at_temperatures, simulated
from specviz.maths.toy_distributions import SHAPES, Probs, toy_pair
from specviz.render.console import show, speaks_unicode
from specviz.render.glyphs import glyphs

ShapeOrNumbers = str | Numbers
"""The name of a shape, or probabilities."""
ALL = "all"
_BAR = 24
_HALF = 0.5


def simulate(
    p: ShapeOrNumbers,
    q: ShapeOrNumbers,
    vocab: int | None,
    mix: float | None,
    k: int,
    rounds: int,
    seed: int,
    varying: bool,
    names: Sequence[str],
    as_json: bool,
) -> int:
    """Simulate and print. Raises click.UsageError if the arguments cannot be combined. With ``mix`` None, a q given by
    shape is mixed with half of p, any other q is used as it is, and with ``varying`` half of the rounds are easy."""
    if mix is None:
        mix = _HALF if varying or q in SHAPES else 0.0
    try:
        pair = toy_pair(_probs(p), _probs(q), vocab, mix)
    except ValueError as error:
        raise click.UsageError(str(error)) from None
    if varying and not 0.0 < mix < 1.0:
        raise click.UsageError("--varying makes a share --mix of the rounds easy: --mix must be between 0 and 1.")
    warmed = as_json or (len(names) == 1 and not varying)
    with ProgressBar(rounds * (len(names) + (len(TEMPERATURES) if warmed else 0)), "rounds", delay_s=0.7) as bar:
        runs = [
            simulated(pair, VARIANTS[name], k=k, rounds=rounds, seed=seed, varying=varying, progress=bar.advance)
            for name in names
        ]
        warmer = at_temperatures(pair, k=k, rounds=rounds, seed=seed, progress=bar.advance) if warmed else []
    if as_json:
        summary = {
            "vocab": len(pair.p),
            "mix": mix,
            "divided_by_their_sum": [
                name for name, source in (("p", p), ("q", q)) if isinstance(source, Numbers) and source.divided
            ],
            "k": k,
            "rounds": rounds,
            "seed": seed,
            "varying": varying,
            "rules": [run.as_json() for run in runs],
            "draft_temperatures": [each.as_json() for each in warmer],
        }
        show(json.dumps(summary, allow_nan=False))
        return 0
    head = f"p {_named(p)}, q {_named(q)}{_mixed(mix, varying)}, V = {len(pair.p)}, K = {k}, R = {rounds}, seed {seed}"
    show(head.replace(",,", ","))
    show()
    if len(runs) == 1:
        _print_one(runs[0], varying)
        if warmer:
            show()
            _print_temperatures(warmer)
    else:
        _print_side_by_side(runs, varying)
    return 0


def rule_names(items: Sequence[str]) -> tuple[str, ...]:
    """Rules by name, ``all`` or lists of them, each once. Raises click.UsageError for a name that is none."""
    names = [name.strip() for item in items for name in item.split(",")]
    for name in names:
        if name not in (*VARIANTS, ALL):
            raise click.UsageError(f"--rule: {name!r} is none of {', '.join(VARIANTS)}, {ALL}.")
    return tuple(dict.fromkeys(one for name in names for one in (VARIANTS if name == ALL else (name,))))


_ABOVE = "Difficulty varies between rounds, and easy rounds contribute more tests to α: the formula is too high."


def _probs(source: ShapeOrNumbers) -> str | Probs:
    return source if isinstance(source, str) else np.array(source.probs)


def _named(source: ShapeOrNumbers) -> str:
    return source if isinstance(source, str) else f"as given{', divided by their sum,' if source.divided else ''}"


def _mixed(mix: float, varying: bool) -> str:
    if varying:
        return f" in {1 - mix:.0%} of the rounds and p itself in {mix:.0%}"
    return f" mixed with {mix:.0%} of p" if mix else ""


def _print_one(run: Simulated, varying: bool) -> None:
    out = run.outcome
    show(f"rule {run.rule.name}: {run.rule.summary}")
    show(f"In theory it {'keeps' if run.rule.lossless else 'does not keep'} the distribution p.")
    show()
    over = " over tested positions" if varying else ""
    show(f"  sum min(p, q)    {_rate(out.alpha_overlap)}{over}")
    show(f"  1 - TV(p, q)     {_rate(out.alpha_distance)}{over}")
    if run.rule.name != EXACT.name:
        show(f"  P(accept)        {_rate(out.alpha_chance)}  of this rule, exact")
    ends = out.alpha_tested_ci
    interval = f"  95 % [{_rate(ends[0])} {_rate(ends[1])}]" if ends else ""
    show(f"  accepted/tested  {_rate(out.alpha_tested)}{interval}{'' if out.z is None else f'  z {out.z:+.2f}'}")
    show()
    error = "" if out.tokens_per_round_half_width is None else f" ± {out.tokens_per_round_half_width:.4f}"
    show(f"  tokens/round     {out.tokens_per_round:.4f}{error}  95 %")
    show(f"  expected         {out.mean_tokens:.4f}  in closed form")
    if out.formula is not None:
        off = run.formula_off
        apart = "" if off is None else f"  {off:+.1f} standard errors from tokens/round"
        show(f"  formula          {out.formula:.4f}  E[N] at the accept probability{apart}")
    if varying:
        show(f"  {_ABOVE}")
    show()
    _print_histogram(run)
    fit = run.fit
    show()
    show(f"  {out.tokens} tokens against p: {run.chi_square_text}")
    show(f"  total variation to p {fit.total_variation:.4f}; sampling noise alone gives about {fit.noise:.4f}")
    show(f"  total variation in closed form {run.exact_distance:.4f}")


def _print_histogram(run: Simulated) -> None:
    out = run.outcome
    bars = glyphs(not speaks_unicode(sys.stdout))
    most = max(1, int(out.lengths.max()))
    seen = [int(count) for count in out.lengths]
    lines = [
        (str(n), str(seen[n]), f"{expected:.1f}", bars.full * round(_BAR * seen[n] / most))
        for n, expected in enumerate(run.expected_lengths, 1)
    ]
    print_table(("  N", "rounds", "expected", ""), lines, heads=1, left=(3,))
    if run.rule.n_untested or run.varying:
        show("  (expected: P(N = i) if every test had the same accept probability, which is not the case here)")


def _print_temperatures(rows: Sequence[AtTemperature]) -> None:
    show("Drafts at other temperatures than the target's, tested with the q they were sampled from (exact):")
    titles = ("  T of q", "sum min(p, q)", "accepted/tested", "tokens/round", "E[N]", "chi-square p")
    lines = [
        (
            f"{row.temperature:g}",
            _rate(row.run.outcome.alpha_overlap),
            _rate(row.run.outcome.alpha_tested),
            f"{row.run.outcome.tokens_per_round:.3f}",
            f"{row.run.outcome.mean_tokens:.3f}",
            _p_value(row.run.fit.p_value),
        )
        for row in rows
    ]
    print_table(titles, lines, heads=1)
    show("Acceptance changes; the distribution of the text does not.")


def _print_side_by_side(runs: Sequence[Simulated], varying: bool) -> None:
    titles = ["rule", "keeps", "P(acc)", "tested", "tokens/round", "TV exact", "TV", "chi-square", "p"]
    lines = [_line(run) for run in runs]
    if varying:
        titles.insert(5, "formula")
        for line, run in zip(lines, runs, strict=True):
            formula = None if run.rule.n_untested else run.outcome.formula
            line.insert(5, "–" if formula is None else f"{formula:.3f}")
    print_table(titles, lines, heads=1, left=(0,))
    if varying:
        show(f"formula: E[N] at the accept probability, – if a token is not tested. {_ABOVE}")
    show("keeps: in theory, the text is distributed as p for every p and q.  P(acc): accept probability, exact.")
    show("TV: total variation between the tokens and p, in closed form and measured.  chi-square/degrees of freedom.")
    show()
    for run in runs:
        show(f"{run.rule.name:<11} {run.rule.summary}")


def _line(run: Simulated) -> list[str]:
    out, fit = run.outcome, run.fit
    error = "" if out.tokens_per_round_half_width is None else f" ±{out.tokens_per_round_half_width:.3f}"
    return [
        run.rule.name,
        "yes" if run.rule.lossless else "no",
        _rate(out.alpha_chance),
        _rate(out.alpha_tested),
        f"{out.tokens_per_round:.3f}{error}",
        f"{run.exact_distance:.4f}",
        f"{fit.total_variation:.4f}",
        "infinite" if fit.statistic is None else f"{fit.statistic:.0f}/{fit.dof}",
        _p_value(fit.p_value),
    ]


def _rate(value: float | None) -> str:
    return "–" if value is None else f"{value:.4f}"


def _p_value(value: float | None) -> str:
    if value is None:
        return "–"
    if value < 1e-300:
        return "<1e-300"
    return f"{value:.4f}" if value >= 1e-3 else f"{value:.0e}"
