"""From the state of a run to what its first status line says and which keys can work."""

from collections.abc import Mapping
from typing import Any

from specviz.core.drafters import drafter_spec
from specviz.ui.run.playback import Playback
from specviz.ui.run.status_line import RunStatus
from specviz.ui.shared.app_options import AppOptions
from specviz.ui.shared.keys import Hint


def run_status(playback: Playback, options: AppOptions) -> RunStatus:
    timeline = playback.timeline
    config: Mapping[str, Any] = timeline.header.config if timeline.header else {}

    def known(key: str, before: str = "") -> str:
        value = config.get(key)
        return before if value is None else str(value)

    shown = timeline.settings or playback.request.settings
    return RunStatus(
        draft=drafter_spec(shown.drafter).label(config, options.draft),
        target=known("target", options.target),
        device=known("device"),
        dtype=known("dtype"),
        rule=known("rule", shown.rule),
        seed=playback.request.seed if playback.live else config.get("seed", playback.request.seed),
        shown=shown,
        next=playback.settings if playback.live and timeline.at_end else shown,
        pace=playback.pace,
        mode=playback.mode,
        live=playback.live,
        index=timeline.shown,
        total=timeline.total,
        progress=timeline.progress,
        ready=timeline.ready,
        end=timeline.end if timeline.reveal is None else None,
        failed=timeline.failed is not None,
        draft_device=known("draft_device"),
        draft_dtype=known("draft_dtype"),
        phase=timeline.phase[0] + 1 if timeline.reveal else None,
        hits=playback.monitor.hit(timeline.shown) if timeline.reveal is None else (),
        expected_rounds=timeline.expected_rounds,
        timing=timeline.timing,
    )


def is_enabled(action: str, playback: Playback) -> bool:
    """Whether an action on the run can do anything now."""
    timeline = playback.timeline
    match action:
        case "play":
            return playback.can_toggle
        case "forward":
            return playback.can_step
        case "back":
            return timeline.shown > 0
        case "first":
            return timeline.total > 0 and timeline.shown != 1
        case "last":
            return not timeline.at_end
        case "token(-1)":
            return timeline.neighbour(-1) is not None
        case "token(1)":
            return timeline.neighbour(1) is not None
        case "line(-1)" | "line(1)":
            return timeline.shown > 0
        case "phase(-1)" | "phase(1)":
            return playback.can_step_phase(int(action[6:-1]))
        case "inspect":
            return timeline.header is not None
        case "metrics" | "rejection(1)" | "rejection(-1)" | "worst" | "find" | "go_to":
            return timeline.total > 0
        case "k(-1)" | "k(1)":
            return playback.can_change_k(int(action[2:-1]))
        case "temperature(-1)" | "temperature(1)":
            return playback.can_change_temperature(int(action[12:-1]))
        case "drafter":
            return playback.can_change_drafter
        case "slower":
            return playback.can_change_pace(1)
        case "faster":
            return playback.can_change_pace(-1)
        case "again" | "reseed" | "edit":
            return playback.can_begin
    return True


def hints(playback: Playback) -> tuple[Hint, ...]:
    """What the footer offers now: the way on, the way around, then what changes the run. At most eight."""
    timeline = playback.timeline
    on = "pause" if playback.mode != "paused" else "run" if timeline.at_end else "play"
    play = Hint(("play",), on)
    rounds, tokens = Hint(("forward", "back"), "round"), Hint(("token(-1)", "token(1)"), "token")
    k, temperature = Hint(("k(-1)", "k(1)"), "K"), Hint(("temperature(-1)", "temperature(1)"), "T")
    why, metrics = Hint(("inspect",), "why"), Hint(("metrics",), "metrics")
    always = (Hint(("help",), "keys"), Hint(("quit",), "quit"))
    if not timeline.ready:
        return (play, k, temperature, *always)
    if playback.mode == "running":
        return (play, rounds, k, temperature, Hint(("slower", "faster"), "pace"), metrics, *always)
    if playback.live and timeline.over and timeline.at_end and timeline.reveal is None:
        return (rounds, tokens, why, metrics, Hint(("again",), "again"), Hint(("reseed",), "seed"), *always)
    return (play, rounds, tokens, why, Hint(("rejection(1)", "rejection(-1)"), "rejection"), metrics, *always)
