"""The live source: a pair of models, loaded once, run as often as asked."""

import gc
import platform
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from functools import partial
from typing import Any

import numpy
import tokenizers
import torch
import transformers
from transformers import PreTrainedModel

from specviz import __version__
from specviz.core.errors import SpecvizError
from specviz.core.events import End, Event, Header, Notice, Progress, Prompt, Ready, Round, Settings
from specviz.core.options import RunOptions, RunRequest
from specviz.core.source import Emit
from specviz.decoder.checkpoints.hub import Locator, PairLocations
from specviz.decoder.drafters.early_exit import LayersDrafter
from specviz.decoder.drafters.model import ModelDrafter
from specviz.decoder.drafters.ngram import NgramDrafter
from specviz.decoder.drafters.ngram_corpus import Corpus, open_corpus
from specviz.decoder.drafters.protocol import Drafter
from specviz.decoder.loading.background import BackgroundTask
from specviz.decoder.loading.compiling import compile_models
from specviz.decoder.loading.weights import can_preload, load_weights_of, quiet_libraries, reserve_ui_core
from specviz.decoder.models.cache_support import slow_path
from specviz.decoder.models.causal_model import CausalModel
from specviz.decoder.models.cpu_packing import is_packed, pack
from specviz.decoder.models.layer_list import exit_layer, no_exit_message, no_list_message, plan_exit
from specviz.decoder.pairing.compatibility import PairFacts, pair_files, raise_refusals, with_tokenizers
from specviz.decoder.pairing.model_info import ModelFacts
from specviz.decoder.pairing.placement import device_label, dtype_label
from specviz.decoder.pairing.prompt import EncodedPrompt, read_prompt
from specviz.decoder.pairing.vocabulary import Vocabulary
from specviz.decoder.rounds.loop import Speculation, placed
from specviz.decoder.rounds.stopping import Ending
from specviz.decoder.rounds.warm_up import behind_first, calibrate, have_long_steps, kept_warm, settle, warm_up


@dataclass(frozen=True, slots=True)
class Pair:
    """What is loaded. Draft and target have a cache each, even where they share their weights.

    ``second``: the draft model, if there is one. ``exit_layer``: where the target can be left early, None: nowhere.
    """

    facts: PairFacts
    vocabulary: Vocabulary
    second: CausalModel | None
    target: CausalModel
    notes: tuple[str, ...]
    exit_layer: int | None
    corpus: Corpus | None

    @property
    def draft(self) -> CausalModel:
        """The draft model. Raises RuntimeError where there is none."""
        if self.second is None:
            raise RuntimeError("no draft model is loaded")
        return self.second

    @property
    def drafters(self) -> tuple[str, ...]:
        """What can draft for it, by the names in ``Settings.drafter``."""
        there = {"model": self.second is not None, "ngram": True, "layers": self.exit_layer is not None}
        return tuple(name for name, is_there in there.items() if is_there)

    @property
    def models(self) -> tuple[CausalModel, ...]:
        return (self.target,) if self.second is None else (self.second, self.target)


