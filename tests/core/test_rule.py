"""A rule is one object: an added one reaches rates, rankings, traces and screens; an unknown one gets dashes."""

from dataclasses import replace

import pytest

from specviz.core.events import Drafted, Round, Settings
from specviz.core.rule import RULES, Rule, rule_of
from specviz.render.explanations import explain
from specviz.render.glyphs import UNICODE
from specviz.render.phases import Reveal, explain_phase
from specviz.stats.draft_queries import overlap_histogram
from specviz.trace.codec import encode
from specviz.trace.jsonl import load_line
from specviz.ui.main.round_rows import Columns, RoundTable
from specviz.ui.metrics.acceptance import rate_facts
from specviz.ui.present.captions import caption
from tests.builders import known
from tests.rounds import fold, round_of
from tests.stats.drafted_rows import drafted_rows


def half_overlap(drafted: Drafted) -> float:
    return known(drafted.overlap) / 2


HALF = Rule(
    name="half",
    condition="its u falls below half of min(1, p/q)",
    captions=("half the chance",),
    overlap_name="half overlap",
    overlap_formula="Σ min(p, q)/2",
    overlap_of=half_overlap,
    overlap_is_accept_prob=True,
    token_accept_prob=lambda drafted: drafted.q,
)
ROUNDS = [round_of("aru", settings=Settings(k=3, rule="half"), overlaps=[0.8, 0.4, 0.6])] * 3


@pytest.fixture
def half(monkeypatch: pytest.MonkeyPatch) -> Rule:
    monkeypatch.setitem(RULES, HALF.name, HALF)
    return HALF


def text(parts: list[tuple[str, str]]) -> str:
    return "".join(words for words, _ in parts)


def test_an_added_rule_is_seen_by_the_rates(half: Rule) -> None:
    stats = fold(ROUNDS)
    rates = stats.whole()
    assert rates.overlap_name == "half overlap"
    assert rates.alpha_overlap == pytest.approx((0.4 + 0.2) / 2)
    accepted, mean, variance = 3, 3 * (0.4 + 0.2), 3 * (0.4 * 0.6 + 0.2 * 0.8)
    assert rates.agreement_z == pytest.approx((accepted - mean) / variance**0.5)
    assert [row.lost for row in drafted_rows(ROUNDS[:1])] == [None, 1 + known(ROUNDS[0].drafted[2].q), None]
    assert overlap_histogram(ROUNDS[:1]) == (0, 0, 1, 0, 1, 0, 0, 0, 0, 0)


def test_an_added_rule_is_explained_in_its_own_words(half: Rule) -> None:
    made = ROUNDS[0]
    before_tests = Reveal(3, True, 0, last=False)
    assert "accepted by the rule half" in explain(made, 0)
    assert explain_phase(made, before_tests).endswith("\na draft is accepted if its u falls below half of min(1, p/q)")
    assert caption(made, before_tests).by == "half the chance"
    table = RoundTable(Columns.fitting(74, 3), UNICODE)
    assert "half overlap" in text(table.header(made))
    facts = {fact.label: fact for fact in rate_facts(fold(ROUNDS).whole(), half)}
    assert facts["α half overlap"].words.startswith("mean Σ min(p, q)/2: the exact accept probability.")


def test_a_trace_of_an_added_rule_can_be_read(half: Rule) -> None:
    line = encode(ROUNDS[0])
    assert line is not None
    read = load_line(line.encode())
    assert isinstance(read, Round) and read.settings.rule == "half"


def test_an_unknown_rule_has_no_accept_chance() -> None:
    rounds = [replace(each, settings=Settings(k=3, rule="typical")) for each in ROUNDS]
    rates = fold(rounds).whole()
    assert (rates.overlap_name, rates.alpha_overlap, rates.agreement_z) == ("overlap", None, None)
    assert rates.alpha_tested == 0.5
    assert explain_phase(rounds[0], Reveal(3, True, 0, last=False)).endswith("\nthe rule typical decides on each")
    unknown = rule_of("typical")
    assert (unknown.lossless, unknown.has_residual, unknown.test) == (False, False, "unknown")
