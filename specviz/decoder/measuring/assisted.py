"""Two baselines: assisted generation of transformers, and the forwards of a round on their own."""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor
from transformers import DynamicCache

from specviz.bench.baseline import Comparison, ComparisonResult, Throughput
from specviz.core.errors import SpecvizError
from specviz.core.events import Header, Round, Settings, token_ids
from specviz.core.options import RunRequest
from specviz.decoder.loading.pair import LoadedPair
from specviz.decoder.models.cache_support import CROP
from specviz.decoder.models.causal_model import CausalModel
from specviz.decoder.models.compiled_forward import CompiledForward
from specviz.decoder.source import LiveSource
from specviz.decoder.tensors.device import peak_memory
from specviz.decoder.tensors.sampling import is_greedy

Clock = Callable[[], float]
OursRun = tuple[tuple[int, ...], tuple[Round, ...], "Text"]
"""The ids of a prompt, the rounds after it, and their text."""


@dataclass(frozen=True, slots=True)
class Text:
    """The ids of a text, and the end of each round: (seconds, emitted tokens)."""

    ids: tuple[int, ...]
    arrivals: tuple[tuple[float, int], ...]

    def throughput(self, peak: int | None = None) -> Throughput:
        """Tokens and time after the first round, which excludes reading the prompt."""
        first, last = (self.arrivals[0][0], self.arrivals[-1][0]) if self.arrivals else (0.0, 0.0)
        return Throughput(sum(n for _, n in self.arrivals[1:]), (last - first) * 1e3, peak)


def compare_once(
    source: LiveSource, comparison: Comparison, prompt: str, seed: int, settings: Settings
) -> ComparisonResult:
    """The same ``prompt``, K and temperature by specviz, as in ``specviz run``, and by transformers."""
    pair = source.pair

    def by_us() -> tuple[OursRun, int | None]:
        with peak_memory(pair.target.device) as peak:
            return run_ours(source, prompt, seed, replace(settings, k=comparison.k)), peak()

    def by_them() -> tuple[Text, int | None]:
        with peak_memory(pair.target.device) as peak:
            return assisted(source, prompt, comparison.k, temperature=settings.temperature, seed=seed), peak()

    if comparison.ours_first:
        (ids, rounds, ours), our_peak = by_us()
        theirs, their_peak = by_them()
    else:
        theirs, their_peak = by_them()
        (ids, rounds, ours), our_peak = by_us()
    complete = [n for n, round_ in enumerate(rounds) if n and round_.stop is None]
    forwards = forward_only_ms(pair, ids, rounds) if can_time_forwards(pair) else []
    of = min(len(ours.ids), len(theirs.ids))
    return ComparisonResult(
        comparison,
        ours.throughput(our_peak),
        theirs.throughput(their_peak),
        same=next((n for n in range(of) if ours.ids[n] != theirs.ids[n]), of),
        of=of,
        round_ms=tuple((ours.arrivals[n][0] - ours.arrivals[n - 1][0]) * 1e3 for n in complete),
        forwards_ms=tuple(forwards[n] for n in complete) if forwards else (),
    )


def run_ours(
    source: LiveSource, prompt: str, seed: int, settings: Settings, *, clock: Clock = time.perf_counter
) -> OursRun:
    """A run of ``source``, timed from outside."""
    prompt_ids: tuple[int, ...] = ()
    rounds, arrivals = [], []
    for event in source.run(RunRequest(prompt, seed, settings), lambda: settings, lambda: False):
        if isinstance(event, Header):
            prompt_ids = tuple(token.id for token in event.prompt.tokens)
        elif isinstance(event, Round):
            arrivals.append((clock(), len(event.emitted)))
            rounds.append(event)
    ids = tuple(token_ids([token for round_ in rounds for token in round_.emitted]))
    return prompt_ids, tuple(rounds), Text(ids, tuple(arrivals))


def refuse_unequal(pair: LoadedPair) -> None:
    """Raise SpecvizError for a pair that transformers does not accept for assisted generation."""
    sizes = [model.model.config.get_text_config().vocab_size for model in pair.models]
    if len(set(sizes)) > 1:
        raise SpecvizError(
            f"--baseline hf: transformers needs models of the same vocabulary size, and these have {sizes[0]} (draft) "
            f"and {sizes[1]} (target). Omit --baseline."
        )


