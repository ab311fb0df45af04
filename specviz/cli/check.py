"""`specviz check`: a pair looked over, line by line, without reading a weight."""

import sys

from rich.box import ASCII, SIMPLE
from rich.console import Console
from rich.table import Table
from rich.text import Text

from specviz.cli.console import colours, plain_words, show, speaks_unicode
from specviz.config import RunOptions
from specviz.errors import SpecvizError
from specviz.tokens import safe_terminal_text

STYLES = {"pass": "green", "note": "yellow", "refuse": "bold red"}


def check(options: RunOptions) -> int:
    """Print the findings as a table; 0 where the pair can run, 2 where it is refused."""
    from specviz.decoder.loading import quiet_libraries
    from specviz.decoder.pair import Finding, read_pair

    quiet_libraries()
    pair = options.pair
    try:
        findings = list(read_pair(pair).findings)
    except SpecvizError as error:
        findings = [Finding("models", "refuse", str(error), ("", ""))]
    table = Table(box=SIMPLE if speaks_unicode(sys.stdout) else ASCII, show_edge=False, pad_edge=False)
    for title in ("", "draft", "target", ""):
        table.add_column(title, overflow="fold")
    table.add_row("model", _cell(pair.draft), _cell(pair.target))
    for finding in findings:
        status = Text(finding.status, style=STYLES[finding.status])
        table.add_row(finding.subject, *map(_cell, finding.cells), status)
    console = Console(file=sys.stdout, no_color=not colours(sys.stdout), highlight=False)
    console.print(table)
    for finding in findings:
        if finding.status != "pass":
            show(f"\n{finding.status}, {finding.subject}: {safe_terminal_text(finding.text)}")
    refused = any(finding.status == "refuse" for finding in findings)
    show("\nThis pair is refused." if refused else "\nThis pair can run.")
    return 2 if refused else 0


def _cell(text: str) -> Text:
    return Text(plain_words(safe_terminal_text(text), sys.stdout))
