"""The content of the app's inspector for a token, as data for the inspector of the HTML page."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from specviz.core.events import Round
from specviz.core.rule import rule_of
from specviz.core.safe_text import clip, visible
from specviz.render.accept_line import AcceptTest
from specviz.render.explanations import is_greedy
from specviz.render.glyphs import UNICODE
from specviz.render.numbers import prob
from specviz.render.token_report import Fact, full_report
from specviz.render.top_lists import TopList, places

_TOKEN_CELLS = 24
_MAX_BYTES = 32


@dataclass
class Names:
    """Interned texts: each is written once and referred to by its number."""

    texts: list[str] = field(default_factory=list)
    _known: dict[str, int] = field(default_factory=dict)

    def number(self, text: str) -> int:
        if text not in self._known:
            self._known[text] = len(self.texts)
            self.texts.append(text)
        return self._known[text]

    def token(self, data: bytes | None) -> int:
        return self.number(clip(visible(data), _TOKEN_CELLS))


def sentence(round: Round, row: int) -> str:
    """Why the token was decided as it was, in one or two lines."""
    return "\n".join(text for text, _ in full_report(round, row, UNICODE).sentences)


def columns(round: Round) -> tuple[str, ...]:
    """The facts that distinguish the tokens of a round."""
    if is_greedy(round):
        return "q", "p", "overlap"
    rule = rule_of(round.settings.rule)
    if rule.test == "sample":
        return "q", "p", rule.overlap_name, "target's u"
    return "q", "p", "p/q", rule.overlap_name, "u"


def inspection(round: Round, row: int, names: Names) -> dict[str, Any]:
    """Everything about row ``row``, which has a token, as JSON values; ``names`` interns repeated texts. ``facts``:
    [name, value, raw value or ""]; ``lists``: [title, note, *[text, probability, kind or ""]]; ``draws``: [who, text,
    id]."""
    subject = full_report(round, row, UNICODE)
    token = subject.token
    assert token is not None
    facts = [*(fact for group in subject.groups for fact in group), *subject.tests]
    return {
        "name": names.token(token.bytes),
        "id": token.id,
        "bytes": _hex(token.bytes),
        "kind": subject.kind,
        "mark": UNICODE.mark(subject.kind),
        "facts": _facts(facts, names),
        "test": _test(subject.test),
        "draws": [
            [who, names.number("") if data is None else names.token(data), id] for who, data, id in subject.draws
        ],
        "lists": [_list(shown, names) for shown in (*subject.lists, *subject.raw_lists)],
        "details": [names.number(clip(text, 4 * _TOKEN_CELLS)) for text in subject.details],
    }


def _hex(data: bytes | None) -> str:
    if data is None:
        return visible(None)
    return data[:_MAX_BYTES].hex(" ").upper() + (" …" if len(data) > _MAX_BYTES else "")


def _facts(facts: Sequence[Fact], names: Names) -> list[list[Any]]:
    return [[names.number(fact.name), fact.value, fact.raw] for fact in facts if fact.value or fact.raw]


def _test(test: AcceptTest | None) -> list[float] | None:
    """Accept probability and u, if they decided."""
    return [float(f"{value:.6g}") for value in (test.chance, test.u)] if test and test.held else None


def _list(shown: TopList, names: Names) -> list[Any]:
    rows: list[list[Any]] = []
    for candidate in shown.top:
        mark = shown.mark(candidate.id)
        value = candidate.prob if mark is None or mark.prob is None else mark.prob
        rows.append([names.token(candidate.bytes), prob(value), mark.kind if mark else ""])
    for mark in shown.beyond(len(shown.top)):
        rows.append([names.number(places(shown, mark)[0]), prob(mark.prob), mark.kind])
    return [names.number(shown.title), shown.note, *rows]
