"""Rounds: draft, verify, decide, commit. One generator step is one round.

Leviathan et al. 2023 (arXiv:2211.17192), Algorithm 1; Chen et al. 2023 (arXiv:2302.01318). p is the target's
distribution, q the drafter's, both as sampled from. Between rounds the target's cache holds every committed
token but the last; a round feeds that one and the K_r drafted ids in a single forward.
"""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import count

import torch

from specviz.decoder.clock import Laps
from specviz.decoder.deciding import RULES, Decision
from specviz.decoder.drafters import Drafter, Proposal
from specviz.decoder.ending import Ending
from specviz.decoder.inspection import BlockView, matches, ranks, tops
from specviz.decoder.models import CausalModel
from specviz.decoder.sampling import NonFiniteScores, process, processed
from specviz.decoder.uniforms import Uniforms
from specviz.decoder.vocabulary import Vocabulary
from specviz.errors import SpecvizError
from specviz.events import Drafted, Emitted, PlainReason, Round, Settings, StopReason, Timing, Verdict


class Speculation:
    """One run: the committed ids, the target, what drafts for it, and what ends the text.

    ``drafters``: by the name in ``Settings.drafter``, which may change between rounds; only the one at work follows
    the text, and a new one reads all of it before its first round.
    """

    def __init__(
        self,
        target: CausalModel,
        drafters: Mapping[str, Drafter],
        vocabulary: Vocabulary,
        prompt: Sequence[int],
        seed: int,
        ending: Ending,
    ) -> None:
        self.target = target
        self._drafters = drafters
        self._at_work: str | None = None
        self.vocabulary = vocabulary
        self.ids = list(prompt)
        self._n_prompt = len(prompt)
        self._seed = seed
        self._ending = ending
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

    @torch.inference_mode()
    def _round(self, index: int, settings: Settings, stopped: Callable[[], bool]) -> Round | None:
        self.draft_by(settings.drafter)
        begun = time.perf_counter()
        k, plain_reason = self.draft_length(settings.k)
        uniforms = Uniforms(self._seed, index, k)
        laps = Laps(self.target.device)
        proposal: Proposal | None = None
        if k:
            proposal = self.drafter.propose(self.ids, k, settings, uniforms, stopped)
            if proposal is None:
                return None
            plain_reason = proposal.plain_reason
        if stopped():
            return None
        drafted = list(proposal.ids) if proposal else []
        q = proposal.probs.to(self.target.device) if proposal and drafted else None
        laps.mark()
        scores = self.target.feed(self.ids[self.target.length :] + drafted, keep=len(drafted) + 1)
        p = process(scores, settings.temperature, settings.top_k, settings.top_p)
        laps.mark()
        tests = [uniforms.test(i) for i in range(1, len(drafted) + 1)]
        decision = RULES[settings.rule](p, q, drafted, tests, uniforms.last, uniforms.spare)
        start = len(self.ids)
        n_emitted, stop = self._commit([*drafted[: decision.n_accepted], decision.last_id])
        laps.mark()
        raw = self._raw_view(scores, proposal) if processed(settings) else None
        drafts, emitted = self._describe(p, q, proposal, decision, tests, n_emitted, raw)
        laps.mark()
        draft_ms, verify_ms, decide_ms, inspect_ms = laps.read()
        return Round(
            index=index,
            start=start,
            k=len(drafted),
            settings=settings,
            drafted=drafts,
            emitted=emitted,
            n_accepted=sum(d.verdict == "accepted" for d in drafts),
            tested=sum(d.verdict in ("accepted", "rejected") for d in drafts),
            last_u=decision.last_u,
            plain_reason=plain_reason,
            redraws=decision.redraws + (proposal.redraws if proposal else 0),
            timing=Timing(draft_ms, verify_ms, decide_ms, inspect_ms, (time.perf_counter() - begun) * 1e3),
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
        self.target.roll_back_to(len(self.ids) - 1)
        self.drafter.commit(self.ids)
        return n, stop

    def _raw_view(self, scores: torch.Tensor, proposal: Proposal | None) -> BlockView:
        raw_q = proposal.raw_probs if proposal and proposal.ids else None
        return BlockView(scores.softmax(-1), raw_q.to(scores.device) if raw_q is not None else None, self.vocabulary)

    def _describe(
        self,
        p: torch.Tensor,
        q: torch.Tensor | None,
        proposal: Proposal | None,
        decision: Decision,
        tests: Sequence[float],
        n_emitted: int,
        raw: BlockView | None,
    ) -> tuple[tuple[Drafted, ...], tuple[Emitted, ...]]:
        view = BlockView(p, q, self.vocabulary)
        drafts: tuple[Drafted, ...] = ()
        if proposal is not None and q is not None:
            drafts = self._drafts(p, q, proposal, decision, tests, n_emitted, view, raw)
        rows = range(n_emitted)
        ids = self.ids[len(self.ids) - n_emitted :]
        rank_p = ranks(p[list(rows)], ids)
        emitted = []
        for row, token in zip(rows, ids, strict=True):
            kept = row < decision.n_accepted
            residual = None
            if not kept and decision.origin == "resampled" and decision.residuals is not None:
                residual = float(decision.residuals[row, token])
            emitted.append(
                Emitted(
                    id=token,
                    bytes=self.vocabulary.bytes_of[token],
                    origin="accepted" if kept else decision.origin,
                    p=view.p_at(row, token),
                    q=view.q_at(row, token),
                    residual=residual,
                    rank_p=rank_p[row],
                    entropy_p=view.entropy_p[row],
                    p_top=view.p_tops[row],
                    raw=raw.raw(row, token) if raw else None,
                )
            )
        return drafts, tuple(emitted)

    def _drafts(
        self,
        p: torch.Tensor,
        q: torch.Tensor,
        proposal: Proposal,
        decision: Decision,
        tests: Sequence[float],
        n_emitted: int,
        view: BlockView,
        raw: BlockView | None,
    ) -> tuple[Drafted, ...]:
        ids = list(proposal.ids)
        rank_p, rank_q = ranks(p[:-1], ids), ranks(q, ids)
        match = matches(p[:-1], q)
        residual_tops = [] if decision.residuals is None else tops(decision.residuals, self.vocabulary)
        verdicts = block_verdicts(len(ids), decision.n_accepted, n_emitted)
        return tuple(
            Drafted(
                id=token,
                bytes=self.vocabulary.bytes_of[token],
                q=float(q[i, token]),
                p=view.p_at(i, token),
                draft_u=proposal.us[i],
                u=tests[i],
                accept_prob=decision.accept_probs[i] if decision.accept_probs else None,
                overlap=view.overlaps[i],
                match=match[i],
                entropy_p=view.entropy_p[i],
                entropy_q=view.entropy_q[i],
                rank_p=rank_p[i],
                rank_q=rank_q[i],
                verdict=verdicts[i],
                p_top=view.p_tops[i],
                q_top=view.q_tops[i],
                residual_top=residual_tops[i] if residual_tops else (),
                raw=raw.raw(i, token) if raw else None,
                target_sample=decision.target_samples[i] if decision.target_samples else None,
                detail={
                    **(proposal.detail[i] if proposal.detail else {}),
                    **({"residual_is_p": True} if decision.fell_back and decision.fell_back[i] else {}),
                },
            )
            for i, token in enumerate(ids)
        )


@contextmanager
def placed(where: str) -> Iterator[None]:
    """Say where in the run scores were not finite."""
    try:
        yield
    except NonFiniteScores as error:
        raise NonFiniteScores(f"{where}: {error}") from None


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
