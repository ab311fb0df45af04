"""Whether two models can run as a pair, or a target without a draft model, from their configurations and tokenizers."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from specviz.core.errors import SpecvizError
from specviz.core.gc_paused import nothing_collected
from specviz.core.options import PairOptions
from specviz.core.units import bytes_in_words
from specviz.decoder.checkpoints.files import Problem
from specviz.decoder.checkpoints.hub import PairLocations
from specviz.decoder.models.cache_support import (
    RollbackMethod,
    rollback_method,
    slow_path,
    unsupported_message,
    unsupported_reason,
)
from specviz.decoder.models.causal_model import UNLIMITED
from specviz.decoder.pairing.finding import Finding
from specviz.decoder.pairing.model_info import ModelFacts, ModelFiles, read_files, read_model
from specviz.decoder.pairing.vocabulary import Comparison, Vocabulary, compare, token_bytes

NO_END = "the target has no end token: runs end at --max-new-tokens"


@dataclass(frozen=True, slots=True)
class PairFacts:
    """Both models and everything that follows from them; ``draft`` None: a target without a draft model. ``table``: the
    bytes of every id of the target's tokenizer, None for an id without a token."""

    draft: ModelFacts | None
    target: ModelFacts
    findings: tuple[Finding, ...]
    vocab_size: int
    table: Sequence[bytes | None]

    @property
    def models(self) -> tuple[ModelFacts, ...]:
        return (self.target,) if self.draft is None else (self.draft, self.target)

    @property
    def end_ids(self) -> frozenset[int]:
        return frozenset(i for i in self.target.end_ids if i < self.vocab_size)

    @property
    def notes(self) -> list[str]:
        return [f.text for f in self.findings if f.status == "note"]

    @property
    def refusals(self) -> list[Finding]:
        return [f for f in self.findings if f.status == "refuse"]

    def vocabulary(self) -> Vocabulary:
        special = frozenset(self.target.tokenizer.all_special_ids) | {
            i for i, token in self.target.tokenizer.added_tokens_decoder.items() if token.special
        }
        table = self.table[: self.vocab_size]
        bytes_of = [f"<id {i}>".encode() if data is None else data for i, data in enumerate(table)]
        return Vocabulary(bytes_of, frozenset(i for i in special if i < self.vocab_size))


def pair_files(options: PairOptions, locations: PairLocations) -> tuple[ModelFiles | None, ModelFiles]:
    """The draft, if there is one, and the target, without their tokenizers. Raises SpecvizError."""
    target = read_files(locations.target, options)
    if locations.draft is None:
        return None, target
    same_model = options.model("draft") == options.model("target")
    return replace(target, location=locations.draft) if same_model else read_files(locations.draft, options), target


@nothing_collected()
def with_tokenizers(draft: ModelFiles | None, target: ModelFiles) -> PairFacts:
    """The pair of these models. Raises SpecvizError for a tokenizer that cannot be read."""
    target_facts = read_model(target)
    return check_pair(read_model(draft, target_facts) if draft else None, target_facts)


def check_pair(draft: ModelFacts | None, target: ModelFacts) -> PairFacts:
    """Compare the models."""
    if draft is None:
        table = token_bytes(target.tokenizer)
        size = min(target.vocab_size, len(table))
        return PairFacts(None, target, tuple(_target_findings(target, size, len(table))), size, table)
    same = compare(draft.tokenizer, target.tokenizer, target.end_ids)
    size = min(target.vocab_size, len(same.target))
    findings = [
        *_files(draft, target),
        *_architecture(draft, target),
        *_caches(draft, target),
        *_tokenizers(draft, target, same),
        *_vocabulary(draft, target, size, len(same.target)),
        *_contexts(draft, target),
        *_ends(draft, target),
        *_weights(draft, target),
    ]
    return PairFacts(draft, target, tuple(findings), size, same.target)


def _target_findings(target: ModelFacts, size: int, entries: int) -> Iterator[Finding]:
    """The findings for a target without a draft model."""
    yield from _files(target)
    yield Finding("architecture", "pass", "decoder-only", ("", target.config.model_type))
    yield from _caches(target)
    columns = "", f"{entries} ids"
    yield Finding("tokenizer", "pass", "the target's own", columns)
    columns = "", str(target.vocab_size)
    if target.vocab_size == size:
        yield Finding("vocabulary", "pass", f"{size} ids", columns)
    else:
        text = f"model vocab {target.vocab_size}, tokenizer {size}: ids from {size} on are masked"
        yield Finding("vocabulary", "note", text, columns)
    yield from _contexts(None, target)
    yield from _ends(None, target)
    yield from _weights(target)


def raise_refusals(facts: PairFacts, force: bool) -> list[str]:
    """Raise SpecvizError for the first refusal that ``force`` cannot override; notices of those it overrides."""
    for finding in facts.refusals:
        if not (force and finding.forcible):
            raise SpecvizError(finding.text)
    return [f"Forced: {finding.text}" for finding in facts.refusals]


