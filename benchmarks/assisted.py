"""Rounds of specviz against assisted generation of transformers: same pair, same text, tokens/s.

    python benchmarks/assisted.py [--draft MODEL --target MODEL] [--tokens 128] [--repeats 5] [--no-inspect]

Both are greedy with K = 4 in every round: transformers with a constant schedule and no confidence threshold, specviz
through its live source with everything it records of a round. They take turns in one process, on the same weights
and threads. Either rate is of the tokens behind the first round, over the time behind it, so that reading the prompt
counts on neither side.
"""

import argparse
from statistics import median

from specviz.config import BUNDLED_DRAFT, BUNDLED_TARGET, PairOptions, RunOptions
from specviz.decoder.baseline import assisted, played
from specviz.decoder.devices import numbers, where
from specviz.decoder.live import LiveSource
from specviz.events import Round, Settings

K = 4
PROMPT = "The first ten prime numbers are 2, 3, 5,"
GREEDY = Settings(k=K, temperature=0.0, draft_temperature=0.0)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draft", default=BUNDLED_DRAFT)
    parser.add_argument("--target", default=BUNDLED_TARGET)
    parser.add_argument("--tokens", type=int, default=128)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--dtype", default="auto")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--prompt", default=PROMPT)
    parser.add_argument("--no-inspect", action="store_true")
    asked = parser.parse_args()
    options = PairOptions(asked.draft, asked.target, device=asked.device, dtype=asked.dtype)
    inspect = not asked.no_inspect
    source = LiveSource(RunOptions(options, GREEDY, max_new_tokens=asked.tokens, calibrate=0, inspect=inspect))
    source.open(lambda _: None)
    print(*(f"{m.role} {numbers(m.model)} on {where(m.model)}" for m in source.pair.models), sep=", ")
    assisted(source, asked.prompt, K)
    played(source, asked.prompt, 0, GREEDY)
    ratios: list[float] = []
    rounds: list[Round] = []
    for repeat in range(1, asked.repeats + 1):
        _, made, ours = played(source, asked.prompt, 0, GREEDY)
        theirs = assisted(source, asked.prompt, K)
        if ours.ids != theirs.ids:
            place = next(i for i, (a, b) in enumerate(zip(ours.ids, theirs.ids, strict=False)) if a != b)
            raise SystemExit(f"The texts part at place {place}: {ours.ids[place]} here, {theirs.ids[place]} there.")
        mine, other = (1e3 * pace.tokens / pace.ms for pace in (ours.pace(), theirs.pace()))
        ratios.append(mine / other)
        rounds += made[1:]
        print(
            f"{repeat}: {len(ours.ids)} tokens in {len(made)} rounds: specviz {mine:.2f} tokens/s, "
            f"transformers {other:.2f}, ratio {ratios[-1]:.3f}",
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
