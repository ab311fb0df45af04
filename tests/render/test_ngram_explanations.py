"""Where an n-gram draft was copied from: in the text, in the inspector, in words."""

from dataclasses import replace
from typing import Any

import pytest
from textual.pilot import Pilot

from specviz.core.events import Drafted, Prompt, Round, Settings
from specviz.render.explanations import NgramSource, explain, ngram_source, title
from specviz.render.glyphs import UNICODE
from specviz.render.phases import Reveal, explain_phase
from specviz.render.transcript import Transcript
from specviz.render.transcript_layout import TranscriptView
from specviz.ui.main.text_panel import TextPanel
from tests.builders import make_drafted, make_round, make_token
from tests.ui.gallery import Gallery, in_gallery
from tests.ui.test_inspector import shown

PROMPT = Prompt("a b c d a b", tuple(make_token(text) for text in ("a", " b", " c", " d", " a", " b")))
"""Positions 0 to 5; what follows " a b" stands from position 2 on."""


def copy(text: str, verdict: Any, at: object, n: object = 2, source: object = "text") -> Drafted:
    return replace(make_drafted(text, verdict, q=1.0), detail={"ngram": n, "source": source, "at": at})


def first_round() -> Round:
    """`` c`` (from 2) is kept, `` d`` (from 3) dropped and `` x`` put in its place: positions 6 and 7."""
    drafted = [copy(" c", "accepted", 2), copy(" d", "rejected", 3)]
    return make_round(1, 6, drafted=drafted, last=" x", settings=Settings(k=2, drafter="ngram"))


def second_round() -> Round:
    """NgramSource from position 7, the last token of the round before, behind `` c`` at 6."""
    return make_round(2, 8, drafted=[copy(" x", "accepted", 7, 1)], settings=Settings(k=1, drafter="ngram"))


def story() -> TranscriptView:
    made = TranscriptView(Transcript(PROMPT), UNICODE, 60)
    for round_ in (first_round(), second_round(), make_round(3, 10, "✓")):
        made.transcript.append(round_)
    return made


def test_the_place_is_read_from_the_detail() -> None:
    row = first_round().drafted[1]
    assert ngram_source(row, 1) == NgramSource(2, "text", 3, start=0)
    assert ngram_source(copy(" c", "accepted", 14, 4), 0) == NgramSource(4, "text", 14, 10)
    assert ngram_source(copy(" c", "accepted", 14, 4, "corpus"), 0) == NgramSource(4, "corpus", 14, 10)
    assert NgramSource(4, "text", 14, 10).words == "copied from position 14, 4-gram, in the text"


@pytest.mark.parametrize(
    "detail",
    [
        {},
        {"ngram": 2, "source": "text"},
        {"ngram": "2", "source": "text", "at": 3},
        {"ngram": 2, "source": "text", "at": True},
        {"ngram": 2, "source": ["text"], "at": 3},
        {"ngram": 2, "source": "\x1b[31m", "at": 3},
        {"ngram": 0, "source": "text", "at": 3},
        {"ngram": 4, "source": "text", "at": 3},
        {"ngram": 10**15, "source": "text", "at": 2 * 10**15},
    ],
)
def test_a_detail_that_names_no_place_is_none(detail: dict[str, Any]) -> None:
    assert ngram_source(replace(make_drafted(), detail=detail), 0) is None


def test_the_copied_token_and_what_stands_before_it() -> None:
    made = story()
    made.show_round(1, 0)
    assert made.source(0) == {(0, 0): "matched", (0, 1): "matched", (0, 2): "copied"}
    assert made.source(1) == {(0, 0): "matched", (0, 1): "matched", (0, 2): "matched", (0, 3): "copied"}
    assert made.source(2) == {} == made.source(None), "its last token is no copy"


def test_places_in_what_was_emitted() -> None:
    made = story()
    made.show_round(2, 0)
    assert made.source(0) == {(1, 0): "matched", (1, 2): "copied"}, "row 2 of round 1 is its last token"


def test_nothing_without_such_a_detail_or_a_round_or_a_place() -> None:
    made = story()
    made.show_round(3, 0)
    assert made.source(0) == {}
    made.show_round(0, None)
    assert made.source(0) == {}
    far = TranscriptView(Transcript(PROMPT), UNICODE, 60)
    far.transcript.append(make_round(1, 6, drafted=[copy(" c", "accepted", 2000)]))
    far.transcript.append(make_round(2, 8, drafted=[copy(" c", "accepted", 7, source="corpus")]))
    for round_ in (1, 2):
        far.show_round(round_, 0)
        assert far.source(0) == {}


def marked(panel: TextPanel) -> dict[str, str]:
    """The words of the panel in reverse, and those underlined."""
    found: dict[str, str] = {}
    for y in range(panel.size.height):
        for segment in panel.render_line(y):
            style = segment.style
            if style and segment.text.strip() and (style.reverse or style.underline):
                found[segment.text.strip()] = "reverse" if style.reverse else "underline"
    return found


def test_it_is_marked_in_the_text_while_its_draft_is_chosen() -> None:
    async def scenario(app: Gallery, pilot: Pilot[None]) -> None:
        panel = app.query_one(TextPanel)
        transcript = Transcript(PROMPT)
        panel.start(transcript)
        transcript.append(first_round())
        panel.show(1, 2)
        await pilot.pause()
        plain = marked(panel)
        panel.show(1, 1)
        await pilot.pause()
        seen = marked(panel)
        assert {word: seen[word] for word in ("a", "b", "c")} == dict.fromkeys("abc", "underline")
        assert seen["d"] == "reverse"
        panel.show(1, 2)
        await pilot.pause()
        assert marked(panel) == plain and "a" not in plain

    in_gallery(scenario)


def test_the_inspector_names_it_in_words() -> None:
    lines = shown(first_round(), 1)
    assert "copied from position 3, 2-gram, in the text" in lines
    assert not any("source:" in line or "ngram:" in line for line in lines)
    assert any("one token" in line for line in lines), "q is a point mass"
    other = replace(make_drafted(), detail={"ngram": 0, "source": "text", "residual_is_p": True})
    assert "ngram: 0 · source: text" in shown(make_round(drafted=[other]), 0)


def test_a_copy_that_the_target_has_not_seen_says_where_it_is_from() -> None:
    drafting = Reveal(drafted=1, verified=False, decided=0, last=False)
    assert explain_phase(first_round(), drafting).startswith(
        "␣c drafted: copied from position 2, 2-gram, in the text\n"
    )


def test_a_round_without_a_match_says_so() -> None:
    plain = make_round(1, 6, "", plain_reason="no_match", settings=Settings(drafter="ngram"))
    assert title(plain).startswith("Round 1 · plain: no n-gram matches")
    assert "plain: no n-gram matches" in explain(plain, 0)
