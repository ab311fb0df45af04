"""What other engines would print for the same rounds, each number by its own definition."""

from dataclasses import dataclass

from specviz.stats.rates import Rates


@dataclass(frozen=True, slots=True)
class EngineRate:
    """A number an engine prints: a rate, or a length in tokens. ``definition``: one short line. ``predicted``: E[N] if
    the rate is taken for the formula's alpha at the real K_r; None for a length, which is a claim about N itself, and
    if the number is undefined."""

    engine: str
    name: str
    value: float | None
    definition: str
    predicted: float | None
    is_length: bool = False


def engine_rates(rates: Rates) -> tuple[EngineRate, ...]:
    """The acceptance rates and lengths of vLLM, SGLang, llama.cpp, LM Studio and EAGLE, in this order. A rate counts
    all of ``rates``, cut rounds and ignored drafts too, as the engines do. Engines that count drafts or verifications
    count only rounds with a draft. For the rates and their E[N] to be about the same rounds, pass ``RunStats.since_k``,
    or a run in which K did not change."""
    drafting = rates.rounds - rates.plain_rounds
    drafted = rates.accepted_over_drafted
    of_output = rates.accepted / rates.tokens if rates.tokens else None
    with_extra = 1.0 + rates.accepted / drafting if drafting else None
    verified = rates.tokens / drafting if drafting else None
    forwards = rates.tokens / rates.rounds if rates.rounds else None

    def rate(engine: str, name: str, value: float | None, definition: str) -> EngineRate:
        return EngineRate(engine, name, value, definition, rates.formula_at(value))

    def length(engine: str, name: str, value: float | None, definition: str) -> EngineRate:
        return EngineRate(engine, name, value, definition, None, is_length=True)

    return (
        rate("vLLM", "draft acceptance rate", drafted, "accepted / drafted tokens"),
        length("vLLM", "mean acceptance length", with_extra, "1 + accepted tokens / rounds with a draft"),
        rate("SGLang", "spec_accept_rate", drafted, "accepted / drafted tokens"),
        length("SGLang", "spec_accept_length", verified, "all new tokens / verifications (rounds with a draft)"),
        rate("llama.cpp", "draft acceptance", drafted, "accepted / drafted tokens that were verified"),
        length("llama.cpp", "mean acceptance length", with_extra, "1 + accepted tokens / rounds with a draft"),
        rate("LM Studio", "accepted / predicted", of_output, "share of all new tokens that were accepted drafts"),
        length("EAGLE", "τ", forwards, "all new tokens / forwards of the target"),
    )
