"""What specviz is measured against: assisted generation of transformers, and forwards with nothing around them."""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from transformers import DynamicCache

from specviz.decoder.live import Pair
from specviz.decoder.models import CausalModel
from specviz.decoder.sampling import is_greedy
from specviz.events import Round

Clock = Callable[[], float]


@dataclass(frozen=True, slots=True)
class Assisted:
    """A text of assisted generation, and when its rounds ended: seconds on some clock, and tokens."""

    ids: tuple[int, ...]
    seen: tuple[tuple[float, int], ...]

    @property
    def ms_per_token(self) -> float | None:
        return ms_per_token(self.seen)


def ms_per_token(seen: Sequence[tuple[float, int]]) -> float | None:
    """Milliseconds a token behind the first round, so that reading the prompt counts nowhere; None for one round."""
    tokens = sum(n for _, n in seen[1:])
    return (seen[-1][0] - seen[0][0]) * 1e3 / tokens if tokens else None


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
    pair: Pair,
    prompt: Sequence[int],
    k: int,
    tokens: int,
    *,
    temperature: float = 0.0,
    clock: Clock = time.perf_counter,
) -> Assisted:
    """Assisted generation of transformers by the models of ``pair``: exactly ``k`` drafted tokens a round, no cuts.

    At temperature 0 the text is the target's own greedy one.
    """
    draft, target = pair.draft.model, pair.target.model
    constant = {
        "num_assistant_tokens": k,
        "num_assistant_tokens_schedule": "constant",
        "assistant_confidence_threshold": 0.0,
    }
    greedy = is_greedy(temperature)
    watch = _Watch(clock)
    ids = torch.tensor([list(prompt)], device=pair.target.device)
    with _set(draft.generation_config, constant):
        out: Any = target.generate(
            ids,
            attention_mask=torch.ones_like(ids),
            assistant_model=draft,
            do_sample=not greedy,
            temperature=None if greedy else temperature,
            max_new_tokens=tokens,
            eos_token_id=sorted(pair.facts.end_ids) or None,
            pad_token_id=0,
            repetition_penalty=1.0,
            top_k=None,
            top_p=None,
            streamer=watch,
        )
    return Assisted(tuple(out[0, len(prompt) :].tolist()), tuple(watch.seen[1:]))  # the first is the prompt


@contextmanager
def _set(config: Any, values: dict[str, Any]) -> Iterator[None]:
    """Let ``config`` have ``values`` while the block lasts."""
    before = {name: getattr(config, name, None) for name in values}
    vars(config).update(values)
    try:
        yield
    finally:
        vars(config).update(before)


class _Bare:
    """A model of transformers and its cache, with nothing around them."""

    def __init__(self, model: CausalModel, ids: Sequence[int]) -> None:
        self._model = model
        self._cache = DynamicCache(config=model.model.config)
        self.length = 0
        if ids:
            self.forward(self.tensor(ids), 1)

    def tensor(self, ids: Sequence[int]) -> Tensor:
        return torch.tensor([list(ids)], device=self._model.device)

    def forward(self, ids: Tensor, keep: int) -> None:
        self._model.model(input_ids=ids, cache=self._cache, use_cache=True, logits_to_keep=keep)
        self.length += ids.shape[1]

    def crop(self, length: int) -> None:
        if self.length > length:
            self._cache.crop(length - self.length)
            self.length = length


@torch.inference_mode()
def bare_ms(
    pair: Pair, prompt: Sequence[int], rounds: Sequence[Round], *, clock: Clock = time.perf_counter
) -> list[float]:
    """The forwards of ``rounds`` once more, of the same ids at the same lengths and nothing else: milliseconds a round.

    A round of K_r drafts is K_r forwards of the draft, the first of what it lacks of the text, and one of the target.
    Both models must have keys and values alone.
    """
    draft, target = _Bare(pair.draft, prompt[:-1]), _Bare(pair.target, prompt[:-1])
    text, times = list(prompt), []
    for round_ in rounds:
        drafted = [token.id for token in round_.drafted]
        feeds = [draft.tensor(ids) for ids in [text[draft.length :], *([i] for i in drafted[:-1])]] if drafted else []
        block = target.tensor([text[-1], *drafted])
        begun = clock()
        for ids in feeds:
            draft.forward(ids, 1)
        target.forward(block, len(drafted) + 1)
        if pair.target.device.type == "cuda":
            torch.cuda.synchronize(pair.target.device)
        times.append((clock() - begun) * 1e3)
        text += [token.id for token in round_.emitted]
        draft.crop(len(text) - 1)
        target.crop(len(text) - 1)
    return times
