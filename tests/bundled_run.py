"""A run of the bundled pair over 200 rounds, recorded: what numbers on screen are compared with."""

from dataclasses import replace
from pathlib import Path

from specviz.core.events import Round, Settings
from specviz.core.options import PREPARED_PROMPTS, PairOptions, RunOptions, RunRequest
from specviz.session.recorder import Recorder

ROUNDS = 200
COOL = Settings(k=4, temperature=0.8, draft_temperature=0.8)
WARM = Settings(k=4)


def settings_of(index: int) -> Settings:
    """Rounds 1-20 cooler, a segment of its own; 101-104 plain; from 105 on with a longer draft."""
    if index <= 20:
        return COOL
    return replace(WARM, k=4 if index <= 100 else 0 if index <= 104 else 6)


def record_bundled(path: Path) -> None:
    """Sample ``ROUNDS`` rounds live and record them to ``path``; the user ends the run there."""
    from specviz.decoder.source import LiveSource  # imports torch

    source = LiveSource(RunOptions(PairOptions(), settings_of(1), max_new_tokens=1000, drift_rounds=0))
    source.open(lambda _event: None)
    done = 0
    run = source.run(
        RunRequest(PREPARED_PROMPTS[0][1], 0, settings_of(1)), lambda: settings_of(done + 1), lambda: done == ROUNDS
    )
    with Recorder(path) as recorder:
        for event in run:
            done += isinstance(event, Round)
            recorder.add(event)
