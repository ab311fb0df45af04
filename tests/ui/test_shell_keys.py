"""Every key, pressed as a person would, on the whole app with a scripted source."""

from dataclasses import replace
from pathlib import Path

import pytest
from textual.widgets import Input

from specviz.core.source import RECORDED, Capabilities
from specviz.ui.app import KeyCommands
from specviz.ui.dialogs.help import HelpScreen
from specviz.ui.dialogs.prompt import PromptArea, PromptScreen
from specviz.ui.dialogs.save import SaveScreen
from specviz.ui.main.keys import BY_ACTION, KEYS, PALETTE
from specviz.ui.shared.keys import GLOBAL_KEYS
from tests.ui.conftest import PROMPTS, Script, hit, make_app, mode, on_main, ready, sampled, until
from tests.ui.metrics import drawn

SIZE = (120, 40)


async def test_n_samples_exactly_one_round_and_nothing_is_sampled_twice() -> None:
    script = Script()
    app = make_app(script)
    async with app.run_test(size=SIZE) as pilot:
        await ready(pilot, app)
        assert (script.sampled, app.timeline.shown) == (0, 0)
        for expected in (1, 2, 3):
            await sampled(pilot, app, expected)
            assert (script.sampled, app.timeline.shown) == (expected, expected)
        await hit(pilot, "p", "p")
        assert app.timeline.shown == 1
        await hit(pilot, "n", "n")
        await pilot.pause()
        assert (app.timeline.shown, script.sampled) == (3, 3)


async def test_space_runs_to_the_end_and_pauses_on_the_way() -> None:
    script = Script(n_rounds=12)
    app = make_app(script)
    async with app.run_test(size=SIZE) as pilot:
        await ready(pilot, app)
        script.gate.clear()
        await hit(pilot, "space")
        assert mode(app.playback) == "running"
        await hit(pilot, "space")
        assert mode(app.playback) == "paused"
        script.gate.set()
        await until(pilot, lambda: app.timeline.total == 1)
        await pilot.pause()
        assert script.sampled == 1, "the round being made is finished, none begun"
        await hit(pilot, "space")
        await until(pilot, lambda: app.timeline.end is not None)
        assert (mode(app.playback), script.sampled, app.timeline.shown) == ("paused", 12, 12)


async def test_looking_back_while_running_pauses_and_space_plays_forward_without_sampling() -> None:
    script = Script(n_rounds=10)
    app = make_app(script)
    async with app.run_test(size=SIZE) as pilot:
        await ready(pilot, app)
        await sampled(pilot, app, 5)
        script.gate.clear()
        await hit(pilot, "space")
        await hit(pilot, "g")
        assert (mode(app.playback), app.timeline.shown) == ("paused", 1)
        await hit(pilot, "space")
        await until(pilot, lambda: app.timeline.shown == 5 and mode(app.playback) == "running")
        assert script.sampled == 5, "rounds 2 to 5 are shown again, not made again"
        script.gate.set()
        await until(pilot, lambda: app.timeline.end is not None)
        assert script.sampled == 10


async def test_first_last_and_token_keys() -> None:
    app = make_app()
    async with app.run_test(size=SIZE) as pilot:
        await ready(pilot, app)
        await sampled(pilot, app, 6)
        await hit(pilot, "g")
        assert app.timeline.shown == 1
        await hit(pilot, "right")
        place = app.timeline.shown, app.timeline.row
        await hit(pilot, "G")
        assert app.timeline.shown == 6
        await hit(pilot, "up")
        assert app.timeline.shown < 6
        await hit(pilot, "g", "left", "left", "left", "left", "left")
        assert (app.timeline.shown, app.timeline.row) == (1, 0)
        await hit(pilot, "down")
        assert app.timeline.shown > 1
        assert place[0] in (1, 2)


SETTING_KEYS: tuple[tuple[str, dict[str, float]], ...] = (
    ("plus", {"k": 5}),
    ("minus", {"k": 4}),
    ("less_than_sign", {"temperature": 0.9, "draft_temperature": 0.9}),
    ("left_square_bracket", {"temperature": 0.8}),
    ("left_curly_bracket", {"temperature": 0.7}),
    ("greater_than_sign", {"temperature": 0.8}),
    ("right_square_bracket", {"temperature": 0.9}),
    ("right_curly_bracket", {"temperature": 1.0, "draft_temperature": 1.0}),
)


