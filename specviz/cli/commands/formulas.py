"""Arguments of the commands that need no model: `theory`, `simulate` and `lab`."""

from itertools import chain
from typing import Any

import click

from specviz.cli.shared.argument_types import NumberList, Real, Whole
from specviz.cli.shared.distributions import MAX_IDS, Distribution
from specviz.core.options import MAX_COUNT, MAX_K, MAX_SEED
from specviz.core.rule import EXACT
from specviz.maths.rule_variants import VARIANTS
from specviz.render.console import unicode_screen

MAX_TABLE_K = 1000
"""For `theory`, where a large K costs only a row of P(N = i)."""
ALPHAS = NumberList(0, 1, step="0.1")
KS = NumberList(0, MAX_TABLE_K, whole=True)
COSTS = NumberList(0, above=True, infinite=True)
P_HELP = "Target distribution: zipf, uniform, peaked, a list of numbers, or a file of numbers."
Q_HELP = "Draft distribution: as for p, or equal to p, or disjoint from p."
RULE_HELP = f"{', '.join(VARIANTS)} or all; repeat it to compare rules side by side."


def add_to(group: click.Group) -> None:
    """Add them to ``group``."""

    @group.command()
    @click.option("--alpha", "alphas", type=ALPHAS, multiple=True, default=["0.5..0.9"], help="Acceptance rate.")
    @click.option("--k", "ks", type=KS, multiple=True, default=["4,8"], help="Tokens drafted per round.")
    @click.option("--c", "costs", type=COSTS, multiple=True, default=["10"], help="T_p / T_q; inf: drafting is free.")
    @click.option("--plot", is_flag=True, help="Plot the speedup over K for each alpha and mark the best K.")
    @click.option("--derive", is_flag=True, help="Derive the formulas, and check each at the first alpha, K and c.")
    @click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
    def theory(**params: Any) -> int:
        """Evaluate the formulas: tokens per round, speedup, best K, break-even, ceiling.

        Each of alpha, K and c is a number, a list (1,2,4), a range (1..8) or a range with a step (0.5..0.9..0.05).
        Repeat an option to add values. A derivation that fails its check exits with 3.
        """
        from specviz.cli.commands.theory import theory as tabulate

        if params["plot"] and (params["derive"] or params["as_json"]):
            raise click.UsageError("--plot cannot be combined with --derive or --json.")
        alphas, ks, costs = (tuple(chain.from_iterable(params.pop(name))) for name in ("alphas", "ks", "costs"))
        return tabulate(alphas, ks, costs, **params)

    @group.command()
    @click.option("--p", type=Distribution(), default="zipf", help=P_HELP)
    @click.option("--q", type=Distribution(relative=True), default="uniform", help=Q_HELP)
    @click.option("--mix", type=Real(0, 1), help="Share of p mixed into q.  [default: 0.5 for a named shape, else 0]")
    @click.option(
        "--vocab", type=Whole(1, MAX_IDS), help="Vocabulary size.  [default: 100, or as many numbers as given]"
    )
    @click.option("--k", type=Whole(0, MAX_K), default=4, help="Tokens drafted per round.")
    @click.option("--rounds", type=Whole(1, MAX_COUNT), default=10_000, help="Rounds to simulate.")
    @click.option(
        "--seed", type=Whole(0, MAX_SEED), default=0, help="Random seed; the same seed gives the same rounds."
    )
    @click.option("--varying", is_flag=True, help="Vary the difficulty: q = p in a share --mix of the rounds.")
    @click.option("--rule", "rules", multiple=True, default=[EXACT.name], metavar="NAME", help=RULE_HELP)
    @click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
    def simulate(rules: tuple[str, ...], **params: Any) -> int:
        """Simulate rounds on toy distributions and check the formulas.

        The output also says whether the text is distributed as p.
        """
        from specviz.cli.commands.simulate import rule_names
        from specviz.cli.commands.simulate import simulate as play

        return play(names=rule_names(rules), **params)

    @group.command()
    @click.argument("trace", required=False)
    @click.option("--theme", metavar="NAME", help="Theme; `specviz themes` lists them.")
    @click.option("--ascii", is_flag=True, help="Use ASCII characters only.")
    def lab(trace: str | None, theme: str | None, ascii: bool) -> int:
        """Explore the formulas with sliders for alpha, K and c.

        It also shows why the output follows the target. With a TRACE (a file, or bundled:demo), it starts from the
        values measured in that run.
        """
        from specviz.cli.commands.app import lab as open_lab

        return open_lab(trace, theme=theme, ascii=ascii or not unicode_screen())
