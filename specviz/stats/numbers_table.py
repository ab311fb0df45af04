"""Every metric of a run, declared once, and the object of ``run --json``.

To add a metric, add a row here. ``key`` is an attribute of ``Rates``: a metric that needs a new sum over rounds takes
it from a field of the per-round counts (``round_counts``), with a line in ``rates``.
"""

from collections.abc import Callable, Collection, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal, NamedTuple

from specviz.core.events import End, Header, Settings, Token
from specviz.core.safe_text import emitted_text
from specviz.stats.rates import PositionRate, Rates

Form = Literal[
    "count",
    "k",
    "probability",
    "interval",
    "signed",
    "mean",
    "error",
    "ms",
    "per second",
    "ratio",
    "speedup",
    "speedups",
    "",
]
"""How a value is printed (``render.numbers``); "": in JSON only."""
Output = Literal["stats", "export", "headline"]
"""``specviz stats``, the numbers of an export, the few numbers on top of it."""
Block = Literal["acceptance", "agreement", "tokens per round", "times", "model steps", "speedup", "measured cost"]
"""The lists of the metrics screen."""
_OF_SEGMENT = ("rounds", "tokens", "tested", "alpha", "tokens_per_round")
_REPORTS: tuple[Output, ...] = ("stats", "export")
_TOP: tuple[Output, ...] = (*_REPORTS, "headline")


@dataclass(frozen=True, slots=True)
class Number:
    """A metric.

    ``key``: the attribute of ``Rates`` that computes it, perhaps of a part of it. ``json``: its path in the object of
    ``--json``, or "" to omit it. ``meaning``: its formula or definition in one line. ``short``: its label under a
    heading that says the rest. ``spread``: its interval or standard error. ``last``: it is last in its JSON group and
    in the headline.
    """

    key: str
    label: str
    form: Form
    json: str = ""
    meaning: str = ""
    unit: str = ""
    short: str = ""
    spread: "Number | None" = None
    block: Block | None = None
    outputs: Sequence[Output] = _REPORTS
    last: bool = False

    def value(self, rates: Rates) -> Any:
        """None where it is undefined."""
        value: Any = rates
        for name in self.key.split("."):
            value = None if value is None else getattr(value, name)
        return value

    def title(self, chance: str) -> str:
        """Its label with its unit; ``chance`` is what the accept probability is called: overlap or match."""
        return f"{self.label} {self.unit}".rstrip().replace("overlap", chance)

    def short_title(self, chance: str) -> str:
        return (self.short or self.label).replace("overlap", chance)


