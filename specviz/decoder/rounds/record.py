"""A round's record, from the numbers that came off the device."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from torch import Tensor

from specviz.core.events import Drafted, Emitted, Origin, Raw, Top, Verdict
from specviz.decoder.pairing.vocabulary import Vocabulary
from specviz.decoder.rounds.inspect import top_list

Row = Callable[[str, int], Tensor]
"""(name, row) -> the whole distribution [V] of a top list."""


@dataclass(frozen=True, slots=True)
class Found:
    """What came of one block: the numbers by name, see ``inspection``, and what else is known on the host.

    ``us``: uniforms of draft and test a drafted token; ``detail``: of a drafter, a mapping a token or none.
    """

    numbers: Mapping[str, Any]
    draft_us: Sequence[float]
    test_us: Sequence[float]
    detail: Sequence[Mapping[str, Any]]
    vocabulary: Vocabulary
    row: Row

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
    def origin(self) -> Origin:
        """Of the token behind the kept drafts."""
        k = len(self.ids)
        return "plain" if not k else "bonus" if self.n_accepted == k else "resampled"

    def drafted(self, n_emitted: int) -> tuple[Drafted, ...]:
        """The drafted tokens, of which ``n_emitted``, less the last if that is not one of them, entered the text."""
        found = self.numbers
        verdicts = block_verdicts(len(self.ids), self.n_accepted, n_emitted)
        return tuple(
            Drafted(
                id=token,
                bytes=self.vocabulary.bytes_of[token],
                q=found["q"][i],
                p=found["p"][i],
                draft_u=self.draft_us[i],
                u=self.test_us[i],
                accept_prob=self._maybe("accept_probs", i),
                overlap=found["overlap"][i],
                match=found["match"][i],
                entropy_p=self._maybe("entropy_p", i),
                entropy_q=self._maybe("entropy_q", i),
                rank_p=self._maybe("rank_p", i),
                rank_q=self._maybe("rank_q", i),
                verdict=verdicts[i],
                p_top=self._top("p", i),
                q_top=self._top("q", i),
                residual_top=self._top("residual", i),
                raw=self._raw(i, found["raw_p"][i], found["raw_q"][i]) if "raw_p" in found else None,
                target_sample=self._maybe("target_samples", i),
                detail=self._detail(i),
            )
            for i, token in enumerate(self.ids)
        )

    def emitted(self, n_emitted: int) -> Iterator[Emitted]:
        """The tokens that entered the text."""
        found, n = self.numbers, self.n_accepted
        for row in range(min(n, n_emitted)):
            raw = self._raw(row, found["raw_p"][row], found["raw_q"][row]) if "raw_p" in found else None
            yield self._emitted(row, self.ids[row], "accepted", found["p"][row], found["q"][row], None, raw)
        if n_emitted > n:
            drafted = n < len(self.ids)
            q = found["q_last"][0] if drafted else None
            raw = None
            if "raw_p_last" in found:
                raw = self._raw(n, found["raw_p_last"][0], found["raw_q_last"][0] if drafted else None)
            residual = found["residual"][0] if drafted and "residual" in found else None
            yield self._emitted(n, self.last_id, self.origin, found["p_last"][0], q, residual, raw)

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
            rank_p=self._maybe("rank_p", row) if origin == "accepted" else self._maybe("rank_last", 0),
            entropy_p=self._maybe("entropy_p", row),
            p_top=self._top("p", row),
            raw=raw,
        )

    def _raw(self, row: int, p: float, q: float | None) -> Raw:
        found, drafted = self.numbers, row < len(self.ids)
        return Raw(
            p=p,
            q=q,
            overlap=found["raw_overlap"][row] if drafted else None,
            entropy_p=found["raw_entropy_p"][row],
            entropy_q=found["raw_entropy_q"][row] if drafted else None,
            p_top=self._top("raw_p", row),
            q_top=self._top("raw_q", row) if drafted else (),
        )

    def _top(self, name: str, row: int) -> Top:
        if f"{name}_top" not in self.numbers:
            return ()
        values, ids = self.numbers[f"{name}_top"][row], self.numbers[f"{name}_ids"][row]
        return top_list(self.vocabulary, values, ids, lambda: self.row(name, row))

    def _detail(self, i: int) -> dict[str, Any]:
        told = dict(self.detail[i]) if self.detail else {}
        of_all, of_the_rejected = self.numbers.get("residual_is_p"), self.numbers.get("fell_back", [False])
        if of_all[i] if of_all else i == self.n_accepted and of_the_rejected[0]:
            told["residual_is_p"] = True
        return told

    def _maybe(self, name: str, i: int) -> Any:
        return self.numbers[name][i] if name in self.numbers else None


def block_verdicts(k: int, n_accepted: int, n_emitted: int) -> list[Verdict]:
    """The verdicts of ``k`` drafts when the rule kept ``n_accepted`` and ``n_emitted`` tokens entered the text.

    A text that ends within the kept drafts leaves all behind its end ignored; else the draft behind the kept
    ones is rejected and the rest untested.
    """
    accepted: list[Verdict] = ["accepted"]
    ignored: list[Verdict] = ["ignored"]
    untested: list[Verdict] = ["untested"]
    if n_emitted <= n_accepted:
        return accepted * n_emitted + ignored * (k - n_emitted)
    if n_accepted == k:
        return accepted * k
    return [*accepted * n_accepted, "rejected", *untested * (k - n_accepted - 1)]
