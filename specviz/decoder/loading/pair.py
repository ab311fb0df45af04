"""A pair of models and its drafters, loaded and ready to decode."""

import gc
from collections.abc import Mapping
from dataclasses import dataclass

from transformers import PreTrainedModel

from specviz.core.errors import SpecvizError
from specviz.core.events import Notice, Progress
from specviz.core.options import RunOptions
from specviz.core.source import Emit
from specviz.decoder.checkpoints.hub import Locator, PairLocations
from specviz.decoder.drafters.protocol import DraftContext, Drafter, DrafterFactory, drafter_factories
from specviz.decoder.loading.background import BackgroundTask
from specviz.decoder.loading.compiling import compile_models
from specviz.decoder.loading.weights import can_preload, load_weights_of, quiet_libraries, reserve_ui_core
from specviz.decoder.models.cache_support import slow_path
from specviz.decoder.models.causal_model import CausalModel
from specviz.decoder.models.cpu_packing import pack
from specviz.decoder.pairing.compatibility import PairFacts, pair_files, raise_refusals, with_tokenizers
from specviz.decoder.pairing.model_info import ModelFacts, ModelFiles
from specviz.decoder.pairing.prompt import EncodedPrompt, read_prompt
from specviz.decoder.pairing.vocabulary import Vocabulary
from specviz.decoder.rounds.speculative import SpeculativeDecoder
from specviz.decoder.rounds.stopping import StoppingCriteria


@dataclass(frozen=True, slots=True)
class LoadedPair:
    """Models, vocabulary and drafters. Draft and target have a cache each, even where they share their weights.
    ``draft_model``: None for the target alone. ``drafters``: the factories of those that can draft for these models."""

    facts: PairFacts
    vocabulary: Vocabulary
    draft_model: CausalModel | None
    target: CausalModel
    drafters: Mapping[str, DrafterFactory]
    notices: tuple[str, ...]

    @property
    def draft(self) -> CausalModel:
        """The draft model. Raises RuntimeError if there is none."""
        if self.draft_model is None:
            raise RuntimeError("no draft model is loaded")
        return self.draft_model

    @property
    def models(self) -> tuple[CausalModel, ...]:
        return (self.target,) if self.draft_model is None else (self.draft_model, self.target)

    def encode(self, prompt: str, *, chat: bool) -> EncodedPrompt:
        """The ids of ``prompt`` for the target."""
        return read_prompt(self.facts.target, prompt, self.vocabulary.size, chat=chat)

    def context(self, prompt_length: int, options: RunOptions) -> DraftContext:
        """What drafters may use after a prompt of that many ids."""
        until = prompt_length + options.min_new_tokens
        return DraftContext(self.target, self.draft_model, self.facts.end_ids, until, options.inspect)

    def decoder(
        self,
        prompt: list[int],
        seed: int,
        options: RunOptions,
        drafters: Mapping[str, Drafter],
        *,
        model: CausalModel | None = None,
        max_new_tokens: int | None = None,
    ) -> SpeculativeDecoder:
        """A decoder at the end of ``prompt``, not yet prefilled. ``model``: what verifies, by default the target."""
        verifier = model or self.target
        for each in self.models:
            each.suppress(self.facts.end_ids, len(prompt) + options.min_new_tokens)
        ending = StoppingCriteria(
            self.facts.end_ids,
            tuple(text.encode() for text in options.stop),
            max_new_tokens or options.max_new_tokens,
            verifier.context_of(len(prompt)),
        )
        return SpeculativeDecoder(verifier, drafters, self.vocabulary, prompt, seed, ending, inspect=options.inspect)


def load_pair(
    options: RunOptions,
    emit: Emit,
    locations: PairLocations | None = None,
    factories: Mapping[str, DrafterFactory] | None = None,
) -> LoadedPair:
    """Load the models of ``options``. ``locations``: where they are, if known. ``factories``: of the drafters, by
    default of all. Everything that a configuration or tokenizer can refuse is refused before weights are downloaded.
    Raises SpecvizError."""
    quiet_libraries()
    reserve_ui_core()
    locations = locations or Locator(options.pair, emit).locate_pair()
    factories = factories or drafter_factories(options.drafting, options.settings.drafter)
    emit(Progress("tokenizer"))
    files = pair_files(options.pair, locations)
    _check_requested(factories, files[1])
    with BackgroundTask(lambda emit: load_weights_of(*files, options.pair, emit)) as weights:
        if all(map(can_preload, filter(None, files))):
            weights.start()
        facts = with_tokenizers(*files)
        forced = raise_refusals(facts, options.pair.force)
        read_prompt(facts.target, options.prompts[0][1], facts.vocab_size, chat=options.chat)
        for note in facts.notes:
            emit(Notice(note))
        for refusal in forced:
            emit(Notice(refusal, permanent=True))
        for factory in factories.values():
            factory.prepare(facts.target, emit)
        vocabulary = facts.vocabulary()
        draft, target = _causal_models(facts, *weights.wait(emit))
    models = [model for model in (draft, target) if model]
    slow = [text for model in models if (text := _slow_note(model)) and text not in facts.notes]
    for note in slow:
        emit(Notice(note))
    not_compiled = compile_models(models, options.pair.compile, emit)
    compiled = [model.model for model in models if model.compiled]  # they need the weights as they are
    for model in models:
        if model.model not in compiled:
            pack(model.model)
    gc.freeze()  # keeps later collections from scanning hundreds of thousands of library objects
    drafters = {name: factory for name, factory in factories.items() if factory.can_draft(target, draft)}
    notices = *facts.notes, *slow, *not_compiled, *forced
    return LoadedPair(facts, vocabulary, draft, target, drafters, notices)


def _check_requested(factories: Mapping[str, DrafterFactory], target: ModelFiles) -> None:
    """Raise SpecvizError for a requested drafter that the target's configuration rules out. This happens before weights
    are read in the background: building a model without weights changes the default dtype of the process, under which
    they would be read."""
    for factory in factories.values():
        for finding in factory.findings(target) if factory.requested else ():
            if finding.status == "refuse":
                raise SpecvizError(finding.text)


def _causal_models(
    facts: PairFacts, draft: PreTrainedModel | None, target: PreTrainedModel
) -> tuple[CausalModel | None, CausalModel]:
    def causal(model: PreTrainedModel, of: ModelFacts) -> CausalModel:
        return CausalModel(model, role=of.role, name=of.name, vocab_size=facts.vocab_size, context=of.context)

    return causal(draft, facts.draft) if draft and facts.draft else None, causal(target, facts.target)


def _slow_note(model: CausalModel) -> str | None:
    cost = model.rollback.slow
    return slow_path(model.role, model.name, model.model.config, cost) if cost else None
