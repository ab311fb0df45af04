"""The live source: runs of a loaded pair, as events."""

import platform
from collections.abc import Callable, Iterator
from dataclasses import asdict
from datetime import UTC, datetime
from functools import partial
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
from specviz.decoder.drafters.protocol import Drafter
from specviz.decoder.loading.pair import LoadedPair, load_pair
from specviz.decoder.models.cpu_packing import is_packed
from specviz.decoder.pairing.placement import device_label, dtype_label
from specviz.decoder.rounds.loop import Speculation, placed
from specviz.decoder.rounds.warm_up import behind_first, calibrate, have_long_steps, kept_warm, settle, warm_up


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
        with placed("Before round 1"):
            yield Progress("warm-up")
            run.prefill(request.settings.drafter)
            calibration = partial(self._calibration, run, drafters[request.settings.drafter], stopped)
            calibrates_later = have_long_steps(pair.models)
            if not calibrates_later:
                warm_up(pair.target, run.drafter, ids, request.settings.k)
                yield from calibration()
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
        for event in behind_first(rounds, calibration) if calibrates_later else rounds:
            if isinstance(event, Round):
                last = event
            yield event
        if last is not None and last.stop is not None:
            yield End(last.stop, self._end_detail(last, run.emitted))

    def _calibration(self, run: Speculation, drafter: Drafter, stopped: Callable[[], bool]) -> Iterator[Event]:
        """The calibration of ``run`` at its present length, if it was requested and fits the context."""
        if self.options.calibrate and run.target.length < run.target.context:
            yield Progress("calibrating")
            settle(run.target, run.ids[-1])
            if timed := calibrate(run.target, drafter, run.ids, self.options.calibrate, stopped):
                yield timed

    def _end_detail(self, last: Round, emitted: bytes) -> str | None:
        if last.stop == "end_of_text":
            token = last.emitted[-1]
            return f"id {token.id} {(token.bytes or b'').decode('utf-8', 'replace')}"
        if last.stop == "stop_string":
            ends = {emitted.find(stop.encode()) + len(stop.encode()): stop for stop in self.options.stop}
            return repr(min((end, stop) for end, stop in ends.items() if end >= len(stop.encode()))[1])
        if last.stop == "context":
            return f"context limit: the target can be fed {self.pair.target.context} positions"
        return None


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
