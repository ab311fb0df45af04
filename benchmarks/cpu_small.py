"""A round on the bundled pair beside its bare forwards, and tokens/s beside transformers' assisted generation.

    OMP_NUM_THREADS=1 python benchmarks/cpu_small.py [--k 4] [--tokens 128] [--repeats 5] [--inspect]
        [--compile] [--wall]

All in one process and on one CPU thread, in turns: a run as ``specviz run --no-inspect`` makes it (``--inspect``: with
everything it records; ``--compile``: compiled, and then so are the forwards), the forwards of the same rounds once more
with nothing around them, and at temperature 0 assisted generation of transformers at the same K, as it is by itself,
whose text must be the same. Times are the process's own by default,
which other work on the machine moves less than the time on the wall. A round: median of those that drafted K, the first
aside; a ratio: median of the repeats, with all of them behind it.
"""

import argparse
import time
from statistics import median

from specviz.config import PREPARED_PROMPTS, PairOptions, RunOptions
from specviz.decoder.baseline import assisted, bare_ms, played
from specviz.decoder.live import LiveSource
from specviz.events import Notice, Settings

TALE = PREPARED_PROMPTS[0][1]


def shown(values: list[float]) -> str:
    return f"{median(values):.3f} ({', '.join(f'{value:.2f}' for value in values)})"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--k", type=int, default=4)
    parser.add_argument("--tokens", type=int, default=128)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--inspect", action="store_true")
    parser.add_argument("--compile", action="store_true")
    parser.add_argument("--wall", action="store_true")
    asked = parser.parse_args()
    clock = time.perf_counter if asked.wall else time.process_time
    pair = PairOptions(device="cpu", compile=asked.compile)
    source = LiveSource(RunOptions(pair, Settings(), max_new_tokens=asked.tokens, calibrate=0, inspect=asked.inspect))
    source.open(lambda event: print(event.message) if isinstance(event, Notice) else None)
    for temperature in (0.0, 1.0):
        settings = Settings(k=asked.k, temperature=temperature, draft_temperature=temperature)
        played(source, TALE, 0, settings)
        round_ms, forwards_ms, shares, against = [], [], [], []
        for repeat in range(asked.repeats):
            prompt, rounds, ours = played(source, TALE, repeat, settings, clock=clock)
            bare = bare_ms(source.pair, prompt, rounds, clock=clock)
            whole = [n for n, round_ in enumerate(rounds) if n and round_.k == asked.k]
            round_ms.append(median((ours.seen[n][0] - ours.seen[n - 1][0]) * 1e3 for n in whole))
            forwards_ms.append(median(bare[n] for n in whole))
            shares.append(round_ms[-1] / forwards_ms[-1])
            if temperature == 0:
                theirs = assisted(source, TALE, asked.k, clock=clock)
                if theirs.ids != ours.ids:
                    raise SystemExit("The texts differ.")
                mine, other = ours.pace(), theirs.pace()
                against.append((mine.tokens / mine.ms) / (other.tokens / other.ms))
        print(
            f"T {temperature:g}, K {asked.k}: round {median(round_ms):.2f} ms, "
            f"its forwards {median(forwards_ms):.2f} ms; round / forwards {shown(shares)}"
        )
        if against:
            print(f"T {temperature:g}, K {asked.k}: tokens/s over transformers assisted, same text: {shown(against)}")


if __name__ == "__main__":
    main()
