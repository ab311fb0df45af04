"""Events to record: a small run written by hand, and random ones that add up."""

from dataclasses import replace
from itertools import accumulate
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from specviz.core.events import (
    Calibration,
    Candidate,
    Drafted,
    Emitted,
    End,
    Event,
    Header,
    Origin,
    Prompt,
    Raw,
    Round,
    Settings,
    Timing,
    Token,
    Verdict,
)
from specviz.stats.run_stats import RunStats
from specviz.trace.jsonl import Trace
from tests.builders import make_drafted, make_emitted, make_round

SMALL = Path(__file__).parent / "data" / "small.jsonl"
"""A run whose every number can be worked out by hand; data/README.md does."""

TOP = (Candidate(7, b" is", 0.53), Candidate(9, b" was", 0.333333))
RAW = Raw(0.4, 0.3, 0.7, 1.5, 1.25, TOP, TOP[:1])


def header(**config: Any) -> Header:
    prompt = Prompt("Once é", (Token(1, b"Once"), Token(2, b" \xc3"), Token(3, b"\xa9")))
    return Header("2025-01-01T00:00:00+00:00", "0.1.0", {"seed": 0, "stop": [], **config}, 64, (0,), prompt)


def drafted(verdict: Verdict, **changes: Any) -> Drafted:
    made = make_drafted(" is", verdict, token_id=7, q=0.412, p=0.1 + 0.2, draft_u=0.25, accept_prob=0.73, overlap=0.82)
    shown: dict[str, Any] = {
        "match": 0.4,
        "rank_p": 1,
        "rank_q": 2,
        "entropy_p": 1.25,
        "entropy_q": 1.5,
        "p_top": TOP,
        "q_top": TOP,
        "residual_top": (),
    }
    return replace(made, **shown | changes)


def emitted(origin: Origin, text: bytes = b" is", **changes: Any) -> Emitted:
    shown: dict[str, Any] = {"entropy_p": 1.25, "p_top": TOP}
    return replace(make_emitted(text, origin, token_id=7, p=0.3), **shown | changes)


def round_(index: int, verdicts: tuple[Verdict, ...] = ("accepted", "rejected", "untested"), **changes: Any) -> Round:
    accepted = verdicts.count("accepted")
    last: Origin = "plain" if not verdicts else "resampled" if "rejected" in verdicts else "bonus"
    made = make_round(
        index,
        2 + index,
        drafted=[drafted(verdict) for verdict in verdicts],
        emitted=[*(emitted("accepted", q=0.4) for _ in range(accepted)), emitted(last, residual=0.41)],
        settings=Settings(),
        timing=Timing(1.0, 2.0, 0.5, 0.25, 4.0),
        last_u=0.5,
    )
    return replace(made, **changes)


def run() -> list[Event]:
    return [
        header(),
        Calibration(7.1, 0.95, 4),
        *in_a_row(
            round_(1), round_(2, (), settings=Settings(k=0)), round_(3, ("accepted", "accepted"), stop="max_new_tokens")
        ),
        End("max_new_tokens"),
    ]


def in_a_row(*rounds: Round, start: int = 3) -> list[Round]:
    """The rounds from position ``start`` on, each behind the one before."""
    behind = accumulate((len(round.emitted) for round in rounds), initial=start)
    return [replace(round, start=at) for round, at in zip(rounds, behind, strict=False)]


def folded(trace: Trace) -> RunStats:
    """The numbers of a recorded run."""
    stats = RunStats()
    for event in (trace.header, *trace.calibrations, *trace.rounds, trace.end):
        if event is not None:
            stats.add(event)
    return stats


_chance = st.floats(0, 1)
_ids = st.integers(0, 200_000)
_bytes = st.binary(max_size=6)
_probs = st.floats(1e-12, 1).map(lambda p: float(f"{p:.6g}"))
_tops = st.lists(st.builds(Candidate, _ids, _bytes, _probs), max_size=10).map(tuple)
_ranks = st.integers(1, 1000)
_entropies = st.floats(0, 20)
TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
"""Any text that is one: half a surrogate pair is none."""
_raws = st.none() | st.builds(
    Raw, _chance, st.none() | _chance, st.none() | _chance, _entropies, st.none() | _entropies, _tops, _tops
)
_drafted: dict[str, st.SearchStrategy[Any]] = {
    "id": _ids,
    "bytes": _bytes,
    **dict.fromkeys(("q", "p", "draft_u", "u", "overlap", "match"), _chance),
    "accept_prob": st.none() | _chance,
    **dict.fromkeys(("entropy_p", "entropy_q"), _entropies),
    **dict.fromkeys(("rank_p", "rank_q"), _ranks),
    **dict.fromkeys(("p_top", "q_top", "residual_top"), _tops),
    "raw": _raws,
    "target_sample": st.none() | _ids,
    "detail": st.dictionaries(TEXT, st.none() | st.booleans() | st.integers(-9, 9) | _chance | TEXT, max_size=2),
}
_emitted: dict[str, st.SearchStrategy[Any]] = {
    **{name: _drafted[name] for name in ("id", "bytes", "p", "rank_p", "entropy_p", "p_top", "raw")},
    **dict.fromkeys(("q", "residual"), st.none() | _chance),
}
_settings = st.builds(
    Settings,
    st.integers(0, 32),
    st.floats(0, 5),
    st.floats(0, 5),
    st.none() | st.integers(1, 99),
    st.none() | _chance,
    st.sampled_from(["model", "ngram"]),
    st.sampled_from(["exact", "equality", "typical"]),
)
_accepted: list[tuple[Verdict, ...]] = [(), ("accepted",), ("accepted", "accepted")]
_behind: list[tuple[Verdict, ...]] = [("rejected",), ("rejected", "untested"), ("ignored",), ()]


@st.composite
def rounds(draw: st.DrawFn) -> Round:
    """A first round whose counts add up; it starts anywhere."""
    verdicts = draw(st.sampled_from(_accepted)) + draw(st.sampled_from(_behind))
    shape = round_(1, verdicts)
    return replace(
        shape,
        start=draw(st.integers(0, 9999)),
        settings=draw(_settings),
        drafted=tuple(drafted(verdict, **draw(st.fixed_dictionaries(_drafted))) for verdict in verdicts),
        emitted=tuple(replace(out, **draw(st.fixed_dictionaries(_emitted))) for out in shape.emitted),
        last_u=draw(_chance),
        redraws=draw(st.integers(0, 3)),
        timing=draw(st.builds(Timing, *[st.floats(0, 1e5)] * 5)),
        stop=draw(st.sampled_from([None, "end_of_text", "stop_string"])),
    )


headers = st.builds(
    Header,
    TEXT,
    TEXT,
    st.dictionaries(TEXT.filter(lambda key: key.isupper()), TEXT | st.none() | st.lists(_chance, max_size=2)),
    st.integers(1, 2**20),
    st.lists(_ids, max_size=3).map(tuple),
    st.builds(Prompt, TEXT, st.lists(st.builds(Token, _ids, _bytes), max_size=4).map(tuple)),
)


def without_top_lists(event: Round) -> Round:
    """The round without its top lists, raw distributions and details: what numbers, text and conditions need."""
    return replace(
        event,
        drafted=tuple(replace(d, p_top=(), q_top=(), residual_top=(), raw=None, detail={}) for d in event.drafted),
        emitted=tuple(replace(e, p_top=(), raw=None) for e in event.emitted),
    )
