"""A real pair on a CPU: its rounds beside their bare forwards, the way to the first round, and memory.

    OMP_NUM_THREADS=1 python -m benchmarks.cpu_real --draft DIR --target DIR [--k 4] [--tokens 48] [--repeats 5]
        [--dtype auto] [--temperature 0] [--only rounds|start|memory] [--wall]

rounds   Interleaved in one process, without and with inspection: a run as ``specviz run`` makes it, the forwards of
         the same rounds once more with nothing around them, and (at temperature 0, without inspection) assisted
         generation of transformers at the same K, whose text must be the same. The process's own time, or that on the
         wall; a round: median of those that drafted K, without the first.
start    Fresh processes in turns, wall: ``specviz run`` until its models are loaded, until round 1 begins and until its
         text is there, over a Python that imports torch and transformers and loads both models, and over the same with
         a forward of one token by each: only there are mapped weights read.
memory   A fresh process: the most it took while it loaded both models, beyond what it took with its libraries imported,
         over the bytes of the weights in the dtype they run in; mapped files count.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.options import parser
from benchmarks.turns import shown, taken
from specviz.core.events import Settings
from specviz.core.options import PairOptions, RunOptions
from specviz.decoder.pairing.placement import dtype_label
from specviz.decoder.source import LiveSource

PROMPT = "The first ten prime numbers are 2, 3, 5,"
BARE = """
import sys, torch, transformers
from transformers import AutoModelForCausalLM
draft, target, dtypes = *sys.argv[1:3], [getattr(torch, name) for name in sys.argv[3:]]
models = [AutoModelForCausalLM.from_pretrained(x, dtype=y) for x, y in zip((draft, target), dtypes)]
print("loaded", flush=True)
with torch.inference_mode():
    for model in models:
        model(torch.tensor([[0]]))
print("read", flush=True)
"""
MEMORY = """
import json, sys
from pathlib import Path
def kilobytes(file, name):
    lines = Path("/proc/self", file).read_text().splitlines()
    return int(next(line for line in lines if line.startswith(name + ":")).split()[1])
from specviz.core.options import PairOptions, RunOptions
from specviz.decoder.source import LiveSource
from specviz.core.events import Settings
before = kilobytes("status", "VmRSS")
source = LiveSource(RunOptions(PairOptions(*sys.argv[1:3], device="cpu", dtype=sys.argv[3]), Settings()))
source.open(lambda _: None)
weights = {w.data_ptr(): w.nbytes for m in source.pair.models for w in m.model.parameters()}
print(json.dumps({
    "weights": sum(weights.values()),
    "peak": (kilobytes("status", "VmHWM") - before) << 10,
    "now": (kilobytes("status", "VmRSS") - before) << 10,
    "anonymous": kilobytes("smaps_rollup", "Anonymous") << 10,
}))
"""


def rounds(args: argparse.Namespace) -> None:
    """Measure them; the dtypes that draft and target run in."""
    clock = time.perf_counter if args.wall else time.process_time
    settings = Settings(k=args.k, temperature=args.temperature, draft_temperature=args.temperature)
    for inspect in (False, True):
        options = RunOptions(pair(args), settings, max_new_tokens=args.tokens, calibrate=0, inspect=inspect)
        source = LiveSource(options)
        source.open(lambda _: None)
        against = args.temperature == 0 and not inspect
        turns = taken(source, PROMPT, settings, args.repeats, clock, against=against)
        print(f"{'with' if inspect else 'without'} inspection, K {args.k}, T {args.temperature:g}: {turns}", flush=True)
        if against:
            print(f"tokens/s over transformers assisted, same text: {shown(turns.against)}", flush=True)


def pair(args: argparse.Namespace) -> PairOptions:
    return PairOptions(args.draft, args.target, device="cpu", dtype=args.dtype)


def start(args: argparse.Namespace) -> None:
    dtypes = [dtype_label(model.model) for model in opened(args).pair.models]
    names = "bare loaded", "bare read", "specviz loaded", "round 1 begins", "round 1 is there"
    rows = []
    for _ in range(args.repeats):
        loaded, read = bare_start(args, dtypes)
        rows.append((loaded, read, *own_start(args)))
        print(", ".join(f"{name} {seconds:.2f} s" for name, seconds in zip(names, rows[-1], strict=True)), flush=True)
    for at, name in enumerate(names[2:], 2):
        over_loaded, over_read = ([row[at] / row[bare] for row in rows] for bare in (0, 1))
        seconds = median(row[at] for row in rows)
        print(f"{name} after {seconds:.2f} s, over bare loaded {shown(over_loaded)}, over bare read {shown(over_read)}")


def opened(args: argparse.Namespace) -> LiveSource:
    source = LiveSource(RunOptions(pair(args), Settings(), calibrate=0))
    source.open(lambda _: None)
    return source


def bare_start(args: argparse.Namespace, dtypes: list[str]) -> tuple[float, float]:
    """Seconds until both models are loaded, and until each has been through a forward."""
    begun = time.perf_counter()
    command = [sys.executable, "-c", BARE, args.draft, args.target, *dtypes]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        assert process.stdout
        times = [time.perf_counter() - begun for _ in process.stdout]
    return times[0], times[1]


def own_start(args: argparse.Namespace) -> tuple[float, float, float]:
    """Seconds until the models are loaded, until round 1 begins, and until its text is on standard output."""
    with tempfile.TemporaryDirectory() as folder:
        trace = Path(folder, "run.jsonl")
        options = ["--draft", args.draft, "--target", args.target, "--dtype", args.dtype, "--device", "cpu"]
        options += ["--k", str(args.k), "--temperature", str(args.temperature), "--max-new-tokens", str(args.k + 1)]
        options += ["--no-inspect", "--prompt", PROMPT, "--record", str(trace)]
        begun = time.perf_counter()
        command = [sys.executable, "-m", "specviz", "run", *options]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
            assert process.stdout
            loaded = None
            while loaded is None and process.poll() is None:
                if trace.exists() and trace.stat().st_size:
                    loaded = time.perf_counter() - begun
                time.sleep(0.005)
            process.stdout.read(1)
            shown_at = time.perf_counter() - begun
            process.stdout.read()
        lines = [json.loads(line) for line in trace.read_text().splitlines()]
    first: dict[str, Any] = next(line for line in lines if line["type"] == "round")
    assert loaded is not None
    return loaded, shown_at - first["timing"]["total_ms"] / 1e3, shown_at


def memory(args: argparse.Namespace) -> None:
    command = [sys.executable, "-c", MEMORY, args.draft, args.target, args.dtype]
    found = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    gb = {name: value / 1e9 for name, value in found.items()}
    print(
        f"weights {gb['weights']:.2f} GB; at most {gb['peak']:.2f} GB while they were loaded, "
        f"{found['peak'] / found['weights']:.3f} times; then {gb['now']:.2f} GB, anonymous {gb['anonymous']:.2f} GB"
    )


def main() -> None:
    arguments = parser(__doc__, k=4, tokens=48, repeats=5, dtype="auto", temperature=0.0, wall=False)
    arguments.add_argument("--draft", required=True)
    arguments.add_argument("--target", required=True)
    arguments.add_argument("--only", choices=("rounds", "start", "memory"))
    args = arguments.parse_args()
    for part in (rounds, start, memory):
        if args.only in (None, part.__name__):
            part(args)


if __name__ == "__main__":
    main()
