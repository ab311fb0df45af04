"""The n-gram drafter: what followed the last few tokens earlier is proposed again (prompt lookup decoding)."""

from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Protocol

import torch

from specviz.core.events import Settings
from specviz.core.source import Emit
from specviz.decoder.drafters.ngram_corpus import Corpus, open_corpus
from specviz.decoder.drafters.protocol import DraftContext, Drafter, DrafterFactory, Proposal
from specviz.decoder.models.causal_model import UNLIMITED
from specviz.decoder.pairing.model_info import ModelFacts
from specviz.decoder.tensors.device import decision_device, to_device
from specviz.decoder.tensors.sampling import RoundRandom


class NgramIndex(Protocol):
    """Ids in which n-grams are looked up. ``name``: the value of ``source`` in a token's detail."""

    name: str

    def after(self, gram: tuple[int, ...]) -> int | None:
        """The position after the last occurrence of ``gram`` that is followed by an id; None without one."""

    def read(self, start: int, n: int) -> list[int]:
        """Up to ``n`` ids from position ``start`` on."""


class TextSoFar:
    """The committed text. An n-gram is indexed once a token follows it, so that a suffix never finds itself."""

    name = "text"

    def __init__(self, shortest: int, longest: int) -> None:
        self._lengths = range(shortest, longest + 1)
        self.ids: list[int] = []
        self._after: dict[tuple[int, ...], int] = {}

    def extend(self, ids: Sequence[int]) -> None:
        """Append ``ids``; the cost does not depend on the length of the text."""
        old = max(1, len(self.ids))
        self.ids += ids
        for end in range(old, len(self.ids)):
            for n in self._lengths:
                if n > end:
                    break
                self._after[tuple(self.ids[end - n : end])] = end

    def after(self, gram: tuple[int, ...]) -> int | None:
        return self._after.get(gram)

    def read(self, start: int, n: int) -> list[int]:
        return self.ids[start : start + n]


class NgramDrafter:
    """Drafts what followed the longest, then most recent, earlier occurrence of the text's last tokens. q is a point
    mass at any temperature: x is accepted with probability p(x), and a rejected position is resampled from p without x.
    At each length the text is searched before ``corpus``. The draft ends with the first id of ``end_ids``, or before it
    at a position below ``suppressed_until``. Without a match nothing is drafted."""

    def __init__(
        self,
        vocab_size: int,
        device: torch.device,
        *,
        longest: int,
        shortest: int,
        corpus: NgramIndex | None = None,
        end_ids: Collection[int] = (),
        suppressed_until: int = 0,
    ) -> None:
        self._vocab_size = vocab_size
        self._device = decision_device(device)
        self._longest, self._shortest = longest, shortest
        self._corpus = corpus
        self._end_ids = frozenset(end_ids)
        self._suppressed_until = suppressed_until
        self.text = TextSoFar(shortest, longest)

    def prefill(self, ids: Sequence[int]) -> None:
        self.text = TextSoFar(self._shortest, self._longest)
        self.text.extend(ids)

    def room(self, length: int) -> int:
        return UNLIMITED

    def propose(
        self, ids: Sequence[int], k: int, settings: Settings, random: RoundRandom, stopped: Callable[[], bool]
    ) -> Proposal | None:
        for n, index, position in self._matches():
            if drafted := self._cut(index.read(position, k), len(ids)):
                x = to_device(torch.tensor(drafted), self._device)
                q = torch.zeros(len(drafted), self._vocab_size, device=self._device)
                q.scatter_(-1, x.unsqueeze(-1), 1.0)
                detail = [{"ngram": n, "source": index.name, "at": position + i} for i in range(len(drafted))]
                return Proposal(x, q, random.drafts(len(drafted)).tolist(), detail=detail)
        empty = torch.empty(0, dtype=torch.long, device=self._device)
        return Proposal(empty, torch.empty(0, self._vocab_size, device=self._device), (), plain_reason="no_match")

    def commit(self, ids: Sequence[int]) -> None:
        self.text.extend(ids[len(self.text.ids) :])

    def warm_up(self, last_id: int) -> None:
        pass

    def step_ms(self, last_id: int, repeats: int, stopped: Callable[[], bool]) -> float | None:
        return None

    def _matches(self) -> Iterator[tuple[int, NgramIndex, int]]:
        """(n, index, position after the match) for the last n tokens of the text, the longest n first."""
        indices: list[NgramIndex] = [self.text, *([self._corpus] if self._corpus else [])]
        text = self.text.ids
        for n in range(min(self._longest, len(text)), self._shortest - 1, -1):
            gram = tuple(text[-n:])
            for index in indices:
                if (position := index.after(gram)) is not None:
                    yield n, index, position

    def _cut(self, ids: list[int], length: int) -> list[int]:
        """The prefix of ``ids`` that may be drafted after ``length`` tokens."""
        for i, token in enumerate(ids):
            if token >= self._vocab_size:
                return ids[:i]
            if token in self._end_ids:
                return ids[:i] if length + i < self._suppressed_until else ids[: i + 1]
        return ids


class NgramDrafterFactory(DrafterFactory):
    _corpus: Corpus | None = None

    def prepare(self, target: ModelFacts, emit: Emit) -> None:
        if file := self.options["ngram_corpus"]:
            self._corpus = open_corpus(file, target.tokenizer, emit)

    def build(self, context: DraftContext) -> Drafter:
        return NgramDrafter(
            context.target.vocab_size,
            context.target.device,
            longest=self.options["ngram_max"],
            shortest=self.options["ngram_min"],
            corpus=self._corpus,
            end_ids=context.end_ids,
            suppressed_until=context.suppressed_until,
        )
