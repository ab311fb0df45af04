"""Runs of the live source, through the same seam as the app, checked for what holds of every run."""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import cache, lru_cache
from math import isfinite
from typing import Any

import torch
from transformers import AutoModelForCausalLM

from specviz.core.events import Calibration, Emitted, End, Event, Header, Notice, Progress, Ready, Round, Settings
from specviz.core.options import PairOptions, RunOptions, RunRequest
from specviz.decoder.loading.pair import LoadedPair
from specviz.decoder.models.causal_model import CausalModel
from specviz.decoder.source import LiveSource
from specviz.stats.run_stats import RunStats
from tests.builders import known


def setting(k: int = 4, temperature: float = 1.0, **others: Any) -> Settings:
    """Settings with one temperature for both models, as the command line gives them."""
    return Settings(k=k, temperature=temperature, **{"draft_temperature": temperature, **others})


@dataclass
class Opened:
    """A live source after ``open``, and what it said meanwhile."""

    source: LiveSource
    said: list[Event]

    @property
    def pair(self) -> LoadedPair:
        return self.source.pair

    @property
    def notices(self) -> list[Notice]:
        return [event for event in self.said if isinstance(event, Notice)]


def opened(target: str, draft: str | None = None, *, alone: bool = False, **options: Any) -> Opened:
    """Load a pair, a model as its own draft where none is named, or ``alone`` without a draft; ``options`` of
    PairOptions and RunOptions."""
    of_pair = {name: options.pop(name) for name in ("force", "dtype", "device", "compile") if name in options}
    run_options = {"calibrate": 0, "drift_rounds": 0, "max_new_tokens": 32, "settings": Settings(), **options}
    pair = PairOptions(None if alone else draft or target, target, **of_pair)
    source = LiveSource(RunOptions(pair, **run_options))
    said: list[Event] = []
    source.open(said.append)
    return Opened(source, said)


@dataclass
class Played:
    """The events of one run that was played to its end."""

    events: list[Event]

    def only(self, kind: type[Any]) -> Any:
        (event,) = (event for event in self.events if isinstance(event, kind))
        return event

    @property
    def header(self) -> Header:
        return self.only(Header)  # type: ignore[no-any-return]

    @property
    def end(self) -> End:
        return self.only(End)  # type: ignore[no-any-return]

    @property
    def rounds(self) -> list[Round]:
        return [event for event in self.events if isinstance(event, Round)]

    @property
    def emitted(self) -> list[Emitted]:
        return [token for round_ in self.rounds for token in round_.emitted]

    @property
    def ids(self) -> list[int]:
        return [known(token.id) for token in self.emitted]

    @property
    def prompt(self) -> list[int]:
        return [token.id for token in self.header.prompt.tokens]

    @property
    def stats(self) -> RunStats:
        stats = RunStats()
        for event in self.events:
            stats.add(event)
        return stats

    def decisions(self) -> list[dict[str, Any]]:
        """The rounds without their times, as plain values."""
        return [{key: value for key, value in asdict(round_).items() if key != "timing"} for round_ in self.rounds]


def play(
    source: Opened,
    prompt: str,
    settings: Settings | Callable[[], Settings] | None = None,
    *,
    seed: int = 0,
    first: Settings | None = None,
) -> Played:
    """Run to the end and check what holds of every run. ``first``: what the request says where ``settings`` change."""
    chosen = settings or setting()
    ask = chosen if callable(chosen) else lambda: chosen
    request = RunRequest(prompt, seed, first or (Settings() if callable(chosen) else chosen))
    played = Played(list(source.source.run(request, ask, lambda: False)))
    check(played)
    return played


def check(played: Played) -> None:
    """The invariants of a run: order of events, positions, counts, origins, numbers."""
    kinds = [type(event) for event in played.events if not isinstance(event, Progress | Notice)]
    if Calibration in kinds:  # before the first round, or right after it; again for another drafter
        assert kinds.index(Calibration) in (1, 3)
        kinds = [kind for kind in kinds if kind is not Calibration]
    assert kinds == [Header, Ready, *[Round] * len(played.rounds), End]
    position = len(played.prompt)
    for index, round_ in enumerate(played.rounds, 1):
        assert (round_.index, round_.start) == (index, position)
        position += len(round_.emitted)
        check_round(round_)
    assert [round_.stop for round_ in played.rounds[:-1]] == [None] * (len(played.rounds) - 1)
    assert played.rounds[-1].stop == played.end.reason


