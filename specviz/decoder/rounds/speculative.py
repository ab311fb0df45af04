"""Speculative decoding, one round per generator step.

Leviathan et al. 2023 (arXiv:2211.17192), Algorithm 1; Chen et al. 2023 (arXiv:2302.01318). p is the target's
distribution over the vocabulary, q the drafter's, and every u in [0, 1) depends on the seed, the round and its use
alone (``RoundRandom``). A round:

    draft      x_1 … x_K, with x_i ~ q_i                                          Drafter.propose
    verify     p_1 … p_{K+1} from one forward of the last token and the drafts    verify
    accept     x_i while u_i < min(1, p_i(x_i) / q_i(x_i)); n of them             DECIDE[settings.rule]
    resample   y ~ norm(max(0, p_{n+1} - q_{n+1})), or y ~ p_{K+1} if n = K       in the same function
    measure    overlaps, and for people ranks, entropies and top lists            measure, inspect
    transfer   all of these numbers to the host, in one copy                      to_host
    commit     x_1 … x_n, y up to the end of the text; roll both caches back      SpeculativeDecoder.commit
    record     a Round: drafts with their verdicts, emitted tokens, times         HostResults, Round

Nothing waits for the device before the transfer. Between rounds the target's cache holds every committed token but the
last, which the next round feeds together with its drafts. A draft that a rounding error on a GPU gave an id of
probability 0 is drawn again from the next spare u.
"""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import count

import torch
from torch import Tensor

from specviz.core.errors import SpecvizError
from specviz.core.events import PlainReason, Round, Settings, StopReason, Timing
from specviz.decoder.drafters.protocol import Drafter, Proposal
from specviz.decoder.models.causal_model import CausalModel
from specviz.decoder.pairing.vocabulary import Vocabulary
from specviz.decoder.rounds.measure import inspect, inspect_raw, measure
from specviz.decoder.rounds.record import HostResults
from specviz.decoder.rounds.stopping import StoppingCriteria
from specviz.decoder.tensors.accept import DECIDE, residual_probs
from specviz.decoder.tensors.device import StageTimer, decision_device, to_device, to_host
from specviz.decoder.tensors.sampling import NonFiniteLogits, RoundRandom, changes_probs, to_probs


