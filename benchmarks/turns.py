"""What the benchmarks of a pair on a CPU share: rounds, their bare forwards and assisted generation, in turns."""

from collections.abc import Callable
from dataclasses import dataclass, field
from statistics import median

from specviz.core.events import Settings
from specviz.decoder.measuring.assisted import assisted, forward_only_ms, run_ours
from specviz.decoder.source import LiveSource


@dataclass
class Turns:
    """A number for each repeat. ``against``: tokens/s over those of assisted generation, on the same text."""

    round_ms: list[float] = field(default_factory=list)
    forwards_ms: list[float] = field(default_factory=list)
    shares: list[float] = field(default_factory=list)
    against: list[float] = field(default_factory=list)

    def __str__(self) -> str:
        return (
            f"round {median(self.round_ms):.2f} ms, its forwards {median(self.forwards_ms):.2f} ms; "
            f"round / forwards {shown(self.shares)}"
        )


def taken(
    source: LiveSource, prompt: str, settings: Settings, repeats: int, clock: Callable[[], float], *, against: bool
) -> Turns:
    """``repeats`` times, after one that is not counted: a run as ``specviz run`` makes it, the forwards of the same
    rounds once more with nothing around them, and where ``against`` assisted generation of transformers at the same K,
    whose text must be the same. A round's time: the median of those that drafted K, without the first."""
    turns = Turns()
    run_ours(source, prompt, 0, settings)
    for repeat in range(repeats):
        ids, rounds, ours = run_ours(source, prompt, repeat, settings, clock=clock)
        bare = forward_only_ms(source.pair, ids, rounds, clock=clock)
        whole = [n for n, round_ in enumerate(rounds) if n and round_.k == settings.k]
        turns.round_ms.append(median((ours.arrivals[n][0] - ours.arrivals[n - 1][0]) * 1e3 for n in whole))
        turns.forwards_ms.append(median(bare[n] for n in whole))
        turns.shares.append(turns.round_ms[-1] / turns.forwards_ms[-1])
        if against:
            theirs = assisted(source, prompt, settings.k, clock=clock)
            if theirs.ids != ours.ids:
                raise SystemExit("The texts differ.")
            mine, other = ours.throughput(), theirs.throughput()
            turns.against.append((mine.tokens / mine.ms) / (other.tokens / other.ms))
    return turns


def shown(values: list[float]) -> str:
    """The median, followed by all of them."""
    return f"{median(values):.3f} ({', '.join(f'{value:.2f}' for value in values)})"