class LiveSource:
    """Implements Source on real weights."""

    def __init__(self, options: RunOptions, locations: PairLocations | None = None) -> None:
        """``locations``: where the models are, if somebody has looked already."""
        self._options = options
        self._locations = locations
        self._pair: Pair | None = None

    def open(self, emit: Emit) -> None:
        quiet_libraries()
        reserve_ui_core()
        options = self._options.pair
        locations = self._locations or Locator(options, emit).locate_pair()
        emit(Progress("tokenizer"))
        files = pair_files(options, locations)
        with BackgroundTask(lambda emit: load_weights_of(*files, options, emit)) as weights:
            if all(map(can_preload, filter(None, files))):
                weights.start()
            facts = with_tokenizers(*files)
            forced = raise_refusals(facts, options.force)
            read_prompt(facts.target, self._options.prompts[0][1], facts.vocab_size, chat=self._options.chat)
            drafting = self._options.drafting
            for asked in self._exits:
                plan_exit(facts.target.config, asked, name=facts.target.name, trusted=facts.target.trusted)
            for note in facts.notes:
                emit(Notice(note))
            for refusal in forced:
                emit(Notice(refusal, permanent=True))
            corpus = open_corpus(path, facts.target.tokenizer, emit) if (path := drafting["ngram_corpus"]) else None
            vocabulary = facts.vocabulary()
            second, target = models_of(facts, *weights.wait(emit))
        models = [model for model in (second, target) if model]
        late = [told for model in models if (told := slow_note(model)) and told not in facts.notes]
        for slow in late:
            emit(Notice(slow))
        uncompiled = compile_models(models, options.compile, emit)
        compiled = [model.model for model in models if model.compiled]  # with the weights as they are
        for model in models:
            if model.model not in compiled:
                pack(model.model)
        gc.freeze()  # hundreds of thousands of objects of the libraries, which no later collection need look at
        notes = *facts.notes, *late, *uncompiled, *forced
        leave = exit_of(target, self._options)
        self._pair = Pair(facts, vocabulary, second, target, notes, leave, corpus)

    @property
    def pair(self) -> Pair:
        """What ``open`` loaded. Raises RuntimeError before."""
        if self._pair is None:
            raise RuntimeError("open() comes first")
        return self._pair

    @property
    def max_new_tokens(self) -> int:
        return self._options.max_new_tokens

    def read(self, prompt: str) -> EncodedPrompt:
        """The ids of ``prompt``, as the target is to read them."""
        pair = self.pair
        return read_prompt(pair.facts.target, prompt, pair.vocabulary.size, chat=self._options.chat)

    def run(
        self, request: RunRequest, settings: Callable[[], Settings], stopped: Callable[[], bool]
    ) -> Iterator[Event]:
        pair, prompt = self.pair, self.read(request.prompt)
        ids = list(prompt.ids)
        end_ids = pair.facts.end_ids
        suppressed_until = len(ids) + self._options.min_new_tokens
        drafters = self._drafters(pair, suppressed_until)
        yield Header(
            created=datetime.now(UTC).isoformat(timespec="seconds"),
            specviz=__version__,
            config=self._config(pair, request),
            vocab_size=pair.vocabulary.size,
            end_ids=tuple(sorted(end_ids)),
            prompt=Prompt(prompt.text, tuple(map(pair.vocabulary.token, ids))),
        )
        stop = tuple(text.encode() for text in self._options.stop)
        ending = Ending(end_ids, stop, self._options.max_new_tokens, pair.target.context_of(len(ids)))
        for model in pair.models:
            model.suppress(end_ids, suppressed_until)
        inspect = self._options.inspect
        run = Speculation(pair.target, drafters, pair.vocabulary, ids, request.seed, ending, inspect=inspect)
        with placed("Before round 1"):
            yield Progress("warm-up")
            run.prefill(request.settings.drafter)
            calibrated = partial(self._calibrated, run, drafters[request.settings.drafter], stopped)
            calibrates_later = have_long_steps(pair.models)
            if not calibrates_later:
                warm_up(pair.target, run.drafter, ids, request.settings.k)
                yield from calibrated()
        yield Ready()

        def rehearse(now: Settings) -> None:
            lengths = [(model, model.length) for model in pair.models]
            run.rehearse(now)
            for model, length in lengths:
                model.roll_back_to(length)

        rounds = run.rounds(settings, stopped)
        if not any(model.rollback.slow for model in pair.models):
            rounds = kept_warm(rounds, rehearse)
        last: Round | None = None
        for event in behind_first(rounds, calibrated) if calibrates_later else rounds:
            if isinstance(event, Round):
                last = event
            yield event
        if last is not None and last.stop is not None:
            yield End(last.stop, self._detail(pair, last, run.emitted))

    def _calibrated(self, run: Speculation, drafter: Drafter, stopped: Callable[[], bool]) -> Iterator[Event]:
        """The calibration of ``run`` at its present length, where that was asked for and there is room."""
        if self._options.calibrate and run.target.length < run.target.context:
            yield Progress("calibrating")
            settle(run.target, run.ids[-1])
            if timed := calibrate(run.target, drafter, run.ids, self._options.calibrate, stopped):
                yield timed

    @property
    def _exits(self) -> tuple[int | None, ...]:
        """The layers to leave the target after that are asked for, None: half way."""
        return (self._options.drafting["exit_layer"],) if self._options.settings.drafter == "layers" else ()

    def _drafters(self, pair: Pair, suppressed_until: int) -> dict[str, Drafter]:
        """One of each of ``pair.drafters``."""
        drafting, drafters = self._options.drafting, dict[str, Drafter]()
        if pair.second:
            drafters["model"] = ModelDrafter(pair.second, keep_logits=self._options.inspect)
        drafters["ngram"] = NgramDrafter(
            pair.vocabulary.size,
            pair.target.device,
            longest=drafting["ngram_max"],
            shortest=drafting["ngram_min"],
            corpus=pair.corpus,
            end_ids=pair.facts.end_ids,
            suppressed_until=suppressed_until,
        )
        if pair.exit_layer:
            drafters["layers"] = LayersDrafter(pair.target, pair.exit_layer, keep_logits=self._options.inspect)
        return drafters

    def _detail(self, pair: Pair, last: Round, emitted: bytes) -> str | None:
        if last.stop == "end_of_text":
            token = last.emitted[-1]
            return f"id {token.id} {token.bytes.decode('utf-8', 'replace')}"
        if last.stop == "stop_string":
            ends = {emitted.find(stop.encode()) + len(stop.encode()): stop for stop in self._options.stop}
            return repr(min((at, stop) for at, stop in ends.items() if at >= len(stop.encode()))[1])
        if last.stop == "context":
            return f"context limit: the target can be fed {pair.target.context} positions"
        return None

    def _config(self, pair: Pair, request: RunRequest) -> dict[str, Any]:
        options = self._options
        models = pair.facts.models
        return {
            **asdict(options.pair),
            **options.drafting,
            "exit_layer": pair.exit_layer,
            "drafters": list(pair.drafters),
            **asdict(request.settings),
            "seed": request.seed,
            "max_new_tokens": options.max_new_tokens,
            "min_new_tokens": options.min_new_tokens,
            "stop": list(options.stop),
            "calibrate": options.calibrate,
            "inspect": options.inspect,
            "device": device_label(pair.target.model),
            "dtype": dtype_label(pair.target.model),
            "draft_device": device_label(pair.second.model) if pair.second else None,
            "draft_dtype": dtype_label(pair.second.model) if pair.second else None,
            "compiled": [model.role for model in pair.models if model.compiled],
            "packed": [model.role for model in pair.models if is_packed(model.model)],
            "threads": torch.get_num_threads(),
            "attention": str(getattr(pair.target.model.config, "_attn_implementation", "unknown")),
            "versions": {
                "python": platform.python_version(),
                "torch": torch.__version__,
                "transformers": transformers.__version__,
                "tokenizers": tokenizers.__version__,
                "numpy": numpy.__version__,
            },
            "model_vocab_sizes": {m.role: m.vocab_size for m in models},
            "contexts": {m.role: m.context for m in models},
            "special_ids": sorted(pair.vocabulary.special_ids),
            "notes": list(pair.notes),
        }


def models_of(
    facts: PairFacts, draft: PreTrainedModel | None, target: PreTrainedModel
) -> tuple[CausalModel | None, CausalModel]:
    """The models with their weights, and with a cache each."""

    def causal(model: PreTrainedModel, of: ModelFacts) -> CausalModel:
        return CausalModel(model, role=of.role, name=of.name, vocab_size=facts.vocab_size, context=of.context)

    return causal(draft, facts.draft) if draft and facts.draft else None, causal(target, facts.target)


def exit_of(target: CausalModel, options: RunOptions) -> int | None:
    """The layer to leave ``target`` after, None where it cannot be left. Raises SpecvizError for one that was asked for
    and is not there."""
    asked, wanted = options.drafting["exit_layer"], options.settings.drafter == "layers"
    if target.layers is None:
        if wanted:
            raise SpecvizError(no_list_message(target.name, target.model.config.model_type))
        return None
    layers = len(target.layers)
    n = exit_layer(asked, layers)
    if n is None and (wanted or asked is not None):
        raise SpecvizError(no_exit_message(target.name, layers))
    return n


def slow_note(model: CausalModel) -> str | None:
    cost = model.rollback.slow
    return slow_path(model.role, model.name, model.model.config, cost) if cost else None
