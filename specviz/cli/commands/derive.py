"""`specviz theory --derive`: the derivations in plain text, each with the check it runs."""

import json

from specviz.maths.derivations import derivations
from specviz.render.console import show


def derive(alpha: float, k: int, c: float, as_json: bool) -> int:
    """Print them all; 0 where every check holds, 3 where one does not."""
    derived = derivations(alpha, k, c)
    holds = all(check.holds for one in derived for check in one.checks)
    if as_json:
        show(json.dumps({"derivations": [one.as_json() for one in derived], "holds": holds}, allow_nan=False))
        return 0 if holds else 3
    for number, one in enumerate(derived, 1):
        show(f"{number}. {one.title}\n")
        for line in one.text.splitlines():
            show(f"   {line}".rstrip())
        show()
        for check in one.checks:
            show(f"   check: {check}")
        show()
    return 0 if holds else 3
