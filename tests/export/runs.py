"""Recorded runs to export: one with numbers to check by hand, one whose every text attacks."""

import unicodedata
from collections.abc import Sequence
from dataclasses import replace

from specviz.core.events import Calibration, End, Round
from specviz.export.report import Recording
from specviz.trace.jsonl import Trace
from tests.builders import make_drafted, make_emitted, make_header, make_round, make_run

HOSTILE = (
    "</script><script>alert(1)</script>",
    '<img src=x onerror="alert(2)">',
    "-->]]></style></title></svg><svg onload=alert(3)>",
    "\x1b]0;pwned\x07\x1b[2J\x9b31m",
    "\u202eright to left\u2066\u200b",
    "```\n# no heading\n| a | b |",
    "=HYPERLINK(1)",
    "+1",
    "-1",
    "@SUM(A1)",
    "\tx",
    "\rx",
    "&lt;b&gt;&#0;${title}",
    "' \" ` \\",
)


def recording(rounds: Sequence[Round], *, end: End | None = None, **config: object) -> Recording:
    return Recording(Trace(make_header(config=config), (Calibration(10.0, 2.0, 8),), tuple(rounds), end))


def small() -> Recording:
    """Two rounds: two accepted, a rejection and one untested; then two accepted and a bonus."""
    return recording(
        [
            make_round(1, 6, "✓✓✗·", (" a", " little", " girl", " who"), last=" frog"),
            make_round(2, 9, "✓✓", (" and", " a"), last="\nriver"),
        ],
        end=End("max_new_tokens"),
        rule="exact",
    )


def sampled(rounds: int = 40) -> Recording:
    return recording(make_run(rounds))


def hostile() -> Recording:
    """Every hostile text drafted and kept, drafted and dropped, emitted last, and in every other place for text."""
    rounds: list[Round] = []
    for text in HOSTILE:
        index = len(rounds) + 1
        kept, dropped = make_drafted(text), make_drafted(text, "rejected", p=0.03, q=0.3, u=0.9)
        kept = replace(kept, detail={text: text})
        last = make_emitted(text, "resampled", q=0.1, residual=0.4)
        emitted = [make_emitted(text, "accepted", q=0.4), last]
        rounds.append(make_round(index, 6 + 2 * index, drafted=[kept, dropped], emitted=emitted))
    everything = "".join(HOSTILE)
    run = recording(rounds, end=End("stop_string", everything), draft=everything, target=everything, device=everything)
    header = replace(run.trace.header, created=everything)
    header = replace(header, prompt=replace(header.prompt, text=everything, tokens=()))
    return Recording(replace(run.trace, header=header))


def unsafe(text: str, keep: str = "\n\t") -> set[str]:
    """Characters in ``text`` that could drive a terminal, hide or turn text round."""
    return {char for char in text if unicodedata.category(char)[0] == "C" and char not in keep}
