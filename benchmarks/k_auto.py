"""--k auto against fixed K: tokens per second on the bench prompts, each against the best fixed K of its prompt.

    python -m benchmarks.k_auto [--draft MODEL --target MODEL] [--k 1,2,3,4,6,8] [--tokens 64] [--repeats 5]

Every K and auto take turns on every prompt, in one process, in a new order each time. A rate is tokens over draft +
verify + decide, the median of the repeats, of a new seed each. Printed: for each prompt the best fixed K in hindsight
and auto over it; over all prompts (total tokens over total time) auto, the best single K, and auto over it.
"""

import random
from collections import defaultdict
from dataclasses import replace
from importlib.resources import files
from statistics import median

from benchmarks.options import parser
from specviz.cli.commands.bench.command import read_prompts
from specviz.core.events import Round, Settings
from specviz.core.options import BUNDLED_DRAFT, BUNDLED_TARGET, PairOptions, RunOptions, RunRequest
from specviz.decoder.source import LiveSource

AUTO = 0
"""Stands for --k auto among the K."""


def spent_s(rounds: list[Round]) -> float:
    """Seconds of drafting, verifying and deciding; inspection is switched off."""
    times = [(r.timing.draft_ms, r.timing.verify_ms, r.timing.decide_ms) for r in rounds]
    return sum(ms or 0.0 for each in times for ms in each) / 1e3


def main() -> None:
    arguments = parser(__doc__, tokens=64, repeats=5, temperature=1.0)
    arguments.add_argument("--draft", default=BUNDLED_DRAFT)
    arguments.add_argument("--target", default=BUNDLED_TARGET)
    arguments.add_argument("--k", default="1,2,3,4,6,8")
    given = arguments.parse_args()
    ks = [*map(int, given.k.split(",")), AUTO]
    base = Settings(temperature=given.temperature, draft_temperature=given.temperature)
    pair = PairOptions(draft=given.draft, target=given.target)
    source = LiveSource(RunOptions(pair, base, max_new_tokens=given.tokens, inspect=False))
    source.open(lambda _event: None)
    prompts = read_prompts(files("specviz.bundled").joinpath("prompts.txt").read_text("utf-8"))
    tokens: dict[tuple[int, int], list[int]] = defaultdict(list)
    seconds: dict[tuple[int, int], list[float]] = defaultdict(list)
    order = random.Random(0)
    for repeat in range(given.repeats):
        for prompt, text in enumerate(prompts):
            for k in order.sample(ks, len(ks)):
                settings = replace(base, k=k or base.k, k_auto=k == AUTO)
                request = RunRequest(text, repeat, settings)
                events = source.run(request, lambda settings=settings: settings, lambda: False)  # type: ignore[misc]
                rounds = [event for event in events if isinstance(event, Round)]
                tokens[prompt, k].append(sum(r.n_emitted for r in rounds))
                seconds[prompt, k].append(spent_s(rounds))

    def rate(prompt: int, k: int) -> float:
        return median(n / s for n, s in zip(tokens[prompt, k], seconds[prompt, k], strict=True))

    def total(k: int) -> float:
        """Of all prompts, the median of the repeats."""
        return median(
            sum(tokens[p, k][r] for p in range(len(prompts))) / sum(seconds[p, k][r] for p in range(len(prompts)))
            for r in range(given.repeats)
        )

    fixed = [k for k in ks if k != AUTO]
    ratios = []
    print("prompt  best K  tokens/s    auto  auto/best")
    for prompt in range(len(prompts)):
        best = max(fixed, key=lambda k: rate(prompt, k))
        ratios.append(rate(prompt, AUTO) / rate(prompt, best))
        print(f"{prompt + 1:6} {best:7} {rate(prompt, best):9.1f} {rate(prompt, AUTO):7.1f} {ratios[-1]:10.3f}")
    single = max(fixed, key=total)
    print(f"auto over the best K of each prompt: median {median(ratios):.3f}, least {min(ratios):.3f}")
    print(
        f"all prompts: auto {total(AUTO):.1f} tokens/s, best single K {single} {total(single):.1f}, "
        f"ratio {total(AUTO) / total(single):.3f}"
    )


if __name__ == "__main__":
    main()