async def test_a_setting_holds_from_the_next_round_on() -> None:
    app = make_app()
    async with app.run_test(size=SIZE) as pilot:
        await ready(pilot, app)
        await sampled(pilot, app, 1)
        for number, (key, changed) in enumerate(SETTING_KEYS, start=1):
            before = app.timeline.rounds[-1].settings
            await hit(pilot, key)
            assert app.timeline.rounds[-1].settings == before
            await sampled(pilot, app, number + 1)
            for name, value in changed.items():
                assert getattr(app.timeline.rounds[-1].settings, name) == value, key
        assert app.timeline.rounds[0].settings == app.options.request.settings


async def test_a_lets_k_be_chosen_and_keeps_it_again() -> None:
    app = make_app()
    async with app.run_test(size=SIZE) as pilot:
        await ready(pilot, app)
        await sampled(pilot, app, 1)
        given = app.timeline.rounds[-1].settings
        await hit(pilot, "a")
        await sampled(pilot, app, 2)
        assert app.timeline.rounds[-1].settings == replace(given, k_auto=True)
        for bar, opened in (("#status-run", ()), ("#metrics-title", ("m",))):
            await hit(pilot, *opened)
            assert f"K auto {given.k}" in drawn(app.screen.query_one(bar))[0], bar
        await hit(pilot, "m", "a")
        await sampled(pilot, app, 3)
        assert app.timeline.rounds[-1].settings == given
        await hit(pilot, "a", "plus")
        await sampled(pilot, app, 4)
        assert app.timeline.rounds[-1].settings == replace(given, k=given.k + 1), "a fixed K again"


async def test_again_new_seed_and_prepared_prompts() -> None:
    script = Script()
    app = make_app(script)
    async with app.run_test(size=SIZE) as pilot:
        await ready(pilot, app)
        for key, prompt, seed in (("r", 0, 0), ("R", 0, 1), ("r", 0, 1), ("2", 1, 1), ("3", 2, 1)):
            runs = len(script.requests)
            await hit(pilot, key)
            await until(pilot, lambda: len(script.requests) == runs + 1, key)  # noqa: B023
            await until(pilot, lambda: app.timeline.end is not None, key)
            assert (script.requests[-1].prompt, script.requests[-1].seed) == (PROMPTS[prompt][1], seed)
            assert app.timeline.total == script.n_rounds
        await hit(pilot, "4")
        await pilot.pause()
        assert len(script.requests) == 6, "there are three prompts"


async def test_the_editor_runs_what_is_written_and_escape_leaves_it() -> None:
    script = Script()
    app = make_app(script)
    async with app.run_test(size=SIZE) as pilot:
        await ready(pilot, app)
        await hit(pilot, "e")
        assert isinstance(app.screen, PromptScreen)
        await pilot.press("q", "space", "r", "escape")
        assert on_main(app)
        assert len(script.requests) == 1
        await hit(pilot, "e")
        app.screen.query_one(PromptArea).text = "a [/b] c"
        await pilot.press("end", "x", "ctrl+n", "y", "enter")
        await until(pilot, lambda: len(script.requests) == 2)
        assert script.requests[-1].prompt == "a [/b] cx\ny"
        assert on_main(app)
        await hit(pilot, "e", "ctrl+s")
        await until(pilot, lambda: len(script.requests) == 3)


async def test_view_pace_and_help() -> None:
    app = make_app()
    async with app.run_test(size=SIZE) as pilot:
        await ready(pilot, app)
        views = []
        for _ in range(3):
            await hit(pilot, "v")
            views.append((app.main.query_one("#story").display, app.main.plots.display))
        assert views == [(True, False), (False, True), (True, True)]
        await hit(pilot, "left_parenthesis")
        assert app.session.pace == 0.05
        await hit(pilot, "right_parenthesis")
        assert app.session.pace == 0.0
        await hit(pilot, "question_mark")
        assert isinstance(app.screen, HelpScreen)
        for back in ("escape", "q", "question_mark"):
            await hit(pilot, back)
            assert on_main(app)
            assert app._exit is False
            await hit(pilot, "question_mark")


async def test_the_palette_runs_a_command_by_name() -> None:
    app = make_app()
    async with app.run_test(size=SIZE) as pilot:
        await ready(pilot, app)
        await hit(pilot, "ctrl+p")
        await pilot.press(*"draft more")
        await until(pilot, lambda: app.screen.query("CommandList").first().option_count == 1)  # type: ignore[attr-defined]
        await hit(pilot, "enter")
        await until(pilot, lambda: app.playback.settings.k == 5)


