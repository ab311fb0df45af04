"""An n-gram draft where it should shine: the target repeats code from its prompt with a small edit.

    python -m benchmarks.ngram_code --target MODEL [--chat] [--k 4,8] [--tokens 256] [--repeats 5] [--temperature 0]

The target alone and each K take turns in one process, as in ``specviz bench``. Printed: alpha tested, by draft position
too, tokens/round, the time of a drafted token, the measured speedup, and every plain round of the first run with the
token that no earlier text foretold. A greedy text is compared with the target's own.
"""

import sys
from collections.abc import Sequence

from benchmarks.options import parser
from specviz.bench.plan import DrafterVariant, Plan
from specviz.bench.report import report
from specviz.bench.samples import Sample, Spread, sample
from specviz.core.drafters import drafter_options
from specviz.core.events import Round, Settings
from specviz.core.options import BUNDLED_TARGET, PairOptions, RunOptions
from specviz.core.safe_text import clip, visible
from specviz.decoder.measuring.runner import Measured, open_bench

CODE = '''class Counter:
    """Counts words of a text."""

    def __init__(self, text):
        self.text = text
        self.count = {}

    def add(self, word):
        if word not in self.count:
            self.count[word] = 0
        self.count[word] += 1

    def read(self):
        for line in self.text.splitlines():
            for word in line.split():
                self.add(word.strip(".,;:").lower())

    def most(self, number):
        ranked = sorted(self.count, key=self.count.get, reverse=True)
        return [(word, self.count[word]) for word in ranked[:number]]

    def print(self, number=10):
        for word, times in self.most(number):
            print(f"{word}: {times}")
'''
PLAIN = f"# counter.py\n{CODE}\n# counter.py again, the attribute `count` renamed to `seen`, nothing else changed\n"
ASKED = (
    f"Here is counter.py:\n\n```python\n{CODE}```\n\n"
    "Write the whole file again with the attribute `count` renamed to `seen` and nothing else changed. Only the code."
)
NGRAM = DrafterVariant("ngram")


def main() -> None:
    arguments = parser(__doc__, tokens=256, repeats=5, temperature=0.0, dtype="auto", device="auto")
    arguments.add_argument("--target", default=BUNDLED_TARGET)
    arguments.add_argument("--chat", action="store_true", help="ask through the target's chat template")
    arguments.add_argument("--k", default="4,8")
    arguments.add_argument("--ngram-max", type=int, default=4)
    arguments.add_argument("--ngram-min", type=int, default=1)
    args = arguments.parse_args()
    ks = tuple(sorted(map(int, args.k.split(","))))
    options = RunOptions(
        PairOptions(None, args.target, device=args.device, dtype=args.dtype),
        Settings(ks[-1], args.temperature, args.temperature, drafter="ngram"),
        (("code", ASKED if args.chat else PLAIN),),
        max_new_tokens=args.tokens,
        chat=args.chat,
        drafting=drafter_options(ngram_max=args.ngram_max, ngram_min=args.ngram_min),
    )
    plan = Plan(1, ks, args.repeats, drafters=(NGRAM,))
    source = open_bench(options, lambda _: None, drafters=plan.drafters)
    about = source.describe()
    print(f"{args.target}, {about['device']} {about['dtype']}, {about['threads']} threads, T {args.temperature}")
    tasks = plan.tasks(options.seed)
    source.warm_up({task.configuration for task in tasks})
    samples: list[Sample] = []
    first: dict[int, Measured] = {}
    for measured in source.measure(tasks):
        samples.append(sample(measured.task, measured.rounds, measured.calibration))
        if measured.task.repeat == 0 and measured.rounds:
            first[measured.task.configuration.k] = measured
        if sys.stderr.isatty():
            print(f"{len(samples)} of {len(tasks)} runs", end="\r", flush=True, file=sys.stderr)
    done = report(plan, samples)
    print(f"the target alone: {figure(done.target.token_ms)} ms a token")
    for row in done.rows:
        at = " ".join(figure(rate) for rate in row.positions)
        print(
            f"K {row.k}: alpha tested {figure(row.measured_on.alpha_tested)} ({at}), tokens/round"
            f" {figure(row.measured_on.tokens_per_round)},"
            f" a drafted token {figure(row.measured_on.draft_step_ms, 3)} ms, "
            f"{row.plain_rounds} of {row.rounds} rounds plain, speedup {figure(row.speedup)}"
        )
    alone = text(first[0].rounds)
    for k in ks if args.temperature == 0 else ():
        mine = text(first[k].rounds)
        length = min(len(mine), len(alone))
        verdict = "the target's own" if mine[:length] == alone[:length] else "NOT the target's own"
        print(f"K {k}: {length} tokens, {verdict}")
    show_plain(first[ks[0]].rounds)


def text(rounds: Sequence[Round]) -> list[int]:
    return [token.id for round_ in rounds for token in round_.emitted if token.id is not None]


def show_plain(rounds: Sequence[Round]) -> None:
    found = [(round_.index, visible(round_.emitted[0].bytes)) for round_ in rounds if not round_.k]
    listed = ", ".join(f"{index} {clip(word, 16)}" for index, word in found)
    print(f"plain rounds of the first run at the smallest K, no n-gram matches: {listed or 'none'}")


def figure(value: Spread | None, digits: int = 2) -> str:
    if value is None:
        return "-"
    spread = f" [{value.q1:.{digits}f} {value.q3:.{digits}f}]" if value.q1 != value.q3 else ""
    return f"{value.median:.{digits}f}{spread}"


if __name__ == "__main__":
    main()
