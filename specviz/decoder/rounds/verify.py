"""The target's half of a round: verify and decide on the device, and one transfer of what came of it."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch

from specviz.core.events import Settings
from specviz.decoder.drafters.protocol import Proposal
from specviz.decoder.models.causal_model import CausalModel
from specviz.decoder.pairing.vocabulary import Vocabulary
from specviz.decoder.rounds.inspect import inspected, inspected_raw, numbers
from specviz.decoder.rounds.record import Found
from specviz.decoder.tensors.accept import RULES, Decision, residual
from specviz.decoder.tensors.randomness import Uniforms
from specviz.decoder.tensors.sampling import home, process, processed, upload
from specviz.decoder.tensors.timing import Laps
from specviz.decoder.tensors.to_host import fetch


@dataclass(frozen=True, slots=True)
class Block:
    """What came of one block of drafts, on the host."""

    found: Found
    decision: Decision

    @property
    def slot_of_last(self) -> int:
        """The slot of the uniform that drew the token behind the kept drafts."""
        return self.decision.slots[self.found.n_accepted]

    @property
    def impossible(self) -> int | None:
        """The slot of the first uniform that drew an id of probability 0, None if none did: sums on a GPU are made in
        an order in which that can happen."""
        numbers = self.found.numbers
        for i, chance in enumerate(numbers.get("q", ())):
            if chance == 0:
                return 2 * i + 1
        return next((slot for slot, c in zip(self.decision.slots, numbers["chances"], strict=False) if c == 0), None)


@torch.inference_mode()
def decide(
    target: CausalModel,
    ids: Sequence[int],
    proposal: Proposal | None,
    settings: Settings,
    uniforms: Uniforms,
    laps: Laps,
    vocabulary: Vocabulary,
    *,
    inspect: bool,
) -> Block:
    """Feed what ``target`` lacks of ``ids`` and the drafted ids, in one forward, and decide about them.

    ``laps``: marked where the draft ends, the verification, the decision, and what ``inspect`` asks for.
    Raises NonFiniteLogits.
    """
    at = home(target.device)
    k = len(proposal.ids) if proposal else 0
    drafted = proposal.ids.to(at) if proposal else torch.empty(0, dtype=torch.long, device=at)
    q = proposal.probs.to(at) if proposal and k else None
    laps.mark()
    missing = upload(torch.tensor(ids[target.length :], dtype=torch.long), target.device)
    logits = target.feed(torch.cat([missing, drafted.to(target.device)]) if k else missing, keep=k + 1)
    p = process(logits, settings.temperature, settings.top_k, settings.top_p).to(at)
    raw_logits = logits if inspect and processed(settings) else None
    del logits  # as large as p and q
    laps.mark()
    decision = RULES[settings.rule](p, q, drafted, upload(uniforms.slots[: 2 * k + 1], at))
    parts = numbers(p, q, drafted, decision)
    models = {model.role: model for model in (proposal.model if proposal else None, target) if model}
    for role, model in models.items():
        parts[f"non_finite_{role}"] = model.non_finite.to(at)
    laps.mark()
    distributions = {"p": p, "q": q}
    if inspect:
        parts |= inspected(p, q, decision, parts)
        if raw_logits is not None:
            raw_p = raw_logits.softmax(-1).to(at)
            raw_q = proposal.raw_probs().to(at) if proposal and k else None
            parts |= inspected_raw(raw_p, raw_q, drafted, decision)
            distributions |= {"raw_p": raw_p, "raw_q": raw_q}
    laps.mark()
    found = fetch(parts)
    for role, model in models.items():
        model.raise_if_non_finite(found[f"non_finite_{role}"])

    def row(name: str, i: int) -> torch.Tensor:
        if (probs := distributions.get(name)) is not None:
            return probs[i]
        assert q is not None
        weights, mass, fell_back = residual(p[i], q[i])
        return torch.where(fell_back, weights, weights / mass)

    us = proposal.us if proposal else ()
    detail = proposal.detail if proposal else ()
    return Block(Found(found, us, uniforms.tests(k).tolist(), detail, vocabulary, row), decision)
