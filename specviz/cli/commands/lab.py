"""`specviz lab`: the formula lab, alone or started from a recorded run."""

from dataclasses import replace

from specviz.cli.commands.app import require_terminal
from specviz.export.report import fold
from specviz.lab.model import LabPoint, lab_point
from specviz.trace.replay import read_trace


def lab(trace: str | None, *, theme: str | None, ascii: bool) -> int:
    require_terminal("specviz theory")
    point = None if trace is None else measured(trace)
    from specviz.ui.lab.app import LabApp
    from specviz.ui.terminal_guard import TerminalGuard

    with TerminalGuard():
        app = LabApp(point, theme=theme, ascii=ascii)
        app.run()
    return app.return_code or 0


def measured(name: str) -> LabPoint | None:
    """The last segment of a trace, on its first tested position. Raises SpecvizError where it is none."""
    trace = read_trace(name)
    stats = fold(trace)
    rates = stats.on_screen()
    settings = trace.rounds[-1].settings if trace.rounds else None
    point = lab_point(rates, settings, trace.rounds)
    return None if point is None else replace(point, at=0)
