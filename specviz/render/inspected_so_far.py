"""What there is to say of a drafted token while its round is shown phase by phase: nothing of what comes later."""

from collections.abc import Sequence
from dataclasses import replace

from specviz.core.events import Round
from specviz.render.accept_line import AcceptTest
from specviz.render.facts import Fact
from specviz.render.glyphs import Glyphs
from specviz.render.phases import WAITING, Stage
from specviz.render.token_report import RESIDUAL, Inspected, P, inspected
from specviz.render.top_lists import TopList

_OF_DRAFT = frozenset({"q", "rank q", "entropy q", "draft u"})
_OF_TARGET = frozenset({"p", "rank p", "entropy p", "overlap", "TV", "match", "p/q", "accept prob"})
"""What is known of a token once it is drafted, and what once the target has scored it."""


def inspected_so_far(round: Round, row: int, glyphs: Glyphs, known: Stage) -> Inspected:
    """All that is ``known`` about row ``row``; what is not is blank, in its place.

    A token that waits for its verdict is looked at without its u and verdict, so that not even the digits of another
    number depend on them.
    """
    if known == "decided" or row >= round.k:
        return inspected(round, row, glyphs)
    waiting = replace(round.drafted[row], u=0.0, verdict="untested")
    whole = inspected(replace(round, drafted=(*round.drafted[:row], waiting, *round.drafted[row + 1 :])), row, glyphs)
    scored = known == "scored"
    facts = _OF_DRAFT | _OF_TARGET if scored else _OF_DRAFT
    return replace(
        whole,
        kind=WAITING,
        sentences=((f"waits for {'its test' if scored else 'the target'}", "text"),),
        lists=tuple(_list(shown, scored=scored) for shown in whole.lists),
        raw_lists=tuple(_list(shown, scored=scored) for shown in whole.raw_lists),
        groups=tuple(_only(facts, group) for group in whole.groups),
        tests=_only(facts, whole.tests),
        test=whole.test and AcceptTest(whole.test.chance if scored else None, None, WAITING),
        draws=tuple(draw if draw[0] == "draft" else (draw[0], None, None) for draw in whole.draws),
    )


def _only(known: frozenset[str], facts: Sequence[Fact]) -> tuple[Fact, ...]:
    """The facts in their places, those that are not known without a number."""
    return tuple(fact if fact.name in known else replace(fact, value="", raw=" " if fact.raw else "") for fact in facts)


def _list(shown: TopList, *, scored: bool) -> TopList:
    if shown.title == RESIDUAL or (not scored and shown.title.endswith(P)):
        return TopList(shown.title, ())
    return replace(shown, marked=tuple(replace(mark, kind=WAITING) for mark in shown.marked))