class _ArrivalTimes:
    """A streamer of transformers that notes when tokens arrive."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self.arrivals: list[tuple[float, int]] = []

    def put(self, ids: Tensor) -> None:
        self.arrivals.append((self._clock(), ids.numel()))

    def end(self) -> None:
        pass


def assisted(
    source: LiveSource,
    prompt: str,
    k: int,
    *,
    temperature: float = 0.0,
    seed: int = 0,
    clock: Clock = time.perf_counter,
) -> Text:
    """Assisted generation of transformers with the models of ``source``: ``k`` drafted tokens a round, no cuts. At
    temperature 0 it writes the target's greedy text; otherwise ``seed`` gives a different text than in specviz."""
    pair = source.pair
    draft, target = pair.draft.model, pair.target.model
    constant = {
        "num_assistant_tokens": k,
        "num_assistant_tokens_schedule": "constant",
        "assistant_confidence_threshold": 0.0,
    }
    greedy = is_greedy(temperature)
    streamer = _ArrivalTimes(clock)
    prompt_ids = pair.encode(prompt, chat=source.options.chat).ids
    ids = torch.tensor([list(prompt_ids)], device=pair.target.device)
    torch.manual_seed(seed % 2**63)
    with _temporarily(draft.generation_config, constant):
        out: Any = target.generate(
            ids,
            attention_mask=torch.ones_like(ids),
            assistant_model=draft,
            do_sample=not greedy,
            temperature=None if greedy else temperature,
            max_new_tokens=source.options.max_new_tokens,
            eos_token_id=sorted(pair.facts.end_ids) or None,
            pad_token_id=0,
            repetition_penalty=1.0,
            top_k=None if greedy else 0,
            top_p=None,
            streamer=streamer,
        )
    return Text(tuple(out[0, ids.shape[1] :].tolist()), tuple(streamer.arrivals[1:]))  # the first is the prompt


@contextmanager
def _temporarily(config: Any, values: dict[str, Any]) -> Iterator[None]:
    """Set ``values`` in ``config`` during the block."""
    before = {name: getattr(config, name, None) for name in values}
    vars(config).update(values)
    try:
        yield
    finally:
        vars(config).update(before)


def can_time_forwards(pair: LoadedPair) -> bool:
    """Whether ``forward_only_ms`` works: there are two models, and both cache only keys and values."""
    return all(model.rollback is CROP for model in pair.models) and pair.draft_model is not None


class _CompiledForwards:
    """A compiled forward and its cache, without the rest of specviz."""

    def __init__(self, forward: CompiledForward, model: CausalModel, ids: Sequence[int]) -> None:
        self._forward = forward
        self._cache = forward.cache
        if ids:
            model.model(input_ids=self.tensor(ids), cache=self._cache, use_cache=True, logits_to_keep=1)
            self._cache.length = len(ids)

    @property
    def length(self) -> int:
        return self._cache.length

    def tensor(self, ids: Sequence[int]) -> Tensor:
        return torch.tensor([list(ids)], device=self._forward.device)

    def forward(self, ids: Tensor, keep: int) -> None:
        self._forward(ids[0], self.length, keep)
        self._cache.length += ids.shape[1]

    def crop(self, length: int) -> None:
        self._cache.length = min(length, self.length)


class _Forwards:
    """A model of transformers and its cache, without the rest of specviz."""

    def __init__(self, model: CausalModel, ids: Sequence[int]) -> None:
        self._model = model
        self._cache = DynamicCache(config=model.model.config)
        self.length = 0
        if ids:
            self.forward(self.tensor(ids), 1)
        self._cache.activate_past_recording()

    def tensor(self, ids: Sequence[int]) -> Tensor:
        return torch.tensor([list(ids)], device=self._model.device)

    def forward(self, ids: Tensor, keep: int) -> None:
        n = ids.shape[1]
        last = torch.arange(n - keep, n) if self._model.gathers_rows and keep < n else keep
        self._model.model(input_ids=ids, cache=self._cache, use_cache=True, logits_to_keep=last)
        self.length += n

    def crop(self, length: int) -> None:
        self._cache.crop(min(0, length - self.length))
        self.length = min(length, self.length)


def _forwards_after(ids: Sequence[int], model: CausalModel) -> _Forwards | _CompiledForwards:
    """``model`` with ``ids`` in its cache."""
    if model.compiled is None:
        return _Forwards(model, ids)
    return _CompiledForwards(model.compiled.empty_copy(), model, ids)


@torch.inference_mode()
def forward_only_ms(
    pair: LoadedPair, prompt: Sequence[int], rounds: Sequence[Round], *, clock: Clock = time.perf_counter
) -> list[float]:
    """Milliseconds of the forwards of each round, run again with the same ids at the same lengths. A round of K drafts
    is K forwards of the draft, the first with what it lacks of the text, and one of the target."""
    draft, target = (_forwards_after(prompt[:-1], model) for model in (pair.draft, pair.target))
    text, times = list(prompt), []
    for round_ in rounds:
        drafted = token_ids(round_.drafted)
        feeds = [draft.tensor(ids) for ids in [text[draft.length :], *([i] for i in drafted[:-1])]] if drafted else []
        block = target.tensor([text[-1], *drafted])
        _synchronize(pair)
        start_s = clock()
        for ids in feeds:
            draft.forward(ids, 1)
        target.forward(block, len(drafted) + 1)
        _synchronize(pair)
        times.append((clock() - start_s) * 1e3)
        text += token_ids(round_.emitted)
        draft.crop(len(text) - 1)
        target.crop(len(text) - 1)
    return times


def _synchronize(pair: LoadedPair) -> None:
    """Wait for the devices."""
    for model in pair.models:
        if model.device.type == "cuda":
            torch.cuda.synchronize(model.device)
