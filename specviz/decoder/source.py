"""The live source: runs of a loaded pair, as events."""

import platform
from collections.abc import Callable, Iterator
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any

import numpy
import tokenizers
import torch
import transformers

from specviz import __version__
from specviz.core.events import End, Event, Header, Progress, Prompt, Ready, Round, Settings
from specviz.core.options import RunOptions, RunRequest
from specviz.core.source import LIVE, Emit
from specviz.decoder.checkpoints.hub import PairLocations
from specviz.decoder.loading.pair import LoadedPair, load_pair
from specviz.decoder.models.cpu_packing import is_packed
from specviz.decoder.pairing.placement import device_label, dtype_label
from specviz.decoder.rounds.auto_k import AutoK
from specviz.decoder.rounds.speculative import naming_the_round
from specviz.decoder.rounds.warm_up import StepTimes, keep_warm, steps_are_slow, warm_up


class LiveSource:
    """Implements Source on real weights."""

    capabilities = LIVE

    def __init__(
        self, options: RunOptions, locations: PairLocations | None = None, *, pair: LoadedPair | None = None
    ) -> None:
        """``locations``: where the models are, if known. ``pair``: the models, if loaded already."""
        self.options = options
        self._locations = locations
        self._pair = pair

    def open(self, emit: Emit) -> None:
        self._pair = load_pair(self.options, emit, self._locations)

    @property
    def pair(self) -> LoadedPair:
        """What ``open`` loaded. Raises RuntimeError before."""
        if self._pair is None:
            raise RuntimeError("open() comes first")
        return self._pair

    def run(
        self, request: RunRequest, settings: Callable[[], Settings], stopped: Callable[[], bool]
    ) -> Iterator[Event]:
        pair, options = self.pair, self.options
        prompt = pair.encode(request.prompt, chat=options.chat)
        ids = list(prompt.ids)
        context = pair.context(len(ids), options)
        drafters = {name: factory.build(context) for name, factory in pair.drafters.items()}
        yield Header(
            created=datetime.now(UTC).isoformat(timespec="seconds"),
            specviz=__version__,
            config=run_config(pair, options, request.settings, request.seed),
            vocab_size=pair.vocabulary.size,
            end_ids=tuple(sorted(pair.facts.end_ids)),
            prompt=Prompt(prompt.text, tuple(map(pair.vocabulary.token, ids))),
        )
        run = pair.decoder(ids, request.seed, options, drafters)
        with naming_the_round("Before round 1"):
            yield Progress("warm-up")
            run.prefill(request.settings.drafter)
            steps = StepTimes(run, options.calibrate, options.drift_rounds, stopped)
            if not steps_are_slow(pair.models, options.slow_step_bytes):
                warm_up(pair.target, run.drafter, ids, request.settings.k)
                yield from steps.calibration(request.settings.drafter)
        yield Ready()

        auto_k = AutoK(request.settings.k)
        rounds = run.rounds(lambda: auto_k.settings(settings()), stopped)
        if not any(model.rollback.slow for model in pair.models):
            rounds = keep_warm(run, pair.models, rounds)
        last: Round | None = None
        for event in steps.with_calibrations(rounds):
            auto_k.add(event)
            if isinstance(event, Round):
                last = event
            yield event
        if last is not None and last.stop is not None:
            yield End(last.stop, run.stopping.detail(last, run.emitted))


def run_config(pair: LoadedPair, options: RunOptions, settings: Settings, seed: int) -> dict[str, Any]:
    """``Header.config``: options, devices, dtypes, threads and library versions, JSON-able."""
    chosen = {name: value for factory in pair.drafters.values() for name, value in factory.options.items()}
    return {
        **asdict(options.pair),
        **options.drafting,
        **chosen,
        "drafters": list(pair.drafters),
        **asdict(settings),
        "seed": seed,
        "max_new_tokens": options.max_new_tokens,
        "min_new_tokens": options.min_new_tokens,
        "stop": list(options.stop),
        "calibrate": options.calibrate,
        "inspect": options.inspect,
        "device": device_label(pair.target.model),
        "dtype": dtype_label(pair.target.model),
        "draft_device": device_label(pair.draft_model.model) if pair.draft_model else None,
        "draft_dtype": dtype_label(pair.draft_model.model) if pair.draft_model else None,
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
        "model_vocab_sizes": {model.role: model.vocab_size for model in pair.facts.models},
        "contexts": {model.role: model.context for model in pair.facts.models},
        "special_ids": sorted(pair.vocabulary.special_ids),
        "notes": list(pair.notices),
    }