class SpeculativeDecoder:
    """One run: the committed ids, the target, its drafters, and what stops the text. ``drafters``: by the name in
    ``Settings.drafter``, which may change between rounds. Only the active one follows the text; a new one reads all of
    it before its first round. ``inspect``: whether rounds have ranks, entropies, top lists and raw distributions."""

    def __init__(
        self,
        target: CausalModel,
        drafters: Mapping[str, Drafter],
        vocabulary: Vocabulary,
        prompt: Sequence[int],
        seed: int,
        stopping: StoppingCriteria,
        *,
        inspect: bool = True,
    ) -> None:
        self.target = target
        self.vocabulary = vocabulary
        self.ids = list(prompt)
        self._drafters = drafters
        self._active_drafter: str | None = None
        self._n_prompt = len(prompt)
        self._seed = seed
        self.stopping = stopping
        self._inspect = inspect
        self._tail = b""

    @property
    def emitted(self) -> bytes:
        """The text after the prompt."""
        return b"".join(self.vocabulary.bytes_of[i] for i in self.ids[self._n_prompt :])

    @property
    def drafter(self) -> Drafter:
        """The active one. Raises RuntimeError before ``prefill``."""
        if self._active_drafter is None:
            raise RuntimeError("prefill() comes first")
        return self._drafters[self._active_drafter]

    def prefill(self, drafter: str) -> None:
        """Feed the prompt without its last token to the target and to ``drafter``."""
        self.target.reset()
        self.target.prefill(self.ids[:-1])
        self._active_drafter = None
        self.switch_drafter(drafter)

    def switch_drafter(self, name: str) -> None:
        """Draft with ``name`` from here on. Raises SpecvizError if it cannot draft for these models."""
        if name == self._active_drafter:
            return
        if name not in self._drafters:
            available = ", ".join(self._drafters)
            raise SpecvizError(f"--drafter {name} cannot draft for these models. Available: {available}.")
        self._drafters[name].prefill(self.ids)
        self._active_drafter = name

    def rounds(self, settings: Callable[[], Settings], stopped: Callable[[], bool]) -> Iterator[Round]:
        """Yield rounds until one has a ``stop``, or until ``stopped``."""
        for index in count(1):
            with naming_the_round(f"Round {index}"):
                round_ = self._round(index, settings(), stopped)
            if round_ is None:
                return
            yield round_
            if round_.stop is not None:
                return

    def _round(self, index: int, settings: Settings, stopped: Callable[[], bool]) -> Round | None:
        """One round, None if ``stopped`` before its verification."""
        self.switch_drafter(settings.drafter)
        start_s, timer = time.perf_counter(), StageTimer(self.target.device)
        k, plain_reason = self.draft_length(settings.k)
        random = RoundRandom(self._seed, index, k)
        while True:
            proposal = self.drafter.propose(self.ids, k, settings, random, stopped) if k else None
            if stopped() or (k and proposal is None):
                return None
            results = self._verify_and_accept(proposal, settings, random, timer)
            if (slot := results.zero_prob_slot) is None:
                break
            random.redraw(slot)
            self._roll_back()
        position = len(self.ids)
        n_emitted, stop = self.commit([*results.ids[: results.n_accepted], results.last_id])
        committed_s = time.perf_counter()
        drafted, emitted = results.drafted(n_emitted), tuple(results.emitted(n_emitted))
        draft_ms, verify_ms, _, inspect_ms, _ = timer.stages_ms(5)
        end_s = time.perf_counter()
        total_ms = (end_s - start_s) * 1e3
        inspect_ms += (end_s - committed_s) * 1e3
        decide_ms = max(0.0, total_ms - draft_ms - verify_ms - inspect_ms)
        return Round(
            index=index,
            start=position,
            k=len(drafted),
            settings=settings,
            drafted=drafted,
            emitted=emitted,
            n_accepted=min(results.n_accepted, n_emitted),
            tested=sum(token.verdict in ("accepted", "rejected") for token in drafted),
            last_u=float(random.values[results.slots[results.n_accepted]]),
            plain_reason=proposal.plain_reason if proposal else plain_reason,
            redraws=random.redraws,
            timing=Timing(draft_ms, verify_ms, decide_ms, inspect_ms, total_ms),
            stop=stop,
        )

    def draft_length(self, k: int) -> tuple[int, PlainReason | None]:
        """K of the next round, and why it is 0 if it is. A round emits up to K + 1 tokens, so the last token of the
        budget needs no draft."""
        limits: list[tuple[int, PlainReason]] = [
            (k, "k_zero"),
            (self.stopping.max_new_tokens - (len(self.ids) - self._n_prompt) - 1, "budget"),
            (self.target.context - len(self.ids), "context"),
            (self.drafter.room(len(self.ids)), "draft_context"),
        ]
        shortest, reason = min(limits, key=lambda limit: limit[0])
        return (shortest, None) if shortest > 0 else (0, reason)

    @torch.inference_mode()
    def _verify_and_accept(
        self, proposal: Proposal | None, settings: Settings, random: RoundRandom, timer: StageTimer
    ) -> HostResults:
        """Verify, accept, resample, measure and transfer; the caches still hold the whole draft. Raises
        NonFiniteLogits."""
        x, q = drafted_tensors(proposal, decision_device(self.target.device))
        k = len(x)
        timer.lap()
        p, raw_logits = verify(
            self.target, self.ids, x, settings, keep_logits=self._inspect and changes_probs(settings)
        )
        timer.lap()
        outcome = DECIDE[settings.rule](p, q, x, to_device(random.values[: 2 * k + 1], p.device))
        numbers = measure(p, q, x, outcome)
        models = {model.role: model for model in (proposal.model if proposal else None, self.target) if model}
        for role, model in models.items():
            numbers[f"non_finite_{role}"] = model.non_finite.to(p.device)
        timer.lap()
        distributions = {"p": p, "q": q}
        if self._inspect:
            numbers |= inspect(p, q, outcome, numbers)
            if raw_logits is not None:
                raw_p = raw_logits.softmax(-1).to(p.device)
                raw_q = proposal.raw_probs().to(p.device) if proposal and k else None
                numbers |= inspect_raw(raw_p, raw_q, x, outcome)
                distributions |= {"raw_p": raw_p, "raw_q": raw_q}
        timer.lap()
        on_host = to_host(numbers)
        for role, model in models.items():
            model.raise_if_non_finite(on_host[f"non_finite_{role}"])

        def distribution(name: str, row: int) -> Tensor:
            if (probs := distributions.get(name)) is not None:
                return probs[row]
            assert q is not None
            return residual_probs(p[row], q[row])

        us, detail = (proposal.us, proposal.detail) if proposal else ((), ())
        tests = random.tests(k).tolist()
        results = HostResults(on_host, us, tests, outcome.slots, detail, self.vocabulary, distribution)
        timer.lap()
        return results

    def commit(self, ids: Sequence[int]) -> tuple[int, StopReason | None]:
        """Append ``ids`` up to the end of the text and roll both caches back. How many, and why the text ends."""
        bytes_of = self.vocabulary.bytes_of
        n, stop = self.stopping.cut(bytes_of, self._tail, len(self.ids) - self._n_prompt, len(self.ids), ids)
        self.ids += ids[:n]
        longest = max(map(len, self.stopping.stop), default=0)
        if longest:
            self._tail = (self._tail + b"".join(bytes_of[i] for i in ids[:n]))[-longest:]
        self._roll_back()
        return n, stop

    def _roll_back(self) -> None:
        """Make the target and the drafter forget everything after the committed text."""
        self.target.roll_back_to(len(self.ids) - 1)
        self.drafter.commit(self.ids)

    def dry_run(self, settings: Settings) -> None:
        """Do the work of a round without changing the text or any random number. The caller rolls the caches back."""
        k, _ = self.draft_length(settings.k)
        random = RoundRandom(self._seed, 0, k)  # rounds count from 1
        proposal = self.drafter.propose(self.ids, k, settings, random, lambda: False) if k else None
        self._verify_and_accept(proposal, settings, random, StageTimer(self.target.device))


