"""Public bug reports about numbers, each as a person would meet it: on the screens of the app."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from textual.pilot import Pilot

from specviz.core.events import Calibration, Candidate, Emitted, Raw, Round, Settings, Timing, Top
from specviz.maths import rules
from specviz.ui.app import SpecvizApp
from tests import builders
from tests.rounds import accepting, round_of
from tests.ui.conftest import Script, hit, make_app, ready, sampled
from tests.ui.gallery import inside
from tests.ui.metrics import Host, drawn, fields, in_metrics, timeline_of
from tests.ui.screen_parser import numbers
from tests.ui.screen_parser_inspector import taken_apart

TALL = (160, 60)


def scripted(rounds: Sequence[Round]) -> SpecvizApp:
    return make_app(Script(len(rounds), make=lambda index, _settings: rounds[index - 1]))


def pages(
    rounds: Iterable[str | Round], calibration: Calibration | None = None, **changes: Any
) -> Mapping[str, list[str]]:
    """What the metrics screen paints of these rounds: a, r and s for acceptance, rounds and speed."""
    made = [
        replace(item, index=index) if isinstance(item, Round) else round_of(item, index, **changes)
        for index, item in enumerate(rounds, start=1)
    ]
    found: dict[str, list[str]] = {}

    async def scenario(app: Host, pilot: Pilot[None]) -> None:
        for name in "ars":
            found[name] = [line.strip() for line in app.said("#metrics-page") if line.strip()]
            await pilot.press("right")

    in_metrics(timeline_of(made, calibration), scenario, TALL)
    return found


def flat(lines: Iterable[str]) -> str:
    return " ".join(" ".join(lines).split())


# -- rates


def test_c05_alpha_of_the_formula_is_that_of_the_tests() -> None:
    coins = np.random.default_rng(5).random((5000, 4)) < 0.8
    lengths = [4 if row.all() else int(row.argmin()) for row in coins]
    accepted, tested = sum(lengths), sum(min(n + 1, 4) for n in lengths)
    found = pages((accepting(n, 4) for n in lengths), overlaps=[0.8] * 4)
    alpha = fields(found["a"], "α tested")
    assert abs(float(alpha[0]) - 0.8) < 0.01 and alpha[3:6] == [f"{accepted}", "of", f"{tested}"]
    assert fields(found["a"], "α overlap")[0] == ".800"
    assert abs(float(fields(found["a"], "accepted/drafted")[0]) - 0.59) < 0.01
    assert "not the formula's α" in flat(found["a"])
    value, by_it, measured = fields(found["a"], "vLLM       draft acceptance rate")[:3]
    assert value == fields(found["a"], "accepted/drafted")[0]
    assert abs(float(by_it) - 2.27) < 0.03 and measured == fields(found["r"], "tokens/round")[0]
    mean, _, error = fields(found["r"], "tokens/round")[:3]
    assert fields(found["r"], "formula, overlap")[0] == "3.36"
    assert abs(float(fields(found["r"], "formula, tested")[0]) - 3.36) <= 0.03
    assert abs(float(mean) - 3.36) < 3 * float(error)
    assert "The formula and the measurement agree" in flat(found["r"])


def test_by_position_given_the_test_and_of_all_rounds() -> None:
    """Accept chance .7 everywhere, K = 5: 1000 rounds that are as geometric as whole rounds can be."""
    reached = [1000, 700, 490, 343, 240, 168, 0]
    lengths = [n for n in range(6) for _ in range(reached[n] - reached[n + 1])]
    found = pages((accepting(n, 5) for n in lengths), overlaps=[0.7] * 5)
    head = next(i for i, line in enumerate(found["a"]) if line.startswith("By draft position"))
    printed = [numbers(line)[:7] for line in found["a"][head + 2 : head + 7]]
    assert [row[1] for row in printed] == [".70"] * 5
    assert [row[4] for row in printed] == [".70", ".49", ".34", ".24", ".17"]
    assert [row[2:4] for row in printed] == [[f"{b}", f"{a}"] for a, b in pairwise(reached[:6])]
    assert [row[5:7] for row in printed] == [[f"{n}", "1000"] for n in reached[1:6]]


ONE_ROUND = {"no draft": round_of(""), "no match": round_of("", plain_reason="no_match")}


@pytest.mark.parametrize("reason", ONE_ROUND)
def test_c36_without_a_draft_there_is_a_dash_and_a_mean_of_one(reason: str) -> None:
    found = pages([ONE_ROUND[reason]] * 3, Calibration(10.0, 2.0, 8))
    assert found["a"] == ["No token was drafted yet."]
    assert fields(found["r"], "tokens/round")[0] == "1.00"
    assert fields(found["r"], "formula, tested")[0] == fields(found["r"], "gap")[0] == "–"
    assert fields(found["s"], "model ")[0] == fields(found["s"], "best K")[0] == "–"


def test_c36_an_end_of_text_as_the_very_first_token() -> None:
    plain = pages([replace(round_of(""), stop="end_of_text")])
    assert fields(plain["r"], "tokens/round")[0] == "1.00"
    drafted = pages(["aiii"], Calibration(10.0, 2.0, 8))
    assert fields(drafted["a"], "α tested")[0] == "1.00"
    assert fields(drafted["a"], "z")[0] == "–" or float(fields(drafted["a"], "z")[0].replace("−", "-"))
    assert drafted["r"] == ["No whole round yet."]
    # Rates are still rates, and no length is claimed where no round was whole.
    assert fields(drafted["a"], "vLLM       draft acceptance rate")[:3] == [".250", "–", "–"]
    assert fields(drafted["a"], "vLLM       mean acceptance length")[:3] == ["2.00", "2.00", "–"]


async def test_c36_before_the_first_round() -> None:
    app = scripted([round_of("", plain_reason="no_match")])
    async with app.run_test(size=(200, 40)) as pilot:
        await ready(pilot, app)

        def rates() -> str:
            return flat(drawn(app.main.status_rates))

        assert rates().startswith("α tested – ") and "tokens/round –" in rates() and "formula – | –" in rates()
        await sampled(pilot, app, 1)
        assert rates().startswith("α tested – ") and "tokens/round 1.00" in rates() and "formula – | –" in rates()
        assert "nan" not in rates().lower()


def test_c36_metrics_before_the_first_round() -> None:
    found = pages([])
    assert (found["r"], found["s"]) == (["No whole round yet."], ["No round yet."])
    assert not any(character.isdigit() for line in found["a"] for character in line)


def test_c37_accepted_and_tokens_each_under_its_name() -> None:
    found = pages(accepting(n, 4) for n in (2, 0, 4))
    assert fields(found["r"], "accepted/round")[0] == "2.00"
    assert fields(found["r"], "tokens/round")[0] == "3.00"


def test_c38_counters_add_up() -> None:
    rounds = ["aaru", "aaaa", "aiii"]
    counts = ["4 drafted = 2 accepted + 1 rejected + 1 untested + 0 ignored"]
    counts.append("8 drafted = 6 accepted + 1 rejected + 1 untested + 0 ignored")
    counts.append("12 drafted = 7 accepted + 1 rejected + 1 untested + 3 ignored")
    for shown, count in enumerate(counts, start=1):
        assert count in pages(rounds[:shown])["a"]


async def test_c39_every_token_is_tagged_without_colour() -> None:
    """Every row of every round by the arrow: its sign and its word, and as many accepted ones as are counted."""
    rounds = [builders.make_round(i, 8 * i, verdicts) for i, verdicts in enumerate(("", "✓✓✗·", "✓✓✓✓", "✓–––"), 1)]
    app = scripted(rounds)
    async with app.run_test(size=(120, 40)) as pilot:
        await ready(pilot, app)
        await sampled(pilot, app, 4)
        await hit(pilot, "g", "enter")
        titles: list[str] = []
        while not titles or app.timeline.neighbour(1):
            if titles:
                await hit(pilot, "right")
            title = inside(app.main.inspector)[0].split()
            titles.append(f"{title[0]} {title[-1]}")
        assert titles == [
            "= plain",
            *["✓ accepted"] * 2,
            *("✗ rejected", "· untested", "↳ resampled"),
            *["✓ accepted"] * 4,
            "+ bonus",
            "✓ accepted",
            *["– ignored"] * 3,
        ]
        await hit(pilot, "m")
        page = drawn(app.screen.query_one("#metrics-page"))
        assert fields(page, "12 drafted")[1:3] == [str(titles.count("✓ accepted")), "accepted"]


# -- greedy


P, Q = (0.45, 0.5, 0.05), (0.4, 0.35, 0.25)
WORDS = (b" zero", b" one", b" two")


def one_hot(probs: Sequence[float]) -> list[float]:
    return [float(i == np.argmax(probs)) for i in range(3)]


def top(probs: Sequence[float]) -> Top:
    order = sorted((i for i in range(3) if probs[i]), key=lambda i: (-probs[i], i))
    return tuple(Candidate(i, WORDS[i], probs[i]) for i in order)


def entropy(probs: Sequence[float]) -> float:
    return -sum(x * math.log(x) for x in probs)


def greedy_round(index: int, _settings: Settings) -> Round:
    """One draft at temperature 0, decided by the rule."""
    p, q = one_hot(P), one_hot(Q)
    decided = rules.decide_exact([p, p], [q], [0], [0.3], 0.6)
    residual, _ = rules.residual(p, q)

    def raw(id: int) -> Raw:
        overlap = sum(map(min, P, Q))
        return Raw(P[id], Q[id], overlap, entropy(P), entropy(Q), top(P), top(Q))

    drafted = replace(
        builders.make_drafted(WORDS[0], "accepted" if decided.n_accepted else "rejected", token_id=0),
        q=q[0],
        p=p[0],
        u=0.3,
        accept_prob=decided.accept_probs[0],
        overlap=rules.overlap(p, q),
        match=rules.match(p, q),
        entropy_p=0.0,
        entropy_q=0.0,
        rank_p=2,
        rank_q=1,
        p_top=top(p),
        q_top=top(q),
        residual_top=top(residual.tolist()),
        raw=raw(0),
    )
    last = decided.last_id
    emitted = Emitted(
        id=last,
        bytes=WORDS[last],
        origin=decided.last_origin,
        p=p[last],
        q=q[last],
        residual=float(residual[last]),
        rank_p=1,
        entropy_p=0.0,
        p_top=top(p),
        raw=raw(last),
    )
    settings = Settings(k=1, temperature=0.0, draft_temperature=0.0)
    return builders.make_round(index, index, drafted=[drafted], emitted=[emitted], settings=settings)


async def test_c08_greedy_compares_one_hot_distributions() -> None:
    app = make_app(Script(20, make=greedy_round))
    async with app.run_test(size=(120, 60)) as pilot:
        await ready(pilot, app)
        await sampled(pilot, app, 20)
        await hit(pilot, "enter")
        lines = inside(app.main.inspector)
        assert lines[0] == "✗ ␣zero  rejected"
        assert "␣zero rejected: greedy, and the target's first choice is ␣one" in flat(lines)
        assert "raw p .450, raw q .400" in flat(lines)
        shown = taken_apart(lines)
        assert (shown.facts["p"], shown.facts["q"]) == ([".000", ".450"], ["1.00", ".400"])
        assert (shown.facts["overlap"], shown.facts["TV"]) == ([".000", ".800"], ["1.00", ".200"])
        assert shown.lists == {
            "p target": [("↳", "␣one", ".500"), ("✗", "␣zero", ".450"), (" ", "␣two", ".050")],
            "q draft": [("✗", "␣zero", ".400"), ("↳", "␣one", ".350"), (" ", "␣two", ".250")],
        }
        assert "p/q" not in flat(lines) and not [n for line in lines for n in numbers(line) if n.startswith("1.1")]
        await hit(pilot, "right")
        assert inside(app.main.inspector)[0] == "↳ ␣one  resampled"
        assert {token.id for round in app.timeline.rounds for token in round.emitted} == {1}
        await hit(pilot, "m")
        page = drawn(app.screen.query_one("#metrics-page"))
        assert fields(page, "α tested")[0] == fields(page, "accepted/drafted")[0] == ".000"
        assert fields(page, "α overlap")[0] == ".000" and fields(page, "z")[0] == "–"


# -- speed


def test_c40_a_slowdown_is_shown_as_one() -> None:
    """Target 10 ms, draft 9 ms, K = 4; rounds exactly geometric at 1/2. Calibration and waits are in no speed."""
    lengths = [0] * 8 + [1] * 4 + [2] * 2 + [3, 4]
    timing = Timing(draft_ms=36.0, verify_ms=10.0, decide_ms=0.0, inspect_ms=5.0, total_ms=60.0)
    found = pages((accepting(n, 4) for n in lengths), Calibration(10.0, 9.0, 12), timing=timing)["s"]
    assert found[0] == "Slower than the target alone: 0.42x by measured cost."  # 10 * 31 / (16 * 46)
    assert fields(found, "model ")[0] == "0.42x"  # (1 - .5^5) / (.5 * (4 * .9 + 1))
    assert fields(found, "measured cost")[0] == "0.42x"
    assert fields(found, "best K")[:4] == ["0", "do", "not", "speculate:"]
    assert fields(found, "ceiling")[0] == "1.11x"  # c = 10 / 9


@pytest.mark.parametrize(("verify", "printed"), [(9.04, "<1.00x"), (9.0, "1.00x"), (8.96, ">1.00x"), (8.9, "1.01x")])
def test_c40_a_small_slowdown_is_not_rounded_away(verify: float, printed: str) -> None:
    """20 ms for the two tokens of a round: 10 of draft, 1 of decision, and the verification."""
    timing = Timing(draft_ms=10.0, verify_ms=verify, decide_ms=1.0, inspect_ms=0.0, total_ms=20.0)
    found = pages(["aru"] * 16, Calibration(10.0, 5.0, 12), timing=timing)["s"]
    assert fields(found, "measured cost")[0] == printed
    said = f"Slower than the target alone: {printed} by measured cost."
    assert (said in found) == (printed == "<1.00x")
