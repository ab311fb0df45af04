"""What a round of the decoder costs after much text, over what it costs after little.

    OMP_NUM_THREADS=1 python -m benchmarks.flat_text [--near 100] [--far 900] [--runs 5] [--inspect]

Runs of the bundled pair, K = 4, on a CPU; rounds that begin within 50 tokens of either length. own: time of the process
that is not inside the models' forwards, which hooks take off, and calls of Python and C functions there, which no other
work disturbs. bare: the forwards of the same rounds once more, with nothing around them. Medians of the runs.
"""

import sys
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from statistics import median
from types import FrameType
from typing import Any, NamedTuple

from benchmarks.options import parser
from specviz.core.events import Header, Round, Settings
from specviz.core.options import PREPARED_PROMPTS, PairOptions, RunOptions, RunRequest
from specviz.decoder.measuring.assisted import forward_only_ms
from specviz.decoder.source import LiveSource

K = 4
WITHIN = 50


class Spent(NamedTuple):
    """Milliseconds of the process, those of them outside the forwards of models, and calls outside."""

    ms: float
    own_ms: float
    calls: int


class Outside:
    """What is spent while models run forwards, and what outside."""

    def __init__(self, *models: Any) -> None:
        self._begun = 0.0
        self._inside = 0.0
        self._depth = 0
        self._calls = 0
        for model in models:
            model.register_forward_pre_hook(self._begin)
            model.register_forward_hook(self._end)

    @property
    def spent(self) -> Spent:
        """Since some moment."""
        now = time.process_time()
        return Spent(1e3 * now, 1e3 * (now - self._inside), self._calls)

    def _begin(self, *_: object) -> None:
        self._depth += 1
        self._begun = time.process_time()

    def _end(self, *_: object) -> None:
        self._inside += time.process_time() - self._begun
        self._depth -= 1

    @contextmanager
    def counting(self) -> Iterator[None]:
        """Count calls too, at the price of time."""

        def note(_frame: FrameType, event: str, _argument: object) -> None:
            self._calls += event in ("call", "c_call") and not self._depth

        sys.setprofile(note)
        try:
            yield
        finally:
            sys.setprofile(None)


def measure(near: int, far: int, runs: int, *, inspect: bool) -> None:
    settings, prompt = Settings(k=K), PREPARED_PROMPTS[0][1]
    options = RunOptions(PairOptions(device="cpu"), settings, max_new_tokens=far + WITHIN, calibrate=0, inspect=inspect)
    source = LiveSource(options)
    source.open(lambda _: None)
    outside = Outside(*(model.model for model in source.pair.models))
    found: dict[str, dict[int, list[float]]] = defaultdict(lambda: defaultdict(list))

    def run_ours(seed: int) -> tuple[list[int], list[Round], list[Spent]]:
        ids: list[int] = []
        rounds: list[Round] = []
        spent: list[Spent] = []
        before = outside.spent
        for event in source.run(RunRequest(prompt, seed, settings), lambda: settings, lambda: False):
            now = outside.spent
            if isinstance(event, Header):
                ids = [token.id for token in event.prompt.tokens]
            elif isinstance(event, Round):
                rounds.append(event)
                spent.append(Spent(now.ms - before.ms, now.own_ms - before.own_ms, now.calls - before.calls))
            before = now
        return ids, rounds, spent

    def add(name: str, rounds: list[Round], values: list[float]) -> None:
        """The median of the rounds that begin about either length and drafted K, without the first."""
        for length in (near, far):
            close = [n for n, r in enumerate(rounds) if n and r.k == K and abs(r.start - length) <= WITHIN]
            found[name][length].append(median(values[n] for n in close))

    for seed in range(runs):
        ids, rounds, spent = run_ours(seed)
        bare = forward_only_ms(source.pair, ids, rounds, clock=time.process_time)
        add("own ms", rounds, [each.own_ms for each in spent])
        add("round ms", rounds, [each.ms for each in spent])
        add("bare ms", rounds, bare)
        add("round / bare", rounds, [each.ms / ms for each, ms in zip(spent, bare, strict=True)])
    with outside.counting():
        _, rounds, spent = run_ours(0)
    add("own calls", rounds, [each.calls for each in spent])
    print(f"tokens of text      {near:>10,}{far:>12,}{'ratio':>9}")
    for name, columns in found.items():
        before, behind = (median(columns[length]) for length in (near, far))
        print(f"{name:16}{before:>14.3f}{behind:>12.3f}{behind / before:>9.2f}")


def main() -> None:
    arguments = parser(__doc__, inspect=False)
    arguments.add_argument("--near", type=int, default=100)
    arguments.add_argument("--far", type=int, default=900)
    arguments.add_argument("--runs", type=int, default=5)
    options = arguments.parse_args()
    measure(options.near, options.far, options.runs, inspect=options.inspect)


if __name__ == "__main__":
    main()
