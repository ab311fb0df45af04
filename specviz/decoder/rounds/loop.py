"""Rounds: draft, verify, decide, commit. One generator step is one round.

Leviathan et al. 2023 (arXiv:2211.17192), Algorithm 1; Chen et al. 2023 (arXiv:2302.01318). p is the target's
distribution, q the drafter's, both as sampled from. Between rounds the target's cache holds every committed
token but the last; a round feeds that one and the K_r drafted ids in a single forward.
"""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import count

from specviz.core.errors import SpecvizError
from specviz.core.events import PlainReason, Round, Settings, StopReason, Timing
from specviz.decoder.drafters.protocol import Drafter
from specviz.decoder.models.causal_model import CausalModel
from specviz.decoder.pairing.vocabulary import Vocabulary
from specviz.decoder.rounds.stopping import Ending
from specviz.decoder.rounds.verify import decide
from specviz.decoder.tensors.randomness import Uniforms
from specviz.decoder.tensors.sampling import NonFiniteLogits
from specviz.decoder.tensors.timing import Laps


class Speculation:
    """One run: the committed ids, the target, what drafts for it, and what ends the text.

    ``drafters``: by the name in ``Settings.drafter``, which may change between rounds; only the one at work follows
    the text, and a new one reads all of it before its first round. ``inspect``: whether rounds come with what only
    people ask for: ranks, entropies, top lists.
    """

    def __init__(
        self,
        target: CausalModel,
        drafters: Mapping[str, Drafter],
        vocabulary: Vocabulary,
        prompt: Sequence[int],
        seed: int,
        ending: Ending,
        *,
        inspect: bool = True,
    ) -> None:
        self.target = target
        self._drafters = drafters
        self._at_work: str | None = None
        self.vocabulary = vocabulary
        self.ids = list(prompt)
        self._n_prompt = len(prompt)
        self._seed = seed
        self._ending = ending
        self._inspect = inspect
        self._tail = b""

    @property
    def emitted(self) -> bytes:
        """All the run has emitted so far."""
        return b"".join(self.vocabulary.bytes_of[i] for i in self.ids[self._n_prompt :])

    def prefill(self, drafter: str) -> None:
        """Feed the prompt, all but its last token, to the target and to ``drafter``; every prompt token is fed once."""
        self.target.reset()
        self.target.prefill(self.ids[:-1])
        self._at_work = None
        self.draft_by(drafter)

    def draft_by(self, name: str) -> None:
        """Let the drafter ``name`` take over, at the text as it is. Raises SpecvizError where there is none."""
        if name == self._at_work:
            return
        if name not in self._drafters:
            there = ", ".join(self._drafters)
            raise SpecvizError(f"--drafter {name} cannot draft for these models. There is: {there}.")
        self._drafters[name].prefill(self.ids)
        self._at_work = name

    @property
    def drafter(self) -> Drafter:
        """The one at work."""
        if self._at_work is None:
            raise RuntimeError("prefill() comes first")
        return self._drafters[self._at_work]

    def rounds(self, settings: Callable[[], Settings], stopped: Callable[[], bool]) -> Iterator[Round]:
        """Yield a Round a step until one has a ``stop``, or until ``stopped``."""
        for index in count(1):
            with placed(f"Round {index}"):
                round_ = self._round(index, settings(), stopped)
            if round_ is None:
                return
            yield round_
            if round_.stop is not None:
                return

    def rehearse(self, settings: Settings) -> None:
        """Do what makes a round, and take it back: the text, both caches and the uniforms of every round stay.

        For models whose way back is exact to the position.
        """
        drafter = self.drafter
        k, _ = self.draft_length(settings.k)
        uniforms = Uniforms(self._seed, 0, k)  # rounds count from 1
        proposal = drafter.propose(self.ids, k, settings, uniforms, lambda: False) if k else None
        laps = Laps(self.target.device)
        decide(self.target, self.ids, proposal, settings, uniforms, laps, self.vocabulary, inspect=self._inspect)

    def draft_length(self, k: int) -> tuple[int, PlainReason | None]:
        """K_r, and why it is 0 if it is: a round adds up to K_r + 1 tokens, so one token of budget needs no draft."""
        limits: list[tuple[int, PlainReason]] = [
            (k, "k_zero"),
            (self._ending.max_new_tokens - (len(self.ids) - self._n_prompt) - 1, "budget"),
            (self.target.context - len(self.ids), "context"),
            (self.drafter.room(len(self.ids)), "draft_context"),
        ]
        least, reason = min(limits, key=lambda limit: limit[0])
        return (least, None) if least > 0 else (0, reason)

    def _round(self, index: int, settings: Settings, stopped: Callable[[], bool]) -> Round | None:
        self.draft_by(settings.drafter)
        begun = time.perf_counter()
        k, plain_reason = self.draft_length(settings.k)
        uniforms = Uniforms(self._seed, index, k)
        while True:
            laps = Laps(self.target.device)
            proposal = self.drafter.propose(self.ids, k, settings, uniforms, stopped) if k else None
            if stopped() or (k and proposal is None):
                return None
            block = decide(
                self.target, self.ids, proposal, settings, uniforms, laps, self.vocabulary, inspect=self._inspect
            )
            if (slot := block.impossible) is None:
                break
            uniforms.redraw(slot)
            self._roll_back()
        found, start, decided = block.found, len(self.ids), time.perf_counter()
        n_emitted, stop = self._commit([*found.ids[: found.n_accepted], found.last_id])
        committed = time.perf_counter()
        drafts, emitted = found.drafted(n_emitted), tuple(found.emitted(n_emitted))
        draft_ms, verify_ms, decide_ms, inspect_ms = laps.read()
        end = time.perf_counter()
        return Round(
            index=index,
            start=start,
            k=len(drafts),
            settings=settings,
            drafted=drafts,
            emitted=emitted,
            n_accepted=min(found.n_accepted, n_emitted),
            tested=sum(d.verdict in ("accepted", "rejected") for d in drafts),
            last_u=float(uniforms.slots[block.slot_of_last]),
            plain_reason=proposal.plain_reason if proposal else plain_reason,
            redraws=uniforms.redraws,
            timing=Timing(
                draft_ms,
                verify_ms,
                decide_ms + (committed - decided) * 1e3,
                inspect_ms + (end - committed) * 1e3,
                (end - begun) * 1e3,
            ),
            stop=stop,
        )

    def _commit(self, ids: Sequence[int]) -> tuple[int, StopReason | None]:
        """Add to the text what of ``ids`` comes before its end, and roll both caches back to it."""
        bytes_of = self.vocabulary.bytes_of
        n, stop = self._ending.cut(bytes_of, self._tail, len(self.ids) - self._n_prompt, len(self.ids), ids)
        self.ids += ids[:n]
        longest = max(map(len, self._ending.stop), default=0)
        if longest:
            self._tail = (self._tail + b"".join(bytes_of[i] for i in ids[:n]))[-longest:]
        self._roll_back()
        return n, stop

    def _roll_back(self) -> None:
        """Let the target and the drafter know the text and nothing behind it."""
        self.target.roll_back_to(len(self.ids) - 1)
        self.drafter.commit(self.ids)


@contextmanager
def placed(where: str) -> Iterator[None]:
    """Say where in the run logits were not finite."""
    try:
        yield
    except NonFiniteLogits as error:
        raise NonFiniteLogits(f"{where}: {error}") from None