NUMBERS: tuple[Number, ...] = (
    Number("tokens", "tokens", "count", "tokens"),
    Number("rounds", "rounds", "count", "rounds"),
    Number("plain_rounds", "plain rounds", "count", "plain_rounds", "rounds without a draft"),
    Number("drafted", "drafted", "count", "drafted"),
    Number("accepted", "accepted", "count", "accepted"),
    Number("rejected", "rejected", "count", "rejected"),
    Number("untested", "untested", "count", "untested"),
    Number("ignored", "ignored", "count", "ignored"),
    Number("tested", "tested", "count", "tested", "accepted + rejected", outputs=()),
    Number(
        "alpha_tested",
        "α tested",
        "probability",
        "alpha.accepted_over_tested",
        "the formula's α. 95\xa0% if tests were independent.",
        spread=Number("alpha_tested_ci", "95 %, if tests were independent", "interval", "alpha.ci95"),
        block="acceptance",
        outputs=_TOP,
    ),
    Number(
        "alpha_overlap",
        "α overlap",
        "probability",
        "alpha.mean_overlap",
        "the mean accept probability of each test",
        spread=Number("alpha_overlap_ci", "95 %, batch means", "interval", "alpha.mean_overlap_ci95"),
        block="acceptance",
        outputs=_TOP,
    ),
    Number(
        "agreement_z",
        "z (agreement)",
        "signed",
        "alpha.agreement_z",
        "0 ± 1 if acceptance follows its probability; |z| > 4 is a bug.",
        short="z",
        block="agreement",
        outputs=_TOP,
        last=True,
    ),
    Number(
        "mean_match",
        "mean match",
        "probability",
        "alpha.mean_match",
        "mean Σ p·q: the share the equality rule would accept.",
        block="agreement",
    ),
    Number(
        "accepted_over_drafted",
        "accepted/drafted",
        "probability",
        "alpha.accepted_over_drafted",
        "It falls with K, so it is not the formula's α.",
        block="acceptance",
    ),
    Number("per_position", "", "", "per_position", outputs=()),
    Number(
        "tokens_per_round",
        "tokens/round",
        "mean",
        "tokens_per_round.mean",
        "mean N of the uncut rounds",
        spread=Number("tokens_per_round_half_width", "± 95 %, batch means", "error", "tokens_per_round.half_width95"),
        block="tokens per round",
        outputs=_TOP,
    ),
    Number(
        "accepted_per_round",
        "accepted/round",
        "mean",
        meaning="one fewer: without the last token of each round.",
        block="tokens per round",
        outputs=("export",),
    ),
    Number("tokens_per_round_se", "", "", "tokens_per_round.se", outputs=()),
    Number("histogram", "", "", "histogram_n", outputs=()),
    Number(
        "formula_at_tested",
        "formula at α tested",
        "mean",
        "formula.at_accepted_over_tested",
        "E[N] = (1 − α^(K+1)) / (1 − α)",
        short="formula, tested",
        block="tokens per round",
        outputs=_TOP,
    ),
    Number(
        "formula_at_overlap",
        "formula at α overlap",
        "mean",
        "formula.at_mean_overlap",
        "the same",
        short="formula, overlap",
        block="tokens per round",
        outputs=_TOP,
    ),
    Number(
        "formula_gap", "gap", "signed", meaning="formula at α tested − measured.", block="tokens per round", outputs=()
    ),
    Number("tokens_per_s", "tokens/s", "per second", "timing.tokens_per_s", last=True),
    Number("draft_ms", "draft", "ms", "timing.draft_ms", unit="ms", block="times"),
    Number("verify_ms", "verify", "ms", "timing.verify_ms", "a forward of the target", "ms", block="times"),
    Number("decide_ms", "decide", "ms", "timing.decide_ms", "accept, reject, resample", "ms", block="times"),
    Number(
        "inspect_ms", "inspect", "ms", "timing.inspect_ms", "for display and trace; not in speeds", "ms", block="times"
    ),
    Number("target_step_ms", "T_p", "ms", "timing.target_step_ms", "target", "ms", block="model steps"),
    Number("draft_step_ms", "T_q", "ms", "timing.draft_step_ms", "draft", "ms", block="model steps"),
    Number("at_length", "", "", "timing.at_length", outputs=()),
    Number("c", "c = T_p/T_q", "ratio", "timing.c", "T_p / T_q", short="c", block="model steps", outputs=_TOP),
    Number(
        "speedup_measured_cost",
        "speedup, measured cost",
        "speedup",
        "speedup.measured_cost",
        "T_p·tokens / (draft + verify + decide)",
        short="measured cost",
        block="measured cost",
        outputs=_TOP,
    ),
    Number(
        "at_measured_cost.best_k",
        "best K, measured cost",
        "k",
        "speedup.at_measured_cost.best_k",
        "the K with the largest speedup by measured step times.",
        short="measured best K",
        block="measured cost",
    ),
    Number(
        "at_measured_cost.best",
        "speedup at measured best K",
        "speedup",
        "speedup.at_measured_cost.best",
        spread=Number(
            "at_measured_cost.best_interval", "at α's 95 %", "speedups", "speedup.at_measured_cost.best_ci95"
        ),
        block="measured cost",
    ),
    Number(
        "at_measured_cost.break_even_alpha",
        "break-even α, measured cost",
        "probability",
        "speedup.at_measured_cost.break_even_alpha",
        "where E[N] = round time / T_p.",
        short="measured break-even α",
        block="measured cost",
    ),
    Number(
        "at_measured_cost.ceiling",
        "ceiling, measured cost",
        "speedup",
        "speedup.at_measured_cost.ceiling",
        "with these step times no draft gives more.",
        short="measured ceiling",
        block="measured cost",
    ),
    Number(
        "speedup_model",
        "speedup, model",
        "speedup",
        "speedup.model",
        "E[N]·c / (c + K)",
        short="model",
        block="speedup",
    ),
    Number("best_k", "best K", "k", "speedup.best_k", "the K with the largest speedup by the model.", block="speedup"),
    Number("break_even_alpha", "break-even α", "probability", "speedup.break_even_alpha", block="speedup"),
    Number(
        "ceiling",
        "ceiling",
        "speedup",
        "speedup.ceiling",
        "max(1, min(c, 1 / (1 − α))); no K gives more.",
        block="speedup",
    ),
    Number("at_measured_cost.curve", "", "", "speedup.at_measured_cost.curve", outputs=()),
)


