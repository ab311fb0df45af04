"""Model text that looks like markup, drives terminals or has odd widths, in every widget; every size down to one cell.

Cases C64, C65, C67, C69, C70, C75 and C78.
"""

import pytest
from rich.cells import cell_len
from textual.pilot import Pilot
from textual.widget import Widget

from specviz.core.events import Drafted, End, Raw, Round, Settings
from specviz.ui.main.round_panel import RoundPanel
from specviz.ui.main.text_panel import TextPanel
from tests.builders import make_drafted, make_emitted, make_header, make_round, make_run, make_top
from tests.core.test_safe_text import NASTY, assert_safe
from tests.ui.gallery import Gallery, in_gallery, inside, lines_of

SELECTORS = ("#text", "#round", "#alpha", "#tokens", "#positions", "#strip", "#legend")
MARKUP = ["[/", "[bold]", "[", "]", "[00]", "[b +", "[link=x]", "\\[", "[#ff0000]", "[@click=app.quit]x[/]"]


def hostile_drafted(data: bytes, verdict: str) -> Drafted:
    accepted = verdict == "accepted"
    return make_drafted(
        data,
        verdict,  # type: ignore[arg-type]
        q=0.4,
        p=0.5 if accepted else 0.03,
        u=0.9 if verdict == "rejected" else 0.2,
        p_top=make_top(data, 0.5),
        raw=Raw(0.1, 0.2, 0.3, 1.0, 1.0, (), ()),
    )


def hostile_rounds() -> list[Round]:
    """All nasty tokens, nine a round: accepted, rejected and untested ones, or accepted and ignored ones."""
    rounds: list[Round] = []
    for start in range(0, len(NASTY), 9):
        index = len(rounds) + 1
        block = NASTY[start : start + 9]
        cut = index % 3 == 0
        verdicts = ["accepted"] * 3 + (["ignored"] * 6 if cut else ["rejected", *["untested"] * 5])
        drafted = [hostile_drafted(data, verdict) for data, verdict in zip(block, verdicts, strict=False)]
        emitted = [make_emitted(data, "accepted") for data in block[:3]]
        if not cut:
            emitted.append(make_emitted(block[-1], "resampled", residual=0.4))
        settings = Settings(k=len(drafted), temperature=0.0 if index % 5 == 0 else 1.0)
        rounds.append(make_round(index, drafted=drafted, emitted=emitted, settings=settings))
    return rounds


def assert_shown_safely(widget: Widget) -> None:
    for line in lines_of(widget):
        assert_safe(line)
    width = widget.outer_size.width
    for y in range(widget.content_size.height):
        strip = widget.render_line(y)
        assert sum(cell_len(segment.text) for segment in strip) == strip.cell_length <= width


def test_hostile_tokens_are_shown_as_safe_cells_everywhere() -> None:
    async def scenario(app: Gallery, pilot: Pilot[None]) -> None:
        rounds = hostile_rounds()
        app.begin(make_header("\x1b[2J [/x] \u202e[bold]"), rounds, End("stop_string", "[/]\x1b[31m\u202e"))
        for index, shown in enumerate(rounds, start=1):
            for row in (0, 3, 8, shown.k):
                app.show(index, row)
                assert_shown_safely(app.query_one("#round"))
            assert_shown_safely(app.query_one("#text"))
        app.show(len(rounds))
        await pilot.pause()
        for selector in SELECTORS:
            assert_shown_safely(app.query_one(selector))
        assert_safe(app.export_screenshot().replace("\n", "").replace("\xa0", " "))

    in_gallery(scenario)


