"""The drafted and emitted tokens of a round, from its numbers on the host."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from torch import Tensor

from specviz.core.events import Drafted, Emitted, Origin, Raw, Top, Verdict
from specviz.decoder.pairing.vocabulary import Vocabulary
from specviz.decoder.rounds.measure import top_list

Distribution = Callable[[str, int], Tensor]
"""(name, row) -> the distribution [V] that a top list is of."""


@dataclass(frozen=True, slots=True)
class HostResults:
    """One verified draft. ``numbers``: by the names of ``rounds.measure``. ``draft_us``, ``test_us``: the u that drew
    and that tested each drafted token. ``slots``: as in ``Outcome``. ``detail``: a mapping of the drafter for each
    drafted token, or empty."""

    numbers: Mapping[str, Any]
    draft_us: Sequence[float]
    test_us: Sequence[float]
    slots: Sequence[int]
    detail: Sequence[Mapping[str, Any]]
    vocabulary: Vocabulary
    distribution: Distribution

    @property
    def ids(self) -> list[int]:
        ids: list[int] = self.numbers["drafted"]
        return ids

    @property
    def n_accepted(self) -> int:
        return int(self.numbers["n_accepted"][0])

    @property
    def last_id(self) -> int:
        return int(self.numbers["last_id"][0])

    @property
    def zero_prob_slot(self) -> int | None:
        """The slot of the first u that drew an id of probability 0, None if none did. Sums on a GPU depend on their
        order, which can make that happen."""
        for i, q in enumerate(self.numbers.get("q", ())):
            if q == 0:
                return 2 * i + 1
        weights = self.numbers["drawn_weights"]
        return next((slot for slot, weight in zip(self.slots, weights, strict=False) if weight == 0), None)

    @property
    def origin(self) -> Origin:
        """Of the token after the accepted drafts."""
        k = len(self.ids)
        return "plain" if not k else "bonus" if self.n_accepted == k else "resampled"

    def drafted(self, n_emitted: int) -> tuple[Drafted, ...]:
        """The drafted tokens of a round that emitted ``n_emitted``."""
        numbers = self.numbers
        verdicts = draft_verdicts(len(self.ids), self.n_accepted, n_emitted)
        return tuple(
            Drafted(
                id=token,
                bytes=self.vocabulary.bytes_of[token],
                q=numbers["q"][i],
                p=numbers["p"][i],
                draft_u=self.draft_us[i],
                u=self.test_us[i],
                accept_prob=self._optional("accept_probs", i),
                overlap=numbers["overlap"][i],
                match=numbers["match"][i],
                entropy_p=self._optional("entropy_p", i),
                entropy_q=self._optional("entropy_q", i),
                rank_p=self._optional("rank_p", i),
                rank_q=self._optional("rank_q", i),
                verdict=verdicts[i],
                p_top=self._top("p", i),
                q_top=self._top("q", i),
                residual_top=self._top("residual", i),
                raw=self._raw(i, numbers["raw_p"][i], numbers["raw_q"][i]) if "raw_p" in numbers else None,
                target_sample=self._optional("target_samples", i),
                detail=self._detail(i),
            )
            for i, token in enumerate(self.ids)
        )

    def emitted(self, n_emitted: int) -> Iterator[Emitted]:
        """The emitted tokens."""
        numbers, n = self.numbers, self.n_accepted
        for row in range(min(n, n_emitted)):
            raw = self._raw(row, numbers["raw_p"][row], numbers["raw_q"][row]) if "raw_p" in numbers else None
            yield self._emitted(row, self.ids[row], "accepted", numbers["p"][row], numbers["q"][row], None, raw)
        if n_emitted > n:
            drafted = n < len(self.ids)
            q = numbers["q_last"][0] if drafted else None
            raw = None
            if "raw_p_last" in numbers:
                raw = self._raw(n, numbers["raw_p_last"][0], numbers["raw_q_last"][0] if drafted else None)
            residual = numbers["residual"][0] if drafted and "residual" in numbers else None
            yield self._emitted(n, self.last_id, self.origin, numbers["p_last"][0], q, residual, raw)

    def _emitted(
        self, row: int, token: int, origin: Origin, p: float, q: float | None, residual: float | None, raw: Raw | None
    ) -> Emitted:
        return Emitted(
            id=token,
            bytes=self.vocabulary.bytes_of[token],
            origin=origin,
            p=p,
            q=q,
            residual=residual,
            rank_p=self._optional("rank_p", row) if origin == "accepted" else self._optional("rank_last", 0),
            entropy_p=self._optional("entropy_p", row),
            p_top=self._top("p", row),
            raw=raw,
        )

    def _raw(self, row: int, p: float, q: float | None) -> Raw:
        numbers, drafted = self.numbers, row < len(self.ids)
        return Raw(
            p=p,
            q=q,
            overlap=numbers["raw_overlap"][row] if drafted else None,
            entropy_p=numbers["raw_entropy_p"][row],
            entropy_q=numbers["raw_entropy_q"][row] if drafted else None,
            p_top=self._top("raw_p", row),
            q_top=self._top("raw_q", row) if drafted else (),
        )

    def _top(self, name: str, row: int) -> Top:
        if f"{name}_top" not in self.numbers:
            return ()
        values, ids = self.numbers[f"{name}_top"][row], self.numbers[f"{name}_ids"][row]
        return top_list(self.vocabulary, values, ids, lambda: self.distribution(name, row))

    def _detail(self, i: int) -> dict[str, Any]:
        detail = dict(self.detail[i]) if self.detail else {}
        of_all, of_rejected = self.numbers.get("residual_is_p"), self.numbers.get("fell_back", [False])
        if of_all[i] if of_all else i == self.n_accepted and of_rejected[0]:
            detail["residual_is_p"] = True
        return detail

    def _optional(self, name: str, i: int) -> Any:
        return self.numbers[name][i] if name in self.numbers else None


def draft_verdicts(k: int, n_accepted: int, n_emitted: int) -> list[Verdict]:
    """The verdicts of ``k`` drafts of which the rule accepted ``n_accepted``, when ``n_emitted`` tokens were emitted.
    Drafts after the end of the text are ignored. Otherwise the first draft that is not accepted is rejected, and the
    rest is untested."""
    accepted: list[Verdict] = ["accepted"]
    ignored: list[Verdict] = ["ignored"]
    untested: list[Verdict] = ["untested"]
    if n_emitted <= n_accepted:
        return accepted * n_emitted + ignored * (k - n_emitted)
    if n_accepted == k:
        return accepted * k
    return [*accepted * n_accepted, "rejected", *untested * (k - n_accepted - 1)]