def check_round(round_: Round) -> None:
    drafted, n = round_.drafted, round_.n_accepted
    verdicts = [token.verdict for token in drafted]
    tail = verdicts[n:]
    assert len(drafted) == round_.k <= round_.settings.k
    assert verdicts[:n] == ["accepted"] * n
    assert tail in (["rejected"] + ["untested"] * (len(tail) - 1), ["ignored"] * len(tail))
    assert round_.tested == n + tail.count("rejected")
    assert [token.id for token in round_.emitted[:n]] == [token.id for token in drafted[:n]]
    origins = [token.origin for token in round_.emitted]
    last = [] if "ignored" in tail else ["resampled"] if tail else ["bonus"] if drafted else ["plain"]
    if round_.stop == "end_of_text" or round_.stop == "stop_string":
        assert origins in (["accepted"] * n, ["accepted"] * n + last)
    else:
        assert origins == ["accepted"] * n + last
    assert (round_.plain_reason is None) == bool(drafted)
    exact = round_.settings.rule == "exact"
    for token in drafted[: round_.tested]:
        if exact:
            assert token.accept_prob is not None
            assert (known(token.u) < token.accept_prob) == (token.verdict == "accepted")
        else:
            assert (token.target_sample == token.id) == (token.verdict == "accepted")
    for token in drafted:
        assert known(token.q) > 0
        assert all(0 <= known(chance) <= 1 for chance in (token.p, token.q, token.overlap, token.match))
        assert all(0 <= known(u) < 1 for u in (token.u, token.draft_u, round_.last_u))
        assert all(nats is None or isfinite(nats) for nats in (token.entropy_p, token.entropy_q))
        assert (token.accept_prob is None) != exact
        assert (token.target_sample is None) == exact
    for out in round_.emitted:
        assert known(out.p) > 0
        assert (out.residual is not None) == (exact and out.origin == "resampled")
        assert (out.q is None) == (out.origin in ("bonus", "plain"))


@lru_cache
def loaded(folder: str) -> Any:
    """The model of ``folder`` in float32, without any of our code."""
    return AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()


@torch.inference_mode()
def fresh_logits(folder: str, ids: Sequence[int]) -> torch.Tensor:
    """Logits [V] behind ``ids`` from one forward without a cache."""
    return loaded(folder)(input_ids=torch.tensor([list(ids)]), use_cache=False).logits[0, -1]  # type: ignore[no-any-return]


@cache
def _greedy(folder: str, prompt: tuple[int, ...], n: int) -> tuple[int, ...]:
    ids = list(prompt)
    for _ in range(n):
        ids.append(int(fresh_logits(folder, ids).argmax()))
    return tuple(ids[len(prompt) :])


def greedy(folder: str, prompt: Sequence[int], n: int) -> list[int]:
    """The target's own greedy text, one token at a time, each from a forward of its own without a cache."""
    return list(_greedy(folder, tuple(prompt), n))


@dataclass(frozen=True)
class Feed:
    """One forward of a model: the ids fed, and the position behind the last of them."""

    ids: list[int]
    end: int


class Feeds:
    """Every forward of one model while the block lasts."""

    def __init__(self, model: CausalModel) -> None:
        self._model = model
        self.feeds: list[Feed] = []

    def __enter__(self) -> "Feeds":
        def note(_: object, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
            ids = kwargs["input_ids"][0].tolist()
            self.feeds.append(Feed(ids, int(kwargs["cache"].get_seq_length()) + len(ids)))

        self._hook = self._model.model.register_forward_pre_hook(note, with_kwargs=True)
        return self

    def __exit__(self, *_: object) -> None:
        self._hook.remove()
