"""What is left on the normal screen when the app has gone."""

import shlex
import traceback
from pathlib import Path

from specviz.core.safe_text import safe_terminal_text
from specviz.render.screen_text import literal
from specviz.stats.run_stats import RunStats
from specviz.ui.run.status_line import number, rate


def farewell(stats: RunStats, path: Path | None, *, crash: BaseException | None = None) -> str:
    """The whole run in a line, and the command that shows it again; empty where there is nothing to say.

    ``crash`` is an error of the app's own: it comes first, with the place it happened.
    """
    lines = []
    if crash is not None:
        lines.append(safe_terminal_text("".join(traceback.format_exception(crash))).rstrip())
        lines.append(f"specviz stopped on an error of its own: {literal(f'{type(crash).__name__}: {crash}')}")
    rates = stats.whole()
    if rates.rounds:
        pooled = ", over all settings" if stats.on_screen().first > 1 else ""
        lines.append(
            f"α tested {rate(rates.alpha_tested).strip()} · tokens/round {number(rates.tokens_per_round).strip()}"
            f" · {rates.rounds} rounds, {rates.tokens} tokens{pooled}"
        )
    if path is not None:
        lines.append(f"specviz replay {literal(shlex.quote(str(path)))}")
    return "\n".join(lines)