async def test_save_copies_the_trace_and_never_overwrites(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    trace = tmp_path / "run.jsonl"
    trace.write_bytes(b'{"type": "header"}\n{"type": "rou')
    app = make_app(trace=trace)
    async with app.run_test(size=SIZE) as pilot:
        await ready(pilot, app)
        await hit(pilot, "S")
        assert isinstance(app.screen, SaveScreen)
        assert app.screen.query_one(Input).value == str(tmp_path / "run-2.jsonl")
        app.screen.query_one(Input).value = str(trace)
        await hit(pilot, "enter")
        assert isinstance(app.screen, SaveScreen), "refused: there is such a file"
        app.screen.query_one(Input).value = str(tmp_path / "copy.jsonl")
        await hit(pilot, "enter")
        await until(pilot, lambda: on_main(app))
        assert (tmp_path / "copy.jsonl").read_bytes() == b'{"type": "header"}\n'
        assert trace.read_bytes() == b'{"type": "header"}\n{"type": "rou'
        assert any("copy.jsonl" in notification.message for notification in app._notifications)


@pytest.mark.parametrize(("key", "code"), [("q", 0), ("ctrl+q", 0), ("ctrl+c", 130)])
async def test_the_ways_out(key: str, code: int) -> None:
    app = make_app()
    async with app.run_test(size=SIZE) as pilot:
        await ready(pilot, app)
        await hit(pilot, key)
    assert app.return_code == code


@pytest.mark.parametrize(("key", "code"), [("ctrl+q", 0), ("ctrl+c", 130)])
async def test_a_text_field_keeps_its_letters_but_not_the_way_out(key: str, code: int) -> None:
    app = make_app()
    async with app.run_test(size=SIZE) as pilot:
        await ready(pilot, app)
        await pilot.press("e", "q", "n", "question_mark")
        assert isinstance(app.screen, PromptScreen)
        await hit(pilot, key)
    assert app.return_code == code


async def test_a_recorded_run_can_be_walked_and_not_sampled() -> None:
    app = make_app(Script(capabilities=RECORDED), paused=False, pace=0.0)
    async with app.run_test(size=SIZE) as pilot:
        await until(pilot, lambda: app.timeline.end is not None and app.timeline.shown == 20)
        for action in ("again", "reseed", "edit", "prompt(1)", "k(1)", "k(-1)", "temperature(1)", "temperature(-1)"):
            assert app.main.check_action(*_parsed(action)) is None, action
        await hit(pilot, "r", "R", "e", "1", "plus", "greater_than_sign")
        assert on_main(app)
        assert app.playback.settings == app.options.request.settings
        await hit(pilot, "g", "n")
        assert app.timeline.shown == 2


async def test_a_recorded_run_opens_paused_on_a_round() -> None:
    app = make_app(Script(capabilities=RECORDED), paused=False, at=7)
    async with app.run_test(size=SIZE) as pilot:
        await until(pilot, lambda: app.timeline.end is not None)
        assert (app.timeline.shown, mode(app.playback)) == (7, "paused")


async def test_a_live_source_that_cannot_restart_or_change_settings_has_those_keys_disabled() -> None:
    fixed = Capabilities(can_change_settings=False, can_restart=False, has_probabilities=False)
    script = Script(capabilities=fixed)
    app = make_app(script)
    async with app.run_test(size=SIZE) as pilot:
        await ready(pilot, app)
        await sampled(pilot, app, 2)
        off = "again", "reseed", "edit", "prompt(1)", "k(1)", "k(-1)", "temperature(1)", "drafter", "worst"
        assert [action for action in off if app.main.is_enabled(action)] == []
        assert all(app.main.is_enabled(action) for action in ("play", "forward", "back", "rejection(1)", "inspect"))
        await hit(pilot, "r", "R", "e", "1", "plus", "minus", "greater_than_sign", "o", "w")
        assert on_main(app) and len(script.requests) == 1
        assert app.playback.settings == app.options.request.settings
        assert (app.timeline.shown, app.timeline.total) == (2, 2)
        names = [command.name for command in KeyCommands(app.main)._commands()]
        assert "run again  r" not in names and "next round  n" in names
        await hit(pilot, "space")
        await until(pilot, lambda: app.timeline.end is not None)
        assert app.timeline.total == script.n_rounds


async def test_a_live_source_that_cannot_step_runs_on_while_the_display_pauses() -> None:
    script = Script(capabilities=Capabilities(can_step=False), n_rounds=5)
    app = make_app(script)
    async with app.run_test(size=SIZE) as pilot:
        await until(pilot, lambda: app.timeline.end is not None)
        assert (app.timeline.total, app.timeline.shown, mode(app.playback)) == (5, 0, "paused")
        await hit(pilot, "n", "n")
        assert (app.timeline.shown, script.sampled) == (2, 5)


def _parsed(action: str) -> tuple[str, tuple[object, ...]]:
    name, _, argument = action.rstrip(")").partition("(")
    return name, (int(argument),) if argument else ()


async def test_every_key_of_the_table_is_bound_once_with_a_tooltip_and_an_action_that_exists() -> None:
    app = make_app()
    async with app.run_test(size=SIZE):
        rows = [key for keys in KEYS.values() for key in keys]
        all_keys = [name for key in rows for name in key.keys]
        assert len(all_keys) == len(set(all_keys))
        for key in rows:
            assert key.tooltip
            owner = app if key in (PALETTE, *GLOBAL_KEYS) else app.main
            for name, action in zip(key.keys, key.actions, strict=True):
                if key == PALETTE:
                    assert name == app.COMMAND_PALETTE_BINDING
                    continue
                assert any(binding.action == action for binding in owner._bindings.key_to_bindings[name]), name
                assert callable(getattr(owner, f"action_{_parsed(action)[0]}"))


KEYS_OF_LATER = ("d",)


async def test_keys_of_nothing_yet_do_nothing() -> None:
    app = make_app()
    async with app.run_test(size=SIZE) as pilot:
        await ready(pilot, app)
        await sampled(pilot, app, 2)
        before = app.timeline.shown, app.timeline.row, app.playback.settings, app.theme
        await hit(pilot, *KEYS_OF_LATER)
        assert (app.timeline.shown, app.timeline.row, app.playback.settings, app.theme) == before
        assert on_main(app)


PLAIN = {"space", "left", "right", "up", "down", "escape", "enter"}


def test_every_main_action_has_a_plain_key() -> None:
    """C80: inside tmux only letters, space, enter, arrows and escape surely arrive."""
    for action in ("play", "forward", "back", "token(1)", "help", "quit", "again", "edit", "close"):
        assert any(len(key) == 1 or key in PLAIN or key == "question_mark" for key in BY_ACTION[action].keys), action


async def test_keys_work_wherever_the_focus_is() -> None:
    app = make_app()
    async with app.run_test(size=SIZE) as pilot:
        await ready(pilot, app)
        await sampled(pilot, app, 2)
        for widget in (app.main.text, app.main.round, app.main.strip, app.main.plots):
            widget.can_focus = True
            widget.focus()
            await hit(pilot, "p")
            assert app.timeline.shown == 1
            await hit(pilot, "n", "down", "up", "right", "left", "question_mark")
            assert isinstance(app.screen, HelpScreen)
            await hit(pilot, "escape")
            await hit(pilot, "G")


async def test_keys_work_while_loading() -> None:
    """C82: nothing waits for the load; what is set meanwhile holds for the first round."""
    script = Script()
    script.loading.clear()
    app = make_app(script)
    async with app.run_test(size=SIZE) as pilot:
        await until(pilot, lambda: app.timeline.progress is not None)
        await hit(pilot, "plus", "question_mark")
        assert isinstance(app.screen, HelpScreen)
        await hit(pilot, "escape")
        assert app.main.has_class("-loading")
        script.loading.set()
        await ready(pilot, app)
        await sampled(pilot, app, 1)
        assert app.timeline.rounds[0].settings.k == 5
        assert not app.main.has_class("-loading")


async def test_clicks_do_what_keys_do() -> None:
    app = make_app()
    async with app.run_test(size=SIZE) as pilot:
        await ready(pilot, app)
        await sampled(pilot, app, 6)
        assert await pilot.click("#strip", offset=(4, 0))
        await until(pilot, lambda: app.timeline.shown < 6)
        await hit(pilot, "G")
        assert await pilot.click("#round", offset=(6, 2))
        await until(pilot, lambda: app.timeline.row == 0)
        assert await pilot.click("#keys", offset=(1, 0))
        await until(pilot, lambda: mode(app.playback) == "running" or app.timeline.over)
