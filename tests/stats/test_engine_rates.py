"""What other engines would print, by hand."""

from dataclasses import replace

import pytest
from rich.cells import cell_len

from specviz.core.events import Settings
from specviz.maths.formulas import expected_tokens
from specviz.stats.engine_rates import EngineRate, engine_rates
from specviz.trace.jsonl import read
from tests.recordings import SMALL, folded
from tests.rounds import BASE, accepting, fold, round_of

NAMES = [
    ("vLLM", "draft acceptance rate"),
    ("vLLM", "mean acceptance length"),
    ("SGLang", "spec_accept_rate"),
    ("SGLang", "spec_accept_length"),
    ("llama.cpp", "draft acceptance"),
    ("llama.cpp", "mean acceptance length"),
    ("LM Studio", "accepted / predicted"),
    ("EAGLE", "τ"),
]


def by_name(peers: tuple[EngineRate, ...]) -> dict[str, EngineRate]:
    return {f"{peer.engine} {peer.name}": peer for peer in peers}


def test_each_engine_by_its_own_definition() -> None:
    """Two plain rounds, a rejection, a full acceptance and a text that ends in its draft tell the definitions apart."""
    peers = by_name(engine_rates(fold(["", "", "aaru", "aaaa", "aiii"]).whole()))
    assert {name: peer.value for name, peer in peers.items()} == {
        "vLLM draft acceptance rate": 7 / 12,
        "vLLM mean acceptance length": pytest.approx(1 + 7 / 3),
        "SGLang spec_accept_rate": 7 / 12,
        "SGLang spec_accept_length": 11 / 3,
        "llama.cpp draft acceptance": 7 / 12,
        "llama.cpp mean acceptance length": pytest.approx(1 + 7 / 3),
        "LM Studio accepted / predicted": 7 / 11,
        "EAGLE τ": 11 / 5,
    }


def test_lm_studio_counts_the_share_of_the_output() -> None:
    """68 of 128 tokens from the draft: 60 rounds that each add one token more than they accept."""
    rounds = [accepting(1, 4)] * 52 + [accepting(2, 4)] * 8
    peer = by_name(engine_rates(fold(rounds).whole()))["LM Studio accepted / predicted"]
    assert peer.value == pytest.approx(68 / 128)


def test_c05_an_acceptance_of_point_eight_at_k_4() -> None:
    """625 rounds in the exact shares of chance .8: accepted/tested .8, accepted/drafted .59, E[N] 3.36."""
    counts = {0: 125, 1: 100, 2: 80, 3: 64, 4: 256}
    rates = fold(accepting(n, 4) for n, count in counts.items() for _ in range(count)).whole()
    assert rates.alpha_tested == 0.8
    assert f"{rates.accepted_over_drafted:.2f}" == "0.59"
    assert rates.formula_at_tested == pytest.approx(3.3616)
    assert rates.tokens_per_round == pytest.approx(3.3616)
    peers = by_name(engine_rates(rates))
    for name in ("vLLM draft acceptance rate", "SGLang spec_accept_rate", "llama.cpp draft acceptance"):
        assert peers[name].value == 1476 / 2500
        assert f"{peers[name].predicted:.2f}" == "2.27"
    assert peers["EAGLE τ"].value == pytest.approx(3.3616)


def test_a_prediction_is_averaged_over_the_real_lengths() -> None:
    rates = fold(["aaaa", "ar", "r"]).whole()
    peer = engine_rates(rates)[0]
    assert peer.value == 5 / 7
    assert peer.predicted == pytest.approx(sum(expected_tokens(5 / 7, k) for k in (4, 2, 1)) / 3)
    assert rates.formula_at(5 / 7) == peer.predicted
    assert rates.formula_at(rates.alpha_tested) == rates.formula_at_tested
    assert rates.formula_at(rates.alpha_overlap) == rates.formula_at_overlap
    assert rates.formula_at(None) is None


def test_rates_and_predictions_of_the_rounds_since_k_changed() -> None:
    """Two rounds at K 4, then two at K 1: 1 of 2 drafts, 3 tokens, and E[N](1/2, 1) = 1.5."""
    one = replace(BASE, k=1)
    stats = fold([round_of("aaru"), round_of("aaaa"), round_of("a", settings=one), round_of("r", settings=one)])
    peers = by_name(engine_rates(stats.since_k()))
    assert {name: (peer.value, peer.predicted) for name, peer in peers.items()} == {
        "vLLM draft acceptance rate": (1 / 2, 1.5),
        "vLLM mean acceptance length": (1.5, None),
        "SGLang spec_accept_rate": (1 / 2, 1.5),
        "SGLang spec_accept_length": (3 / 2, None),
        "llama.cpp draft acceptance": (1 / 2, 1.5),
        "llama.cpp mean acceptance length": (1.5, None),
        "LM Studio accepted / predicted": (1 / 3, pytest.approx(4 / 3)),
        "EAGLE τ": (3 / 2, None),
    }


def test_lengths_predict_nothing() -> None:
    peers = engine_rates(fold(["aaru"]).whole())
    assert [(peer.engine, peer.name) for peer in peers] == NAMES
    lengths = [peer.name for peer in peers if peer.predicted is None]
    assert lengths == ["mean acceptance length", "spec_accept_length", "mean acceptance length", "τ"]


@pytest.mark.parametrize("rounds", [[], ["", ""]])
def test_nothing_is_defined_without_a_draft(rounds: list[str]) -> None:
    peers = by_name(engine_rates(fold(rounds).whole()))
    defined = {name: peer.value for name, peer in peers.items() if peer.value is not None}
    assert defined == ({"LM Studio accepted / predicted": 0.0, "EAGLE τ": 1.0} if rounds else {})
    assert peers["vLLM draft acceptance rate"].predicted is None


def test_a_run_that_ends_in_its_only_draft_predicts_nothing() -> None:
    """No uncut round: a rate, and no length to put it into the formula for."""
    peer = engine_rates(fold([round_of("aaaii", settings=Settings(k=5))]).whole())[0]
    assert (peer.value, peer.predicted) == (3 / 5, None)


def test_the_small_trace() -> None:
    rates = folded(read(SMALL)).since_k()
    assert [peer.value for peer in engine_rates(rates)] == pytest.approx(
        [8 / 15, 2.6, 8 / 15, 2.4, 8 / 15, 2.6, 8 / 12, 2.4]
    )
    assert engine_rates(rates)[0].predicted == pytest.approx(1 + 8 / 15 + 64 / 225 + 512 / 3375)


def test_definitions_fit_a_line() -> None:
    assert all(0 < cell_len(peer.definition) <= 60 for peer in engine_rates(fold(["aaru"]).whole()))
