"""Switching the drafter by its key, on a scripted run."""

from collections.abc import Sequence

import pytest

from specviz.core.events import Settings
from specviz.core.options import RunRequest
from specviz.core.safe_text import width
from specviz.core.source import LIVE, RECORDED
from specviz.ui.app import KeyCommands
from specviz.ui.run.playback import Playback
from specviz.ui.run.status_line import run_fields, run_status
from specviz.ui.run.timeline import Timeline
from tests.builders import make_header, make_run
from tests.ui.conftest import Script, hit, make_app, options, ready, sampled
from tests.ui.test_shell_status import line
from tests.ui.test_timeline import Recorded, feed

ALL = ("model", "ngram", "layers")


def playback(drafters: Sequence[str] | None, *, live: bool = True, drafter: str = "model") -> Playback:
    made = Playback(
        Recorded(), Timeline(), RunRequest("a", 3, Settings(drafter=drafter)), capabilities=LIVE if live else RECORDED
    )
    made.begin(made.request, paused=True)
    config = {} if drafters is None else {"drafters": list(drafters), "exit_layer": 2}
    feed(made, make_header(config=config), *make_run(2))
    return made


def test_the_drafters_there_are_in_turn() -> None:
    made = playback(ALL)
    seen = []
    for _ in range(4):
        assert made.can_change_drafter
        made.change_drafter()
        seen.append(made.settings.drafter)
    assert seen == ["ngram", "layers", "model", "ngram"]
    assert made.settings == Settings(drafter="ngram"), "nothing else changes"


def test_a_drafter_of_another_run_gives_way_to_the_first() -> None:
    made = playback(("ngram", "layers"))
    made.change_drafter()
    assert made.settings.drafter == "ngram"


@pytest.mark.parametrize("drafters", [None, (), ("ngram",)])
def test_with_one_drafter_there_is_nothing_to_switch_to(drafters: Sequence[str] | None) -> None:
    made = playback(drafters)
    assert not made.can_change_drafter
    made.change_drafter()
    assert made.settings == Settings()


def test_a_recorded_run_and_one_not_begun_have_none() -> None:
    assert not playback(ALL, live=False).can_change_drafter
    unread = Playback(Recorded(), Timeline(), RunRequest("a", 3, Settings()))
    assert not unread.can_change_drafter


def shown(made: Playback, cells: int = 120) -> str:
    return line(run_fields(run_status(made, options())), cells)


def test_the_status_line_says_what_drafts_and_what_will() -> None:
    made = playback(ALL)
    assert "bundled:draft > bundled:target" in shown(made) and "drafter" not in shown(made)
    made.change_drafter()
    assert "drafter model→ngram next  K 4  T 1.00" in shown(made, 140)
    for cells, said in ((66, "drafter model→ngram next  K 4"), (60, "drafter model→ngram  K 4"), (54, "→ngram  K 4")):
        assert said in shown(made, cells), "it outlives the names where there is no room"
        assert width(shown(made, cells)) <= cells
    assert "ngram > bundled:target" in shown(_at("ngram"))
    assert "layers:2 > bundled:target" in shown(_at("layers"))


def _at(drafter: str) -> Playback:
    """Before the first round of a run that begins with this drafter."""
    made = Playback(Recorded(), Timeline(), RunRequest("a", 3, Settings(drafter=drafter)))
    made.begin(made.request, paused=True)
    feed(made, make_header(config={"drafters": list(ALL), "exit_layer": 2}))
    return made


async def test_o_holds_from_the_next_round_on_and_begins_a_segment() -> None:
    app = make_app(Script(header=make_header(config={"drafters": list(ALL)})))
    async with app.run_test(size=(140, 40)) as pilot:
        await ready(pilot, app)
        await sampled(pilot, app, 2)
        assert app.main.is_enabled("drafter")
        await hit(pilot, "o")
        assert app.timeline.settings and app.timeline.settings.drafter == "model"
        assert "drafter model→ngram next" in app.main.status_run.render().plain
        await sampled(pilot, app, 4)
        assert [round.settings.drafter for round in app.timeline.rounds] == ["model", "model", "ngram", "ngram"]
        assert "next" not in app.main.status_run.render().plain
        assert app.main.status_rates.render().plain.startswith("since round 3")
        assert list(app.timeline.series.segment_starts) == [3], "which the plots mark"
        names = [command.name for command in KeyCommands(app.main)._commands()]
        assert "next drafter  o" in names


async def test_o_is_dimmed_out_of_reach_where_there_is_one_drafter() -> None:
    app = make_app()
    async with app.run_test(size=(140, 40)) as pilot:
        await ready(pilot, app)
        before = app.playback.settings
        await hit(pilot, "o")
        assert app.playback.settings == before
        assert app.main.check_action("drafter", ()) is None
        assert "next drafter  o" not in [command.name for command in KeyCommands(app.main)._commands()]
