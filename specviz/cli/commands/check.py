"""`specviz check`: whether a pair can run, without loading weights."""

from typing import TYPE_CHECKING

from rich.text import Text

from specviz.cli.shared.loading import locator
from specviz.cli.shared.terminal_output import stdout_console, stdout_table, stdout_text
from specviz.core.errors import SpecvizError
from specviz.core.options import Role, RunOptions
from specviz.core.safe_text import safe_terminal_text
from specviz.render.console import show

if TYPE_CHECKING:
    from specviz.decoder.checkpoints.location import CheckpointLocation
    from specviz.decoder.pairing.finding import Finding

STYLES = {"pass": "green", "note": "yellow", "refuse": "bold red"}


def check(options: RunOptions) -> int:
    """Print the findings as a table and return 0 if the pair can run, 2 if it is refused."""
    findings = find(options)
    table = stdout_table()
    for title in ("", "draft", "target", ""):
        table.add_column(title, overflow="fold")
    drafter = options.settings.drafter
    table.add_row("model", _cell(options.pair.draft or f"(drafter {drafter})"), _cell(options.pair.target))
    for finding in findings:
        status = Text(finding.status, style=STYLES[finding.status])
        table.add_row(finding.subject, *map(_cell, finding.columns), status)
    stdout_console().print(table)
    for finding in findings:
        if finding.status != "pass":
            show(f"\n{finding.status}, {finding.subject}: {safe_terminal_text(finding.text)}")
    refused = [finding for finding in findings if finding.status == "refuse"]
    subject = "This pair" if options.pair.draft else "This target"
    if not refused:
        show(f"\n{subject} can run.")
    elif all(finding.forcible for finding in refused):
        show(f"\n{subject} is refused. --force runs it with a warning.")
    else:
        show(f"\n{subject} is refused.")
    return 2 if refused else 0


def find(options: RunOptions) -> "list[Finding]":
    """All findings. A model that cannot be located becomes a finding, and the other is still checked."""
    models = locator(options.pair, lambda _: None)
    locations: dict[Role, CheckpointLocation] = {}
    missing: dict[Role, SpecvizError] = {}
    for role in options.pair.roles:
        try:
            locations[role] = models.locate(role)
        except SpecvizError as error:
            missing[role] = error
    from specviz.decoder.pairing.finding import refused_finding

    findings = [refused_finding("files", role, error) for role, error in missing.items()]
    if locations:
        from specviz.decoder.check import check_models
        from specviz.decoder.loading.weights import quiet_libraries

        quiet_libraries()
        findings += check_models(options, locations)
    return findings


def _cell(text: str) -> Text:
    return stdout_text(safe_terminal_text(text))
