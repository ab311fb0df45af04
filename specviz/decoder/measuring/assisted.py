"""What specviz is measured against: assisted generation of transformers, and forwards with nothing around them."""

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
"""The ids of a prompt, the rounds behind it, and their text."""


@dataclass(frozen=True, slots=True)
class Text:
    """The ids of a text, and when its rounds ended: seconds on some clock, and how many tokens."""

    ids: tuple[int, ...]
    seen: tuple[tuple[float, int], ...]

    def pace(self, peak: int | None = None) -> Throughput:
        """Behind the first round, so that reading the prompt counts nowhere."""
        first, last = (self.seen[0][0], self.seen[-1][0]) if self.seen else (0.0, 0.0)
        return Throughput(sum(n for _, n in self.seen[1:]), (last - first) * 1e3, peak)


def compare_once(
    source: LiveSource, comparison: Comparison, prompt: str, seed: int, settings: Settings
) -> ComparisonResult:
    """The same ``prompt``, K and temperature by specviz, as ``specviz run`` does it, and by transformers."""
    pair = source.pair

    def by_us() -> tuple[OursRun, int | None]:
        with peak_memory(pair.target.device) as most:
            return run_ours(source, prompt, seed, replace(settings, k=comparison.k)), most()

    def by_them() -> tuple[Text, int | None]:
        with peak_memory(pair.target.device) as most:
            return assisted(source, prompt, comparison.k, temperature=settings.temperature, seed=seed), most()

    if comparison.ours_first:
        (ids, rounds, ours), our_peak = by_us()
        theirs, their_peak = by_them()
    else:
        theirs, their_peak = by_them()
        (ids, rounds, ours), our_peak = by_us()
    whole = [n for n, round_ in enumerate(rounds) if n and round_.stop is None]
    bare = forward_only_ms(pair, ids, rounds) if can_time_forwards(pair) else []
    of = min(len(ours.ids), len(theirs.ids))
    return ComparisonResult(
        comparison,
        ours.pace(our_peak),
        theirs.pace(their_peak),
        same=next((n for n in range(of) if ours.ids[n] != theirs.ids[n]), of),
        of=of,
        round_ms=tuple((ours.seen[n][0] - ours.seen[n - 1][0]) * 1e3 for n in whole),
        forwards_ms=tuple(bare[n] for n in whole) if bare else (),
    )


def run_ours(
    source: LiveSource, prompt: str, seed: int, settings: Settings, *, clock: Clock = time.perf_counter
) -> OursRun:
    """A run of ``source``, timed from outside it."""
    prompt_ids: tuple[int, ...] = ()
    rounds, seen = [], []
    for event in source.run(RunRequest(prompt, seed, settings), lambda: settings, lambda: False):
        if isinstance(event, Header):
            prompt_ids = tuple(token.id for token in event.prompt.tokens)
        elif isinstance(event, Round):
            seen.append((clock(), len(event.emitted)))
            rounds.append(event)
    ids = tuple(token_ids([token for round_ in rounds for token in round_.emitted]))
    return prompt_ids, tuple(rounds), Text(ids, tuple(seen))


def refuse_unequal(pair: LoadedPair) -> None:
    """Raise SpecvizError for a pair that transformers does not take for assisted generation."""
    sizes = [model.model.config.get_text_config().vocab_size for model in pair.models]
    if len(set(sizes)) > 1:
        raise SpecvizError(
            f"--baseline hf: transformers takes only models of one vocabulary size, and these have {sizes[0]} (draft) "
            f"and {sizes[1]} (target). Leave --baseline away."
        )


class _Watch:
    """A streamer that notes when tokens come."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self.seen: list[tuple[float, int]] = []

    def put(self, ids: Tensor) -> None:
        self.seen.append((self._clock(), ids.numel()))

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
    """Assisted generation of transformers by the models of ``source``: ``k`` drafted tokens a round, no cuts.

    At temperature 0 the text is the target's own greedy one. Another text than ours comes of ``seed``.
    """
    pair = source.pair
    draft, target = pair.draft.model, pair.target.model
    constant = {
        "num_assistant_tokens": k,
        "num_assistant_tokens_schedule": "constant",
        "assistant_confidence_threshold": 0.0,
    }
    greedy = is_greedy(temperature)
    watch = _Watch(clock)
    prompt_ids = pair.encode(prompt, chat=source.options.chat).ids
    ids = torch.tensor([list(prompt_ids)], device=pair.target.device)
    torch.manual_seed(seed % 2**63)
    with _set(draft.generation_config, constant):
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
            streamer=watch,
        )
    return Text(tuple(out[0, ids.shape[1] :].tolist()), tuple(watch.seen[1:]))  # the first is the prompt


@contextmanager
def _set(config: Any, values: dict[str, Any]) -> Iterator[None]:
    """Let ``config`` have ``values`` while the block lasts."""
    before = {name: getattr(config, name, None) for name in values}
    vars(config).update(values)
    try:
        yield
    finally:
        vars(config).update(before)


def can_time_forwards(pair: LoadedPair) -> bool:
    """Whether ``forward_only_ms`` can be had: both models have keys and values alone."""
    return all(model.rollback is CROP for model in pair.models) and pair.draft_model is not None


class _BareCompiled:
    """A compiled forward and its cache, with nothing around them."""

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


class _Bare:
    """A model of transformers and its cache, with nothing around them."""

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


def _bare(model: CausalModel, ids: Sequence[int]) -> _Bare | _BareCompiled:
    """``model`` as it runs, behind ``ids``."""
    if model.compiled is None:
        return _Bare(model, ids)
    return _BareCompiled(model.compiled.empty_copy(), model, ids)


@torch.inference_mode()
def forward_only_ms(
    pair: LoadedPair, prompt: Sequence[int], rounds: Sequence[Round], *, clock: Clock = time.perf_counter
) -> list[float]:
    """The forwards of ``rounds`` once more, of the same ids at the same lengths and nothing else: milliseconds a round.

    A round of K_r drafts is K_r forwards of the draft, the first of what it lacks of the text, and one of the target.
    """
    draft, target = _bare(pair.draft, prompt[:-1]), _bare(pair.target, prompt[:-1])
    text, times = list(prompt), []
    for round_ in rounds:
        drafted = token_ids(round_.drafted)
        feeds = [draft.tensor(ids) for ids in [text[draft.length :], *([i] for i in drafted[:-1])]] if drafted else []
        block = target.tensor([text[-1], *drafted])
        _settle(pair)
        begun = clock()
        for ids in feeds:
            draft.forward(ids, 1)
        target.forward(block, len(drafted) + 1)
        _settle(pair)
        times.append((clock() - begun) * 1e3)
        text += token_ids(round_.emitted)
        draft.crop(len(text) - 1)
        target.crop(len(text) - 1)
    return times


def _settle(pair: LoadedPair) -> None:
    """Wait until the devices have done what they were told."""
    for model in pair.models:
        if model.device.type == "cuda":
            torch.cuda.synchronize(model.device)