def test_markup_is_literal_in_text_table_sentence_and_ending() -> None:
    async def scenario(app: Gallery, pilot: Pilot[None]) -> None:
        for text in MARKUP:
            app.begin(
                make_header(f"say {text}"),
                [make_round(1, verdicts="✓✗·", tokens=[text, text, text], last=text)],
                End("error", f"boom {text}"),
            )
            app.show(1, 1)
            await pilot.pause()
            panel = app.query_one(TextPanel)
            assert "".join(inside(panel)) == f"say {text}{text}✗{text}·{text}↳{text}"
            lines = lines_of(app.query_one(RoundPanel))
            assert sum(text[:8] in line for line in lines) >= 6
            assert f"error: boom {text}" in lines[-1]
            assert f"error: boom {text}" in lines_of(panel)[-1]

    in_gallery(scenario)


def test_a_very_long_token_is_cut_with_its_length_and_pushes_nothing_aside() -> None:
    async def scenario(app: Gallery, pilot: Pilot[None]) -> None:
        tokens = ["a" * 256, " " * 128, "漢" * 90]
        app.begin(make_header(), [make_round(1, verdicts="✓✗·", tokens=tokens)])
        app.show(1, 0)
        await pilot.pause()
        lines = inside(app.query_one(RoundPanel))
        assert "…256" in lines[1]
        assert "⟨␣×128⟩" in lines[2]
        numbers = [cell_len(line[: line.index(".")]) for line in lines[1:4]]
        assert len(set(numbers)) == 1
        assert all(cell_len(line) <= 78 for line in inside(app.query_one(TextPanel)))

    in_gallery(scenario, size=(80, 24))


def test_rows_of_equal_looking_tokens_stay_apart() -> None:
    async def scenario(app: Gallery, pilot: Pilot[None]) -> None:
        app.begin(make_header(), [make_round(1, verdicts="✓✓✓", tokens=[b"\xa0", b"\xa1", b"\xa2"])])
        app.show(1)
        await pilot.pause()
        chips = [line.split()[2] for line in inside(app.query_one(RoundPanel))[1:4]]
        assert chips == ["⟨A0⟩", "⟨A1⟩", "⟨A2⟩"]

    in_gallery(scenario)


@pytest.mark.parametrize("size", [(80, 24), (70, 24), (40, 12), (20, 5), (1, 1)])
def test_no_size_is_too_small_while_rounds_arrive(size: tuple[int, int]) -> None:
    async def scenario(app: Gallery, pilot: Pilot[None]) -> None:
        rounds = make_run(12, 6, 1)
        app.begin(make_header(), rounds)
        for index in range(1, 5):
            app.show(index, index % 7)
            await pilot.pause()
        await pilot.resize_terminal(120, 40)
        app.show(8)
        await pilot.pause()
        await pilot.resize_terminal(*size)
        app.show(12)
        await pilot.pause()

    in_gallery(scenario, size=size)


def test_each_widget_draws_in_one_cell_and_recovers() -> None:
    async def scenario(app: Gallery, pilot: Pilot[None]) -> None:
        app.begin(make_header(), make_run(12, 6, 1))
        app.show(12, 3)
        for width, height in ((1, 1), (2, 2), (5, 3), (9, 4), (40, 8)):
            for selector in SELECTORS:
                widget = app.query_one(selector)
                widget.styles.width, widget.styles.height = width, height
            await pilot.pause()
            app.show(11, 3)
            await pilot.pause()
            app.show(12, 3)
            await pilot.pause()
            for selector in SELECTORS:
                lines_of(app.query_one(selector))
        assert all(any(inside(app.query_one(selector))) for selector in SELECTORS)

    in_gallery(scenario)


def test_without_colour_the_verdicts_still_differ(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")

    async def scenario(app: Gallery, pilot: Pilot[None]) -> None:
        app.begin(make_header(""), [make_round(1, verdicts="✓✗·", tokens=[" a", " b", " c"], last=" d")])
        app.show(1)
        await pilot.pause()
        panel = app.query_one(TextPanel)
        looks = {}
        for segment in panel.render_line(0):
            style = segment.style
            assert style is not None
            looks[segment.text.strip()] = style.strike, style.underline, style.dim
        assert looks["b"][0] and looks["d"][1] and looks["c"][2]
        assert not any(looks["a"])
        assert not any(looks["✗"][:2])

    in_gallery(scenario)
