"""Rounds of specviz against assisted generation of transformers: same pair, same text, tokens/s.

    python benchmarks/assisted.py [--draft MODEL --target MODEL] [--tokens 128] [--repeats 5] [--dtype auto]

Both are greedy with K = 4 in every round: transformers with a constant schedule and no confidence threshold, specviz
through its live source with everything it records of a round. They take turns in one process, on the same weights
and threads. Either rate is of the tokens behind the first round, over the time behind it, so that reading the prompt
counts on neither side.
"""

import argparse
import time
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

import torch

from specviz.config import BUNDLED_DRAFT, BUNDLED_TARGET, PairOptions, RunOptions, RunRequest
from specviz.decoder.live import LiveSource, Pair
from specviz.events import Header, Round, Settings

K = 4
PROMPT = "The first ten prime numbers are 2, 3, 5,"
GREEDY = Settings(k=K, temperature=0.0, draft_temperature=0.0)


@dataclass
class Measured:
    ids: list[int]
    tokens_per_s: float
    rounds: list[Round]


class Watch:
    """A streamer that notes when tokens come."""

    def __init__(self) -> None:
        self.seen: list[tuple[float, int]] = []

    def put(self, ids: torch.Tensor) -> None:
        self.seen.append((time.perf_counter(), ids.numel()))

    def end(self) -> None:
        pass


def rate(seen: Sequence[tuple[float, int]]) -> float:
    """Tokens behind the first round over the seconds behind it; ``seen``: the end of each round and its tokens."""
    return sum(n for _, n in seen[1:]) / (seen[-1][0] - seen[0][0])


def ours(source: LiveSource, prompt: str) -> Measured:
    seen, rounds, ids = [], [], []
    for event in source.run(RunRequest(prompt, 0, GREEDY), lambda: GREEDY, lambda: False):
        if isinstance(event, Round):
            seen.append((time.perf_counter(), len(event.emitted)))
            rounds.append(event)
            ids += [token.id for token in event.emitted]
    return Measured(ids, rate(seen), rounds)


def theirs(pair: Pair, prompt: Sequence[int], tokens: int) -> Measured:
    draft, target = pair.draft.model, pair.target.model
    draft.generation_config.num_assistant_tokens = K
    draft.generation_config.num_assistant_tokens_schedule = "constant"
    draft.generation_config.assistant_confidence_threshold = 0.0
    watch = Watch()
    ids = torch.tensor([list(prompt)], device=pair.target.device)
    out: Any = target.generate(
        ids,
        attention_mask=torch.ones_like(ids),
        assistant_model=draft,
        do_sample=False,
        max_new_tokens=tokens,
        eos_token_id=sorted(pair.facts.end_ids) or None,
        pad_token_id=0,
        repetition_penalty=1.0,
        temperature=None,
        top_k=None,
        top_p=None,
        streamer=watch,
    )
    return Measured(out[0, len(prompt) :].tolist(), rate(watch.seen[1:]), [])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draft", default=BUNDLED_DRAFT)
    parser.add_argument("--target", default=BUNDLED_TARGET)
    parser.add_argument("--tokens", type=int, default=128)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--dtype", default="auto")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--prompt", default=PROMPT)
    asked = parser.parse_args()
    options = PairOptions(asked.draft, asked.target, device=asked.device, dtype=asked.dtype)
    source = LiveSource(RunOptions(options, GREEDY, max_new_tokens=asked.tokens, calibrate=0))
    source.open(lambda _: None)
    pair = source._pair
    assert pair is not None
    events = source.run(RunRequest(asked.prompt, 0, GREEDY), lambda: GREEDY, lambda: False)
    header = next(event for event in events if isinstance(event, Header))
    events.close()  # type: ignore[attr-defined]
    prompt = [token.id for token in header.prompt.tokens]
    keys = ("device", "dtype", "draft_dtype", "attention", "threads")
    print(*(f"{key} {header.config[key]}" for key in keys), sep=", ")
    theirs(pair, prompt, min(8, asked.tokens))
    ratios, rounds = [], []
    for repeat in range(1, asked.repeats + 1):
        mine, other = ours(source, asked.prompt), theirs(pair, prompt, asked.tokens)
        if mine.ids != other.ids:
            place = next(i for i, (a, b) in enumerate(zip(mine.ids, other.ids, strict=False)) if a != b)
            raise SystemExit(f"The texts part at place {place}: {mine.ids[place]} here, {other.ids[place]} there.")
        ratios.append(mine.tokens_per_s / other.tokens_per_s)
        rounds += mine.rounds[1:]
        print(
            f"{repeat}: {len(mine.ids)} tokens in {len(mine.rounds)} rounds: specviz {mine.tokens_per_s:.2f} tokens/s, "
            f"transformers {other.tokens_per_s:.2f}, ratio {ratios[-1]:.3f}",
            flush=True,
        )
    parts = {
        name: median(getattr(round_.timing, f"{name}_ms") for round_ in rounds)
        for name in ("draft", "verify", "decide", "inspect", "total")
    }
    print("a round of specviz, median ms:", ", ".join(f"{name} {ms:.2f}" for name, ms in parts.items()))
    print(f"ratio, median of {asked.repeats}: {median(ratios):.3f}")


if __name__ == "__main__":
    main()
