"""A round on the bundled pair beside its bare forwards, and tokens/s beside transformers' assisted generation.

    OMP_NUM_THREADS=1 python -m benchmarks.cpu_small [--k 4] [--tokens 128] [--repeats 5] [--inspect]
        [--compile] [--wall]

All in one process and on one CPU thread, in turns: a run as ``specviz run --no-inspect`` makes it (``--inspect``: with
everything it records; ``--compile``: compiled, and then so are the forwards), the forwards of the same rounds once more
with nothing around them, and at temperature 0 assisted generation of transformers at the same K, as it is by itself,
whose text must be the same. Times are the process's own by default,
which other work on the machine moves less than the time on the wall. A round: median of those that drafted K, the first
aside; a ratio: median of the repeats, followed by all of them.
"""

import time

from benchmarks.options import parser
from benchmarks.turns import shown, taken
from specviz.core.events import Notice, Settings
from specviz.core.options import PREPARED_PROMPTS, PairOptions, RunOptions
from specviz.decoder.source import LiveSource

TALE = PREPARED_PROMPTS[0][1]


def main() -> None:
    arguments = parser(__doc__, k=4, tokens=128, repeats=5, inspect=False, wall=False)
    arguments.add_argument("--compile", action="store_true")
    options = arguments.parse_args()
    clock = time.perf_counter if options.wall else time.process_time
    pair = PairOptions(device="cpu", compile=options.compile)
    source = LiveSource(
        RunOptions(pair, Settings(), max_new_tokens=options.tokens, calibrate=0, inspect=options.inspect)
    )
    source.open(lambda event: print(event.message) if isinstance(event, Notice) else None)
    for temperature in (0.0, 1.0):
        settings = Settings(k=options.k, temperature=temperature, draft_temperature=temperature)
        turns = taken(source, TALE, settings, options.repeats, clock, against=temperature == 0)
        how = f"T {temperature:g}, K {options.k}"
        print(f"{how}: {turns}")
        if turns.against:
            print(f"{how}: tokens/s over transformers assisted, same text: {shown(turns.against)}")


if __name__ == "__main__":
    main()