_LAST_LAST = sorted(NUMBERS, key=lambda number: number.last)
NUMBER = {number.key: number for number in NUMBERS}


def numbers_in(output: Output) -> list[Number]:
    numbers = _LAST_LAST if output == "headline" else NUMBERS
    return [number for number in numbers if output in number.outputs]


def numbers_of(block: Block) -> list[Number]:
    return [number for number in NUMBERS if number.block == block]


def json_numbers(rates: Rates, groups: Collection[str] | None = None) -> dict[str, Any]:
    """The numbers of ``--json`` as nested objects: plain JSON values, None where undefined. ``groups``: the names on
    top to keep; None for all."""
    numbers: dict[str, Any] = {}
    for number, path in _PATHS:
        if groups is None or path[0] in groups:
            group = numbers
            for name in path[:-1]:
                group = group.setdefault(name, {})
            group[path[-1]] = _JSON.get(number.key, _plain)(number.value(rates))
    return numbers


class Segment(NamedTuple):
    """A segment of rates, the settings of its first round, and the rates of each run of rounds with the same K."""

    rates: Rates
    settings: Settings
    by_k: Sequence[tuple[int, Rates]]


def summarise(
    whole: Rates, segments: Sequence[Segment], emitted: Sequence[Token | None], header: Header | None, end: End | None
) -> dict[str, Any]:
    """The object of ``run --json``, also the summary of a trace's last line; no text where a token is not known."""
    config = dict(header.config) if header else {}
    known = [token for token in emitted if token is not None]
    return {
        "text": emitted_text(known, end, tuple(config.get("stop") or ())) if len(known) == len(emitted) else None,
        "ids": [token and token.id for token in emitted],
        "reason": end.reason if end else None,
        **json_numbers(whole),
        "segments": [_segment(segment) for segment in segments],
        "config": config,
    }


def _segment(segment: Segment) -> dict[str, Any]:
    rates = segment.rates
    numbers = json_numbers(rates, _OF_SEGMENT)
    return {
        "first": rates.first,
        "last": rates.last,
        "settings": asdict(segment.settings),
        **{name: numbers[name] for name in _OF_SEGMENT},
        "by_k": [
            {"k": k, "first": part.first, "last": part.last, **json_numbers(part, ("tokens_per_round",))}
            for k, part in segment.by_k
        ],
    }


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value


def _positions(rates: Sequence[PositionRate]) -> list[dict[str, Any]]:
    names = "position", "conditional", "unconditional", "tested", "drafted"
    return [{name: getattr(rate, name) for name in names} for rate in rates]


_JSON: dict[str, Callable[[Any], Any]] = {
    "per_position": _positions,
    "histogram": lambda histogram: {str(n): count for n, count in histogram.items()},
}
_PATHS = [
    (each, each.json.split("."))
    for number in _LAST_LAST
    for each in (number, number.spread)
    if each is not None and each.json
]