def drafted_tensors(proposal: Proposal | None, device: torch.device) -> tuple[Tensor, Tensor | None]:
    """The drafted ids x int64 [K] and q float32 [K, V] on ``device``; q is None for K = 0."""
    if proposal is None:
        return torch.empty(0, dtype=torch.long, device=device), None
    return proposal.ids.to(device), proposal.probs.to(device) if len(proposal.ids) else None


def verify(
    target: CausalModel, ids: Sequence[int], x: Tensor, settings: Settings, *, keep_logits: bool
) -> tuple[Tensor, Tensor | None]:
    """p float32 [K + 1, V] after the last committed id and after each drafted id of ``x`` [K], from one forward. With
    ``keep_logits`` also the logits that p is made of, else None. The target's cache then holds all of these ids."""
    last = to_device(torch.tensor(ids[target.length :], dtype=torch.long), target.device)
    logits = target.feed(torch.cat([last, x.to(target.device)]) if len(x) else last, keep=len(x) + 1)
    p = to_probs(logits, settings.temperature, settings.top_k, settings.top_p).to(decision_device(target.device))
    return p, logits if keep_logits else None


@contextmanager
def naming_the_round(where: str) -> Iterator[None]:
    """Add to NonFiniteLogits where in the run it was raised."""
    try:
        yield
    except NonFiniteLogits as error:
        raise NonFiniteLogits(f"{where}: {error}") from None
