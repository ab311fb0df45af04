"""The page: what it shows, and that nothing in a trace becomes markup."""

import base64
import hashlib
import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from typing import Any

import pytest

from specviz.core.events import Raw, Settings
from specviz.export.html import script_json, to_html
from specviz.export.palette import Palettes, palettes
from specviz.export.report import Recording
from specviz.render.glyphs import UNICODE
from specviz.render.token_report import full_report
from specviz.theming.loader import load_themes
from specviz.trace.replay import read_trace
from tests.builders import id_of, make_drafted, make_round, make_top
from tests.export.runs import HOSTILE, hostile, recording, sampled, small, unsafe


class Page(HTMLParser):
    """Every element with its attributes and the text directly in it."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[list[str]] = []
        self._open: list[int] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        self.texts.append([])
        if tag not in ("meta", "input", "path", "rect"):
            self._open.append(len(self.elements) - 1)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        self.texts.append([])

    def handle_endtag(self, tag: str) -> None:
        assert self.elements[self._open.pop()][0] == tag

    def handle_data(self, data: str) -> None:
        if self._open:
            self.texts[self._open[-1]].append(data)

    def tags(self, name: str) -> list[dict[str, str | None]]:
        return [attrs for tag, attrs in self.elements if tag == name]

    def text(self, index: int) -> str:
        return "".join(self.texts[index])

    def spans(self) -> dict[str, tuple[str, str, str]]:
        """(classes, title, text) by id."""
        return {
            str(attrs["id"]): (str(attrs["class"]), str(attrs["title"]), self.text(i))
            for i, (tag, attrs) in enumerate(self.elements)
            if tag == "span" and "id" in attrs
        }

    @property
    def data(self) -> Any:
        return json.loads(next(self.text(i) for i, (_, attrs) in enumerate(self.elements) if attrs.get("id") == "data"))


@pytest.fixture(scope="module")
def both() -> Palettes:
    return palettes(None, load_themes())


def test_text_tokens_and_reasons(both: Palettes) -> None:
    page = Page(to_html(small(), both))
    spans = page.spans()
    assert {id: (name, text) for id, (name, _, text) in spans.items()} == {
        "r1.0": ("accepted", " a"),
        "r1.1": ("accepted", " little"),
        "r1.2": ("rejected ghost", " girl"),
        "r1.3": ("untested ghost", " who"),
        "r1.4": ("resampled", "frog"),
        "r2.0": ("accepted", " and"),
        "r2.1": ("accepted", " a"),
        "r2.2": ("bonus", "\nriver"),
    }
    assert spans["r1.2"][1].startswith("␣girl rejected: u .77 ≥ min(1, .031/.220) = .14")
    token, names = page.data["tokens"]["r1.2"], page.data["names"]
    facts = {names[name]: value for name, value, _ in token["facts"]}
    assert (facts["p"], facts["q"], facts["p/q"], facts["u"]) == (".031", ".220", ".141", ".770")
    assert (facts["overlap"], facts["TV"], facts["accept prob"]) == (".380", ".620", ".141")
    assert (facts["rank p"], facts["rank q"], facts["u − accept"]) == ("4", "2", "+.629")
    assert token["test"] == [0.140909, 0.77]
    assert [names[name] for name, *_ in token["lists"]] == ["p target", "q draft", "residual"]
    assert token["lists"][2][2] == [names.index("␣river"), ".600", ""]
    assert page.data["rounds"]["1"]["columns"] == ["q", "p", "p/q", "overlap", "u"]
    assert page.data["rounds"]["1"]["title"] == "Round 1 · K 4 · 2 of 3 tested accepted · 3 tokens"


def test_text_can_be_copied(both: Palettes) -> None:
    """Marks are drawn by the style sheet: the text in the page, dropped drafts aside, is the text of the run."""
    page = to_html(small(), both)
    inside = page[page.index('<p id="text"') :].partition("</p>")[0].partition(">")[2]
    kept = re.sub(r'<span id="[^"]*" class="\w+ ghost"[^>]*>[^<]*</span>', "", inside)
    assert re.sub("<[^>]*>", "", kept) == "Once upon a time there was a little frog and a\nriver"


def test_untested_tokens_show_no_test(both: Palettes) -> None:
    page = Page(to_html(small(), both))
    assert page.data["tokens"]["r1.3"]["test"] is None
    assert "would have been accepted: u .31 < 1, on the dropped prefix" in page.spans()["r1.3"][1]


def told(page: Page, id: str) -> dict[str, Any]:
    """A token's data with its numbered texts."""
    token, names = page.data["tokens"][id], page.data["names"]
    return {
        **token,
        "facts": [(names[name], value, raw) for name, value, raw in token["facts"]],
        "draws": [(who, names[name], number) for who, name, number in token["draws"]],
        "lists": [
            (names[title], note, *((names[n], prob, kind) for n, prob, kind in rows))
            for title, note, *rows in token["lists"]
        ],
        "details": [names[number] for number in token["details"]],
    }