def _columns(models: tuple[ModelFacts, ...], value: Callable[[ModelFacts], str]) -> tuple[str, str]:
    """The values of the draft, empty if there is none, and of the target."""
    *draft, target = map(value, models)
    return draft[0] if draft else "", target


def _files(*models: ModelFacts) -> Iterator[Finding]:
    for model in models:
        if model.location.note:
            yield Finding("files", "note", model.location.note, ("", ""))


def _architecture(draft: ModelFacts, target: ModelFacts) -> Iterator[Finding]:
    kinds = draft.config.model_type, target.config.model_type
    yield Finding("architecture", "pass", "both are decoder-only", kinds)


def _caches(*models: ModelFacts) -> Iterator[Finding]:
    def method_of(model: ModelFacts) -> RollbackMethod | None:
        return None if unsupported_reason(model.config) else rollback_method(model.config)

    columns = _columns(models, lambda model: method.name if (method := method_of(model)) else "none")
    if all((method := method_of(model)) and not method.slow for model in models):
        what = "both caches" if len(models) == 2 else "its cache"
        yield Finding("cache", "pass", f"{what} can be rolled back exactly", columns)
    for model in models:
        method = method_of(model)
        if reason := unsupported_reason(model.config):
            yield Finding("cache", "refuse", unsupported_message(model.role, model.name, model.config, reason), columns)
        elif method and method.slow:
            yield Finding("cache", "note", slow_path(model.role, model.name, model.config, method.slow), columns)


def _tokenizers(draft: ModelFacts, target: ModelFacts, same: Comparison) -> Iterator[Finding]:
    columns = f"{len(same.draft)} ids", f"{len(same.target)} ids"
    if same.clashing:
        n, first = len(same.clashing), same.clashing[0]
        ids = "1 id has" if n == 1 else f"{n} ids have"
        text = (
            f"The tokenizers of the draft {draft.name} and the target {target.name} differ: {ids} different text "
            f"({same.example(first)}). Choose a draft of the target's family, or pass --force to try anyway."
        )
        yield Finding("tokenizer", "refuse", text, columns, forcible=True)
    elif same.special:
        shown = "; ".join(same.example(i) for i in same.special[:3])
        more = f" and {len(same.special) - 3} more" if len(same.special) > 3 else ""
        text = f"The tokenizers differ only in special, added or placeholder tokens: {shown}{more}."
        yield Finding("tokenizer", "note", text, columns)
    else:
        yield Finding("tokenizer", "pass", "every id has the same bytes", columns)


def _vocabulary(draft: ModelFacts, target: ModelFacts, size: int, entries: int) -> Iterator[Finding]:
    columns = str(draft.vocab_size), str(target.vocab_size)
    largest = max(draft.vocab_size, target.vocab_size)
    if draft.vocab_size < size:
        text = f"the draft has no ids from {draft.vocab_size} to {size - 1}: it never proposes them (q = 0)"
        yield Finding("vocabulary", "note", text, columns)
    elif largest == size:
        yield Finding("vocabulary", "pass", f"{size} ids in both", columns)
    else:
        text = (
            f"model vocab {draft.vocab_size}/{target.vocab_size} (draft/target), "
            f"tokenizer {entries}: ids from {size} on are masked in both models"
        )
        yield Finding("vocabulary", "note", text, columns)


def _contexts(draft: ModelFacts | None, target: ModelFacts) -> Iterator[Finding]:
    columns = _limit(draft) if draft else "", _limit(target)
    if draft and draft.context < target.context:
        text = (
            f"the draft's context ({columns[0]}) is shorter than the target's ({columns[1]}): "
            "beyond it the run continues without drafts"
        )
        yield Finding("context", "note", text, columns)
    else:
        yield Finding("context", "pass", f"texts up to {columns[1]} tokens", columns)


def _ends(draft: ModelFacts | None, target: ModelFacts) -> Iterator[Finding]:
    columns = _listed(draft.end_ids) if draft else "", _listed(target.end_ids)
    if not target.end_ids:
        yield Finding("end ids", "note", NO_END, columns)
    elif draft and draft.end_ids != target.end_ids:
        yield Finding("end ids", "note", f"the end ids differ; the target's are used: {columns[1]}", columns)
    else:
        yield Finding("end ids", "pass", f"text ends at {columns[1]}", columns)


def _weights(*models: ModelFacts) -> Iterator[Finding]:
    columns = _columns(models, lambda model: "none" if isinstance(model.stored, Problem) else _stored(model))
    for model in models:
        if isinstance(model.stored, Problem):
            yield Finding("weights", "refuse", str(model.location.error_for(model.stored)), columns)
    if "none" not in columns:
        yield Finding("weights", "pass", "not loaded by this check", columns)


def _stored(model: ModelFacts) -> str:
    size = sum(model.location.files.get(name, 0) for name in model.weights.files)
    return f"{model.weights.format}, {bytes_in_words(size)}"


def _limit(model: ModelFacts) -> str:
    return "no limit" if model.context == UNLIMITED else str(model.context)


def _listed(ids: frozenset[int]) -> str:
    return ", ".join(map(str, sorted(ids))) or "none"