def test_the_page_says_what_the_inspector_says(both: Palettes) -> None:
    """Greedy ranks before processing, what the target drew under equality, where a draft was copied from."""
    raw = Raw(0.2, 0.3, 2.0, 1.0, 0.5, make_top(" river", 0.6, (" b", 0.2)), make_top(" b", 0.3))
    greedy = make_drafted(" b", "rejected", p=0.0, q=1.0, raw=raw, p_top=make_top(" river", 1.0))
    equality = make_drafted(" c", "rejected", accept_prob=None, target_sample=id_of(" Frog"))
    copied = replace(make_drafted(" d"), detail={"layers": 3})
    rounds = [
        make_round(1, 6, drafted=[greedy], last=" river", settings=Settings(k=1, temperature=0.0)),
        make_round(2, 7, drafted=[equality], settings=Settings(k=1, rule="equality")),
        make_round(3, 8, drafted=[copied, make_drafted(" e", "untested")]),
    ]
    page = Page(to_html(recording(rounds), both))
    for round in rounds:
        for row in range(round.k + 1):
            subject, token = full_report(round, row, UNICODE), told(page, f"r{round.index}.{row}")
            facts = [*(fact for group in subject.groups for fact in group), *subject.tests]
            assert token["facts"] == [(f.name, f.value, f.raw) for f in facts if f.value or f.raw]
            assert page.spans()[f"r{round.index}.{row}"][1].split("\n") == [text for text, _ in subject.sentences]
            assert [title for title, *_ in token["lists"]] == [
                shown.title for shown in (*subject.lists, *subject.raw_lists)
            ]
    first = told(page, "r1.0")
    assert ("rank p", "", "2") in first["facts"]
    assert first["lists"][0] == ("raw p target", "", ("␣river", ".290", "resampled"), ("␣b", ".200", "rejected"))
    assert page.data["rounds"]["1"]["columns"] == ["q", "p", "overlap"]
    second = told(page, "r2.0")
    assert second["draws"] == [("draft", "␣c", id_of(" c")), ("target", "␣Frog", id_of(" Frog"))]
    assert ("target's u", ".310", "") in second["facts"]
    assert second["test"] is None
    assert told(page, "r3.0")["details"] == ["layers: 3"]


def test_headline_numbers(both: Palettes) -> None:
    """4 of 5 tested accepted; 3 and 3 tokens in two uncut rounds; 4 accepted in two rounds."""
    page = to_html(small(), both)
    for label, value in (("α tested", ".800"), ("tokens/round", "3.00"), ("c = T_p/T_q", "5.0")):
        assert f"<dt>{label}</dt><dd>{value}" in page
    assert "<dt>accepted/round</dt><dd>2.000</dd>" in page


def test_an_incomplete_character_still_has_a_place(both: Palettes) -> None:
    run = recording([make_round(1, 6, drafted=[make_drafted(b"\xc3"), make_drafted(b"\xa9")])])
    spans = Page(to_html(run, both)).spans()
    assert spans["r1.0"][::2] == ("accepted part", "")
    assert spans["r1.1"][::2] == ("accepted", "é")


def test_nothing_of_a_trace_is_markup(both: Palettes) -> None:
    calm, attacked = Page(to_html(small(), both)), Page(to_html(hostile(), both))
    assert {tag for tag, _ in attacked.elements} == {tag for tag, _ in calm.elements}
    assert len(attacked.tags("script")) == 2
    names = {name for _, attrs in attacked.elements for name in attrs}
    assert not [name for name in names if name.startswith("on") or name in ("style", "src", "href", "xlink:href")]
    assert unsafe(to_html(hostile(), both)) == set()
    assert "</script><script>alert(1)" not in to_html(hostile(), both)
    assert "</script><script>alert(…" in "".join(attacked.data["names"])


def test_text_of_a_hostile_trace_is_all_there(both: Palettes) -> None:
    texts = [text for name, _, text in Page(to_html(hostile(), both)).spans().values() if name == "accepted"]
    assert texts[0] == HOSTILE[0]
    assert texts[6:10] == list(HOSTILE[6:10])


def test_policy_allows_its_own_script_and_style_alone(both: Palettes) -> None:
    text = to_html(hostile(), both)
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', text)
    assert policy is not None
    for element, directive in (("<script>", "script-src"), ("<style>", "style-src")):
        content = text.partition(element)[2].partition(element.replace("<", "</"))[0]
        digest = base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
        assert f"{directive} 'sha256-{digest}'" in policy[1]
    assert "default-src 'none'" in policy[1]
    assert "unsafe" not in policy[1]


def test_nothing_is_fetched(both: Palettes) -> None:
    text = to_html(sampled(), both)
    assert not re.search(r"https?://(?!www\.w3\.org/2000/svg)|url\(|@import|<link|<iframe", text)


def test_colours_of_both_grounds(both: Palettes) -> None:
    text = to_html(small(), both)
    light, dark = both.light.colors["token-accepted"], both.dark.colors["token-accepted"]
    assert text.index(f"--token-accepted:{light}") < text.index("prefers-color-scheme: dark")
    assert f"--token-accepted:{dark}" in text
    assert 'id="auto" checked' in text


def test_a_token_reached_by_key_is_not_under_the_inspector(both: Palettes) -> None:
    """On narrow pages the inspector covers the lower half of the window: there a token is scrolled above it."""
    narrow = to_html(small(), both).partition("@media screen and (max-width: 980px)")[2].partition("@media print")[0]
    assert "max-height: 50vh" in narrow
    assert "#text span[id] { scroll-margin-bottom: calc(50vh + 3em); }" in narrow


def test_a_chosen_theme_decides_the_ground() -> None:
    text = to_html(small(), palettes("light", load_themes()))
    assert 'id="light" checked' in text
    assert 'id="auto" checked' not in text


def test_the_page_of_a_long_run_is_small(both: Palettes) -> None:
    run = Recording(read_trace("bundled:demo"))
    assert run.rates.tokens == 256
    assert len(to_html(run, both).encode()) < 1_000_000


def test_json_cannot_leave_its_element() -> None:
    text = script_json({"a": "</script><!--&"})
    assert not set("<>&") & set(text)
    assert json.loads(text) == {"a": "</script><!--&"}


def test_a_run_without_rounds(both: Palettes) -> None:
    page = to_html(recording([]), both)
    assert page.count("no data yet") == 4
    assert "<dt>α tested</dt><dd>–</dd>" in page
